#ifndef KR_TRANSPORT_HBASE094_H
#define KR_TRANSPORT_HBASE094_H

#include "lib/rpc.h"
#include "lib/transport.h"

/* The transport for HBase 0.94: Writable RPC. As kr_transport_hbase_new; `call` fails. */
int kr_transport_hbase094_new(struct kr_transport **out, struct kr_mem *mem, struct kr_loop *loop,
                              struct kr_worker *resolver, const struct kr_settings *settings,
                              struct kr_stats *stats);

#endif
