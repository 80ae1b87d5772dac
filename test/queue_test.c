/*
 * Queues: lookups by row and by state, and which flights are worth waiting for. The oracle for
 * "whom does a region cover" is a walk over all of them.
 */
#include "lib/queue.h"

#include "lib/bytes.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { LOOKUPS = 200 };

static struct kr_mem *mem;
static struct kr_stats *stats;
static struct kr_cache *cache;
static struct kr_servers *servers;
static struct keyroute_table *table;
static struct kr_queue *queue;
static struct kr_lookup lookups[LOOKUPS];
static char rows[LOOKUPS][16];
static struct kr_flight flights[3];

static void setup(void)
{
  mem = kr_mem_new(NULL);
  stats = kr_stats_new(mem);
  cache = kr_cache_new(mem, stats);
  servers = kr_servers_new(mem);
  table = kr_cache_table(cache, keyroute_string("t"));
  queue = kr_queue_new(mem, table, false);
  memset(lookups, 0, sizeof(lookups));
  memset(flights, 0, sizeof(flights));
}

static void teardown(void)
{
  while (queue->count > 0) {
    kr_queue_remove(kr_queue_first(queue));
  }
  kr_queue_free(mem, queue);
  kr_table_release(table);
  kr_cache_free(cache);
  kr_servers_free(servers);
  kr_stats_free(stats);
  kr_mem_release(mem);
}

static struct kr_lookup *add(int i, const char *row, enum kr_position position)
{
  struct kr_lookup *lookup = &lookups[i];

  snprintf(rows[i], sizeof(rows[i]), "%s", row);
  lookup->table = table;
  lookup->row = keyroute_string(rows[i]);
  lookup->position = position;
  kr_queue_add(queue, lookup);
  return lookup;
}

static struct kr_flight *fly(int i, char *row, uint32_t limit)
{
  struct kr_flight *flight = &flights[i];

  flight->queue = queue;
  flight->table = table;
  flight->row = row;
  flight->row_len = strlen(row);
  flight->limit = limit;
  flight->try_ms = 1000;
  DL_APPEND(queue->flights, flight);
  queue->flight_count++;
  return flight;
}

static struct keyroute_location *made_region(const char *start, const char *end, int64_t id)
{
  return make_location(mem, servers, &(struct made){"t", start, end, id, "h", 16020, 1, 1});
}

static void know(const char *start, const char *end, int64_t id)
{
  struct keyroute_location *kept;
  struct keyroute_location *made = made_region(start, end, id);

  ck_assert_int_eq(kr_cache_store(cache, table, made, kr_cache_tick(cache), &kept), 0);
  keyroute_location_release(kept);
  keyroute_location_release(made);
}

START_TEST(test_queue__lookups_stand_in_the_list_of_their_state)
{
  struct kr_lookup *a = add(0, "a", KR_AT), *b = add(1, "b", KR_AT);
  struct kr_flight *flight = fly(0, (char[]){"m"}, 3);

  ck_assert_ptr_eq(queue->ready, a);
  kr_queue_move(a, KR_LOOKUP_FLYING, flight);
  kr_queue_move(b, KR_LOOKUP_HOPING, flight);

  ck_assert_ptr_null(queue->ready);
  ck_assert_ptr_eq(flight->members, a);
  ck_assert_ptr_eq(flight->hopers, b);
  kr_queue_move(b, KR_LOOKUP_READY, NULL);
  kr_queue_move(a, KR_LOOKUP_READY, NULL);
  ck_assert_ptr_null(flight->members);
  ck_assert_ptr_null(flight->hopers);
  ck_assert_ptr_eq(queue->ready, b); /* first come first served */
  kr_queue_remove(b);
  ck_assert_ptr_eq(queue->ready, a);
  ck_assert_uint_eq(queue->count, 1);
}
END_TEST

/* Whether each lookup is met, once, if and only if the region covers it. */
static void expect_covered(struct keyroute_location *region)
{
  bool met[LOOKUPS] = {false};

  for (struct kr_lookup *at = kr_queue_first_in(queue, region); at != NULL;
       at = kr_queue_next_in(at, region)) {
    ck_assert(!met[at - lookups]);
    met[at - lookups] = true;
  }
  for (int i = 0; i < LOOKUPS; i++) {
    ck_assert_msg(met[i] == kr_location_covers(region, lookups[i].row, lookups[i].position),
                  "lookup %d of row \"%s\", %s", i, rows[i],
                  lookups[i].position == KR_AT ? "at" : "before");
  }
}

START_TEST(test_queue__region_meets_whom_it_covers)
{
  static const char *const keys[] = {"", "a", "b", "ba", "c", "d", "dd", "e"};
  enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

  for (int i = 0; i < LOOKUPS; i++) {
    add(i, keys[i * 7 % KEYS], i % 3 == 0 ? KR_BEFORE : KR_AT);
  }

  for (int start = 0; start < KEYS; start++) {
    for (int end = 0; end < KEYS; end++) {
      if (end == 0 || end > start) {
        struct keyroute_location *region = made_region(keys[start], keys[end], 1);

        expect_covered(region);
        keyroute_location_release(region);
      }
    }
  }
}
END_TEST

START_TEST(test_queue__newcomer_waits_for_any_flight_in_its_gap)
{
  struct kr_lookup *below = add(0, "b", KR_AT), *above = add(1, "x", KR_AT);
  struct kr_lookup *beyond = add(2, "z", KR_AT);

  know("y", "yy", 1);
  fly(0, (char[]){"m"}, 3);

  ck_assert_ptr_eq(kr_queue_hope(queue, below), &flights[0]);
  ck_assert_ptr_eq(kr_queue_hope(queue, above), &flights[0]);
  ck_assert_ptr_null(kr_queue_hope(queue, beyond));
}
END_TEST

START_TEST(test_queue__who_was_passed_over_waits_only_for_a_flight_that_reaches_it)
{
  struct kr_lookup *near = add(0, "k", KR_AT), *far = add(1, "j", KR_AT);
  struct kr_lookup *above = add(2, "n", KR_AT);

  near->passed_over = far->passed_over = above->passed_over = 1;
  fly(0, (char[]){"m"}, 3);
  fly(1, (char[]){"z"}, 1);
  add(3, "l", KR_AT);
  add(4, "l", KR_AT);

  ck_assert_ptr_eq(kr_queue_hope(queue, near), &flights[0]); /* m, l, k */
  ck_assert_ptr_null(kr_queue_hope(queue, far));             /* the fourth */
  ck_assert_ptr_null(kr_queue_hope(queue, above));           /* z reads one row only */
}
END_TEST

START_TEST(test_queue__cached_regions_in_between_count)
{
  struct kr_lookup *low = add(0, "a", KR_AT);

  low->passed_over = 1;
  fly(0, (char[]){"m"}, 3);
  ck_assert_ptr_nonnull(kr_queue_hope(queue, low));
  know("c", "d", 1);
  ck_assert_ptr_nonnull(kr_queue_hope(queue, low));
  know("d", "e", 2);

  ck_assert_ptr_null(kr_queue_hope(queue, low));
}
END_TEST

START_TEST(test_queue__nobody_hopes_for_ever_and_who_wants_fresh_news_not_at_all)
{
  struct kr_lookup *patient = add(0, "a", KR_AT), *fresh = add(1, "b", KR_AT);

  fly(0, (char[]){"m"}, 100);
  fresh->refresh = true;

  ck_assert_ptr_null(kr_queue_hope(queue, fresh));
  patient->passed_over = 2;
  ck_assert_ptr_null(kr_queue_hope(queue, patient));
}
END_TEST

START_TEST(test_queue__question_is_the_same_only_if_the_answer_will_do)
{
  struct kr_lookup *same = add(0, "m", KR_AT), *before = add(1, "m", KR_BEFORE);
  struct kr_flight *flight = fly(0, (char[]){"m"}, 3);

  ck_assert_ptr_eq(kr_queue_same_question(queue, same, 500), flight);
  ck_assert_ptr_null(kr_queue_same_question(queue, before, 500));
  ck_assert_ptr_null(kr_queue_same_question(queue, same, 2000)); /* it gives up too soon */
  flight->sent = 5;
  same->since = 5;
  ck_assert_ptr_null(kr_queue_same_question(queue, same, 500)); /* it was sent too early */
  same->since = 4;
  same->epoch = 1;
  ck_assert_ptr_null(kr_queue_same_question(queue, same, 500)); /* before a clear */
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("queue");
  TCase *tests = tcase_create("queue");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_queue__lookups_stand_in_the_list_of_their_state);
  tcase_add_test(tests, test_queue__region_meets_whom_it_covers);
  tcase_add_test(tests, test_queue__newcomer_waits_for_any_flight_in_its_gap);
  tcase_add_test(tests, test_queue__who_was_passed_over_waits_only_for_a_flight_that_reaches_it);
  tcase_add_test(tests, test_queue__cached_regions_in_between_count);
  tcase_add_test(tests, test_queue__nobody_hopes_for_ever_and_who_wants_fresh_news_not_at_all);
  tcase_add_test(tests, test_queue__question_is_the_same_only_if_the_answer_will_do);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
