/*
 * The transport for HBase 0.94: a scan or a get becomes one request or several of its Writable RPC.
 *
 * Connections, numbers and timeouts are rpc.c's, bytes of frames are hbase094_rpc.c's, what methods
 * carry is hbase094_scan.c's. Reading rows is hbase094_gets.c's. What is left is the course of a
 * scan:
 *
 *     down   getClosestRowBefore -> a row, or none
 *     up     openScanner -> next -> rows; and close, to whose answer nobody listens
 *
 *  1. A request is the transport's until its callback is about to run or it is cancelled.
 *  2. Rows live as long as the callback that gets them.
 *  3. One scan has one time, whatever it takes.
 *  4. A scanner that is known is closed when it has been read or its scan is cancelled. One that
 *     failed, whose opening was not waited for, or whose connection takes no more requests, ends by
 *     its lease on the server.
 *  5. A reply that cannot be read fails its own request only, since its frame was sound; but the
 *     connection takes no further requests, so that the next try gets a new one. An answer to a
 *     scan that is too large to be kept is such a reply.
 *  6. No method but these is spoken: others carry classes of Java, not messages that an application
 *     could have made.
 *
 * Threads: the loop.
 */
#include "lib/transport_hbase094.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/hbase094_gets.h"
#include "lib/hbase094_rpc.h"
#include "lib/hbase094_scan.h"
#include "lib/meta_key.h"

#include <string.h>

struct transport {
  struct kr_transport base;
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  const struct kr_settings *settings;
  struct kr_rpc *rpc;
};

/* A scan, a read of rows, or another method, which is refused. */
struct kr_request {
  struct kr_request_head head;
  struct transport *transport;
  struct kr_rpc_request *rpc;    /* of a scan: what is under way */
  struct kr_hbase094_gets *gets; /* of a read */
  struct kr_timer *refusal;      /* of another method */
  void *arg;
  union {
    kr_scan_cb scan;
    kr_get_cb get;
    kr_reply_cb reply;
  } cb;
  /* Of a scan. */
  int64_t deadline_us;
  int64_t scanner;
  bool opened;
  unsigned further; /* requests sent after the first one */
  uint32_t limit;
  size_t table_len;
  int port;
  char *host;
  char text[]; /* the table, then the host */
};

static void free_request(struct kr_request *request)
{
  kr_free(request->transport->mem, request);
}

/* NULL = out of memory. */
static struct kr_request *new_request(struct transport *transport, size_t text_len, void *arg)
{
  struct kr_request *request = kr_calloc(transport->mem, sizeof(*request) + text_len);

  if (request != NULL) {
    request->head.transport = &transport->base;
    request->transport = transport;
    request->arg = arg;
  }
  return request;
}

/* ---- Scans: ends ----------------------------------------------------------------------------- */

static void end_scan(struct kr_request *request, const struct kr_failure *failure)
{
  struct kr_rows none = {.further = request->further};
  kr_scan_cb cb = request->cb.scan;
  void *arg = request->arg;

  free_request(request);
  cb(arg, failure, &none);
}

/* A good reply that could not be read. Returns whether its bytes could be believed all the same. */
static bool end_unread(struct kr_request *request, struct kr_failure *failure,
                       const struct kr_rpc_reply *reply)
{
  bool believed = failure->code != KEYROUTE_E_PROTOCOL;

  kr_fail_name_server(failure, reply->server);
  failure->sent = true;
  end_scan(request, failure);
  return believed;
}

static bool end_found(struct kr_request *request, struct kr_hbase094_rows *rows)
{
  static const struct kr_failure none;
  struct kr_mem *mem = request->transport->mem;
  kr_scan_cb cb = request->cb.scan;
  void *arg = request->arg;

  rows->rows.further = request->further;
  free_request(request);
  cb(arg, &none, &rows->rows);
  kr_hbase094_rows_clear(rows, mem);
  return true;
}

static void end_no_memory(struct kr_request *request)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  end_scan(request, &failure);
}

/* Returns whether the connection is to be believed any longer (invariant 5). */
static bool end_failed(struct kr_request *request, const struct kr_failure *failure)
{
  struct kr_failure own = *failure;
  bool believed = !kr_fail_scan(&own);

  end_scan(request, &own);
  return believed;
}

/* ---- Scans: requests ------------------------------------------------------------------------- */

/* Send a request of a scan; param's memory goes. NULL = out of memory. */
static struct kr_rpc_request *send(const struct kr_request *request, const char *method,
                                   struct kr_buf *param, kr_rpc_cb cb)
{
  int64_t left_ms = (request->deadline_us - kr_clock_us()) / 1000;
  struct kr_rpc_call call = {
      .method = method, .param = kr_buf_view(param), .timeout_ms = left_ms > 0 ? left_ms : 1};
  struct kr_rpc_request *rpc = NULL;

  if (!param->failed) {
    rpc = kr_rpc_start(request->transport->rpc, request->host, request->port, &call, cb,
                       (void *)request);
  }
  kr_buf_clear(param);
  return rpc;
}

static bool closed(void *arg, const struct kr_failure *failure, const struct kr_rpc_reply *reply)
{
  (void)arg;
  (void)failure;
  (void)reply;
  return true;
}

/* Have the server forget a scanner. Its answer will be skipped. Where no connection takes requests
 * any more, none is made for that: the lease ends it. */
static void close_scanner(struct kr_request *request)
{
  struct kr_buf param;

  if (kr_rpc_marks(request->transport->rpc, request->host, request->port) == NULL) {
    return;
  }
  kr_buf_init(&param, request->transport->mem);
  kr_hbase094_close_write(&param, request->scanner);
  struct kr_rpc_request *rpc = send(request, "close", &param, closed);

  if (rpc != NULL && kr_rpc_cancel(rpc)) {
    request->further++;
  }
}

static bool closest_answered(void *arg, const struct kr_failure *failure,
                             const struct kr_rpc_reply *reply)
{
  struct kr_request *request = arg;
  struct keyroute_bytes table = kr_bytes(request->text, request->table_len);
  struct kr_hbase094_rows rows;
  struct kr_failure unread;

  if (failure->code != 0) {
    return end_failed(request, failure);
  }
  if (kr_hbase094_closest_read(&rows, request->transport->mem, reply, table, request->limit,
                               &unread) != 0) {
    return end_unread(request, &unread, reply);
  }
  return end_found(request, &rows);
}

static bool next_answered(void *arg, const struct kr_failure *failure,
                          const struct kr_rpc_reply *reply)
{
  struct kr_request *request = arg;
  struct kr_hbase094_rows rows;
  struct kr_failure unread;

  if (failure->code != 0) {
    return end_failed(request, failure);
  }
  close_scanner(request);
  if (kr_hbase094_next_read(&rows, request->transport->mem, reply, request->limit, &unread) != 0) {
    return end_unread(request, &unread, reply);
  }
  return end_found(request, &rows);
}

static bool open_answered(void *arg, const struct kr_failure *failure,
                          const struct kr_rpc_reply *reply)
{
  struct kr_request *request = arg;
  struct kr_failure unread;
  struct kr_buf param;

  if (failure->code != 0) {
    return end_failed(request, failure);
  }
  if (kr_hbase094_open_read(&request->scanner, reply, &unread) != 0) {
    return end_unread(request, &unread, reply);
  }
  request->opened = true;
  kr_buf_init(&param, request->transport->mem);
  kr_hbase094_next_write(&param, request->scanner, request->limit);
  request->rpc = send(request, "next", &param, next_answered);
  if (request->rpc == NULL) {
    end_no_memory(request);
  } else {
    request->further++;
  }
  return true;
}

static struct kr_request *transport_scan(struct kr_transport *base, const char *host, int port,
                                         const struct kr_scan *scan, int64_t timeout_ms,
                                         kr_scan_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct keyroute_bytes table = kr_meta_key_table(scan->start_row);
  size_t host_size = strlen(host) + 1;
  struct kr_request *request = new_request(transport, table.len + host_size, arg);
  struct kr_buf param;

  if (request == NULL) {
    return NULL;
  }
  uint8_t *to = (uint8_t *)request->text;

  kr_bytes_put(&to, table);
  request->host = memcpy(to, host, host_size);
  request->port = port;
  request->table_len = table.len;
  request->cb.scan = cb;
  request->limit = scan->limit;
  request->deadline_us = kr_clock_us() + 1000 * timeout_ms;
  kr_buf_init(&param, transport->mem);
  if (scan->reversed) {
    kr_hbase094_closest_write(&param, scan);
    request->rpc = send(request, "getClosestRowBefore", &param, closest_answered);
  } else {
    kr_hbase094_open_write(&param, scan);
    request->rpc = send(request, "openScanner", &param, open_answered);
  }
  if (request->rpc == NULL) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void gets_ended(void *arg, const struct kr_failure *failure, struct kr_got *got)
{
  struct kr_request *request = arg;
  kr_get_cb cb = request->cb.get;
  void *own = request->arg;

  free_request(request);
  cb(own, failure, got);
}

static struct kr_request *transport_get(struct kr_transport *base, const char *host, int port,
                                        const struct kr_gets *gets, int64_t timeout_ms,
                                        kr_get_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_request *request = new_request(transport, 0, arg);

  if (request == NULL) {
    return NULL;
  }
  request->cb.get = cb;
  request->gets =
      kr_hbase094_gets_start(transport->mem, transport->rpc, host, port, gets,
                             transport->settings->max_frame_len, timeout_ms, gets_ended, request);
  if (request->gets == NULL) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* ---- Any other method ------------------------------------------------------------------------ */

static void refuse(void *arg)
{
  struct kr_request *request = arg;
  struct keyroute_bytes none = {NULL, 0};
  kr_reply_cb cb = request->cb.reply;
  void *own = request->arg;
  struct kr_failure failure;

  free_request(request);
  kr_fail(&failure, KEYROUTE_E_INVALID_ARGUMENT,
          "HBase before 0.96 takes no messages: only rows can be read there");
  failure.final = true;
  cb(own, &failure, none, none);
}

static struct kr_request *transport_call(struct kr_transport *base, const char *host, int port,
                                         const struct kr_method *method, int64_t timeout_ms,
                                         kr_reply_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_request *request = new_request(transport, 0, arg);

  (void)host;
  (void)port;
  (void)method;
  (void)timeout_ms;
  if (request == NULL) {
    return NULL;
  }
  request->cb.reply = cb;
  request->refusal = kr_timer_start(transport->loop, 0, refuse, request);
  if (request->refusal == NULL) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool transport_cancel(struct kr_transport *base, struct kr_request *request)
{
  bool sent = request->opened;

  (void)base;
  if (request->rpc != NULL) {
    sent = kr_rpc_cancel(request->rpc) || sent;
  }
  if (request->opened) {
    close_scanner(request);
  }
  if (request->gets != NULL) {
    sent = kr_hbase094_gets_cancel(request->gets);
  }
  kr_timer_stop(request->refusal);
  free_request(request);
  return sent;
}

static void transport_shutdown(struct kr_transport *base)
{
  kr_rpc_shutdown(((struct transport *)base)->rpc);
}

static void transport_free(struct kr_transport *base)
{
  struct transport *transport = (struct transport *)base;
  struct kr_mem *mem = transport->mem;

  kr_rpc_free(transport->rpc);
  kr_free(mem, transport);
  kr_mem_release(mem);
}

static const struct kr_transport_ops ops = {
    .scan = transport_scan,
    .get = transport_get,
    .call = transport_call,
    .cancel = transport_cancel,
    .shutdown = transport_shutdown,
    .free = transport_free,
};

int kr_transport_hbase094_new(struct kr_transport **out, struct kr_mem *mem, struct kr_loop *loop,
                              struct kr_worker *resolver, const struct kr_settings *settings,
                              struct kr_stats *stats)
{
  struct transport *transport = kr_calloc(mem, sizeof(*transport));

  if (transport == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  transport->base.ops = &ops;
  transport->loop = loop;
  transport->settings = settings;
  transport->rpc = kr_rpc_new(mem, loop, resolver, settings, &kr_hbase094_codec, stats);
  if (transport->rpc == NULL) {
    kr_free(mem, transport);
    return KEYROUTE_E_NO_MEMORY;
  }
  transport->mem = kr_mem_ref(mem);
  *out = &transport->base;
  return 0;
}
