/*
 * What the calls of the last hop have in common and a single one does not show: what happens to
 * one when another ends, and where they meet on the way.
 */
#include "test/failing_mem.h"
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <stdatomic.h>

static struct hop_world world;
static atomic_int answers, errors[32];

static void setup(void)
{
  hop_world_start(&world, &failing_allocator);
  hop_world_put(&world, "apple", "red");
}

static void teardown(void)
{
  hop_world_stop(&world);
}

static void note(void *payload, int error, struct keyroute_result *result,
                 const struct keyroute_detail *detail)
{
  (void)payload, (void)detail;
  keyroute_result_free(result);
  atomic_fetch_add(&errors[-error], 1);
  atomic_fetch_add(&answers, 1);
}

static uint64_t start(const char *table)
{
  uint64_t number = 0;

  ck_assert_int_eq(
      keyroute_get_async(&number, world.cluster.conn, table, row("apple"), NULL, NULL, note, NULL),
      0);
  return number;
}

/* Whatever was started before is under way, and reads the catalog. */
static void await_start(void)
{
  struct keyroute_call call = {sizeof(call), PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0};
  struct keyroute_result *none = NULL;

  ck_assert_int_eq(keyroute_get(&none, world.cluster.conn, "absent", row("x"), NULL, &call, NULL),
                   KEYROUTE_E_NOT_CACHED);
  ck_assert(fake_server_wait_connects(world.cluster.server, 1, PATIENCE_MS));
}

static void close_world(void)
{
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;
}

/* ---- Closing -------------------------------------------------------------------------------- */

/* The one that stands in line flies when the other is ended, and fails at once. */
START_TEST(test_hop__closing_ends_a_call_that_the_end_of_another_ends)
{
  fake_cluster_set(&world.cluster, "keyroute.scans.max", "1");
  hop_world_open(&world);
  fake_server_set_silent(world.cluster.server, true);
  for (int i = 0; i < 4; i++) {
    start("t");
    start("u");
  }
  await_start();

  mem_fail_from(1);
  close_world();
  mem_fail(0);

  ck_assert_int_eq(answers, 8);
  ck_assert_int_eq(errors[-KEYROUTE_E_CLOSED], 8);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hop");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_hop__closing_ends_a_call_that_the_end_of_another_ends);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
