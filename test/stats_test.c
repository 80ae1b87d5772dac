/*
 * Counters: sums are exact, also when many threads add.
 */
#include "lib/stats.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>

START_TEST(test_stats__counters_are_apart_and_begin_at_zero)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_stats *stats = kr_stats_new(mem);

  for (int i = 0; i < KR_COUNTERS; i++) {
    ck_assert_uint_eq(kr_stats_read(stats, (enum kr_counter)i), 0);
    kr_stats_add(stats, (enum kr_counter)i, (uint64_t)i + 1);
  }

  for (int i = 0; i < KR_COUNTERS; i++) {
    ck_assert_uint_eq(kr_stats_read(stats, (enum kr_counter)i), (uint64_t)i + 1);
  }
  kr_stats_free(stats);
  kr_stats_free(NULL);
  failing_mem_done(mem);
}
END_TEST

enum { THREADS = 40, ADDITIONS = 5000 };

static void *add_many(void *arg)
{
  for (int i = 0; i < ADDITIONS; i++) {
    kr_stats_add(arg, KR_COUNT_HITS, 1);
  }
  return NULL;
}

START_TEST(test_stats__more_threads_than_stripes_lose_nothing)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_stats *stats = kr_stats_new(mem);
  pthread_t threads[THREADS];

  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, add_many, stats), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    ck_assert_uint_le(kr_stats_read(stats, KR_COUNT_HITS), (uint64_t)THREADS * ADDITIONS);
    pthread_join(threads[i], NULL);
  }

  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_HITS), (uint64_t)THREADS * ADDITIONS);
  kr_stats_free(stats);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_stats__new_fails_cleanly_at_each_allocation)
{
  struct kr_mem *mem = failing_mem_new();

  mem_fail(_i + 1);

  ck_assert_ptr_null(kr_stats_new(mem));
  failing_mem_done(mem);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("stats");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_stats__counters_are_apart_and_begin_at_zero);
  tcase_add_test(tests, test_stats__more_threads_than_stripes_lose_nothing);
  tcase_add_loop_test(tests, test_stats__new_fails_cleanly_at_each_allocation, 0, 2);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
