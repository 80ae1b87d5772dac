/*
 * What goes wrong with some of many rows is put right for those, and the others are left alone.
 */
#include "test/batch_harness.h"

#include "test/run_suite.h"

#include <string.h>
#include <time.h>

START_TEST(test_batch__only_the_row_that_failed_is_asked_for_again)
{
  add_both(40);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "RegionTooBusyException",
                                .row = row("a0006")});
  get_and_read_all();

  ck_assert_uint_eq(rows_read(0), 20);
  ck_assert_uint_eq(requests(0), 2);
  ck_assert_uint_eq(requests(1), 1);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 1);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

START_TEST(test_batch__only_the_region_that_failed_is_asked_for_again)
{
  place_wide(3);
  struct fake_region more = {.table = "v", .id = 50};

  fake_server_place_region(world.cluster.server, world.servers[0], &more);
  add_generated("w", "x", 100);
  add_generated("v", "x", 100);
  get_and_read_all();
  hop_world_mark(&world);
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "NotServingRegionException",
                                .region = &more});
  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).rows_read, 200);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 100);
  ck_assert_uint_eq(hop_world_since(&world).scans, 1);
}
END_TEST

START_TEST(test_batch__moved_region_heals_by_the_place_named_and_no_scan)
{
  add_both(40);
  warm();
  world.low.seqnum = 9;
  fake_server_hand_over_region(world.cluster.server, world.servers[0], world.servers[2],
                               &world.low);
  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
  ck_assert_uint_eq(hop_world_since(&world).hints_taken, 1);
  ck_assert_uint_eq(rows_read(2), 20);
  ck_assert_uint_eq(rows_read(1), 20);
}
END_TEST

START_TEST(test_batch__region_that_was_split_is_found_in_its_daughters)
{
  struct fake_region left = {.table = "t", .end = row("a0010"), .id = 11, .seqnum = 9};
  struct fake_region right = {
      .table = "t", .start = row("a0010"), .end = row("m"), .id = 11, .seqnum = 9};

  add_both(40);
  warm();
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  fake_server_delete_region(world.cluster.server, &world.low);
  fake_server_place_region(world.cluster.server, world.servers[2], &left);
  fake_server_place_region(world.cluster.server, world.servers[0], &right);
  get_and_read_all();

  ck_assert_uint_eq(rows_read(0), 15);
  ck_assert_uint_eq(rows_read(2), 5);
}
END_TEST

static const enum fake_what breaks[] = {FAKE_CLOSE,         FAKE_RESET,        FAKE_HALF,
                                        FAKE_GARBAGE,       FAKE_BAD_MESSAGE,  FAKE_BAD_COUNTS,
                                        FAKE_FEWER_REGIONS, FAKE_INDEX_TWICE,  FAKE_WRONG_INDEX,
                                        FAKE_LOST_RESULT,   FAKE_MORE_REGIONS, FAKE_SPARE_BYTES};

START_TEST(test_batch__answer_that_breaks_is_asked_for_again)
{
  add_both(40);
  warm();
  fault(0, &(struct fake_fault){.what = breaks[_i]});

  get_and_read_all();

  ck_assert_uint_eq(requests(1), 1);
}
END_TEST

START_TEST(test_batch__results_in_any_order_go_to_their_rows)
{
  add_both(40);
  fault(0, &(struct fake_fault){.what = FAKE_ANY_ORDER});
  fault(1, &(struct fake_fault){.what = FAKE_ANY_ORDER});

  get_and_read_all();
}
END_TEST

START_TEST(test_batch__server_that_died_is_left_for_the_next)
{
  add_both(40);
  warm();
  fake_server_stop(world.servers[0]);
  fake_server_place_region(world.cluster.server, world.servers[2], &world.low);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(2), 20);
}
END_TEST

START_TEST(test_batch__server_silent_to_the_end_is_a_timeout)
{
  add_both(40);
  warm();
  fake_server_set_silent(world.servers[0], true);
  ck_assert_int_eq(get_with(NULL, 1500, 0, 0), 0);

  for (size_t i = 0; i < key_count; i += 2) {
    assert_failed(i, KEYROUTE_E_TIMEOUT);
  }
  ck_assert(detail.deadline);
  ck_assert_ptr_nonnull(strstr(detail.message, "of 40 rows failed"));
}
END_TEST

START_TEST(test_batch__busy_server_is_asked_again_without_a_read_of_the_catalog)
{
  add_both(40);
  warm();
  exception(0, HBASE "CallQueueTooBigException", 2);

  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
  ck_assert_uint_eq(requests(0), 3);
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 2);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 40);
}
END_TEST

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The server, or in the second round a region of its, asks to wait 60 ms, 32 times. What was under
 * way is told so too, and comes back beside the rest: that makes four requests a wait. */
START_TEST(test_batch__who_asks_to_wait_is_not_stormed_by_the_rows_that_are_left)
{
  add_generated("t", "a", 10000);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "quotas.RpcThrottlingException",
                                .text = "limit exceeded - wait 60ms",
                                .times = 32,
                                .region = _i == 1 ? &world.low : NULL});
  int64_t began_ms = now_ms();

  get_and_read_all();

  ck_assert_int_ge(now_ms() - began_ms, 7 * 60);
}
END_TEST

START_TEST(test_batch__rows_held_back_tell_what_the_server_said)
{
  add_generated("t", "a", 20000);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "CallQueueTooBigException",
                                .text = "no room",
                                .times = -1});
  ck_assert_int_eq(get_with(NULL, 700, 0, 0), 0);

  ck_assert_uint_eq(keyroute_result_failed(result), key_count);
  for (size_t i = 0; i < key_count; i++) {
    assert_failed(i, KEYROUTE_E_OVERLOADED);
  }
}
END_TEST

START_TEST(test_batch__what_is_final_for_a_row_is_not_tried_again)
{
  add_both(40);
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "DoNotRetryIOException",
                                .text = "bad row",
                                .do_not_retry = true,
                                .times = -1,
                                .row = row("a0006")});
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 1);
  assert_failed(6, KEYROUTE_E_REMOTE);
  ck_assert_ptr_nonnull(strstr(keyroute_result_message(result, 6), "bad row"));
  ck_assert_uint_eq(requests(0), 1);
  ck_assert_ptr_nonnull(strstr(
      detail.message, "1 of 40 rows failed; the first, key 6, table t, row a0006: REMOTE: "));
  ck_assert_int_eq(detail.error, 0);
}
END_TEST

START_TEST(test_batch__number_of_tries_is_kept_for_each)
{
  keyroute_close(world.cluster.conn);
  fake_cluster_set(&world.cluster, "hbase.client.retries.number", "2");
  hop_world_open(&world);
  add_both(40);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "RegionTooBusyException",
                                .times = -1,
                                .row = row("a0006")});
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .method = "Get",
                                .class_name = HBASE "RegionTooBusyException",
                                .times = -1});
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 1);
  assert_failed(6, KEYROUTE_E_OVERLOADED);
  ck_assert_uint_eq(requests(0), 3);
  ck_assert(!detail.deadline);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("batch_take");
  TCase *tests = add_case(made, "plain", setup_open);

  tcase_add_test(tests, test_batch__only_the_row_that_failed_is_asked_for_again);
  tcase_add_test(tests, test_batch__only_the_region_that_failed_is_asked_for_again);
  tcase_add_test(tests, test_batch__moved_region_heals_by_the_place_named_and_no_scan);
  tcase_add_test(tests, test_batch__region_that_was_split_is_found_in_its_daughters);
  tcase_add_loop_test(tests, test_batch__answer_that_breaks_is_asked_for_again, 0,
                      (int)(sizeof(breaks) / sizeof(breaks[0])));
  tcase_add_test(tests, test_batch__results_in_any_order_go_to_their_rows);
  tcase_add_test(tests, test_batch__server_that_died_is_left_for_the_next);
  tcase_add_test(tests, test_batch__server_silent_to_the_end_is_a_timeout);
  tcase_add_test(tests, test_batch__busy_server_is_asked_again_without_a_read_of_the_catalog);
  tcase_add_loop_test(tests, test_batch__who_asks_to_wait_is_not_stormed_by_the_rows_that_are_left,
                      0, 2);
  tcase_add_test(tests, test_batch__rows_held_back_tell_what_the_server_said);
  tcase_add_test(tests, test_batch__what_is_final_for_a_row_is_not_tried_again);
  tcase_add_test(tests, test_batch__number_of_tries_is_kept_for_each);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
