/*
 * A gRPC module without gRPC. The handle of a call is its number plus one.
 */
#include "test/fake_module.h"

#include "test/must.h"

#include <stdint.h>
#include <string.h>

enum { CALLS_MAX = 20000 };

struct call {
  struct fake_module_call seen;
  void *message;
  struct kr_grpc_events events;
  void *arg;
};

struct kr_grpc {
  int unused;
};

static struct kr_grpc client;
static struct kr_grpc_settings settings_seen;
static struct call *calls[CALLS_MAX];
static size_t count;
static int open_error;
static const char *open_reason;
static int start_countdown;
static struct keyroute_bytes hurried;
static bool hurries, hurry_ends;

const struct kr_grpc_settings *fake_module_settings(void)
{
  return &settings_seen;
}

void fake_module_refuse_open(int error, const char *reason)
{
  open_error = error;
  open_reason = reason;
}

void fake_module_refuse_start(int n)
{
  start_countdown = n;
}

size_t fake_module_count(void)
{
  return count;
}

const struct fake_module_call *fake_module_call(size_t index)
{
  must_work(index < count);
  return &calls[index]->seen;
}

void fake_module_send(size_t index, struct keyroute_bytes message)
{
  must_work(index < count && !calls[index]->seen.over);
  calls[index]->events.message(calls[index]->arg, message);
}

void fake_module_end(size_t index, const struct kr_grpc_status *status)
{
  must_work(index < count && !calls[index]->seen.over);
  calls[index]->seen.over = true;
  calls[index]->events.done(calls[index]->arg, status);
}

void fake_module_end_code(size_t index, int code, const char *text)
{
  struct kr_grpc_status status = {
      .code = code, .message = keyroute_string(text), .pushback_ms = -1};

  fake_module_end(index, &status);
}

void fake_module_hurry(struct keyroute_bytes message, bool ends)
{
  hurries = true;
  hurried = message;
  hurry_ends = ends;
}

static int open_client(struct kr_grpc **out, const struct kr_grpc_settings *settings,
                       const char **reason)
{
  if (open_error != 0) {
    *reason = open_reason;
    return open_error;
  }
  settings_seen = *settings;
  *out = &client;
  return 0;
}

static void note_metadata(struct fake_module_call *seen, const struct kr_grpc_metadata *metadata)
{
  struct keyroute_bytes value = metadata->value;

  if (strcmp(metadata->key, "x-goog-request-params") == 0) {
    snprintf(seen->params, sizeof(seen->params), "%.*s", (int)value.len, (const char *)value.data);
  } else {
    must_work(strcmp(metadata->key, "bigtable-features") == 0);
    snprintf(seen->features, sizeof(seen->features), "%.*s", (int)value.len,
             (const char *)value.data);
  }
}

static struct call *note_call(const struct kr_grpc_request *request)
{
  struct call *call = must(calloc(1, sizeof(*call)));

  snprintf(call->seen.host, sizeof(call->seen.host), "%s", request->host);
  snprintf(call->seen.method, sizeof(call->seen.method), "%s", request->method);
  call->seen.port = request->port;
  call->seen.timeout_ms = request->timeout_ms;
  call->message = must(malloc(request->message.len + 1));
  if (request->message.len > 0) {
    memcpy(call->message, request->message.data, request->message.len);
  }
  call->seen.message = (struct keyroute_bytes){call->message, request->message.len};
  for (size_t i = 0; i < request->metadata_count; i++) {
    note_metadata(&call->seen, &request->metadata[i]);
  }
  return call;
}

static void hurry(size_t index)
{
  hurries = false;
  if (hurried.len > 0) {
    fake_module_send(index, hurried);
  }
  if (hurry_ends) {
    fake_module_end_code(index, 0, "");
  }
}

static struct kr_grpc_call *start(struct kr_grpc *grpc, const struct kr_grpc_request *request,
                                  const struct kr_grpc_events *events, void *arg,
                                  uint64_t *connects)
{
  (void)grpc;
  if (start_countdown > 0 && --start_countdown == 0) {
    return NULL;
  }
  must_work(count < CALLS_MAX);
  struct call *call = note_call(request);
  size_t index = count++;

  call->events = *events;
  call->arg = arg;
  calls[index] = call;
  *connects += index == 0;
  if (hurries) {
    hurry(index);
  }
  return (struct kr_grpc_call *)(uintptr_t)(index + 1);
}

static void cancel(struct kr_grpc *grpc, struct kr_grpc_call *handle)
{
  struct call *call = calls[(uintptr_t)handle - 1];

  (void)grpc;
  call->seen.cancelled = !call->seen.over;
}

static void close_client(struct kr_grpc *grpc)
{
  (void)grpc;
  for (size_t i = 0; i < count; i++) {
    if (!calls[i]->seen.over) {
      fake_module_end_code(i, 1, "closed");
    }
    free(calls[i]->message);
    free(calls[i]);
  }
  count = 0;
}

const struct kr_grpc_module fake_module = {
    .version = KR_GRPC_MODULE_VERSION,
    .open = open_client,
    .start = start,
    .cancel = cancel,
    .close = close_client,
};
