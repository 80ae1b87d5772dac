/*
 * Why a row has no region that could be asked: no such table, a hole, or the state of the table.
 */
#include "test/locator_harness.h"

#include "lib/bytes.h"
#include "test/run_suite.h"

#include <stdlib.h>
#include <string.h>

/* ---- No row, or none above ---- */

START_TEST(test_explain__absent_table_takes_exactly_two_scans)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "s", "", "", 7);
  put_region(world, "tt", "", "", 8);
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(1);

  expect_failed(&only, KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_uint_eq(only.lookup.attempts, 1);
  ck_assert_uint_eq(only.lookup.rpcs, 2);
  ck_assert_int_eq(world->scans, 2);
  ck_assert(!only.lookup.deadline);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__absent_table_ends_all_its_lookups_and_its_cache)
{
  struct world *world = world_new();
  struct ask warm, asks[3];
  static const char *const rows[] = {"a", "b", "zz"};

  put_region(world, "t", "", "m", 7);
  world_start(world);
  ask(&warm, world, "t", "a");
  fake_clock_pass_ms(1);
  expect_found(&warm, 7);
  drop_region(world, "t", "", 7);

  for (int i = 0; i < 3; i++) {
    ask_init(&asks[i], world, "t", rows[i]);
    asks[i].lookup.refresh = true;
    ask_start(&asks[i]);
  }
  fake_clock_pass_ms(1);

  for (int i = 0; i < 3; i++) {
    expect_failed(&asks[i], KEYROUTE_E_TABLE_NOT_FOUND);
    ask_clear(&asks[i]);
  }
  ask_clear(&warm);
  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 1); /* hbase:meta */
  ck_assert_uint_eq(kr_cache_size(world->cache).tables, 1);
  world_free(world);
}
END_TEST

START_TEST(test_explain__server_that_stops_early_does_not_mean_no_such_table)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->stop_early = true;

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(0);
  ck_assert_int_gt(world->scans, 2);
  ck_assert_int_eq(only.done, 0);
  ck_assert_int_lt(world->scans, 20);
  world->stop_early = false;
  fake_clock_pass_ms(2000);

  expect_found(&only, 7);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s052_hole_names_both_its_bounds)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "b", 1);
  put_region(world, "t", "c", "", 2);
  world->means.retry.retries = 0;
  world_start(world);

  ask(&only, world, "t", "b5");
  fake_clock_pass_ms(1);

  expect_failed(&only, KEYROUTE_E_HOLE);
  expect_message(&only, "hole from b to c");
  ck_assert_uint_eq(only.lookup.rpcs, 2);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s052_hole_is_tried_again_until_it_is_filled)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "b", 1);
  put_region(world, "t", "c", "", 2);
  world_start(world);

  ask(&only, world, "t", "b5");
  fake_clock_pass_ms(1000);
  ck_assert_int_eq(only.done, 0);
  put_region(world, "t", "b", "c", 3);
  fake_clock_pass_ms(10000);

  expect_found(&only, 3);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__missing_first_region_is_a_hole)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "c", "", 2);
  world->means.retry.retries = 0;
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(1);

  expect_failed(&only, KEYROUTE_E_HOLE);
  expect_message(&only, "from the table's first row to c");
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__missing_last_region_is_a_hole)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "c", 2);
  world->means.retry.retries = 0;
  world_start(world);

  ask(&only, world, "t", "x");
  fake_clock_pass_ms(1);

  expect_failed(&only, KEYROUTE_E_HOLE);
  expect_message(&only, "from c to the table's end");
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__before_a_hole_leaves_the_region_at_the_row_in_the_cache)
{
  struct world *world = world_new();
  struct ask warm, before, hit;

  put_region(world, "t", "m", "", 2);
  world->means.retry.retries = 0;
  world_start(world);
  ask(&warm, world, "t", "m");
  fake_clock_pass_ms(1);
  ask_init(&before, world, "t", "m");
  before.lookup.position = KR_BEFORE;
  ask_start(&before);
  fake_clock_pass_ms(1);
  expect_failed(&before, KEYROUTE_E_HOLE);

  ask(&hit, world, "t", "m");

  expect_found(&hit, 2);
  ck_assert_int_eq(hit.lookup.source, KEYROUTE_SOURCE_CACHE);
  ask_clear(&warm);
  ask_clear(&before);
  ask_clear(&hit);
  world_free(world);
}
END_TEST

/* ---- The state of the table ---- */

/* The state of a table as HBase writes it; -1 = the catalog has none. */
static void put_state(struct world *world, const char *table, int state)
{
  uint8_t value[2] = {1 << 3, (uint8_t)state};

  if (state >= 0) {
    fake_catalog_put_cell(world->catalog, keyroute_string(table), "table", "state",
                          kr_bytes(value, sizeof(value)));
  }
}

/* A region of table t that cannot be had: offline, or on no server. */
static void put_absent(struct world *world, bool offline)
{
  struct fake_region region = {.table = "t", .id = 7, .offline = offline};

  if (offline) {
    region.host = "h";
    region.port = 16020;
    region.start_code = 1;
  }
  put(world, &region);
}

static struct world *world_with(bool offline, int state)
{
  struct world *world = world_new();

  put_absent(world, offline);
  put_state(world, "t", state);
  world->means.retry.retries = 0;
  world_start(world);
  return world;
}

/* Each for an offline region, then for one on no server. */
static const struct {
  int state;
  const char *message;
} told[] = {
    {1, "table t is disabled"}, {2, "table t is being disabled"}, {3, "table t is being enabled"}};

enum { TOLD = sizeof(told) / sizeof(told[0]) };

START_TEST(test_explain__table_that_keeps_its_regions_offline_is_named)
{
  struct world *world = world_with(_i < TOLD, told[_i % TOLD].state);
  struct ask only;

  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);

  expect_failed(&only, KEYROUTE_E_OFFLINE);
  ck_assert_str_eq(only.lookup.failure.message, told[_i % TOLD].message);
  ck_assert_int_eq(world->scans, 2);
  ck_assert_uint_eq(only.lookup.rpcs, 2);
  ck_assert_uint_eq(only.lookup.attempts, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__state_is_one_row_read_from_the_same_place)
{
  struct world *world = world_with(true, 1);
  struct ask only;

  world->latency_ms = -1;
  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);
  answer_scan(world);
  const struct kr_request *request = world->requests;

  ck_assert_ptr_nonnull(request);
  ck_assert_str_eq(request->family, "table");
  ck_assert_str_eq(request->host, "m");
  ck_assert_str_eq(request->start, "t");
  ck_assert_str_eq(request->stop, "t");
  ck_assert(request->include_start && request->include_stop && !request->reversed);
  ck_assert_uint_eq(request->limit, 1);
  answer_scan(world);
  expect_failed(&only, KEYROUTE_E_OFFLINE);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__enabled_or_unknown_state_leaves_the_answer)
{
  static const int states[] = {0, 4, 200, -1};
  struct world *world = world_with(_i % 2 == 0, states[_i / 2]);
  struct ask only;

  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);

  expect_failed(&only, _i % 2 == 0 ? KEYROUTE_E_OFFLINE : KEYROUTE_E_NO_SERVER);
  expect_message(&only, _i % 2 == 0 ? "is offline" : "is on no server");
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&only);
  world_free(world);
}
END_TEST

static int state_error;

static void fail_states(struct kr_failure *failure, const struct kr_request *request)
{
  if (strcmp(request->family, "table") == 0) {
    kr_fail(failure, state_error, "no state for you");
  }
}

START_TEST(test_explain__state_that_cannot_be_read_leaves_the_answer)
{
  static const int codes[] = {KEYROUTE_E_REMOTE,   KEYROUTE_E_UNREACHABLE, KEYROUTE_E_OVERLOADED,
                              KEYROUTE_E_PROTOCOL, KEYROUTE_E_AUTH,        KEYROUTE_E_TIMEOUT};
  struct world *world = world_with(_i % 2 == 0, 1);
  struct ask only;

  state_error = codes[_i / 2];
  world->judge = fail_states;
  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);

  expect_failed(&only, _i % 2 == 0 ? KEYROUTE_E_OFFLINE : KEYROUTE_E_NO_SERVER);
  ck_assert_int_eq(world->scans, 2);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_SCANS_FAILED), 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__silent_state_read_ends_with_the_try)
{
  struct world *world = world_with(true, 1);
  struct ask only;

  world->latency_ms = -1;
  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);
  answer_scan(world);
  fake_clock_pass_ms(10000);

  expect_failed(&only, KEYROUTE_E_OFFLINE);
  expect_message(&only, "is offline");
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__enabled_again_is_found)
{
  struct world *world = world_new();
  struct ask only;

  put_absent(world, _i == 0);
  put_state(world, "t", 1);
  world_start(world);
  ask(&only, world, "t", "m");
  fake_clock_pass_ms(500);
  ck_assert_int_eq(only.done, 0);

  put_region(world, "t", "", "", 7);
  fake_clock_pass_ms(10000);

  expect_found(&only, 7);
  ck_assert_uint_gt(only.lookup.attempts, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__regions_that_keep_their_server_ask_for_no_state)
{
  struct world *world = world_new();
  struct ask first, replica;
  struct fake_region region = {.table = "t", .id = 7};
  struct keyroute_bytes name = fake_region_name(&region);

  put_region(world, "t", "", "", 7);
  fake_catalog_put_cell(world->catalog, name, "info", "state", keyroute_string("CLOSED"));
  put_state(world, "t", 1);
  world->means.retry.retries = 0;
  world_start(world);

  ask(&first, world, "t", "m");
  fake_clock_pass_ms(1);
  ask_init(&replica, world, "t", "m");
  replica.lookup.replica = 3;
  ask_start(&replica);
  fake_clock_pass_ms(1);

  expect_found(&first, 7);
  ck_assert_str_eq(keyroute_location_state(first.lookup.location), "CLOSED");
  expect_failed(&replica, KEYROUTE_E_NO_SERVER);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&first);
  ask_clear(&replica);
  free((void *)(uintptr_t)name.data);
  world_free(world);
}
END_TEST

START_TEST(test_explain__cancel_and_close_end_a_state_read)
{
  struct world *world = world_with(_i % 2 == 0, 1);
  struct ask only;

  world->latency_ms = -1;
  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);
  answer_scan(world);
  if (_i < 2) {
    kr_locator_cancel(world->locator, &only.lookup);
  } else {
    kr_locator_shutdown(world->locator);
  }

  expect_failed(&only, _i < 2 ? KEYROUTE_E_CANCELLED : KEYROUTE_E_CLOSED);
  ck_assert_int_eq(world->cancels, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_explain__state_read_follows_the_root)
{
  struct world *world = world_with(_i % 2 == 0, 1);
  struct ask only;

  world->latency_ms = -1;
  ask(&only, world, "t", "m");
  fake_clock_pass_ms(1);
  answer_scan(world);
  ck_assert_str_eq(world->requests->family, "table");
  if (_i >= 2) {
    put_region(world, "t", "", "", 7);
  }
  world->meta_host = "n";
  world->latency_ms = 0;
  kr_locator_root_changed(world->locator);
  fake_clock_pass_ms(1);

  ck_assert_int_eq(world->cancels, 1);
  ck_assert_uint_eq(only.lookup.attempts, 1);
  if (_i >= 2) {
    expect_found(&only, 7);
  } else {
    expect_failed(&only, KEYROUTE_E_OFFLINE);
    expect_message(&only, "table t is disabled");
  }
  ask_clear(&only);
  world_free(world);
}
END_TEST

/* False = the n-th allocation was never asked for. */
static bool look_up_with_failure(long n, bool offline)
{
  struct world *world = world_with(offline, 1);
  struct ask only;

  ask_init(&only, world, "t", "m");
  mem_fail(n);
  ask_start(&only);
  fake_clock_pass_ms(31000);
  bool failed = mem_has_failed();

  mem_fail(0);
  int code = only.lookup.failure.code;

  ck_assert_int_eq(only.done, 1);
  /* A state for which there is no memory is no state. */
  ck_assert_msg(code == KEYROUTE_E_OFFLINE ||
                    (failed && (code == KEYROUTE_E_NO_MEMORY || code == KEYROUTE_E_NO_SERVER)),
                "allocation %ld: %s", n, keyroute_errname(code));
  ask_clear(&only);
  world_free(world);
  return failed;
}

START_TEST(test_explain__each_allocation_of_a_state_read_may_fail)
{
  long n = 1;

  while (look_up_with_failure(n, _i == 0)) {
    n++;
  }

  ck_assert_int_gt(n, 20);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("explain");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_explain__absent_table_takes_exactly_two_scans);
  tcase_add_test(tests, test_explain__absent_table_ends_all_its_lookups_and_its_cache);
  tcase_add_test(tests, test_explain__server_that_stops_early_does_not_mean_no_such_table);
  tcase_add_test(tests, test_s052_hole_names_both_its_bounds);
  tcase_add_test(tests, test_s052_hole_is_tried_again_until_it_is_filled);
  tcase_add_test(tests, test_explain__missing_first_region_is_a_hole);
  tcase_add_test(tests, test_explain__missing_last_region_is_a_hole);
  tcase_add_test(tests, test_explain__before_a_hole_leaves_the_region_at_the_row_in_the_cache);
  tcase_add_loop_test(tests, test_explain__table_that_keeps_its_regions_offline_is_named, 0,
                      2 * TOLD);
  tcase_add_test(tests, test_explain__state_is_one_row_read_from_the_same_place);
  tcase_add_loop_test(tests, test_explain__enabled_or_unknown_state_leaves_the_answer, 0, 8);
  tcase_add_loop_test(tests, test_explain__state_that_cannot_be_read_leaves_the_answer, 0, 12);
  tcase_add_test(tests, test_explain__silent_state_read_ends_with_the_try);
  tcase_add_loop_test(tests, test_explain__enabled_again_is_found, 0, 2);
  tcase_add_test(tests, test_explain__regions_that_keep_their_server_ask_for_no_state);
  tcase_add_loop_test(tests, test_explain__state_read_follows_the_root, 0, 4);
  tcase_add_loop_test(tests, test_explain__cancel_and_close_end_a_state_read, 0, 4);
  tcase_add_loop_test(tests, test_explain__each_allocation_of_a_state_read_may_fail, 0, 2);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
