/*
 * How long a location may stay, on a clock moved by hand.
 */
#include "lib/age.h"

#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <check.h>

struct fixture {
  struct kr_mem *mem;
  struct kr_age age;
  struct keyroute_location *location;
};

static struct fixture fixture_new(int64_t ttl_ms, int64_t idle_ms)
{
  struct fixture fixture = {.mem = failing_mem_new()};
  struct made made = {"t", "", "", 1, NULL, 0, 0, 0};

  kr_age_init(&fixture.age, ttl_ms, idle_ms);
  fixture.location = make_location(fixture.mem, NULL, &made);
  kr_age_begin(&fixture.age, fixture.location);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  keyroute_location_release(fixture->location);
  failing_mem_done(fixture->mem);
}

static enum kr_evicted judge(struct fixture *fixture)
{
  return kr_age_judge(&fixture->age, fixture->location, kr_age_now(&fixture->age));
}

START_TEST(test_age__without_bounds_nothing_ends)
{
  struct fixture fixture = fixture_new(0, 0);

  fake_clock_pass_ms(INT64_C(1000000000));

  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  ck_assert_uint_eq(kr_age_now(&fixture.age), 0);
  ck_assert_int_eq(kr_age_round_ms(&fixture.age), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__ends_spread_over_a_quarter_and_none_is_late)
{
  enum { DRAWS = 2000, TTL = 60000 };
  struct fixture fixture = fixture_new(TTL, 0);
  uint32_t first = UINT32_MAX, last = 0;

  for (int i = 0; i < DRAWS; i++) {
    kr_age_begin(&fixture.age, fixture.location);
    uint32_t end_ds = fixture.location->expires_ds;

    first = end_ds < first ? end_ds : first;
    last = end_ds > last ? end_ds : last;
  }

  ck_assert_uint_ge(first, 412); /* 11/16 of a minute, in tenths of a second */
  ck_assert_uint_le(last, 562);  /* 15/16 */
  ck_assert_uint_gt(last - first, 140);
  ck_assert_int_eq(kr_age_round_ms(&fixture.age), TTL / 32);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__a_read_begins_a_new_life)
{
  struct fixture fixture = fixture_new(16000, 0);

  fake_clock_pass_ms(10000);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  kr_age_begin(&fixture.age, fixture.location);
  fake_clock_pass_ms(10000);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(5000);

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_EXPIRED);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__a_touch_counts_from_when_it_was_noticed)
{
  struct fixture fixture = fixture_new(0, 10000);

  fake_clock_pass_ms(9000);
  fixture.location->touched = true;
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  ck_assert(!fixture.location->touched);
  fake_clock_pass_ms(9900);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(100);

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_IDLE);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__a_touch_does_not_lengthen_the_time_to_live)
{
  struct fixture fixture = fixture_new(10000, 10000);

  fake_clock_pass_ms(9500);
  fixture.location->touched = true;

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_EXPIRED);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__marks_are_left_alone_where_no_idle_time_bounds)
{
  struct fixture fixture = fixture_new(10000, 0);

  fixture.location->touched = true;
  judge(&fixture);

  ck_assert(fixture.location->touched);
  ck_assert(kr_age_take_touched(fixture.location, 1));
  ck_assert(!kr_age_take_touched(fixture.location, 1));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__is_right_when_the_tenths_come_round)
{
  struct fixture fixture = fixture_new(16000, 20000);

  /* Two seconds before 2^32 tenths. */
  fixture.age.began_us = kr_clock_us() - (INT64_C(4294967296) - 20) * 100000;
  kr_age_begin(&fixture.age, fixture.location);
  ck_assert_uint_eq(kr_age_now(&fixture.age), UINT32_MAX - 19);
  fake_clock_pass_ms(10000);
  ck_assert_uint_lt(kr_age_now(&fixture.age), 100);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(5000);

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_EXPIRED);
  fixture.age.ttl_ms = 0;
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(5000);
  ck_assert_int_eq(judge(&fixture), KR_EVICTED_IDLE);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__round_is_as_short_as_the_stricter_bound_asks)
{
  static const struct {
    int64_t ttl_ms, idle_ms, round_ms;
  } cases[] = {{0, 8000, 1000}, {3200, 8000, 100}, {160000, 8000, 1000}, {1, 0, 1}, {0, 1, 1}};

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct kr_age age;

    kr_age_init(&age, cases[i].ttl_ms, cases[i].idle_ms);
    ck_assert_int_eq(kr_age_round_ms(&age), cases[i].round_ms);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("age");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_age__without_bounds_nothing_ends);
  tcase_add_test(tests, test_age__ends_spread_over_a_quarter_and_none_is_late);
  tcase_add_test(tests, test_age__a_read_begins_a_new_life);
  tcase_add_test(tests, test_age__a_touch_counts_from_when_it_was_noticed);
  tcase_add_test(tests, test_age__a_touch_does_not_lengthen_the_time_to_live);
  tcase_add_test(tests, test_age__marks_are_left_alone_where_no_idle_time_bounds);
  tcase_add_test(tests, test_age__is_right_when_the_tenths_come_round);
  tcase_add_test(tests, test_age__round_is_as_short_as_the_stricter_bound_asks);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
