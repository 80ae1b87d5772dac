#ifndef KR_BIGTABLE_STATUS_H
#define KR_BIGTABLE_STATUS_H

#include "lib/error.h"
#include "lib/grpc_module.h"
#include "lib/mem.h"

/* What a call's status that is not OK means for the one who asked. failure->server is left empty.
 *  mem     for its details, which are not looked at where memory is short
 *  region  the name of the region asked: a place is only taken from a status that speaks of it */
void kr_bigtable_status_map(struct kr_failure *failure, struct kr_mem *mem,
                            const struct kr_grpc_status *status, struct keyroute_bytes region);

#endif
