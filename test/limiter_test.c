/* How often something may be done, by a clock that the tests set. */
#include "lib/limiter.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>

#define MS INT64_C(1000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)

struct fixture {
  struct kr_mem *mem;
  struct kr_limiter *limiter;
};

static struct fixture fixture_new(size_t max_bytes)
{
  struct fixture fixture = {.mem = failing_mem_new()};

  fixture.limiter = kr_limiter_new(fixture.mem, max_bytes);
  ck_assert_ptr_nonnull(fixture.limiter);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  kr_limiter_free(fixture->limiter);
  failing_mem_done(fixture->mem);
}

static bool allow(struct fixture *fixture, const char *key, int64_t now_us)
{
  return kr_limiter_allow(fixture->limiter, keyroute_string(key), now_us);
}

/* How often it is allowed when asked every ms from one time on until another. */
static int allowed_between(struct fixture *fixture, int64_t from_us, int64_t until_us)
{
  int allowed = 0;

  for (int64_t now = from_us; now < until_us; now += MS) {
    allowed += allow(fixture, "k", now);
  }
  return allowed;
}

START_TEST(test_limiter__first_time_is_at_once_and_the_second_a_second_later)
{
  struct fixture fixture = fixture_new(100000);

  ck_assert(allow(&fixture, "k", 5));
  ck_assert(!allow(&fixture, "k", 5));
  ck_assert(!allow(&fixture, "k", 5 + SECOND - 1));
  ck_assert(allow(&fixture, "k", 5 + SECOND));
  ck_assert(!allow(&fixture, "k", 5 + SECOND + 1));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s096_one_a_second_for_a_minute_then_one_a_minute)
{
  struct fixture fixture = fixture_new(100000);

  ck_assert_int_eq(allowed_between(&fixture, 0, SECOND), 1);
  ck_assert_int_eq(allowed_between(&fixture, SECOND, MINUTE), 59);
  ck_assert_int_le(allowed_between(&fixture, MINUTE, 2 * MINUTE), 1);
  ck_assert_int_eq(allowed_between(&fixture, 2 * MINUTE, 3 * MINUTE), 1);
  ck_assert_int_eq(allowed_between(&fixture, 3 * MINUTE, 13 * MINUTE), 10);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_limiter__what_was_quiet_for_two_minutes_is_news_again)
{
  struct fixture fixture = fixture_new(100000);

  allowed_between(&fixture, 0, 5 * MINUTE);
  ck_assert(!allow(&fixture, "k", 5 * MINUTE));
  ck_assert(allow(&fixture, "k", 7 * MINUTE));

  ck_assert(allow(&fixture, "k", 7 * MINUTE + SECOND));
  ck_assert_uint_eq(kr_limiter_count(fixture.limiter), 1);
  allow(&fixture, "another", 20 * MINUTE);
  ck_assert_uint_eq(kr_limiter_count(fixture.limiter), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_limiter__keys_are_bytes_and_do_not_disturb_each_other)
{
  struct fixture fixture = fixture_new(100000);

  ck_assert(kr_limiter_allow(fixture.limiter, kr_bytes("a\0b", 3), 0));
  ck_assert(kr_limiter_allow(fixture.limiter, kr_bytes("a\0c", 3), 0));
  ck_assert(kr_limiter_allow(fixture.limiter, kr_bytes("a", 1), 0));
  ck_assert(!kr_limiter_allow(fixture.limiter, kr_bytes("a\0b", 3), 1));
  ck_assert_uint_eq(kr_limiter_count(fixture.limiter), 3);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_limiter__memory_is_bounded_and_what_was_used_last_stays)
{
  struct fixture fixture = fixture_new(4000);
  char key[32];

  allow(&fixture, "used", 0);
  for (int i = 0; i < 10000; i++) {
    snprintf(key, sizeof(key), "key %d", i);
    ck_assert(allow(&fixture, key, i));
    ck_assert(!allow(&fixture, "used", i));
    ck_assert_uint_le(kr_limiter_bytes(fixture.limiter), 4000);
  }

  ck_assert(!allow(&fixture, "key 9999", 10000));
  ck_assert(allow(&fixture, "key 0", 10000));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_limiter__key_too_long_to_remember_is_allowed)
{
  struct fixture fixture = fixture_new(300);
  char key[301] = {0};
  struct keyroute_bytes bytes = kr_bytes(key, sizeof(key));

  allow(&fixture, "k", 0);
  ck_assert(kr_limiter_allow(fixture.limiter, bytes, 0));
  ck_assert(kr_limiter_allow(fixture.limiter, bytes, 0));
  kr_limiter_note(fixture.limiter, bytes, 7, 0);

  ck_assert_uint_eq(kr_limiter_noted(fixture.limiter, bytes), 0);
  ck_assert(!allow(&fixture, "k", 0));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_limiter__note_is_kept_and_does_not_count_as_done)
{
  struct fixture fixture = fixture_new(100000);
  struct keyroute_bytes key = keyroute_string("k");

  ck_assert_uint_eq(kr_limiter_noted(fixture.limiter, key), 0);
  kr_limiter_note(fixture.limiter, key, 7, 0);

  ck_assert(allow(&fixture, "k", 1));
  ck_assert(!allow(&fixture, "k", 2));
  ck_assert_uint_eq(kr_limiter_noted(fixture.limiter, key), 7);
  kr_limiter_note(fixture.limiter, key, 8, 3);
  ck_assert_uint_eq(kr_limiter_noted(fixture.limiter, key), 8);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_limiter__what_cannot_be_remembered_is_allowed)
{
  for (int n = 1; n <= 4; n++) {
    struct fixture fixture = fixture_new(100000);

    mem_fail_from(n);
    bool first = allow(&fixture, "k", 0);
    bool second = allow(&fixture, "k", 1);
    mem_fail(0);

    ck_assert(first);
    ck_assert(second || kr_limiter_count(fixture.limiter) == 1);
    ck_assert_uint_eq(kr_limiter_bytes(fixture.limiter) > 0, kr_limiter_count(fixture.limiter) > 0);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_limiter__without_memory_there_is_none)
{
  struct kr_mem *mem = failing_mem_new();

  mem_fail(1);
  ck_assert_ptr_null(kr_limiter_new(mem, 1000));
  mem_fail(0);

  kr_limiter_free(NULL);
  failing_mem_done(mem);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("limiter");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_limiter__first_time_is_at_once_and_the_second_a_second_later);
  tcase_add_test(tests, test_s096_one_a_second_for_a_minute_then_one_a_minute);
  tcase_add_test(tests, test_limiter__what_was_quiet_for_two_minutes_is_news_again);
  tcase_add_test(tests, test_limiter__keys_are_bytes_and_do_not_disturb_each_other);
  tcase_add_test(tests, test_limiter__memory_is_bounded_and_what_was_used_last_stays);
  tcase_add_test(tests, test_limiter__key_too_long_to_remember_is_allowed);
  tcase_add_test(tests, test_limiter__note_is_kept_and_does_not_count_as_done);
  tcase_add_test(tests, test_limiter__what_cannot_be_remembered_is_allowed);
  tcase_add_test(tests, test_limiter__without_memory_there_is_none);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
