/*
 * The script of one call of the fake gRPC server: nothing but memory. Server's thread.
 */
#include "test/fake_grpc_script.h"

#include "test/must.h"

#include <string.h>

static struct keyroute_bytes copy(struct keyroute_bytes bytes)
{
  char *made = must(malloc(bytes.len + 1));

  if (bytes.len > 0) {
    memcpy(made, bytes.data, bytes.len);
  }
  made[bytes.len] = '\0';
  return (struct keyroute_bytes){made, bytes.len};
}

static void add_entry(struct fake_grpc_entries *to, struct keyroute_bytes key,
                      struct keyroute_bytes value)
{
  to->entries = must(realloc(to->entries, (to->count + 1) * sizeof(*to->entries)));
  to->entries[to->count++] = (struct fake_grpc_entry){(char *)copy(key).data, copy(value)};
}

static void clear_entries(struct fake_grpc_entries *entries)
{
  for (size_t i = 0; i < entries->count; i++) {
    free(entries->entries[i].key);
    free((void *)entries->entries[i].value.data);
  }
  free(entries->entries);
}

static void add_step(struct fake_grpc_call *call, struct fake_grpc_step step)
{
  call->steps = must(realloc(call->steps, (call->step_count + 1) * sizeof(step)));
  call->steps[call->step_count++] = step;
}

void fake_grpc_script_init(struct fake_grpc_call *call, const char *method,
                           struct keyroute_bytes request)
{
  *call = (struct fake_grpc_call){.method = must(strdup(method)), .request = copy(request)};
}

void fake_grpc_script_add_metadata(struct fake_grpc_call *call, struct keyroute_bytes key,
                                   struct keyroute_bytes value)
{
  add_entry(&call->metadata, key, value);
}

void fake_grpc_script_clear(struct fake_grpc_call *call)
{
  for (size_t i = 0; i < call->step_count; i++) {
    free((void *)call->steps[i].message.data);
  }
  free(call->steps);
  clear_entries(&call->metadata);
  clear_entries(&call->trailers);
  free((void *)call->request.data);
  free(call->method);
  free(call->text);
}

const char *fake_grpc_method(const struct fake_grpc_call *call)
{
  return call->method;
}

struct keyroute_bytes fake_grpc_request(const struct fake_grpc_call *call)
{
  return call->request;
}

struct keyroute_bytes fake_grpc_metadata(const struct fake_grpc_call *call, const char *key)
{
  for (size_t i = 0; i < call->metadata.count; i++) {
    if (strcmp(call->metadata.entries[i].key, key) == 0) {
      return call->metadata.entries[i].value;
    }
  }
  return (struct keyroute_bytes){NULL, 0};
}

void fake_grpc_message(struct fake_grpc_call *call, struct keyroute_bytes message)
{
  add_step(call, (struct fake_grpc_step){.what = FAKE_GRPC_MESSAGE, .message = copy(message)});
}

void fake_grpc_pause(struct fake_grpc_call *call, int ms)
{
  add_step(call, (struct fake_grpc_step){.what = FAKE_GRPC_PAUSE, .ms = ms});
}

void fake_grpc_hang(struct fake_grpc_call *call)
{
  add_step(call, (struct fake_grpc_step){.what = FAKE_GRPC_HANG});
}

void fake_grpc_break(struct fake_grpc_call *call)
{
  add_step(call, (struct fake_grpc_step){.what = FAKE_GRPC_BREAK});
}

void fake_grpc_trailer(struct fake_grpc_call *call, const char *key, struct keyroute_bytes value)
{
  add_entry(&call->trailers, (struct keyroute_bytes){key, strlen(key)}, value);
}

void fake_grpc_status(struct fake_grpc_call *call, int code, const char *text)
{
  free(call->text);
  call->text = must(strdup(text));
  call->code = code;
}
