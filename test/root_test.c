/*
 * How often the root is asked for, and what news of it do to lookups and scans under way.
 */
#include "test/locator_harness.h"

#include "lib/proto/hbase.pb-c.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>

START_TEST(test_root__root_wanted_by_many_tables_is_read_once)
{
  struct world *world = world_new();
  struct ask asks[20];

  world->root_latency_ms = 5;
  world_start(world);
  for (int i = 0; i < 20; i++) {
    char table[16];

    snprintf(table, sizeof(table), "t%d", i);
    put_region(world, table, "", "", 7);
    ask(&asks[i], world, table, "row");
  }
  fake_clock_pass_ms(10);

  for (int i = 0; i < 20; i++) {
    expect_found(&asks[i], 7);
    ask_clear(&asks[i]);
  }
  ck_assert_int_eq(world->root_reads, 1);
  ck_assert_int_eq(world->scans, 20);
  world_free(world);
}
END_TEST

START_TEST(test_s081_failed_root_read_is_shared_and_the_next_one_tries_anew)
{
  struct world *world = world_new();
  struct ask first, second, third;

  kr_fail(&world->root_failure, KEYROUTE_E_BOOTSTRAP, "no such znode");
  world->root_latency_ms = 10;
  world->means.retry.retries = 0;
  put_region(world, "t", "", "", 7);
  world_start(world);

  ask(&first, world, "t", "a");
  ask(&second, world, "u", "a");
  fake_clock_pass_ms(15);
  expect_failed(&first, KEYROUTE_E_BOOTSTRAP);
  expect_failed(&second, KEYROUTE_E_BOOTSTRAP);
  ck_assert_int_eq(world->root_reads, 1);
  world->root_failure.code = 0;
  ask(&third, world, "t", "a");
  fake_clock_pass_ms(40);

  expect_found(&third, 7);
  ck_assert_int_eq(world->root_reads, 2);
  ask_clear(&first);
  ask_clear(&second);
  ask_clear(&third);
  world_free(world);
}
END_TEST

START_TEST(test_s063_missing_znode_is_waited_for)
{
  struct world *world = world_new();
  struct ask only;

  kr_fail(&world->root_failure, KEYROUTE_E_BOOTSTRAP, "no such znode");
  put_region(world, "t", "", "", 7);
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(2000);
  ck_assert_int_eq(only.done, 0);
  world->root_failure.code = 0;
  fake_clock_pass_ms(11000); /* no wait is longer than 10 s */

  expect_found(&only, 7);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s063_news_of_the_root_end_the_wait)
{
  struct world *world = world_new();
  struct ask only;

  kr_fail(&world->root_failure, KEYROUTE_E_BOOTSTRAP, "no such znode");
  put_region(world, "t", "", "", 7);
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(10000);
  ck_assert_int_eq(only.done, 0);
  world->root_failure.code = 0;
  kr_locator_root_changed(world->locator);
  fake_clock_pass_ms(200);

  expect_found(&only, 7);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_root__changed_root_is_read_by_the_next_lookup)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "", 7);
  put_region(world, "u", "", "", 8);
  world_start(world);
  ask(&first, world, "t", "a");
  fake_clock_pass_ms(1);

  kr_locator_root_changed(world->locator);
  ask(&second, world, "u", "a");
  fake_clock_pass_ms(1);

  expect_found(&second, 8);
  ck_assert_int_eq(world->root_reads, 2);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_s064_changed_root_ends_scans_to_the_old_server_at_once)
{
  struct world *world = world_new();
  struct ask asks[2];

  put_region(world, "t", "", "", 7);
  put_region(world, "u", "", "", 8);
  world_start(world);
  world->latency_ms = -1;
  ask(&asks[0], world, "t", "a");
  ask(&asks[1], world, "u", "a");
  fake_clock_pass_ms(1);
  ck_assert_int_eq(world->in_flight, 2);

  world->meta_host = "n";
  world->latency_ms = 0;
  kr_locator_root_changed(world->locator);
  fake_clock_pass_ms(1);

  expect_found(&asks[0], 7);
  expect_found(&asks[1], 8);
  ck_assert_uint_eq(asks[0].lookup.attempts, 1);
  ck_assert_uint_eq(asks[0].lookup.rpcs, 2);
  ck_assert_int_eq(world->cancels, 2);
  ck_assert_int_eq(world->root_reads, 2);
  ask_clear(&asks[0]);
  ask_clear(&asks[1]);
  world_free(world);
}
END_TEST

START_TEST(test_s064_changed_root_on_the_same_server_leaves_scans_alone)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->latency_ms = 5;
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(1);

  kr_locator_root_changed(world->locator);
  fake_clock_pass_ms(10);

  expect_found(&only, 7);
  ck_assert_int_eq(world->scans, 1);
  ck_assert_int_eq(world->cancels, 0);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s064_root_that_keeps_moving_is_not_followed_for_ever)
{
  struct world *world = world_new();
  struct ask only;
  const char *const hosts[] = {"n", "o", "p", "q", "r", "s"};

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->latency_ms = -1;
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(1);

  for (int i = 0; i < 6; i++) {
    world->meta_host = hosts[i];
    kr_locator_root_changed(world->locator);
    fake_clock_pass_ms(1);
  }

  ck_assert_int_eq(only.done, 0);
  ck_assert_int_eq(world->scans, 4);
  kr_locator_cancel(world->locator, &only.lookup);
  expect_failed(&only, KEYROUTE_E_CANCELLED);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_root__unreadable_root_is_read_now_and_then_however_many_ask)
{
  struct world *world = world_new();
  struct ask *asks = calloc(640, sizeof(*asks));

  kr_fail(&world->root_failure, KEYROUTE_E_BOOTSTRAP, "no such znode");
  world->means.retry.retries = 0;
  world_start(world);

  for (int i = 0; i < 640; i++) {
    char table[16];

    snprintf(table, sizeof(table), "t%d", i % 64);
    ask(&asks[i], world, table, "a");
    fake_clock_pass_ms(1);
  }
  fake_clock_pass_ms(100);

  for (int i = 0; i < 640; i++) {
    expect_failed(&asks[i], KEYROUTE_E_BOOTSTRAP);
    ask_clear(&asks[i]);
  }
  ck_assert_int_le(world->root_reads, 740 / 25 + 2);
  world_free(world);
  free(asks);
}
END_TEST

START_TEST(test_s082_catalog_that_is_opening_is_waited_for)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 7);
  world->meta_state = KR__PB__META_REGION_SERVER__STATE__OPENING;
  world_start(world);
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(200);
  ck_assert_int_eq(world->scans, 0);

  world->meta_state = KR__PB__META_REGION_SERVER__STATE__OPEN;
  fake_clock_pass_ms(5000);

  expect_found(&only, 7);
  ask_clear(&only);
  world_free(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("root");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_root__root_wanted_by_many_tables_is_read_once);
  tcase_add_test(tests, test_s081_failed_root_read_is_shared_and_the_next_one_tries_anew);
  tcase_add_test(tests, test_s063_missing_znode_is_waited_for);
  tcase_add_test(tests, test_s063_news_of_the_root_end_the_wait);
  tcase_add_test(tests, test_root__changed_root_is_read_by_the_next_lookup);
  tcase_add_test(tests, test_s064_changed_root_ends_scans_to_the_old_server_at_once);
  tcase_add_test(tests, test_s064_changed_root_on_the_same_server_leaves_scans_alone);
  tcase_add_test(tests, test_s064_root_that_keeps_moving_is_not_followed_for_ever);
  tcase_add_test(tests, test_root__unreadable_root_is_read_now_and_then_however_many_ask);
  tcase_add_test(tests, test_s082_catalog_that_is_opening_is_waited_for);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
