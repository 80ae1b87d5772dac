/*
 * The calls of keyroute/range.h as applications make them, against scripted nodes: arguments,
 * pages, deadlines, and a connection that is closed meanwhile.
 */
#include "keyroute/range.h"

#include "lib/bytes.h"
#include "test/blocking.h"
#include "test/fake_bigtable_writes.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 2, META2 = 1000000000, RANGES = 7 };

static struct fake_bigtable *bigtable;
static struct fake_bigtable_writes *writes;
static struct keyroute_connection *conn;
static struct keyroute_detail detail;
static struct keyroute_ranges *ranges;

static void open_connection(const char *layout)
{
  struct keyroute_options *options = NULL;
  char root[64];

  snprintf(root, sizeof(root), "127.0.0.1:%d", fake_bigtable_port(bigtable, 0));
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_layout(options, layout), 0);
  ck_assert_int_eq(keyroute_options_set(options, "keyroute.registry", "static", NULL), 0);
  ck_assert_int_eq(keyroute_options_set(options, "keyroute.registry.static.root", root, NULL), 0);
  int error = keyroute_open(&conn, options, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  keyroute_options_free(options);
}

static struct kr_descriptor_replica place(int node)
{
  return (struct kr_descriptor_replica){(uint64_t)node + 1, keyroute_string("127.0.0.1"),
                                        (uint16_t)fake_bigtable_port(bigtable, node)};
}

/* One range of meta2, and those of map from "", b, c, ... on, all on the first node. */
static void fill(void)
{
  static const char letters[] = "abcdefgh";
  struct kr_descriptor_replica here = place(0);
  struct kr_descriptor range = {
      .id = META2, .generation = 1, .replicas = &here, .replica_count = 1};

  fake_bigtable_make(bigtable, 0, 1);
  fake_bigtable_make(bigtable, 0, META2);
  fake_bigtable_publish(bigtable, 0, 1, 1, &range);
  for (int i = 0; i < RANGES; i++) {
    range.id = (uint64_t)i + 2;
    range.start_key = kr_bytes(letters + i, i > 0 ? 1 : 0);
    range.end_key = kr_bytes(letters + i + 1, i + 1 < RANGES ? 1 : 0);
    fake_bigtable_publish(bigtable, 0, META2, 2, &range);
    fake_bigtable_make(bigtable, 0, range.id);
  }
}

static void set_up(void)
{
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  ranges = NULL;
  bigtable = fake_bigtable_start(NODES);
  writes = fake_bigtable_writes_start(bigtable, NODES);
  fill();
  open_connection("range");
}

static void tear_down(void)
{
  keyroute_ranges_free(ranges);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  fake_bigtable_stop(bigtable);
  fake_bigtable_writes_free(writes);
}

static void refused(int error, const char *message)
{
  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(detail.error, error);
  ck_assert_str_eq(detail.message, message);
  ck_assert_ptr_null(ranges);
}

START_TEST(test_range__arguments_that_make_no_sense_are_refused_with_the_reason)
{
  static char long_key[5000];
  struct keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT, none = {0};
  struct keyroute_range_node nodes[2] = {{1, "a b", 9}, {2, "h", 0}};
  struct keyroute_range_node twice[2] = {{1, "h", 9}, {1, NULL, 0}};
  struct keyroute_range_init init = {.size = sizeof(init), .id = 2};
  struct keyroute_bytes key = keyroute_string("b"), missing = {NULL, 3};
  struct keyroute_bytes too_long = {long_key, sizeof(long_key)};

#define SPLIT(table, key, change)                                                                  \
  keyroute_range_split(&ranges, conn, table, key, change, NULL, &detail)
  refused(SPLIT("users", key, &change), "a range directory has the tables map, meta2 and meta1");
  refused(SPLIT(NULL, key, &change), "a range directory has the tables map, meta2 and meta1");
  refused(SPLIT("meta1", key, &change), "meta1 is one range, which can only be moved");
  refused(SPLIT("map", missing, &change), "the key has a length and no data");
  refused(SPLIT("map", too_long, &change), "the key has 5000 bytes, not at most 4094");
  refused(SPLIT("map", key, &none), "the change's size is not set");
  change.id = 5;
  refused(SPLIT("meta2", key, &change), "ranges of meta2 get ids of their own");
  change.nodes = nodes;
  change.node_count = 1;
  refused(SPLIT("map", key, &change), "the host of node 1 holds strange bytes");
  change.nodes = twice;
  change.node_count = 2;
  refused(SPLIT("map", key, &change), "node 1 is named twice");
  change.nodes = nodes + 1;
  change.node_count = 1;
  refused(SPLIT("map", key, &change), "the port 0 of node 2 is not 1 to 65535");
  change.node_count = 256;
  refused(SPLIT("map", key, &change), "there are 256 nodes, not at most 255");
#undef SPLIT
  refused(keyroute_range_init(&ranges, conn, NULL, NULL, &detail),
          "there is no beginning, or its size is not set");
  ck_assert_int_eq(keyroute_range_init(&ranges, conn, &init, NULL, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "as keyroute.registry.static.root says"));
}
END_TEST

START_TEST(test_range__list_comes_in_pages)
{
  struct keyroute_bytes start = {NULL, 0};
  struct keyroute_range range = {.size = sizeof(range)};
  size_t seen = 0;
  bool more = true;

  while (more) {
    struct keyroute_ranges *page = NULL;

    ck_assert_int_eq(keyroute_range_list(&page, conn, "map", start, 3, NULL, &detail), 0);
    ck_assert_uint_le(keyroute_ranges_count(page), 3);
    for (size_t i = 0; keyroute_ranges_get(page, i, &range) == 0; i++) {
      ck_assert_uint_eq(range.id, seen++ + 2);
    }
    keyroute_ranges_free(ranges); /* start was its */
    ranges = page;
    more = keyroute_ranges_next(page, &start);
  }
  ck_assert_uint_eq(seen, RANGES);
}
END_TEST

START_TEST(test_range__list_tells_nodes_and_refuses_numbers_that_are_none)
{
  struct keyroute_range range = {.size = sizeof(range)}, unsized = {.size = 0};
  struct keyroute_range_node node;

  ck_assert_int_eq(
      keyroute_range_list(&ranges, conn, "meta2", keyroute_string(""), 0, NULL, &detail), 0);

  ck_assert_uint_eq(keyroute_ranges_count(ranges), 1);
  ck_assert_int_eq(keyroute_ranges_get(ranges, 0, &range), 0);
  ck_assert_str_eq(range.table, "meta2");
  ck_assert_uint_eq(range.node_count, 1);
  ck_assert_int_eq(keyroute_ranges_node(ranges, 0, 0, &node), 0);
  ck_assert_str_eq(node.host, "127.0.0.1");
  ck_assert_int_eq(node.port, fake_bigtable_port(bigtable, 0));
  ck_assert_int_eq(keyroute_ranges_get(ranges, 1, &range), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_ranges_get(ranges, 0, &unsized), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_ranges_node(ranges, 0, 1, &node), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_uint_eq(keyroute_ranges_count(NULL), 0);
  ck_assert(!keyroute_ranges_next(NULL, &range.start));
  keyroute_ranges_free(NULL);
}
END_TEST

START_TEST(test_range__change_needs_no_list_and_no_detail)
{
  struct keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT;

  fake_bigtable_make(bigtable, 0, 20);
  fake_bigtable_make(bigtable, 0, 21);
  change.id = 20;
  change.right_id = 21;

  ck_assert_int_eq(
      keyroute_range_split(NULL, conn, "map", keyroute_string("bb"), &change, NULL, NULL), 0);

  ck_assert_int_eq(keyroute_range_list(&ranges, conn, "map", keyroute_string(""), 0, NULL, &detail),
                   0);
  ck_assert_uint_eq(keyroute_ranges_count(ranges), RANGES + 1);
}
END_TEST

START_TEST(test_range__no_change_in_meta2_is_one_where_it_was_before)
{
  struct keyroute_range_node node;
  struct keyroute_bytes key = keyroute_string("\002d");

  ck_assert_int_eq(keyroute_range_split(&ranges, conn, "meta2", key, NULL, NULL, &detail), 0);

  ck_assert_uint_eq(keyroute_ranges_count(ranges), 2);
  ck_assert_int_eq(keyroute_ranges_node(ranges, 1, 0, &node), 0);
  ck_assert_uint_eq(node.id, place(0).node_id);
}
END_TEST

START_TEST(test_range__nothing_is_interrupted_as_a_rule)
{
  ck_assert_int_eq(keyroute_range_interrupted(&ranges, conn, NULL, &detail), 0);
  ck_assert_uint_eq(keyroute_ranges_count(ranges), 0);
}
END_TEST

START_TEST(test_range__other_layouts_have_no_such_calls)
{
  keyroute_close(conn);
  open_connection("meta");

  refused(keyroute_range_interrupted(&ranges, conn, NULL, &detail),
          "the connection is not of layout range");
}
END_TEST

START_TEST(test_range__deadline_ends_a_call_to_a_node_that_says_nothing)
{
  struct fake_bigtable_fault silence = {.times = 100};
  struct keyroute_call call = KEYROUTE_CALL_INIT;

  fake_bigtable_fault(bigtable, 0, 1, &silence);
  call.deadline_ms = 200;

  ck_assert_int_eq(
      keyroute_range_list(&ranges, conn, "map", keyroute_string(""), 0, &call, &detail),
      KEYROUTE_E_TIMEOUT);

  ck_assert_ptr_null(ranges);
}
END_TEST

static void *list_in_thread(void *arg)
{
  (void)arg;
  return (void *)(intptr_t)keyroute_range_list(&ranges, conn, "map", keyroute_string(""), 0, NULL,
                                               &detail);
}

START_TEST(test_range__closing_ends_a_call_that_is_under_way)
{
  struct fake_bigtable_fault silence = {.times = 100};
  pthread_t thread;
  void *error;

  fake_bigtable_fault(bigtable, 0, 1, &silence);
  ck_assert_int_eq(pthread_create(&thread, NULL, list_in_thread, NULL), 0);
  while (fake_bigtable_reads(bigtable, 0) == 0) {
    pause_ms(1);
  }

  ck_assert_int_eq(keyroute_close(conn), 0);

  conn = NULL;
  pthread_join(thread, &error);
  ck_assert_int_eq((int)(intptr_t)error, KEYROUTE_E_CLOSED);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("range");
  TCase *tests = tcase_create("range");

  tcase_set_timeout(tests, 60);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_range__arguments_that_make_no_sense_are_refused_with_the_reason);
  tcase_add_test(tests, test_range__list_comes_in_pages);
  tcase_add_test(tests, test_range__list_tells_nodes_and_refuses_numbers_that_are_none);
  tcase_add_test(tests, test_range__change_needs_no_list_and_no_detail);
  tcase_add_test(tests, test_range__no_change_in_meta2_is_one_where_it_was_before);
  tcase_add_test(tests, test_range__nothing_is_interrupted_as_a_rule);
  tcase_add_test(tests, test_range__other_layouts_have_no_such_calls);
  tcase_add_test(tests, test_range__deadline_ends_a_call_to_a_node_that_says_nothing);
  tcase_add_test(tests, test_range__closing_ends_a_call_that_is_under_way);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
