/*
 * What a flight found, and what of it the cache keeps.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <string.h>
#include <utlist.h>

START_TEST(test_findings__s031_what_was_read_before_a_clear_is_not_kept)
{
  struct world *world = world_new();
  struct kr_cache_filter everything = {.host = NULL};
  struct ask before, after;

  put_region(world, "t", "", "m", 7);
  put_region(world, "t", "m", "", 8);
  world_start(world);
  world->latency_ms = -1;
  ask(&before, world, "t", "x");
  fake_clock_pass_ms(1);

  kr_cache_retire(world->cache, &everything);
  answer_scan(world);
  ask(&after, world, "t", "a");
  fake_clock_pass_ms(1);

  expect_found(&before, 8);
  ck_assert_int_eq(after.done, 0);
  answer_scan(world);
  expect_found(&after, 7);
  ck_assert_int_eq(after.lookup.source, KEYROUTE_SOURCE_CATALOG);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&before);
  ask_clear(&after);
  world_free(world);
}
END_TEST

START_TEST(test_s020_answer_that_is_older_than_what_is_known_is_not_given)
{
  struct world *world = world_new();
  struct ask slow_inside, slow_outside, quick;

  put_region(world, "t", "a", "z", 100);
  world_start(world);
  world->latency_ms = -1;
  ask(&slow_inside, world, "t", "b");
  ask_init(&slow_outside, world, "t", "p");
  slow_outside.lookup.refresh = true;
  ask_start(&slow_outside);
  ask_init(&quick, world, "t", "c");
  quick.lookup.refresh = true;
  ask_start(&quick);
  fake_clock_pass_ms(0);
  ck_assert_int_eq(world->in_flight, 3);

  struct kr_request *first;

  DL_FOREACH (world->requests, first) {
    if (strncmp(first->start, "t,c", 3) == 0) {
      break;
    }
  }
  DL_DELETE(world->requests, first); /* the quick one's answer comes first */
  DL_PREPEND(world->requests, first);
  drop_region(world, "t", "a", 100);
  put_region(world, "t", "a", "m", 200);
  answer_scan(world);
  expect_found(&quick, 200);
  put_region(world, "t", "a", "z", 100);
  drop_region(world, "t", "a", 200);
  answer_scan(world);
  answer_scan(world);

  if (slow_inside.done > 0) {
    expect_found(&slow_inside, 200);
  }
  ck_assert_int_eq(slow_outside.done, 0);
  drop_region(world, "t", "a", 100);
  put_region(world, "t", "a", "m", 200);
  put_region(world, "t", "m", "z", 201);
  world->latency_ms = 0;
  fake_clock_pass_ms(200);
  expect_found(&slow_inside, 200);
  expect_found(&slow_outside, 201);
  ask_clear(&slow_inside);
  ask_clear(&slow_outside);
  ask_clear(&quick);
  world_free(world);
}
END_TEST

START_TEST(test_findings__newer_neighbour_that_overlaps_does_not_hide_the_answer)
{
  struct world *world = world_new();
  struct ask asks[3];

  put_region(world, "t", "", "d", 300);
  put_region(world, "t", "c", "m", 200);
  world_start(world);
  for (int i = 0; i < 3; i++) {
    ask(&asks[i], world, "t", i == 2 ? "c5" : "e");
    fake_clock_pass_ms(1);
  }

  expect_found(&asks[0], 200);
  expect_found(&asks[1], 200);
  expect_found(&asks[2], 300);
  for (int i = 0; i < 3; i++) {
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("findings");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_findings__s031_what_was_read_before_a_clear_is_not_kept);
  tcase_add_test(tests, test_s020_answer_that_is_older_than_what_is_known_is_not_given);
  tcase_add_test(tests, test_findings__newer_neighbour_that_overlaps_does_not_hide_the_answer);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
