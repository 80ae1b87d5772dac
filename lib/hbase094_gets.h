#ifndef KR_HBASE094_GETS_H
#define KR_HBASE094_GETS_H

#include "lib/hbase_cells.h"
#include "lib/transport.h"

/* Rows of one server of HBase 0.94, each got by a request of its own, all under way at once. */
struct kr_hbase094_gets;

/*  mem      counted by the caller for as long
 *  max_len  bytes that all answers together may have
 *  others, and what becomes of cb: as kr_transport_ops.get */
struct kr_hbase094_gets *kr_hbase094_gets_start(struct kr_mem *mem, struct kr_rpc *rpc,
                                                const char *host, int port,
                                                const struct kr_gets *gets, size_t max_len,
                                                int64_t timeout_ms, kr_get_cb cb, void *arg);

/* cb will not run. Returns whether any of the requests was sent. */
bool kr_hbase094_gets_cancel(struct kr_hbase094_gets *gets);

#endif
