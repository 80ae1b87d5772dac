/*
 * What a flight found, and what of it the cache keeps.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

START_TEST(test_findings__s031_what_was_read_before_a_clear_is_not_kept)
{
  struct world *world = world_new();
  struct kr_cache_filter everything = {.host = NULL};
  struct ask before, after;

  put_region(world, "t", "", "m", 7);
  put_region(world, "t", "m", "", 8);
  world_start(world);
  world->latency_ms = -1;
  ask(&before, world, "t", "x");
  fake_clock_pass_ms(1);

  kr_cache_retire(world->cache, &everything);
  answer_scan(world);
  ask(&after, world, "t", "a");
  fake_clock_pass_ms(1);

  expect_found(&before, 8);
  ck_assert_int_eq(after.done, 0);
  answer_scan(world);
  expect_found(&after, 7);
  ck_assert_int_eq(after.lookup.source, KEYROUTE_SOURCE_CATALOG);
  ck_assert_int_eq(world->scans, 2);
  ask_clear(&before);
  ask_clear(&after);
  world_free(world);
}
END_TEST

/* Another thread, which has the cache forget everything in the middle of what the loop does. */
static struct {
  struct kr_cache *cache;
  pthread_t thread;
  atomic_bool began, over;
} clearing;

static void *clear_everything(void *arg)
{
  struct kr_cache_filter everything = {.host = NULL};

  (void)arg;
  kr_cache_retire(clearing.cache, &everything);
  atomic_store(&clearing.over, true);
  return NULL;
}

/* The loop goes on when all is cleared, or after a while: it may be what clearing has to wait for.
 */
static void clear_meanwhile(void)
{
  atomic_store(&clearing.began, true);
  ck_assert_int_eq(pthread_create(&clearing.thread, NULL, clear_everything, NULL), 0);
  for (int ms = 0; ms < 50 && !atomic_load(&clearing.over); ms++) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static bool hits(struct world *world, const char *row)
{
  struct keyroute_table *table = kr_cache_table(world->cache, keyroute_string("t"));

  kr_rcu_read_begin();
  bool is_hit = kr_table_find(table, keyroute_string(row), KR_AT) != NULL;

  kr_rcu_read_end();
  kr_table_release(table);
  return is_hit;
}

/* Have all be cleared at the n-th allocation of an answer. False = it took fewer. */
static bool clear_at(long n)
{
  struct world *world = world_new();
  struct ask asked;

  put_region(world, "t", "", "m", 7);
  put_region(world, "t", "m", "", 8);
  world_start(world);
  world->latency_ms = -1;
  ask(&asked, world, "t", "x");
  fake_clock_pass_ms(1);
  clearing.cache = world->cache;
  clearing.began = clearing.over = false;
  mem_call(n, clear_meanwhile);
  answer_scan(world);
  mem_call(0, NULL);
  if (clearing.began) {
    pthread_join(clearing.thread, NULL);
  }

  expect_found(&asked, 8);
  ck_assert_int_eq(hits(world, "x"), !clearing.began);
  ck_assert_int_eq(hits(world, "a"), !clearing.began);
  ask_clear(&asked);
  world_free(world);
  return clearing.began;
}

START_TEST(test_findings__nothing_slips_in_behind_who_clears)
{
  long n = 1;

  while (clear_at(n)) {
    n++;
  }
  ck_assert_int_gt(n, 4);
}
END_TEST

START_TEST(test_s020_answer_that_is_older_than_what_is_known_is_not_given)
{
  struct world *world = world_new();
  struct ask slow_inside, slow_outside, quick;

  put_region(world, "t", "a", "z", 100);
  world_start(world);
  world->latency_ms = -1;
  ask(&slow_inside, world, "t", "b");
  ask_init(&slow_outside, world, "t", "p");
  slow_outside.lookup.refresh = true;
  ask_start(&slow_outside);
  ask_init(&quick, world, "t", "c");
  quick.lookup.refresh = true;
  ask_start(&quick);
  fake_clock_pass_ms(0);
  ck_assert_int_eq(world->in_flight, 3);

  struct kr_request *first;

  DL_FOREACH (world->requests, first) {
    if (strncmp(first->start, "t,c", 3) == 0) {
      break;
    }
  }
  DL_DELETE(world->requests, first); /* the quick one's answer comes first */
  DL_PREPEND(world->requests, first);
  drop_region(world, "t", "a", 100);
  put_region(world, "t", "a", "m", 200);
  answer_scan(world);
  expect_found(&quick, 200);
  put_region(world, "t", "a", "z", 100);
  drop_region(world, "t", "a", 200);
  answer_scan(world);
  answer_scan(world);

  if (slow_inside.done > 0) {
    expect_found(&slow_inside, 200);
  }
  ck_assert_int_eq(slow_outside.done, 0);
  drop_region(world, "t", "a", 100);
  put_region(world, "t", "a", "m", 200);
  put_region(world, "t", "m", "z", 201);
  world->latency_ms = 0;
  fake_clock_pass_ms(200);
  expect_found(&slow_inside, 200);
  expect_found(&slow_outside, 201);
  ask_clear(&slow_inside);
  ask_clear(&slow_outside);
  ask_clear(&quick);
  world_free(world);
}
END_TEST

START_TEST(test_findings__newer_neighbour_that_overlaps_does_not_hide_the_answer)
{
  struct world *world = world_new();
  struct ask asks[3];

  put_region(world, "t", "", "d", 300);
  put_region(world, "t", "c", "m", 200);
  world_start(world);
  for (int i = 0; i < 3; i++) {
    ask(&asks[i], world, "t", i == 2 ? "c5" : "e");
    fake_clock_pass_ms(1);
  }

  expect_found(&asks[0], 200);
  expect_found(&asks[1], 200);
  expect_found(&asks[2], 300);
  for (int i = 0; i < 3; i++) {
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("findings");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_findings__s031_what_was_read_before_a_clear_is_not_kept);
  tcase_add_test(tests, test_findings__nothing_slips_in_behind_who_clears);
  tcase_add_test(tests, test_s020_answer_that_is_older_than_what_is_known_is_not_given);
  tcase_add_test(tests, test_findings__newer_neighbour_that_overlaps_does_not_hide_the_answer);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
