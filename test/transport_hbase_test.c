/*
 * The transport for HBase against the scripted region server, on a real loop with real sockets:
 * good answers.
 */
#include "test/transport_hbase_harness.h"

#include "test/run_suite.h"

#include <stdlib.h>
#include <string.h>

/* ---- Good answers ---------------------------------------------------------------------------- */

START_TEST(test_transport_hbase__rows_come_in_scan_order_in_each_encoding)
{
  struct world *world = world_with_regions(3);

  fake_server_set_encoding(world->server, (enum fake_encoding)_i);
  struct asked *asked = ask(world, 2);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 2);
  ck_assert(strncmp(asked->keys[0], "t,c,1002.", 9) == 0);
  ck_assert(strncmp(asked->keys[1], "t,b,1001.", 9) == 0);
  ck_assert_uint_eq(asked->cell_counts[0], 6);
  ck_assert_str_eq(asked->first_server, "rs1:16020");
  ck_assert(!asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__scan_is_one_request_that_leaves_no_scanner)
{
  struct world *world = world_with_regions(3);
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  struct fake_seen seen = fake_server_last_scan(world->server);

  ck_assert_uint_eq(fake_server_counts(world->server).scanners, 0);
  ck_assert_uint_eq(fake_server_counts(world->server).rpcs, 1);
  ck_assert(seen.reversed && seen.small && seen.pread && seen.close_scanner);
  ck_assert(seen.include_start && seen.include_stop);
  ck_assert(!seen.has_limit_of_rows && !seen.handles_partials && !seen.handles_heartbeats);
  ck_assert_uint_eq(seen.number_of_rows, 3);
  ck_assert_uint_eq(seen.priority, 200);
  ck_assert_uint_eq(seen.timeout_ms, 4000);
  ck_assert_uint_eq(seen.max_versions, 3);
  ck_assert_str_eq(seen.region, "hbase:meta,,1");
  ck_assert_str_eq(seen.family, "info");
  ck_assert_str_eq(seen.start, "t,zz,99999999999999");
  ck_assert_str_eq(seen.stop, "t,,");
  ck_assert_str_eq(seen.user, "tester");
  ck_assert_str_eq(seen.service, "ClientService");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__no_row_is_a_good_answer)
{
  struct world *world = new_world();
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 0);
  ck_assert(!asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__forward_scan_reads_another_family)
{
  struct world *world = world_with_regions(1);

  fake_server_put_table_state(world->server, "t", 1);
  struct asked *asked = prepare(world, 1);

  asked->scan = (struct kr_scan){.region = keyroute_string("hbase:meta,,1"),
                                 .start_row = keyroute_string("t"),
                                 .stop_row = keyroute_string("t"),
                                 .include_start = true,
                                 .include_stop = true,
                                 .limit = 1,
                                 .family = "table"};
  on_loop(world, start_errand, asked);
  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 1);
  ck_assert_str_eq(asked->keys[0], "t");
  ck_assert_uint_eq(asked->cell_counts[0], 1);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__early_stop_asks_for_more)
{
  struct world *world = world_with_regions(5);

  fake_server_fault(world->server, &(struct fake_fault){.what = (enum fake_what)_i, .rows = 1});
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 1);
  ck_assert(asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__heartbeat_without_rows_asks_for_more)
{
  struct world *world = world_with_regions(5);

  fault(world, FAKE_HEARTBEAT);
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 0);
  ck_assert(asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__rows_beyond_the_limit_are_cut_off)
{
  struct world *world = world_with_regions(6);

  fault(world, FAKE_NO_LIMIT);
  struct asked *asked = ask(world, 2);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 2);
  ck_assert(!asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__answer_in_single_bytes_is_put_together)
{
  struct world *world = world_with_regions(3);

  fault(world, FAKE_TRICKLE);
  struct asked *first = ask(world, 3);
  struct asked *second = ask(world, 3);

  expect(first, 0);
  expect(second, 0);
  ck_assert_uint_eq(first->count, 3);
  ck_assert_uint_eq(second->count, 3);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

#define MANY 100

START_TEST(test_transport_hbase__requests_share_one_connection_and_are_answered_in_any_order)
{
  struct world *world = world_with_regions(5);
  struct asked *asked[MANY];

  fake_server_fault(world->server, &(struct fake_fault){.what = FAKE_REVERSE, .times = MANY});
  for (unsigned i = 0; i < MANY; i++) {
    asked[i] = ask(world, 1 + i % 5);
  }

  for (unsigned i = 0; i < MANY; i++) {
    expect(asked[i], 0);
    ck_assert_uint_eq(asked[i]->count, 1 + i % 5);
    free(asked[i]);
  }
  ck_assert_uint_eq(connects(world), 1);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_CONNECTS), 1);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_RPCS), MANY);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__callback_may_ask_again_and_cancel_others)
{
  struct world *world = world_with_regions(3);
  struct asked *first = prepare(world, 1);
  struct asked *second = prepare(world, 2);
  struct asked *third;

  fault(world, FAKE_ANSWER);
  fault(world, FAKE_NEVER);
  third = prepare(world, 3);
  first->cancel = third;
  first->then = second;
  fake_server_set_silent(world->server, true);
  on_loop(world, start_errand, first);
  on_loop(world, start_errand, third);
  fake_server_set_silent(world->server, false);

  expect(first, 0);
  expect(second, 0);
  ck_assert_uint_eq(second->count, 2);
  on_loop(world, shut_down, NULL);
  ck_assert_uint_eq(third->answers, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(first);
  free(second);
  free(third);
  free_world(world);
}
END_TEST

/* ---- Without memory -------------------------------------------------------------------------- */

/* Let the n-th allocation fail. */
static void run_short(struct world *world, long n)
{
  pthread_mutex_lock(&world->memory.lock);
  world->memory.left = n;
  pthread_mutex_unlock(&world->memory.lock);
}

START_TEST(test_transport_hbase__each_failed_allocation_is_survived)
{
  bool good = false;

  for (long n = 0; n < 200 && !good; n++) {
    struct world *world = world_with_regions(3);
    struct asked *asked = prepare(world, 3);

    fake_server_set_encoding(world->server, (enum fake_encoding)_i);
    run_short(world, n);
    on_loop(world, start_errand, asked);
    ck_assert_msg(wait_answer(asked) || asked->refused, "allocation %ld lost the answer", n);
    pthread_mutex_lock(&world->memory.lock);
    good = world->memory.left >= 0;
    pthread_mutex_unlock(&world->memory.lock);
    ck_assert(!good || asked->failure.code == 0);
    free(asked);
    free_world(world);
  }
  ck_assert(good);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("transport_hbase");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests, test_transport_hbase__rows_come_in_scan_order_in_each_encoding, 0, 3);
  tcase_add_test(tests, test_transport_hbase__scan_is_one_request_that_leaves_no_scanner);
  tcase_add_test(tests, test_transport_hbase__no_row_is_a_good_answer);
  tcase_add_test(tests, test_transport_hbase__forward_scan_reads_another_family);
  tcase_add_loop_test(tests, test_transport_hbase__early_stop_asks_for_more, FAKE_EARLY_STOP,
                      FAKE_HEARTBEAT + 1);
  tcase_add_test(tests, test_transport_hbase__heartbeat_without_rows_asks_for_more);
  tcase_add_test(tests, test_transport_hbase__rows_beyond_the_limit_are_cut_off);
  tcase_add_test(tests, test_transport_hbase__answer_in_single_bytes_is_put_together);
  tcase_add_test(tests,
                 test_transport_hbase__requests_share_one_connection_and_are_answered_in_any_order);
  tcase_add_test(tests, test_transport_hbase__callback_may_ask_again_and_cancel_others);
  tcase_add_loop_test(tests, test_transport_hbase__each_failed_allocation_is_survived, 0, 3);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
