/*
 * Reports on the loop: what goes from the cache, what stays, what is read again. The locator is the
 * real one, in the world of locator_harness.h; the clock is the test's.
 */
#include "lib/report.h"

#include "lib/bytes.h"
#include "test/locator_harness.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

struct fixture {
  struct world *world;
  struct kr_reports *reports;
};

static struct fixture fixture_new(void)
{
  struct fixture fixture = {.world = world_new()};
  struct world *world = fixture.world;
  struct kr_reports_means means = {
      .mem = world->mem,
      .log = &world->log,
      .stats = world->stats,
      .cache = world->cache,
      .servers = world->servers,
      .failed_server_ms = 2000,
  };

  fixture.reports = kr_reports_new(&means);
  ck_assert_ptr_nonnull(fixture.reports);
  world->means.reports = fixture.reports;
  world->means.retry.retries = 0;
  world_start(world);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  kr_locator_shutdown(fixture->world->locator);
  kr_reports_free(fixture->reports);
  world_free(fixture->world);
}

/* A region of table t. */
static void put_on(struct fixture *fixture, const char *start, const char *end, const char *host,
                   int64_t start_code, int64_t seqnum)
{
  put(fixture->world, &(struct fake_region){
                          .table = "t",
                          .start = keyroute_string(start),
                          .end = keyroute_string(end),
                          .id = 1,
                          .host = host,
                          .port = 16020,
                          .start_code = start_code,
                          .seqnum = seqnum,
                      });
}

/* What a lookup gives, counted; NULL = an error, which is left in *code. */
static struct keyroute_location *locate_code(struct fixture *fixture, const char *row, int *code)
{
  struct ask asked;

  ask(&asked, fixture->world, "t", row);
  fake_clock_pass_ms(5);
  ck_assert_int_eq(asked.done, 1);
  struct keyroute_location *found = asked.lookup.location;

  asked.lookup.location = NULL;
  *code = asked.lookup.failure.code;
  ask_clear(&asked);
  return found;
}

static struct keyroute_location *locate(struct fixture *fixture, const char *row)
{
  int code;
  struct keyroute_location *found = locate_code(fixture, row, &code);

  ck_assert_msg(found != NULL, "%s", keyroute_errname(code));
  return found;
}

/* Have the cache look through all that it holds. */
static void sweep(struct world *world)
{
  kr_cache_visit(world->cache, kr_cache_size(world->cache).regions);
}

/* Report as feedback.c does. */
static void take(struct fixture *fixture, struct kr_report report)
{
  report.epoch += kr_cache_epoch(fixture->world->cache);
  kr_location_report(report.location);
  kr_location_retire(report.location, KR_EVICTED_REPORTED);
  if (kr_reports_take(fixture->reports, &report)) {
    sweep(fixture->world);
  }
}

static void report(struct fixture *fixture, struct keyroute_location *location,
                   enum keyroute_fault fault)
{
  take(fixture, (struct kr_report){.location = location, .fault = fault, .seqnum = -1});
}

static void report_moved(struct fixture *fixture, struct keyroute_location *location,
                         const char *host, int64_t start_code, int64_t seqnum)
{
  take(fixture, (struct kr_report){.location = location,
                                   .fault = KEYROUTE_FAULT_MOVED,
                                   .host = host,
                                   .port = 16020,
                                   .start_code = start_code,
                                   .seqnum = seqnum});
}

/* The host that the next lookup names; "" = an error. Counts the scans it took. */
static const char *next_host(struct fixture *fixture, const char *row, int *scans)
{
  static char host[64];
  int before = fixture->world->scans;
  int code;
  struct keyroute_location *found = locate_code(fixture, row, &code);

  snprintf(host, sizeof(host), "%s", found != NULL ? keyroute_location_host(found, 0) : "");
  keyroute_location_release(found);
  *scans = fixture->world->scans - before;
  return host;
}

static void expect_next(struct fixture *fixture, const char *row, const char *host, int scans)
{
  int sent;
  const char *got = next_host(fixture, row, &sent);

  ck_assert_str_eq(got, host);
  ck_assert_int_eq(sent, scans);
}

static uint64_t count(const struct fixture *fixture, enum kr_counter counter)
{
  return kr_stats_read(fixture->world->stats, counter);
}

/* ---- Refreshing ----------------------------------------------------------------------------- */

START_TEST(test_report__reported_place_is_read_again)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  put_on(&fixture, "", "", "b", 1, 6);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);

  ck_assert_uint_eq(count(&fixture, KR_COUNT_EVICTIONS), 1);
  expect_next(&fixture, "r", "b", 1);
  expect_next(&fixture, "r", "b", 0);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s032_same_answer_again_comes_in_another_handle)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *again = locate(&fixture, "r");

  ck_assert_ptr_ne(old, again);
  ck_assert(!kr_location_retired(again));
  ck_assert_str_eq(keyroute_location_host(old, 0), "a");
  ck_assert_int_eq(keyroute_location_seqnum(old, 0), keyroute_location_seqnum(again, 0));
  keyroute_location_release(old);
  keyroute_location_release(again);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s101_newer_entry_stays_when_an_old_handle_is_reported)
{
  static const enum keyroute_fault faults[] = {
      KEYROUTE_FAULT_NOT_SERVING, KEYROUTE_FAULT_NOT_RUNNING, KEYROUTE_FAULT_MOVED,
      KEYROUTE_FAULT_CONNECTION_FAILED, KEYROUTE_FAULT_SERVER_DEAD};
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "h", 100, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  put_on(&fixture, "", "", "h", 200, 6);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *fresh = locate(&fixture, "r");
  report(&fixture, old, faults[_i]);

  expect_next(&fixture, "r", "h", 0);
  ck_assert(!kr_location_retired(fresh));
  ck_assert_int_eq(keyroute_location_start_code(fresh, 0), 200);
  keyroute_location_release(old);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__entry_goes_also_when_another_handle_holds_the_same_answer)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  kr_location_retire(old, KR_EVICTED_REPORTED);
  struct keyroute_location *same = locate(&fixture, "r");
  ck_assert_ptr_ne(old, same);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);

  ck_assert(kr_location_retired(same));
  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(old);
  keyroute_location_release(same);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__what_was_cleared_meanwhile_is_not_brought_back)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *first = locate(&fixture, "r");

  report(&fixture, first, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *second = locate(&fixture, "r");
  kr_cache_retire(fixture.world->cache, &all);
  take(&fixture, (struct kr_report){.location = second,
                                    .fault = KEYROUTE_FAULT_NOT_SERVING,
                                    .epoch = (uint64_t)-1}); /* it was made before the clearing */

  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__what_was_cleared_before_is_not_brought_back)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *first = locate(&fixture, "r");

  report(&fixture, first, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *second = locate(&fixture, "r");
  kr_cache_retire(fixture.world->cache, &all);
  report(&fixture, second, KEYROUTE_FAULT_NOT_SERVING);

  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__another_replicas_place_is_read_again_too)
{
  struct fixture fixture = fixture_new();
  struct fake_region region = {
      .table = "t", .id = 1, .host = "a", .port = 1, .start_code = 1, .seqnum = 5, .replicas = 3};

  put(fixture.world, &region);
  struct keyroute_location *old = locate(&fixture, "r");

  region.replicas = 1;
  put(fixture.world, &region);
  take(&fixture,
       (struct kr_report){.location = old, .fault = KEYROUTE_FAULT_NOT_SERVING, .replica = 2});
  struct keyroute_location *fresh = locate(&fixture, "r");

  ck_assert_int_eq(keyroute_location_replica_count(fresh), 1);
  keyroute_location_release(old);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__root_is_asked_for_again)
{
  struct fixture fixture = fixture_new();
  struct ask first, second;

  ask(&first, fixture.world, "hbase:meta", "");
  fake_clock_pass_ms(1);
  fixture.world->meta_host = "elsewhere";
  report(&fixture, first.lookup.location, KEYROUTE_FAULT_NOT_SERVING);
  ask(&second, fixture.world, "hbase:meta", "");
  fake_clock_pass_ms(1);

  ck_assert_str_eq(keyroute_location_host(second.lookup.location, 0), "elsewhere");
  ask_clear(&first);
  ask_clear(&second);
  fixture_free(&fixture);
}
END_TEST

/* ---- How often ------------------------------------------------------------------------------ */

/* Locate and report, so often and so far apart. Returns how many scans it took. */
static int insist(struct fixture *fixture, enum keyroute_fault fault, int times, int64_t every_ms)
{
  int before = fixture->world->scans;

  for (int i = 0; i < times; i++) {
    struct keyroute_location *found = locate(fixture, "r");

    ck_assert(!kr_location_retired(found));
    report(fixture, found, fault);
    ck_assert(kr_location_retired(found));
    keyroute_location_release(found);
    fake_clock_pass_ms(every_ms);
  }
  return fixture->world->scans - before;
}

START_TEST(test_s096_catalog_that_repeats_itself_is_read_ever_more_rarely)
{
  static const enum keyroute_fault faults[] = {KEYROUTE_FAULT_NOT_SERVING,
                                               KEYROUTE_FAULT_CONNECTION_FAILED};
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "dead", 1, 5);
  int first_second = insist(&fixture, faults[_i], 100, 5);
  int first_minute = first_second + insist(&fixture, faults[_i], 2000, 25);
  int ten_minutes = insist(&fixture, faults[_i], 9 * 600, 95);

  /* A report of a server and one of the region have a limit each. */
  ck_assert_int_le(first_second, 4);
  ck_assert_int_ge(first_minute, 30);
  ck_assert_int_le(first_minute, 2 * 62);
  ck_assert_int_ge(ten_minutes, 7);
  ck_assert_int_le(ten_minutes, 2 * 11);
  ck_assert_uint_gt(count(&fixture, KR_COUNT_REFRESHES_LIMITED), 7000);
  fixture_free(&fixture);
}
END_TEST

/* The caller's thread retires the handle behind posting its report, which the loop may have dealt
 * with by then. */
START_TEST(test_report__limit_holds_however_late_the_caller_retires_the_handle)
{
  struct fixture fixture = fixture_new();
  struct kr_report late = {.fault = KEYROUTE_FAULT_NOT_SERVING, .seqnum = -1};

  put_on(&fixture, "", "", "dead", 1, 5);
  ck_assert_int_eq(insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 2, 5), 2);
  int before = fixture.world->scans;

  late.location = locate(&fixture, "r");
  late.epoch = kr_cache_epoch(fixture.world->cache);
  kr_location_report(late.location);
  kr_reports_take(fixture.reports, &late);
  kr_location_retire(late.location, KR_EVICTED_REPORTED);
  struct keyroute_location *again = locate(&fixture, "r");

  ck_assert_ptr_ne(again, late.location);
  ck_assert_int_eq(fixture.world->scans, before);
  keyroute_location_release(again);
  keyroute_location_release(late.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s096_news_are_found_out_at_the_next_read_and_begin_anew)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "dead", 1, 5);
  insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 10, 5);
  put_on(&fixture, "", "", "b", 1, 6);
  fake_clock_pass_ms(1000);
  struct keyroute_location *old = locate(&fixture, "r");

  ck_assert_str_eq(keyroute_location_host(old, 0), "dead");
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  expect_next(&fixture, "r", "b", 1);
  ck_assert_int_eq(insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 1, 0), 0);
  expect_next(&fixture, "r", "b", 1);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s096_refresh_that_is_asked_for_always_reads)
{
  struct fixture fixture = fixture_new();
  struct ask asked;

  put_on(&fixture, "", "", "dead", 1, 5);
  insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 5, 5);
  put_on(&fixture, "", "", "b", 1, 6);
  ask_init(&asked, fixture.world, "t", "r");
  asked.lookup.refresh = true;
  ask_start(&asked);
  fake_clock_pass_ms(5);

  ck_assert_str_eq(keyroute_location_host(asked.lookup.location, 0), "b");
  ask_clear(&asked);
  fixture_free(&fixture);
}
END_TEST

/* ---- Reads that were under way -------------------------------------------------------------- */

START_TEST(test_report__read_sent_before_does_not_say_that_it_is_still_so)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask asked;

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  world->latency_ms = -1;
  ask_init(&asked, world, "t", "r");
  asked.lookup.refresh = true;
  ask_start(&asked);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  answer_scan(world); /* the catalog as it was */
  ck_assert_int_eq(asked.done, 0);
  put_on(&fixture, "", "", "b", 1, 6);
  answer_scan(world);

  expect_found(&asked, 1);
  ck_assert_str_eq(keyroute_location_host(asked.lookup.location, 0), "b");
  ck_assert_int_eq((int)asked.lookup.attempts, 1);
  ask_clear(&asked);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__read_sent_before_that_brings_something_else_is_believed)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask asked;

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  put_on(&fixture, "", "", "b", 1, 6);
  world->latency_ms = -1;
  ask_init(&asked, world, "t", "r");
  asked.lookup.refresh = true;
  ask_start(&asked);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  answer_scan(world);

  expect_found(&asked, 1);
  ck_assert_str_eq(keyroute_location_host(asked.lookup.location, 0), "b");
  ask_clear(&asked);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__reading_again_ends_however_often_it_is_reported)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask asked;

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");
  int before = world->scans;

  world->latency_ms = -1;
  ask_init(&asked, world, "t", "r");
  asked.lookup.refresh = true;
  ask_start(&asked);
  for (int i = 0; i < 20 && asked.done == 0; i++) {
    report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
    answer_scan(world);
  }

  expect_found(&asked, 1);
  ck_assert_int_le(world->scans - before, 4);
  ask_clear(&asked);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__neighbour_that_was_reported_meanwhile_is_not_cached)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask asked;

  put_on(&fixture, "", "m", "a", 1, 5);
  put_on(&fixture, "m", "", "a", 1, 5);
  struct keyroute_location *left = locate(&fixture, "b");

  world->latency_ms = -1;
  ask(&asked, world, "t", "r");
  report(&fixture, left, KEYROUTE_FAULT_NOT_SERVING);
  answer_scan(world);
  expect_found(&asked, 1);
  world->latency_ms = 0;
  put_on(&fixture, "", "m", "b", 1, 6);

  expect_next(&fixture, "b", "b", 1);
  ask_clear(&asked);
  keyroute_location_release(left);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__read_sent_before_a_server_was_dropped_does_not_bring_it_back)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask asked;

  put_on(&fixture, "", "m", "a", 1, 5);
  put_on(&fixture, "m", "", "a", 1, 5);
  struct keyroute_location *left = locate(&fixture, "b");

  world->latency_ms = -1;
  ask(&asked, world, "t", "r");
  report(&fixture, left, KEYROUTE_FAULT_CONNECTION_FAILED);
  answer_scan(world);
  ck_assert_int_eq(asked.done, 0);
  put_on(&fixture, "m", "", "b", 1, 6);
  answer_scan(world);

  expect_found(&asked, 1);
  ck_assert_str_eq(keyroute_location_host(asked.lookup.location, 0), "b");
  ask_clear(&asked);
  keyroute_location_release(left);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__root_that_was_reported_meanwhile_is_asked_for_again)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask first, second;

  ask(&first, world, "hbase:meta", "");
  fake_clock_pass_ms(1);
  world->root_latency_ms = -1;
  ask_init(&second, world, "hbase:meta", "");
  second.lookup.refresh = true;
  ask_start(&second);
  report(&fixture, first.lookup.location, KEYROUTE_FAULT_NOT_SERVING);
  answer_root(world);
  ck_assert_int_eq(second.done, 0);
  world->meta_host = "elsewhere";
  answer_root(world);

  ck_assert_str_eq(keyroute_location_host(second.lookup.location, 0), "elsewhere");
  ask_clear(&first);
  ask_clear(&second);
  fixture_free(&fixture);
}
END_TEST

/* ---- Hints ---------------------------------------------------------------------------------- */

START_TEST(test_s022_place_named_by_the_cached_server_is_taken_whatever_its_number)
{
  static const int64_t seqnums[] = {11, 10, 5, -1};
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "s2", 1, 10);
  struct keyroute_location *old = locate(&fixture, "r");

  report_moved(&fixture, old, "s1", 1, seqnums[_i]);
  struct keyroute_location *moved = locate(&fixture, "r");

  expect_next(&fixture, "r", "s1", 0);
  ck_assert_int_eq(keyroute_location_seqnum(moved, 0), seqnums[_i]);
  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 1);
  ck_assert_uint_eq(count(&fixture, KR_COUNT_EVICTIONS), 1);
  keyroute_location_release(old);
  keyroute_location_release(moved);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s022_place_named_by_an_old_server_needs_a_higher_number)
{
  static const struct {
    int64_t seqnum;
    const char *host;
  } hints[] = {{5, "s2"}, {10, "s2"}, {-1, "s2"}, {11, "s1"}};
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "s0", 1, 3);
  struct keyroute_location *old = locate(&fixture, "r");

  put_on(&fixture, "", "", "s2", 1, 10);
  kr_location_retire(old, KR_EVICTED_REPORTED);
  expect_next(&fixture, "r", "s2", 1);
  report_moved(&fixture, old, "s1", 1, hints[_i].seqnum);

  expect_next(&fixture, "r", hints[_i].host, 0);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__place_is_taken_where_nothing_is_cached)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "s0", 1, 3);
  struct keyroute_location *old = locate(&fixture, "r");

  kr_location_retire(old, KR_EVICTED_REPORTED);
  sweep(fixture.world);
  report_moved(&fixture, old, "s1", 1, 4);

  expect_next(&fixture, "r", "s1", 0);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s051_place_of_a_region_that_was_split_is_not_taken)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "s0", 1, 3);
  struct keyroute_location *old = locate(&fixture, "r");

  drop_region(fixture.world, "t", "", 1);
  put(fixture.world, &(struct fake_region){.table = "t",
                                           .end = keyroute_string("m"),
                                           .id = 2,
                                           .host = "d1",
                                           .port = 1,
                                           .start_code = 1});
  put(fixture.world, &(struct fake_region){.table = "t",
                                           .start = keyroute_string("m"),
                                           .id = 3,
                                           .host = "d2",
                                           .port = 1,
                                           .start_code = 1});
  kr_location_retire(old, KR_EVICTED_REPORTED);
  expect_next(&fixture, "r", "d2", 1);
  report_moved(&fixture, old, "s1", 1, 99);

  expect_next(&fixture, "r", "d2", 0);
  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 0);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__place_that_cannot_be_right_is_no_hint)
{
  static const struct {
    const char *host;
    int64_t start_code;
  } places[] = {{NULL, 0}, {"a", 1}, {"a", 0}, {"failed", 1}, {"dropped", 1}};
  struct fixture fixture = fixture_new();
  struct kr_servers *servers = fixture.world->servers;
  struct kr_server *failed = kr_servers_get(servers, keyroute_string("failed"), 16020, 1);
  struct kr_server *dropped = kr_servers_get(servers, keyroute_string("dropped"), 16020, 1);

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  failed->failed_until_us = kr_clock_us() + 60000000;
  kr_server_drop(dropped);
  put_on(&fixture, "", "", "b", 1, 6);
  report_moved(&fixture, old, places[_i].host, places[_i].start_code, 7);

  expect_next(&fixture, "r", "b", 1);
  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 0);
  kr_server_release(failed);
  kr_server_release(dropped);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__next_process_on_the_same_port_is_a_place)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  report_moved(&fixture, old, "a", 2, 7);
  struct keyroute_location *moved = locate(&fixture, "r");

  ck_assert_int_eq(keyroute_location_start_code(moved, 0), 2);
  keyroute_location_release(old);
  keyroute_location_release(moved);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__after_five_places_in_a_row_the_catalog_is_asked)
{
  struct fixture fixture = fixture_new();
  char host[16];

  put_on(&fixture, "", "", "s0", 1, 5);
  expect_next(&fixture, "r", "s0", 1);
  for (int i = 1; i <= 6; i++) {
    struct keyroute_location *old = locate(&fixture, "r");

    snprintf(host, sizeof(host), "s%d", i);
    report_moved(&fixture, old, host, 1, 5 + i);
    keyroute_location_release(old);
    expect_next(&fixture, "r", i <= 5 ? host : "s0", i <= 5 ? 0 : 1);
  }

  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 5);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__hint_for_one_replica_keeps_the_others)
{
  struct fixture fixture = fixture_new();

  put(fixture.world, &(struct fake_region){.table = "t",
                                           .id = 1,
                                           .host = "a",
                                           .port = 1,
                                           .start_code = 1,
                                           .seqnum = 5,
                                           .replicas = 3});
  struct keyroute_location *old = locate(&fixture, "r");

  take(&fixture, (struct kr_report){.location = old,
                                    .fault = KEYROUTE_FAULT_MOVED,
                                    .replica = 1,
                                    .host = "b",
                                    .port = 9,
                                    .start_code = 7,
                                    .seqnum = 6});
  struct keyroute_location *moved = locate(&fixture, "r");

  ck_assert_int_eq(keyroute_location_replica_count(moved), 3);
  ck_assert_str_eq(keyroute_location_host(moved, 0), "a");
  ck_assert_str_eq(keyroute_location_host(moved, 1), "b");
  ck_assert_int_eq(keyroute_location_port(moved, 1), 9);
  ck_assert_int_eq(keyroute_location_start_code(moved, 1), 7);
  ck_assert_int_eq(keyroute_location_port(moved, 2), 3);
  keyroute_location_release(old);
  keyroute_location_release(moved);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__hint_for_a_replica_that_is_no_more_is_none)
{
  struct fixture fixture = fixture_new();
  struct fake_region region = {
      .table = "t", .id = 1, .host = "a", .port = 1, .start_code = 1, .seqnum = 5, .replicas = 3};

  put(fixture.world, &region);
  struct keyroute_location *old = locate(&fixture, "r");

  region.replicas = 1;
  put(fixture.world, &region);
  kr_location_retire(old, KR_EVICTED_REPORTED);
  keyroute_location_release(locate(&fixture, "r"));
  take(&fixture, (struct kr_report){.location = old,
                                    .fault = KEYROUTE_FAULT_MOVED,
                                    .replica = 2,
                                    .host = "b",
                                    .port = 9,
                                    .start_code = 7,
                                    .seqnum = 6});
  struct keyroute_location *fresh = locate(&fixture, "r");

  ck_assert_int_eq(keyroute_location_replica_count(fresh), 1);
  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 0);
  keyroute_location_release(old);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__place_in_the_cache_is_not_undone_by_a_read_sent_before)
{
  struct fixture fixture = fixture_new();
  struct world *world = fixture.world;
  struct ask asked;

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  world->latency_ms = -1;
  ask_init(&asked, world, "t", "r");
  asked.lookup.refresh = true;
  ask_start(&asked);
  report_moved(&fixture, old, "b", 1, -1);
  answer_scan(world);
  ck_assert_int_eq(asked.done, 0);
  put_on(&fixture, "", "", "b", 1, 6);
  answer_scan(world);

  ck_assert_str_eq(keyroute_location_host(asked.lookup.location, 0), "b");
  ask_clear(&asked);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

/* ---- Servers -------------------------------------------------------------------------------- */

START_TEST(test_s042_one_report_drops_all_that_is_on_the_server)
{
  struct fixture fixture = fixture_new();
  char start[8], end[8];

  for (int i = 0; i < 500; i++) {
    snprintf(start, sizeof(start), "%03d", i);
    snprintf(end, sizeof(end), "%03d", i + 1);
    put_on(&fixture, start, end, i == 7 ? "other" : "s1", 1, 5);
    keyroute_location_release(locate(&fixture, start));
  }
  struct keyroute_location *one = locate(&fixture, "100");

  report(&fixture, one, KEYROUTE_FAULT_CONNECTION_FAILED);

  ck_assert_uint_eq(kr_cache_size(fixture.world->cache).regions, 2); /* and meta's */
  expect_next(&fixture, "007", "other", 0);
  expect_next(&fixture, "400", "s1", 1);
  keyroute_location_release(one);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__repeated_drop_is_limited_and_leaves_the_others)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "m", "s1", 1, 5);
  put_on(&fixture, "m", "", "s1", 1, 5);
  struct keyroute_location *first = locate(&fixture, "a");

  report(&fixture, first, KEYROUTE_FAULT_CONNECTION_FAILED);
  expect_next(&fixture, "r", "s1", 1);
  struct keyroute_location *second = locate(&fixture, "a");
  report(&fixture, second, KEYROUTE_FAULT_CONNECTION_FAILED);

  expect_next(&fixture, "r", "s1", 0);
  expect_next(&fixture, "a", "s1", 1);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__handle_from_before_the_drop_does_not_drop_again)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "m", "s1", 1, 5);
  put_on(&fixture, "m", "", "s1", 1, 5);
  struct keyroute_location *left = locate(&fixture, "a");
  struct keyroute_location *right = locate(&fixture, "r");

  report(&fixture, left, KEYROUTE_FAULT_CONNECTION_FAILED);
  fake_clock_pass_ms(5000);
  expect_next(&fixture, "r", "s1", 1);
  expect_next(&fixture, "a", "s1", 0); /* it was read beside the other */
  report(&fixture, right, KEYROUTE_FAULT_CONNECTION_FAILED);

  expect_next(&fixture, "a", "s1", 0);
  expect_next(&fixture, "r", "s1", 0);
  keyroute_location_release(left);
  keyroute_location_release(right);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s112_dead_process_is_refused_until_another_or_its_time_is_over)
{
  struct fixture fixture = fixture_new();
  int code;

  put_on(&fixture, "", "", "s1", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  report(&fixture, old, KEYROUTE_FAULT_SERVER_DEAD);
  ck_assert_ptr_null(locate_code(&fixture, "r", &code));
  ck_assert_int_eq(code, KEYROUTE_E_DEAD_SERVER);
  if (_i == 0) {
    put_on(&fixture, "", "", "s1", 2, 6);
  } else {
    fake_clock_pass_ms(2000);
  }

  expect_next(&fixture, "r", "s1", 1);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__failed_connection_does_not_refuse_the_server)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "s1", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  report(&fixture, old, KEYROUTE_FAULT_CONNECTION_FAILED);

  expect_next(&fixture, "r", "s1", 1);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__dropped_server_of_a_replica_leaves_primaries)
{
  struct fixture fixture = fixture_new();

  put(fixture.world, &(struct fake_region){.table = "t",
                                           .id = 1,
                                           .host = "a",
                                           .port = 1,
                                           .start_code = 1,
                                           .seqnum = 5,
                                           .replicas = 2});
  put(fixture.world,
      &(struct fake_region){
          .table = "u", .id = 2, .host = "a", .port = 1, .start_code = 1, .seqnum = 5});
  struct keyroute_location *old = locate(&fixture, "r");
  struct ask before, after;

  ask(&before, fixture.world, "u", "r");
  fake_clock_pass_ms(1);
  take(&fixture, (struct kr_report){
                     .location = old, .fault = KEYROUTE_FAULT_CONNECTION_FAILED, .replica = 1});
  ask(&after, fixture.world, "u", "r");
  fake_clock_pass_ms(1);

  ck_assert_ptr_eq(after.lookup.location, before.lookup.location);
  expect_next(&fixture, "r", "a", 1);
  ask_clear(&before);
  ask_clear(&after);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

/* ---- Others' locations, and no memory ------------------------------------------------------- */

START_TEST(test_report__location_of_another_connection_is_harmless)
{
  struct fixture fixture = fixture_new();
  struct kr_servers *others = kr_servers_new(fixture.world->mem);
  struct kr_replica replica = {kr_servers_get(others, keyroute_string("a"), 16020, 1), 5};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *own = locate(&fixture, "r");
  struct kr_buf room;

  kr_buf_init(&room, fixture.world->mem);
  struct kr_location_parts parts = {
      .name = kr_location_replica_name(own, 0, &room),
      .table_len = 1,
      .region_id = 1,
      .replicas = &replica,
      .replica_count = 1,
  };
  struct keyroute_location *foreign = kr_location_new(fixture.world->mem, &parts);

  kr_buf_clear(&room);
  report(&fixture, foreign, KEYROUTE_FAULT_SERVER_DEAD);
  ck_assert(!kr_location_retired(own));
  ck_assert(!kr_server_dropped(replica.server));
  ck_assert_int_eq(replica.server->failed_until_us, 0);
  report(&fixture, foreign, KEYROUTE_FAULT_NOT_SERVING);
  expect_next(&fixture, "r", "a", 1);
  fake_clock_pass_ms(1000);
  report(&fixture, foreign, KEYROUTE_FAULT_NOT_SERVING);
  report_moved(&fixture, foreign, "b", 1, 9);

  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 0);
  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(own);
  keyroute_location_release(foreign);
  kr_server_release(replica.server);
  kr_servers_free(others);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__without_memory_the_reported_handle_is_gone_all_the_same)
{
  static const enum keyroute_fault faults[] = {KEYROUTE_FAULT_NOT_SERVING, KEYROUTE_FAULT_MOVED,
                                               KEYROUTE_FAULT_CONNECTION_FAILED};

  for (int n = 1; n < 20; n++) {
    struct fixture fixture = fixture_new();

    put_on(&fixture, "", "", "a", 1, 5);
    for (int times = 0; times < 2; times++) {
      struct keyroute_location *old = locate(&fixture, "r");

      mem_fail_from(n);
      take(&fixture, (struct kr_report){.location = old,
                                        .fault = faults[_i],
                                        .host = faults[_i] == KEYROUTE_FAULT_MOVED ? "b" : NULL,
                                        .port = 1});
      mem_fail(0);
      struct keyroute_location *fresh = locate(&fixture, "r");

      ck_assert_ptr_ne(fresh, old);
      keyroute_location_release(fresh);
      keyroute_location_release(old);
    }
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_report__without_memory_there_are_none)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_reports_means means = {.mem = mem};

  for (int n = 1; n <= 2; n++) {
    mem_fail(n);
    ck_assert_ptr_null(kr_reports_new(&means));
  }
  mem_fail(0);

  kr_reports_free(NULL);
  failing_mem_done(mem);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("report");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_report__reported_place_is_read_again);
  tcase_add_test(tests, test_s032_same_answer_again_comes_in_another_handle);
  tcase_add_loop_test(tests, test_s101_newer_entry_stays_when_an_old_handle_is_reported, 0, 5);
  tcase_add_test(tests, test_report__entry_goes_also_when_another_handle_holds_the_same_answer);
  tcase_add_test(tests, test_report__what_was_cleared_meanwhile_is_not_brought_back);
  tcase_add_test(tests, test_report__what_was_cleared_before_is_not_brought_back);
  tcase_add_test(tests, test_report__another_replicas_place_is_read_again_too);
  tcase_add_test(tests, test_report__root_is_asked_for_again);
  tcase_add_loop_test(tests, test_s096_catalog_that_repeats_itself_is_read_ever_more_rarely, 0, 2);
  tcase_add_test(tests, test_report__limit_holds_however_late_the_caller_retires_the_handle);
  tcase_add_test(tests, test_s096_news_are_found_out_at_the_next_read_and_begin_anew);
  tcase_add_test(tests, test_s096_refresh_that_is_asked_for_always_reads);
  tcase_add_test(tests, test_report__read_sent_before_does_not_say_that_it_is_still_so);
  tcase_add_test(tests, test_report__read_sent_before_that_brings_something_else_is_believed);
  tcase_add_test(tests, test_report__reading_again_ends_however_often_it_is_reported);
  tcase_add_test(tests, test_report__neighbour_that_was_reported_meanwhile_is_not_cached);
  tcase_add_test(tests, test_report__read_sent_before_a_server_was_dropped_does_not_bring_it_back);
  tcase_add_test(tests, test_report__root_that_was_reported_meanwhile_is_asked_for_again);
  tcase_add_loop_test(
      tests, test_s022_place_named_by_the_cached_server_is_taken_whatever_its_number, 0, 4);
  tcase_add_loop_test(tests, test_s022_place_named_by_an_old_server_needs_a_higher_number, 0, 4);
  tcase_add_test(tests, test_report__place_is_taken_where_nothing_is_cached);
  tcase_add_test(tests, test_s051_place_of_a_region_that_was_split_is_not_taken);
  tcase_add_loop_test(tests, test_report__place_that_cannot_be_right_is_no_hint, 0, 5);
  tcase_add_test(tests, test_report__next_process_on_the_same_port_is_a_place);
  tcase_add_test(tests, test_report__after_five_places_in_a_row_the_catalog_is_asked);
  tcase_add_test(tests, test_report__hint_for_one_replica_keeps_the_others);
  tcase_add_test(tests, test_report__hint_for_a_replica_that_is_no_more_is_none);
  tcase_add_test(tests, test_report__place_in_the_cache_is_not_undone_by_a_read_sent_before);
  tcase_add_test(tests, test_s042_one_report_drops_all_that_is_on_the_server);
  tcase_add_test(tests, test_report__repeated_drop_is_limited_and_leaves_the_others);
  tcase_add_test(tests, test_report__handle_from_before_the_drop_does_not_drop_again);
  tcase_add_loop_test(tests, test_s112_dead_process_is_refused_until_another_or_its_time_is_over, 0,
                      2);
  tcase_add_test(tests, test_report__failed_connection_does_not_refuse_the_server);
  tcase_add_test(tests, test_report__dropped_server_of_a_replica_leaves_primaries);
  tcase_add_test(tests, test_report__location_of_another_connection_is_harmless);
  tcase_add_loop_test(tests, test_report__without_memory_the_reported_handle_is_gone_all_the_same,
                      0, 3);
  tcase_add_test(tests, test_report__without_memory_there_are_none);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
