/*
 * What follows when a request to a region's server failed: what becomes of the location, how long
 * to wait, whether it may have been done. Cache, reports and locator are the real ones, in the
 * world of locator_harness.h; the clock is the test's.
 */
#include "lib/heal.h"

#include "lib/exception.h"
#include "lib/report.h"
#include "test/locator_harness.h"
#include "test/run_suite.h"

#include <string.h>

enum { RETRIES = 3, PAUSE_MS = 100, PAUSE_OVERLOADED_MS = 1000 };

#define HBASE "org.apache.hadoop.hbase."

static struct world *world;
static struct kr_reports *reports;
static struct keyroute_connection conn;

static void setup(void)
{
  world = world_new();
  reports = world_add_reports(world, 2000);
  world->means.retry.retries = 0;
  world_start(world);
  conn = (struct keyroute_connection){
      .mem = world->mem,
      .retry = {RETRIES, PAUSE_MS, PAUSE_OVERLOADED_MS, 60000},
      .stats = world->stats,
      .cache = world->cache,
      .servers = world->servers,
      .sweeper = world->sweeper,
      .reports = reports,
      .locator = world->locator,
      .random = 1,
  };
}

static void teardown(void)
{
  kr_locator_shutdown(world->locator);
  kr_reports_free(reports);
  world_free(world);
}

static void put_on(const char *start, const char *end, int64_t id, const char *host, int64_t seqnum)
{
  put(world, &(struct fake_region){
                 .table = "t",
                 .start = keyroute_string(start),
                 .end = keyroute_string(end),
                 .id = id,
                 .host = host,
                 .port = 16020,
                 .start_code = 1,
                 .seqnum = seqnum,
             });
}

/* The location of a row, counted. */
static struct keyroute_location *locate(const char *row)
{
  struct ask asked;

  ask(&asked, world, "t", row);
  fake_clock_pass_ms(5);
  ck_assert_int_eq(asked.done, 1);
  ck_assert_msg(asked.lookup.location != NULL, "%s: %s", row, asked.lookup.failure.message);
  struct keyroute_location *found = keyroute_location_ref(asked.lookup.location);

  ask_clear(&asked);
  return found;
}

/* How many scans a lookup takes, and the host that it names. */
static int scans_of(const char *row, const char *host)
{
  int before = world->scans;
  struct keyroute_location *found = locate(row);

  ck_assert_str_eq(keyroute_location_host(found, 0), host);
  keyroute_location_release(found);
  return world->scans - before;
}

static struct kr_failure failure_of(int code)
{
  struct kr_failure failure;

  kr_fail(&failure, code, "server a:16020: no");
  return failure;
}

static struct kr_failure exception_of(const char *class_name, const char *text, bool overloaded)
{
  struct kr_exception exception = {class_name, text, false, overloaded};
  struct kr_failure failure;

  kr_exception_map(&failure, &exception);
  kr_fail_name_server(&failure, "a:16020");
  return failure;
}

/* ---- What is reported ----------------------------------------------------------------------- */

/* Two regions on server a: r's request fails. Which of them are read again? */
static const struct {
  int code; /* 0 = an exception */
  bool connecting;
  const char *class_name;
  bool overloaded;
  bool own, neighbour;
} failures[] = {
    {KEYROUTE_E_TIMEOUT, false, NULL, false, true, false},
    {KEYROUTE_E_UNREACHABLE, true, NULL, false, true, true},
    {KEYROUTE_E_UNREACHABLE, false, NULL, false, true, true},
    {KEYROUTE_E_RESOLVE, true, NULL, false, true, true},
    {KEYROUTE_E_PROTOCOL, false, NULL, false, true, true},
    {KEYROUTE_E_OVERLOADED, false, NULL, false, false, false},
    {KEYROUTE_E_AUTH, false, NULL, false, false, false},
    {KEYROUTE_E_NO_MEMORY, false, NULL, false, false, false},
    {KEYROUTE_E_TOO_LARGE, false, NULL, false, false, false},
    {KEYROUTE_E_CANCELLED, false, NULL, false, false, false},
    {KEYROUTE_E_CLOSED, false, NULL, false, false, false},
    {0, false, HBASE "NotServingRegionException", false, true, false},
    {0, false, HBASE "exceptions.RegionMovedException", false, true,
     false}, /* and names no place */
    {0, false, HBASE "ipc.ServerNotRunningYetException", false, true, false},
    {0, false, HBASE "regionserver.WrongRegionException", false, true, false},
    {0, false, "java.io.IOException", false, true, false},
    {0, false, HBASE "regionserver.RegionServerStoppedException", false, true, true},
    {0, false, HBASE "regionserver.RegionServerAbortedException", false, true, true},
    {0, false, HBASE "exceptions.RegionOpeningException", false, false, false},
    {0, false, HBASE "RegionTooBusyException", false, false, false},
    {0, false, HBASE "CallQueueTooBigException", false, false, false},
    {0, false, HBASE "quotas.RpcThrottlingException", false, false, false},
    {0, false, HBASE "NotServingRegionException", true, false, false},
    {0, false, HBASE "RetryImmediatelyException", false, false, false},
    {0, false, HBASE "DoNotRetryIOException", false, false, false},
    {0, false, HBASE "regionserver.NoSuchColumnFamilyException", false, false, false},
    {0, false, HBASE "security.AccessDeniedException", false, false, false},
};

START_TEST(test_heal__failure_costs_the_cache_what_it_says_of_the_place)
{
  struct kr_failure failure =
      failures[_i].code != 0 ? failure_of(failures[_i].code)
                             : exception_of(failures[_i].class_name, NULL, failures[_i].overloaded);

  put_on("", "m", 1, "a", 5);
  put_on("m", "", 2, "a", 5);
  failure.connecting = failures[_i].connecting;
  struct keyroute_location *used = locate("c");
  struct keyroute_location *other = locate("r");

  put_on("", "m", 1, "b", 6);
  put_on("m", "", 2, "b", 6);
  kr_heal_report(&conn, used, 0, &failure);

  ck_assert_int_eq(scans_of("c", failures[_i].own ? "b" : "a"), failures[_i].own);
  ck_assert_int_eq(scans_of("r", failures[_i].neighbour ? "b" : "a"), failures[_i].neighbour);
  keyroute_location_release(used);
  keyroute_location_release(other);
}
END_TEST

START_TEST(test_heal__only_a_server_that_cannot_be_connected_to_is_refused_for_a_while)
{
  struct kr_failure failure = failure_of(KEYROUTE_E_UNREACHABLE);

  put_on("", "", 1, "a", 5);
  failure.connecting = _i == 1;
  struct keyroute_location *used = locate("c");

  kr_heal_report(&conn, used, 0, &failure);

  ck_assert_int_eq(used->replicas[0].server->failed_until_us > kr_clock_us(), _i == 1);
  keyroute_location_release(used);
}
END_TEST

START_TEST(test_heal__named_place_is_taken_without_a_read)
{
  struct kr_failure failure = exception_of(
      HBASE "exceptions.RegionMovedException",
      "Region moved to: hostname=b port=16021 startCode=9. As of locationSeqNum=6.\n\tat x", false);

  put_on("", "", 1, "a", 5);
  struct keyroute_location *used = locate("c");

  kr_heal_report(&conn, used, 0, &failure);
  int before = world->scans;
  struct keyroute_location *found = locate("c");

  ck_assert_int_eq(world->scans, before);
  ck_assert_str_eq(keyroute_location_host(found, 0), "b");
  ck_assert_int_eq(keyroute_location_port(found, 0), 16021);
  ck_assert_int_eq(keyroute_location_start_code(found, 0), 9);
  ck_assert_int_eq(keyroute_location_seqnum(found, 0), 6);
  keyroute_location_release(found);
  keyroute_location_release(used);
}
END_TEST

START_TEST(test_heal__host_of_any_length_is_no_place_or_a_name)
{
  char text[700] = "Region moved to: hostname=";
  size_t len = strlen(text);
  size_t host_len = 250 + (size_t)_i;

  memset(text + len, 'h', host_len);
  strcpy(text + len + host_len, " port=1 startCode=1. As of locationSeqNum=9.");
  struct kr_failure failure = exception_of(HBASE "exceptions.RegionMovedException", text, false);

  put_on("", "", 1, "a", 5);
  struct keyroute_location *used = locate("c");

  kr_heal_report(&conn, used, 0, &failure);
  struct keyroute_location *found = locate("c");

  ck_assert_uint_eq(strlen(keyroute_location_host(found, 0)), host_len <= 255 ? host_len : 1);
  keyroute_location_release(found);
  keyroute_location_release(used);
}
END_TEST

START_TEST(test_heal__replica_that_was_asked_is_the_one_that_is_reported)
{
  struct kr_failure failure = exception_of(
      HBASE "exceptions.RegionMovedException",
      "Region moved to: hostname=b port=7 startCode=9. As of locationSeqNum=6.", false);

  put(world, &(struct fake_region){.table = "t",
                                   .id = 1,
                                   .host = "a",
                                   .port = 1,
                                   .start_code = 1,
                                   .seqnum = 5,
                                   .replicas = 3});
  struct keyroute_location *used = locate("c");

  kr_heal_report(&conn, used, 2, &failure);
  struct keyroute_location *found = locate("c");

  ck_assert_str_eq(keyroute_location_host(found, 0), "a");
  ck_assert_str_eq(keyroute_location_host(found, 1), "a");
  ck_assert_str_eq(keyroute_location_host(found, 2), "b");
  keyroute_location_release(found);
  keyroute_location_release(used);
}
END_TEST

START_TEST(test_heal__what_many_requests_met_at_one_place_is_reported_once)
{
  struct kr_failure failure = failure_of(KEYROUTE_E_TIMEOUT);

  put_on("", "", 1, "a", 5);
  struct keyroute_location *used = locate("c");

  for (int i = 0; i < 50; i++) {
    kr_heal_report(&conn, used, 0, &failure);
  }

  ck_assert_int_eq(scans_of("c", "a"), 1);
  ck_assert_int_eq(scans_of("c", "a"), 0);
  keyroute_location_release(used);
}
END_TEST

START_TEST(test_heal__old_news_of_a_place_does_not_touch_what_is_newer)
{
  struct kr_failure failure = failure_of(KEYROUTE_E_UNREACHABLE);

  put_on("", "", 1, "a", 5);
  struct keyroute_location *first = locate("c");
  struct keyroute_location *second = keyroute_location_ref(first);
  struct kr_failure gone = exception_of(HBASE "NotServingRegionException", NULL, false);

  put_on("", "", 1, "b", 6);
  kr_heal_report(&conn, first, 0, &gone);
  ck_assert_int_eq(scans_of("c", "b"), 1);
  kr_heal_report(&conn, second, 0, &failure);

  ck_assert_int_eq(scans_of("c", "b"), 0);
  keyroute_location_release(first);
  keyroute_location_release(second);
}
END_TEST

/* A catalog that goes on naming a place where nobody answers: how often is it read? */
static int insist(const struct kr_failure *failure, int times, int64_t every_ms)
{
  int before = world->scans;

  for (int i = 0; i < times; i++) {
    struct keyroute_location *used = locate("c");

    kr_heal_report(&conn, used, 0, failure);
    keyroute_location_release(used);
    fake_clock_pass_ms(every_ms);
  }
  return world->scans - before;
}

START_TEST(test_heal__catalog_that_repeats_itself_is_read_once_a_second)
{
  struct kr_failure failure = failure_of(_i == 0 ? KEYROUTE_E_TIMEOUT : KEYROUTE_E_UNREACHABLE);

  put_on("", "", 1, "a", 5);
  int first_second = insist(&failure, 90, 5);
  int next_ten = insist(&failure, 1000, 5);

  /* A report of a server and one of the region have a limit each. */
  ck_assert_int_le(first_second, 4);
  ck_assert_int_le(next_ten, 2 * 12);
  ck_assert_int_ge(next_ten, 9);
}
END_TEST

/* ---- Whether it was done -------------------------------------------------------------------- */

START_TEST(test_heal__what_was_sent_may_have_been_done_unless_the_server_says_not)
{
  struct kr_failure failure = failure_of(KEYROUTE_E_TIMEOUT);

  ck_assert(!kr_heal_maybe_applied(&failure));
  failure.sent = true;
  ck_assert(kr_heal_maybe_applied(&failure));
  failure.refused = true;
  ck_assert(!kr_heal_maybe_applied(&failure));
}
END_TEST

static const struct {
  const char *class_name;
  bool overloaded, maybe;
} exceptions[] = {
    {HBASE "NotServingRegionException", false, false},
    {HBASE "exceptions.RegionMovedException", false, false},
    {HBASE "CallQueueTooBigException", false, false},
    {HBASE "regionserver.RegionServerStoppedException", false, false},
    {HBASE "security.AccessDeniedException", false, false},
    {HBASE "regionserver.RegionServerAbortedException", false, true},
    {HBASE "DoNotRetryIOException", false, true},
    {HBASE "CallerDisconnectedException", false, true},
    {"java.io.IOException", false, true},
    {"java.io.IOException", true, false},
    {NULL, false, true},
};

START_TEST(test_heal__exception_of_those_thrown_first_is_believed)
{
  struct kr_failure failure =
      exception_of(exceptions[_i].class_name, NULL, exceptions[_i].overloaded);

  ck_assert_int_eq(kr_heal_maybe_applied(&failure), exceptions[_i].maybe);
}
END_TEST

/* ---- How long to wait ----------------------------------------------------------------------- */

static int64_t wait_of(const struct kr_failure *failure, unsigned tries, int64_t remaining_ms)
{
  return kr_heal_wait_ms(&conn, failure, tries, kr_clock_us() + 1000 * remaining_ms);
}

START_TEST(test_heal__wait_is_within_the_pause_and_the_deadline)
{
  struct kr_failure failure = exception_of(HBASE "RetryImmediatelyException", NULL, false);

  for (int i = 0; i < 200; i++) {
    int64_t wait_ms = wait_of(&failure, 2, 10000);

    ck_assert_int_ge(wait_ms, 0);
    ck_assert_int_le(wait_ms, 2 * PAUSE_MS);
    ck_assert_int_le(wait_of(&failure, RETRIES, 30), 30);
  }
}
END_TEST

START_TEST(test_heal__first_misplaced_try_is_made_again_at_once)
{
  struct kr_failure gone = exception_of(HBASE "NotServingRegionException", NULL, false);
  struct kr_failure broken = failure_of(KEYROUTE_E_UNREACHABLE);
  struct kr_failure busy = exception_of(HBASE "RegionTooBusyException", NULL, false);
  int64_t most_ms = 0;

  for (int i = 0; i < 50; i++) {
    ck_assert_int_eq(wait_of(&gone, 1, 10000), 0);
    ck_assert_int_eq(wait_of(&broken, 1, 10000), 0);
    int64_t wait_ms = wait_of(&busy, 1, 10000);

    most_ms = wait_ms > most_ms ? wait_ms : most_ms;
  }

  ck_assert_int_gt(most_ms, PAUSE_MS);
  ck_assert_int_le(most_ms, PAUSE_OVERLOADED_MS);
}
END_TEST

START_TEST(test_heal__wait_that_the_server_asks_for_is_kept)
{
  struct kr_failure failure = exception_of(HBASE "quotas.RpcThrottlingException",
                                           "limit exceeded - wait 2sec, 500ms", false);

  ck_assert_int_ge(wait_of(&failure, 1, 60000), 2500);
  ck_assert_int_le(wait_of(&failure, 1, 60000), 2500 + PAUSE_OVERLOADED_MS);
}
END_TEST

START_TEST(test_heal__gives_up_when_time_tries_or_hope_are_over)
{
  struct kr_failure gone = exception_of(HBASE "NotServingRegionException", NULL, false);
  struct kr_failure hopeless = exception_of(HBASE "DoNotRetryIOException", NULL, false);
  struct kr_failure large = failure_of(KEYROUTE_E_TOO_LARGE);

  ck_assert_int_ge(wait_of(&gone, RETRIES, 1000), 0);
  ck_assert_int_eq(wait_of(&gone, RETRIES + 1, 1000), -1);
  ck_assert_int_eq(wait_of(&gone, 1, 0), -1);
  ck_assert_int_eq(wait_of(&gone, 1, -50), -1);
  ck_assert_int_eq(wait_of(&hopeless, 1, 1000), -1);
  ck_assert_int_eq(wait_of(&large, 1, 1000), -1);
}
END_TEST

/* ---- Which replica -------------------------------------------------------------------------- */

START_TEST(test_heal__silence_says_less_than_any_answer)
{
  ck_assert(kr_heal_says_less(KEYROUTE_E_TIMEOUT));
  ck_assert(kr_heal_says_less(KEYROUTE_E_NOT_CACHED));
  ck_assert(!kr_heal_says_less(KEYROUTE_E_UNREACHABLE));
  ck_assert(!kr_heal_says_less(KEYROUTE_E_REMOTE));
}
END_TEST

START_TEST(test_heal__replica_that_is_named_is_asked_and_any_is_the_first_alive)
{
  static const int ports[] = {1, 2, 3};

  put(world, &(struct fake_region){.table = "t",
                                   .id = 1,
                                   .host = "a",
                                   .start_code = 1,
                                   .seqnum = 5,
                                   .replicas = 3,
                                   .replica_ports = ports});
  struct keyroute_location *used = locate("c");

  ck_assert_int_eq(kr_heal_replica(used, 0), 0);
  ck_assert_int_eq(kr_heal_replica(used, 2), 2);
  ck_assert_int_eq(kr_heal_replica(used, KEYROUTE_REPLICA_ANY), 0);
  kr_server_drop(used->replicas[0].server);
  ck_assert_int_eq(kr_heal_replica(used, KEYROUTE_REPLICA_ANY), 1);
  ck_assert_int_eq(kr_heal_replica(used, 0), 0);
  used->replicas[1].server->failed_until_us = INT64_MAX;
  ck_assert_int_eq(kr_heal_replica(used, KEYROUTE_REPLICA_ANY), 2);
  kr_server_drop(used->replicas[2].server);
  ck_assert_int_eq(kr_heal_replica(used, KEYROUTE_REPLICA_ANY), 1);
  kr_server_drop(used->replicas[1].server);
  ck_assert_int_eq(kr_heal_replica(used, KEYROUTE_REPLICA_ANY), 0);
  keyroute_location_release(used);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof((list)[0])))

int main(void)
{
  Suite *suite = suite_create("heal");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, test_heal__failure_costs_the_cache_what_it_says_of_the_place, 0,
                      COUNT(failures));
  tcase_add_loop_test(
      tests, test_heal__only_a_server_that_cannot_be_connected_to_is_refused_for_a_while, 0, 2);
  tcase_add_test(tests, test_heal__named_place_is_taken_without_a_read);
  tcase_add_loop_test(tests, test_heal__host_of_any_length_is_no_place_or_a_name, 0, 20);
  tcase_add_test(tests, test_heal__replica_that_was_asked_is_the_one_that_is_reported);
  tcase_add_test(tests, test_heal__what_many_requests_met_at_one_place_is_reported_once);
  tcase_add_test(tests, test_heal__old_news_of_a_place_does_not_touch_what_is_newer);
  tcase_add_loop_test(tests, test_heal__catalog_that_repeats_itself_is_read_once_a_second, 0, 2);
  tcase_add_test(tests, test_heal__what_was_sent_may_have_been_done_unless_the_server_says_not);
  tcase_add_loop_test(tests, test_heal__exception_of_those_thrown_first_is_believed, 0,
                      COUNT(exceptions));
  tcase_add_test(tests, test_heal__wait_is_within_the_pause_and_the_deadline);
  tcase_add_test(tests, test_heal__first_misplaced_try_is_made_again_at_once);
  tcase_add_test(tests, test_heal__wait_that_the_server_asks_for_is_kept);
  tcase_add_test(tests, test_heal__gives_up_when_time_tries_or_hope_are_over);
  tcase_add_test(tests, test_heal__silence_says_less_than_any_answer);
  tcase_add_test(tests, test_heal__replica_that_is_named_is_asked_and_any_is_the_first_alive);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
