/*
 * Whether and when to try again: every branch of the pure function.
 */
#include "lib/retry.h"

#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>

static const struct kr_retry_policy policy = {15, 100, 400, 10000};

static const int table[] = {1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200, 200, 200};

static struct kr_failure failed_with(int code)
{
  struct kr_failure failure;

  kr_fail(&failure, code, "x");
  return failure;
}

/* The wait after a failure with plenty of time. */
static int64_t wait_after(unsigned tries, int code, uint64_t random)
{
  struct kr_failure failure = failed_with(code);

  return kr_retry_wait_ms(&policy, tries, &failure, 86400000, random);
}

START_TEST(test_retry__each_code_is_tried_again_as_the_table_of_errors_says)
{
  for (int code = KEYROUTE_E_INVALID_ARGUMENT; code >= KEYROUTE_E_TOO_LARGE; code--) {
    bool again = wait_after(1, code, 0) >= 0;

    ck_assert_msg(again == keyroute_is_retriable(code), "%s", keyroute_errname(code));
  }
  ck_assert_int_eq(wait_after(1, -999, 0), -1);
}
END_TEST

START_TEST(test_retry__what_the_server_calls_final_is_final)
{
  struct kr_failure failure = failed_with(KEYROUTE_E_REMOTE);

  failure.final = true;

  ck_assert_int_eq(kr_retry_wait_ms(&policy, 1, &failure, 30000, 5), -1);
}
END_TEST

START_TEST(test_retry__n_retries_are_n_tries_after_the_first)
{
  struct kr_retry_policy none = policy;
  struct kr_failure failure = failed_with(KEYROUTE_E_HOLE);

  none.retries = 0;

  ck_assert_int_ge(wait_after(15, KEYROUTE_E_HOLE, 7), 0);
  ck_assert_int_eq(wait_after(16, KEYROUTE_E_HOLE, 7), -1);
  ck_assert_int_eq(kr_retry_wait_ms(&none, 1, &failure, 30000, 7), -1);
}
END_TEST

START_TEST(test_retry__wait_is_drawn_from_nothing_to_the_pause_of_the_try)
{
  for (unsigned tries = 1; tries <= 15; tries++) {
    int64_t limit = 100 * table[tries - 1];

    limit = limit < 10000 ? limit : 10000;
    ck_assert_int_eq(wait_after(tries, KEYROUTE_E_HOLE, 0), 0);
    ck_assert_int_eq(wait_after(tries, KEYROUTE_E_HOLE, (uint64_t)limit), limit);
    ck_assert_int_eq(wait_after(tries, KEYROUTE_E_HOLE, (uint64_t)limit + 1), 0);
    ck_assert_int_le(wait_after(tries, KEYROUTE_E_HOLE, UINT64_MAX), limit);
    ck_assert_int_ge(wait_after(tries, KEYROUTE_E_HOLE, UINT64_MAX), 0);
  }
}
END_TEST

START_TEST(test_retry__draws_spread_over_the_whole_range)
{
  unsigned low = 0, high = 0;

  for (uint64_t random = 0; random < 1000; random++) {
    int64_t wait = wait_after(4, KEYROUTE_E_HOLE, random * 0x9e3779b97f4a7c15u);

    low += wait < 250;
    high += wait >= 250;
  }

  ck_assert_uint_gt(low, 300);
  ck_assert_uint_gt(high, 300);
}
END_TEST

START_TEST(test_s090_waits_are_capped_however_many_tries)
{
  struct kr_retry_policy patient = {1000, 60000, 60000, 10000};
  struct kr_failure failure = failed_with(KEYROUTE_E_UNREACHABLE);

  for (unsigned tries = 1; tries <= 1000; tries++) {
    ck_assert_int_le(kr_retry_wait_ms(&patient, tries, &failure, 86400000, 10000), 10000);
  }
  ck_assert_int_eq(kr_retry_wait_ms(&patient, 1000, &failure, 86400000, 10000), 10000);
}
END_TEST

START_TEST(test_s091_first_wait_is_at_most_one_pause)
{
  for (uint64_t random = 0; random < 500; random++) {
    ck_assert_int_le(wait_after(1, KEYROUTE_E_UNREACHABLE, random), 100);
  }
}
END_TEST

START_TEST(test_retry__begun_millisecond_is_left_until_the_deadline_has_come)
{
  ck_assert_int_eq(kr_retry_remaining_ms(5000, 3000), 2);
  ck_assert_int_eq(kr_retry_remaining_ms(5000, 4999), 1);
  ck_assert_int_eq(kr_retry_remaining_ms(5000, 5000), 0);
  ck_assert_int_le(kr_retry_remaining_ms(5000, 9000), 0);
}
END_TEST

START_TEST(test_retry__overloaded_servers_get_a_pause_of_their_own)
{
  ck_assert_int_eq(wait_after(1, KEYROUTE_E_OVERLOADED, 400), 400);
  ck_assert_int_eq(wait_after(2, KEYROUTE_E_OVERLOADED, 800), 800);
}
END_TEST

START_TEST(test_retry__wait_the_server_asks_for_is_kept_even_above_the_cap)
{
  struct kr_failure failure = failed_with(KEYROUTE_E_OVERLOADED);

  failure.wait_ms = 60000;

  ck_assert_int_eq(kr_retry_wait_ms(&policy, 1, &failure, 86400000, 0), 60000);
  ck_assert_int_eq(kr_retry_wait_ms(&policy, 1, &failure, 86400000, 400), 60400);
}
END_TEST

START_TEST(test_retry__wait_beyond_the_deadline_becomes_half_of_what_is_left)
{
  struct kr_failure failure = failed_with(KEYROUTE_E_HOLE);

  ck_assert_int_eq(kr_retry_wait_ms(&policy, 8, &failure, 1000, 9999), 500);
  ck_assert_int_eq(kr_retry_wait_ms(&policy, 8, &failure, 200, 9999), 100);
}
END_TEST

START_TEST(test_retry__less_than_two_pauses_before_the_deadline_are_waited_out)
{
  struct kr_failure failure = failed_with(KEYROUTE_E_HOLE);

  ck_assert_int_eq(kr_retry_wait_ms(&policy, 8, &failure, 199, 9999), 199);
  ck_assert_int_eq(kr_retry_wait_ms(&policy, 8, &failure, 1, 9999), 1);
  ck_assert_int_eq(kr_retry_wait_ms(&policy, 8, &failure, 0, 9999), 0);
}
END_TEST

START_TEST(test_s092_default_policy_still_tries_after_two_seconds)
{
  int64_t most = 0;

  for (unsigned tries = 1; tries <= 15; tries++) {
    most += 100 * table[tries - 1] / 2; /* the mean of the draw */
  }

  ck_assert_int_gt(most, 2000);
}
END_TEST

START_TEST(test_retry__one_try_takes_at_most_a_third)
{
  ck_assert_int_eq(kr_retry_try_ms(30000, 30000, 60000), 10000);
  ck_assert_int_eq(kr_retry_try_ms(30000, 5000, 60000), 5000);
  ck_assert_int_eq(kr_retry_try_ms(30000, 30000, 2000), 2000);
}
END_TEST

START_TEST(test_retry__one_try_takes_at_least_a_millisecond)
{
  ck_assert_int_eq(kr_retry_try_ms(1, 1, 60000), 1);
  ck_assert_int_eq(kr_retry_try_ms(0, 0, 60000), 1);
  ck_assert_int_eq(kr_retry_try_ms(30000, -5, 60000), 1);
}
END_TEST

/* ---- Requests to regions ---- */

static int64_t hop_wait_after(unsigned tries, enum keyroute_kind kind, int64_t server_wait_ms)
{
  struct kr_failure failure = failed_with(KEYROUTE_E_REMOTE);

  failure.kind = kind;
  failure.wait_ms = server_wait_ms;
  return kr_retry_hop_wait_ms(&policy, tries, &failure, 86400000, 77);
}

START_TEST(test_retry__first_misplaced_request_is_placed_again_at_once)
{
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_REFRESH, 0), 0);
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_HINT, 0), 0);
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_DROP_SERVER, 0), 0);
}
END_TEST

START_TEST(test_retry__second_misplaced_request_waits)
{
  ck_assert_int_eq(hop_wait_after(2, KEYROUTE_KIND_REFRESH, 0), 77);
  ck_assert_int_eq(hop_wait_after(2, KEYROUTE_KIND_DROP_SERVER, 0), 77);
}
END_TEST

START_TEST(test_retry__wait_asked_for_by_a_misplaced_requests_server_is_kept)
{
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_DROP_SERVER, 2500), 2577);
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_REFRESH, 2500), 2577);
}
END_TEST

START_TEST(test_retry__busy_region_gets_its_wait_from_the_first_request_on)
{
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_KEEP, 0), 77);
  ck_assert_int_eq(hop_wait_after(1, KEYROUTE_KIND_KEEP, 2500), 2577);
}
END_TEST

START_TEST(test_retry__request_that_is_not_to_be_sent_again_is_not_sent_at_once_either)
{
  struct kr_failure failure = failed_with(KEYROUTE_E_REMOTE);

  failure.final = true;

  ck_assert_int_eq(kr_retry_hop_wait_ms(&policy, 1, &failure, 30000, 5), -1);
  ck_assert_int_eq(hop_wait_after(16, KEYROUTE_KIND_REFRESH, 0), -1);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("retry");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_retry__each_code_is_tried_again_as_the_table_of_errors_says);
  tcase_add_test(tests, test_retry__what_the_server_calls_final_is_final);
  tcase_add_test(tests, test_retry__n_retries_are_n_tries_after_the_first);
  tcase_add_test(tests, test_retry__wait_is_drawn_from_nothing_to_the_pause_of_the_try);
  tcase_add_test(tests, test_retry__draws_spread_over_the_whole_range);
  tcase_add_test(tests, test_s090_waits_are_capped_however_many_tries);
  tcase_add_test(tests, test_s091_first_wait_is_at_most_one_pause);
  tcase_add_test(tests, test_retry__begun_millisecond_is_left_until_the_deadline_has_come);
  tcase_add_test(tests, test_retry__overloaded_servers_get_a_pause_of_their_own);
  tcase_add_test(tests, test_retry__wait_the_server_asks_for_is_kept_even_above_the_cap);
  tcase_add_test(tests, test_retry__wait_beyond_the_deadline_becomes_half_of_what_is_left);
  tcase_add_test(tests, test_retry__less_than_two_pauses_before_the_deadline_are_waited_out);
  tcase_add_test(tests, test_s092_default_policy_still_tries_after_two_seconds);
  tcase_add_test(tests, test_retry__one_try_takes_at_most_a_third);
  tcase_add_test(tests, test_retry__one_try_takes_at_least_a_millisecond);
  tcase_add_test(tests, test_retry__first_misplaced_request_is_placed_again_at_once);
  tcase_add_test(tests, test_retry__second_misplaced_request_waits);
  tcase_add_test(tests, test_retry__wait_asked_for_by_a_misplaced_requests_server_is_kept);
  tcase_add_test(tests, test_retry__busy_region_gets_its_wait_from_the_first_request_on);
  tcase_add_test(tests,
                 test_retry__request_that_is_not_to_be_sent_again_is_not_sent_at_once_either);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
