#ifndef KR_HBASE_GET_H
#define KR_HBASE_GET_H

#include "lib/hbase_cells.h"

/* The method "Get" of ClientService: one row. */

/* What a read says, as a message that lacks its row. It points into itself: not to be moved. */
struct kr_hbase_get {
  Kr__Pb__Get message;
  Kr__Pb__TimeRange time_range;
  struct kr_mem *mem;
  void *columns;
};

/* Errors: NO_MEMORY. Release with clear, on success only. */
int kr_hbase_get_init(struct kr_hbase_get *out, struct kr_mem *mem, const struct kr_gets *gets);
void kr_hbase_get_clear(struct kr_hbase_get *get);

/* Append the GetRequest for the only row of gets. */
void kr_hbase_get_write(struct kr_buf *out, const struct kr_gets *gets);

/* Read the GetResponse. A failure names no server, the row's own does.
 * out  release with kr_hbase_got_clear, on success only
 * Errors: PROTOCOL, NO_MEMORY. */
int kr_hbase_get_read(struct kr_hbase_got *out, struct kr_mem *mem,
                      const struct kr_rpc_reply *reply, const struct kr_gets *gets,
                      struct kr_failure *failure);

#endif
