/*
 * Ranges split, merge and move under readers, hundreds of times, and no row is wrong: who follows
 * an old location meets a whole table or none. All of it once where the directory is written by
 * Bigtable's Go client, and once where keyroute publishes it.
 */
#include "test/integration/range_change.h"
#include "test/integration/range_index.h"
#include "test/integration/range_oracle.h"
#include "test/integration/range_publisher.h"
#include "test/integration/range_readers.h"
#include "test/integration/real_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  RANGES = 200,
  ROWS_EACH = 10,
  ROWS = RANGES * ROWS_EACH,
  CHANGES = 500,
  READERS = 6,
  DEADLINE_MS = 30000,
  SEED = 7
};

/* A call may learn of its end late where a machine has more to do than it can. */
enum { LATE_MS = 2000 };

static struct range_map map;

static void make_by_client(void)
{
  range_map_make(&map, "/tests/churn", RANGES, ROWS_EACH, SEED);
  range_index_make(&map);
}

static void clear(void)
{
  range_map_clear(&map);
}

/* Cut what holds the rows of so many ranges into as many. */
static void cut(size_t first, size_t last)
{
  size_t middle = first + (last - first) / 2;

  if (middle > first) {
    range_split(&map, &map.rows[middle * ROWS_EACH]);
    cut(first, middle);
    cut(middle, last);
  }
}

static void make_by_keyroute(void)
{
  range_map_make(&map, "/tests/published", 1, RANGES * ROWS_EACH, SEED);
  range_publisher_make(&map);
  cut(0, RANGES);
  range_publisher_cut_meta2(&map);
}

static void clear_published(void)
{
  range_publisher_end(&map);
  clear();
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
static void change_something(unsigned *seed)
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

/* $KEYROUTE_RANGE_CHANGES, for sanitizers are slow. */
static unsigned count_changes(void)
{
  const char *told = getenv("KEYROUTE_RANGE_CHANGES");

  return told != NULL ? (unsigned)atoi(told) : CHANGES;
}

START_TEST(test_range_churn__no_row_is_wrong_while_ranges_change)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  struct range_readers *readers = range_readers_start(conn, &map, READERS, DEADLINE_MS);
  unsigned seed = SEED, changes = count_changes();

  for (unsigned i = 0; i < changes; i++) {
    change_something(&seed);
    range_readers_await(readers, 1);
  }
  range_readers_await(readers, 100);
  struct range_counts counts = range_readers_stop(readers);

  print_counts(&counts);
  ck_assert_msg(counts.wrong == 0, "%s", counts.message);
  ck_assert_uint_ge(counts.calls, changes);
  ck_assert_msg(counts.failed * 100 <= counts.calls, "%s", counts.message);
  ck_assert_int_le(counts.late_ms, LATE_MS);
  keyroute_close(conn);

  struct keyroute_connection *fresh = range_open(map.znode, NULL);

  range_oracle_compare(fresh, map.rows, ROWS);
  keyroute_close(fresh);
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

static struct keyroute_connection *start_readers(void)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  stopped_readers = range_readers_start(conn, &map, 2, DEADLINE_MS);
  range_readers_await(stopped_readers, RANGES);
  map.stopped = assert_readers_go_on;
  return conn;
}

static void end_readers(struct keyroute_connection *conn)
{
  map.stopped = NULL;
  range_readers_stop(stopped_readers);
  keyroute_close(conn);
}

static size_t middle_range(void)
{
  return range_map_find(&map, keyroute_string("M"));
}

static void split_and_merge(void)
{
  size_t index = middle_range();

  range_split(&map, row_inside(index));
  range_merge(&map, index);
}

static void move_range(void)
{
  range_move(&map, middle_range());
}

static void move_meta2(void)
{
  range_move_meta2(&map, 0);
  range_move_meta2(&map, 1);
}

START_TEST(test_range_churn__no_row_is_wrong_where_a_change_stops)
{
  struct keyroute_connection *conn = start_readers();

  split_and_merge();
  move_range();
  move_meta2();
  end_readers(conn);
}
END_TEST

static void recut_meta2(void)
{
  range_publisher_recut_meta2(&map);
}

static void move_meta1(void)
{
  range_publisher_move_meta1(&map);
}

/* After each of the writes that a change needs, of which there are more than one. */
static void stop_everywhere(const char *what, void (*change)(void))
{
  unsigned writes = 0, stops;

  do {
    range_publisher_stop_after(++writes);
    change();
    stops = range_publisher_stops();
  } while (stops > 0);
  range_publisher_stop_after(0);
  printf("%s: stopped after each of %u writes\n", what, writes - 1);
  ck_assert_uint_gt(writes, 2);
}

START_TEST(test_range_churn__no_row_is_wrong_where_a_publisher_dies)
{
  struct keyroute_connection *conn = start_readers();

  stop_everywhere("split and merge", split_and_merge);
  stop_everywhere("move", move_range);
  stop_everywhere("move in meta2", move_meta2);
  stop_everywhere("merge and split in meta2", recut_meta2);
  stop_everywhere("move of meta1", move_meta1);
  end_readers(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("range_churn");
  TCase *client = tcase_create("client"), *keyroute = tcase_create("keyroute");

  tcase_set_timeout(client, 0);
  tcase_add_unchecked_fixture(client, make_by_client, clear);
  tcase_add_test(client, test_range_churn__no_row_is_wrong_while_ranges_change);
  tcase_add_test(client, test_range_churn__no_row_is_wrong_where_a_change_stops);
  suite_add_tcase(suite, client);
  tcase_set_timeout(keyroute, 0);
  tcase_add_unchecked_fixture(keyroute, make_by_keyroute, clear_published);
  tcase_add_test(keyroute, test_range_churn__no_row_is_wrong_while_ranges_change);
  tcase_add_test(keyroute, test_range_churn__no_row_is_wrong_where_a_publisher_dies);
  suite_add_tcase(suite, keyroute);
  return range_run(suite, 600);
}
