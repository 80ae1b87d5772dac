/*
 * Connecting: names, addresses, and servers that are not there, or say nothing.
 */
#include "test/transport_hbase_harness.h"

#include "test/loopback.h"
#include "test/run_suite.h"

#include <stdlib.h>

START_TEST(test_transport_hbase__refused_connection_names_server_and_reason)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  asked->port = closed_port();
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_UNREACHABLE);
  expect_message(asked, "connect to 127.0.0.1:");
  expect_message(asked, "Connection refused");
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_CONNECTS), 0);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__black_hole_is_unreachable_by_the_connect_timeout)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);
  struct fake_black_hole *hole = fake_black_hole_open(&asked->port);

  world->settings.connect_timeout_ms = 200;
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_UNREACHABLE);
  expect_message(asked, "no answer to connect within 200 ms");
  fake_black_hole_close(hole);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__request_shorter_than_the_connect_timeout_times_out)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);
  struct fake_black_hole *hole = fake_black_hole_open(&asked->port);

  asked->timeout_ms = 100;
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_TIMEOUT);
  expect_message(asked, "within 100 ms, still connecting");
  fake_black_hole_close(hole);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__server_that_never_speaks_times_out)
{
  struct world *world = new_world();

  fake_server_set_silent(world->server, true);
  struct asked *asked = prepare(world, 1);

  asked->timeout_ms = 100;
  on_loop(world, start_errand, asked);
  expect(asked, KEYROUTE_E_TIMEOUT);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__name_is_resolved_and_all_its_addresses_are_tried)
{
  struct world *world = world_with_regions(3);
  struct asked *asked = prepare(world, 1);

  /* Where localhost is ::1 first, nobody listens there. */
  asked->host = "localhost";
  on_loop(world, start_errand, asked);

  expect(asked, 0);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__refused_name_names_the_address_tried)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  asked->host = "localhost";
  asked->port = closed_port();
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_UNREACHABLE);
  expect_message(asked, "connect to localhost:");
  expect_message(asked, "): Connection refused");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__name_that_does_not_resolve_is_named)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  /* Too long for a label: refused without asking anybody. */
  asked->host = "a0123456789012345678901234567890123456789012345678901234567890123456789.invalid";
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_RESOLVE);
  expect_message(asked, "host name \"a0123456789");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__resolver_without_an_answer_is_bounded_by_the_connect_timeout)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  world->settings.connect_timeout_ms = 100;
  asked->host = "localhost";
  on_loop(world, submit_block, NULL);
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_RESOLVE);
  expect_message(asked, "no answer from the resolver within 100 ms");
  free(asked);
  free_world(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("transport_hbase_connect");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_transport_hbase__refused_connection_names_server_and_reason);
  tcase_add_test(tests, test_transport_hbase__black_hole_is_unreachable_by_the_connect_timeout);
  tcase_add_test(tests, test_transport_hbase__request_shorter_than_the_connect_timeout_times_out);
  tcase_add_test(tests, test_transport_hbase__server_that_never_speaks_times_out);
  tcase_add_test(tests, test_transport_hbase__name_is_resolved_and_all_its_addresses_are_tried);
  tcase_add_test(tests, test_transport_hbase__refused_name_names_the_address_tried);
  tcase_add_test(tests, test_transport_hbase__name_that_does_not_resolve_is_named);
  tcase_add_test(
      tests, test_transport_hbase__resolver_without_an_answer_is_bounded_by_the_connect_timeout);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
