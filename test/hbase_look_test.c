/*
 * Lookups at servers that do not scan down: the scripted server in three ways of not knowing the
 * word. What is asserted are answers, which are the same as at any other, and the requests that
 * they take: one more once a connection.
 */
#include "test/fake_cluster.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static const enum fake_downward ways[] = {FAKE_NO_SUCH_SCAN, FAKE_IGNORES_REVERSED,
                                          FAKE_MEETS_STOP_ROW};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct fake_cluster cluster;
static struct keyroute_detail detail;

/* Three regions of table t, and a table on either side of it. */
static void setup(void)
{
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  fake_cluster_start(&cluster, NULL);
  fake_cluster_put(&cluster, "s", "", "", 1);
  fake_cluster_put(&cluster, "t", "", "g", 2);
  fake_cluster_put(&cluster, "t", "g", "p", 3);
  fake_cluster_put(&cluster, "t", "p", "", 4);
  fake_cluster_put(&cluster, "u", "", "", 5);
  fake_cluster_open(&cluster);
}

static void teardown(void)
{
  keyroute_detail_clear(&detail);
  fake_cluster_stop(&cluster);
}

static int locate(struct keyroute_location **out, const char *table, const char *row,
                  unsigned flags)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;

  call.flags = flags;
  return keyroute_locate(out, cluster.conn, table, keyroute_string(row), &call, &detail);
}

static void expect_region(const char *table, const char *row, unsigned flags, const char *start)
{
  struct keyroute_location *location;

  ck_assert_msg(locate(&location, table, row, flags) == 0, "%s", detail.message);
  struct keyroute_bytes key = keyroute_location_start_key(location);

  ck_assert_uint_eq(key.len, strlen(start));
  ck_assert(key.len == 0 || memcmp(key.data, start, key.len) == 0);
  keyroute_location_release(location);
}

static void expect_failure(const char *table, const char *row, int code, const char *message)
{
  struct keyroute_location *location;

  ck_assert_int_eq(locate(&location, table, row, KEYROUTE_REFRESH), code);
  ck_assert_msg(strstr(detail.message, message) != NULL, "%s", detail.message);
}

/* Requests since the last call. */
static struct fake_counts spent(void)
{
  static struct fake_counts before;
  struct fake_counts now = fake_server_counts(cluster.server);
  struct fake_counts spent = now;

  spent.scans -= before.scans;
  spent.gets -= before.gets;
  spent.rpcs -= before.rpcs;
  before = now;
  return spent;
}

static void expect_spent(unsigned scans, unsigned gets)
{
  struct fake_counts have = spent();

  ck_assert_uint_eq(have.scans, scans);
  ck_assert_uint_eq(have.gets, gets);
  ck_assert_uint_eq(have.rpcs, scans + gets);
}

START_TEST(test_hbase_look__one_request_more_a_connection_finds_it_out)
{
  fake_server_set_downward(cluster.server, ways[_i]);

  expect_region("t", "k", 0, "g");
  ck_assert_uint_eq(detail.rpcs, 2);
  expect_spent(1, 1);
  expect_region("t", "z", 0, "p");
  ck_assert_uint_eq(detail.rpcs, 1);
  expect_region("t", "a", 0, "");
  expect_region("s", "a", 0, "");
  expect_spent(0, 3);
  ck_assert(fake_server_last_get(cluster.server).closest_row_before);
  ck_assert_uint_eq(fake_server_last_get(cluster.server).priority, 200);
  ck_assert_str_eq(fake_server_last_get(cluster.server).columns, "info");
}
END_TEST

START_TEST(test_hbase_look__new_connection_asks_anew)
{
  fake_server_set_downward(cluster.server, ways[_i]);
  expect_region("t", "k", 0, "g");
  fake_server_stop(cluster.server);
  fake_server_set_downward(cluster.server, FAKE_SCANS_DOWN);
  fake_server_restart(cluster.server);
  spent();

  expect_region("t", "z", KEYROUTE_REFRESH, "p");
  expect_region("t", "z", KEYROUTE_REFRESH, "p");
  expect_spent(2, 0);
}
END_TEST

START_TEST(test_hbase_look__split_parents_take_a_request_each)
{
  struct fake_region parent = {
      .table = "t", .start = keyroute_string("p"), .id = 6, .offline = true, .split = true};

  fake_server_set_downward(cluster.server, ways[_i]);
  fake_server_put_region(cluster.server, &parent);
  fake_cluster_put(&cluster, "t", "p", "", 5);
  expect_region("t", "k", 0, "g");
  spent();

  expect_region("t", "q", 0, "p");
  expect_spent(0, 2);
}
END_TEST

START_TEST(test_hbase_look__hole_is_told_with_its_bounds)
{
  fake_server_set_downward(cluster.server, ways[_i]);
  fake_cluster_put(&cluster, "h", "a", "b", 1);
  fake_cluster_put(&cluster, "h", "c", "", 2);

  expect_failure("h", "bb", KEYROUTE_E_HOLE, "hole from b to c");
  expect_failure("h", "", KEYROUTE_E_HOLE, "hole from the table's first row to a");
}
END_TEST

START_TEST(test_hbase_look__table_that_is_not_there_is_not_found)
{
  fake_server_set_downward(cluster.server, ways[_i]);

  expect_failure("ta", "k", KEYROUTE_E_TABLE_NOT_FOUND, "table ta is not in the catalog");
  expect_region("t", "k", 0, "g");
  expect_failure("ta", "k", KEYROUTE_E_TABLE_NOT_FOUND, "table ta is not in the catalog");
}
END_TEST

START_TEST(test_hbase_look__region_before_is_found)
{
  fake_server_set_downward(cluster.server, ways[_i]);

  expect_region("t", "p", KEYROUTE_BEFORE, "g");
  expect_region("t", "", KEYROUTE_BEFORE, "p");
  expect_region("t", "g", KEYROUTE_BEFORE | KEYROUTE_REFRESH, "");
}
END_TEST

START_TEST(test_hbase_look__rows_of_another_table_are_no_scan_down_either)
{
  fake_server_set_downward(cluster.server, ways[_i]);

  expect_region("t", "", KEYROUTE_BEFORE, "p");
  expect_spent(1, 1);
}
END_TEST

START_TEST(test_hbase_look__listing_is_whole)
{
  struct keyroute_page *page;

  fake_server_set_downward(cluster.server, ways[_i]);
  ck_assert_msg(keyroute_regions(&page, cluster.conn, "t", keyroute_string("h"),
                                 keyroute_string(""), 10, NULL, &detail) == 0,
                "%s", detail.message);
  ck_assert_uint_eq(keyroute_page_count(page), 2);
  keyroute_page_free(page);
}
END_TEST

/* ---- Servers that do ------------------------------------------------------------------------- */

START_TEST(test_hbase_look__server_that_scans_down_is_asked_once)
{
  expect_region("t", "k", 0, "g");
  expect_spent(1, 0);
}
END_TEST

START_TEST(test_hbase_look__server_that_says_there_is_no_more_is_not_asked_twice)
{
  expect_failure("ta", "k", KEYROUTE_E_TABLE_NOT_FOUND, "table ta is not in the catalog");
  expect_spent(2, 0);
}
END_TEST

START_TEST(test_hbase_look__refused_get_leaves_the_scans_exception_as_it_was)
{
  fake_server_fault(
      cluster.server,
      &(struct fake_fault){.what = FAKE_EXCEPTION,
                           .class_name = "org.apache.hadoop.hbase.DoNotRetryIOException",
                           .text = "no such thing",
                           .do_not_retry = true,
                           .times = 2});

  expect_failure("t", "k", KEYROUTE_E_REMOTE, "no such thing");
  expect_spent(1, 1);
  expect_failure("t", "k", KEYROUTE_E_REMOTE, "no such thing");
  expect_spent(1, 0);
}
END_TEST

START_TEST(test_hbase_look__exception_about_the_connection_is_not_asked_about)
{
  fake_server_fault(cluster.server,
                    &(struct fake_fault){.what = FAKE_FATAL,
                                         .class_name = "org.apache.hadoop.hbase.ipc."
                                                       "FatalConnectionException",
                                         .do_not_retry = true});

  expect_failure("t", "k", KEYROUTE_E_REMOTE, "FatalConnectionException");
  expect_spent(1, 0);
}
END_TEST

START_TEST(test_hbase_look__passing_exception_is_tried_again_as_ever)
{
  fake_server_fault(cluster.server,
                    &(struct fake_fault){.what = FAKE_EXCEPTION,
                                         .class_name = "org.apache.hadoop.hbase."
                                                       "NotServingRegionException"});

  expect_region("t", "k", 0, "g");
  expect_spent(2, 0);
}
END_TEST

/* ---- Trouble on the way ---------------------------------------------------------------------- */

START_TEST(test_hbase_look__get_that_fails_is_tried_again_from_the_scan)
{
  fake_server_set_downward(cluster.server, ways[_i]);
  fake_server_fault(cluster.server, &(struct fake_fault){.what = FAKE_CLOSE, .method = "Get"});

  expect_region("t", "k", 0, "g");
  expect_spent(2, 2);
}
END_TEST

START_TEST(test_hbase_look__one_deadline_holds_for_scan_and_get)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_location *location;

  fake_server_set_downward(cluster.server, ways[_i]);
  fake_server_fault(cluster.server,
                    &(struct fake_fault){.what = FAKE_NEVER, .method = "Get", .times = -1});
  call.deadline_ms = 300;

  ck_assert_int_eq(
      keyroute_locate(&location, cluster.conn, "t", keyroute_string("k"), &call, &detail),
      KEYROUTE_E_TIMEOUT);
}
END_TEST

static void note(void *payload, int error, struct keyroute_location *location,
                 const struct keyroute_detail *told)
{
  (void)location;
  (void)told;
  *(int *)payload = error;
}

START_TEST(test_hbase_look__close_during_the_get_ends_the_lookup)
{
  int error = 0;

  fake_server_set_downward(cluster.server, ways[_i]);
  fake_server_fault(cluster.server,
                    &(struct fake_fault){.what = FAKE_NEVER, .method = "Get", .times = -1});
  ck_assert_int_eq(
      keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string("k"), NULL, note, &error), 0);
  ck_assert(fake_server_wait_gets(cluster.server, 1, 10000));
  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  cluster.conn = NULL;
  ck_assert_int_eq(error, KEYROUTE_E_CLOSED);
}
END_TEST

/* Every allocation of a first lookup fails in turn; in the end one succeeds. */
START_TEST(test_hbase_look__every_failed_allocation_is_told)
{
  struct keyroute_location *location;
  int error = KEYROUTE_E_NO_MEMORY;

  fake_cluster_stop(&cluster);
  for (long n = 1; error != 0; n++) {
    fake_cluster_start(&cluster, &failing_allocator);
    fake_server_set_downward(cluster.server, ways[_i]);
    fake_cluster_set(&cluster, "hbase.client.retries.number", "0");
    fake_cluster_put(&cluster, "t", "", "", 2);
    fake_cluster_open(&cluster);
    mem_fail(n);
    error = locate(&location, "t", "k", 0);
    ck_assert(error == 0 || error == KEYROUTE_E_NO_MEMORY || error == KEYROUTE_E_UNREACHABLE);
    if (error == 0) {
      error = mem_has_failed() ? KEYROUTE_E_NO_MEMORY : 0;
      keyroute_location_release(location);
    }
    mem_fail(0);
    if (error != 0) {
      fake_cluster_stop(&cluster);
    }
  }
}
END_TEST

static void add_old(TCase *cases)
{
  tcase_add_loop_test(cases, test_hbase_look__one_request_more_a_connection_finds_it_out, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__new_connection_asks_anew, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__split_parents_take_a_request_each, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__hole_is_told_with_its_bounds, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__table_that_is_not_there_is_not_found, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__region_before_is_found, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__rows_of_another_table_are_no_scan_down_either, 0,
                      WAYS);
  tcase_add_loop_test(cases, test_hbase_look__listing_is_whole, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__get_that_fails_is_tried_again_from_the_scan, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__one_deadline_holds_for_scan_and_get, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__close_during_the_get_ends_the_lookup, 0, WAYS);
  tcase_add_loop_test(cases, test_hbase_look__every_failed_allocation_is_told, 0, WAYS);
}

int main(void)
{
  Suite *suite = suite_create("hbase_look");
  TCase *cases = tcase_create("hbase_look");

  tcase_set_timeout(cases, 120);
  tcase_add_checked_fixture(cases, setup, teardown);
  add_old(cases);
  tcase_add_test(cases, test_hbase_look__server_that_scans_down_is_asked_once);
  tcase_add_test(cases, test_hbase_look__server_that_says_there_is_no_more_is_not_asked_twice);
  tcase_add_test(cases, test_hbase_look__refused_get_leaves_the_scans_exception_as_it_was);
  tcase_add_test(cases, test_hbase_look__exception_about_the_connection_is_not_asked_about);
  tcase_add_test(cases, test_hbase_look__passing_exception_is_tried_again_as_ever);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
