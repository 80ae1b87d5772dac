/*
 * Runs of rows, against a naive book in which each row is a line of its own.
 */
#include "lib/run.h"

#include "lib/bytes.h"
#include "lib/connection.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

enum { ROWS = 60 };

static struct kr_mem *mem;
static struct kr_stats *stats;
static struct kr_cache *cache;
static struct kr_keys keys;
static struct kr_runs runs;
static struct kr_run *list;

/* Rows "02", "04" and so on, of one table. */
static void setup(void)
{
  static struct keyroute_key given[ROWS];
  static char rows[ROWS][4];
  struct keyroute_connection conn = {.check_table = kr_table_name_check};

  mem = failing_mem_new();
  stats = kr_stats_new(mem);
  cache = kr_cache_new(mem, stats);
  for (int i = 0; i < ROWS; i++) {
    snprintf(rows[i], sizeof(rows[i]), "%03d", 2 * i);
    given[i] = (struct keyroute_key){"t", keyroute_string(rows[i])};
  }
  conn.mem = mem;
  conn.cache = cache;
  ck_assert_int_eq(kr_keys_new(&keys, &conn, given, ROWS, true, false, NULL), 0);
  ck_assert(kr_runs_init(&runs, mem, &keys));
  list = NULL;
  DL_APPEND(list, kr_run_new(&runs, 0, 0, ROWS));
}

static void teardown(void)
{
  struct kr_run *run, *next;

  DL_FOREACH_SAFE (list, run, next) {
    kr_run_free(&runs, run);
  }
  kr_runs_clear(&runs);
  kr_keys_clear(&keys);
  kr_cache_free(cache);
  kr_stats_free(stats);
  failing_mem_done(mem);
}

static struct keyroute_bytes number(char text[4], unsigned value)
{
  snprintf(text, 4, "%03u", value % 1000);
  return keyroute_string(text);
}

static struct kr_note *make_note(const char *message)
{
  struct kr_failure failure = {0};

  kr_fail(&failure, KEYROUTE_E_REMOTE, "%s", message);
  snprintf(failure.server, sizeof(failure.server), "h:1");
  return kr_note_new(mem, &failure);
}

START_TEST(test_run__floor_is_the_first_row_not_below_a_key)
{
  for (unsigned from = 0; from < ROWS; from += 7) {
    for (unsigned to = from + 1; to <= ROWS; to += 3) {
      struct kr_run run = {.from = from, .to = to};

      for (unsigned key = 0; key <= 2 * ROWS; key++) {
        char text[4];
        unsigned naive = (key + 1) / 2;

        naive = naive < from ? from : naive > to ? to : naive;
        ck_assert_uint_eq(kr_run_floor(&runs, &run, number(text, key)), naive);
      }
    }
  }
}
END_TEST

START_TEST(test_run__empty_key_is_below_all_its_rows)
{
  ck_assert_uint_eq(kr_run_floor(&runs, list, kr_bytes(NULL, 0)), 0);
}
END_TEST

START_TEST(test_run__cut_shares_what_was_met)
{
  struct kr_note *note = make_note("no");

  list->tries = 3;
  list->sent = true;
  kr_run_note(list, note);
  kr_note_release(note);
  struct kr_run *upper = kr_run_cut(&runs, list, 10);

  DL_APPEND(list, upper);
  ck_assert_uint_eq(list->to, 10);
  ck_assert_uint_eq(upper->from, 10);
  ck_assert_uint_eq(upper->to, ROWS);
  ck_assert_uint_eq(upper->tries, 3);
  ck_assert(upper->sent);
  ck_assert_ptr_eq(upper->note, list->note);
  kr_run_note(list, NULL);
  ck_assert_str_eq(upper->note->message, "no");
  ck_assert_str_eq(upper->note->server, "h:1");
}
END_TEST

START_TEST(test_run__that_cannot_be_cut_stays_whole)
{
  mem_fail(1);
  ck_assert_ptr_null(kr_run_cut(&runs, list, 10));
  mem_fail(0);

  ck_assert_uint_eq(list->to, ROWS);
}
END_TEST

/* ---- Against a book ---- */

struct book {
  bool done[ROWS];
  unsigned tries[ROWS];
};

static unsigned draw(unsigned *seed, unsigned bound)
{
  *seed = *seed * 1103515245u + 12345u;
  return (*seed >> 16) % bound;
}

static struct kr_run *pick(unsigned *seed)
{
  struct kr_run *run = list;
  int count;

  DL_COUNT(list, run, count);
  run = list;
  for (unsigned i = draw(seed, (unsigned)count); i > 0; i--) {
    run = run->next;
  }
  return run;
}

/* Some rows of a run get done, at random or all from a place on. */
static void finish_some(struct kr_run *run, struct book *book, unsigned *seed)
{
  bool all = draw(seed, 3) == 0;
  uint32_t at = kr_run_next(&runs, run, run->from + draw(seed, run->to - run->from));

  for (; at < run->to; at = kr_run_next(&runs, run, at + 1)) {
    if (all || draw(seed, 2) == 0) {
      ck_assert(!book->done[at]);
      runs.done[at] = true;
      book->done[at] = true;
    }
  }
  if (!kr_run_trim(&runs, run)) {
    DL_DELETE(list, run);
    kr_run_free(&runs, run);
  }
}

/* A run is cut at a key, and its upper part fails. */
static void fail_upper(struct kr_run *run, struct book *book, unsigned *seed)
{
  char text[4];
  uint32_t at = kr_run_floor(&runs, run, number(text, draw(seed, 2 * ROWS)));
  struct kr_run *upper = run;

  if (at >= run->to) {
    return;
  }
  if (at > run->from) {
    upper = kr_run_cut(&runs, run, at);
    DL_APPEND(list, upper);
  }
  upper->tries++;
  for (at = upper->from; at < upper->to; at++) {
    book->tries[at]++;
  }
}

/* Each row that is not done is in one run, with its tries. */
static void compare(const struct book *book)
{
  bool seen[ROWS] = {false};
  const struct kr_run *run;

  DL_FOREACH (list, run) {
    ck_assert_uint_lt(run->from, run->to);
    for (uint32_t at = kr_run_next(&runs, run, run->from); at < run->to;
         at = kr_run_next(&runs, run, at + 1)) {
      ck_assert(!seen[at]);
      seen[at] = true;
      ck_assert_uint_eq(book->tries[at], run->tries);
    }
  }
  for (int i = 0; i < ROWS; i++) {
    ck_assert_int_eq(seen[i], !book->done[i]);
  }
}

START_TEST(test_run__rows_keep_their_fate_whatever_is_cut)
{
  unsigned seed = (unsigned)_i;
  struct book book = {0};

  for (int i = 0; i < 200 && list != NULL; i++) {
    if (draw(&seed, 4) == 0) {
      finish_some(pick(&seed), &book, &seed);
    } else {
      fail_upper(pick(&seed), &book, &seed);
    }
    compare(&book);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("run");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_run__floor_is_the_first_row_not_below_a_key);
  tcase_add_test(tests, test_run__empty_key_is_below_all_its_rows);
  tcase_add_test(tests, test_run__cut_shares_what_was_met);
  tcase_add_test(tests, test_run__that_cannot_be_cut_stays_whole);
  tcase_add_loop_test(tests, test_run__rows_keep_their_fate_whatever_is_cut, 0, 50);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
