/*
 * Who leaves when room is short, or when a table is cleared, and what it is counted as.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

/* ---- Bounds ---- */

static bool hit_number(const struct fixture *fixture, int number)
{
  char row[16];

  snprintf(row, sizeof(row), "%04d", number);
  return find(fixture, row) == number + 1;
}

/* The region, live or not, that starts at a row, its mark left alone; or NULL. */
static const struct keyroute_location *peek_start(const struct fixture *fixture, const char *row)
{
  kr_rcu_read_begin();
  const struct keyroute_location *floor = kr_table_floor(fixture->table, keyroute_string(row));

  kr_rcu_read_end();
  return floor != NULL && kr_bytes_equal(keyroute_location_start_key(floor), keyroute_string(row))
             ? floor
             : NULL;
}

START_TEST(test_cache__bound_of_regions_lets_the_oldest_unused_go)
{
  struct fixture fixture = bounded(10, 0);

  for (int i = 0; i < 15; i++) {
    store_number(&fixture, i);
    ck_assert_uint_le(region_count(&fixture), 10);
  }

  for (int i = 0; i < 15; i++) {
    ck_assert(hit_number(&fixture, i) == (i >= 5));
  }
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_FULL), 5);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__what_was_hit_is_spared_once)
{
  struct fixture fixture = bounded(4, 0);

  for (int i = 0; i < 5; i++) {
    store_number(&fixture, i); /* 0 goes, once all have been spared for being new */
  }
  hit_number(&fixture, 2);
  store_number(&fixture, 5); /* 1 goes */
  store_number(&fixture, 6); /* 2 is spared, 3 goes */
  ck_assert_ptr_nonnull(peek_start(&fixture, "0002"));
  ck_assert_ptr_null(peek_start(&fixture, "0003"));
  store_number(&fixture, 7); /* 4 to 6 are spared for being new, 2 has had its chance */

  ck_assert_ptr_null(peek_start(&fixture, "0002"));
  ck_assert_ptr_nonnull(peek_start(&fixture, "0004"));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__new_region_is_not_the_next_to_go_for_its_key_coming_next)
{
  struct fixture fixture = bounded(4, 0);

  for (int i = 10; i <= 50; i += 10) {
    store_number(&fixture, i); /* 10 goes */
  }
  store_number(&fixture, 35); /* 20 goes; 30 comes next, then 35 */
  store_number(&fixture, 60); /* 30 goes */
  store_number(&fixture, 70); /* 35 is spared, 40 goes */

  ck_assert_ptr_null(peek_start(&fixture, "0040"));
  ck_assert(hit_number(&fixture, 35));
  ck_assert_uint_eq(region_count(&fixture), 4);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__tables_without_regions_are_not_gone_through_for_room)
{
  enum { TABLES = 10000, STORES = 9000 };
  static struct keyroute_table *tables[TABLES];
  struct fixture fixture = bounded(2, 0);

  for (int i = 0; i < TABLES; i++) {
    char name[16];

    snprintf(name, sizeof(name), "u%d", i);
    tables[i] = kr_cache_table(fixture.cache, keyroute_string(name));
  }
  for (int i = 0; i < STORES; i++) {
    store_number(&fixture, i); /* with a walk over all tables each: 10^8 steps */
    ck_assert_uint_le(region_count(&fixture), 2);
  }

  ck_assert(hit_number(&fixture, STORES - 1));
  for (int i = 0; i < TABLES; i++) {
    kr_table_release(tables[i]);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__where_all_are_in_use_a_store_does_not_look_at_all)
{
  enum { COUNT = 1000 };
  struct fixture fixture = bounded(COUNT, 0);
  int marks = 0, left = 0;

  for (int i = 0; i < COUNT; i++) {
    store_number(&fixture, i);
    hit_number(&fixture, i);
  }
  store_number(&fixture, COUNT);
  for (int i = 0; i < COUNT; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%04d", i);
    const struct keyroute_location *location = peek_start(&fixture, row);

    left += location != NULL;
    marks += location != NULL && location->touched;
  }

  ck_assert_int_eq(left, COUNT - 1);
  ck_assert_int_ge(marks, COUNT - 100);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__region_just_stored_does_not_make_room_for_itself)
{
  struct fixture few = bounded(1, 0);

  for (int i = 0; i < 5; i++) {
    store_number(&few, i);
    ck_assert(hit_number(&few, i));
    ck_assert_uint_eq(region_count(&few), 1);
  }
  fixture_free(&few);
}
END_TEST

START_TEST(test_cache__bound_of_bytes_smaller_than_anything_keeps_the_last)
{
  struct fixture small = bounded(0, 1);

  for (int i = 0; i < 5; i++) {
    store_number(&small, i);
    ck_assert(hit_number(&small, i));
    ck_assert_uint_eq(region_count(&small), 1);
  }
  fixture_free(&small);
}
END_TEST

START_TEST(test_cache__bound_of_bytes_is_kept)
{
  enum { BOUND = 65536 };
  struct fixture fixture = bounded(0, BOUND);

  for (int i = 0; i < 2000; i++) {
    store_number(&fixture, i);
    ck_assert_uint_le(kr_cache_size(fixture.cache).bytes, BOUND);
  }

  ck_assert_uint_gt(kr_cache_size(fixture.cache).bytes, BOUND - 1024);
  ck_assert_uint_gt(region_count(&fixture), 100);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__catalogs_own_regions_go_last)
{
  struct fixture fixture = bounded(3, 0);
  struct keyroute_table *user = kr_cache_table(fixture.cache, keyroute_string("u"));
  struct keyroute_table *catalog = fixture.table;

  store_number(&fixture, 0); /* before its table is known to be the catalog's */
  kr_table_pin(catalog);
  kr_table_pin(catalog);
  store_number(&fixture, 1);
  fixture.table = user;
  for (int i = 0; i < 10; i++) {
    store_number(&fixture, i);
    ck_assert(hit_number(&fixture, i));
  }
  fixture.table = catalog;
  ck_assert(hit_number(&fixture, 0));
  ck_assert(hit_number(&fixture, 1));
  store_number(&fixture, 2); /* the last user region goes */
  ck_assert(hit_number(&fixture, 0));
  store_number(&fixture, 3); /* now one of its own has to */

  ck_assert_uint_eq(region_count(&fixture), 3);
  ck_assert(hit_number(&fixture, 3));
  kr_table_release(user);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__unused_table_leaves_with_its_last_region)
{
  struct fixture fixture = bounded(2, 0);

  for (int i = 0; i < 10; i++) {
    char name[16];
    struct keyroute_table *own = fixture.table;

    snprintf(name, sizeof(name), "u%d", i);
    fixture.table = kr_cache_table(fixture.cache, keyroute_string(name));
    store_number(&fixture, i);
    kr_table_release(fixture.table);
    fixture.table = own;
  }

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 2 + 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__retired_region_goes_before_its_time_for_its_own_reason)
{
  struct fixture fixture = bounded(3, 0);
  struct kr_cache_filter all = {0};

  store_number(&fixture, 0);
  store_number(&fixture, 1);
  kr_cache_retire(fixture.cache, &all);
  store_number(&fixture, 2);
  store_number(&fixture, 3);

  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 1);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_FULL), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__evictions_are_counted_by_reason)
{
  struct fixture fixture = bounded(0, 0);
  struct kr_cache_filter all = {0};
  struct kr_server *server;

  store(&fixture, "a", "c", 1);
  store(&fixture, "b", "d", 2);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_REPLACED), 1);
  kr_rcu_read_begin();
  struct keyroute_location *location = kr_table_find(fixture.table, keyroute_string("b"), KR_AT);
  kr_rcu_read_end();
  kr_cache_remove(fixture.cache, fixture.table, location);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_REPORTED), 1);
  store(&fixture, "a", "c", 1);
  server = kr_servers_get(fixture.servers, keyroute_string("h"), 1, 1);
  kr_server_drop(server);
  kr_server_release(server);
  store(&fixture, "a", "c", 1); /* the one on the dropped server makes way, for that reason */
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_SERVER), 1);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 1);
  store(&fixture, "a", "c", 1);
  kr_cache_clear_table(fixture.cache, fixture.table);

  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 2);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTIONS), 5);
  fixture_free(&fixture);
}
END_TEST

/* ---- Clearing many ---- */

enum { MANY = 1000 };

static void store_many(struct fixture *fixture, int from, int to)
{
  for (int i = from; i < to; i++) {
    store_number(fixture, i);
  }
}

START_TEST(test_cache__no_hit_gives_out_what_was_cleared_while_figures_still_count_it)
{
  struct fixture fixture = fixture_new();
  size_t empty = kr_cache_size(fixture.cache).bytes;

  store_many(&fixture, 0, MANY);
  size_t full = kr_cache_size(fixture.cache).bytes;
  kr_cache_clear_table(fixture.cache, fixture.table);

  ck_assert(!hit_number(&fixture, 0) && !hit_number(&fixture, MANY - 1));
  ck_assert_uint_eq(region_count(&fixture), MANY);
  ck_assert_uint_ge(kr_cache_size(fixture.cache).bytes, full);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 0);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, 100), 100);
  ck_assert_uint_eq(region_count(&fixture), MANY - 100);
  ck_assert_uint_lt(kr_cache_size(fixture.cache).bytes, full);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, MANY), MANY - 100);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, MANY), 0);
  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, empty);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), MANY);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__cleared_tables_are_filled_again_while_the_old_waits)
{
  struct fixture fixture = fixture_new();

  for (int turn = 0; turn < 3; turn++) {
    store_many(&fixture, 0, MANY);
    kr_cache_clear_table(fixture.cache, fixture.table);
  }
  store_many(&fixture, 0, 10);
  ck_assert_uint_eq(region_count(&fixture), 3 * MANY + 10);
  sweep(&fixture); /* looks at what is in the table */
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, SIZE_MAX), 3 * MANY);

  for (int i = 0; i < 20; i++) {
    ck_assert(hit_number(&fixture, i) == (i < 10));
  }
  ck_assert_uint_eq(region_count(&fixture), 10);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__what_was_cleared_makes_room_first)
{
  struct fixture fixture = bounded(MANY, 0);

  kr_table_pin(fixture.table);
  store_many(&fixture, 0, MANY);
  kr_cache_clear_table(fixture.cache, fixture.table);
  for (int i = 0; i < MANY; i++) {
    store_number(&fixture, i);
    ck_assert_uint_eq(region_count(&fixture), MANY);
  }

  for (int i = 0; i < MANY; i++) {
    ck_assert(hit_number(&fixture, i));
  }
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), MANY);
  store_number(&fixture, MANY);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_FULL), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__without_memory_what_is_cleared_is_evicted_at_once)
{
  for (int fail = 1; fail <= 2; fail++) {
    struct fixture fixture = fixture_new();
    size_t empty = kr_cache_size(fixture.cache).bytes;

    store_many(&fixture, 0, MANY);
    mem_fail(fail);
    kr_cache_clear_table(fixture.cache, fixture.table);
    ck_assert(mem_has_failed());
    mem_fail(0);

    ck_assert_uint_eq(region_count(&fixture), 0);
    ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, empty);
    ck_assert_uint_eq(kr_cache_drain(fixture.cache, 1), 0);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_cache__table_and_cache_may_go_while_what_was_cleared_waits)
{
  struct fixture fixture = fixture_new();

  store_many(&fixture, 0, MANY);
  kr_cache_clear_table(fixture.cache, fixture.table);
  kr_table_release(fixture.table);
  fixture.table = NULL;
  kr_rcu_barrier();

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 0);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, 10), 10);
  ck_assert_uint_eq(region_count(&fixture), MANY - 10);
  fixture_free(&fixture);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_evict");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cache__bound_of_regions_lets_the_oldest_unused_go);
  tcase_add_test(tests, test_cache__what_was_hit_is_spared_once);
  tcase_add_test(tests, test_cache__new_region_is_not_the_next_to_go_for_its_key_coming_next);
  tcase_add_test(tests, test_cache__tables_without_regions_are_not_gone_through_for_room);
  tcase_add_test(tests, test_cache__where_all_are_in_use_a_store_does_not_look_at_all);
  tcase_add_test(tests, test_cache__region_just_stored_does_not_make_room_for_itself);
  tcase_add_test(tests, test_cache__bound_of_bytes_smaller_than_anything_keeps_the_last);
  tcase_add_test(tests, test_cache__bound_of_bytes_is_kept);
  tcase_add_test(tests, test_cache__catalogs_own_regions_go_last);
  tcase_add_test(tests, test_cache__unused_table_leaves_with_its_last_region);
  tcase_add_test(tests, test_cache__retired_region_goes_before_its_time_for_its_own_reason);
  tcase_add_test(tests, test_cache__evictions_are_counted_by_reason);
  tcase_add_test(tests, test_cache__no_hit_gives_out_what_was_cleared_while_figures_still_count_it);
  tcase_add_test(tests, test_cache__cleared_tables_are_filled_again_while_the_old_waits);
  tcase_add_test(tests, test_cache__what_was_cleared_makes_room_first);
  tcase_add_test(tests, test_cache__without_memory_what_is_cleared_is_evicted_at_once);
  tcase_add_test(tests, test_cache__table_and_cache_may_go_while_what_was_cleared_waits);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
