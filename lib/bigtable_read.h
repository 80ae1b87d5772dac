#ifndef KR_BIGTABLE_READ_H
#define KR_BIGTABLE_READ_H

#include "lib/buf.h"
#include "lib/read.h"
#include "lib/scan.h"

/* Requests of the method ReadRows. A region is one Bigtable table: its name's last part, between
 * the last two dots ("map,k5,7.r12."), is that table's. */

/* Append the full name of a region's table, "<instance>/tables/r12". */
void kr_bigtable_table_write(struct kr_buf *out, const char *instance,
                             struct keyroute_bytes region);

/* Append the request that is a scan.
 * table  the full name of its region's table */
void kr_bigtable_scan_write(struct kr_buf *out, struct keyroute_bytes table,
                            const struct kr_scan *scan);

/* Can there be no row within the bounds of a scan? Then it is not to be sent. */
bool kr_bigtable_scan_is_empty(const struct kr_scan *scan);

/* Append the request for the rows of one region of gets, whose table has this full name. */
void kr_bigtable_get_write(struct kr_buf *out, struct keyroute_bytes table,
                           const struct kr_gets *gets, const struct kr_get_region *region);

#endif
