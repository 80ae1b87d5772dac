/*
 * Trying again: how often, after which waits, and what the caller is told in the end.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <string.h>

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

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("locator_retry");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
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
  tcase_add_test(tests, test_locator__failure_tells_from_which_row_on_it_holds);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
