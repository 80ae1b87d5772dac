/*
 * How long a location may stay, on a clock moved by hand.
 */
#include "lib/age.h"

#include "lib/clock.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <check.h>

struct fixture {
  struct kr_mem *mem;
  struct kr_age age;
  int64_t began_us;
  struct keyroute_location *location;
};

/* What kr_cache_tick would say. */
static uint64_t now(const struct fixture *fixture)
{
  return (uint64_t)(kr_clock_us() - fixture->began_us) + 1;
}

/* The location was read just now. */
static void begin(struct fixture *fixture)
{
  kr_location_set_times(fixture->location, now(fixture), now(fixture));
  kr_age_begin(&fixture->age, fixture->location, now(fixture));
}

static struct fixture fixture_new(int64_t ttl_ms, int64_t idle_ms)
{
  struct fixture fixture = {.mem = failing_mem_new(), .began_us = kr_clock_us()};
  struct made made = {"t", "", "", 1, NULL, 0, 0, 0};

  kr_age_init(&fixture.age, ttl_ms, idle_ms);
  fixture.location = make_location(fixture.mem, NULL, &made);
  begin(&fixture);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  keyroute_location_release(fixture->location);
  failing_mem_done(fixture->mem);
}

static enum kr_evicted judge(struct fixture *fixture)
{
  return kr_age_judge(&fixture->age, fixture->location, now(fixture));
}

START_TEST(test_age__without_bounds_nothing_ends)
{
  struct fixture fixture = fixture_new(0, 0);

  fake_clock_pass_ms(INT64_C(1000000000));

  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  ck_assert_int_eq(kr_age_round_ms(&fixture.age), 0);
  fixture_free(&fixture);
}
END_TEST

/* How many sixteenths of the time to live a location that is stored at a time has, rounded up. */
static int life_in_parts(struct fixture *fixture, uint64_t stored, uint64_t part)
{
  int parts = 0;

  kr_location_set_times(fixture->location, stored, stored);
  while (kr_age_judge(&fixture->age, fixture->location, stored + (uint64_t)parts * part) ==
         KR_NOT_EVICTED) {
    parts++;
  }
  return parts;
}

START_TEST(test_age__ends_spread_over_a_quarter_and_none_is_late)
{
  enum { DRAWS = 2000, TTL = 60000 };
  struct fixture fixture = fixture_new(TTL, 0);
  int counts[17] = {0};

  for (int i = 0; i < DRAWS; i++) {
    counts[life_in_parts(&fixture, 1 + (uint64_t)i, TTL * INT64_C(1000) / 16)]++;
  }

  for (int i = 12; i <= 15; i++) { /* from 11/16 to 15/16 */
    ck_assert_int_gt(counts[i], DRAWS / 8);
  }
  ck_assert_int_ge(counts[11] + counts[12] + counts[13] + counts[14] + counts[15], DRAWS);
  ck_assert_int_lt(counts[11], DRAWS / 100);
  ck_assert_int_eq(kr_age_round_ms(&fixture.age), TTL / 32);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__ends_of_two_caches_are_not_the_same)
{
  enum { TTL = 60000, DRAWS = 100 };
  struct fixture first = fixture_new(TTL, 0), second = first;
  int unlike = 0;

  second.age.seed = first.age.seed + 1;
  for (uint64_t i = 1; i <= DRAWS; i++) {
    unlike += life_in_parts(&first, i, TTL * 10) != life_in_parts(&second, i, TTL * 10);
  }

  ck_assert_int_gt(unlike, DRAWS / 2);
  fixture_free(&first);
}
END_TEST

START_TEST(test_age__a_read_begins_a_new_life)
{
  struct fixture fixture = fixture_new(16000, 0);

  fake_clock_pass_ms(10000);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  begin(&fixture);
  fake_clock_pass_ms(10000);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(5000);

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_EXPIRED);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__a_touch_counts_from_when_it_was_noticed)
{
  struct fixture fixture = fixture_new(0, 16000);

  fake_clock_pass_ms(9000);
  fixture.location->touched = true;
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  ck_assert(!fixture.location->touched);
  fake_clock_pass_ms(16000);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(1000); /* a sixteenth */

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_IDLE);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__nothing_is_idle_for_less_than_it_should_be_wherever_units_end)
{
  struct fixture fixture = fixture_new(0, 16000);

  for (int i = 0; i < 600; i++) {
    fake_clock_pass_ms(997);
    begin(&fixture);
    fake_clock_pass_ms(15999);
    ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
    fake_clock_pass_ms(1001);
    ck_assert_int_eq(judge(&fixture), KR_EVICTED_IDLE);
  }
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
  ck_assert(kr_age_take_touched(&fixture.age, fixture.location, 1));
  ck_assert(!kr_age_take_touched(&fixture.age, fixture.location, 1));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_age__in_a_cache_of_many_years_times_are_right)
{
  struct fixture fixture = fixture_new(16000, 20000);

  fixture.began_us -= INT64_C(8) * 366 * 86400 * 1000000; /* nearly 2^48 microseconds */
  begin(&fixture);
  fake_clock_pass_ms(10000);
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(5000);

  ck_assert_int_eq(judge(&fixture), KR_EVICTED_EXPIRED);
  fixture.age.ttl_ms = 0;
  ck_assert_int_eq(judge(&fixture), KR_NOT_EVICTED);
  fake_clock_pass_ms(6250);
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
  tcase_add_test(tests, test_age__ends_of_two_caches_are_not_the_same);
  tcase_add_test(tests, test_age__a_read_begins_a_new_life);
  tcase_add_test(tests, test_age__a_touch_counts_from_when_it_was_noticed);
  tcase_add_test(tests, test_age__nothing_is_idle_for_less_than_it_should_be_wherever_units_end);
  tcase_add_test(tests, test_age__a_touch_does_not_lengthen_the_time_to_live);
  tcase_add_test(tests, test_age__marks_are_left_alone_where_no_idle_time_bounds);
  tcase_add_test(tests, test_age__in_a_cache_of_many_years_times_are_right);
  tcase_add_test(tests, test_age__round_is_as_short_as_the_stricter_bound_asks);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
