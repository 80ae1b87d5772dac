/*
 * What failed scans say about servers, and what the next try does about it.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <stdlib.h>
#include <string.h>

static void nobody_at_m(struct kr_failure *failure, const struct kr_request *request)
{
  if (strcmp(request->host, "m") == 0) {
    kr_fail(failure, KEYROUTE_E_UNREACHABLE, "connection refused");
    failure->connecting = true;
  }
}

START_TEST(test_s064_dead_catalog_server_makes_the_registry_be_read_again)
{
  struct world *world = world_new();
  struct ask only, single;

  put_region(world, "t", "", "", 7);
  world->judge = nobody_at_m;
  world_start(world);
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(500);
  ck_assert_int_eq(world->scans, 1); /* not asked again for two seconds */
  ck_assert_int_ge(world->root_reads, 2);
  ask_init(&single, world, "t", "a");
  single.lookup.single_try = true;
  ask_start(&single);
  fake_clock_pass_ms(50);
  expect_failed(&single, KEYROUTE_E_UNREACHABLE);

  world->meta_host = "n";
  fake_clock_pass_ms(5000);

  expect_found(&only, 7);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&only);
  ask_clear(&single);
  world_free(world);
}
END_TEST

START_TEST(test_trust__restarted_catalog_server_is_asked_at_once)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 7);
  world->judge = nobody_at_m;
  world_start(world);
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(1);
  ck_assert_int_eq(world->scans, 1);

  world->judge = NULL;
  world->meta_start_code = 2;
  fake_clock_pass_ms(101);

  expect_found(&only, 7);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_trust__regions_on_a_dead_server_are_forgotten)
{
  struct world *world = world_new();
  struct fake_region region = {
      .table = "t", .id = 7, .host = "m", .port = 16020, .start_code = 1, .seqnum = 2};
  struct ask first, second;

  put(world, &region);
  world_start(world);
  ask(&first, world, "t", "a");
  fake_clock_pass_ms(1);
  expect_found(&first, 7);
  world->judge = nobody_at_m;
  world->means.retry.retries = 0;
  ask(&second, world, "u", "a");
  fake_clock_pass_ms(1);

  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 0);
  kr_locator_cancel(world->locator, &second.lookup);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_trust__stale_place_of_the_catalog_is_read_anew)
{
  struct world *world = world_new();
  struct kr_failure moved;
  struct ask only;

  put_region(world, "t", "", "", 7);
  kr_fail(&moved, KEYROUTE_E_REMOTE, "NotServingRegionException");
  world_start(world);
  world->latency_ms = -1;
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(0);
  ck_assert_str_eq(world->requests->host, "m");

  world->meta_host = "n";
  fail_scan(world, &moved);
  fake_clock_pass_ms(101);

  ck_assert_ptr_nonnull(world->requests);
  ck_assert_str_eq(world->requests->host, "n");
  answer_scan(world);
  expect_found(&only, 7);
  ck_assert_int_eq(world->root_reads, 2);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_trust__overloaded_server_keeps_its_place_and_its_wait)
{
  struct world *world = world_new();
  struct kr_failure busy;
  struct ask only;

  put_region(world, "t", "", "", 7);
  kr_fail(&busy, KEYROUTE_E_OVERLOADED, "CallQueueTooBigException");
  busy.wait_ms = 500;
  world_start(world);
  world->latency_ms = -1;
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(0);

  fail_scan(world, &busy);
  fake_clock_pass_ms(499);
  ck_assert_ptr_null(world->requests);
  fake_clock_pass_ms(102);
  answer_scan(world);

  expect_found(&only, 7);
  ck_assert_int_eq(world->root_reads, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

static void refuse_once(struct kr_failure *failure, const struct kr_request *request)
{
  if (request->number == 1) {
    kr_fail(failure, KEYROUTE_E_UNREACHABLE, "refused");
    failure->connecting = true;
  }
}

START_TEST(test_trust__news_of_the_root_clear_the_mark_of_failure)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 7);
  world->judge = refuse_once;
  world->means.failed_server_ms = 60000;
  world_start(world);
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(50);
  ck_assert_int_eq(only.done, 0);

  kr_locator_root_changed(world->locator);
  fake_clock_pass_ms(300);

  expect_found(&only, 7);
  ask_clear(&only);
  world_free(world);
}
END_TEST

static void stay_silent(struct kr_failure *failure, const struct kr_request *request)
{
  (void)request;
  kr_fail(failure, KEYROUTE_E_TIMEOUT, "no answer");
}

START_TEST(test_trust__silence_costs_a_root_read_a_second_however_short_the_deadlines)
{
  struct world *world = world_new();
  struct ask *asks = calloc(300, sizeof(*asks));

  world->judge = stay_silent;
  world_start(world);

  for (int i = 0; i < 300; i++) {
    ask_init(&asks[i], world, "t", "a");
    asks[i].lookup.deadline_us = kr_clock_us() + 10000;
    ask_start(&asks[i]);
    fake_clock_pass_ms(10);
  }
  fake_clock_pass_ms(100);

  for (int i = 0; i < 300; i++) {
    ck_assert_int_eq(asks[i].done, 1);
    ask_clear(&asks[i]);
  }
  ck_assert_int_le(world->root_reads, 5);
  world_free(world);
  free(asks);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("trust");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s064_dead_catalog_server_makes_the_registry_be_read_again);
  tcase_add_test(tests, test_trust__restarted_catalog_server_is_asked_at_once);
  tcase_add_test(tests, test_trust__regions_on_a_dead_server_are_forgotten);
  tcase_add_test(tests, test_trust__stale_place_of_the_catalog_is_read_anew);
  tcase_add_test(tests, test_trust__overloaded_server_keeps_its_place_and_its_wait);
  tcase_add_test(tests, test_trust__news_of_the_root_clear_the_mark_of_failure);
  tcase_add_test(tests, test_trust__silence_costs_a_root_read_a_second_however_short_the_deadlines);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
