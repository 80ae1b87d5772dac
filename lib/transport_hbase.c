/*
 * The transport for HBase 0.96 and later: a scan becomes one request of HBase's protobuf RPC.
 *
 * Nothing is decided here. Connections, numbers and timeouts are rpc.c's, bytes of frames are
 * hbase_rpc.c's, what "Scan" carries is hbase_scan.c's; a further method (Get, Multi) is a further
 * file like the last and a further function here.
 *
 *  1. A request is the transport's until its callback is about to run or it is cancelled.
 *  2. Rows live as long as the callback that gets them.
 *  3. A reply that cannot be read fails its own request only, since its frame was sound; but the
 *     connection takes no further requests, so that the next try gets a new one.
 *
 * Threads: the loop.
 */
#include "lib/transport_hbase.h"

#include "lib/hbase_rpc.h"
#include "lib/hbase_scan.h"

#include <stdio.h>

/* Above what users' tables get, so that a busy server still tells where its regions are.
 * Source: HBase HConstants.SYSTEMTABLE_QOS */
#define CATALOG_PRIORITY 200

struct transport {
  struct kr_transport base;
  struct kr_mem *mem; /* counted */
  struct kr_rpc *rpc;
};

struct kr_request {
  struct kr_mem *mem;
  struct kr_rpc_request *rpc;
  uint32_t limit;
  kr_scan_cb cb;
  void *arg;
};

static const struct kr_rows no_rows;

/* Read the rows of a good reply and hand them on. Returns whether the reply could be believed. */
static bool hand_on_rows(const struct kr_request *request, const struct kr_failure *none,
                         const struct kr_rpc_reply *reply)
{
  struct kr_hbase_rows rows;
  struct kr_failure trouble;
  struct kr_failure failure;

  if (kr_hbase_scan_read(&rows, request->mem, reply, request->limit, &trouble) == 0) {
    request->cb(request->arg, none, &rows.rows);
    kr_hbase_rows_clear(&rows, request->mem);
    return true;
  }
  kr_fail(&failure, trouble.code, "server %s: %.*s", reply->server, 400, trouble.message);
  snprintf(failure.server, sizeof(failure.server), "%s", reply->server);
  request->cb(request->arg, &failure, &no_rows);
  return failure.code != KEYROUTE_E_PROTOCOL;
}

static bool scan_answered(void *arg, const struct kr_failure *failure,
                          const struct kr_rpc_reply *reply)
{
  struct kr_request *from = arg;
  struct kr_request request = *from;

  kr_free(request.mem, from);
  if (failure->code != 0) {
    request.cb(request.arg, failure, &no_rows);
    return true;
  }
  return hand_on_rows(&request, failure, reply);
}

static struct kr_request *transport_scan(struct kr_transport *base, const char *host, int port,
                                         const struct kr_scan *scan, int64_t timeout_ms,
                                         kr_scan_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_request *request = kr_calloc(transport->mem, sizeof(*request));
  struct kr_buf param;

  if (request == NULL) {
    return NULL;
  }
  *request = (struct kr_request){transport->mem, NULL, scan->limit, cb, arg};
  kr_buf_init(&param, transport->mem);
  kr_hbase_scan_write(&param, scan);
  if (!param.failed) {
    struct kr_rpc_call call = {"Scan", kr_buf_view(&param), CATALOG_PRIORITY, timeout_ms};

    request->rpc = kr_rpc_start(transport->rpc, host, port, &call, scan_answered, request);
  }
  kr_buf_clear(&param);
  if (request->rpc == NULL) {
    kr_free(transport->mem, request);
    return NULL;
  }
  return request;
}

static void transport_cancel(struct kr_transport *base, struct kr_request *request)
{
  struct transport *transport = (struct transport *)base;

  kr_rpc_cancel(request->rpc);
  kr_free(transport->mem, request);
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
  transport->rpc = kr_rpc_new(mem, loop, resolver, settings, &kr_hbase_codec, stats);
  if (transport->rpc == NULL) {
    kr_free(mem, transport);
    return KEYROUTE_E_NO_MEMORY;
  }
  transport->mem = kr_mem_ref(mem);
  *out = &transport->base;
  return 0;
}
