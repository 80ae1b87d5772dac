/*
 * The sweeper, on a loop and a clock driven by hand.
 */
#include "lib/sweeper.h"

#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <check.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

struct fixture {
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_servers *servers;
  struct kr_sweeper *sweeper;
  struct keyroute_table *table; /* "t" */
};

static struct fixture fixture_new(int64_t ttl_ms, int64_t idle_ms)
{
  struct fixture fixture = {.mem = failing_mem_new()};
  struct kr_cache_limits limits = {.ttl_ms = ttl_ms, .idle_ms = idle_ms};

  ck_assert_int_eq(kr_loop_new(&fixture.loop, fixture.mem), 0);
  fixture.stats = kr_stats_new(fixture.mem);
  fixture.cache = kr_cache_new(fixture.mem, fixture.stats);
  fixture.servers = kr_servers_new(fixture.mem);
  kr_cache_set_limits(fixture.cache, &limits);
  fixture.sweeper =
      kr_sweeper_new(fixture.mem, fixture.loop, fixture.cache, fixture.servers, SECOND);
  fixture.table = kr_cache_table(fixture.cache, keyroute_string("t"));
  ck_assert_ptr_nonnull(fixture.table);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  kr_sweeper_shutdown(fixture->sweeper);
  ck_assert_uint_eq(fake_timer_count(), 0);
  kr_loop_free(fixture->loop);
  kr_sweeper_free(fixture->sweeper);
  kr_table_release(fixture->table);
  kr_cache_free(fixture->cache);
  kr_servers_free(fixture->servers);
  kr_stats_free(fixture->stats);
  kr_rcu_barrier();
  failing_mem_done(fixture->mem);
}

static size_t region_count(const struct fixture *fixture)
{
  return kr_cache_size(fixture->cache).regions;
}

static uint64_t counted(const struct fixture *fixture, enum kr_counter counter)
{
  return kr_stats_read(fixture->stats, counter);
}

static void store_in(struct fixture *fixture, struct keyroute_table *table, const char *name,
                     int number, int64_t start_code)
{
  char start[16], end[16];

  snprintf(start, sizeof(start), "%07d", number);
  snprintf(end, sizeof(end), "%07d", number + 1);
  struct made made = {name, start, end, number + 1, "h", 1, start_code, 2};
  struct keyroute_location *location = make_location(fixture->mem, fixture->servers, &made);
  struct keyroute_location *kept;

  ck_assert_int_eq(
      kr_cache_store(fixture->cache, table, location, kr_cache_tick(fixture->cache), &kept), 0);
  keyroute_location_release(kept);
  keyroute_location_release(location);
}

/* Store region number i of "t", which holds one row. */
static void store(struct fixture *fixture, int number, int64_t start_code)
{
  store_in(fixture, fixture->table, "t", number, start_code);
}

static void store_many(struct fixture *fixture, int count, int64_t start_code)
{
  for (int i = 0; i < count; i++) {
    store(fixture, i, start_code);
  }
}

static bool hit(struct fixture *fixture, int number)
{
  char row[16];

  snprintf(row, sizeof(row), "%07d", number);
  kr_rcu_read_begin();
  bool found = kr_table_find(fixture->table, keyroute_string(row), KR_AT) != NULL;

  kr_rcu_read_end();
  return found;
}

static void drop(struct fixture *fixture, int64_t start_code)
{
  struct kr_server *server = kr_servers_get(fixture->servers, keyroute_string("h"), 1, start_code);

  kr_server_drop(server);
  kr_server_release(server);
  kr_sweeper_wake(fixture->sweeper);
}

/* ---- Time ---- */

START_TEST(test_sweeper__s097_what_was_stored_together_does_not_expire_together)
{
  enum { COUNT = 100000, TTL = MINUTE };
  struct fixture fixture = fixture_new(TTL, 0);
  size_t before = COUNT, peak = 0;
  int first = 0;

  store_many(&fixture, COUNT, 1);
  for (int second = 1; second <= 60; second++) {
    fake_clock_pass_ms(SECOND);
    size_t left = region_count(&fixture);

    peak = before - left > peak ? before - left : peak;
    first = first == 0 && left < COUNT ? second : first;
    before = left;
  }

  ck_assert_uint_lt(peak, COUNT / 10);
  ck_assert_int_gt(first, 40);
  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_EXPIRED), COUNT);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTIONS), COUNT);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__s043_idle_region_goes_and_one_in_use_stays)
{
  struct fixture fixture = fixture_new(0, HOUR);

  store_many(&fixture, 1000, 1);
  for (int i = 0; i < 6; i++) {
    fake_clock_pass_ms(HOUR / 2);
    ck_assert(hit(&fixture, 7));
  }
  ck_assert_uint_eq(region_count(&fixture), 1);
  fake_clock_pass_ms(HOUR - SECOND);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fake_clock_pass_ms(HOUR / 4 + 2 * SECOND);

  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_IDLE), 1000);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__s028_ten_thousand_dropped_tables_leave_when_idle)
{
  enum { COUNT = 10000 };
  struct fixture fixture = fixture_new(0, HOUR);

  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "ns:%d", i);
    struct keyroute_table *table = kr_cache_table(fixture.cache, keyroute_string(name));

    store_in(&fixture, table, name, i, 1);
    kr_table_release(table);
  }
  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, COUNT + 1);
  size_t bytes = kr_cache_size(fixture.cache).bytes;
  fake_clock_pass_ms(HOUR - SECOND);
  ck_assert_uint_eq(region_count(&fixture), COUNT);
  fake_clock_pass_ms(HOUR / 4 + 2 * SECOND);

  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  ck_assert_uint_lt(kr_cache_size(fixture.cache).bytes, bytes / 1000);
  ck_assert_uint_eq(fake_timer_count(), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__s100_without_bounds_of_time_there_is_no_wakeup)
{
  struct fixture fixture = fixture_new(0, 0);

  store_many(&fixture, 1000, 1);

  ck_assert_uint_eq(fake_timer_count(), 0);
  ck_assert_uint_eq(fake_task_count(), 0);
  drop(&fixture, 1);
  fake_loop_run();
  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(fake_timer_count(), 0);
  ck_assert_uint_eq(fake_task_count(), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__s100_with_an_empty_cache_there_is_no_wakeup)
{
  struct fixture fixture = fixture_new(MINUTE, HOUR);

  ck_assert_uint_eq(fake_timer_count(), 0);
  store(&fixture, 1, 1);
  ck_assert_uint_eq(fake_timer_count(), 1);
  store(&fixture, 2, 1);
  ck_assert_uint_eq(fake_timer_count(), 1);
  kr_cache_clear_table(fixture.cache, fixture.table);
  fake_clock_pass_ms(SECOND);
  ck_assert_uint_eq(fake_timer_count(), 0);
  store(&fixture, 1, 1);

  ck_assert_uint_eq(fake_timer_count(), 1);
  fixture_free(&fixture);
}
END_TEST

static int marks(struct fixture *fixture, int count)
{
  int touched = 0;

  kr_rcu_read_begin();
  for (int i = 0; i < count; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%07d", i);
    touched += kr_table_floor(fixture->table, keyroute_string(row))->touched;
  }
  kr_rcu_read_end();
  return touched;
}

START_TEST(test_sweeper__a_look_takes_its_part_of_the_round)
{
  enum { COUNT = 9000 };
  struct fixture fixture = fixture_new(0, HOUR);

  store_many(&fixture, COUNT, 1);
  for (int i = 0; i < COUNT; i++) {
    hit(&fixture, i);
  }
  fake_clock_pass_ms(SECOND);
  ck_assert_int_eq(marks(&fixture, COUNT), COUNT - COUNT / 450); /* a round is 450 s */
  fake_clock_pass_ms(449 * SECOND);

  ck_assert_int_eq(marks(&fixture, COUNT), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__a_timer_that_finds_no_memory_is_started_by_the_next_store)
{
  struct fixture fixture = fixture_new(MINUTE, 0);
  struct made made = {"t", "a", "b", 1, NULL, 0, 0, 0};
  struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &made);
  struct keyroute_location *kept = NULL;

  mem_fail(2); /* the first is the skip list's */
  int error = kr_cache_store(fixture.cache, fixture.table, location, 1, &kept);
  ck_assert(mem_has_failed());
  mem_fail(0);
  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(fake_timer_count(), 0);
  store(&fixture, 1, 1);

  ck_assert_uint_eq(fake_timer_count(), 1);
  keyroute_location_release(kept);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

/* ---- After something was retired ---- */

/* A task that waits behind what is posted already, and what it saw when its turn came. */
struct bystander {
  struct kr_task task;
  struct fixture *fixture;
  size_t regions;
};

static void note_regions(struct kr_task *task)
{
  struct bystander *bystander = (struct bystander *)(void *)task;

  bystander->regions = region_count(bystander->fixture);
}

START_TEST(test_sweeper__s043_a_round_lets_others_have_their_turn)
{
  enum { COUNT = 5000 };
  struct fixture fixture = fixture_new(0, 0);
  struct bystander bystander = {.task.run = note_regions, .fixture = &fixture};

  store_many(&fixture, COUNT, 1);
  store(&fixture, COUNT, 2);
  drop(&fixture, 1);
  kr_loop_post(fixture.loop, &bystander.task);
  fake_loop_run();

  ck_assert_uint_eq(bystander.regions, COUNT + 1 - 250);
  ck_assert_uint_eq(region_count(&fixture), 1);
  ck_assert(hit(&fixture, COUNT));
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_SERVER), COUNT);
  fixture_free(&fixture);
}
END_TEST

/* A task that is posted again and again, until no region is left: how many went at once at most? */
struct watch {
  struct kr_task task; /* first, so that its address is the watch's */
  struct fixture *fixture;
  size_t before, most, turns;
};

static void note_loss(struct kr_task *task)
{
  struct watch *watch = (struct watch *)(void *)task;
  size_t regions = region_count(watch->fixture);
  size_t lost = watch->before - regions;

  watch->most = lost > watch->most ? lost : watch->most;
  watch->before = regions;
  watch->turns++;
  if (regions > 0 && watch->turns < 1000000) {
    kr_loop_post(watch->fixture->loop, task);
  }
}

START_TEST(test_sweeper__clearing_a_large_table_does_not_hold_the_loop_up)
{
  enum { COUNT = 100000 };
  struct fixture fixture = fixture_new(0, 0);
  struct watch watch = {.task.run = note_loss, .fixture = &fixture, .before = COUNT};

  store_many(&fixture, COUNT, 1);
  kr_cache_clear_table(fixture.cache, fixture.table);
  ck_assert_uint_eq(region_count(&fixture), COUNT);
  ck_assert(!hit(&fixture, 0) && !hit(&fixture, COUNT - 1));
  kr_loop_post(fixture.loop, &watch.task);
  fake_loop_run();

  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(watch.most, 250);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), COUNT);
  ck_assert_uint_eq(fake_timer_count(), 0);
  ck_assert_uint_eq(fake_task_count(), 0);
  fixture_free(&fixture);
}
END_TEST

static void clear_second(struct kr_task *task)
{
  struct bystander *bystander = (struct bystander *)(void *)task;
  struct kr_cache *cache = bystander->fixture->cache;
  struct keyroute_table *table = kr_cache_table(cache, keyroute_string("u"));

  kr_cache_clear_table(cache, table);
  kr_table_release(table);
}

START_TEST(test_sweeper__round_still_meets_all_when_a_table_is_cleared_in_it)
{
  enum { COUNT = 2000 };
  struct fixture fixture = fixture_new(0, 0);
  struct bystander bystander = {.task.run = clear_second, .fixture = &fixture};
  struct keyroute_table *table = kr_cache_table(fixture.cache, keyroute_string("u"));

  for (int i = 0; i < COUNT / 2; i++) { /* comes first in the round */
    store_in(&fixture, table, "u", i, 2);
  }
  kr_table_release(table);
  store_many(&fixture, COUNT, 1);
  drop(&fixture, 1);
  kr_loop_post(fixture.loop, &bystander.task);
  fake_loop_run();

  ck_assert_uint_eq(region_count(&fixture), 0);
  fixture_free(&fixture);
}
END_TEST

static void drop_second(struct kr_task *task)
{
  drop(((struct bystander *)(void *)task)->fixture, 2);
}

START_TEST(test_sweeper__what_is_retired_during_a_round_is_not_passed_over)
{
  enum { COUNT = 2000 };
  struct fixture fixture = fixture_new(0, 0);
  struct bystander bystander = {.task.run = drop_second, .fixture = &fixture};

  for (int i = 0; i < COUNT; i++) {
    store(&fixture, i, i < 1000 ? 2 : 1);
  }
  drop(&fixture, 1);
  kr_loop_post(fixture.loop, &bystander.task); /* behind the first chunk, which is all of 2 */
  fake_loop_run();

  ck_assert_uint_eq(region_count(&fixture), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__many_wakes_are_one_round_and_the_timer_goes_on_after_it)
{
  struct fixture fixture = fixture_new(0, HOUR);

  store_many(&fixture, 100, 1);
  for (int i = 0; i < 10; i++) {
    kr_sweeper_wake(fixture.sweeper);
  }
  ck_assert_uint_eq(fake_task_count(), 1);
  fake_loop_run();

  ck_assert_uint_eq(fake_timer_count(), 1);
  ck_assert_uint_eq(region_count(&fixture), 100);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__s109_servers_are_interned_and_forgotten_when_unused)
{
  struct fixture fixture = fixture_new(0, 0);

  for (int i = 0; i < 5000; i++) {
    store(&fixture, i, 1 + i % 3);
  }
  ck_assert_uint_eq(kr_servers_count(fixture.servers), 3);
  size_t size = kr_servers_size(fixture.servers);
  drop(&fixture, 1);
  drop(&fixture, 2);
  fake_loop_run();
  kr_rcu_barrier(); /* the locations let go of their servers */
  kr_sweeper_wake(fixture.sweeper);
  fake_loop_run();

  ck_assert_uint_eq(kr_servers_count(fixture.servers), 1);
  ck_assert_uint_lt(kr_servers_size(fixture.servers), size);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__shut_down_in_the_middle_of_a_round_it_looks_no_more)
{
  struct fixture fixture = fixture_new(MINUTE, HOUR);

  store_many(&fixture, 2000, 1);
  drop(&fixture, 1);
  kr_sweeper_shutdown(fixture.sweeper);
  fake_loop_run();
  ck_assert_uint_eq(region_count(&fixture), 2000);
  store(&fixture, 2000, 2);

  ck_assert_uint_eq(fake_timer_count(), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_sweeper__without_memory_there_is_none)
{
  struct fixture fixture = fixture_new(0, 0);

  mem_fail(1);
  ck_assert_ptr_null(
      kr_sweeper_new(fixture.mem, fixture.loop, fixture.cache, fixture.servers, SECOND));
  mem_fail(0);
  kr_sweeper_free(NULL);
  fixture_free(&fixture);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("sweeper");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_sweeper__s097_what_was_stored_together_does_not_expire_together);
  tcase_add_test(tests, test_sweeper__s043_idle_region_goes_and_one_in_use_stays);
  tcase_add_test(tests, test_sweeper__s028_ten_thousand_dropped_tables_leave_when_idle);
  tcase_add_test(tests, test_sweeper__s100_without_bounds_of_time_there_is_no_wakeup);
  tcase_add_test(tests, test_sweeper__s100_with_an_empty_cache_there_is_no_wakeup);
  tcase_add_test(tests, test_sweeper__a_look_takes_its_part_of_the_round);
  tcase_add_test(tests, test_sweeper__a_timer_that_finds_no_memory_is_started_by_the_next_store);
  tcase_add_test(tests, test_sweeper__s043_a_round_lets_others_have_their_turn);
  tcase_add_test(tests, test_sweeper__clearing_a_large_table_does_not_hold_the_loop_up);
  tcase_add_test(tests, test_sweeper__round_still_meets_all_when_a_table_is_cleared_in_it);
  tcase_add_test(tests, test_sweeper__what_is_retired_during_a_round_is_not_passed_over);
  tcase_add_test(tests, test_sweeper__many_wakes_are_one_round_and_the_timer_goes_on_after_it);
  tcase_add_test(tests, test_sweeper__s109_servers_are_interned_and_forgotten_when_unused);
  tcase_add_test(tests, test_sweeper__shut_down_in_the_middle_of_a_round_it_looks_no_more);
  tcase_add_test(tests, test_sweeper__without_memory_there_is_none);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
