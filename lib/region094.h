#ifndef KR_REGION094_H
#define KR_REGION094_H

#include "lib/region.h"

/* What HBase before 0.96 has in info:regioninfo, and in splitA and splitB: an HRegionInfo, not of a
 * message but of its fields one by one. As kr_region_info_parse, of which it is the elder sister.
 * Errors: CORRUPT, NO_MEMORY.  Source: HBase 0.94 HRegionInfo, migration.HRegionInfo090x */
int kr_region094_info_parse(struct kr_region_info **out, struct kr_mem *mem,
                            struct keyroute_bytes value);

#endif
