#ifndef KR_HBASE_SCAN_H
#define KR_HBASE_SCAN_H

#include "lib/error.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/rpc.h"
#include "lib/scan.h"

/* The method "Scan" of ClientService as a single request: opened, read and closed in one go. */

/* Append the ScanRequest. */
void kr_hbase_scan_write(struct kr_buf *out, const struct kr_scan *scan);

/* Rows read from a reply; they point into the reply and into memory. */
struct kr_hbase_rows {
  struct kr_rows rows;
  bool tells_more; /* the server said whether its region has more rows, as they do since 0.98.24 */
  void *memory;
  void *response; /* the message */
};

/* Read the cells of one row, so many of them from its result or, where that is NULL, from the
 * block, and keep the newest of each column. Returns NULL, or what cannot be believed: they are to
 * be of one row, which has a key. */
const char *kr_hbase_row_read(struct kr_row *row, struct kr_cell *cells, size_t count,
                              const Kr__Pb__Result *result, struct kr_reader *block);

/* Read the ScanResponse of a scan that asked for at most `limit` rows. A failure names no server.
 * out  release with kr_hbase_rows_clear, on success only
 * Errors: PROTOCOL, NO_MEMORY. */
int kr_hbase_scan_read(struct kr_hbase_rows *out, struct kr_mem *mem,
                       const struct kr_rpc_reply *reply, uint32_t limit,
                       struct kr_failure *failure);

void kr_hbase_rows_clear(struct kr_hbase_rows *rows, struct kr_mem *mem);

#endif
