#ifndef KR_HBASE094_SCAN_H
#define KR_HBASE094_SCAN_H

#include "lib/error.h"
#include "lib/rpc.h"
#include "lib/scan.h"

/* Scans of a catalog of HBase 0.94: down, "getClosestRowBefore", which gives one row; up,
 * "openScanner", "next" and "close". */

/* Append the parameters of each. */
void kr_hbase094_closest_write(struct kr_buf *out, const struct kr_scan *scan);
void kr_hbase094_open_write(struct kr_buf *out, const struct kr_scan *scan);
void kr_hbase094_next_write(struct kr_buf *out, int64_t scanner, uint32_t rows);
void kr_hbase094_close_write(struct kr_buf *out, int64_t scanner);

/* Rows read from a reply; they point into it and into memory. */
struct kr_hbase094_rows {
  struct kr_rows rows;
  void *memory;
};

/* Read the answer of getClosestRowBefore, of next, or of openScanner. A failure names no server.
 *  table  a row that does not begin so is none
 *  limit  rows that were asked for
 *  out    release with kr_hbase094_rows_clear, on success only
 * Errors: PROTOCOL, NO_MEMORY. */
int kr_hbase094_closest_read(struct kr_hbase094_rows *out, struct kr_mem *mem,
                             const struct kr_rpc_reply *reply, struct keyroute_bytes table,
                             uint32_t limit, struct kr_failure *failure);
int kr_hbase094_next_read(struct kr_hbase094_rows *out, struct kr_mem *mem,
                          const struct kr_rpc_reply *reply, uint32_t limit,
                          struct kr_failure *failure);
int kr_hbase094_open_read(int64_t *scanner, const struct kr_rpc_reply *reply,
                          struct kr_failure *failure);

void kr_hbase094_rows_clear(struct kr_hbase094_rows *rows, struct kr_mem *mem);

#endif
