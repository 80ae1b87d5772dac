/*
 * Many rows of which some cannot be located: the catalog is read little, and the others are found.
 */
#include "test/batch_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

START_TEST(test_batch__table_that_is_not_there_leaves_the_others_alone)
{
  add_both(10);
  add("gone", "a");
  add("gone", "b");
  add("gone", "z");
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 3);
  for (size_t i = 0; i < key_count; i++) {
    if (i < 10) {
      assert_read(i);
    } else {
      assert_failed(i, KEYROUTE_E_TABLE_NOT_FOUND);
    }
  }
}
END_TEST

static void assert_all_but_d(size_t each, int error)
{
  ck_assert_uint_eq(keyroute_result_failed(result), each);
  for (size_t i = 0; i < key_count; i++) {
    if (names[i][0] == 'd') {
      assert_failed(i, error);
    } else {
      assert_read(i);
    }
  }
}

static void setup_few_tries(void)
{
  setup();
  fake_cluster_set(&world.cluster, "hbase.client.retries.number", "2");
  hop_world_open(&world);
}

START_TEST(test_batch__hole_fails_its_rows_and_costs_few_scans)
{
  place_gap(false);
  add_letters(1000);
  get_all();

  assert_all_but_d(1000, KEYROUTE_E_HOLE);
  ck_assert_uint_le(fake_cluster_stats(&world.cluster).scans, 20);
}
END_TEST

START_TEST(test_batch__offline_region_fails_its_rows_and_costs_few_scans)
{
  place_gap(true);
  add_letters(1000);
  get_all();

  assert_all_but_d(1000, KEYROUTE_E_OFFLINE);
  ck_assert_uint_le(fake_cluster_stats(&world.cluster).scans, 20);
}
END_TEST

START_TEST(test_batch__region_that_comes_back_is_read)
{
  struct fake_region region = {.table = "h", .start = row("d"), .end = row("e"), .id = 'd'};

  place_gap(true);
  add_letters(10);
  get_all();
  assert_all_but_d(10, KEYROUTE_E_OFFLINE);
  fake_server_place_region(world.cluster.server, world.servers[2], &region);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(2), 10);
}
END_TEST

START_TEST(test_batch__disabled_table_is_told_and_costs_few_scans)
{
  struct fake_region region = {.table = "off", .id = 7};

  fake_server_put_region(world.cluster.server, &region);
  fake_server_put_table_state(world.cluster.server, "off", 1);
  add_both(4);
  for (int i = 0; i < 500; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "r%d", i);
    add("off", name);
  }
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 500);
  assert_failed(4, KEYROUTE_E_OFFLINE);
  ck_assert_ptr_nonnull(strstr(keyroute_result_message(result, 4), "disabled"));
  ck_assert_uint_le(fake_cluster_stats(&world.cluster).scans, 12);
}
END_TEST

START_TEST(test_batch__catalog_that_cannot_be_read_leaves_cached_rows_alone)
{
  add_both(40);
  hop_world_warm(&world, "a");
  fake_server_stop(world.cluster.server);
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 20);
  assert_read(0);
  assert_failed(1, KEYROUTE_E_UNREACHABLE);
}
END_TEST

START_TEST(test_batch__cache_only_reads_where_the_cache_says)
{
  add_both(40);
  hop_world_warm(&world, "a");
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0), 0);

  ck_assert_uint_eq(keyroute_result_failed(result), 20);
  assert_read(0);
  assert_failed(1, KEYROUTE_E_NOT_CACHED);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

START_TEST(test_batch__refresh_reads_the_catalog_once_a_region_at_most)
{
  place_wide(30);
  add_generated("w", "x", 3000);
  get_and_read_all();
  hop_world_mark(&world);
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, KEYROUTE_REFRESH, 0), 0);

  assert_all_read();
  ck_assert_uint_ge(hop_world_since(&world).scans, 3);
  ck_assert_uint_le(hop_world_since(&world).scans, 30);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("batch_find");
  TCase *tests = add_case(made, "plain", setup_open);

  tcase_add_test(tests, test_batch__table_that_is_not_there_leaves_the_others_alone);
  tcase_add_test(tests, test_batch__cache_only_reads_where_the_cache_says);
  tcase_add_test(tests, test_batch__refresh_reads_the_catalog_once_a_region_at_most);
  tests = add_case(made, "few tries", setup_few_tries);
  tcase_add_test(tests, test_batch__hole_fails_its_rows_and_costs_few_scans);
  tcase_add_test(tests, test_batch__offline_region_fails_its_rows_and_costs_few_scans);
  tcase_add_test(tests, test_batch__disabled_table_is_told_and_costs_few_scans);
  tcase_add_test(tests, test_batch__region_that_comes_back_is_read);
  tcase_add_test(tests, test_batch__catalog_that_cannot_be_read_leaves_cached_rows_alone);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
