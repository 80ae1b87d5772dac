#ifndef KR_GROUP_H
#define KR_GROUP_H

#include "lib/batch_state.h"

/* Make a grouping of a batch whose rows were located; takes over its result if rows failed. NULL =
 * out of memory. */
struct keyroute_groups *kr_groups_new(struct kr_batch *batch);

#endif
