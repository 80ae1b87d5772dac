/*
 * What is found in a table: at a row, before it, many at once, and by whom it is seen.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

START_TEST(test_cache__empty_end_key_covers_last_row)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "m", "", 1);

  ck_assert_int_eq(find(&fixture, "m"), 1);
  ck_assert_int_eq(find(&fixture, "\xff\xff\xff"), 1);
  ck_assert_int_eq(find(&fixture, "l"), 0);
  ck_assert_int_eq(find(&fixture, ""), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__end_key_is_exclusive_and_gaps_are_misses)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "c", 1);
  store(&fixture, "d", "f", 2);

  ck_assert_int_eq(find(&fixture, "bzz"), 1);
  ck_assert_int_eq(find(&fixture, "c"), 0);
  ck_assert_int_eq(find(&fixture, "czz"), 0);
  ck_assert_int_eq(find(&fixture, "d"), 2);
  ck_assert_int_eq(find(&fixture, "f"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s015_before_a_start_key_is_the_region_below)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "G", 1);
  store(&fixture, "G", "M", 2);
  store(&fixture, "M", "", 3);

  ck_assert_int_eq(find(&fixture, "G"), 2);
  ck_assert_int_eq(find_at(&fixture, "G", KR_BEFORE), 1);
  ck_assert_int_eq(find_at(&fixture, "H", KR_BEFORE), 2);
  ck_assert_int_eq(find_at(&fixture, "", KR_BEFORE), 3);
  ck_assert_int_eq(find(&fixture, "\x01"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__many_rows_at_once_are_found_as_one_by_one)
{
  struct fixture fixture = fixture_new();
  enum { COUNT = 70 };
  struct keyroute_bytes rows[COUNT];
  const struct keyroute_location *found[COUNT];
  static const char *const keys[] = {"", "a", "c", "czz", "d", "x", "\xff"};

  store(&fixture, "a", "c", 1);
  store(&fixture, "d", "", 2);
  for (int i = 0; i < COUNT; i++) {
    rows[i] = keyroute_string(keys[i % 7]);
  }

  kr_rcu_read_begin();
  kr_table_find_many(fixture.table, found, rows, COUNT);
  for (int i = 0; i < COUNT; i++) {
    ck_assert_ptr_eq(found[i], kr_table_find(fixture.table, rows[i], KR_AT));
  }
  kr_rcu_read_end();

  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__floor_sees_retired_regions_too)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  store(&fixture, "a", "c", 1);
  kr_cache_retire(fixture.cache, &all);

  kr_rcu_read_begin();
  ck_assert_ptr_nonnull(kr_table_floor(fixture.table, keyroute_string("b")));
  ck_assert_ptr_null(kr_table_floor(fixture.table, keyroute_string("")));
  kr_rcu_read_end();
  ck_assert_int_eq(find(&fixture, "b"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__hit_marks_the_region_as_touched)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "c", 1);
  kr_rcu_read_begin();
  struct keyroute_location *location =
      keyroute_location_ref(kr_table_floor(fixture.table, keyroute_string("b")));

  kr_rcu_read_end();
  ck_assert(location->touched); /* a new one begins so */
  location->touched = false;
  find(&fixture, "x");
  ck_assert(!location->touched);
  find(&fixture, "b");

  ck_assert(location->touched);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_find");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cache__empty_end_key_covers_last_row);
  tcase_add_test(tests, test_cache__end_key_is_exclusive_and_gaps_are_misses);
  tcase_add_test(tests, test_s015_before_a_start_key_is_the_region_below);
  tcase_add_test(tests, test_cache__many_rows_at_once_are_found_as_one_by_one);
  tcase_add_test(tests, test_cache__floor_sees_retired_regions_too);
  tcase_add_test(tests, test_cache__hit_marks_the_region_as_touched);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
