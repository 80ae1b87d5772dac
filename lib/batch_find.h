#ifndef KR_BATCH_FIND_H
#define KR_BATCH_FIND_H

#include "lib/batch_state.h"

/* Where the rows of a batch are. Loop thread, inside the batch. */

/* Go on as far as it goes for now. */
void kr_batch_find(struct kr_batch *batch);

/* Give up the lookups under way. Those that cannot be any more are still counted. */
void kr_batch_find_drop(struct kr_batch *batch);

#endif
