/*
 * The gRPC client against a scripted server on loopback.
 */
#include "lib/grpc_load.h"

#include "test/fake_grpc_server.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define METHOD "/test.Service/Method"
enum { LONG_MS = 20000 };

static const struct kr_grpc_module *module;
static struct kr_grpc *client;
static struct fake_grpc_server *server;

/* What came of a call. */
struct result {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned messages, dones; /* lock, as all below */
  char last[64];
  size_t last_len, bytes;
  struct kr_grpc_status status;
  char text[256], details[256];
  size_t details_len;
};

#define RESULT_INIT                                                                                \
  {                                                                                                \
    .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                         \
  }

static size_t keep(char *to, size_t size, struct keyroute_bytes bytes)
{
  size_t len = bytes.len < size - 1 ? bytes.len : size - 1;

  if (len > 0) {
    memcpy(to, bytes.data, len);
  }
  to[len] = '\0';
  return len;
}

static void take_message(void *arg, struct keyroute_bytes message)
{
  struct result *result = arg;

  pthread_mutex_lock(&result->lock);
  result->messages++;
  result->bytes += message.len;
  result->last_len = keep(result->last, sizeof(result->last), message);
  pthread_cond_broadcast(&result->changed);
  pthread_mutex_unlock(&result->lock);
}

static void take_done(void *arg, const struct kr_grpc_status *status)
{
  struct result *result = arg;

  pthread_mutex_lock(&result->lock);
  result->dones++;
  result->status = *status;
  keep(result->text, sizeof(result->text), status->message);
  result->details_len = keep(result->details, sizeof(result->details), status->details);
  pthread_cond_broadcast(&result->changed);
  pthread_mutex_unlock(&result->lock);
}

static const struct kr_grpc_events events = {take_message, take_done};

/* Wait until a count has grown so far. */
static void await(struct result *result, const unsigned *count, unsigned least)
{
  struct timespec until;
  int error = 0;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += LONG_MS / 1000;
  pthread_mutex_lock(&result->lock);
  while (*count < least && error == 0) {
    error = pthread_cond_timedwait(&result->changed, &result->lock, &until);
  }
  pthread_mutex_unlock(&result->lock);
  ck_assert_int_eq(error, 0);
}

static struct kr_grpc_settings settings(void)
{
  return (struct kr_grpc_settings){
      .allocator = &failing_allocator, .max_message_len = 1 << 20, .connect_timeout_ms = 5000};
}

static struct kr_grpc *open_with(const struct kr_grpc_settings *settings)
{
  struct kr_grpc *made = NULL;
  const char *reason = "";
  int error = module->open(&made, settings, &reason);

  ck_assert_msg(error == 0, "%d %s", error, reason);
  return made;
}

static struct kr_grpc_request request(const char *text)
{
  return (struct kr_grpc_request){.host = "127.0.0.1",
                                  .port = fake_grpc_server_port(server),
                                  .method = METHOD,
                                  .message = keyroute_string(text),
                                  .timeout_ms = LONG_MS};
}

static struct kr_grpc_call *start(struct result *result, const struct kr_grpc_request *request)
{
  uint64_t connects = 0;
  struct kr_grpc_call *call = module->start(client, request, &events, result, &connects);

  ck_assert_ptr_nonnull(call);
  return call;
}

/* A call from its start to its end. */
static void ask(struct result *result, const struct kr_grpc_request *request)
{
  start(result, request);
  await(result, &result->dones, 1);
}

static void set_up(void)
{
  const struct kr_grpc_settings usual = settings();
  const char *reason = "";
  int error = kr_grpc_load(&module, &reason);

  ck_assert_msg(error == 0, "%s", reason);
  server = fake_grpc_server_start(0);
  client = open_with(&usual);
}

static void tear_down(void)
{
  if (client != NULL) {
    module->close(client);
  }
  fake_grpc_server_free(server);
  ck_assert_int_eq(mem_live(), 0);
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

/* ---- Answers -------------------------------------------------------------------------------- */

START_TEST(test_grpc_client__answer_of_one_message_arrives)
{
  struct result result = RESULT_INIT;
  struct kr_grpc_request asked = request("hello");
  fake_grpc_server_handle(server, METHOD, echo, NULL);

  ask(&result, &asked);

  ck_assert_uint_eq(result.messages, 1);
  ck_assert_str_eq(result.last, "hello");
  ck_assert_int_eq(result.status.code, 0);
  ck_assert_int_eq((int)result.status.pushback_ms, -1);
}
END_TEST

START_TEST(test_grpc_client__many_messages_arrive_in_order)
{
  struct result result = RESULT_INIT;
  struct kr_grpc_request asked = request("");
  int count = 1000;
  fake_grpc_server_handle(server, METHOD, count_to, &count);

  ask(&result, &asked);

  ck_assert_uint_eq(result.messages, 1000);
  ck_assert_str_eq(result.last, "1000");
  ck_assert_int_eq(result.status.code, 0);
}
END_TEST

START_TEST(test_grpc_client__method_that_nobody_serves_is_told_so)
{
  struct result result = RESULT_INIT;
  struct kr_grpc_request asked = request("");

  ask(&result, &asked);

  ck_assert_uint_eq(result.messages, 0);
  ck_assert_int_eq(result.status.code, 12);
  ck_assert_str_eq(result.text, "no such method here");
  ck_assert(!result.status.connecting);
}
END_TEST

START_TEST(test_grpc_client__call_cancelled_between_messages_ends_as_cancelled)
{
  struct result result = RESULT_INIT;
  struct kr_grpc_request asked = request("");
  fake_grpc_server_handle(server, METHOD, message_then_silence, NULL);
  struct kr_grpc_call *call = start(&result, &asked);
  await(&result, &result.messages, 1);

  module->cancel(client, call);
  await(&result, &result.dones, 1);

  ck_assert_int_eq(result.status.code, 1);
  ck_assert_uint_eq(result.messages, 1);
}
END_TEST

START_TEST(test_grpc_client__close_ends_what_is_under_way)
{
  struct result result = RESULT_INIT;
  struct kr_grpc_request asked = request("");
  fake_grpc_server_handle(server, METHOD, say_nothing, NULL);
  start(&result, &asked);

  module->close(client);
  client = NULL;

  ck_assert_uint_eq(result.dones, 1);
  ck_assert_int_eq(result.status.code, 1);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grpc_client");
  TCase *answers = tcase_create("answers");

  tcase_set_timeout(answers, 60);
  tcase_add_checked_fixture(answers, set_up, tear_down);
  tcase_add_test(answers, test_grpc_client__answer_of_one_message_arrives);
  tcase_add_test(answers, test_grpc_client__many_messages_arrive_in_order);
  tcase_add_test(answers, test_grpc_client__method_that_nobody_serves_is_told_so);
  tcase_add_test(answers, test_grpc_client__call_cancelled_between_messages_ends_as_cancelled);
  tcase_add_test(answers, test_grpc_client__close_ends_what_is_under_way);
  suite_add_tcase(suite, answers);
  return run_suite(suite);
}
