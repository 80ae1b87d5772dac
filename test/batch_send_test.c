/*
 * How many rows are cut into requests: few of them, none longer than its answer may be.
 */
#include "test/batch_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

START_TEST(test_batch__each_row_of_many_regions_is_read_once)
{
  place_wide(30);
  add_generated("w", "x", 3000);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(0) + rows_read(1) + rows_read(2), 3000);
  ck_assert_uint_lt(fake_cluster_stats(&world.cluster).scans, 30);
}
END_TEST

START_TEST(test_batch__few_requests_are_under_way_at_each_server)
{
  place_wide(30);
  add_generated("w", "x", 3000);
  for (int i = 0; i < HOP_SERVERS; i++) {
    fault(i, &(struct fake_fault){.what = FAKE_ANSWER, .delay_ms = 5, .times = -1});
  }
  get_and_read_all();

  for (int i = 0; i < HOP_SERVERS; i++) {
    ck_assert_uint_le(fake_server_counts(world.servers[i]).most_multis, 2);
  }
}
END_TEST

START_TEST(test_batch__large_rows_make_short_requests)
{
  fake_rows_generate(world.rows, "t", "a", 600, 20000);
  for (int i = 0; i < 600; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "a%06d", i);
    add("t", name);
  }
  warm();
  get_all();

  ck_assert_msg(keyroute_result_failed(result) == 0, "%s", detail.message);
  ck_assert_uint_ge(requests(0), 7);
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 0);
}
END_TEST

static void setup_small_frames(void)
{
  setup();
  fake_cluster_set(&world.cluster, "keyroute.frame.max.bytes", "65536");
  hop_world_open(&world);
}

START_TEST(test_batch__answer_that_is_too_large_is_asked_for_in_pieces)
{
  fake_rows_generate(world.rows, "t", "a", 64, 5000);
  for (int i = 0; i < 64; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "a%06d", i);
    add("t", name);
  }
  warm();
  get_all();

  ck_assert_msg(keyroute_result_failed(result) == 0, "%s", detail.message);
  ck_assert_uint_gt(hop_world_since(&world).requests_failed, 0);
  ck_assert_uint_eq(hop_world_since(&world).retries, 0);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

static void setup_short_patience(void)
{
  setup();
  fake_cluster_set(&world.cluster, "hbase.rpc.timeout", "1000");
  hop_world_open(&world);
}

START_TEST(test_batch__answer_that_is_too_late_is_asked_for_in_halves)
{
  add_both(80);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_NEVER});
  get_and_read_all();

  ck_assert_uint_ge(requests(0), 3);
  ck_assert_uint_le(fake_server_last_multi(world.servers[0]).rows, 20);
}
END_TEST

/* Two requests are under way when the first answer tells how long rows are. */
START_TEST(test_batch__answer_that_is_too_large_tells_how_many_rows_fit)
{
  fake_rows_generate(world.rows, "t", "a", 1000, 5000);
  for (int i = 0; i < 1000; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "a%06d", i);
    add("t", name);
  }
  warm();
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 0);
  ck_assert_uint_le(hop_world_since(&world).requests_failed, 2);
}
END_TEST

START_TEST(test_batch__row_that_is_too_large_alone_fails_alone)
{
  fake_rows_generate(world.rows, "t", "a", 3, 100000);
  add("t", "a000001");
  add_both(20);
  warm();
  get_all();

  assert_failed(0, KEYROUTE_E_TOO_LARGE);
  ck_assert_uint_eq(keyroute_result_failed(result), 1);
  for (size_t i = 1; i < key_count; i++) {
    assert_read(i);
  }
}
END_TEST

START_TEST(test_batch__row_above_the_callers_bound_fails_alone)
{
  struct keyroute_read read = KEYROUTE_READ_INIT;

  fake_rows_generate(world.rows, "t", "a", 3, 5000);
  add("t", "a000001");
  add_both(20);
  read.max_result_bytes = 1000;
  ck_assert_int_eq(get_with(&read, PATIENCE_MS, 0, 0), 0);

  assert_failed(0, KEYROUTE_E_TOO_LARGE);
  ck_assert_uint_eq(keyroute_result_failed(result), 1);
}
END_TEST

static void setup_short_queue(void)
{
  setup();
  fake_cluster_set(&world.cluster, "keyroute.server.queue.max.bytes", "65536");
  hop_world_open(&world);
}

enum { LONG_KEY_SIZE = 1024 };

static void long_key(char key[LONG_KEY_SIZE], size_t number)
{
  memset(key, 'y', LONG_KEY_SIZE);
  key[snprintf(key, LONG_KEY_SIZE, "x%06zu", number)] = 'y';
  key[LONG_KEY_SIZE - 1] = '\0';
}

/* Each row's region has a name of a kilobyte. Nothing is connected yet, so that all waits. */
START_TEST(test_batch__requests_that_name_regions_of_long_keys_wait_side_by_side)
{
  char start[LONG_KEY_SIZE], end[LONG_KEY_SIZE], name[ROW_SIZE];
  struct keyroute_groups *groups = NULL;

  for (size_t i = 0; i < 600; i++) {
    long_key(start, i);
    long_key(end, i + 1);
    fake_server_place_region(world.cluster.server, world.servers[0],
                             &(struct fake_region){.table = "w",
                                                   .start = row(i == 0 ? "" : start),
                                                   .end = row(i == 599 ? "" : end),
                                                   .id = (int64_t)(100 + i)});
    snprintf(name, sizeof(name), "x%06zuz", i);
    fake_rows_put(world.rows, "w", row(name), "f", "q", 1, row(name));
    add("w", name);
  }
  ck_assert_int_eq(keyroute_group(&groups, world.cluster.conn, keys, key_count, NULL, &detail), 0);
  ck_assert_uint_eq(keyroute_groups_region_count(groups), 600);
  keyroute_groups_free(groups);
  hop_world_mark(&world);

  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("batch_send");
  TCase *tests = add_case(made, "plain", setup_open);

  tcase_add_test(tests, test_batch__each_row_of_many_regions_is_read_once);
  tcase_add_test(tests, test_batch__few_requests_are_under_way_at_each_server);
  tcase_add_test(tests, test_batch__large_rows_make_short_requests);
  tcase_add_test(tests, test_batch__row_above_the_callers_bound_fails_alone);
  tests = add_case(made, "small frames", setup_small_frames);
  tcase_add_test(tests, test_batch__answer_that_is_too_large_is_asked_for_in_pieces);
  tcase_add_test(tests, test_batch__answer_that_is_too_large_tells_how_many_rows_fit);
  tcase_add_test(tests, test_batch__row_that_is_too_large_alone_fails_alone);
  tests = add_case(made, "short patience", setup_short_patience);
  tcase_add_test(tests, test_batch__answer_that_is_too_late_is_asked_for_in_halves);
  tests = add_case(made, "short queue", setup_short_queue);
  tcase_add_test(tests, test_batch__requests_that_name_regions_of_long_keys_wait_side_by_side);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
