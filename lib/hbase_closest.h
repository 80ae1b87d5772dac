#ifndef KR_HBASE_CLOSEST_H
#define KR_HBASE_CLOSEST_H

#include "lib/hbase_scan.h"

/* The method "Get" of ClientService for the row at a key or the one closest before it: what servers
 * before 2.0 have in place of a reversed scan, one row of it. */

/* Append the GetRequest for the first row of a reversed scan. */
void kr_hbase_closest_write(struct kr_buf *out, const struct kr_scan *scan);

/* Read the GetResponse as the answer to that scan: a row, or none. As kr_hbase_scan_read. */
int kr_hbase_closest_read(struct kr_hbase_rows *out, struct kr_mem *mem,
                          const struct kr_rpc_reply *reply, const struct kr_scan *scan,
                          struct kr_failure *failure);

#endif
