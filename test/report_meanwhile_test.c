/*
 * Reports while the catalog is read: which of what comes is still to be believed.
 */
#include "test/report_harness.h"

#include "test/run_suite.h"

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

static Suite *suite(void)
{
  Suite *made = suite_create("report_meanwhile");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_report__read_sent_before_does_not_say_that_it_is_still_so);
  tcase_add_test(tests, test_report__read_sent_before_that_brings_something_else_is_believed);
  tcase_add_test(tests, test_report__reading_again_ends_however_often_it_is_reported);
  tcase_add_test(tests, test_report__neighbour_that_was_reported_meanwhile_is_not_cached);
  tcase_add_test(tests, test_report__read_sent_before_a_server_was_dropped_does_not_bring_it_back);
  tcase_add_test(tests, test_report__root_that_was_reported_meanwhile_is_asked_for_again);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
