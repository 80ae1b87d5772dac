/*
 * The gRPC client's ways to servers: none there, lost, back again, idle.
 */
#include "test/blocking.h"
#include "test/failing_mem.h"
#include "test/fake_grpc_server.h"
#include "test/fake_server.h"
#include "test/grpc_harness.h"
#include "test/loopback.h"
#include "test/proxy.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct kr_grpc_module *module;
static struct kr_grpc *client;
static struct fake_grpc_server *server;
static uint64_t connects;

static void echo(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, fake_grpc_request(call));
}

static void break_off(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_break(call);
}

static void say_nothing(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_hang(call);
}

static void set_up(void)
{
  const struct kr_grpc_settings settings = grpc_settings();

  module = grpc_module();
  server = fake_grpc_server_start(0);
  fake_grpc_server_handle(server, GRPC_METHOD, echo, NULL);
  client = grpc_open(&settings);
}

static void tear_down(void)
{
  module->close(client);
  fake_grpc_server_free(server);
  ck_assert_int_eq(mem_live(), 0);
}

/* Ask any host, and wait for the end. Returns the status code. */
static int ask_at(const char *host, int port, int64_t timeout_ms, struct grpc_result *result)
{
  struct kr_grpc_request asked = grpc_request(port, "hello");

  asked.host = host;
  asked.timeout_ms = timeout_ms;
  ck_assert_ptr_nonnull(module->start(client, &asked, &grpc_events, result, &connects));
  grpc_await_done(result);
  return result->status.code;
}

static struct grpc_result last;

/* Ask the server. */
static int ask(void)
{
  last = (struct grpc_result)GRPC_RESULT_INIT;
  return ask_at("127.0.0.1", fake_grpc_server_port(server), GRPC_LONG_MS, &last);
}

/* The server must answer. */
static void check_answer(void)
{
  ask();
  ck_assert_msg(last.status.code == 0, "%d %s%s", last.status.code, last.text,
                last.status.connecting ? ", while connecting" : "");
}

/* ---- Not there ------------------------------------------------------------------------------ */

START_TEST(test_grpc_channel__refused_port_is_unavailable_while_connecting)
{
  struct grpc_result result = GRPC_RESULT_INIT;

  ck_assert_int_eq(ask_at("127.0.0.1", closed_port(), GRPC_LONG_MS, &result), 14);

  ck_assert(result.status.connecting);
  ck_assert(!result.status.resolving);
  ck_assert_msg(strstr(result.text, "refused") != NULL, "%s", result.text);
}
END_TEST

START_TEST(test_grpc_channel__host_without_address_is_unavailable_while_resolving)
{
  struct grpc_result result = GRPC_RESULT_INIT;

  ck_assert_int_eq(ask_at("nowhere.invalid", 1234, GRPC_LONG_MS, &result), 14);

  ck_assert_msg(result.status.resolving, "%s", result.text);
  ck_assert(result.status.connecting);
}
END_TEST

START_TEST(test_grpc_channel__host_with_bytes_of_a_uri_is_a_host_without_address)
{
  static const char *const odd[] = {
      "a/b", "x?y=1", "no#fragment", "%31%32%37.0.0.1", "\xC3\xA4.invalid",
      "a b", "",      "a,127.0.0.1", "[127.0.0.1]"};

  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    struct grpc_result result = GRPC_RESULT_INIT;
    int code = ask_at(odd[i], fake_grpc_server_port(server), GRPC_LONG_MS, &result);

    ck_assert_msg(code == 14 && result.status.connecting, "%s: %d %s", odd[i], code, result.text);
  }
  ck_assert_uint_eq(fake_grpc_server_seen(server), 0);
}
END_TEST

START_TEST(test_grpc_channel__silent_port_is_given_up_at_the_deadline_while_connecting)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  int port;
  struct fake_black_hole *hole = fake_black_hole_open(&port);

  ck_assert_int_eq(ask_at("127.0.0.1", port, 100, &result), 4);

  ck_assert(result.status.connecting);
  fake_black_hole_close(hole);
}
END_TEST

START_TEST(test_grpc_channel__silent_port_is_unavailable_after_the_time_to_connect)
{
  struct kr_grpc_settings settings = grpc_settings();
  struct grpc_result result = GRPC_RESULT_INIT;
  int port;
  struct fake_black_hole *hole = fake_black_hole_open(&port);
  settings.connect_timeout_ms = 200;
  module->close(client);
  client = grpc_open(&settings);

  ck_assert_int_eq(ask_at("127.0.0.1", port, GRPC_LONG_MS, &result), 14);

  ck_assert(result.status.connecting);
  fake_black_hole_close(hole);
}
END_TEST

START_TEST(test_grpc_channel__localhost_is_found_without_a_name_server)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  int code = ask_at("localhost", fake_grpc_server_port(server), GRPC_LONG_MS, &result);

  ck_assert_msg(code == 0, "%d %s", code, result.text);
}
END_TEST

START_TEST(test_grpc_channel__address_of_ipv6_needs_no_brackets)
{
  struct grpc_result result = GRPC_RESULT_INIT;

  ck_assert_int_eq(ask_at("::1", closed_port(), GRPC_LONG_MS, &result), 14);

  ck_assert(!result.status.resolving);
  ck_assert_msg(strstr(result.text, "::1") != NULL, "%s", result.text);
}
END_TEST

/* ---- Lost and back -------------------------------------------------------------------------- */

START_TEST(test_grpc_channel__one_connection_serves_calls_that_follow_each_other)
{
  for (int i = 0; i < 10; i++) {
    check_answer();
  }

  ck_assert_uint_eq(connects, 1);
  ck_assert_uint_eq(fake_grpc_server_connections(server), 1);
}
END_TEST

START_TEST(test_grpc_channel__server_that_is_back_answers_the_next_call)
{
  for (int i = 0; i < 5; i++) {
    check_answer();
    fake_grpc_server_stop(server);
    for (int tries = 0; tries < 5; tries++) {
      ck_assert_int_eq(ask(), 14); /* were gRPC's backoff in force, it would have grown */
    }
    fake_grpc_server_restart(server);

    check_answer();
  }
}
END_TEST

START_TEST(test_grpc_channel__dead_server_is_tried_anew_by_each_call)
{
  check_answer();
  fake_grpc_server_stop(server);

  for (unsigned i = 1; i <= 5; i++) {
    ck_assert_int_eq(ask(), 14);
    ck_assert_uint_eq(connects, i);
  }
}
END_TEST

START_TEST(test_grpc_channel__broken_connection_is_replaced_for_the_next_call)
{
  for (int i = 0; i < 10; i++) {
    fake_grpc_server_handle(server, GRPC_METHOD, break_off, NULL);
    ck_assert_int_eq(ask(), 14);
    fake_grpc_server_handle(server, GRPC_METHOD, echo, NULL);

    check_answer();
  }
}
END_TEST

START_TEST(test_grpc_channel__calls_under_way_end_when_the_server_dies)
{
  enum { CALLS = 16 };
  struct grpc_result results[CALLS];
  struct kr_grpc_request asked = grpc_request(fake_grpc_server_port(server), "");
  fake_grpc_server_handle(server, GRPC_METHOD, say_nothing, NULL);
  for (int i = 0; i < CALLS; i++) {
    results[i] = (struct grpc_result)GRPC_RESULT_INIT;
    grpc_start(client, &asked, &results[i]);
  }
  ck_assert(fake_grpc_server_wait_seen(server, CALLS, GRPC_LONG_MS));

  fake_grpc_server_stop(server);

  for (int i = 0; i < CALLS; i++) {
    grpc_await_done(&results[i]);
    ck_assert_int_ne(results[i].status.code, 0);
    ck_assert(!results[i].status.connecting);
  }
}
END_TEST

START_TEST(test_grpc_channel__silent_connection_is_noticed_while_a_call_is_out)
{
  struct kr_grpc_settings settings = grpc_settings();
  struct grpc_result result = GRPC_RESULT_INIT;
  struct proxy *proxy = proxy_start(fake_grpc_server_port(server));
  struct kr_grpc_request asked = grpc_request(proxy_port(proxy), "");
  settings.keepalive_ms = 1000;
  settings.connect_timeout_ms = 500; /* for the answer to a ping, too */
  module->close(client);
  client = grpc_open(&settings);
  fake_grpc_server_handle(server, GRPC_METHOD, say_nothing, NULL);
  grpc_start(client, &asked, &result);
  ck_assert(fake_grpc_server_wait_seen(server, 1, GRPC_LONG_MS));

  proxy_set(proxy, PROXY_STALL);
  grpc_await_done(&result);

  ck_assert_msg(result.status.code == 14, "%d %s", result.status.code, result.text);
  ck_assert(!result.status.connecting);
  proxy_stop(proxy);
}
END_TEST

START_TEST(test_grpc_channel__idle_one_is_closed)
{
  struct kr_grpc_settings settings = grpc_settings();
  settings.idle_ms = 50;
  module->close(client);
  client = grpc_open(&settings);
  check_answer();
  long before = mem_live();

  while (mem_live() == before || fake_grpc_server_connections(server) > 0) {
    pause_ms(5);
  }

  check_answer();
  ck_assert_uint_eq(connects, 2);
}
END_TEST

START_TEST(test_grpc_channel__one_with_a_call_is_not_idle)
{
  struct kr_grpc_settings settings = grpc_settings();
  struct grpc_result result = GRPC_RESULT_INIT;
  struct kr_grpc_request asked = grpc_request(fake_grpc_server_port(server), "");
  settings.idle_ms = 20;
  asked.timeout_ms = 300;
  module->close(client);
  client = grpc_open(&settings);
  fake_grpc_server_handle(server, GRPC_METHOD, say_nothing, NULL);

  ck_assert_int_eq(grpc_ask(client, &asked, &result), 4);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grpc_channel");
  TCase *tests = tcase_create("channels");

  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_grpc_channel__refused_port_is_unavailable_while_connecting);
  tcase_add_test(tests, test_grpc_channel__host_without_address_is_unavailable_while_resolving);
  tcase_add_test(tests, test_grpc_channel__host_with_bytes_of_a_uri_is_a_host_without_address);
  tcase_add_test(tests,
                 test_grpc_channel__silent_port_is_given_up_at_the_deadline_while_connecting);
  tcase_add_test(tests, test_grpc_channel__silent_port_is_unavailable_after_the_time_to_connect);
  tcase_add_test(tests, test_grpc_channel__localhost_is_found_without_a_name_server);
  tcase_add_test(tests, test_grpc_channel__address_of_ipv6_needs_no_brackets);
  tcase_add_test(tests, test_grpc_channel__one_connection_serves_calls_that_follow_each_other);
  tcase_add_test(tests, test_grpc_channel__server_that_is_back_answers_the_next_call);
  tcase_add_test(tests, test_grpc_channel__dead_server_is_tried_anew_by_each_call);
  tcase_add_test(tests, test_grpc_channel__broken_connection_is_replaced_for_the_next_call);
  tcase_add_test(tests, test_grpc_channel__calls_under_way_end_when_the_server_dies);
  tcase_add_test(tests, test_grpc_channel__silent_connection_is_noticed_while_a_call_is_out);
  tcase_add_test(tests, test_grpc_channel__idle_one_is_closed);
  tcase_add_test(tests, test_grpc_channel__one_with_a_call_is_not_idle);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
