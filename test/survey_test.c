/*
 * Reading the catalog for a listing, against a scripted server: what is asked for, how often, and
 * what comes of answers that are short, out of order or of two moments.
 */
#include "lib/bytes.h"
#include "lib/connection.h"
#include "lib/locator_state.h"
#include "test/blocking.h"
#include "test/fake_cluster.h"
#include "test/page_text.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

enum { PATIENCE_MS = 60000, TEXT = 8192 };

static struct fake_cluster cluster;
static struct keyroute_detail detail;
static char text[TEXT];

static void put(const char *start, const char *end, int64_t id)
{
  fake_cluster_put(&cluster, "t", start, end, id);
}

static struct fake_region made_region(const char *start, const char *end, int64_t id)
{
  return (struct fake_region){.table = "t",
                              .start = keyroute_string(start),
                              .end = keyroute_string(end),
                              .id = id,
                              .host = "h",
                              .port = 16020,
                              .start_code = 5};
}

static void put_split(const char *start, const char *end, int64_t id)
{
  struct fake_region region = made_region(start, end, id);

  region.split = region.offline = true;
  fake_server_put_region(cluster.server, &region);
}

static void drop(const char *start, int64_t id)
{
  struct fake_region region = made_region(start, "", id);

  fake_server_delete_region(cluster.server, &region);
}

static void fault(enum fake_what what, int times, size_t rows, int delay_ms)
{
  fake_server_fault(
      cluster.server,
      &(struct fake_fault){.what = what, .times = times, .rows = rows, .delay_ms = delay_ms});
}

static void setup(void)
{
  fake_cluster_start(&cluster, NULL);
  fake_cluster_set(&cluster, "hbase.client.retries.number", "10");
  fake_cluster_put(&cluster, "s", "", "", 1);
  fake_cluster_put(&cluster, "t1", "", "", 1);
  fake_cluster_open(&cluster);
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}

static void teardown(void)
{
  keyroute_detail_clear(&detail);
  fake_cluster_stop(&cluster);
}

static unsigned scans(void)
{
  return fake_server_counts(cluster.server).scans;
}

static int list_within(const char *start, const char *end, size_t limit, int64_t deadline_ms)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, KEYROUTE_TRACE, 0};
  struct keyroute_page *page = NULL;
  int error =
      keyroute_regions(&page, cluster.conn, "t", row(start), row(end), limit, &call, &detail);

  text[0] = '\0';
  if (error == 0) {
    page_text(text, sizeof(text), page);
  }
  keyroute_page_free(page);
  return error;
}

static void expect(const char *start, const char *end, size_t limit, const char *wanted)
{
  int error = list_within(start, end, limit, PATIENCE_MS);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  ck_assert_str_eq(text, wanted);
}

/* ---- What is asked for ---------------------------------------------------------------------- */

START_TEST(test_survey__from_a_tables_start_it_is_one_request)
{
  put("", "g", 1);
  put("g", "", 2);

  expect("", "", 0, "-g g-");

  struct fake_seen seen = fake_server_last_scan(cluster.server);
  ck_assert_uint_eq(scans(), 1);
  ck_assert_str_eq(seen.start, "t,,");
  ck_assert_str_eq(seen.stop, "t ,,");
  ck_assert(seen.include_start && !seen.include_stop && !seen.reversed);
  ck_assert_uint_eq(seen.number_of_rows, 1003);
  ck_assert_uint_eq(seen.max_result_size, 67108864 / 4);
  ck_assert_str_eq(seen.family, "info");
  ck_assert_uint_eq(fake_server_counts(cluster.server).scanners, 0);
}
END_TEST

START_TEST(test_survey__no_more_is_read_than_the_span)
{
  put("", "g", 1);
  put("g", "m", 2);
  put("m", "", 3);

  expect("", "m", 0, "-g g-m");

  struct fake_counts counts = fake_server_counts(cluster.server);
  ck_assert_uint_eq(counts.scans, 1);
  ck_assert_uint_eq(counts.rows, 2);
  ck_assert_str_eq(fake_server_last_scan(cluster.server).stop, "t,m,00000000000000");
}
END_TEST

START_TEST(test_survey__in_the_middle_an_anchor_is_looked_for)
{
  put("", "g", 1);
  put("g", "m", 2);
  put("m", "", 3);

  expect("h", "", 0, "g-m m-");

  ck_assert_uint_eq(scans(), 2);
  ck_assert_str_eq(fake_server_last_scan(cluster.server).start, "t,g,00000000000000");
  ck_assert_uint_eq(keyroute_trace_count(detail.trace), 3);
}
END_TEST

START_TEST(test_survey__cache_knows_the_anchor_of_the_next_page)
{
  put("", "g", 1);
  put("g", "m", 2);
  put("m", "", 3);

  expect("", "", 2, "-g g-m > m");
  expect("m", "", 2, "m-");

  ck_assert_uint_eq(scans(), 2);
  ck_assert_str_eq(fake_server_last_scan(cluster.server).start, "t,g,00000000000000");
}
END_TEST

START_TEST(test_survey__anchor_is_below_split_parents)
{
  put("", "c", 1);
  for (int64_t i = 0; i < 9; i++) {
    put_split("c", "m", 10 + i);
  }
  put("c", "", 30);

  expect("c", "", 0, "c-");
  expect("b", "", 0, "-c c-");
}
END_TEST

START_TEST(test_survey__anchor_is_a_region_that_reaches_the_span)
{
  put("", "a", 1);
  put("a", "x", 2);
  put("c", "d", 3);
  put("x", "", 4);

  expect("f", "", 0, "a-x x-");
}
END_TEST

START_TEST(test_survey__region_that_ends_in_front_of_the_span_shows_the_overlap_there)
{
  put("", "m", 1);
  put("k", "", 2);

  expect("k", "", 0, "-m k-m=1&2 k-");
}
END_TEST

START_TEST(test_survey__hole_at_the_spans_start_is_told)
{
  put("", "c", 1);
  put("m", "", 2);

  expect("f", "", 0, "hole f-m m-");
  expect("f", "g", 0, "hole f-g");
}
END_TEST

START_TEST(test_survey__nothing_below_the_span_is_a_hole_too)
{
  put("m", "", 2);

  expect("f", "", 0, "hole f-m m-");
  expect("b", "c", 0, "hole b-c");
  expect("", "", 0, "hole -m m-");
}
END_TEST

START_TEST(test_survey__cached_anchor_that_is_gone_is_looked_for_anew)
{
  put("", "c", 1);
  put("c", "m", 2);
  put("m", "", 3);
  expect("", "", 0, "-c c-m m-");
  drop("", 1);
  drop("c", 2);
  put("", "m", 9);

  expect("m", "", 0, "m-");
  expect("e", "", 0, "-m m-");
}
END_TEST

/* ---- Answers that are not all there is ------------------------------------------------------ */

static void put_many(int count)
{
  char start[16], end[16];

  for (int i = 0; i < count; i++) {
    snprintf(start, sizeof(start), i > 0 ? "%05d" : "", i);
    snprintf(end, sizeof(end), i + 1 < count ? "%05d" : "", i + 1);
    put(start, end, 100 + i);
  }
}

START_TEST(test_survey__more_rows_than_one_request_takes_are_read_in_several)
{
  put_many(3000);

  ck_assert_int_eq(list_within("", "", 5000, PATIENCE_MS), 0);

  ck_assert_ptr_null(strstr(text, "hole"));
  ck_assert_uint_eq(scans(), 3);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).regions, 3001); /* hbase:meta */
}
END_TEST

START_TEST(test_survey__server_may_stop_early_at_every_row)
{
  put("", "c", 1);
  put("c", "m", 2);
  put("m", "", 3);
  fault(_i == 0 ? FAKE_EARLY_STOP : FAKE_HEARTBEAT, _i == 0 ? -1 : 2, 2, 0);

  expect("", "", 0, "-c c-m m-");
  expect("d", "", 0, "c-m m-");
}
END_TEST

START_TEST(test_survey__server_may_stop_before_it_meets_a_row)
{
  put("", "c", 1);
  put("c", "", 2);
  fault(FAKE_HEARTBEAT, 3, 0, 0);

  expect("", "", 0, "-c c-");

  ck_assert_uint_eq(scans(), 4);
  ck_assert_uint_eq(detail.rpcs, 4);
  ck_assert_uint_eq(detail.attempts, 1);
}
END_TEST

START_TEST(test_survey__server_that_never_meets_a_row_is_given_up)
{
  put("", "", 1);
  fault(FAKE_EARLY_STOP, -1, 0, 0);

  ck_assert_int_eq(list_within("", "", 0, 1000), KEYROUTE_E_TIMEOUT);

  ck_assert_ptr_nonnull(strstr(detail.message, "a row of table t"));
  ck_assert_uint_lt(scans(), 200);
}
END_TEST

START_TEST(test_survey__server_that_does_not_say_it_has_more_hides_nothing)
{
  put("", "c", 1);
  put("c", "m", 2);
  put("m", "", 3);
  fault(FAKE_SILENT_STOP, 1, 2, 0);

  expect("", "", 0, "-c c-m m-");
}
END_TEST

START_TEST(test_survey__end_of_the_table_is_asked_for_once_more_where_it_is_a_hole)
{
  put("", "c", 1);
  put("c", "m", 2);

  expect("", "", 0, "-c c-m hole m-");

  ck_assert_uint_eq(scans(), 2);
}
END_TEST

START_TEST(test_survey__rows_out_of_order_are_not_believed)
{
  put("", "c", 1);
  put("c", "", 2);
  fault(FAKE_BACKWARDS, 1, 0, 0);

  expect("", "", 0, "-c c-");
  fault(FAKE_BACKWARDS, -1, 0, 0);
  ck_assert_int_eq(list_within("", "", 0, 1000), KEYROUTE_E_PROTOCOL);

  ck_assert_ptr_nonnull(strstr(detail.message, "out of order"));
}
END_TEST

/* ---- Changes between two requests ----------------------------------------------------------- */

struct listing {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count, error; /* lock */
};

static struct listing listing = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void on_page(void *payload, int error, struct keyroute_page *page,
                    const struct keyroute_detail *about)
{
  (void)payload;
  (void)about;
  pthread_mutex_lock(&listing.lock);
  listing.count++;
  listing.error = error;
  page_text(text, sizeof(text), page);
  pthread_cond_signal(&listing.changed);
  pthread_mutex_unlock(&listing.lock);
  keyroute_page_free(page);
}

/* Start a listing; the server answers its first request with two rows, a second later, and may be
 * changed in between. */
static void start_and_await_first(void)
{
  unsigned before = scans();

  fault(FAKE_EARLY_STOP, 1, 2, 1000);
  ck_assert_int_eq(
      keyroute_regions_async(NULL, cluster.conn, "t", row(""), row(""), 0, NULL, on_page, NULL), 0);
  ck_assert(fake_server_wait_scans(cluster.server, before + 1, PATIENCE_MS));
}

static void expect_finished(int error, const char *wanted)
{
  pthread_mutex_lock(&listing.lock);
  while (listing.count == 0) {
    pthread_cond_wait(&listing.changed, &listing.lock);
  }
  pthread_mutex_unlock(&listing.lock);
  ck_assert_str_eq(keyroute_errname(listing.error), keyroute_errname(error));
  ck_assert_str_eq(text, wanted);
}

static void put_three(void)
{
  put("", "c", 1);
  put("c", "m", 2);
  put("m", "", 3);
}

START_TEST(test_survey__region_that_is_split_between_two_requests_is_no_overlap)
{
  put_three();
  start_and_await_first();
  put_split("c", "m", 2);
  put("c", "g", 8);
  put("g", "m", 9);

  expect_finished(0, "-c c-g g-m m-");
}
END_TEST

START_TEST(test_survey__regions_that_are_merged_between_two_requests_are_no_hole)
{
  put_three();
  start_and_await_first();
  drop("c", 2);
  drop("m", 3);
  put("c", "", 9);

  expect_finished(0, "-c c-");
}
END_TEST

START_TEST(test_survey__table_that_is_dropped_between_two_requests_is_not_found)
{
  put_three();
  start_and_await_first();
  drop("", 1);
  drop("c", 2);
  drop("m", 3);

  expect_finished(KEYROUTE_E_TABLE_NOT_FOUND, "");
}
END_TEST

/* ---- Time ----------------------------------------------------------------------------------- */

START_TEST(test_survey__deadline_ends_it_between_two_requests)
{
  put_many(200);
  fault(FAKE_EARLY_STOP, -1, 2, 20);

  ck_assert_int_eq(list_within("", "", 0, 400), KEYROUTE_E_TIMEOUT);

  ck_assert(detail.deadline);
}
END_TEST

/* ---- A parent of several regions ------------------------------------------------------------ */

static struct keyroute_bytes parent_of_three_tiers(struct keyroute_bytes table)
{
  if (kr_bytes_equal(table, keyroute_string("hbase:meta"))) {
    return kr_bytes(NULL, 0);
  }
  return keyroute_string(kr_bytes_equal(table, keyroute_string("hbase:mid")) ? "hbase:meta"
                                                                             : "hbase:mid");
}

static struct kr_catalog three_tiers;
static struct fake_server *mids[3];

/* Table hbase:mid has a region on each of three servers; hbase:meta tells which. */
static void setup_three_tiers(void)
{
  static const char *const bounds[] = {"", "t,g", "t,m", ""};

  setup();
  three_tiers = kr_catalog_meta;
  three_tiers.parent = parent_of_three_tiers;
  cluster.conn->catalog = &three_tiers;
  cluster.conn->locator->means.catalog = &three_tiers;
  for (int i = 0; i < 3; i++) {
    mids[i] = fake_server_start(0);
    struct fake_region region = made_region(bounds[i], bounds[i + 1], 50 + i);

    region.table = "hbase:mid";
    region.host = "127.0.0.1";
    region.port = fake_server_port(mids[i]);
    fake_server_put_region(cluster.server, &region);
  }
}

static void put_mid(int i, const char *start, const char *end, int64_t id)
{
  struct fake_region region = made_region(start, end, id);

  fake_server_put_region(mids[i], &region);
}

static void teardown_three_tiers(void)
{
  teardown();
  for (int i = 0; i < 3; i++) {
    fake_server_free(mids[i]);
  }
}

START_TEST(test_survey__goes_from_one_region_of_the_parent_to_the_next)
{
  put_mid(0, "", "c", 1);
  put_mid(0, "c", "g", 2);
  put_mid(1, "g", "m", 3);
  put_mid(2, "m", "", 4);

  expect("", "", 0, "-c c-g g-m m-");
  expect("", "", 2, "-c c-g > g");
  expect("g", "m", 0, "g-m");
  ck_assert_int_eq(keyroute_clear_table(cluster.conn, "t"), 0);
  expect("h", "", 0, "g-m m-");
}
END_TEST

START_TEST(test_survey__finds_an_anchor_in_the_parents_region_below)
{
  put_mid(0, "", "c", 1);
  put_mid(0, "c", "", 2);

  expect("x", "", 0, "c-");

  ck_assert_uint_ge(fake_server_counts(mids[2]).scans, 1);
  ck_assert_uint_ge(fake_server_counts(mids[1]).scans, 1);
}
END_TEST

START_TEST(test_survey__absent_table_is_looked_for_in_all_regions_of_the_parent)
{
  ck_assert_int_eq(list_within("h", "i", 0, PATIENCE_MS), KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_int_eq(list_within("", "", 0, PATIENCE_MS), KEYROUTE_E_TABLE_NOT_FOUND);

  for (int i = 0; i < 3; i++) {
    ck_assert_uint_ge(fake_server_counts(mids[i]).scans, 2);
  }
  put_mid(2, "p", "", 4);
  expect("h", "i", 0, "hole h-i");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("survey");
  TCase *all = tcase_create("all");
  TCase *tiers = tcase_create("three tiers");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_survey__from_a_tables_start_it_is_one_request);
  tcase_add_test(all, test_survey__no_more_is_read_than_the_span);
  tcase_add_test(all, test_survey__in_the_middle_an_anchor_is_looked_for);
  tcase_add_test(all, test_survey__cache_knows_the_anchor_of_the_next_page);
  tcase_add_test(all, test_survey__anchor_is_below_split_parents);
  tcase_add_test(all, test_survey__anchor_is_a_region_that_reaches_the_span);
  tcase_add_test(all, test_survey__region_that_ends_in_front_of_the_span_shows_the_overlap_there);
  tcase_add_test(all, test_survey__hole_at_the_spans_start_is_told);
  tcase_add_test(all, test_survey__nothing_below_the_span_is_a_hole_too);
  tcase_add_test(all, test_survey__cached_anchor_that_is_gone_is_looked_for_anew);
  tcase_add_test(all, test_survey__more_rows_than_one_request_takes_are_read_in_several);
  tcase_add_loop_test(all, test_survey__server_may_stop_early_at_every_row, 0, 2);
  tcase_add_test(all, test_survey__server_may_stop_before_it_meets_a_row);
  tcase_add_test(all, test_survey__server_that_never_meets_a_row_is_given_up);
  tcase_add_test(all, test_survey__server_that_does_not_say_it_has_more_hides_nothing);
  tcase_add_test(all, test_survey__end_of_the_table_is_asked_for_once_more_where_it_is_a_hole);
  tcase_add_test(all, test_survey__rows_out_of_order_are_not_believed);
  tcase_add_test(all, test_survey__region_that_is_split_between_two_requests_is_no_overlap);
  tcase_add_test(all, test_survey__regions_that_are_merged_between_two_requests_are_no_hole);
  tcase_add_test(all, test_survey__table_that_is_dropped_between_two_requests_is_not_found);
  tcase_add_test(all, test_survey__deadline_ends_it_between_two_requests);
  suite_add_tcase(suite, all);
  tcase_add_checked_fixture(tiers, setup_three_tiers, teardown_three_tiers);
  tcase_set_timeout(tiers, 300);
  tcase_add_test(tiers, test_survey__goes_from_one_region_of_the_parent_to_the_next);
  tcase_add_test(tiers, test_survey__finds_an_anchor_in_the_parents_region_below);
  tcase_add_test(tiers, test_survey__absent_table_is_looked_for_in_all_regions_of_the_parent);
  suite_add_tcase(suite, tiers);
  return run_suite(suite);
}
