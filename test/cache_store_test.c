/*
 * What a store puts in, and what it takes the place of; what is taken out by its row. (The rules of
 * who may replace whom: precedence_test.c.)
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

/* ---- Storing ---- */

START_TEST(test_cache__store_without_memory_changes_nothing)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *fresh = made(&fixture, "b", "z", 9, 1, 2);
  struct keyroute_location *kept = NULL;

  store(&fixture, "a", "m", 1);
  store(&fixture, "m", "z", 2);
  mem_fail(1);

  ck_assert_int_eq(
      kr_cache_store(fixture.cache, fixture.table, fresh, kr_cache_tick(fixture.cache), &kept),
      KEYROUTE_E_NO_MEMORY);

  mem_fail(0);
  ck_assert_ptr_null(kept);
  ck_assert_int_eq(find(&fixture, "b"), 1);
  ck_assert_int_eq(find(&fixture, "n"), 2);
  ck_assert_uint_eq(region_count(&fixture), 2);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__merged_region_takes_the_place_of_all_that_it_covers)
{
  struct fixture fixture = fixture_new();
  for (int number = 0; number < 1000; number++) {
    store_number(&fixture, number);
  }

  store(&fixture, "0100", "0900", 5000);

  ck_assert_uint_eq(region_count(&fixture), 201);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_REPLACED), 800);
  for (int number = 0; number < 1000; number++) {
    bool covered = number >= 100 && number < 900;
    char row[16];

    snprintf(row, sizeof(row), "%04d", number);
    ck_assert_int_eq(find(&fixture, row), covered ? 5000 : number + 1);
  }
  fixture_free(&fixture);
}
END_TEST

/* ---- Replacing ---- */

START_TEST(test_cache__replacing_needs_the_very_entry)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *entry = made(&fixture, "a", "m", 1, 1, 2);
  struct keyroute_location *fresh = made(&fixture, "a", "m", 1, 7, 3);

  keyroute_location_ref(entry);
  store_sent(&fixture, entry, kr_cache_tick(fixture.cache));
  ck_assert(!kr_cache_replace(fixture.cache, fixture.table, fresh, fresh));
  ck_assert(!kr_cache_replace(fixture.cache, fixture.table, NULL, fresh));
  ck_assert_ptr_eq(kr_table_entry(fixture.table, keyroute_string("a")), entry);
  ck_assert_ptr_null(kr_table_entry(fixture.table, keyroute_string("b")));

  ck_assert(kr_cache_replace(fixture.cache, fixture.table, entry, fresh));
  ck_assert(kr_location_retired(entry));
  ck_assert_ptr_eq(kr_table_entry(fixture.table, keyroute_string("a")), fresh);
  ck_assert_uint_eq(region_count(&fixture), 1);
  keyroute_location_release(entry);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__nothing_is_replaced_only_where_nothing_live_stands)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *right = made(&fixture, "m", "z", 1, 1, 2);
  struct keyroute_location *fresh = made(&fixture, "a", "p", 2, 1, 3);

  keyroute_location_ref(right);
  store_sent(&fixture, right, kr_cache_tick(fixture.cache));
  ck_assert(!kr_cache_replace(fixture.cache, fixture.table, NULL, fresh));
  kr_location_retire(right, KR_EVICTED_REPORTED);

  ck_assert(kr_cache_replace(fixture.cache, fixture.table, NULL, fresh));
  ck_assert_int_eq(find(&fixture, "b"), 2);
  ck_assert_uint_eq(region_count(&fixture), 1);
  keyroute_location_release(right);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__replacing_without_memory_changes_nothing)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *entry = made(&fixture, "a", "m", 1, 1, 2);
  struct keyroute_location *fresh = made(&fixture, "a", "m", 1, 7, 3);

  keyroute_location_ref(entry);
  store_sent(&fixture, entry, kr_cache_tick(fixture.cache));
  mem_fail_from(1);
  bool replaced = kr_cache_replace(fixture.cache, fixture.table, entry, fresh);
  mem_fail(0);

  ck_assert_ptr_eq(kr_table_entry(fixture.table, keyroute_string("a")), replaced ? fresh : entry);
  ck_assert_int_eq(kr_location_retired(entry), replaced);
  keyroute_location_release(entry);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

/* ---- Taking out ---- */

START_TEST(test_s010_removing_by_a_start_key_removes)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "b", "d", 1);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("b"), KR_AT);

  ck_assert_int_eq(find(&fixture, "b"), 0);
  ck_assert_uint_eq(region_count(&fixture), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s011_removing_by_a_row_inside_removes)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "b", "d", 1);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("d"), KR_AT);
  ck_assert_int_eq(find(&fixture, "c"), 1);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("c"), KR_AT);

  ck_assert_int_eq(find(&fixture, "c"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__removing_before_a_row_removes_the_region_below)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "d", 1);
  store(&fixture, "d", "", 2);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("d"), KR_BEFORE);

  ck_assert_int_eq(find(&fixture, "c"), 0);
  ck_assert_int_eq(find(&fixture, "d"), 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s041_second_removal_of_one_location_is_a_no_op)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = made(&fixture, "b", "d", 1, 1, 2);

  store_sent(&fixture, keyroute_location_ref(location), kr_cache_tick(fixture.cache));
  kr_cache_remove(fixture.cache, fixture.table, location);
  kr_cache_remove(fixture.cache, fixture.table, location);
  store(&fixture, "b", "d", 2);
  kr_cache_remove(fixture.cache, fixture.table, location);

  ck_assert_uint_eq(kr_stats_read(fixture.stats, KR_COUNT_EVICTIONS), 1);
  ck_assert_int_eq(find(&fixture, "b"), 2);
  ck_assert(kr_location_retired(location));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s003_clearing_one_table_leaves_those_whose_names_begin_alike)
{
  struct fixture fixture = fixture_new();
  static const char *const names[] = {"t1", "tt"};
  struct keyroute_table *others[2];

  store(&fixture, "", "", 1);
  for (int i = 0; i < 2; i++) {
    struct made parts = {names[i], "", "", 2 + i, "h", 1, 1, 2};
    struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &parts);
    struct keyroute_location *kept;

    others[i] = kr_cache_table(fixture.cache, keyroute_string(names[i]));
    kr_cache_store(fixture.cache, others[i], location, 1, &kept);
    keyroute_location_release(kept);
    keyroute_location_release(location);
  }
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("zzz"), KR_AT);

  ck_assert_int_eq(find(&fixture, "zzz"), 0);
  for (int i = 0; i < 2; i++) {
    kr_rcu_read_begin();
    ck_assert_ptr_nonnull(kr_table_find(others[i], keyroute_string("zzz"), KR_AT));
    kr_rcu_read_end();
    kr_table_release(others[i]);
  }
  fixture_free(&fixture);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_store");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cache__store_without_memory_changes_nothing);
  tcase_add_test(tests, test_cache__merged_region_takes_the_place_of_all_that_it_covers);
  tcase_add_test(tests, test_cache__replacing_needs_the_very_entry);
  tcase_add_test(tests, test_cache__nothing_is_replaced_only_where_nothing_live_stands);
  tcase_add_test(tests, test_cache__replacing_without_memory_changes_nothing);
  tcase_add_test(tests, test_s010_removing_by_a_start_key_removes);
  tcase_add_test(tests, test_s011_removing_by_a_row_inside_removes);
  tcase_add_test(tests, test_cache__removing_before_a_row_removes_the_region_below);
  tcase_add_test(tests, test_s041_second_removal_of_one_location_is_a_no_op);
  tcase_add_test(tests, test_s003_clearing_one_table_leaves_those_whose_names_begin_alike);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
