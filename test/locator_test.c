/*
 * Lookups in a world where time stands still and every answer comes when the test says so: what is
 * asked once for all who wait, and what each is answered.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

/* ---- Single flight ---- */

START_TEST(test_locator__different_rows_of_one_cold_region_make_one_scan)
{
  struct world *world = world_new();
  struct ask asks[64];

  put_region(world, "t", "", "", 7);
  world_start(world);

  for (int i = 0; i < 64; i++) {
    char row[16];

    snprintf(row, sizeof(row), "r%02d", i);
    ask(&asks[i], world, "t", row);
  }
  fake_clock_pass_ms(1);

  for (int i = 0; i < 64; i++) {
    expect_found(&asks[i], 7);
    ck_assert_uint_eq(asks[i].lookup.attempts, 1);
    ask_clear(&asks[i]);
  }
  ck_assert_int_eq(world->scans, 1);
  ck_assert_int_eq(world->root_reads, 1);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_JOINS), 63);
  world_free(world);
}
END_TEST

START_TEST(test_locator__same_row_asked_by_many_makes_one_scan)
{
  struct world *world = world_new();
  struct ask asks[64];

  put_region(world, "t", "", "", 7);
  world_start(world);

  for (int i = 0; i < 64; i++) {
    ask(&asks[i], world, "t", "row");
  }
  fake_clock_pass_ms(1);

  for (int i = 0; i < 64; i++) {
    expect_found(&asks[i], 7);
    ask_clear(&asks[i]);
  }
  ck_assert_int_eq(world->scans, 1);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_JOINS), 63);
  world_free(world);
}
END_TEST

START_TEST(test_locator__waiters_in_another_region_get_a_scan_of_their_own)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "m", 1);
  put_region(world, "t", "m", "", 2);
  world_start(world);
  world->latency_ms = -1;

  ask(&first, world, "t", "a");
  ask(&second, world, "t", "z");
  fake_clock_pass_ms(1);
  ck_assert_int_eq(world->in_flight, 1);
  answer_scan(world);
  expect_found(&first, 1);
  ck_assert_int_eq(second.done, 0);
  answer_scan(world);

  expect_found(&second, 2);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_locator__a_prefetched_neighbour_serves_its_waiters)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "m", 1);
  put_region(world, "t", "m", "", 2);
  world_start(world);

  ask(&first, world, "t", "z");
  ask(&second, world, "t", "a");
  fake_clock_pass_ms(1);

  expect_found(&first, 2);
  expect_found(&second, 1);
  ck_assert_int_eq(world->scans, 1);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_locator__cache_only_asks_nobody)
{
  struct world *world = world_new();
  struct ask cold, warm, hit;

  put_region(world, "t", "", "", 7);
  world_start(world);
  ask_init(&cold, world, "t", "a");
  cold.lookup.cache_only = true;
  ask_start(&cold);
  expect_failed(&cold, KEYROUTE_E_NOT_CACHED);
  ck_assert_int_eq(world->root_reads, 0);
  ask(&warm, world, "t", "a");
  fake_clock_pass_ms(1);

  ask_init(&hit, world, "t", "b");
  hit.lookup.cache_only = true;
  ask_start(&hit);

  expect_found(&hit, 7);
  ck_assert_int_eq(hit.lookup.source, KEYROUTE_SOURCE_CACHE);
  ck_assert_uint_eq(hit.lookup.attempts, 0);
  ask_clear(&cold);
  ask_clear(&warm);
  ask_clear(&hit);
  world_free(world);
}
END_TEST

/* ---- Servers of regions ---- */

START_TEST(test_locator__region_without_server_is_answered_once_it_has_one)
{
  struct world *world = world_new();
  struct fake_region region = {.table = "t", .id = 7};
  struct ask only, single;

  put(world, &region);
  world_start(world);
  ask_init(&single, world, "t", "a");
  single.lookup.single_try = true;
  ask_start(&single);
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(100);
  expect_failed(&single, KEYROUTE_E_NO_SERVER);
  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 1); /* hbase:meta: see s024 */
  ck_assert_int_eq(only.done, 0);
  put_region(world, "t", "", "", 7);
  fake_clock_pass_ms(5000);

  expect_found(&only, 7);
  ck_assert_int_eq(world->root_reads, 1);
  ask_clear(&only);
  ask_clear(&single);
  world_free(world);
}
END_TEST

START_TEST(test_locator__replica_asked_for_must_have_a_server)
{
  struct world *world = world_new();
  struct ask primary, absent, any;

  put_region(world, "t", "", "", 7);
  world->means.retry.retries = 0;
  world_start(world);
  ask(&primary, world, "t", "a");
  ask_init(&absent, world, "t", "a");
  absent.lookup.replica = 2;
  ask_start(&absent);
  ask_init(&any, world, "t", "a");
  any.lookup.replica = KEYROUTE_REPLICA_ANY;
  ask_start(&any);
  fake_clock_pass_ms(1);

  expect_found(&primary, 7);
  expect_failed(&absent, KEYROUTE_E_NO_SERVER);
  expect_found(&any, 7);
  ask_clear(&primary);
  ask_clear(&absent);
  ask_clear(&any);
  world_free(world);
}
END_TEST

/* ---- Fresh news ---- */

START_TEST(test_locator__refresh_is_not_served_by_a_read_sent_before_it)
{
  struct world *world = world_new();
  struct ask plain, fresh;

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->latency_ms = -1;
  ask(&plain, world, "t", "a");
  fake_clock_pass_ms(0);
  ck_assert_int_eq(world->in_flight, 1);
  ask_init(&fresh, world, "t", "a");
  fresh.lookup.refresh = true;
  ask_start(&fresh);
  ck_assert_int_eq(world->in_flight, 2);

  answer_scan(world);
  expect_found(&plain, 7);
  ck_assert_int_eq(fresh.done, 0);
  answer_scan(world);

  expect_found(&fresh, 7);
  ask_clear(&plain);
  ask_clear(&fresh);
  world_free(world);
}
END_TEST

START_TEST(test_locator__refresh_joins_a_read_that_is_yet_to_be_sent)
{
  struct world *world = world_new();
  struct ask plain, fresh;

  put_region(world, "t", "", "", 7);
  world->root_latency_ms = -1;
  world_start(world);
  ask(&plain, world, "t", "a");
  ask_init(&fresh, world, "t", "a");
  fresh.lookup.refresh = true;
  ask_start(&fresh);

  answer_root(world);
  fake_clock_pass_ms(0);

  expect_found(&plain, 7);
  expect_found(&fresh, 7);
  ck_assert_int_eq(world->scans, 1);
  ask_clear(&plain);
  ask_clear(&fresh);
  world_free(world);
}
END_TEST

START_TEST(test_s032_refresh_that_changes_nothing_keeps_the_location)
{
  struct world *world = world_new();
  struct ask plain, fresh;

  put_region(world, "t", "", "", 7);
  world_start(world);
  ask(&plain, world, "t", "a");
  fake_clock_pass_ms(0);
  ask_init(&fresh, world, "t", "a");
  fresh.lookup.refresh = true;
  ask_start(&fresh);
  fake_clock_pass_ms(0);

  expect_found(&fresh, 7);
  ck_assert_ptr_eq(fresh.lookup.location, plain.lookup.location);
  ck_assert(!kr_location_retired(plain.lookup.location));
  ck_assert_int_eq(fresh.lookup.source, KEYROUTE_SOURCE_CATALOG);
  ask_clear(&plain);
  ask_clear(&fresh);
  world_free(world);
}
END_TEST

START_TEST(test_locator__waiters_share_what_a_scan_says_about_their_region)
{
  struct world *world = world_new();
  struct fake_region region = {.table = "t", .id = 7};
  struct ask asks[10];

  put(world, &region);
  world->means.retry.retries = 0;
  world_start(world);
  for (int i = 0; i < 10; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%d", i);
    ask(&asks[i], world, "t", row);
  }
  fake_clock_pass_ms(1);

  for (int i = 0; i < 10; i++) {
    expect_failed(&asks[i], KEYROUTE_E_NO_SERVER);
    ck_assert_uint_eq(asks[i].lookup.attempts, 1);
    ask_clear(&asks[i]);
  }
  ck_assert_int_eq(world->scans, 2); /* and the state of the table */
  world_free(world);
}
END_TEST

/* ---- Without memory ---- */

/* One lookup of each kind, with the n-th allocation failing; false = it was never asked for. */
static bool look_up_with_failure(long n, bool all)
{
  struct world *world = world_new();
  struct ask asks[5];
  static const char *const tables[] = {"t", "t", "absent", "hole", "hbase:meta"};
  static const char *const rows[] = {"a", "b", "a", "x", ""};

  put_region(world, "t", "", "", 7);
  put_region(world, "hole", "", "m", 8);
  put_dead(world, "", "a", 3, true);
  world->means.retry = (struct kr_retry_policy){2, 10, 10, 100};
  world_start(world);
  for (int i = 0; i < 5; i++) {
    ask_init(&asks[i], world, tables[i], rows[i]);
    asks[i].lookup.trace = i % 2 == 0 ? kr_trace_new(world->mem) : NULL;
  }
  if (all) {
    mem_fail_from(n);
  } else {
    mem_fail(n);
  }
  for (int i = 0; i < 5; i++) {
    ask_start(&asks[i]);
  }
  fake_clock_pass_ms(31000);
  bool failed = mem_has_failed();

  mem_fail(0);
  for (int i = 0; i < 5; i++) {
    int code = asks[i].lookup.failure.code;
    bool expected = i == 2   ? code == KEYROUTE_E_TABLE_NOT_FOUND
                    : i == 3 ? code == KEYROUTE_E_HOLE
                             : code == 0;

    ck_assert_int_eq(asks[i].done, 1);
    /* protobuf-c cannot tell a short memory from bad bytes. */
    ck_assert_msg(expected ||
                      (failed && (code == KEYROUTE_E_NO_MEMORY || code == KEYROUTE_E_CORRUPT ||
                                  code == KEYROUTE_E_BOOTSTRAP)),
                  "allocation %ld, lookup %d: %s", n, i, keyroute_errname(code));
    ask_clear(&asks[i]);
  }
  world_free(world);
  return failed;
}

START_TEST(test_locator__each_allocation_may_fail)
{
  long n = 1;

  while (look_up_with_failure(n, _i == 1)) {
    n++;
  }

  ck_assert_int_gt(n, 50);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("locator");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_locator__different_rows_of_one_cold_region_make_one_scan);
  tcase_add_test(tests, test_locator__same_row_asked_by_many_makes_one_scan);
  tcase_add_test(tests, test_locator__waiters_in_another_region_get_a_scan_of_their_own);
  tcase_add_test(tests, test_locator__a_prefetched_neighbour_serves_its_waiters);
  tcase_add_test(tests, test_locator__cache_only_asks_nobody);
  tcase_add_test(tests, test_locator__region_without_server_is_answered_once_it_has_one);
  tcase_add_test(tests, test_locator__replica_asked_for_must_have_a_server);
  tcase_add_test(tests, test_locator__refresh_is_not_served_by_a_read_sent_before_it);
  tcase_add_test(tests, test_locator__refresh_joins_a_read_that_is_yet_to_be_sent);
  tcase_add_test(tests, test_s032_refresh_that_changes_nothing_keeps_the_location);
  tcase_add_test(tests, test_locator__waiters_share_what_a_scan_says_about_their_region);
  tcase_add_loop_test(tests, test_locator__each_allocation_may_fail, 0, 2);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
