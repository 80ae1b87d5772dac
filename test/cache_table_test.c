/*
 * Tables: how long one is the same object, and when it leaves.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>

START_TEST(test_cache__table_is_one_object_while_somebody_counts_it)
{
  struct fixture fixture = fixture_new();
  struct keyroute_table *again = kr_cache_table(fixture.cache, keyroute_string("t"));

  ck_assert_ptr_eq(again, fixture.table);
  kr_rcu_read_begin();
  ck_assert_ptr_eq(kr_cache_find_table(fixture.cache, keyroute_string("t")), again);
  ck_assert_ptr_null(kr_cache_find_table(fixture.cache, keyroute_string("tt")));
  kr_rcu_read_end();
  ck_assert(kr_bytes_equal(kr_table_name(again), keyroute_string("t")));

  kr_table_release(again);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__unused_table_leaves)
{
  struct fixture fixture = fixture_new();

  kr_table_release(fixture.table);
  fixture.table = NULL;

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 0);
  kr_rcu_read_begin();
  ck_assert_ptr_null(kr_cache_find_table(fixture.cache, keyroute_string("t")));
  kr_rcu_read_end();
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__table_with_regions_stays_until_they_are_swept)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  store(&fixture, "", "", 1);
  kr_table_release(fixture.table);
  fixture.table = NULL;
  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 0);
  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__handle_stays_right_while_its_table_is_emptied_and_filled)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "", 1);
  kr_cache_clear_table(fixture.cache, fixture.table);
  sweep(&fixture);
  ck_assert_int_eq(find(&fixture, "a"), 0);
  store(&fixture, "", "", 2);

  ck_assert_int_eq(find(&fixture, "a"), 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s028_a_thousand_tables_come_and_go)
{
  enum { COUNT = 1000 };
  struct fixture fixture = fixture_new();
  struct keyroute_table **tables = calloc(COUNT, sizeof(struct keyroute_table *));
  struct kr_cache_filter all = {0};

  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "ns:%d", i);
    tables[i] = kr_cache_table(fixture.cache, keyroute_string(name));
    struct made parts = {name, "", "", i + 1, "h", 1, 1, 2};
    struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &parts);
    struct keyroute_location *kept;

    kr_cache_store(fixture.cache, tables[i], location, 1, &kept);
    keyroute_location_release(kept);
    keyroute_location_release(location);
  }
  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "ns:%d", i);
    kr_rcu_read_begin();
    ck_assert_ptr_eq(kr_cache_find_table(fixture.cache, keyroute_string(name)), tables[i]);
    ck_assert_int_eq(
        keyroute_location_region_id(kr_table_find(tables[i], keyroute_string("r"), KR_AT)), i + 1);
    kr_rcu_read_end();
    kr_table_release(tables[i]);
  }
  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, COUNT + 1);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  free(tables);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__table_that_finds_no_memory_is_not_there)
{
  struct fixture fixture = fixture_new();
  int failures = 0;

  for (long n = 1;; n++) {
    mem_fail(n);
    struct keyroute_table *table = kr_cache_table(fixture.cache, keyroute_string("u"));
    bool failed = mem_has_failed();

    mem_fail(0);
    if (table != NULL) {
      kr_table_release(table);
    }
    if (!failed) {
      break;
    }
    failures++;
    ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  }

  ck_assert_int_ge(failures, 3);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__table_that_could_not_leave_for_want_of_memory_is_swept_later)
{
  enum { COUNT = 300 }; /* more than there are shards: some must share one */
  struct fixture fixture = fixture_new();
  struct keyroute_table *tables[COUNT];

  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "u%d", i);
    tables[i] = kr_cache_table(fixture.cache, keyroute_string(name));
  }
  mem_fail_from(1);
  for (int i = 0; i < COUNT; i++) {
    kr_table_release(tables[i]);
  }
  size_t stayed = kr_cache_size(fixture.cache).tables;
  mem_fail(0);
  ck_assert_uint_gt(stayed, 1 + COUNT - 256);
  sweep(&fixture);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  fixture_free(&fixture);
}
END_TEST

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_table");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cache__table_is_one_object_while_somebody_counts_it);
  tcase_add_test(tests, test_cache__unused_table_leaves);
  tcase_add_test(tests, test_cache__table_with_regions_stays_until_they_are_swept);
  tcase_add_test(tests, test_cache__handle_stays_right_while_its_table_is_emptied_and_filled);
  tcase_add_test(tests, test_s028_a_thousand_tables_come_and_go);
  tcase_add_test(tests, test_cache__table_that_finds_no_memory_is_not_there);
  tcase_add_test(tests, test_cache__table_that_could_not_leave_for_want_of_memory_is_swept_later);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
