#ifndef KR_TRANSPORT_HBASE_H
#define KR_TRANSPORT_HBASE_H

#include "lib/rpc.h"
#include "lib/transport.h"

/* The transport for HBase 0.96 and later: protobuf RPC, simple authentication.
 * resolver  resolves host names; closed only after the transport's shutdown
 * settings  borrowed until free: user, connect_timeout_ms, connection_idle_ms, max_frame_len, log
 * stats     borrowed until free; connects and rpcs are counted
 * Errors: NO_MEMORY. */
int kr_transport_hbase_new(struct kr_transport **out, struct kr_mem *mem, struct kr_loop *loop,
                           struct kr_worker *resolver, const struct kr_settings *settings,
                           struct kr_stats *stats);

#endif
