/*
 * How the scripted region server answers methods that it does not know: Mutate, ExecService and
 * whatever else names its region first. They are kept, counted, and answered as told.
 *
 * A call counts as executed when its right answer was made, sent or not: what a fault answers in
 * its place was not.
 *
 * Source: HBase Client.proto: field 1 of these requests is the RegionSpecifier
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <string.h>

struct fake_method {
  struct fake_method *next;
  char *name;
  struct keyroute_bytes body, cells; /* its answer; ours */
  unsigned seen, executed;
};

/* ---- Methods -------------------------------------------------------------------------------- */

static struct fake_method *get_method(struct fake_server *server, const char *name)
{
  struct fake_method *method = server->methods;

  while (method != NULL && strcmp(method->name, name) != 0) {
    method = method->next;
  }
  if (method == NULL) {
    method = must(calloc(1, sizeof(*method)));
    method->name = must(strdup(name));
    method->next = server->methods;
    server->methods = method;
  }
  return method;
}

static void set_bytes(struct keyroute_bytes *at, struct keyroute_bytes bytes)
{
  free((void *)(uintptr_t)at->data);
  *at = fake_bytes_copy(bytes);
}

void fake_clear_methods(struct fake_server *server)
{
  while (server->methods != NULL) {
    struct fake_method *method = server->methods;

    server->methods = method->next;
    free((void *)(uintptr_t)method->body.data);
    free((void *)(uintptr_t)method->cells.data);
    free(method->name);
    free(method);
  }
}

void fake_server_answer_method(struct fake_server *server, const char *name,
                               struct keyroute_bytes body, struct keyroute_bytes cells)
{
  pthread_mutex_lock(&server->lock);
  struct fake_method *method = get_method(server, name);

  set_bytes(&method->body, body);
  set_bytes(&method->cells, cells);
  pthread_mutex_unlock(&server->lock);
}

unsigned fake_server_seen(struct fake_server *server, const char *name)
{
  pthread_mutex_lock(&server->lock);
  unsigned seen = get_method(server, name)->seen;

  pthread_mutex_unlock(&server->lock);
  return seen;
}

unsigned fake_server_executed(struct fake_server *server, const char *name)
{
  pthread_mutex_lock(&server->lock);
  unsigned executed = get_method(server, name)->executed;

  pthread_mutex_unlock(&server->lock);
  return executed;
}

void fake_note_seen(struct fake_server *server, const char *name)
{
  get_method(server, name)->seen++;
}

void fake_note_executed(struct fake_server *server, const char *name)
{
  get_method(server, name)->executed++;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static struct fake_out answer_call(struct fake_server *server, const struct fake_request *request,
                                   const struct fake_fault *fault)
{
  const struct fake_method *method = get_method(server, request->header->method_name);
  struct fake_out body = {0}, block = {0};
  struct fake_exception wrong;

  if (fake_find_hosted(server, request->message, &wrong) == NULL) {
    return fake_exception_reply(request->call_id, &wrong);
  }
  fake_out_bytes(&body, method->body.data, method->body.len);
  fake_out_bytes(&block, method->cells.data, method->cells.len);
  fake_note_executed(server, request->header->method_name);
  return fake_spoilt_reply(&body, &block, request, fault);
}

/* Field 1 of the parameter as a RegionSpecifier, or NULL. */
static Kr__Pb__RegionSpecifier *read_region(ProtobufCBinaryData param)
{
  const uint8_t *at = param.data;
  const uint8_t *end = param.data + param.len;

  if (param.len < 2 || *at++ != (1 << 3 | 2)) {
    return NULL;
  }
  uint64_t len = fake_in_varint(&at, end);

  return len <= (uint64_t)(end - at) ? kr__pb__region_specifier__unpack(NULL, (size_t)len, at)
                                     : NULL;
}

static void note_call(struct fake_seen_call *seen, const struct fake_request *request,
                      const Kr__Pb__RegionSpecifier *region)
{
  *seen = (struct fake_seen_call){.priority = request->header->priority,
                                  .timeout_ms = request->header->timeout,
                                  .call_id = request->header->call_id,
                                  .param_len = request->param.len,
                                  .cells_len = request->cells.len};
  fake_note_text(seen->method, sizeof(seen->method), request->header->method_name);
  fake_note_bytes(seen->region, sizeof(seen->region), region->value);
  fake_note_bytes(seen->param, sizeof(seen->param), request->param);
  fake_note_bytes(seen->cells, sizeof(seen->cells), request->cells);
}

bool fake_run_call(struct fake_server *server, struct fake_request *request)
{
  Kr__Pb__RegionSpecifier *region = read_region(request->param);

  if (region == NULL) {
    return false;
  }
  struct fake_target target = {region, NULL};

  server->counts.calls++;
  note_call(&server->seen_call, request, region);
  request->message = region;
  request->targets = &target;
  request->target_count = 1;
  fake_play(server, request, answer_call);
  kr__pb__region_specifier__free_unpacked(region, NULL);
  return true;
}
