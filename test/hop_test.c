/*
 * What the calls of the last hop have in common and a single one does not show: what happens to
 * one when another ends, and where they meet on the way.
 */
#include "test/failing_mem.h"
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <stdatomic.h>
#include <string.h>

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

/* Whatever was started before is under way, reads the catalog, and has nothing left to do. */
static void await_start(void)
{
  struct keyroute_call call = {sizeof(call), PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0};
  struct keyroute_result *none = NULL;

  while (hop_world_since(&world).rpcs == 0) {
    pause_ms(1);
  }
  ck_assert_int_eq(keyroute_get(&none, world.cluster.conn, "absent", row("x"), NULL, &call, NULL),
                   KEYROUTE_E_NOT_CACHED);
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
  fake_server_fault(world.cluster.server, &(struct fake_fault){.what = FAKE_NEVER, .times = -1});
  for (int i = 0; i < 4; i++) {
    start("t");
    start("u");
  }
  await_start();
  ck_assert(fake_server_wait_scans(world.cluster.server, 1, PATIENCE_MS));

  mem_fail_from(1);
  close_world();
  mem_fail(0);

  ck_assert_int_eq(answers, 8);
  ck_assert_int_eq(errors[-KEYROUTE_E_CLOSED], 8);
}
END_TEST

/* ---- What is told in the end ---------------------------------------------------------------- */

#define HBASE "org.apache.hadoop.hbase."

static void fault(const char *method, enum fake_what what, const char *class_name, int times)
{
  fake_server_fault(world.servers[0],
                    &(struct fake_fault){
                        .what = what, .method = method, .class_name = class_name, .times = times});
}

static int get(int64_t deadline_ms, struct keyroute_detail *detail)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, 0, 0};
  struct keyroute_result *result = NULL;
  int error = keyroute_get(&result, world.cluster.conn, "t", row("apple"), NULL, &call, detail);

  keyroute_result_free(result);
  return error;
}

START_TEST(test_hop__silence_does_not_hide_what_was_answered_before)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  hop_world_open(&world);
  hop_world_warm(&world, "apple");
  fault("Get", FAKE_EXCEPTION, HBASE "RegionTooBusyException", 1);
  fault("Get", FAKE_NEVER, NULL, -1);

  ck_assert_int_eq(get(900, &detail), KEYROUTE_E_OVERLOADED);
  ck_assert(detail.deadline);
  ck_assert_ptr_nonnull(strstr(detail.message, "RegionTooBusyException"));
}
END_TEST

START_TEST(test_hop__region_that_goes_while_it_is_asked_for_is_the_answer)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  hop_world_open(&world);
  hop_world_warm(&world, "apple");
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  fake_server_clear_catalog(world.cluster.server);

  ck_assert_int_eq(get(PATIENCE_MS, &detail), KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert(!detail.deadline);
}
END_TEST

/* ---- Requests that may be sent once --------------------------------------------------------- */

static atomic_bool maybe_applied;

static void note_reply(void *payload, int error, struct keyroute_reply *reply,
                       const struct keyroute_detail *detail)
{
  (void)payload;
  keyroute_reply_free(reply);
  atomic_store(&maybe_applied, detail->maybe_applied);
  atomic_fetch_add(&errors[-error], 1);
  atomic_fetch_add(&answers, 1);
}

static uint64_t start_once(void)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  uint64_t number = 0;

  method.name = "Mutate";
  ck_assert_int_eq(keyroute_call_async(&number, world.cluster.conn, "t", row("apple"), &method,
                                       NULL, note_reply, NULL),
                   0);
  return number;
}

static void await_answers(int count)
{
  while (atomic_load(&answers) < count) {
    pause_ms(1);
  }
}

static void expect_not_applied(int code)
{
  await_answers(1);
  ck_assert_int_eq(errors[-code], 1);
  ck_assert(!maybe_applied);
}

START_TEST(test_hop__call_cancelled_before_it_was_sent_was_not_applied)
{
  hop_world_open(&world);
  fake_server_set_silent(world.cluster.server, true);
  uint64_t number = start_once();

  await_start();
  keyroute_cancel(world.cluster.conn, number);

  expect_not_applied(KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_hop__call_cancelled_while_it_still_connects_was_not_applied)
{
  int port = fake_server_port(world.servers[0]);

  hop_world_open(&world);
  hop_world_warm(&world, "apple");
  fake_server_stop(world.servers[0]);
  struct fake_black_hole *hole = fake_black_hole_open_at(port);
  uint64_t number = start_once();

  while (hop_world_since(&world).requests == 0) {
    pause_ms(1);
  }
  keyroute_cancel(world.cluster.conn, number);

  expect_not_applied(KEYROUTE_E_CANCELLED);
  fake_black_hole_close(hole);
}
END_TEST

START_TEST(test_hop__call_cancelled_while_it_waits_after_a_refusal_was_not_applied)
{
  hop_world_open(&world);
  fake_server_fault(world.servers[0],
                    &(struct fake_fault){.what = FAKE_EXCEPTION,
                                         .method = "Mutate",
                                         .class_name = HBASE "quotas.RpcThrottlingException",
                                         .text = "limit exceeded - wait 20sec, 0ms"});
  uint64_t number = start_once();

  /* The answer has been read when this request, made after it, has been counted as failed. */
  while (hop_world_since(&world).requests_failed == 0) {
    pause_ms(1);
  }
  keyroute_cancel(world.cluster.conn, number);
  keyroute_cancel(world.cluster.conn, number);

  expect_not_applied(KEYROUTE_E_CANCELLED);
}
END_TEST

/* ---- Memory --------------------------------------------------------------------------------- */

/* Ways that a get has to go: over a place that is named, over the catalog, or once more. */
static void go_wrong(int how)
{
  if (how == 0) {
    fake_server_hand_over_region(world.cluster.server, world.servers[0], world.servers[1],
                                 &world.low);
  } else if (how == 1) {
    fake_server_unhost_region(world.servers[0], &world.low, 0);
    fake_server_place_region(world.cluster.server, world.servers[1], &world.low);
  } else {
    fault("Get", how == 2 ? FAKE_CLOSE : FAKE_EXCEPTION, HBASE "RegionTooBusyException", 1);
  }
}

static void go_right(void)
{
  fake_server_clear_faults(world.servers[0]);
  fake_server_unhost_region(world.servers[1], &world.low, 0);
  fake_server_place_region(world.cluster.server, world.servers[0], &world.low);
}

START_TEST(test_hop__every_allocation_may_fail_on_every_way)
{
  bool failed = true;

  for (long n = 1; failed; n++) {
    struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

    hop_world_open(&world);
    hop_world_warm(&world, "apple");
    go_wrong(_i);
    mem_fail(n);
    int error = get(PATIENCE_MS, &detail);

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_msg(error == 0 || error == KEYROUTE_E_NO_MEMORY, "%ld: %s: %s", n,
                  keyroute_errname(error), detail.message);
    go_right();
    close_world();
  }
  keyroute_options_free(world.cluster.options);
  world.cluster.options = NULL;

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hop");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_hop__closing_ends_a_call_that_the_end_of_another_ends);
  tcase_add_test(tests, test_hop__silence_does_not_hide_what_was_answered_before);
  tcase_add_test(tests, test_hop__region_that_goes_while_it_is_asked_for_is_the_answer);
  tcase_add_test(tests, test_hop__call_cancelled_before_it_was_sent_was_not_applied);
  tcase_add_test(tests, test_hop__call_cancelled_while_it_still_connects_was_not_applied);
  tcase_add_test(tests, test_hop__call_cancelled_while_it_waits_after_a_refusal_was_not_applied);
  tcase_add_loop_test(tests, test_hop__every_allocation_may_fail_on_every_way, 0, 4);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
