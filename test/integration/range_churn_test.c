/*
 * Ranges split, merge and move under readers, hundreds of times, and no row is wrong: who follows
 * an old location meets a whole table or none. Published behind keyroute's back, by Bigtable's Go
 * client.
 */
#include "test/integration/range_change.h"
#include "test/integration/range_index.h"
#include "test/integration/range_readers.h"
#include "test/integration/range_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 200, ROWS_EACH = 10, CHANGES = 500, READERS = 6, DEADLINE_MS = 30000, SEED = 7 };

/* A call may learn of its end late where a machine has more to do than it can. */
enum { LATE_MS = 2000 };

static struct range_map map;

static void make(void)
{
  range_map_make(&map, "/tests/churn", RANGES, ROWS_EACH, SEED);
  range_index_make(&map);
}

static void clear(void)
{
  range_map_clear(&map);
}

static const struct range_key *row_inside(size_t index)
{
  size_t i = 0;

  while (!range_is_inside(&map, index, &map.rows[i])) {
    i++;
    ck_assert_uint_lt(i, map.row_count);
  }
  return &map.rows[i];
}

/* One change by chance; there stay about as many ranges as there were. */
static void change(unsigned *seed)
{
  const struct range_key *row = &map.rows[(size_t)rand_r(seed) % map.row_count];
  size_t index = range_map_find(&map, range_bytes(row));
  unsigned dice = (unsigned)rand_r(seed) % 100;

  if (dice < 4) {
    range_move_meta2(&map, dice % RANGE_META2);
  } else if (dice < 36 && range_is_inside(&map, index, row)) {
    range_split(&map, row);
  } else if (dice < 68 && index + 1 < map.count) {
    range_merge(&map, index);
  } else {
    range_move(&map, index);
  }
}

static void print_counts(const struct range_counts *counts)
{
  printf("%" PRIu64 " calls, %" PRIu64 " failed; %" PRIu64 " rows, %" PRIu64
         " wrong; latest %" PRId64 " ms after its deadline; %s\n",
         counts->calls, counts->failed, counts->rows, counts->wrong, counts->late_ms,
         counts->message);
}

START_TEST(test_range_churn__no_row_is_wrong_while_ranges_change)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  struct range_readers *readers = range_readers_start(conn, &map, READERS, DEADLINE_MS);
  unsigned seed = SEED;

  for (int i = 0; i < CHANGES; i++) {
    change(&seed);
    range_readers_await(readers, 1);
  }
  range_readers_await(readers, 100);
  struct range_counts counts = range_readers_stop(readers);

  print_counts(&counts);
  ck_assert_msg(counts.wrong == 0, "%s", counts.message);
  ck_assert_uint_ge(counts.calls, CHANGES);
  ck_assert_msg(counts.failed * 100 <= counts.calls, "%s", counts.message);
  ck_assert_int_le(counts.late_ms, LATE_MS);
  keyroute_close(conn);
}
END_TEST

/* ---- One write after another ---- */

static struct range_readers *stopped_readers;

/* Whoever has known the directory before, and one who comes new to it, both read what is right. */
static void assert_readers_go_on(void)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  struct range_readers *fresh = range_readers_start(conn, &map, 1, DEADLINE_MS);

  range_readers_await(stopped_readers, ROWS_EACH * 10);
  range_readers_await(fresh, ROWS_EACH * 2);
  struct range_counts old = range_readers_counts(stopped_readers);
  struct range_counts counts = range_readers_stop(fresh);

  ck_assert_msg(old.wrong + old.failed == 0, "one who knew it: %s", old.message);
  ck_assert_msg(counts.wrong + counts.failed == 0, "one who is new: %s", counts.message);
  keyroute_close(conn);
}

START_TEST(test_range_churn__no_row_is_wrong_where_a_change_stops)
{
  static const struct keyroute_bytes row = {"M", 1};
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  stopped_readers = range_readers_start(conn, &map, 2, DEADLINE_MS);
  range_readers_await(stopped_readers, RANGES);
  map.stopped = assert_readers_go_on;
  size_t index = range_map_find(&map, row);

  range_merge(&map, index);
  range_split(&map, row_inside(index));
  range_move(&map, index);
  range_move_meta2(&map, 0);
  range_move_meta2(&map, 1);
  map.stopped = NULL;
  range_readers_stop(stopped_readers);
  keyroute_close(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("range_churn");
  TCase *tests = tcase_create("churn");

  tcase_set_timeout(tests, 0);
  tcase_add_unchecked_fixture(tests, make, clear);
  tcase_add_test(tests, test_range_churn__no_row_is_wrong_while_ranges_change);
  tcase_add_test(tests, test_range_churn__no_row_is_wrong_where_a_change_stops);
  suite_add_tcase(suite, tests);
  return range_run(suite, 300);
}
