/*
 * Servers that are reported: what is dropped with them, and who is not asked for a while.
 */
#include "test/report_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

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

static Suite *suite(void)
{
  Suite *made = suite_create("report_server");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s042_one_report_drops_all_that_is_on_the_server);
  tcase_add_test(tests, test_report__repeated_drop_is_limited_and_leaves_the_others);
  tcase_add_test(tests, test_report__handle_from_before_the_drop_does_not_drop_again);
  tcase_add_loop_test(tests, test_s112_dead_process_is_refused_until_another_or_its_time_is_over, 0,
                      2);
  tcase_add_test(tests, test_report__failed_connection_does_not_refuse_the_server);
  tcase_add_test(tests, test_report__dropped_server_of_a_replica_leaves_primaries);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
