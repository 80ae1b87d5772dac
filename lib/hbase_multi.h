#ifndef KR_HBASE_MULTI_H
#define KR_HBASE_MULTI_H

#include "lib/hbase_cells.h"

/* The method "Multi" of ClientService: many rows of some regions. */

/* Append the MultiRequest. */
void kr_hbase_multi_write(struct kr_buf *out, const struct kr_gets *gets);

/* Read the MultiResponse. A failure names no server, those of regions and rows do.
 * out  release with kr_hbase_got_clear, on success only
 * Errors: PROTOCOL, NO_MEMORY. */
int kr_hbase_multi_read(struct kr_hbase_got *out, struct kr_mem *mem,
                        const struct kr_rpc_reply *reply, const struct kr_gets *gets,
                        struct kr_failure *failure);

#endif
