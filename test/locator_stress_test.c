/*
 * The locator in a bad time and in the quiet after it, all of it by dice and in virtual time: scans
 * that fail, hang or find no memory, a root that moves, regions that are reported, lookups that are
 * cancelled or have little time, budgets so small that tables stand in line.
 *
 *  1. No lookup outlasts its deadline, however bad the time.
 *  2. Once all is well again everybody is answered soon, with deadlines an hour away: nobody waits
 *     for something that will not come.
 *  3. At no time is a queue kept in which nobody is, or does anybody wait without a reason: that as
 *     many scans are under way as may be, or that the root is not to be asked for yet.
 *  4. In the end the locator holds nothing: no queue, no place in the budget, no timer.
 *
 * KEYROUTE_STRESS_SEED is the first of the seeds.
 */
#include "lib/locator_state.h"
#include "test/locator_harness.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { ASKS = 400, STEPS = 600, TABLES = 4, REGIONS = 8, SEEDS = 12 };
enum { HOUR_MS = 3600000, QUIET_MS = 10000, SLACK_MS = 25 };

static uint64_t seed;

static int dice(int sides)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((seed >> 33) % (unsigned)sides);
}

static struct world *world;
static struct kr_reports *reports;
static struct ask asks[ASKS];
static int asked;

static void fail_some(struct kr_failure *failure, const struct kr_request *request)
{
  static const int codes[] = {KEYROUTE_E_UNREACHABLE, KEYROUTE_E_TIMEOUT, KEYROUTE_E_OVERLOADED,
                              KEYROUTE_E_REMOTE,      KEYROUTE_E_RESOLVE, KEYROUTE_E_PROTOCOL,
                              KEYROUTE_E_NO_MEMORY};

  (void)request;
  if (dice(3) == 0) {
    kr_fail(failure, codes[dice(7)], "bad luck");
    failure->connecting = failure->code == KEYROUTE_E_UNREACHABLE && dice(2) == 0;
  }
}

static void make_world(void)
{
  struct kr_cache_limits limits = {.regions = (size_t)dice(3) * 5};

  world = world_new();
  reports = world_add_reports(world, 200);
  kr_cache_set_limits(world->cache, &limits);
  world->means.retry = (struct kr_retry_policy){1000, 5, 5, 100};
  world->means.try_limit_ms = 1000;
  world->means.failed_server_ms = 200;
  world->means.scans_max = 1 + (unsigned)dice(4);
  world->means.scans_per_table = 1 + (unsigned)dice(3);
  for (int i = 0; i < TABLES * REGIONS; i++) {
    char table[16], start[16], end[16];
    int at = i % REGIONS;

    snprintf(table, sizeof(table), "t%d", i / REGIONS);
    snprintf(start, sizeof(start), "%d", at);
    snprintf(end, sizeof(end), "%d", at + 1);
    put_region(world, table, at == 0 ? "" : start, at == REGIONS - 1 ? "" : end, i + 1);
  }
  world_start(world);
}

/* One table more than there are. */
static void ask_something(void)
{
  struct ask *next = &asks[asked++];
  static const int64_t deadlines_ms[] = {1, 20, 200, 2000, HOUR_MS, HOUR_MS, HOUR_MS, HOUR_MS};
  char table[16], row[24];

  snprintf(table, sizeof(table), "t%d", dice(16) == 0 ? TABLES : dice(TABLES));
  snprintf(row, sizeof(row), "%d%d", dice(REGIONS), dice(3));
  ask_init(next, world, table, row);
  next->lookup.deadline_us = kr_clock_us() + 1000 * deadlines_ms[dice(8)];
  next->lookup.refresh = dice(4) == 0;
  next->lookup.position = dice(8) == 0 ? KR_BEFORE : KR_AT;
  next->lookup.cache_only = !next->lookup.refresh && dice(16) == 0;
  mem_fail(dice(6) == 0 ? 1 + dice(12) : 0);
  ask_start(next);
}

static void report_something(void)
{
  struct ask *of = &asks[dice(asked > 0 ? asked : 1)];
  struct keyroute_location *location = of->lookup.location;
  struct kr_report report = {
      .location = location,
      .fault = (enum keyroute_fault)dice(8),
      .host = "hint",
      .port = 16020,
      .start_code = 1,
      .seqnum = dice(4),
      .epoch = kr_cache_epoch(world->cache),
  };

  if (of->done == 0 || location == NULL || kr_location_server(location, 0) == NULL ||
      keyroute_fault_kind(report.fault) == KEYROUTE_KIND_KEEP || kr_location_report(location)) {
    return;
  }
  mem_fail(dice(6) == 0 ? 1 + dice(6) : 0);
  if (kr_reports_take(reports, &report)) {
    kr_sweeper_wake(world->sweeper);
  }
  kr_location_retire(location, KR_EVICTED_REPORTED);
}

static void move_root(void)
{
  world->meta_host = dice(2) == 0 ? "m" : "n";
  world->meta_start_code = 1 + dice(3);
  if (dice(2) == 0) {
    kr_locator_root_changed(world->locator);
    fake_loop_run();
  }
}

static void change_manners(void)
{
  static const int64_t latencies_ms[] = {-1, 0, 1, 5, 40};

  world->latency_ms = latencies_ms[dice(5)];
  world->root_latency_ms = latencies_ms[dice(5)];
  world->judge = dice(2) == 0 ? fail_some : NULL;
  world->stop_early = dice(12) == 0;
  world->root_failure.code = 0;
  if (dice(4) == 0) {
    kr_fail(&world->root_failure, KEYROUTE_E_BOOTSTRAP, "bad luck");
  }
}

static void step(void)
{
  switch (dice(12)) {
  case 0:
    move_root();
    break;
  case 1:
    change_manners();
    break;
  case 2:
    kr_cache_retire(world->cache, &(struct kr_cache_filter){0});
    kr_sweeper_wake(world->sweeper);
    break;
  case 3:
  case 4:
    report_something();
    break;
  case 5:
    if (asked > 0) {
      kr_locator_cancel(world->locator, &asks[dice(asked)].lookup);
      fake_loop_run();
    }
    break;
  default:
    if (asked < ASKS) {
      ask_something();
    }
    break;
  }
  fake_clock_pass_ms(dice(3) == 0 ? dice(30) : 0);
  mem_fail(0);
}

static void expect_nobody_is_late(void)
{
  for (int i = 0; i < asked; i++) {
    int64_t end_us = asks[i].done > 0 ? asks[i].done_us : kr_clock_us();

    ck_assert_int_le(asks[i].done, 1);
    ck_assert_msg(end_us <= asks[i].lookup.deadline_us + 1000 * SLACK_MS, "ask %d is late", i);
  }
}

/* What queues there are is the locator's business only between its functions: this is between. */
static void expect_reasons_to_wait(void)
{
  const struct kr_locator *locator = world->locator;
  bool full = locator->flight_count >= world->means.scans_max;
  const struct kr_queue *queue;
  const struct kr_flight *flight;
  unsigned counted = 0;

  ck_assert_ptr_null(locator->line);
  ck_assert_ptr_null(locator->answered);
  for (queue = locator->queues; queue != NULL; queue = queue->hh.next) {
    ck_assert_uint_gt(queue->count, 0);
    ck_assert(queue->line != KR_LINE_STALLED || full);
    ck_assert(queue->ready == NULL || queue->line == KR_LINE_STALLED ||
              queue->flight_count >= world->means.scans_per_table ||
              (queue->is_root && locator->root_pause != NULL));
    for (flight = queue->flights; flight != NULL; flight = flight->next) {
      counted += flight->counted;
    }
  }
  ck_assert_uint_eq(counted, locator->flight_count);
  ck_assert_uint_le(counted, world->means.scans_max);
}

static void expect_all_is_over(void)
{
  for (int i = 0; i < asked; i++) {
    ck_assert_msg(asks[i].done == 1,
                  "ask %d of %s row %s in state %d waits still: queue in line %d", i, asks[i].row,
                  asks[i].row, (int)asks[i].lookup.state,
                  asks[i].lookup.queue != NULL ? (int)asks[i].lookup.queue->line : -1);
  }
  ck_assert_uint_eq(world->locator->flight_count, 0);
  ck_assert_ptr_null(world->locator->queues);
  ck_assert_ptr_null(world->locator->line);
  ck_assert_ptr_null(world->locator->stalled);
  ck_assert_ptr_null(world->locator->root_pause);
}

START_TEST(test_locator_stress__after_a_bad_time_everybody_is_answered_and_nothing_is_left)
{
  const char *first = getenv("KEYROUTE_STRESS_SEED"); /* and the test's number tells which it was */

  seed = (first != NULL ? strtoull(first, NULL, 0) : 1) + (uint64_t)_i;
  make_world();

  for (int i = 0; i < STEPS; i++) {
    step();
    expect_nobody_is_late();
    expect_reasons_to_wait();
  }
  world->latency_ms = world->root_latency_ms = 5;
  world->judge = NULL;
  world->stop_early = false;
  world->root_failure.code = 0;
  fake_clock_pass_ms(QUIET_MS);

  expect_nobody_is_late();
  expect_all_is_over();
  for (int i = 0; i < asked; i++) {
    ask_clear(&asks[i]);
  }
  kr_reports_free(reports);
  world_free(world);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("locator_stress");
  TCase *tests = tcase_create("locator_stress");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(
      tests, test_locator_stress__after_a_bad_time_everybody_is_answered_and_nothing_is_left, 0,
      SEEDS);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
