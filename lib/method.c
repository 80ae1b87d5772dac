/*
 * The public calls that send a request of the application's own: a hop that sends bytes.
 *
 * The application has encoded the message but for field 1, the RegionSpecifier, which the transport
 * writes in front of it at each try. That the rest is a message, and has no field 1 of its own, is
 * checked by walking over its fields: the server would merge two of them, and act on whatever
 * region came out.
 *
 * Threads: as call.c says.  Source: HBase Client.proto; Protocol Buffers, Encoding
 */
#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/hop.h"
#include "lib/wire.h"

#include <string.h>

enum { METHOD_NAME_MAX = 100 };

struct keyroute_reply {
  struct kr_mem *mem; /* counted */
  struct keyroute_location *location;
  struct keyroute_bytes message, cells;
  uint8_t bytes[];
};

struct method_call {
  struct kr_call base;
  struct kr_hop hop;
  struct kr_method method; /* its bytes are in room */
  struct keyroute_reply *reply;
  keyroute_call_cb cb;
  void *payload;
  uint8_t room[]; /* row, param, cells, name */
};

/* ---- Replies ---- */

static struct keyroute_reply *new_reply(struct kr_mem *mem, struct keyroute_bytes message,
                                        struct keyroute_bytes cells)
{
  struct keyroute_reply *reply = kr_alloc(mem, sizeof(*reply) + message.len + cells.len);

  if (reply == NULL) {
    return NULL;
  }
  reply->mem = kr_mem_ref(mem);
  reply->location = NULL;
  reply->message = kr_bytes(reply->bytes, message.len);
  reply->cells = kr_bytes(reply->bytes + message.len, cells.len);
  if (message.len > 0) {
    memcpy(reply->bytes, message.data, message.len);
  }
  if (cells.len > 0) {
    memcpy(reply->bytes + message.len, cells.data, cells.len);
  }
  return reply;
}

void keyroute_reply_free(struct keyroute_reply *reply)
{
  if (reply != NULL) {
    struct kr_mem *mem = reply->mem;

    keyroute_location_release(reply->location);
    kr_free(mem, reply);
    kr_mem_release(mem);
  }
}

struct keyroute_bytes keyroute_reply_message(const struct keyroute_reply *reply)
{
  return reply != NULL ? reply->message : kr_bytes(NULL, 0);
}

struct keyroute_bytes keyroute_reply_cells(const struct keyroute_reply *reply)
{
  return reply != NULL ? reply->cells : kr_bytes(NULL, 0);
}

const struct keyroute_location *keyroute_reply_location(const struct keyroute_reply *reply)
{
  return reply != NULL ? reply->location : NULL;
}

/* ---- On the loop ---- */

/* An answer that has come and finds no memory is not asked for again: it may have been applied. */
static void fail_no_room(struct kr_hop *hop)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "an answer came, and memory was short");
  failure.sent = true;
  kr_hop_failed(hop, &failure);
}

static void answered(void *arg, const struct kr_failure *failure, struct keyroute_bytes message,
                     struct keyroute_bytes cells)
{
  struct method_call *call = arg;
  struct kr_hop *hop = &call->hop;

  if (failure->code != 0) {
    kr_hop_failed(hop, failure);
    return;
  }
  call->reply = new_reply(call->base.conn->mem, message, cells);
  if (call->reply == NULL) {
    fail_no_room(hop);
    return;
  }
  call->reply->location = keyroute_location_ref(hop->location);
  kr_hop_answered(hop);
}

static struct kr_request *send(struct kr_hop *hop, const char *host, int port, int64_t timeout_ms)
{
  struct method_call *call = (struct method_call *)hop->call;
  struct kr_transport *transport = hop->call->conn->transport;
  struct kr_request *request = NULL;
  struct kr_buf room;

  kr_buf_init(&room, hop->call->conn->mem);
  call->method.region = kr_location_replica_name(hop->location, hop->asked, &room);
  if (!room.failed) {
    request =
        transport->ops->call(transport, host, port, &call->method, timeout_ms, answered, call);
  }
  kr_buf_clear(&room);
  return request;
}

static void done(struct kr_hop *hop)
{
  kr_call_end(hop->call);
}

static const struct kr_hop_ops idempotent_ops = {.send = send, .done = done};
static const struct kr_hop_ops once_ops = {.send = send, .done = done, .once = true};

static void begin(struct kr_call *base)
{
  kr_hop_start(&((struct method_call *)base)->hop);
}

static void stop(struct kr_call *base, int code)
{
  kr_hop_stop(&((struct method_call *)base)->hop, code);
}

static struct keyroute_reply *take_reply(struct method_call *call)
{
  struct keyroute_reply *reply = call->reply;

  call->reply = NULL;
  return reply;
}

static void tell(struct kr_call *base)
{
  struct method_call *call = (struct method_call *)base;

  call->cb(call->payload, base->detail.error, take_reply(call), &base->detail);
}

static void give(struct kr_call *base, void *out)
{
  *(struct keyroute_reply **)out = take_reply((struct method_call *)base);
}

static void free_call(struct kr_call *base)
{
  struct method_call *call = (struct method_call *)base;

  kr_table_release(call->hop.table);
  keyroute_location_release(call->hop.location);
  keyroute_reply_free(call->reply);
  kr_call_free(base);
}

static const struct kr_call_kind kind = {begin, stop, tell, give, free_call};

/* ---- Checking ---- */

static int check_param(struct keyroute_bytes param, struct keyroute_detail *detail)
{
  struct kr_reader reader = kr_reader(param);

  int error = kr_call_check_bytes(param, "the param", detail);

  if (error != 0) {
    return error;
  }
  while (kr_reader_left(&reader) > 0) {
    uint64_t number = kr_wire_read(&reader).tag >> 3;

    if (reader.bad || number == 0) {
      return kr_fail_invalid(detail, "the param is no encoded message");
    }
    if (number == 1) {
      return kr_fail_invalid(detail, "the param has a field 1, which is the library's to write");
    }
  }
  return 0;
}

static int check_method(struct keyroute_method *out, const struct keyroute_method *given,
                        struct keyroute_detail *detail)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;

  if (given == NULL || given->size == 0) {
    return kr_fail_invalid(detail, "there is no method, or its size is not set");
  }
  memcpy(&method, given, given->size < sizeof(method) ? given->size : sizeof(method));
  if (method.name == NULL || method.name[0] == '\0' ||
      strnlen(method.name, METHOD_NAME_MAX + 1) > METHOD_NAME_MAX) {
    return kr_fail_invalid(detail, "the method has no name, or a too long one");
  }
  int error = kr_call_check_bytes(method.cells, "the block of cells", detail);

  *out = method;
  return error != 0 ? error : check_param(method.param, detail);
}

/* A message of gRPC's has nothing behind it. */
static int check_cells(const struct keyroute_method *method, const struct kr_settings *settings,
                       struct keyroute_detail *detail)
{
  if (method->cells.len > 0 && strcmp(settings->layout, "range") == 0) {
    return kr_fail_invalid(detail,
                           "there is a block of cells, which the nodes of a range directory "
                           "do not take");
  }
  return 0;
}

/* ---- In the caller's thread ---- */

/* What is asked, checked. */
struct request {
  struct keyroute_bytes table, row;
  struct keyroute_method method;
  struct kr_terms terms;
};

static int check(struct request *out, const struct keyroute_connection *conn, const char *table,
                 struct keyroute_bytes row, const struct keyroute_method *method,
                 const struct keyroute_call *call, struct keyroute_detail *detail)
{
  int error = kr_call_check_table(&out->table, conn->check_table, table, detail);

  if (error == 0) {
    error = kr_call_check_bytes(row, "the row", detail);
  }
  if (error == 0) {
    error = check_method(&out->method, method, detail);
  }
  if (error == 0) {
    error = check_cells(&out->method, conn->settings, detail);
  }
  if (error == 0) {
    error = kr_call_terms(&out->terms, conn, call, KR_HOP_FLAGS, detail);
  }
  out->row = row;
  out->terms.began_us = kr_clock_us();
  return error;
}

static void fill_call(struct method_call *call, const struct request *request)
{
  const struct keyroute_method *method = &request->method;
  uint8_t *to = call->room;

  call->hop.ops = method->idempotent ? &idempotent_ops : &once_ops;
  call->hop.call = &call->base;
  call->hop.step = "call";
  call->hop.replica = request->terms.replica;
  call->hop.flags = request->terms.flags;
  call->hop.row = kr_bytes_put(&to, request->row);
  call->method.param = kr_bytes_put(&to, method->param);
  call->method.cells = kr_bytes_put(&to, method->cells);
  call->method.name = (char *)to;
  memcpy(to, method->name, strlen(method->name) + 1);
}

/* NULL = out of memory. */
static struct kr_call *new_call(struct keyroute_connection *conn, const struct request *request,
                                keyroute_call_cb cb, void *payload)
{
  size_t size = sizeof(struct method_call) + request->row.len + request->method.param.len +
                request->method.cells.len + strlen(request->method.name) + 1;
  struct method_call *call = (struct method_call *)kr_call_new(size, conn, &kind, &request->terms);

  if (call == NULL) {
    return NULL;
  }
  call->cb = cb;
  call->payload = payload;
  fill_call(call, request);
  call->hop.table = kr_cache_table(conn->cache, request->table);
  if (call->hop.table == NULL) {
    free_call(&call->base);
    return NULL;
  }
  return &call->base;
}

int keyroute_call(struct keyroute_reply **out, struct keyroute_connection *conn, const char *table,
                  struct keyroute_bytes row, const struct keyroute_method *method,
                  const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct request request;
  int error = kr_call_may_wait(out, conn, detail);

  if (error != 0 || (error = check(&request, conn, table, row, method, call, detail)) != 0) {
    return error;
  }
  if (!kr_connection_enter(conn)) {
    return kr_fail_closed(conn, detail);
  }
  error = kr_call_wait(out, new_call(conn, &request, NULL, NULL), detail);
  kr_connection_leave(conn);
  return error;
}

int keyroute_call_async(uint64_t *number, struct keyroute_connection *conn, const char *table,
                        struct keyroute_bytes row, const struct keyroute_method *method,
                        const struct keyroute_call *call, keyroute_call_cb cb, void *payload)
{
  struct request request;

  if (conn == NULL || cb == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  int error = check(&request, conn, table, row, method, call, NULL);

  if (error == 0) {
    error = kr_call_start_or_free(number, new_call(conn, &request, cb, payload));
  }
  kr_connection_leave(conn);
  return error;
}
