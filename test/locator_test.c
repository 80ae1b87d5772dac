/*
 * Lookups in a world where time stands still and every answer comes when the test says so.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* ---- Cancelling, and deadlines of those who share ---- */

START_TEST(test_s086_waiters_live_on_when_the_leader_is_cancelled)
{
  struct world *world = world_new();
  struct ask leader, joined, waiting;

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->latency_ms = -1;
  ask(&leader, world, "t", "a");
  ask(&joined, world, "t", "a");
  ask(&waiting, world, "t", "b");
  fake_clock_pass_ms(1);

  kr_locator_cancel(world->locator, &leader.lookup);
  expect_failed(&leader, KEYROUTE_E_CANCELLED);
  ck_assert_int_eq(world->cancels, 0);
  answer_scan(world);

  expect_found(&joined, 7);
  expect_found(&waiting, 7);
  ck_assert_int_eq(world->scans, 1);
  ask_clear(&leader);
  ask_clear(&joined);
  ask_clear(&waiting);
  world_free(world);
}
END_TEST

START_TEST(test_s086_waiters_live_on_when_the_leader_is_late)
{
  struct world *world = world_new();
  struct ask leader, joined, waiting;

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->latency_ms = -1;
  ask_init(&leader, world, "t", "a");
  leader.lookup.deadline_us = kr_clock_us() + 300000;
  ask_start(&leader);
  ask(&joined, world, "t", "a");
  ask(&waiting, world, "t", "b");

  fake_clock_pass_ms(5000);
  expect_failed(&leader, KEYROUTE_E_TIMEOUT);
  ck_assert_int_eq(leader.done_us - leader.lookup.began_us, 300000);
  ck_assert(leader.lookup.deadline);
  ck_assert_int_eq(joined.done + waiting.done, 0);
  world->latency_ms = 0;
  fake_clock_pass_ms(24000);

  expect_found(&joined, 7);
  expect_found(&waiting, 7);
  ask_clear(&leader);
  ask_clear(&joined);
  ask_clear(&waiting);
  world_free(world);
}
END_TEST

/* Were the tries of the hurried shared, a row that is always asked for in a hurry would be found by
 * nobody, on a server that answers. */
START_TEST(test_locator__who_has_time_does_not_share_the_tries_of_the_hurried)
{
  struct world *world = world_new();
  struct ask hurried, patient;

  put_region(world, "t", "", "", 7);
  world_start(world);
  world->latency_ms = 50;
  ask_init(&hurried, world, "t", "a");
  hurried.lookup.deadline_us = kr_clock_us() + 60000;
  ask_start(&hurried);
  ask(&patient, world, "t", "a");
  fake_clock_pass_ms(100);

  expect_found(&patient, 7);
  ck_assert_uint_eq(patient.lookup.attempts, 1);
  ck_assert_int_eq(hurried.done, 1);
  ask_clear(&hurried);
  ask_clear(&patient);
  world_free(world);
}
END_TEST

/* Nothing that ends one lookup walks over all the others: with 20 thousand it would take a quarter
 * of a minute, in which no deadline is kept. */
START_TEST(test_locator__many_lookups_end_together_in_no_time)
{
  enum { COUNT = 20000 };
  struct world *world = world_new();
  struct ask *asks = calloc(COUNT, sizeof(*asks));

  world_start(world);
  world->latency_ms = -1;
  for (int i = 0; i < COUNT; i++) {
    char row[16];

    snprintf(row, sizeof(row), "r%05d", i);
    ask(&asks[i], world, "t", row);
  }
  fake_clock_pass_ms(1);
  clock_t began = clock();

  for (int i = 0; i < COUNT / 2; i++) {
    kr_locator_cancel(world->locator, &asks[i].lookup);
  }
  fake_clock_pass_ms(30000);
  double took_s = (double)(clock() - began) / CLOCKS_PER_SEC;

  for (int i = 0; i < COUNT; i++) {
    expect_failed(&asks[i], i < COUNT / 2 ? KEYROUTE_E_CANCELLED : KEYROUTE_E_TIMEOUT);
    ask_clear(&asks[i]);
  }
  ck_assert_msg(took_s < 3, "%g s", took_s);
  free(asks);
  world_free(world);
}
END_TEST

START_TEST(test_locator__cancelling_the_last_one_cancels_the_request)
{
  struct world *world = world_new();
  struct ask first, second;

  world_start(world);
  world->latency_ms = -1;
  ask(&first, world, "t", "a");
  ask(&second, world, "t", "a");
  fake_clock_pass_ms(1);

  kr_locator_cancel(world->locator, &first.lookup);
  ck_assert_int_eq(world->cancels, 0);
  kr_locator_cancel(world->locator, &second.lookup);
  kr_locator_cancel(world->locator, &second.lookup);

  expect_failed(&first, KEYROUTE_E_CANCELLED);
  expect_failed(&second, KEYROUTE_E_CANCELLED);
  ck_assert_int_eq(world->cancels, 1);
  ck_assert_uint_eq(fake_timer_count(), 0);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_locator__cancelling_the_last_one_cancels_the_root_read)
{
  struct world *world = world_new();
  struct ask only;

  world->root_latency_ms = -1;
  world_start(world);
  ask(&only, world, "t", "a");

  kr_locator_cancel(world->locator, &only.lookup);

  expect_failed(&only, KEYROUTE_E_CANCELLED);
  ck_assert_int_eq(world->root_cancels, 1);
  ck_assert_uint_eq(kr_cache_size(world->cache).tables, 1); /* the ask's own */
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s095_cancel_ends_a_backoff_at_once)
{
  struct world *world = world_new();
  struct ask only;

  world->means.retry.pause_ms = 10000;
  kr_fail(&world->root_failure, KEYROUTE_E_UNREACHABLE, "refused");
  world_start(world);
  ask(&only, world, "t", "a");
  fake_clock_pass_ms(1);
  ck_assert_int_eq(only.done, 0);

  kr_locator_cancel(world->locator, &only.lookup);

  expect_failed(&only, KEYROUTE_E_CANCELLED);
  ask_clear(&only);
  world_free(world);
}
END_TEST

/* ---- Callbacks ---- */

static int chain_left;

static void ask_again(struct ask *asked)
{
  struct ask *next = asked + 1;

  if (chain_left-- > 0) {
    ask_init(next, asked->world, "t", "a");
    next->then = ask_again;
    ask_start(next);
    ck_assert_int_eq(next->done, 0);
  }
}

START_TEST(test_s087_callbacks_that_ask_again_keep_the_stack_flat)
{
  enum { DEPTH = 10000 };
  struct world *world = world_new();
  struct ask *asks = calloc(DEPTH + 1, sizeof(*asks));

  put_region(world, "t", "", "", 7);
  world_start(world);
  chain_left = DEPTH;
  ask_init(&asks[0], world, "t", "a");
  asks[0].then = ask_again;
  ask_start(&asks[0]);
  fake_clock_pass_ms(1);

  for (int i = 0; i <= DEPTH; i++) {
    expect_found(&asks[i], 7);
    ask_clear(&asks[i]);
  }
  ck_assert_int_eq(world->scans, 1);
  world_free(world);
  free(asks);
}
END_TEST

static struct ask *victim;

static void cancel_victim(struct ask *ask)
{
  kr_locator_cancel(ask->world->locator, &victim->lookup);
}

START_TEST(test_locator__callback_may_cancel_one_that_has_its_answer_already)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "", 7);
  world_start(world);
  victim = &second;
  ask_init(&first, world, "t", "a");
  first.then = cancel_victim;
  ask_start(&first);
  ask(&second, world, "t", "b");
  fake_clock_pass_ms(1);

  expect_found(&first, 7);
  expect_found(&second, 7);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

/* ---- How many rows, how many scans ---- */

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

START_TEST(test_locator__lone_miss_reads_three_rows)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "", 7);
  put_region(world, "u", "", "", 8);
  world_start(world);

  ask(&first, world, "t", "a");
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 3);
  fake_clock_pass_ms(1000);
  kr_cache_clear_table(world->cache, first.lookup.table);
  ask(&second, world, "t", "a");
  fake_clock_pass_ms(1);

  ck_assert_uint_eq(world->last_limit, 3);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_locator__misses_close_together_prefetch)
{
  struct world *world = world_new();
  struct ask asks[2];

  for (int i = 0; i < 26; i++) {
    char start[2] = {(char)('a' + i), 0}, end[2] = {(char)('b' + i), 0};

    put_region(world, "t", i == 0 ? "" : start, i == 25 ? "" : end, i + 1);
  }
  world_start(world);

  ask(&asks[0], world, "t", "c");
  fake_clock_pass_ms(50);
  ck_assert_uint_eq(world->last_limit, 3);
  ask(&asks[1], world, "t", "x");
  fake_clock_pass_ms(50);

  ck_assert_uint_eq(world->last_limit, 10);
  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 1 + 3 + 10);
  for (int i = 0; i < 2; i++) {
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

/* Regions "", b, c ... z, all known. */
static void know_alphabet(struct world *world, struct ask *asks)
{
  for (int i = 0; i < 26; i++) {
    char start[2] = {(char)('a' + i), 0}, end[2] = {(char)('b' + i), 0};

    put_region(world, "t", i == 0 ? "" : start, i == 25 ? "" : end, i + 1);
  }
  world_start(world);
  for (int i = 25; i >= 0; i--) {
    char row[2] = {(char)('a' + i), 0};

    ask(&asks[i], world, "t", row);
    fake_clock_pass_ms(1);
  }
  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 1 + 26);
}

static void ask_fresh(struct ask *ask, struct world *world, const char *table, const char *row)
{
  ask_init(ask, world, table, row);
  ask->lookup.refresh = true;
  ask_start(ask);
}

START_TEST(test_locator__where_the_neighbours_are_known_nothing_is_prefetched)
{
  struct world *world = world_new();
  struct ask asks[26], again[4];

  know_alphabet(world, asks);
  ask_fresh(&again[0], world, "t", "x");
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 3);
  ask_fresh(&again[1], world, "t", "b"); /* there is but one below it */
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 3);

  kr_location_retire(kr_table_entry(asks[0].lookup.table, keyroute_string("p")),
                     KR_EVICTED_CLEARED);
  ask_fresh(&again[2], world, "t", "x"); /* p is the eighth below it */
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 10);
  kr_cache_clear_table(world->cache, asks[0].lookup.table);
  ask(&again[3], world, "t", "x");
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 10);

  for (int i = 0; i < 26; i++) {
    ask_clear(&asks[i]);
  }
  for (int i = 0; i < 4; i++) {
    ask_clear(&again[i]);
  }
  world_free(world);
}
END_TEST

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

/* ---- Trying again ---- */

START_TEST(test_s074_permanent_failure_is_returned_once)
{
  struct world *world = world_new();
  struct ask only;

  kr_fail(&world->root_failure, KEYROUTE_E_AUTH, "not you");
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(60000);

  expect_failed(&only, KEYROUTE_E_AUTH);
  ck_assert_int_eq(world->root_reads, 1);
  ck_assert_uint_eq(only.lookup.attempts, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_locator__who_waits_behind_a_failed_try_is_told_its_reason)
{
  struct world *world = world_new();
  struct ask first, second;

  world->means.scans_per_table = 1;
  world->root_latency_ms = -1;
  kr_fail(&world->root_failure, KEYROUTE_E_UNREACHABLE, "refused");
  world_start(world);
  ask(&first, world, "t", "a");
  ask(&second, world, "t", "b");

  answer_root(world); /* and from now on silence */
  fake_clock_pass_ms(31000);

  expect_failed(&second, KEYROUTE_E_UNREACHABLE);
  ck_assert(second.lookup.deadline);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_s090_no_wait_is_longer_than_the_cap)
{
  struct world *world = world_new();
  struct ask only;
  int waits = 0;

  world->means.retry = (struct kr_retry_policy){1000, 100, 100, 3000};
  kr_fail(&world->root_failure, KEYROUTE_E_UNREACHABLE, "refused");
  world_start(world);
  ask_init(&only, world, "t", "a");
  only.lookup.deadline_us = kr_clock_us() + 120000000;
  only.lookup.trace = kr_trace_new(world->mem);
  ask_start(&only);
  fake_clock_pass_ms(121000);

  expect_failed(&only, KEYROUTE_E_UNREACHABLE);
  for (size_t i = 0; i < keyroute_trace_count(only.lookup.trace); i++) {
    struct keyroute_step step = {.size = sizeof(step)};

    keyroute_trace_step(only.lookup.trace, i, &step);
    if (strcmp(step.name, "wait") == 0) {
      waits++;
      ck_assert_int_le(step.took_us, 3000000);
    }
  }
  ck_assert_int_ge(waits, 40);
  ask_clear(&only);
  world_free(world);
}
END_TEST

static void fail_first(struct kr_failure *failure, const struct kr_request *request)
{
  if (request->number == 1) {
    kr_fail(failure, KEYROUTE_E_REMOTE, "java.io.IOException: once");
  }
}

START_TEST(test_s091_second_try_comes_after_the_pause)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "", 7);
  world->judge = fail_first;
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(101);

  expect_found(&only, 7);
  ck_assert_uint_eq(only.lookup.attempts, 2);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_RETRIES), 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_s092_default_policy_outlives_an_outage_of_two_seconds)
{
  struct world *world = world_new();
  struct ask only;

  put_dead(world, "", "", 7, false);
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(2000);
  ck_assert_int_eq(only.done, 0);
  put_region(world, "t", "", "", 7);
  fake_clock_pass_ms(10000);

  expect_found(&only, 7);
  ck_assert_uint_gt(only.lookup.attempts, 1);
  ask_clear(&only);
  world_free(world);
}
END_TEST

static int failing_code;

static void fail_always(struct kr_failure *failure, const struct kr_request *request)
{
  (void)request;
  kr_fail(failure, failing_code, "always");
}

static const int transport_codes[] = {
    KEYROUTE_E_RESOLVE, KEYROUTE_E_UNREACHABLE, KEYROUTE_E_PROTOCOL, KEYROUTE_E_OVERLOADED,
    KEYROUTE_E_REMOTE,  KEYROUTE_E_AUTH,        KEYROUTE_E_TIMEOUT,  KEYROUTE_E_NO_MEMORY,
};

START_TEST(test_s094_every_failure_ends_by_the_deadline_with_its_own_code)
{
  struct world *world = world_new();
  struct ask only;

  failing_code = transport_codes[_i];
  world->judge = fail_always;
  world->means.retry.retries = 1000;
  world_start(world);
  ask_init(&only, world, "t", "a");
  only.lookup.deadline_us = kr_clock_us() + 1000000;
  ask_start(&only);
  fake_clock_pass_ms(1000);

  expect_failed(&only, failing_code);
  ck_assert(only.lookup.deadline == keyroute_is_retriable(failing_code));
  ck_assert_int_le(only.done_us - only.lookup.began_us, 1000000);
  ck_assert_int_lt(world->scans, 40);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_locator__number_of_tries_is_bounded)
{
  struct world *world = world_new();
  struct ask only;

  failing_code = KEYROUTE_E_REMOTE;
  world->judge = fail_always;
  world->means.retry.retries = 3;
  world_start(world);

  ask(&only, world, "t", "a");
  fake_clock_pass_ms(29000);

  expect_failed(&only, KEYROUTE_E_REMOTE);
  ck_assert_uint_eq(only.lookup.attempts, 4);
  ck_assert(!only.lookup.deadline);
  ck_assert_int_eq(world->scans, 4);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_locator__deadline_tells_what_stood_in_the_way)
{
  struct world *world = world_new();
  struct ask only;

  put_region(world, "t", "", "b", 1);
  world->means.retry.retries = 1000;
  world_start(world);

  ask(&only, world, "t", "x");
  fake_clock_pass_ms(30000);

  expect_failed(&only, KEYROUTE_E_HOLE);
  ck_assert(only.lookup.deadline);
  ck_assert_int_eq(only.done_us - only.lookup.began_us, 30000000);
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_locator__silence_until_the_deadline_is_a_timeout)
{
  struct world *world = world_new();
  struct ask only;

  world_start(world);
  world->latency_ms = -1;
  ask_init(&only, world, "t", "x");
  only.lookup.deadline_us = kr_clock_us() + 900000;
  ask_start(&only);
  fake_clock_pass_ms(900);

  expect_failed(&only, KEYROUTE_E_TIMEOUT);
  ck_assert(only.lookup.deadline);
  ck_assert_int_ge(world->scans, 2); /* no try took it all */
  ask_clear(&only);
  world_free(world);
}
END_TEST

START_TEST(test_locator__last_wait_ends_with_the_deadline_and_no_try_more)
{
  struct world *world = world_new();
  struct ask only;
  int scans_at_end = 0;

  failing_code = KEYROUTE_E_REMOTE;
  world->judge = fail_always;
  world->means.retry = (struct kr_retry_policy){1000, 60000, 60000, 60000};
  world_start(world);
  ask_init(&only, world, "t", "x");
  only.lookup.deadline_us = kr_clock_us() + 1000700;
  ask_start(&only);
  fake_clock_pass_ms(990);
  scans_at_end = world->scans;
  ck_assert_int_ge(scans_at_end, 1);
  fake_clock_pass_ms(20);

  expect_failed(&only, KEYROUTE_E_REMOTE);
  ck_assert_int_eq(world->scans, scans_at_end);
  ask_clear(&only);
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

/* ---- Closing ---- */

START_TEST(test_s077_shutdown_ends_lookups_in_every_state)
{
  struct world *world = world_new();
  struct ask asks[7];

  put_region(world, "t", "", "", 7);
  put_region(world, "w", "m", "", 8);
  world->means.scans_per_table = 1;
  world_start(world);
  world->root_latency_ms = _i == 0 ? -1 : 0;
  ask(&asks[0], world, "t", "a"); /* flies, or waits for the parent */
  ask(&asks[1], world, "t", "b"); /* waits for the first */
  ask(&asks[2], world, "t", "a"); /* joined the first */
  ask(&asks[3], world, "absent", "a");
  ask(&asks[4], world, "w", "a");
  ask(&asks[5], world, "hbase:meta", "");
  fake_clock_pass_ms(0);
  if (_i >= 2) {
    /* One more, in a backoff. */
    failing_code = KEYROUTE_E_REMOTE;
    world->judge = fail_always;
  }
  world->latency_ms = _i == 1 ? -1 : 5;
  ask(&asks[6], world, "sleeper", "a");
  fake_clock_pass_ms(_i == 2 ? 6 : 4);

  kr_locator_shutdown(world->locator);

  for (int i = 0; i < 7; i++) {
    ck_assert_int_eq(asks[i].done, 1);
  }
  expect_failed(&asks[6], KEYROUTE_E_CLOSED);
  struct ask late;

  ask(&late, world, "t", "a");
  ck_assert_int_eq(late.done, 1);
  ask_clear(&late);
  for (int i = 0; i < 7; i++) {
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

/* How far the flights have come when the locator is closed. */
static void advance_to(struct world *world, int step)
{
  if (step >= 1) {
    answer_root(world);
  }
  fake_clock_pass_ms(0);
  for (int i = 1; i < step; i++) {
    answer_scan(world);
  }
}

START_TEST(test_s077_shutdown_ends_flights_at_every_step)
{
  struct world *world = world_new();
  struct ask absent, waiting;

  world->root_latency_ms = -1;
  world_start(world);
  world->latency_ms = -1;
  ask(&absent, world, "t", "a");
  ask(&waiting, world, "t", "b");
  advance_to(world, _i);

  kr_locator_shutdown(world->locator);

  expect_failed(&absent, KEYROUTE_E_CLOSED);
  expect_failed(&waiting, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(world->cancels + world->root_cancels, 1);
  ask_clear(&absent);
  ask_clear(&waiting);
  world_free(world);
}
END_TEST

START_TEST(test_locator__closed_locator_answers_closed)
{
  struct world *world = world_new();
  struct ask only;

  world_start(world);
  kr_locator_shutdown(world->locator);

  ask(&only, world, "t", "a");

  expect_failed(&only, KEYROUTE_E_CLOSED);
  ask_clear(&only);
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

static void add_flight_tests(TCase *tests)
{
  tcase_add_test(tests, test_locator__different_rows_of_one_cold_region_make_one_scan);
  tcase_add_test(tests, test_locator__same_row_asked_by_many_makes_one_scan);
  tcase_add_test(tests, test_locator__waiters_in_another_region_get_a_scan_of_their_own);
  tcase_add_test(tests, test_locator__a_prefetched_neighbour_serves_its_waiters);
  tcase_add_test(tests, test_s083_cold_start_makes_no_more_scans_than_regions);
  tcase_add_loop_test(tests, test_s083_twenty_thousand_sorted_lookups_cost_little, 0, 2);
  tcase_add_test(
      tests,
      test_locator__flight_that_nobody_is_left_in_leaves_its_place_though_its_table_stood_in_line);
  tcase_add_test(tests, test_s083_storm_in_descending_order_reads_each_region_once);
  tcase_add_test(tests, test_s083_storm_in_random_order_reads_little_twice);
  tcase_add_test(tests, test_s083_storm_on_many_tables_keeps_to_the_budget);
  tcase_add_test(tests, test_s083_storm_in_ascending_order_makes_no_more_scans_than_regions);
  tcase_add_test(tests, test_s084_nobody_waits_longer_than_the_queue_before_him);
  tcase_add_test(tests, test_s085_failing_scans_give_their_place_back);
  tcase_add_test(tests, test_s086_waiters_live_on_when_the_leader_is_cancelled);
  tcase_add_test(tests, test_s086_waiters_live_on_when_the_leader_is_late);
  tcase_add_test(tests, test_locator__who_has_time_does_not_share_the_tries_of_the_hurried);
  tcase_add_test(tests, test_locator__many_lookups_end_together_in_no_time);
  tcase_add_test(tests, test_locator__cancelling_the_last_one_cancels_the_request);
  tcase_add_test(tests, test_locator__cancelling_the_last_one_cancels_the_root_read);
  tcase_add_test(tests, test_s095_cancel_ends_a_backoff_at_once);
  tcase_add_test(tests, test_s087_callbacks_that_ask_again_keep_the_stack_flat);
  tcase_add_test(tests, test_locator__callback_may_cancel_one_that_has_its_answer_already);
}

static void add_step_tests(TCase *tests)
{
  tcase_add_test(tests, test_locator__cache_only_asks_nobody);
  tcase_add_test(tests, test_locator__lone_miss_reads_three_rows);
  tcase_add_test(tests, test_locator__misses_close_together_prefetch);
  tcase_add_test(tests, test_locator__where_the_neighbours_are_known_nothing_is_prefetched);
  tcase_add_test(tests, test_locator__scans_of_a_table_are_limited_and_served_in_order);
}

static void add_retry_tests(TCase *tests)
{
  tcase_add_test(tests, test_s074_permanent_failure_is_returned_once);
  tcase_add_test(tests, test_locator__who_waits_behind_a_failed_try_is_told_its_reason);
  tcase_add_test(tests, test_s090_no_wait_is_longer_than_the_cap);
  tcase_add_test(tests, test_s091_second_try_comes_after_the_pause);
  tcase_add_test(tests, test_s092_default_policy_outlives_an_outage_of_two_seconds);
  tcase_add_loop_test(tests, test_s094_every_failure_ends_by_the_deadline_with_its_own_code, 0,
                      (int)(sizeof(transport_codes) / sizeof(transport_codes[0])));
  tcase_add_test(tests, test_locator__number_of_tries_is_bounded);
  tcase_add_test(tests, test_locator__deadline_tells_what_stood_in_the_way);
  tcase_add_test(tests, test_locator__silence_until_the_deadline_is_a_timeout);
  tcase_add_test(tests, test_locator__last_wait_ends_with_the_deadline_and_no_try_more);
}

/* ---- How far down a failure holds ---- */

/* A lookup of one try that wants to know. */
static struct kr_buf ask_for_reach(struct ask *ask, struct world *world, const char *row)
{
  struct kr_buf reach;

  kr_buf_init(&reach, world->mem);
  ask_init(ask, world, "t", row);
  ask->lookup.single_try = true;
  ask->lookup.reach = &reach;
  ask_start(ask);
  fake_clock_pass_ms(1);
  ck_assert_int_eq(ask->done, 1);
  ask_clear(ask);
  return reach;
}

static void expect_reach(struct world *world, const char *row, int code, const char *lowest)
{
  struct ask asked;
  struct kr_buf reach = ask_for_reach(&asked, world, row);

  ck_assert_int_eq(asked.lookup.failure.code, code);
  ck_assert_uint_eq(reach.len, strlen(lowest));
  ck_assert_mem_eq(reach.data != NULL ? (const char *)reach.data : "", lowest, reach.len);
  kr_buf_clear(&reach);
}

static void fail_unreachable(struct kr_failure *failure, const struct kr_request *request)
{
  (void)request;
  kr_fail(failure, KEYROUTE_E_UNREACHABLE, "no");
}

START_TEST(test_locator__failure_tells_from_which_row_on_it_holds)
{
  struct world *world = world_new();

  put_region(world, "t", "", "c", 1);
  put_dead(world, "e", "h", 2, false);
  put_region(world, "t", "h", "k", 3);
  world_start(world);

  expect_reach(world, "d", KEYROUTE_E_HOLE, "c");
  expect_reach(world, "g", KEYROUTE_E_OFFLINE, "e");
  expect_reach(world, "z", KEYROUTE_E_HOLE, "k");
  world->judge = fail_unreachable;
  expect_reach(world, "z", KEYROUTE_E_UNREACHABLE, "");
  world_free(world);
}
END_TEST

static void add_server_tests(TCase *tests)
{
  tcase_add_test(tests, test_locator__region_without_server_is_answered_once_it_has_one);
  tcase_add_test(tests, test_locator__replica_asked_for_must_have_a_server);
  tcase_add_test(tests, test_locator__refresh_is_not_served_by_a_read_sent_before_it);
  tcase_add_test(tests, test_locator__refresh_joins_a_read_that_is_yet_to_be_sent);
  tcase_add_test(tests, test_s032_refresh_that_changes_nothing_keeps_the_location);
  tcase_add_test(tests, test_locator__waiters_share_what_a_scan_says_about_their_region);
  tcase_add_test(tests, test_locator__failure_tells_from_which_row_on_it_holds);
}

static Suite *suite(void)
{
  Suite *made = suite_create("locator");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  add_flight_tests(tests);
  add_step_tests(tests);
  add_retry_tests(tests);
  add_server_tests(tests);
  tcase_add_loop_test(tests, test_s077_shutdown_ends_lookups_in_every_state, 0, 3);
  tcase_add_loop_test(tests, test_s077_shutdown_ends_flights_at_every_step, 0, 3);
  tcase_add_test(tests, test_locator__closed_locator_answers_closed);
  tcase_add_loop_test(tests, test_locator__each_allocation_may_fail, 0, 2);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
