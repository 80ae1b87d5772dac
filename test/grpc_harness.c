/*
 * Calls of the gRPC client, and waiting for what becomes of them. Any thread of a test; the events
 * are told on the client's.
 */
#include "test/grpc_harness.h"

#include "lib/grpc_load.h"

#include "test/failing_mem.h"

#include <check.h>
#include <string.h>
#include <time.h>

const struct kr_grpc_module *grpc_module(void)
{
  const struct kr_grpc_module *module = NULL;
  const char *reason = "";
  int error = kr_grpc_load(&module, &reason);

  ck_assert_msg(error == 0, "%s", reason);
  return module;
}

struct kr_grpc_settings grpc_settings(void)
{
  return (struct kr_grpc_settings){
      .allocator = &failing_allocator, .max_message_len = 1 << 20, .connect_timeout_ms = 5000};
}

struct kr_grpc *grpc_open(const struct kr_grpc_settings *settings)
{
  struct kr_grpc *client = NULL;
  const char *reason = "";
  int error = grpc_module()->open(&client, settings, &reason);

  ck_assert_msg(error == 0, "%d %s", error, reason);
  return client;
}

struct kr_grpc_request grpc_request(int port, const char *message)
{
  return (struct kr_grpc_request){.host = "127.0.0.1",
                                  .port = port,
                                  .method = GRPC_METHOD,
                                  .message = keyroute_string(message),
                                  .timeout_ms = GRPC_LONG_MS};
}

/* ---- Events --------------------------------------------------------------------------------- */

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
  struct grpc_result *result = arg;

  pthread_mutex_lock(&result->lock);
  result->messages++;
  result->after += result->dones;
  result->bytes += message.len;
  result->last_len = keep(result->last, sizeof(result->last), message);
  pthread_cond_broadcast(&result->changed);
  pthread_mutex_unlock(&result->lock);
}

static void take_done(void *arg, const struct kr_grpc_status *status)
{
  struct grpc_result *result = arg;

  pthread_mutex_lock(&result->lock);
  result->dones++;
  result->status = *status;
  keep(result->text, sizeof(result->text), status->message);
  result->details_len = keep(result->details, sizeof(result->details), status->details);
  pthread_cond_broadcast(&result->changed);
  pthread_mutex_unlock(&result->lock);
}

const struct kr_grpc_events grpc_events = {take_message, take_done};

/* ---- Calls ---------------------------------------------------------------------------------- */

struct kr_grpc_call *grpc_start(struct kr_grpc *client, const struct kr_grpc_request *request,
                                struct grpc_result *result)
{
  uint64_t connects = 0;
  struct kr_grpc_call *call =
      grpc_module()->start(client, request, &grpc_events, result, &connects);

  ck_assert_ptr_nonnull(call);
  return call;
}

static void await(struct grpc_result *result, const unsigned *count, unsigned least)
{
  struct timespec until;
  int error = 0;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 2 * GRPC_LONG_MS / 1000;
  pthread_mutex_lock(&result->lock);
  while (*count < least && error == 0) {
    error = pthread_cond_timedwait(&result->changed, &result->lock, &until);
  }
  pthread_mutex_unlock(&result->lock);
  ck_assert_int_eq(error, 0);
}

void grpc_await_messages(struct grpc_result *result, unsigned messages)
{
  await(result, &result->messages, messages);
}

void grpc_await_done(struct grpc_result *result)
{
  await(result, &result->dones, 1);
}

int grpc_ask(struct kr_grpc *client, const struct kr_grpc_request *request,
             struct grpc_result *result)
{
  grpc_start(client, request, result);
  grpc_await_done(result);
  return result->status.code;
}
