#ifndef KR_CATALOG_ROW_H
#define KR_CATALOG_ROW_H

#include "lib/catalog.h"
#include "lib/region.h"

/* What the rows of HBase's catalogs have in common, of whatever generation. */

/* Reads the value of info:regioninfo: kr_region_info_parse or its like. */
typedef int (*kr_info_parser)(struct kr_region_info **out, struct kr_mem *mem,
                              struct keyroute_bytes value);

/* As kr_catalog.parse_row. */
int kr_catalog_row_read(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                        struct keyroute_bytes table, const struct kr_row *row,
                        kr_info_parser parse_info);

/* Give replicas' servers back. */
void kr_catalog_unplace(struct kr_replica *replicas, int count);

#endif
