/*
 * The public calls that read one row: a hop that sends a Get.
 *
 * The result is made with the call, so that an answer that has come is not lost for want of memory.
 *
 * Threads: as call.c says.
 */
#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/hop.h"
#include "lib/result.h"

#include <string.h>

struct get_call {
  struct kr_call base;
  struct kr_hop hop;
  struct kr_read read;
  struct keyroute_result *result; /* NULL = given away */
  keyroute_get_cb cb;
  void *payload;
  max_align_t room[]; /* the columns, then the row */
};

/* ---- On the loop ---- */

static void got(void *arg, const struct kr_failure *failure, struct kr_got *answer)
{
  struct get_call *call = arg;
  struct kr_hop *hop = &call->hop;

  if (failure->code == 0 && answer->rows[0].failure != NULL) {
    kr_free(call->base.conn->mem, answer->block);
    failure = answer->rows[0].failure;
  } else if (failure->code == 0) {
    kr_result_keep(call->result, answer->block);
    kr_result_set(call->result, 0, &answer->rows[0], hop->location, hop->asked);
    kr_stats_add(call->base.conn->stats, KR_COUNT_ROWS_READ, 1);
  }
  if (failure->code == 0) {
    kr_hop_answered(hop);
  } else {
    kr_hop_failed(hop, failure);
  }
}

static struct kr_request *send(struct kr_hop *hop, const char *host, int port, int64_t timeout_ms)
{
  struct get_call *call = (struct get_call *)hop->call;
  struct kr_transport *transport = hop->call->conn->transport;
  struct kr_buf room;
  struct kr_get_region region = {.count = 1};
  struct kr_gets gets = {
      .read = &call->read,
      .timeline = hop->replica != 0,
      .regions = &region,
      .region_count = 1,
      .rows = &hop->row,
      .row_count = 1,
  };
  struct kr_request *request = NULL;

  kr_buf_init(&room, hop->call->conn->mem);
  region.name = kr_location_replica_name(hop->location, hop->asked, &room);
  if (!room.failed) {
    request = transport->ops->get(transport, host, port, &gets, timeout_ms, got, call);
  }
  kr_buf_clear(&room);
  return request;
}

static void done(struct kr_hop *hop)
{
  kr_call_end(hop->call);
}

static const struct kr_hop_ops hop_ops = {.send = send, .done = done};

static void begin(struct kr_call *base)
{
  kr_hop_start(&((struct get_call *)base)->hop);
}

static void stop(struct kr_call *base, int code)
{
  kr_hop_stop(&((struct get_call *)base)->hop, code);
}

static struct keyroute_result *take_result(struct get_call *call)
{
  struct keyroute_result *result = call->result;

  call->result = NULL;
  return result;
}

static void tell(struct kr_call *base)
{
  struct get_call *call = (struct get_call *)base;
  int error = base->detail.error;

  call->cb(call->payload, error, error == 0 ? take_result(call) : NULL, &base->detail);
}

static void give(struct kr_call *base, void *out)
{
  *(struct keyroute_result **)out = take_result((struct get_call *)base);
}

static void free_call(struct kr_call *base)
{
  struct get_call *call = (struct get_call *)base;

  kr_table_release(call->hop.table);
  keyroute_location_release(call->hop.location);
  keyroute_result_free(call->result);
  kr_call_free(base);
}

static const struct kr_call_kind kind = {begin, stop, tell, give, free_call};

/* ---- In the caller's thread ---- */

/* What is asked, checked. */
struct request {
  struct keyroute_bytes table, row;
  struct kr_read read;
  struct kr_terms terms;
};

static int check(struct request *out, const struct keyroute_connection *conn, const char *table,
                 struct keyroute_bytes row, const struct keyroute_read *read,
                 const struct keyroute_call *call, struct keyroute_detail *detail)
{
  int error = kr_call_check_table(&out->table, conn->check_table, table, detail);

  if (error == 0) {
    error = kr_read_check_row(row, detail);
  }
  if (error == 0) {
    error = kr_read_check(&out->read, read, conn->settings->max_frame_len, detail);
  }
  if (error == 0) {
    error = kr_call_terms(&out->terms, conn, call, KR_HOP_FLAGS, detail);
  }
  out->row = row;
  out->terms.began_us = kr_clock_us();
  return error;
}

static void fill_hop(struct get_call *call, const struct request *request)
{
  call->hop.ops = &hop_ops;
  call->hop.call = &call->base;
  call->hop.step = "get";
  call->hop.replica = request->terms.replica;
  call->hop.flags = request->terms.flags;
  call->hop.row = kr_bytes((uint8_t *)call->room + kr_read_size(&request->read), request->row.len);
  memcpy((uint8_t *)(uintptr_t)call->hop.row.data, request->row.data, request->row.len);
}

/* NULL = out of memory. */
static struct kr_call *new_call(struct keyroute_connection *conn, const struct request *request,
                                keyroute_get_cb cb, void *payload)
{
  size_t size = sizeof(struct get_call) + kr_read_size(&request->read) + request->row.len;
  struct get_call *call = (struct get_call *)kr_call_new(size, conn, &kind, &request->terms);

  if (call == NULL) {
    return NULL;
  }
  call->cb = cb;
  call->payload = payload;
  kr_read_copy(&call->read, call->room, &request->read);
  fill_hop(call, request);
  call->result = kr_result_new(conn->mem, 1);
  call->hop.table = kr_cache_table(conn->cache, request->table);
  if (call->result == NULL || call->hop.table == NULL) {
    free_call(&call->base);
    return NULL;
  }
  return &call->base;
}

int keyroute_get(struct keyroute_result **out, struct keyroute_connection *conn, const char *table,
                 struct keyroute_bytes row, const struct keyroute_read *read,
                 const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct request request;
  int error = kr_call_may_wait(out, conn, detail);

  if (error != 0 || (error = check(&request, conn, table, row, read, call, detail)) != 0) {
    return error;
  }
  if (!kr_connection_enter(conn)) {
    return kr_fail_closed(conn, detail);
  }
  error = kr_call_wait(out, new_call(conn, &request, NULL, NULL), detail);
  kr_connection_leave(conn);
  return error;
}

int keyroute_get_async(uint64_t *number, struct keyroute_connection *conn, const char *table,
                       struct keyroute_bytes row, const struct keyroute_read *read,
                       const struct keyroute_call *call, keyroute_get_cb cb, void *payload)
{
  struct request request;

  if (conn == NULL || cb == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  int error = check(&request, conn, table, row, read, call, NULL);

  if (error == 0) {
    error = kr_call_start_or_free(number, new_call(conn, &request, cb, payload));
  }
  kr_connection_leave(conn);
  return error;
}
