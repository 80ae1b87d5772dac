/*
 * What is retired from outside: no hit gives it out, and the next sweep takes it out.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

START_TEST(test_s035_cleared_table_is_filled_anew)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter only = {.table = keyroute_string("t")};

  store(&fixture, "", "", 1);
  kr_cache_retire(fixture.cache, &only);
  ck_assert_int_eq(find(&fixture, "a"), 0);
  sweep(&fixture);
  store(&fixture, "", "", 1);

  ck_assert_int_eq(find(&fixture, "a"), 1);
  ck_assert_int_eq(find(&fixture, "b"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s042_all_regions_of_a_dead_server_go_in_one_call)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter dead = {.host = "h", .port = 1, .start_code = 1};

  for (int i = 0; i < 500; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%03d", i);
    snprintf(end, sizeof(end), "%03d", i + 1);
    store_sent(&fixture, made(&fixture, start, end, 1, i < 490 ? 1 : 2, 2),
               kr_cache_tick(fixture.cache));
  }
  kr_cache_retire(fixture.cache, &dead);
  ck_assert_int_eq(find(&fixture, "0005"), 0);
  sweep(&fixture);

  ck_assert_uint_eq(region_count(&fixture), 10);
  ck_assert_int_eq(find(&fixture, "4955"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s042_dropping_a_server_is_one_step_for_all_that_is_on_it)
{
  struct fixture fixture = fixture_new();

  for (int i = 0; i < 500; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%03d", i);
    snprintf(end, sizeof(end), "%03d", i + 1);
    store_sent(&fixture, made(&fixture, start, end, 1, i < 490 ? 1 : 2, 2),
               kr_cache_tick(fixture.cache));
  }
  struct kr_server *dead = kr_servers_get(fixture.servers, keyroute_string("h"), 1, 1);

  kr_server_drop(dead);
  kr_server_release(dead);
  ck_assert_int_eq(find(&fixture, "0005"), 0);
  ck_assert_int_eq(find(&fixture, "4955"), 1);
  sweep(&fixture);
  ck_assert_uint_eq(region_count(&fixture), 10);
  store_sent(&fixture, made(&fixture, "000", "001", 1, 1, 2), 0);

  ck_assert_int_eq(find(&fixture, "0005"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__region_whose_only_replica_was_on_a_dropped_server_is_swept)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *both = made_two(&fixture, 7, 1, 8, 1);
  struct kr_server *second = keyroute_location_ref(both)->replicas[1].server;

  store_sent(&fixture, both, kr_cache_tick(fixture.cache));
  sweep(&fixture);
  kr_server_drop(second);
  sweep(&fixture);
  ck_assert_int_eq(replica_code(&fixture, 0), 7);
  keyroute_location_release(both);

  struct keyroute_location *only = made_two(&fixture, 0, 1, 9, 1);
  struct kr_server *third = keyroute_location_ref(only)->replicas[1].server;

  store_sent(&fixture, only, kr_cache_tick(fixture.cache));
  sweep(&fixture);
  ck_assert_int_eq(replica_code(&fixture, 1), 9);
  kr_server_drop(third);
  sweep(&fixture);
  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(kr_stats_read(fixture.stats, KR_COUNT_EVICTED_SERVER), 1);
  keyroute_location_release(only);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__new_epoch_is_counted_as_retiring_is)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};
  uint64_t before = kr_cache_epoch(fixture.cache);

  kr_cache_new_epoch(fixture.cache);
  ck_assert_uint_eq(kr_cache_epoch(fixture.cache), before + 1);
  kr_cache_retire(fixture.cache, &all);

  ck_assert_uint_eq(kr_cache_epoch(fixture.cache), before + 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s101_new_process_on_the_same_port_is_another_server)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter old = {.host = "h", .port = 1, .start_code = 100};
  struct kr_cache_filter any = {.host = "h", .port = 1};

  store_sent(&fixture, made(&fixture, "", "", 1, 100, 2), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made(&fixture, "", "", 1, 200, 3), kr_cache_tick(fixture.cache));
  kr_cache_retire(fixture.cache, &old);
  ck_assert_int_eq(start_code_of(&fixture, "a"), 200);
  kr_cache_retire(fixture.cache, &any);

  ck_assert_int_eq(find(&fixture, "a"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__filters_tell_hosts_ports_and_tables_apart)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter others[] = {
      {.table = {"u", 1}},
      {.host = "hh", .port = 1},
      {.host = "h", .port = 2},
      {.table = {"u", 1}, .host = "h", .port = 1},
  };

  store(&fixture, "", "", 1);
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    kr_cache_retire(fixture.cache, &others[i]);
    sweep(&fixture);
  }

  ck_assert_int_eq(find(&fixture, "a"), 1);
  fixture_free(&fixture);
}
END_TEST

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_retire");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s035_cleared_table_is_filled_anew);
  tcase_add_test(tests, test_s042_all_regions_of_a_dead_server_go_in_one_call);
  tcase_add_test(tests, test_s042_dropping_a_server_is_one_step_for_all_that_is_on_it);
  tcase_add_test(tests, test_cache__region_whose_only_replica_was_on_a_dropped_server_is_swept);
  tcase_add_test(tests, test_cache__new_epoch_is_counted_as_retiring_is);
  tcase_add_test(tests, test_s101_new_process_on_the_same_port_is_another_server);
  tcase_add_test(tests, test_cache__filters_tell_hosts_ports_and_tables_apart);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
