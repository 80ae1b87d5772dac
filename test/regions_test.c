/*
 * Listing regions: what a page tells of a catalog that is well and of one that is not, what the
 * cache has of it, and how a listing ends that does not come to its end.
 */
#include "test/blocking.h"
#include "test/failing_mem.h"
#include "test/fake_cluster.h"
#include "test/page_text.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#define HBASE "org.apache.hadoop.hbase."

enum { PATIENCE_MS = 60000, TEXT = 16384, MANY = 2000 };

static struct fake_cluster cluster;
static struct keyroute_page *page;
static struct keyroute_detail detail;

static void setup(void)
{
  fake_cluster_start(&cluster, NULL);
  fake_cluster_set(&cluster, "hbase.client.retries.number", "10");
  fake_cluster_put(&cluster, "s", "", "", 90);
  fake_cluster_put(&cluster, "t1", "", "", 91);
  fake_cluster_open(&cluster);
  page = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}

static void teardown(void)
{
  keyroute_page_free(page);
  keyroute_detail_clear(&detail);
  fake_cluster_stop(&cluster);
}

static void put(const char *start, const char *end, int64_t id)
{
  fake_cluster_put(&cluster, "t", start, end, id);
}

static void put_three(void)
{
  put("", "g", 1);
  put("g", "m", 2);
  put("m", "", 3);
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

static int list(const char *table, const char *start, const char *end, size_t limit)
{
  struct keyroute_call call = {sizeof(call), PATIENCE_MS, KEYROUTE_TRACE, 0};

  keyroute_page_free(page);
  page = NULL;
  return keyroute_regions(&page, cluster.conn, table, row(start), row(end), limit, &call, &detail);
}

static void expect_page(const char *wanted)
{
  char text[TEXT];

  page_text(text, sizeof(text), page);
  ck_assert_str_eq(text, wanted);
}

static void expect(const char *start, const char *end, size_t limit, const char *wanted)
{
  int error = list("t", start, end, limit);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  expect_page(wanted);
}

static struct keyroute_span span_at(size_t index)
{
  struct keyroute_span span = {.size = sizeof(span)};

  ck_assert_int_eq(keyroute_page_span(page, index, &span), 0);
  return span;
}

static unsigned scans(void)
{
  return fake_server_counts(cluster.server).scans;
}

/* ---- What is there -------------------------------------------------------------------------- */

START_TEST(test_regions__table_is_listed_with_its_locations)
{
  put_three();

  expect("", "", 0, "-g g-m m-");

  struct keyroute_span span = span_at(1);
  ck_assert_int_eq(span.kind, KEYROUTE_SPAN_REGION);
  ck_assert_int_eq(keyroute_location_region_id(span.location), 2);
  ck_assert_int_eq(keyroute_location_port(span.location, 0), fake_server_port(cluster.server));
  ck_assert_str_eq(span.message, "");
  ck_assert(!span.offline);
}
END_TEST

START_TEST(test_regions__span_is_listed_from_the_region_that_holds_its_start)
{
  put_three();

  expect("h", "", 0, "g-m m-");
  expect("g", "h", 0, "g-m");
  expect("a", "g", 0, "-g");
  expect("f", "g\x01", 0, "-g g-m");
}
END_TEST

START_TEST(test_regions__keys_may_hold_commas_and_what_sorts_below_them)
{
  put("", "a", 1);
  put("a", "a\x01", 2);
  put("a\x01", "a,b", 3);
  put("a,b", "", 4);

  expect("", "", 1, "-a > a");
  expect("a", "", 1, "a-a\\x01 > a\\x01");
  expect("a\x01", "", 1, "a\\x01-a,b > a,b");
  expect("a,b", "", 1, "a,b-");
  expect("a\x01z", "", 0, "a\\x01-a,b a,b-");
}
END_TEST

START_TEST(test_regions__tables_whose_names_begin_alike_are_kept_apart)
{
  put_three();
  fake_cluster_put(&cluster, "t.x", "", "", 92);
  fake_cluster_put(&cluster, "t-x", "", "", 93);
  fake_cluster_put(&cluster, "ns:t", "", "", 94);

  expect("", "", 0, "-g g-m m-");
  ck_assert_int_eq(list("t1", "", "", 0), 0);
  expect_page("-");
  ck_assert_int_eq(list("ns:t", "", "", 0), 0);
  ck_assert_int_eq(keyroute_location_region_id(span_at(0).location), 94);
}
END_TEST

START_TEST(test_regions__absent_table_is_not_found)
{
  ck_assert_int_eq(list("t", "", "", 0), KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_str_eq(detail.message, "table t is not in the catalog");
  ck_assert_uint_eq(detail.rpcs, 1);
  ck_assert_int_eq(list("t", "b", "", 0), KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_int_eq(list("t", "b", "c", 0), KEYROUTE_E_TABLE_NOT_FOUND);

  ck_assert_ptr_null(page);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).tables, 1); /* hbase:meta */
}
END_TEST

START_TEST(test_regions__table_that_is_gone_is_forgotten)
{
  struct fake_region region = made_region("", "", 1);

  put("", "", 1);
  expect("", "", 0, "-");
  fake_server_delete_region(cluster.server, &region);

  ck_assert_int_eq(list("t", "", "", 0), KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_int_eq(locate(cluster.conn, "t", "a", KEYROUTE_CACHE_ONLY, NULL),
                   KEYROUTE_E_NOT_CACHED);
}
END_TEST

START_TEST(test_regions__catalog_itself_is_listed_by_the_registry)
{
  ck_assert_int_eq(list("hbase:meta", "", "", 0), 0);
  expect_page("-");
  ck_assert_int_eq(keyroute_location_port(span_at(0).location, 0),
                   fake_server_port(cluster.server));
  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_REGISTRY);
  ck_assert_int_eq(list("hbase:meta", "c", "d", 7), 0);
  expect_page("-");

  ck_assert_uint_eq(scans(), 0);
}
END_TEST

/* ---- What is wrong -------------------------------------------------------------------------- */

START_TEST(test_regions__hole_and_overlap_are_told_with_their_bounds)
{
  put("", "c", 1);
  put("f", "m", 2);
  put("k", "p", 3);
  put("p", "x", 4);

  expect("", "", 0, "-c hole c-f f-m k-m=2&3 k-p p-x hole x-");

  struct keyroute_span overlap = span_at(3);
  ck_assert_ptr_null(span_at(1).location);
  ck_assert_str_eq(span_at(1).message, "no region covers it");
  ck_assert_int_eq(keyroute_location_region_id(overlap.location), 2);
  ck_assert_int_eq(keyroute_location_region_id(overlap.other), 3);
}
END_TEST

START_TEST(test_regions__split_parent_is_not_listed)
{
  struct fake_region parent = made_region("g", "m", 2);

  put_three();
  parent.split = parent.offline = true;
  fake_server_put_region(cluster.server, &parent);
  put("g", "i", 8);
  put("i", "m", 9);

  expect("", "", 0, "-g g-i i-m m-");
}
END_TEST

START_TEST(test_regions__offline_region_and_one_without_server_are_listed_with_the_reason)
{
  struct fake_region offline = made_region("g", "m", 2), placeless = made_region("m", "", 3);

  put_three();
  offline.offline = true;
  placeless.host = NULL;
  fake_server_put_region(cluster.server, &offline);
  fake_server_put_region(cluster.server, &placeless);

  expect("", "", 0, "-g g-m m-");

  ck_assert(span_at(1).offline && !span_at(2).offline);
  ck_assert_str_eq(span_at(1).message, "the region is offline");
  ck_assert_str_eq(span_at(2).message, "the region is on no server");
  ck_assert_ptr_null(keyroute_location_host(span_at(2).location, 0));
  ck_assert_int_eq(locate(cluster.conn, "t", "x", KEYROUTE_CACHE_ONLY, NULL),
                   KEYROUTE_E_NOT_CACHED);
  ck_assert_int_eq(locate(cluster.conn, "t", "h", KEYROUTE_CACHE_ONLY, NULL),
                   KEYROUTE_E_NOT_CACHED);
}
END_TEST

START_TEST(test_regions__disabled_table_is_listed)
{
  struct fake_region region = made_region("", "", 1);

  region.host = NULL;
  fake_server_put_region(cluster.server, &region);
  fake_server_put_table_state(cluster.server, "t", 1);

  expect("", "", 0, "-");
  ck_assert_str_eq(span_at(0).message, "the region is on no server");
}
END_TEST

START_TEST(test_regions__row_that_cannot_be_believed_is_listed_with_the_reason)
{
  struct fake_region region = made_region("g", "m", 2);
  struct keyroute_bytes name = fake_region_name(&region);

  put_three();
  fake_server_put_cell(cluster.server, name, "info", "regioninfo", keyroute_string("nonsense"));
  free((void *)(uintptr_t)name.data);

  expect("", "", 0, "-g hole g-m bad g m-");

  ck_assert_ptr_nonnull(strstr(span_at(2).message, "its regioninfo cannot be read"));
  ck_assert_ptr_null(span_at(2).location);
}
END_TEST

START_TEST(test_regions__region_on_a_server_known_dead_is_listed_with_the_reason)
{
  struct keyroute_location *location = NULL;
  struct fake_region region = made_region("", "", 1);

  fake_server_put_region(cluster.server, &region);
  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, NULL), 0);
  ck_assert_int_eq(keyroute_report(cluster.conn, location, KEYROUTE_FAULT_SERVER_DEAD, NULL), 0);

  expect("", "", 0, "-");

  ck_assert_str_eq(span_at(0).message, "the region's server is known dead");
  ck_assert_int_eq(locate(cluster.conn, "t", "a", KEYROUTE_CACHE_ONLY, NULL),
                   KEYROUTE_E_NOT_CACHED);
  keyroute_location_release(location);
}
END_TEST

/* ---- Pages ---------------------------------------------------------------------------------- */

/* All pages of one size, their spans in one text. */
static void list_in_pages(char *text, size_t size, size_t limit)
{
  char from[64] = "";
  bool more = true;

  text[0] = '\0';
  while (more) {
    struct keyroute_bytes next = {NULL, 0};

    ck_assert_int_eq(list("t", from, "", limit), 0);
    page_text_spans(text, size, page);
    more = keyroute_page_next(page, &next);
    snprintf(from, sizeof(from), "%.*s", (int)next.len, more ? (const char *)next.data : "");
  }
}

START_TEST(test_regions__pages_of_any_size_tell_the_same)
{
  char whole[TEXT], paged[TEXT];
  struct fake_region dead = made_region("r", "s", 20);

  put("", "c", 1);
  put("d", "m", 2);
  put("g", "h", 3);
  put("k", "p", 4);
  put("p", "q", 5);
  put("p", "q", 6);
  put("r", "s", 7);
  dead.split = true;
  fake_server_put_region(cluster.server, &dead);
  put("t", "x", 8);

  list_in_pages(whole, sizeof(whole), 100);
  for (size_t limit = 1; limit < 10; limit++) {
    for (int cold = 0; cold < 2; cold++) {
      ck_assert_int_eq(cold > 0 ? keyroute_clear_all(cluster.conn) : 0, 0);
      list_in_pages(paged, sizeof(paged), limit);
      ck_assert_str_eq(paged, whole);
    }
  }
}
END_TEST

/* n regions of table t, each of one number. */
static void put_many(int count)
{
  char start[16], end[16];

  for (int i = 0; i < count; i++) {
    snprintf(start, sizeof(start), i > 0 ? "%05d" : "", i);
    snprintf(end, sizeof(end), i + 1 < count ? "%05d" : "", i + 1);
    put(start, end, 100 + i);
  }
}

START_TEST(test_regions__s061_page_is_as_long_as_it_says_and_tells_where_to_go_on)
{
  put_many(MANY);

  ck_assert_int_eq(list("t", "", "", 0), 0);
  struct keyroute_bytes next;
  ck_assert_uint_eq(keyroute_page_count(page), 1000);
  ck_assert(keyroute_page_next(page, &next));
  ck_assert_mem_eq(next.data, "01000", 5);
  struct keyroute_page *first = page;
  page = NULL;
  int error = keyroute_regions(&page, cluster.conn, "t", next, row(""), 0, NULL, &detail);

  keyroute_page_free(first);
  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(keyroute_page_count(page), 1000);
  ck_assert(!keyroute_page_next(page, &next));
  ck_assert_uint_eq(scans(), 2);
}
END_TEST

START_TEST(test_regions__s062_all_that_was_listed_is_cached)
{
  char key[16];

  put_many(MANY);
  ck_assert_int_eq(list("t", "", "", 10000), 0);
  ck_assert_uint_eq(keyroute_page_count(page), MANY);
  unsigned before = scans();

  for (int i = 0; i < MANY; i++) {
    struct keyroute_location *location = NULL;

    snprintf(key, sizeof(key), "%05d", i);
    ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row(key), NULL, NULL), 0);
    ck_assert_int_eq(keyroute_location_region_id(location), 100 + i);
    ck_assert_ptr_eq(location, span_at((size_t)i).location);
    keyroute_location_release(location);
  }

  struct keyroute_stats stats = fake_cluster_stats(&cluster);
  ck_assert_uint_eq(scans(), before);
  ck_assert_uint_eq(stats.hits, MANY);
  ck_assert_uint_eq(stats.misses, 0);
}
END_TEST

START_TEST(test_s034_second_listing_shows_the_daughters)
{
  struct fake_region parent = made_region("g", "m", 2);
  struct keyroute_location *location = NULL;

  put_three();
  expect("", "", 0, "-g g-m m-");
  parent.split = parent.offline = true;
  fake_server_put_region(cluster.server, &parent);
  put("g", "i", 8);
  put("i", "m", 9);
  struct keyroute_location *known = span_at(1).location;
  ck_assert_int_eq(keyroute_report(cluster.conn, known, KEYROUTE_FAULT_NOT_SERVING, NULL), 0);
  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("g"), NULL, NULL), 0);
  keyroute_location_release(location);

  expect("", "", 0, "-g g-i i-m m-");
}
END_TEST

/* ---- Reports and clearing meanwhile --------------------------------------------------------- */

struct told {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count, error; /* lock */
};

static struct told told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void tell(void *payload, int error, struct keyroute_page *got,
                 const struct keyroute_detail *about)
{
  (void)payload;
  ck_assert_int_eq(about->error, error);
  ck_assert_int_eq(got != NULL, error == 0);
  pthread_mutex_lock(&told.lock);
  told.count++;
  told.error = error;
  keyroute_page_free(page);
  page = got;
  pthread_cond_signal(&told.changed);
  pthread_mutex_unlock(&told.lock);
}

static void await_told(int count)
{
  pthread_mutex_lock(&told.lock);
  while (told.count < count) {
    pthread_cond_wait(&told.changed, &told.lock);
  }
  pthread_mutex_unlock(&told.lock);
}

static uint64_t start_listing(void)
{
  uint64_t number = 0;

  ck_assert_int_eq(
      keyroute_regions_async(&number, cluster.conn, "t", row(""), row(""), 0, NULL, tell, NULL), 0);
  return number;
}

static void fault(enum fake_what what, int times, size_t rows, int delay_ms)
{
  fake_server_fault(
      cluster.server,
      &(struct fake_fault){.what = what, .times = times, .rows = rows, .delay_ms = delay_ms});
}

START_TEST(test_regions__what_is_reported_meanwhile_is_not_cached)
{
  struct keyroute_location *location = NULL;

  put_three();
  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, NULL), 0);
  unsigned before = scans();
  fault(FAKE_ANSWER, 1, 0, 500);
  start_listing();
  ck_assert(fake_server_wait_scans(cluster.server, before + 1, PATIENCE_MS));
  ck_assert_int_eq(keyroute_report(cluster.conn, location, KEYROUTE_FAULT_NOT_SERVING, NULL), 0);
  await_told(1);

  ck_assert_int_eq(told.error, 0);
  expect_page("-g g-m m-");
  ck_assert_int_eq(locate(cluster.conn, "t", "a", KEYROUTE_CACHE_ONLY, NULL),
                   KEYROUTE_E_NOT_CACHED);
  ck_assert_int_eq(locate(cluster.conn, "t", "h", KEYROUTE_CACHE_ONLY, NULL), 0);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_regions__what_was_read_before_a_clear_is_not_cached)
{
  put_three();
  fault(FAKE_ANSWER, 1, 0, 500);
  start_listing();
  ck_assert(fake_server_wait_scans(cluster.server, 1, PATIENCE_MS));
  ck_assert_int_eq(keyroute_clear_all(cluster.conn), 0);
  await_told(1);

  ck_assert_int_eq(told.error, 0);
  expect_page("-g g-m m-");
  ck_assert_int_eq(locate(cluster.conn, "t", "a", KEYROUTE_CACHE_ONLY, NULL),
                   KEYROUTE_E_NOT_CACHED);
}
END_TEST

/* ---- Trouble on the way --------------------------------------------------------------------- */

START_TEST(test_regions__connection_that_breaks_in_the_middle_is_made_again)
{
  put_three();
  fault(FAKE_EARLY_STOP, 1, 2, 0);
  fault(FAKE_CLOSE, 2, 0, 0);
  fault(FAKE_HALF, 1, 0, 0);

  expect("", "", 0, "-g g-m m-");

  struct keyroute_stats stats = fake_cluster_stats(&cluster);
  ck_assert_uint_eq(stats.scans_failed, 3);
  ck_assert_uint_eq(stats.requests, 0);
  ck_assert_uint_eq(detail.attempts, 4);
}
END_TEST

static void exception(const char *class_name, const char *message, int times)
{
  fake_server_fault(cluster.server, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                                         .class_name = class_name,
                                                         .text = message,
                                                         .times = times});
}

START_TEST(test_regions__exceptions_in_the_middle_are_waited_out)
{
  put_three();
  fault(FAKE_EARLY_STOP, 1, 2, 0);
  exception(HBASE "RegionTooBusyException", "busy", 2);
  exception(HBASE "NotServingRegionException", "not here", 2);

  expect("", "", 0, "-g g-m m-");
}
END_TEST

START_TEST(test_regions__catalog_that_moves_in_the_middle_is_followed)
{
  struct fake_server *next = fake_server_start(0);
  char moved[200];
  struct fake_region regions[] = {made_region("", "g", 1), made_region("g", "m", 2),
                                  made_region("m", "", 3)};

  put_three();
  for (int i = 0; i < 3; i++) {
    fake_server_put_region(next, &regions[i]);
  }
  snprintf(moved, sizeof(moved),
           "Region moved to: hostname=127.0.0.1 port=%d startCode=78. As of locationSeqNum=9.",
           fake_server_port(next));
  fault(FAKE_EARLY_STOP, 1, 2, 0);
  exception(HBASE "exceptions.RegionMovedException", moved, -1);

  expect("", "", 0, "-g g-m m-");

  ck_assert_uint_eq(fake_server_counts(next).scans, 1);
  ck_assert_int_eq(keyroute_location_port(span_at(2).location, 0), 16020);
  keyroute_close(cluster.conn);
  cluster.conn = NULL;
  fake_server_free(next);
}
END_TEST

START_TEST(test_regions__catalog_that_cannot_be_reached_is_told)
{
  struct keyroute_call call = {sizeof(call), 500, 0, 0};

  fake_server_stop(cluster.server);
  int error = keyroute_regions(&page, cluster.conn, "t", row(""), row(""), 0, &call, &detail);
  ck_assert_int_eq(error, KEYROUTE_E_UNREACHABLE);
  error = keyroute_regions(&page, cluster.conn, "t", row(""), row(""), 0, &call, &detail);
  ck_assert_int_eq(error, KEYROUTE_E_UNREACHABLE);

  ck_assert_ptr_null(page);
  ck_assert_str_ne(detail.message, "");
}
END_TEST

START_TEST(test_regions__silent_server_ends_with_the_deadline)
{
  struct keyroute_call call = {sizeof(call), 300, 0, 0};

  fault(FAKE_NEVER, -1, 0, 0);
  int error = keyroute_regions(&page, cluster.conn, "t", row(""), row(""), 0, &call, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_TIMEOUT);
  ck_assert(detail.deadline);
}
END_TEST

/* ---- Early ends ----------------------------------------------------------------------------- */

START_TEST(test_regions__listing_is_cancelled_while_its_answer_is_awaited)
{
  fault(FAKE_NEVER, -1, 0, 0);
  uint64_t number = start_listing();

  ck_assert(fake_server_wait_scans(cluster.server, 1, PATIENCE_MS));
  keyroute_cancel(cluster.conn, number);
  await_told(1);

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_regions__listing_is_cancelled_while_it_waits_to_try_again)
{
  exception(HBASE "quotas.RpcThrottlingException", "limit exceeded - wait 20sec, 0ms", -1);
  uint64_t number = start_listing();

  ck_assert(fake_server_wait_scans(cluster.server, 1, PATIENCE_MS));
  pause_ms(50);
  keyroute_cancel(cluster.conn, number);
  await_told(1);

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_regions__closing_ends_what_is_under_way)
{
  fault(FAKE_NEVER, -1, 0, 0);
  start_listing();
  start_listing();
  ck_assert(fake_server_wait_scans(cluster.server, 2, PATIENCE_MS));

  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  cluster.conn = NULL;

  ck_assert_int_eq(told.count, 2);
  ck_assert_int_eq(told.error, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_regions__page_outlives_its_connection)
{
  put_three();
  start_listing();
  await_told(1);

  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  cluster.conn = NULL;

  expect_page("-g g-m m-");
}
END_TEST

START_TEST(test_regions__callback_waits_for_the_applications_thread)
{
  put_three();
  keyroute_close(cluster.conn);
  keyroute_options_set_drain(cluster.options, true);
  fake_cluster_open(&cluster);
  start_listing();
  for (int i = 0; told.count == 0 && i < PATIENCE_MS; i++) {
    keyroute_drain(cluster.conn);
    pause_ms(1);
  }

  ck_assert_int_eq(told.error, 0);
  expect_page("-g g-m m-");
}
END_TEST

/* ---- Arguments and figures ------------------------------------------------------------------ */

static const struct {
  const char *table, *start, *end;
  size_t limit;
  struct keyroute_call call;
  const char *reason;
} refused[] = {
    {"t!", "", "", 0, KEYROUTE_CALL_INIT, "table name"},
    {"t", "b", "b", 0, KEYROUTE_CALL_INIT, "not below"},
    {"t", "c", "b", 0, KEYROUTE_CALL_INIT, "not below"},
    {"t", "", "", 10001, KEYROUTE_CALL_INIT, "limit is 10001"},
    {"t", "", "", 0, {sizeof(struct keyroute_call), 0, KEYROUTE_REFRESH, 0}, "flags"},
    {"t", "", "", 0, {sizeof(struct keyroute_call), 0, 0, 1}, "replica is 1"},
    {"t", "", "", 0, {sizeof(struct keyroute_call), 0, 0, KEYROUTE_REPLICA_ANY}, "replica is -1"},
    {"t", "", "", 0, {0, 0, 0, 0}, "size"},
};

START_TEST(test_regions__what_makes_no_sense_is_refused_with_the_reason)
{
  struct keyroute_bytes start = row(refused[_i].start), end = row(refused[_i].end);
  const struct keyroute_call *call = &refused[_i].call;
  int error = keyroute_regions(&page, cluster.conn, refused[_i].table, start, end,
                               refused[_i].limit, call, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_msg(strstr(detail.message, refused[_i].reason) != NULL, "%s", detail.message);
  ck_assert_ptr_null(page);
  ck_assert_int_eq(keyroute_regions_async(NULL, cluster.conn, refused[_i].table, start, end,
                                          refused[_i].limit, call, tell, NULL),
                   KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_regions__null_is_refused)
{
  struct keyroute_bytes none = {NULL, 3};
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;
  struct keyroute_connection *conn = cluster.conn;

  ck_assert_int_eq(keyroute_regions(NULL, conn, "t", row(""), row(""), 0, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_regions(&page, NULL, "t", row(""), row(""), 0, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_regions(&page, conn, NULL, row(""), row(""), 0, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_regions(&page, conn, "t", none, row(""), 0, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_regions(&page, conn, "t", row(""), none, 0, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_regions_async(NULL, conn, "t", row(""), row(""), 0, NULL, NULL, NULL),
                   invalid);
  ck_assert_int_eq(keyroute_regions_async(NULL, NULL, "t", row(""), row(""), 0, NULL, tell, NULL),
                   invalid);
}
END_TEST

START_TEST(test_regions__keys_without_data_are_empty)
{
  struct keyroute_bytes empty = {NULL, 0};

  put_three();
  ck_assert_int_eq(keyroute_regions(&page, cluster.conn, "t", empty, empty, 0, NULL, NULL), 0);

  expect_page("-g g-m m-");
}
END_TEST

START_TEST(test_regions__too_many_at_once_are_refused)
{
  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "keyroute.max.pending", "1");
  fake_cluster_open(&cluster);
  fault(FAKE_NEVER, -1, 0, 0);
  uint64_t number = start_listing();

  ck_assert_int_eq(list("t", "", "", 0), KEYROUTE_E_OVERLOADED);
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute.max.pending"));
  keyroute_cancel(cluster.conn, number);
  await_told(1);
}
END_TEST

START_TEST(test_regions__detail_trace_and_counters_tell_what_was_done)
{
  struct keyroute_step step = {.size = sizeof(step)};

  put_three();
  expect("", "", 0, "-g g-m m-");

  struct keyroute_stats stats = fake_cluster_stats(&cluster);
  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_CATALOG);
  ck_assert_uint_eq(detail.attempts, 1);
  ck_assert_uint_eq(detail.rpcs, 1);
  ck_assert_str_eq(detail.message, "");
  ck_assert_uint_eq(keyroute_trace_count(detail.trace), 2);
  ck_assert_int_eq(keyroute_trace_step(detail.trace, 1, &step), 0);
  ck_assert_str_eq(step.name, "scan");
  ck_assert_str_ne(step.server, "");
  ck_assert_uint_eq(stats.scans, 1);
  ck_assert_uint_eq(stats.rpcs, 1);
  ck_assert_uint_eq(stats.hits + stats.misses + stats.requests, 0);
  ck_assert_uint_eq(stats.regions, 4); /* hbase:meta's too */
  ck_assert_uint_eq(stats.pending, 0);
}
END_TEST

/* ---- Memory --------------------------------------------------------------------------------- */

START_TEST(test_regions__every_allocation_may_fail)
{
  bool failed = true;
  struct fake_region region = made_region("p", "q", 7);
  struct keyroute_bytes name = fake_region_name(&region);

  fake_cluster_stop(&cluster);
  fake_cluster_start(&cluster, &failing_allocator);
  put("", "g", 1);
  put("e", "m", 2);
  fake_server_put_cell(cluster.server, name, "info", "regioninfo", keyroute_string("nonsense"));
  free((void *)(uintptr_t)name.data);
  put("q", "", 3);
  for (long n = 1; failed; n++) {
    fake_cluster_open(&cluster);
    fault(FAKE_EARLY_STOP, 1, 2, 0);
    mem_fail(n);
    int error = list("t", "b", "", 3);

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_msg(error == 0 || error == KEYROUTE_E_NO_MEMORY, "%ld: %s: %s", n,
                  keyroute_errname(error), detail.message);
    if (error == 0) {
      expect_page("-g e-g=1&2 e-m hole m-q bad p > q");
    }
    keyroute_page_free(page);
    page = NULL;
    keyroute_detail_clear(&detail);
    fake_server_clear_faults(cluster.server);
    ck_assert_int_eq(keyroute_close(cluster.conn), 0);
    cluster.conn = NULL;
    ck_assert_int_lt(n, 2000);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("regions");
  TCase *all = tcase_create("all");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_regions__table_is_listed_with_its_locations);
  tcase_add_test(all, test_regions__span_is_listed_from_the_region_that_holds_its_start);
  tcase_add_test(all, test_regions__keys_may_hold_commas_and_what_sorts_below_them);
  tcase_add_test(all, test_regions__tables_whose_names_begin_alike_are_kept_apart);
  tcase_add_test(all, test_regions__absent_table_is_not_found);
  tcase_add_test(all, test_regions__table_that_is_gone_is_forgotten);
  tcase_add_test(all, test_regions__catalog_itself_is_listed_by_the_registry);
  tcase_add_test(all, test_regions__hole_and_overlap_are_told_with_their_bounds);
  tcase_add_test(all, test_regions__split_parent_is_not_listed);
  tcase_add_test(all,
                 test_regions__offline_region_and_one_without_server_are_listed_with_the_reason);
  tcase_add_test(all, test_regions__disabled_table_is_listed);
  tcase_add_test(all, test_regions__row_that_cannot_be_believed_is_listed_with_the_reason);
  tcase_add_test(all, test_regions__region_on_a_server_known_dead_is_listed_with_the_reason);
  tcase_add_test(all, test_regions__pages_of_any_size_tell_the_same);
  tcase_add_test(all, test_regions__s061_page_is_as_long_as_it_says_and_tells_where_to_go_on);
  tcase_add_test(all, test_regions__s062_all_that_was_listed_is_cached);
  tcase_add_test(all, test_s034_second_listing_shows_the_daughters);
  tcase_add_test(all, test_regions__what_is_reported_meanwhile_is_not_cached);
  tcase_add_test(all, test_regions__what_was_read_before_a_clear_is_not_cached);
  tcase_add_test(all, test_regions__connection_that_breaks_in_the_middle_is_made_again);
  tcase_add_test(all, test_regions__exceptions_in_the_middle_are_waited_out);
  tcase_add_test(all, test_regions__catalog_that_moves_in_the_middle_is_followed);
  tcase_add_test(all, test_regions__catalog_that_cannot_be_reached_is_told);
  tcase_add_test(all, test_regions__silent_server_ends_with_the_deadline);
  tcase_add_test(all, test_regions__listing_is_cancelled_while_its_answer_is_awaited);
  tcase_add_test(all, test_regions__listing_is_cancelled_while_it_waits_to_try_again);
  tcase_add_test(all, test_regions__closing_ends_what_is_under_way);
  tcase_add_test(all, test_regions__page_outlives_its_connection);
  tcase_add_test(all, test_regions__callback_waits_for_the_applications_thread);
  tcase_add_loop_test(all, test_regions__what_makes_no_sense_is_refused_with_the_reason, 0,
                      (int)(sizeof(refused) / sizeof(refused[0])));
  tcase_add_test(all, test_regions__null_is_refused);
  tcase_add_test(all, test_regions__keys_without_data_are_empty);
  tcase_add_test(all, test_regions__too_many_at_once_are_refused);
  tcase_add_test(all, test_regions__detail_trace_and_counters_tell_what_was_done);
  tcase_add_test(all, test_regions__every_allocation_may_fail);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
