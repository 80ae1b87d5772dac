/*
 * Lookups and reads in a range directory of real Bigtable nodes: meta1 on one, meta2 in three
 * ranges, 1000 ranges of map. Where a row is, and what is in it, is compared with what Bigtable's
 * Go client says; what a lookup costs is counted.
 */
#include "test/integration/range_change.h"
#include "test/integration/range_index.h"
#include "test/integration/range_oracle.h"
#include "test/integration/real_nodes.h"

#include <inttypes.h>
#include <string.h>

enum { RANGES = 1000, ROWS_EACH = 5, KEYS = 5000, SEED = 1 };

static struct range_map map;
static struct range_key keys[KEYS];

static void make(void)
{
  unsigned seed = SEED;

  range_map_make(&map, "/tests/directory", RANGES, ROWS_EACH, SEED);
  range_index_make(&map);
  for (size_t i = 0; i < KEYS; i++) {
    keys[i] = range_map_key(&map, &seed);
  }
}

static void clear(void)
{
  range_map_clear(&map);
}

START_TEST(test_range_directory__rows_are_where_bigtables_client_finds_them)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  range_oracle_compare(conn, keys, KEYS);
  keyroute_close(conn);
}
END_TEST

static void assert_right(const struct range_key *key, const struct keyroute_result *result,
                         size_t index)
{
  char wrong[RANGE_WRONG_MAX];

  ck_assert_msg(keyroute_result_error(result, index) == 0, "%s",
                keyroute_result_message(result, index));
  ck_assert_msg(range_map_right(&map, range_bytes(key), result, index, wrong), "%s", wrong);
}

START_TEST(test_range_directory__rows_read_one_by_one_are_right)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  for (size_t i = 0; i < KEYS; i++) {
    struct keyroute_result *result;

    ck_assert_msg(keyroute_get(&result, conn, "map", range_bytes(&keys[i]), NULL, NULL, &detail) ==
                      0,
                  "%s", detail.message);
    assert_right(&keys[i], result, 0);
    keyroute_result_free(result);
  }
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_range_directory__rows_read_together_are_right)
{
  static struct keyroute_key many[KEYS];
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  struct keyroute_result *result;

  for (size_t i = 0; i < KEYS; i++) {
    many[i] = (struct keyroute_key){"map", range_bytes(&keys[i])};
  }
  ck_assert_msg(keyroute_get_many(&result, conn, many, KEYS, NULL, NULL, &detail) == 0, "%s",
                detail.message);
  for (size_t i = 0; i < KEYS; i++) {
    assert_right(&keys[i], result, i);
  }
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
}
END_TEST

/* ---- Listing ---- */

START_TEST(test_range_directory__listing_has_each_range_once)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  struct keyroute_bytes all = {"", 0};
  struct keyroute_page *page;

  ck_assert_int_eq(keyroute_regions(&page, conn, "map", all, all, 2 * RANGES, NULL, NULL), 0);
  ck_assert_uint_eq(keyroute_page_count(page), map.count);
  for (size_t i = 0; i < map.count; i++) {
    struct keyroute_span span = {.size = sizeof(span)};

    ck_assert_int_eq(keyroute_page_span(page, i, &span), 0);
    ck_assert_int_eq(span.kind, KEYROUTE_SPAN_REGION);
    ck_assert_uint_eq(span.start.len, map.ranges[i].start.len);
    ck_assert_int_eq(memcmp(span.start.data, map.ranges[i].start.data, span.start.len), 0);
  }
  keyroute_page_free(page);
  keyroute_close(conn);
}
END_TEST

/* ---- What things cost ---- */

/* Reads of the catalog and requests to ranges that a read of one row has cost. */
static void assert_cost(struct keyroute_connection *conn, const struct range_key *key,
                        unsigned scans, unsigned requests, const char *what)
{
  struct keyroute_stats before = range_stats(conn);
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result;

  ck_assert_msg(keyroute_get(&result, conn, "map", range_bytes(key), NULL, NULL, &detail) == 0,
                "%s: %s", what, detail.message);
  struct keyroute_stats after = range_stats(conn);

  assert_right(key, result, 0);
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  ck_assert_msg(
      after.scans - before.scans == scans && after.requests - before.requests == requests,
      "%s: %" PRIu64 " reads of the catalog instead of %u, %" PRIu64 " requests instead of %u",
      what, after.scans - before.scans, scans, after.requests - before.requests, requests);
}

/* A row of the range in the middle of what a range of meta2 has, so many ranges further. */
static const struct range_key *row_of_meta2(int meta2, int further)
{
  return &map.rows[(size_t)(RANGES / RANGE_META2 * meta2 + RANGES / 6 + further) * ROWS_EACH + 2];
}

static size_t range_of(const struct range_key *key)
{
  return range_map_find(&map, range_bytes(key));
}

START_TEST(test_range_directory__reads_are_as_few_as_can_be)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  const struct range_key *first = row_of_meta2(0, 0), *far = row_of_meta2(0, 50);
  const struct range_key *other = row_of_meta2(1, 0), *last = row_of_meta2(2, 0);

  assert_cost(conn, first, 2, 1, "a cold read");
  assert_cost(conn, first, 0, 1, "a cached one");
  assert_cost(conn, far, 1, 1, "a new range of a range of meta2 that is known");
  assert_cost(conn, other, 2, 1, "a new range of meta2");

  range_move(&map, range_of(first));
  assert_cost(conn, first, 1, 2, "a range that moved");
  range_split(&map, far);
  assert_cost(conn, far, 1, 2, "a range that was split");
  range_merge(&map, range_of(other));
  assert_cost(conn, other, 1, 2, "a range that was merged");

  assert_cost(conn, last, 2, 1, "the last range of meta2");
  range_move_meta2(&map, 2);
  range_move(&map, range_of(last));
  assert_cost(conn, last, 3, 2, "a range of meta2 that moved, and one in it");
  ck_assert_uint_eq(range_stats(conn).registry_reads, 1);
  keyroute_close(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("range_directory");
  TCase *tests = tcase_create("directory");

  tcase_add_unchecked_fixture(tests, make, clear);
  tcase_add_test(tests, test_range_directory__rows_are_where_bigtables_client_finds_them);
  tcase_add_test(tests, test_range_directory__rows_read_one_by_one_are_right);
  tcase_add_test(tests, test_range_directory__rows_read_together_are_right);
  tcase_add_test(tests, test_range_directory__listing_has_each_range_once);
  tcase_add_test(tests, test_range_directory__reads_are_as_few_as_can_be);
  suite_add_tcase(suite, tests);
  return range_run(suite, 300);
}
