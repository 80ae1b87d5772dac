/*
 * Requests that wait: how long, how many bytes of them, and how a wait ends early.
 */
#include "test/transport_hbase_harness.h"

#include "lib/bytes.h"
#include "test/loopback.h"
#include "test/run_suite.h"

#include <stdlib.h>
#include <string.h>

/* ---- Time ------------------------------------------------------------------------------------ */

START_TEST(test_transport_hbase__timeout_names_server_and_time_and_the_late_reply_is_skipped)
{
  struct world *world = world_with_regions(3);

  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 800});
  struct asked *slow = prepare(world, 3);

  slow->timeout_ms = 400;
  on_loop(world, start_errand, slow);
  struct asked *quick = ask(world, 2);

  expect(quick, 0);
  expect(slow, KEYROUTE_E_TIMEOUT);
  expect_message(slow, "within 400 ms");
  expect_message(slow, "server 127.0.0.1:");
  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 1000});
  struct asked *later = ask(world, 1);

  expect(later, 0);
  ck_assert_uint_eq(later->count, 1);
  ck_assert_uint_eq(connects(world), 1);
  free(slow);
  free(quick);
  free(later);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__who_has_little_time_does_not_cost_a_connection)
{
  struct world *world = world_with_regions(3);
  struct asked *lost[5];

  for (int i = 0; i < 5; i++) {
    fault(world, FAKE_NEVER);
    lost[i] = prepare(world, 1);
    lost[i]->timeout_ms = 20;
    on_loop(world, start_errand, lost[i]);
    expect(lost[i], KEYROUTE_E_TIMEOUT);
  }
  struct asked *next = ask(world, 1);

  expect(next, 0);
  ck_assert_uint_eq(connects(world), 1);
  for (int i = 0; i < 5; i++) {
    free(lost[i]);
  }
  free(next);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__connection_silent_for_a_whole_second_takes_no_more_requests)
{
  struct world *world = world_with_regions(3);

  fault(world, FAKE_NEVER);
  struct asked *lost = prepare(world, 1);

  lost->timeout_ms = 1200;
  on_loop(world, start_errand, lost);
  expect(lost, KEYROUTE_E_TIMEOUT);
  struct asked *next = ask(world, 1);

  expect(next, 0);
  ck_assert_uint_eq(connects(world), 2);
  ck_assert(fake_server_wait_closed(world->server, 1, PATIENCE_MS));
  free(lost);
  free(next);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__cancelled_request_gets_no_answer_and_disturbs_nobody)
{
  struct world *world = world_with_regions(3);

  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 100, .times = 2});
  struct asked *cancelled = ask(world, 1);
  struct asked *other = ask(world, 2);

  ck_assert(fake_server_wait_scans(world->server, 2, PATIENCE_MS));
  on_loop(world, cancel_errand, cancelled);
  expect(other, 0);
  ck_assert_uint_eq(other->count, 2);
  struct asked *next = ask(world, 3);

  expect(next, 0);
  ck_assert_uint_eq(connects(world), 1);
  on_loop(world, shut_down, NULL);
  ck_assert_uint_eq(cancelled->answers, 0);
  free(cancelled);
  free(other);
  free(next);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__second_reply_to_a_request_is_skipped)
{
  struct world *world = world_with_regions(3);

  fault(world, FAKE_TWICE);
  struct asked *first = ask(world, 1);

  expect(first, 0);
  struct asked *second = ask(world, 2);

  expect(second, 0);
  ck_assert_uint_eq(second->count, 2);
  ck_assert_uint_eq(connects(world), 1);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__idle_connection_is_closed_and_made_again)
{
  struct world *world = world_with_regions(3);

  world->settings.connection_idle_ms = 50;
  struct asked *first = ask(world, 1);

  expect(first, 0);
  ck_assert(fake_server_wait_closed(world->server, 0, PATIENCE_MS));
  struct asked *second = ask(world, 1);

  expect(second, 0);
  ck_assert_uint_eq(connects(world), 2);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__connection_with_a_request_is_not_idle)
{
  struct world *world = world_with_regions(3);

  world->settings.connection_idle_ms = 400;
  fault(world, FAKE_ANSWER);
  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 900});
  struct asked *first = ask(world, 1);

  expect(first, 0);
  struct asked *slow = ask(world, 1);

  expect(slow, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(first);
  free(slow);
  free_world(world);
}
END_TEST

/* ---- Bytes that wait ------------------------------------------------------------------------- */

/* More than half of what may wait. */
static char long_row[QUEUE_MAX / 2 + 1000];

static struct asked *prepare_long(struct world *world, int port, size_t len)
{
  struct asked *asked = prepare(world, 1);

  memset(long_row, 'r', sizeof(long_row));
  asked->port = port;
  asked->timeout_ms = 60000;
  asked->scan.start_row = kr_bytes(long_row, len);
  on_loop(world, start_errand, asked);
  return asked;
}

START_TEST(test_transport_hbase__more_than_may_wait_while_connecting_is_overloaded_at_once)
{
  struct world *world = new_world();
  int port;
  struct fake_black_hole *hole = fake_black_hole_open(&port);
  struct asked *first = prepare_long(world, port, sizeof(long_row));
  struct asked *second = prepare_long(world, port, sizeof(long_row));

  expect(second, KEYROUTE_E_OVERLOADED);

  ck_assert_int_eq(second->failure.kind, KEYROUTE_KIND_KEEP);
  ck_assert(!second->failure.connecting);
  expect_message(second, "server 127.0.0.1:");
  expect_message(second, "65536 bytes");
  expect_message(second, "keyroute.server.queue.max.bytes");
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_REFUSED), 1);
  /* One that is cancelled makes room. */
  on_loop(world, cancel_errand, first);
  struct asked *third = prepare_long(world, port, sizeof(long_row));
  struct asked *fourth = prepare_long(world, port, 10);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_REFUSED), 1);
  on_loop(world, shut_down, NULL);
  expect(third, KEYROUTE_E_CLOSED);
  expect(fourth, KEYROUTE_E_CLOSED);
  ck_assert_uint_eq(first->answers, 0);
  fake_black_hole_close(hole);
  free(first);
  free(second);
  free(third);
  free(fourth);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__server_that_does_not_read_is_overloaded_until_it_does)
{
  enum { MOST = 2000 };
  struct world *world = world_with_regions(1);
  static struct asked *all[MOST];
  int port = fake_server_port(world->server);
  int count = 0;
  struct asked *opener = ask(world, 1);
  expect(opener, 0);
  fake_server_set_silent(world->server, true);
  do {
    ck_assert_int_lt(count, MOST);
    all[count++] = prepare_long(world, port, sizeof(long_row));
  } while (kr_stats_read(world->stats, KR_COUNT_REFUSED) == 0);
  expect(all[count - 1], KEYROUTE_E_OVERLOADED);
  fake_server_set_silent(world->server, false);
  for (int i = 0; i < count - 1; i++) {
    expect(all[i], 0);
    free(all[i]);
  }
  free(all[count - 1]);

  struct asked *later = ask(world, 1);

  expect(later, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(later);
  free(opener);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__lone_request_is_sent_whatever_its_length)
{
  struct world *world = world_with_regions(1);

  world->settings.max_queue_len = 10;
  struct asked *asked = ask(world, 1);

  expect(asked, 0);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__refused_request_may_be_cancelled_or_shut_down)
{
  struct world *world = new_world();
  int port;
  struct fake_black_hole *hole = fake_black_hole_open(&port);
  struct asked *first = prepare_long(world, port, sizeof(long_row));
  struct asked *refused[2];

  world->settings.max_queue_len = 1;
  for (int i = 0; i < 2; i++) {
    refused[i] = prepare_long(world, port, 10);
    on_loop(world, i == 0 ? cancel_errand : shut_down, refused[i]);
  }

  expect(first, KEYROUTE_E_CLOSED);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_REFUSED), 2);
  fake_black_hole_close(hole);
  free_world(world);
  ck_assert_uint_le(refused[0]->answers, 1);
  ck_assert_uint_eq(refused[1]->answers, 1);
  free(first);
  free(refused[0]);
  free(refused[1]);
}
END_TEST

/* ---- The end --------------------------------------------------------------------------------- */

static void start_and_shut_down(struct world *world, void *arg)
{
  start_asked(arg);
  shut_down(world, NULL);
}

START_TEST(test_transport_hbase__shutdown_ends_requests_in_every_state)
{
  struct world *world = world_with_regions(3);
  struct asked *waiting, *resolving, *connecting, *fresh;

  fault(world, FAKE_NEVER);
  waiting = ask(world, 1);
  ck_assert(fake_server_wait_scans(world->server, 1, PATIENCE_MS));
  on_loop(world, submit_block, NULL);
  resolving = prepare(world, 1);
  resolving->host = "localhost";
  on_loop(world, start_errand, resolving);
  connecting = prepare(world, 1);
  struct fake_black_hole *hole = fake_black_hole_open(&connecting->port);

  on_loop(world, start_errand, connecting);
  fresh = prepare(world, 1);
  fresh->then = prepare(world, 1);
  fresh->port = closed_port();
  on_loop(world, start_and_shut_down, fresh);

  expect(waiting, KEYROUTE_E_CLOSED);
  expect(resolving, KEYROUTE_E_CLOSED);
  expect(connecting, KEYROUTE_E_CLOSED);
  expect(fresh, KEYROUTE_E_CLOSED);
  ck_assert(fresh->then->refused);
  free_world(world);
  fake_black_hole_close(hole);
  free(waiting);
  free(resolving);
  free(connecting);
  free(fresh->then);
  free(fresh);
}
END_TEST

static void start_and_cancel(struct world *world, void *arg)
{
  start_asked(arg);
  cancel_errand(world, arg);
}

START_TEST(test_transport_hbase__shutdown_right_after_the_start_is_clean)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  on_loop(world, start_and_shut_down, asked);

  expect(asked, KEYROUTE_E_CLOSED);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__cancel_right_after_the_start_is_clean)
{
  struct world *world = world_with_regions(3);
  struct asked *cancelled = prepare(world, 1);

  on_loop(world, start_and_cancel, cancelled);
  struct asked *next = ask(world, 2);

  expect(next, 0);
  ck_assert_uint_eq(cancelled->answers, 0);
  free(cancelled);
  free(next);
  free_world(world);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("transport_hbase_wait");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests,
                 test_transport_hbase__timeout_names_server_and_time_and_the_late_reply_is_skipped);
  tcase_add_test(tests, test_transport_hbase__who_has_little_time_does_not_cost_a_connection);
  tcase_add_test(tests,
                 test_transport_hbase__connection_silent_for_a_whole_second_takes_no_more_requests);
  tcase_add_test(tests, test_transport_hbase__cancelled_request_gets_no_answer_and_disturbs_nobody);
  tcase_add_test(tests, test_transport_hbase__second_reply_to_a_request_is_skipped);
  tcase_add_test(tests, test_transport_hbase__idle_connection_is_closed_and_made_again);
  tcase_add_test(tests, test_transport_hbase__connection_with_a_request_is_not_idle);
  tcase_add_test(tests,
                 test_transport_hbase__more_than_may_wait_while_connecting_is_overloaded_at_once);
  tcase_add_test(tests,
                 test_transport_hbase__server_that_does_not_read_is_overloaded_until_it_does);
  tcase_add_test(tests, test_transport_hbase__lone_request_is_sent_whatever_its_length);
  tcase_add_test(tests, test_transport_hbase__refused_request_may_be_cancelled_or_shut_down);
  tcase_add_test(tests, test_transport_hbase__shutdown_ends_requests_in_every_state);
  tcase_add_test(tests, test_transport_hbase__shutdown_right_after_the_start_is_clean);
  tcase_add_test(tests, test_transport_hbase__cancel_right_after_the_start_is_clean);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
