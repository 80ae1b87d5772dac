#ifndef KR_HBASE_LOOK_H
#define KR_HBASE_LOOK_H

#include "lib/log.h"
#include "lib/transport.h"

struct kr_rpc;

/* A look at hbase:meta: a scan, by what the server asked has for it. */
struct kr_hbase_look;

/*  mem, rpc, log  borrowed for as long
 *  others, and what becomes of cb: as kr_transport_ops.scan */
struct kr_hbase_look *kr_hbase_look_start(struct kr_mem *mem, struct kr_rpc *rpc,
                                          const struct kr_log *log, const char *host, int port,
                                          const struct kr_scan *scan, int64_t timeout_ms,
                                          kr_scan_cb cb, void *arg);

/* cb will not run. Returns whether a request was sent. */
bool kr_hbase_look_cancel(struct kr_hbase_look *look);

#endif
