/*
 * The transport for HBase 0.96 and later: a scan, a get or a call becomes one request of HBase's
 * protobuf RPC, but for scans down on servers that have none.
 *
 * Nothing is decided here. Connections, numbers and timeouts are rpc.c's, bytes of frames are
 * hbase_rpc.c's, what "Get" and "Multi" carry is hbase_get.c's and hbase_multi.c's. By what a
 * server of that age can scan is hbase_look.c's. What any other method carries is its caller's.
 *
 *  1. A request is the transport's until its callback is about to run or it is cancelled.
 *  2. Rows live as long as the callback that gets them.
 *  3. A reply that cannot be read fails its own request only, since its frame was sound; but the
 *     connection takes no further requests, so that the next try gets a new one.
 *  4. An answer too large to be kept is such a reply to a scan: nonsense, and worth another try.
 *     For a read it is what the reader asked for.
 *
 * Threads: the loop.
 */
#include "lib/transport_hbase.h"

#include "lib/hbase_get.h"
#include "lib/hbase_look.h"
#include "lib/hbase_multi.h"
#include "lib/hbase_rpc.h"

struct transport {
  struct kr_transport base;
  struct kr_mem *mem; /* counted */
  struct kr_rpc *rpc;
  const struct kr_log *log;
};

/* A scan, a get, or any other method; cb is which. */
struct kr_request {
  struct kr_request_head head;
  struct kr_mem *mem;
  struct kr_rpc_request *rpc;
  struct kr_hbase_look *look; /* of a scan, in place of that */
  void *arg;
  union {
    kr_scan_cb scan;
    kr_get_cb get;
    kr_reply_cb reply;
  } cb;
  struct kr_gets *gets; /* of a get: what its answer is held against */
};

static void free_request(struct kr_request *request)
{
  kr_free(request->mem, request->gets);
  kr_free(request->mem, request);
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* NULL = out of memory. */
static struct kr_request *new_request(struct transport *transport, void *arg)
{
  struct kr_request *request = kr_calloc(transport->mem, sizeof(*request));

  if (request != NULL) {
    request->head.transport = &transport->base;
    request->mem = transport->mem;
    request->arg = arg;
  }
  return request;
}

/* Send a request; param's memory goes. Returns it, or NULL when out of memory: it is gone then. */
static struct kr_request *send_request(struct transport *transport, struct kr_request *request,
                                       const char *host, int port, struct kr_rpc_call *call,
                                       struct kr_buf *param, kr_rpc_cb answered)
{
  call->param = kr_buf_view(param);
  if (!param->failed) {
    request->rpc = kr_rpc_start(transport->rpc, host, port, call, answered, request);
  }
  kr_buf_clear(param);
  if (request->rpc == NULL) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* A good reply that could not be read. Returns whether its bytes could be believed all the same. */
static bool note_unread(struct kr_failure *failure, const struct kr_rpc_reply *reply)
{
  kr_fail_name_server(failure, reply->server);
  failure->sent = true;
  return failure->code != KEYROUTE_E_PROTOCOL;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static void look_ended(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_request request = *(struct kr_request *)arg;

  free_request(arg);
  request.cb.scan(request.arg, failure, rows);
}

static struct kr_request *transport_scan(struct kr_transport *base, const char *host, int port,
                                         const struct kr_scan *scan, int64_t timeout_ms,
                                         kr_scan_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_request *request = new_request(transport, arg);

  if (request == NULL) {
    return NULL;
  }
  request->cb.scan = cb;
  request->look = kr_hbase_look_start(transport->mem, transport->rpc, transport->log, host, port,
                                      scan, timeout_ms, look_ended, request);
  if (request->look == NULL) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* ---- Get and Multi --------------------------------------------------------------------------- */

/* Both name one region and row, or many: one row alone goes as a Get, which servers find easier. */
static bool is_many(const struct kr_gets *gets)
{
  return gets->row_count > 1;
}

static bool get_answered(void *arg, const struct kr_failure *failure,
                         const struct kr_rpc_reply *reply)
{
  struct kr_request *from = arg;
  struct kr_request request = *from;
  struct kr_hbase_got got;
  struct kr_failure unread;
  bool believed = true;
  int error = failure->code;

  if (error == 0) {
    error = is_many(from->gets) ? kr_hbase_multi_read(&got, request.mem, reply, from->gets, &unread)
                                : kr_hbase_get_read(&got, request.mem, reply, from->gets, &unread);
    believed = error == 0 || note_unread(&unread, reply);
  }
  free_request(from);
  if (error == 0) {
    request.cb.get(request.arg, failure, &got.got);
    kr_hbase_got_clear(&got);
  } else {
    request.cb.get(request.arg, failure->code != 0 ? failure : &unread, NULL);
  }
  return believed;
}

static struct kr_request *transport_get(struct kr_transport *base, const char *host, int port,
                                        const struct kr_gets *gets, int64_t timeout_ms,
                                        kr_get_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_rpc_call call = {.method = is_many(gets) ? "Multi" : "Get", .timeout_ms = timeout_ms};
  struct kr_buf param;
  struct kr_request *request = new_request(transport, arg);

  if (request == NULL) {
    return NULL;
  }
  request->cb.get = cb;
  request->gets = kr_gets_copy(transport->mem, gets);
  if (request->gets == NULL) {
    free_request(request);
    return NULL;
  }
  kr_buf_init(&param, transport->mem);
  if (is_many(gets)) {
    kr_hbase_multi_write(&param, gets);
  } else {
    kr_hbase_get_write(&param, gets);
  }
  return send_request(transport, request, host, port, &call, &param, get_answered);
}

/* ---- Any other method ------------------------------------------------------------------------ */

static bool call_answered(void *arg, const struct kr_failure *failure,
                          const struct kr_rpc_reply *reply)
{
  struct kr_request request = *(struct kr_request *)arg;
  struct keyroute_bytes none = {NULL, 0};

  free_request(arg);
  request.cb.reply(request.arg, failure, reply != NULL ? reply->body : none,
                   reply != NULL ? reply->cells : none);
  return true;
}

static struct kr_request *transport_call(struct kr_transport *base, const char *host, int port,
                                         const struct kr_method *method, int64_t timeout_ms,
                                         kr_reply_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_rpc_call call = {
      .method = method->name, .cells = method->cells, .timeout_ms = timeout_ms};
  struct kr_buf param;
  struct kr_request *request = new_request(transport, arg);

  if (request == NULL) {
    return NULL;
  }
  request->cb.reply = cb;
  kr_buf_init(&param, transport->mem);
  kr_hbase_write_region(&param, method->region);
  kr_buf_bytes(&param, method->param);
  return send_request(transport, request, host, port, &call, &param, call_answered);
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool transport_cancel(struct kr_transport *base, struct kr_request *request)
{
  (void)base;
  bool sent =
      request->look != NULL ? kr_hbase_look_cancel(request->look) : kr_rpc_cancel(request->rpc);

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

int kr_transport_hbase_new(struct kr_transport **out, struct kr_mem *mem, struct kr_loop *loop,
                           struct kr_worker *resolver, const struct kr_settings *settings,
                           struct kr_stats *stats)
{
  struct transport *transport = kr_calloc(mem, sizeof(*transport));

  if (transport == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  transport->base.ops = &ops;
  transport->log = &settings->log;
  transport->rpc = kr_rpc_new(mem, loop, resolver, settings, &kr_hbase_codec, stats);
  if (transport->rpc == NULL) {
    kr_free(mem, transport);
    return KEYROUTE_E_NO_MEMORY;
  }
  transport->mem = kr_mem_ref(mem);
  *out = &transport->base;
  return 0;
}
