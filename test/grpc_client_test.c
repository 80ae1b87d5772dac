/*
 * Calls of the gRPC client, and how they end, against a scripted server on loopback.
 */
#include "test/failing_mem.h"
#include "test/fake_grpc_server.h"
#include "test/grpc_harness.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct kr_grpc_module *module;
static struct kr_grpc *client;
static struct fake_grpc_server *server;
static struct grpc_result result = GRPC_RESULT_INIT;

static void set_up(void)
{
  const struct kr_grpc_settings settings = grpc_settings();

  module = grpc_module();
  server = fake_grpc_server_start(0);
  client = grpc_open(&settings);
}

static void tear_down(void)
{
  if (client != NULL) {
    module->close(client);
  }
  fake_grpc_server_free(server);
  ck_assert_int_eq(mem_live(), 0);
  ck_assert_uint_eq(result.after, 0);
  ck_assert_uint_le(result.dones, 1);
}

static void serve(fake_grpc_handler *handler, void *arg)
{
  fake_grpc_server_handle(server, GRPC_METHOD, handler, arg);
}

static struct kr_grpc_request request(const char *message)
{
  return grpc_request(fake_grpc_server_port(server), message);
}

static int ask(const char *message)
{
  struct kr_grpc_request asked = request(message);

  return grpc_ask(client, &asked, &result);
}

static struct kr_grpc_call *start(void)
{
  struct kr_grpc_request asked = request("");

  return grpc_start(client, &asked, &result);
}

/* ---- Handlers ------------------------------------------------------------------------------- */

static void echo(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, fake_grpc_request(call));
}

static void count_to(void *arg, struct fake_grpc_call *call)
{
  const int *count = arg;

  for (int i = 1; i <= *count; i++) {
    char text[16];

    snprintf(text, sizeof(text), "%d", i);
    fake_grpc_message(call, keyroute_string(text));
  }
}

static void say_nothing(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_hang(call);
}

static void message_then_silence(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, keyroute_string("one"));
  fake_grpc_hang(call);
}

static void message_then_break(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, keyroute_string("one"));
  fake_grpc_pause(call, 10);
  fake_grpc_break(call);
}

/* A message of so many bytes. */
static void send_long(void *arg, struct fake_grpc_call *call)
{
  const size_t *len = arg;
  char *content = calloc(*len + 1, 1);

  fake_grpc_message(call, (struct keyroute_bytes){content, *len});
  free(content);
}

static void end_with(void *arg, struct fake_grpc_call *call)
{
  fake_grpc_trailer(call, "grpc-status-details-bin", (struct keyroute_bytes){"\x08\x05\0\xFF", 4});
  fake_grpc_trailer(call, "grpc-retry-pushback-ms", keyroute_string(arg));
  fake_grpc_status(call, 8, "not \x01 now, \xC3\xA4");
}

/* Answers with two entries of the request's metadata. */
static void tell_metadata(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, fake_grpc_metadata(call, "bigtable-features"));
  fake_grpc_message(call, fake_grpc_metadata(call, "some-bin"));
}

/* ---- Answers -------------------------------------------------------------------------------- */

START_TEST(test_grpc_client__answer_of_one_message_arrives)
{
  serve(echo, NULL);

  ck_assert_int_eq(ask("hello"), 0);

  ck_assert_uint_eq(result.messages, 1);
  ck_assert_str_eq(result.last, "hello");
  ck_assert_uint_eq(result.details_len, 0);
  ck_assert_int_eq((int)result.status.pushback_ms, -1);
}
END_TEST

START_TEST(test_grpc_client__many_messages_arrive_in_order)
{
  int count = 1000;
  serve(count_to, &count);

  ck_assert_int_eq(ask(""), 0);

  ck_assert_uint_eq(result.messages, 1000);
  ck_assert_str_eq(result.last, "1000");
}
END_TEST

START_TEST(test_grpc_client__answer_may_be_no_message)
{
  int count = 0;
  serve(count_to, &count);

  ck_assert_int_eq(ask(""), 0);

  ck_assert_uint_eq(result.messages, 0);
}
END_TEST

START_TEST(test_grpc_client__message_may_be_empty)
{
  serve(echo, NULL);

  ck_assert_int_eq(ask(""), 0);

  ck_assert_uint_eq(result.messages, 1);
  ck_assert_uint_eq(result.bytes, 0);
}
END_TEST

START_TEST(test_grpc_client__message_of_several_pieces_arrives_whole)
{
  size_t len = 900000;
  serve(send_long, &len);

  ck_assert_int_eq(ask(""), 0);

  ck_assert_uint_eq(result.bytes, len);
}
END_TEST

START_TEST(test_grpc_client__too_long_message_is_refused)
{
  size_t len = (1 << 20) + 1;
  serve(send_long, &len);

  ck_assert_int_eq(ask(""), 8);

  ck_assert_uint_eq(result.messages, 0);
  ck_assert(result.status.too_long);
  ck_assert_msg(!result.status.connecting, "%s", result.text);
}
END_TEST

START_TEST(test_grpc_client__longest_allowed_message_is_taken)
{
  size_t len = 1 << 20;
  serve(send_long, &len);

  ck_assert_int_eq(ask(""), 0);

  ck_assert_uint_eq(result.bytes, len);
}
END_TEST

START_TEST(test_grpc_client__metadata_arrives_text_and_bytes)
{
  const struct kr_grpc_metadata metadata[] = {{"bigtable-features", {"CAE=", 4}},
                                              {"some-bin", {"\0\xFF", 2}}};
  struct kr_grpc_request asked = request("");
  asked.metadata = metadata;
  asked.metadata_count = 2;
  serve(tell_metadata, NULL);

  ck_assert_int_eq(grpc_ask(client, &asked, &result), 0);

  ck_assert_uint_eq(result.bytes, 6);
  ck_assert_mem_eq(result.last, "\0\xFF", 2);
}
END_TEST

START_TEST(test_grpc_client__metadata_that_http2_forbids_ends_as_invalid)
{
  const struct kr_grpc_metadata metadata[] = {{"x-goog-request-params", {"a\nb", 3}}};
  struct kr_grpc_request asked = request("");
  asked.metadata = metadata;
  asked.metadata_count = 1;
  serve(echo, NULL);

  ck_assert_int_eq(grpc_ask(client, &asked, &result), 3);

  ck_assert_str_eq(result.text, "a request that gRPC does not take");
  ck_assert_uint_eq(fake_grpc_server_seen(server), 0);
}
END_TEST

/* ---- Endings -------------------------------------------------------------------------------- */

START_TEST(test_grpc_client__method_that_nobody_serves_is_told_so)
{
  ck_assert_int_eq(ask(""), 12);

  ck_assert_uint_eq(result.messages, 0);
  ck_assert_str_eq(result.text, "no such method here");
  ck_assert(!result.status.connecting);
}
END_TEST

START_TEST(test_grpc_client__status_comes_with_text_details_and_pushback)
{
  serve(end_with, "1500");

  ck_assert_int_eq(ask(""), 8);

  ck_assert_str_eq(result.text, "not \x01 now, \xC3\xA4");
  ck_assert_uint_eq(result.details_len, 4);
  ck_assert_mem_eq(result.details, "\x08\x05\0\xFF", 4);
  ck_assert_int_eq((int)result.status.pushback_ms, 1500);
  ck_assert(!result.status.connecting);
  ck_assert(!result.status.too_long);
}
END_TEST

START_TEST(test_grpc_client__pushback_that_is_no_wait_is_as_none)
{
  static const char *const odd[] = {"-1", "", "12x", "99999999999999999999"};

  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    struct grpc_result each = GRPC_RESULT_INIT;
    struct kr_grpc_request asked = request("");
    serve(end_with, (void *)odd[i]);

    ck_assert_int_eq(grpc_ask(client, &asked, &each), 8);

    ck_assert_msg(each.status.pushback_ms == -1, "%s: %d", odd[i], (int)each.status.pushback_ms);
  }
}
END_TEST

START_TEST(test_grpc_client__silent_server_is_given_up_at_the_deadline)
{
  struct kr_grpc_request asked = request("");
  asked.timeout_ms = 50;
  serve(message_then_silence, NULL);

  ck_assert_int_eq(grpc_ask(client, &asked, &result), 4);

  ck_assert(!result.status.connecting);
  ck_assert(fake_grpc_server_wait_open(server, 0, GRPC_LONG_MS));
}
END_TEST

START_TEST(test_grpc_client__broken_connection_is_unavailable_and_not_connecting)
{
  serve(message_then_break, NULL);

  ck_assert_int_eq(ask(""), 14);

  ck_assert_uint_eq(result.messages, 1);
  ck_assert(!result.status.connecting);
}
END_TEST

/* ---- Cancelling ----------------------------------------------------------------------------- */

START_TEST(test_grpc_client__call_cancelled_at_once_ends_as_cancelled)
{
  serve(say_nothing, NULL);

  module->cancel(client, start());
  grpc_await_done(&result);

  ck_assert_int_eq(result.status.code, 1);
}
END_TEST

START_TEST(test_grpc_client__call_cancelled_between_messages_ends_as_cancelled)
{
  serve(message_then_silence, NULL);
  struct kr_grpc_call *call = start();
  grpc_await_messages(&result, 1);

  module->cancel(client, call);
  module->cancel(client, call);
  grpc_await_done(&result);

  ck_assert_int_eq(result.status.code, 1);
  ck_assert(!result.status.connecting);
  ck_assert_uint_eq(result.messages, 1);
  ck_assert(fake_grpc_server_wait_open(server, 0, GRPC_LONG_MS));
}
END_TEST

START_TEST(test_grpc_client__cancel_after_the_end_hits_no_other_call)
{
  serve(echo, NULL);
  struct kr_grpc_call *old = start();
  grpc_await_done(&result);

  for (int i = 0; i < 100; i++) {
    struct grpc_result other = GRPC_RESULT_INIT;
    struct kr_grpc_request asked = request("");

    grpc_start(client, &asked, &other);
    module->cancel(client, old);
    grpc_await_done(&other);

    ck_assert_int_eq(other.status.code, 0);
  }
}
END_TEST

START_TEST(test_grpc_client__close_ends_what_is_under_way)
{
  serve(say_nothing, NULL);
  start();
  ck_assert(fake_grpc_server_wait_seen(server, 1, GRPC_LONG_MS));

  module->close(client);
  client = NULL;

  ck_assert_uint_eq(result.dones, 1);
  ck_assert_int_eq(result.status.code, 1);
  ck_assert(!result.status.connecting);
}
END_TEST

/* A call that starts another when it ends. */
struct chain {
  struct grpc_result result;
  struct kr_grpc_request next;
  bool has_next;
};

static void ignore_message(void *arg, struct keyroute_bytes message)
{
  (void)arg;
  (void)message;
}

static void start_next(void *arg, const struct kr_grpc_status *status)
{
  struct chain *chain = arg;
  uint64_t connects = 0;

  chain->has_next =
      module->start(client, &chain->next, &grpc_events, &chain->result, &connects) != NULL;
  grpc_events.done(&result, status);
}

START_TEST(test_grpc_client__done_may_start_a_call_until_close_has_begun)
{
  const struct kr_grpc_events chained = {ignore_message, start_next};
  struct chain chain = {.result = GRPC_RESULT_INIT, .next = request("")};
  uint64_t connects = 0;
  serve(say_nothing, NULL);
  struct kr_grpc_call *call = module->start(client, &chain.next, &chained, &chain, &connects);

  module->cancel(client, call);
  grpc_await_done(&result);
  ck_assert(chain.has_next);
  module->close(client);
  client = NULL;

  ck_assert_uint_eq(chain.result.dones, 1);
}
END_TEST

/* ---- Many ----------------------------------------------------------------------------------- */

enum { THREADS = 8, AT_A_TIME = 8, ROUNDS = 20 };

static void *ask_many(void *arg)
{
  (void)arg;
  for (int round = 0; round < ROUNDS; round++) {
    struct grpc_result results[AT_A_TIME] = {GRPC_RESULT_INIT, GRPC_RESULT_INIT, GRPC_RESULT_INIT,
                                             GRPC_RESULT_INIT, GRPC_RESULT_INIT, GRPC_RESULT_INIT,
                                             GRPC_RESULT_INIT, GRPC_RESULT_INIT};
    struct kr_grpc_request asked = request("ping");

    for (int i = 0; i < AT_A_TIME; i++) {
      struct kr_grpc_call *call = grpc_start(client, &asked, &results[i]);

      if (i == round % AT_A_TIME) {
        module->cancel(client, call);
      }
    }
    for (int i = 0; i < AT_A_TIME; i++) {
      grpc_await_done(&results[i]);
      ck_assert(results[i].status.code == 0 ||
                (results[i].status.code == 1 && i == round % AT_A_TIME));
    }
  }
  return NULL;
}

START_TEST(test_grpc_client__calls_of_many_threads_end_each_as_it_should)
{
  pthread_t threads[THREADS];
  serve(echo, NULL);

  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_many, NULL), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }

  ck_assert_uint_eq(fake_grpc_server_connections(server), 1);
}
END_TEST

START_TEST(test_grpc_client__failed_allocation_starts_no_call_and_leaks_nothing)
{
  int failures = 0;
  serve(echo, NULL);

  for (long at = 1; at < 100; at++) {
    struct grpc_result each = GRPC_RESULT_INIT;
    struct kr_grpc_request asked = request("hello");
    uint64_t connects = 0;
    mem_fail(at);
    struct kr_grpc_call *call = module->start(client, &asked, &grpc_events, &each, &connects);

    if (call != NULL) {
      grpc_await_done(&each);
      ck_assert_int_eq(each.status.code, 0);
    }
    ck_assert_uint_eq(each.dones, call != NULL);
    failures += call == NULL;
    if (!mem_has_failed()) {
      break;
    }
  }
  mem_fail(0);

  ck_assert_int_ge(failures, 3);
}
END_TEST

START_TEST(test_grpc_client__failed_allocation_opens_none_and_leaks_nothing)
{
  const struct kr_grpc_settings settings = grpc_settings();
  const char *reason = "";
  int failures = 0;

  for (long at = 1; at < 100; at++) {
    struct kr_grpc *other = NULL;
    mem_fail(at);
    int error = module->open(&other, &settings, &reason);
    bool has_failed = mem_has_failed();

    mem_fail(0);
    if (!has_failed) {
      module->close(other);
      break;
    }
    ck_assert_int_eq(error, KEYROUTE_E_NO_MEMORY);
    ck_assert_ptr_null(other);
    failures++;
  }

  ck_assert_int_ge(failures, 2);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grpc_client");
  TCase *tests = tcase_create("calls");

  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_grpc_client__answer_of_one_message_arrives);
  tcase_add_test(tests, test_grpc_client__many_messages_arrive_in_order);
  tcase_add_test(tests, test_grpc_client__answer_may_be_no_message);
  tcase_add_test(tests, test_grpc_client__message_may_be_empty);
  tcase_add_test(tests, test_grpc_client__message_of_several_pieces_arrives_whole);
  tcase_add_test(tests, test_grpc_client__too_long_message_is_refused);
  tcase_add_test(tests, test_grpc_client__longest_allowed_message_is_taken);
  tcase_add_test(tests, test_grpc_client__metadata_arrives_text_and_bytes);
  tcase_add_test(tests, test_grpc_client__metadata_that_http2_forbids_ends_as_invalid);
  tcase_add_test(tests, test_grpc_client__method_that_nobody_serves_is_told_so);
  tcase_add_test(tests, test_grpc_client__status_comes_with_text_details_and_pushback);
  tcase_add_test(tests, test_grpc_client__pushback_that_is_no_wait_is_as_none);
  tcase_add_test(tests, test_grpc_client__silent_server_is_given_up_at_the_deadline);
  tcase_add_test(tests, test_grpc_client__broken_connection_is_unavailable_and_not_connecting);
  tcase_add_test(tests, test_grpc_client__call_cancelled_at_once_ends_as_cancelled);
  tcase_add_test(tests, test_grpc_client__call_cancelled_between_messages_ends_as_cancelled);
  tcase_add_test(tests, test_grpc_client__cancel_after_the_end_hits_no_other_call);
  tcase_add_test(tests, test_grpc_client__close_ends_what_is_under_way);
  tcase_add_test(tests, test_grpc_client__done_may_start_a_call_until_close_has_begun);
  tcase_add_test(tests, test_grpc_client__calls_of_many_threads_end_each_as_it_should);
  tcase_add_test(tests, test_grpc_client__failed_allocation_starts_no_call_and_leaks_nothing);
  tcase_add_test(tests, test_grpc_client__failed_allocation_opens_none_and_leaks_nothing);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
