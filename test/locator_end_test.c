/*
 * How lookups end when not all goes its way: cancelled, late, closed, or out of another one's
 * callback; who shares their scan lives on.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("locator_end");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s086_waiters_live_on_when_the_leader_is_cancelled);
  tcase_add_test(tests, test_s086_waiters_live_on_when_the_leader_is_late);
  tcase_add_test(tests, test_locator__who_has_time_does_not_share_the_tries_of_the_hurried);
  tcase_add_test(tests, test_locator__many_lookups_end_together_in_no_time);
  tcase_add_test(tests, test_locator__cancelling_the_last_one_cancels_the_request);
  tcase_add_test(tests, test_locator__cancelling_the_last_one_cancels_the_root_read);
  tcase_add_test(tests, test_s095_cancel_ends_a_backoff_at_once);
  tcase_add_test(tests, test_s087_callbacks_that_ask_again_keep_the_stack_flat);
  tcase_add_test(tests, test_locator__callback_may_cancel_one_that_has_its_answer_already);
  tcase_add_loop_test(tests, test_s077_shutdown_ends_lookups_in_every_state, 0, 3);
  tcase_add_loop_test(tests, test_s077_shutdown_ends_flights_at_every_step, 0, 3);
  tcase_add_test(tests, test_locator__closed_locator_answers_closed);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
