/*
 * Places that servers name: which are taken, and what of the region they leave as it was.
 */
#include "test/report_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

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

static Suite *suite(void)
{
  Suite *made = suite_create("report_hint");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
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
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
