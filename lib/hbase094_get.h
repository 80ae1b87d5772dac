#ifndef KR_HBASE094_GET_H
#define KR_HBASE094_GET_H

#include "lib/hbase_cells.h"

/* The method "get" of HBase 0.94: one row. */

/* Append the parameters for one row of gets. */
void kr_hbase094_get_write(struct kr_buf *out, const struct kr_gets *gets,
                           struct keyroute_bytes region, struct keyroute_bytes row);

/* Take the answer apart: how many cells, and where they are. A failure names no server.
 * Errors: PROTOCOL. */
int kr_hbase094_get_read(struct keyroute_bytes *cells, size_t *count,
                         const struct kr_rpc_reply *reply, struct kr_failure *failure);

#endif
