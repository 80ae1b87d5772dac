/*
 * Answers that are no good: what is told of them, and whether their connection stays.
 */
#include "test/transport_hbase_harness.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
  enum fake_what what;
  int code;
  const char *message;
} faults[] = {
    {FAKE_CLOSE, KEYROUTE_E_UNREACHABLE, "closed by the server"},
    {FAKE_RESET, KEYROUTE_E_UNREACHABLE, "reset"},
    {FAKE_HALF, KEYROUTE_E_UNREACHABLE, "closed by the server"},
    {FAKE_WRONG_ID, KEYROUTE_E_PROTOCOL, "never made"},
    {FAKE_GARBAGE, KEYROUTE_E_PROTOCOL, "unreadable header"},
    {FAKE_HUGE_LENGTH, KEYROUTE_E_PROTOCOL, "over the limit"},
    {FAKE_NEGATIVE_LENGTH, KEYROUTE_E_PROTOCOL, "-1 bytes"},
    {FAKE_BAD_MESSAGE, KEYROUTE_E_PROTOCOL, "unreadable message"},
    {FAKE_BAD_COUNTS, KEYROUTE_E_PROTOCOL, "cell"},
    {FAKE_SPARE_BYTES, KEYROUTE_E_PROTOCOL, "more cells sent"},
    {FAKE_MIXED_ROW, KEYROUTE_E_PROTOCOL, "cells of two rows"},
    {FAKE_EMPTY_ROW, KEYROUTE_E_PROTOCOL, "row without cells"},
    {FAKE_PARTIAL_ROW, KEYROUTE_E_PROTOCOL, "partial row"},
};

#define FAULT_COUNT ((int)(sizeof(faults) / sizeof(faults[0])))

START_TEST(test_transport_hbase__broken_answer_is_told_and_the_next_request_reconnects)
{
  struct world *world = world_with_regions(3);
  char server[64];

  fault(world, faults[_i].what);
  struct asked *bad = ask(world, 3);

  expect(bad, faults[_i].code);
  expect_message(bad, faults[_i].message);
  snprintf(server, sizeof(server), "127.0.0.1:%d", fake_server_port(world->server));
  expect_message(bad, server);
  ck_assert_str_eq(bad->failure.server, server);
  ck_assert_int_eq(bad->failure.kind, KEYROUTE_KIND_DROP_SERVER);
  ck_assert_uint_eq(bad->count, 0);
  struct asked *good = ask(world, 3);

  expect(good, 0);
  ck_assert_uint_eq(good->count, 3);
  ck_assert_uint_eq(connects(world), 2);
  free(bad);
  free(good);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__inline_rows_are_checked_too)
{
  struct world *world = world_with_regions(3);

  fake_server_set_encoding(world->server, FAKE_INLINE);
  fault(world, FAKE_EMPTY_ROW);
  struct asked *asked = ask(world, 3);

  expect(asked, KEYROUTE_E_PROTOCOL);
  expect_message(asked, "row without cells");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__exception_is_told_and_the_connection_stays)
{
  struct world *world = world_with_regions(3);

  fault_exception(world, FAKE_EXCEPTION, "org.apache.hadoop.hbase.NotServingRegionException",
                  "hbase:meta,,1 is not online");
  struct asked *bad = ask(world, 3);

  expect(bad, KEYROUTE_E_REMOTE);
  ck_assert_int_eq(bad->failure.kind, KEYROUTE_KIND_REFRESH);
  expect_message(bad, ": NotServingRegionException: hbase:meta,,1 is not online");
  struct asked *good = ask(world, 3);

  expect(good, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(bad);
  free(good);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__throttled_scan_carries_the_servers_wait)
{
  struct world *world = new_world();

  fault_exception(world, FAKE_EXCEPTION, "org.apache.hadoop.hbase.quotas.RpcThrottlingException",
                  "number of requests exceeded - wait 2sec, 5ms");
  struct asked *asked = ask(world, 3);

  expect(asked, KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(asked->failure.wait_ms, 2005);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__wrong_region_is_not_served)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  asked->scan.region = keyroute_string("u,,1.0123.");
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_REMOTE);
  expect_message(asked, "NotServingRegionException");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__fatal_reply_ends_every_request_of_the_connection)
{
  struct world *world = world_with_regions(3);
  struct asked *asked[3];

  fake_server_fault(world->server, &(struct fake_fault){.what = FAKE_NEVER, .times = 2});
  fault_exception(world, FAKE_FATAL, "org.apache.hadoop.hbase.security.AccessDeniedException",
                  "Authentication is required");
  for (unsigned i = 0; i < 3; i++) {
    asked[i] = ask(world, 3);
  }

  for (unsigned i = 0; i < 3; i++) {
    expect(asked[i], KEYROUTE_E_AUTH);
    ck_assert(asked[i]->failure.final);
    expect_message(asked[i], "Authentication is required");
    free(asked[i]);
  }
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__lost_connection_ends_every_request)
{
  struct world *world = world_with_regions(3);
  struct asked *asked[3];

  fake_server_fault(world->server, &(struct fake_fault){.what = FAKE_NEVER, .times = 3});
  for (unsigned i = 0; i < 3; i++) {
    asked[i] = ask(world, 3);
  }
  ck_assert(fake_server_wait_scans(world->server, 3, PATIENCE_MS));
  fake_server_drop_connections(world->server);

  for (unsigned i = 0; i < 3; i++) {
    expect(asked[i], KEYROUTE_E_UNREACHABLE);
    free(asked[i]);
  }
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__request_made_in_the_callback_of_a_lost_one_reconnects)
{
  struct world *world = world_with_regions(3);
  struct asked *first = prepare(world, 1);
  struct asked *second = prepare(world, 2);

  fault(world, FAKE_CLOSE);
  first->then = second;
  on_loop(world, start_errand, first);

  expect(first, KEYROUTE_E_UNREACHABLE);
  expect(second, 0);
  ck_assert_uint_eq(connects(world), 2);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__server_back_on_the_same_port_is_found_again)
{
  struct world *world = world_with_regions(3);
  struct asked *before = ask(world, 1);

  expect(before, 0);
  fake_server_stop(world->server);
  struct asked *meanwhile = ask(world, 1);

  expect(meanwhile, KEYROUTE_E_UNREACHABLE);
  fake_server_restart(world->server);
  struct asked *after = ask(world, 1);

  expect(after, 0);
  free(before);
  free(meanwhile);
  free(after);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__claimed_length_allocates_nothing)
{
  struct world *world = new_world();

  world->settings.max_frame_len = SIZE_MAX;
  fault(world, FAKE_HUGE_LENGTH);
  struct asked *asked = prepare(world, 3);

  asked->timeout_ms = 300;
  on_loop(world, start_errand, asked);
  expect(asked, KEYROUTE_E_TIMEOUT);
  pthread_mutex_lock(&world->memory.lock);
  ck_assert_uint_lt(world->memory.largest, 200 * 1024);
  pthread_mutex_unlock(&world->memory.lock);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__reply_over_the_limit_is_refused)
{
  struct world *world = world_with_regions(5);

  world->settings.max_frame_len = 600;
  struct asked *small = ask(world, 1);

  expect(small, 0);
  struct asked *large = ask(world, 5);

  expect(large, KEYROUTE_E_PROTOCOL);
  expect_message(large, "over the limit of 600");
  free(small);
  free(large);
  free_world(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("transport_hbase_bad");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests,
                      test_transport_hbase__broken_answer_is_told_and_the_next_request_reconnects,
                      0, FAULT_COUNT);
  tcase_add_test(tests, test_transport_hbase__inline_rows_are_checked_too);
  tcase_add_test(tests, test_transport_hbase__exception_is_told_and_the_connection_stays);
  tcase_add_test(tests, test_transport_hbase__throttled_scan_carries_the_servers_wait);
  tcase_add_test(tests, test_transport_hbase__wrong_region_is_not_served);
  tcase_add_test(tests, test_transport_hbase__fatal_reply_ends_every_request_of_the_connection);
  tcase_add_test(tests, test_transport_hbase__lost_connection_ends_every_request);
  tcase_add_test(tests,
                 test_transport_hbase__request_made_in_the_callback_of_a_lost_one_reconnects);
  tcase_add_test(tests, test_transport_hbase__server_back_on_the_same_port_is_found_again);
  tcase_add_test(tests, test_transport_hbase__claimed_length_allocates_nothing);
  tcase_add_test(tests, test_transport_hbase__reply_over_the_limit_is_refused);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
