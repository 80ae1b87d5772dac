/*
 * Many lookups at once, on a cold cache: as few scans as can be, no more at a time than may be, and
 * nobody starves in line.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- Cold starts ---- */

START_TEST(test_s083_cold_start_makes_no_more_scans_than_regions)
{
  struct world *world = world_new();
  struct ask *asks = calloc(1000, sizeof(*asks));

  for (int i = 0; i < 100; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%02d", i);
    snprintf(end, sizeof(end), "%02d", i + 1);
    put_region(world, "t", i == 0 ? "" : start, i == 99 ? "" : end, i + 1);
  }
  world_start(world);
  world->latency_ms = 10;

  for (int i = 0; i < 1000; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%03d", (i * 617) % 1000);
    ask(&asks[i], world, "t", row);
  }
  fake_clock_pass_ms(10000);

  for (int i = 0; i < 1000; i++) {
    expect_found(&asks[i], (i * 617) % 1000 / 10 + 1);
    ask_clear(&asks[i]);
  }
  ck_assert_int_le(world->scans, 100);
  ck_assert_int_le(world->most_in_flight, 8);
  ck_assert_int_eq(world->root_reads, 1);
  world_free(world);
  free(asks);
}
END_TEST

/* All at once, in each order: nobody walks over all the others again and again. */
START_TEST(test_s083_twenty_thousand_sorted_lookups_cost_little)
{
  enum { COUNT = 20000, PER_REGION = 20 };
  struct world *world = world_new();
  struct ask *asks = calloc(COUNT, sizeof(*asks));
  clock_t began = clock();

  for (int i = 0; i < COUNT / PER_REGION; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%05d", i * PER_REGION);
    snprintf(end, sizeof(end), "%05d", (i + 1) * PER_REGION);
    put_region(world, "t", i == 0 ? "" : start, (i + 1) * PER_REGION == COUNT ? "" : end, i + 1);
  }
  world->latency_ms = 1;
  world_start(world);
  for (int i = 0; i < COUNT; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%05d", _i == 0 ? i : COUNT - 1 - i);
    ask(&asks[i], world, "t", row);
  }
  fake_clock_pass_ms(20000);

  for (int i = 0; i < COUNT; i++) {
    int row = _i == 0 ? i : COUNT - 1 - i;

    expect_found(&asks[i], row / PER_REGION + 1);
    ask_clear(&asks[i]);
  }
  ck_assert_int_le(world->scans, COUNT / PER_REGION * 12 / 10);
  fprintf(stderr, "%d sorted lookups, %s: %d scans, %.2f s of processor\n", COUNT,
          _i == 0 ? "up" : "down", world->scans, (double)(clock() - began) / CLOCKS_PER_SEC);
  ck_assert_msg(clock() - began < 60 * CLOCKS_PER_SEC, "that took too long");
  world_free(world);
  free(asks);
}
END_TEST

/* ---- Storms: 64 callers, one after another's answer, over 1000 cold regions ---- */

enum { STORM_CALLERS = 64, STORM_REGIONS = 1000, STORM_ASKS = 3000 };

struct storm {
  struct world *world;
  struct ask *asks; /* STORM_ASKS */
  int tables;
  int order; /* 0 descending, 1 random, 2 ascending */
  int begun, longest_ms;
  uint64_t random;
};

static struct storm storm;

/* The number of the next region to ask for. */
static int storm_pick(int i)
{
  switch (storm.order) {
  case 0:
    return STORM_REGIONS - 1 - i % STORM_REGIONS;
  case 2:
    return i % STORM_REGIONS;
  default:
    storm.random = storm.random * 6364136223846793005u + 1442695040888963407u;
    return (int)((storm.random >> 33) % STORM_REGIONS);
  }
}

static void storm_next(struct ask *done)
{
  char table[16], row[16];

  if (done != NULL) {
    int took_ms = (int)((done->done_us - done->lookup.began_us) / 1000);

    storm.longest_ms = took_ms > storm.longest_ms ? took_ms : storm.longest_ms;
  }
  if (storm.begun < STORM_ASKS) {
    struct ask *next = &storm.asks[storm.begun];

    snprintf(table, sizeof(table), "t%d", storm.begun % storm.tables);
    snprintf(row, sizeof(row), "%04dx", storm_pick(storm.begun / storm.tables));
    storm.begun++;
    ask_init(next, storm.world, table, row);
    next->then = storm_next;
    ask_start(next);
  }
}

static void storm_run(int tables, int order, unsigned scans_max)
{
  struct world *world = world_new();

  storm = (struct storm){.world = world, .tables = tables, .order = order, .random = 7};
  storm.asks = calloc(STORM_ASKS, sizeof(*storm.asks));
  for (int i = 0; i < tables * STORM_REGIONS; i++) {
    char table[16], start[16], end[16];
    int at = i % STORM_REGIONS;

    snprintf(table, sizeof(table), "t%d", i / STORM_REGIONS);
    snprintf(start, sizeof(start), "%04d", at);
    snprintf(end, sizeof(end), "%04d", at + 1);
    put_region(world, table, at == 0 ? "" : start, at == STORM_REGIONS - 1 ? "" : end, i + 1);
  }
  world->means.scans_max = scans_max;
  world->latency_ms = 10;
  world_start(world);
  for (int i = 0; i < STORM_CALLERS; i++) {
    storm_next(NULL);
  }
  fake_clock_pass_ms(100000);
  ck_assert_int_eq(storm.begun, STORM_ASKS);
  for (int i = 0; i < STORM_ASKS; i++) {
    ck_assert_msg(storm.asks[i].done == 1 && storm.asks[i].lookup.failure.code == 0, "ask %d", i);
    ask_clear(&storm.asks[i]);
  }
  ck_assert_int_le(world->most_in_flight, (int)scans_max);
  fprintf(stderr,
          "storm of %d callers, %d table(s), order %d: %d scans, %d at a time, longest %d ms\n",
          STORM_CALLERS, tables, order, world->scans, world->most_in_flight, storm.longest_ms);
}

static void storm_over(void)
{
  world_free(storm.world);
  free(storm.asks);
}

START_TEST(test_s083_storm_in_descending_order_reads_each_region_once)
{
  storm_run(1, 0, 32);

  ck_assert_int_le(storm.world->scans, STORM_REGIONS / 10 * 12 / 10);
  storm_over();
}
END_TEST

START_TEST(test_s083_storm_in_random_order_reads_little_twice)
{
  storm_run(1, 1, 32);

  ck_assert_int_le(storm.world->scans, STORM_REGIONS / 10 * 25 / 10);
  storm_over();
}
END_TEST

START_TEST(test_s083_storm_on_many_tables_keeps_to_the_budget)
{
  storm_run(8, 1, 4);

  ck_assert_int_le(storm.world->most_in_flight, 4);
  ck_assert_int_le(storm.longest_ms, 64 * 10 / 4 * 3);
  storm_over();
}
END_TEST

START_TEST(test_s083_storm_in_ascending_order_makes_no_more_scans_than_regions)
{
  storm_run(1, 2, 32);

  ck_assert_int_le(storm.world->scans, STORM_REGIONS);
  storm_over();
}
END_TEST

/* ---- In line ---- */

START_TEST(test_locator__scans_of_a_table_are_limited_and_served_in_order)
{
  struct world *world = world_new();
  struct ask asks[6];

  for (int i = 0; i < 6; i++) {
    char start[2] = {(char)('a' + i), 0}, end[2] = {(char)('b' + i), 0};

    put_region(world, "t", i == 0 ? "" : start, i == 5 ? "" : end, i + 1);
  }
  world->means.scans_per_table = 2;
  world->means.prefetch = 1;
  world_start(world);
  world->latency_ms = -1;
  for (int i = 0; i < 6; i++) {
    char row[2] = {(char)('a' + i), 0};

    ask_init(&asks[i], world, "t", row);
    asks[i].lookup.refresh = true;
    ask_start(&asks[i]);
  }
  fake_clock_pass_ms(0);
  ck_assert_int_eq(world->in_flight, 2);

  while (world->in_flight > 0) {
    answer_scan(world);
    ck_assert_int_le(world->in_flight, 2);
  }

  for (int i = 0; i < 6; i++) {
    expect_found(&asks[i], i + 1);
    ck_assert_uint_eq(asks[i].order, (uint64_t)i + 1);
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

START_TEST(
    test_locator__flight_that_nobody_is_left_in_leaves_its_place_though_its_table_stood_in_line)
{
  struct world *world = world_new();
  struct ask flying, waiting, other;

  put_region(world, "t", "", "", 7);
  put_region(world, "u", "", "", 8);
  world->means.scans_max = 1;
  world->latency_ms = -1;
  world_start(world);
  ask(&flying, world, "t", "a");
  fake_clock_pass_ms(1);
  ask_init(&waiting, world, "t", "b");
  waiting.lookup.refresh = true;
  ask_start(&waiting);
  ask(&other, world, "u", "a");
  ck_assert_int_eq(world->scans, 1);

  kr_locator_cancel(world->locator, &flying.lookup);
  kr_locator_cancel(world->locator, &waiting.lookup);

  ck_assert_int_eq(world->cancels, 1);
  ck_assert_int_eq(world->scans, 2);
  answer_scan(world);
  expect_found(&other, 8);
  ask_clear(&flying);
  ask_clear(&waiting);
  ask_clear(&other);
  world_free(world);
}
END_TEST

START_TEST(test_s084_nobody_waits_longer_than_the_queue_before_him)
{
  struct world *world = world_new();
  struct ask asks[40];

  for (int i = 0; i < 40; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%02d", i);
    snprintf(end, sizeof(end), "%02d", i + 1);
    put_region(world, "t", i == 0 ? "" : start, i == 39 ? "" : end, i + 1);
  }
  world->means.scans_per_table = 2;
  world->means.prefetch = 1;
  world_start(world);
  world->latency_ms = 200;
  int64_t began_us = kr_clock_us();

  for (int i = 0; i < 40; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%02dx", (i * 7) % 40);
    ask(&asks[i], world, "t", row);
  }
  fake_clock_pass_ms(29000);

  for (int i = 0; i < 40; i++) {
    expect_found(&asks[i], (i * 7) % 40 + 1);
    ck_assert_int_le(asks[i].done_us - began_us, (i + 1) * 200000 + 1000);
    ask_clear(&asks[i]);
  }
  ck_assert_int_le(world->most_in_flight, 2);
  world_free(world);
}
END_TEST

static void fail_every_second(struct kr_failure *failure, const struct kr_request *request)
{
  if (request->number % 2 == 0) {
    kr_fail(failure, KEYROUTE_E_REMOTE, "java.io.IOException: odd");
  }
}

START_TEST(test_s085_failing_scans_give_their_place_back)
{
  enum { COUNT = 2000 };
  struct world *world = world_new();
  struct ask *asks = calloc(COUNT, sizeof(*asks));

  world->means.scans_per_table = 2;
  world->judge = fail_every_second;
  for (int i = 0; i < 100; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%02d", i);
    snprintf(end, sizeof(end), "%02d", i + 1);
    put_region(world, "t", i == 0 ? "" : start, i == 99 ? "" : end, i + 1);
  }
  world_start(world);

  for (int i = 0; i < COUNT; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%02d", i % 100);
    ask_init(&asks[i], world, "t", row);
    asks[i].lookup.refresh = true;
    ask_start(&asks[i]);
  }
  fake_clock_pass_ms(29000);

  for (int i = 0; i < COUNT; i++) {
    expect_found(&asks[i], i % 100 + 1);
    ask_clear(&asks[i]);
  }
  ck_assert_int_le(world->most_in_flight, 2);
  world_free(world);
  free(asks);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("locator_storm");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s083_cold_start_makes_no_more_scans_than_regions);
  tcase_add_loop_test(tests, test_s083_twenty_thousand_sorted_lookups_cost_little, 0, 2);
  tcase_add_test(tests, test_s083_storm_in_descending_order_reads_each_region_once);
  tcase_add_test(tests, test_s083_storm_in_random_order_reads_little_twice);
  tcase_add_test(tests, test_s083_storm_on_many_tables_keeps_to_the_budget);
  tcase_add_test(tests, test_s083_storm_in_ascending_order_makes_no_more_scans_than_regions);
  tcase_add_test(tests, test_locator__scans_of_a_table_are_limited_and_served_in_order);
  tcase_add_test(
      tests,
      test_locator__flight_that_nobody_is_left_in_leaves_its_place_though_its_table_stood_in_line);
  tcase_add_test(tests, test_s084_nobody_waits_longer_than_the_queue_before_him);
  tcase_add_test(tests, test_s085_failing_scans_give_their_place_back);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
