/*
 * One try at the catalog: which rows it reads, and which of them is the answer.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

START_TEST(test_flight__split_parent_before_the_answer_takes_one_scan)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 9);
  put_dead(world, "m", "", 5, true);
  world_start(world);

  ask(&only, world, "t", "x");
  fake_clock_pass_ms(1);

  expect_found(&only, 9);
  ck_assert_int_eq(world->scans, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_flight__many_dead_rows_are_passed_by_one_scan_more)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 9);
  put_dead(world, "m", "n", 5, true);
  put_dead(world, "m", "", 4, true);
  put_dead(world, "m", "", 3, true);
  world_start(world);

  ask(&only, world, "t", "x");
  fake_clock_pass_ms(1);

  expect_found(&only, 9);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s050_parent_without_daughters_is_offline_until_they_come)
{
  struct world *world = world_new();
  struct ask only, other;

  put_dead(world, "a", "z", 1, true);
  world_start(world);
  ask(&only, world, "t", "m");
  ask_init(&other, world, "t", "m");
  other.lookup.single_try = true;
  ask_start(&other);
  fake_clock_pass_ms(300);

  expect_failed(&other, KEYROUTE_E_OFFLINE);
  expect_message(&other, "split");
  ck_assert_int_eq(only.done, 0);
  put_region(world, "t", "a", "m", 2);
  put_region(world, "t", "m", "z", 3);
  fake_clock_pass_ms(5000);

  expect_found(&only, 3);
  ask_clear(&only);
  ask_clear(&other);
  world_free(world);
}
END_TEST

START_TEST(test_flight__before_finds_the_region_below)
{
  struct world *world = world_new();
  struct ask asks[3];
  static const char *const rows[] = {"m", "mm", ""};

  put_region(world, "t", "", "m", 1);
  put_region(world, "t", "m", "", 2);
  world_start(world);

  for (int i = 0; i < 3; i++) {
    ask_init(&asks[i], world, "t", rows[i]);
    asks[i].lookup.position = KR_BEFORE;
    ask_start(&asks[i]);
    fake_clock_pass_ms(1);
  }

  expect_found(&asks[0], 1);
  expect_found(&asks[1], 2);
  expect_found(&asks[2], 2);
  for (int i = 0; i < 3; i++) {
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

START_TEST(test_flight__root_itself_comes_from_the_registry)
{
  struct world *world = world_new();
  struct ask only, again;

  world_start(world);

  ask(&only, world, "hbase:meta", "anything");
  fake_clock_pass_ms(1);
  ask(&again, world, "hbase:meta", "else");

  expect_found(&only, 1);
  ck_assert_int_eq(only.lookup.source, KEYROUTE_SOURCE_REGISTRY);
  ck_assert_str_eq(keyroute_location_host(only.lookup.location, 0), "m");
  expect_found(&again, 1);
  ck_assert_int_eq(again.lookup.source, KEYROUTE_SOURCE_CACHE);
  ck_assert_int_eq(world->scans, 0);
  ask_clear(&only);
  ask_clear(&again);
  world_free(world);
}
END_TEST

START_TEST(test_s001_bytes_below_a_digit_do_not_confuse_the_search)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "foo", 10);
  put_region(world, "t", "foo", "", 20);
  world_start(world);

  ask(&first, world, "t", "foo,\x02");
  fake_clock_pass_ms(1);
  ask(&second, world, "t", "foo,\x02");

  expect_found(&first, 20);
  expect_found(&second, 20);
  ck_assert_int_eq(second.lookup.source, KEYROUTE_SOURCE_CACHE);
  ck_assert_int_eq(world->scans, 1);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_s002_keys_with_commas_reach_their_regions)
{
  static const char *const rows[] = {"a,b,x", "c,", "c,,", ","};
  static const int64_t ids[] = {2, 2, 3, 1};
  struct world *world = world_new();
  struct ask asks[4];

  put_region(world, "t", "", "a,b", 1);
  put_region(world, "t", "a,b", "c,,", 2);
  put_region(world, "t", "c,,", "", 3);
  world_start(world);
  for (int i = 0; i < 4; i++) {
    ask(&asks[i], world, "t", rows[i]);
  }
  fake_clock_pass_ms(1);

  for (int i = 0; i < 4; i++) {
    expect_found(&asks[i], ids[i]);
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

START_TEST(test_s051_daughter_is_found_after_the_parent_was_forgotten)
{
  struct world *world = world_new();
  struct ask before, after;

  put_region(world, "t", "a", "z", 1);
  world_start(world);
  ask(&before, world, "t", "p");
  fake_clock_pass_ms(1);
  expect_found(&before, 1);
  put_dead(world, "a", "z", 1, true);
  put_region(world, "t", "a", "m", 2);
  put_region(world, "t", "m", "z", 3);
  kr_cache_remove(world->cache, before.lookup.table, before.lookup.location);
  ask(&after, world, "t", "p");
  fake_clock_pass_ms(1);

  expect_found(&after, 3);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&before);
  ask_clear(&after);
  world_free(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("flight");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_flight__split_parent_before_the_answer_takes_one_scan);
  tcase_add_test(tests, test_flight__many_dead_rows_are_passed_by_one_scan_more);
  tcase_add_test(tests, test_s050_parent_without_daughters_is_offline_until_they_come);
  tcase_add_test(tests, test_flight__before_finds_the_region_below);
  tcase_add_test(tests, test_flight__root_itself_comes_from_the_registry);
  tcase_add_test(tests, test_s001_bytes_below_a_digit_do_not_confuse_the_search);
  tcase_add_test(tests, test_s002_keys_with_commas_reach_their_regions);
  tcase_add_test(tests, test_s051_daughter_is_found_after_the_parent_was_forgotten);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
