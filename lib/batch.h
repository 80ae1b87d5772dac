#ifndef KR_BATCH_H
#define KR_BATCH_H

#include "lib/batch_state.h"

/* Get what it needs before it begins; the first part is filled in. False = out of memory. */
bool kr_batch_init(struct kr_batch *batch);

/* Release all that it holds. Zeros are accepted. */
void kr_batch_clear(struct kr_batch *batch);

/* Begin. Its done runs before or after this returns. */
void kr_batch_start(struct kr_batch *batch);

/* End it early, with CANCELLED or CLOSED; its done runs now or later. */
void kr_batch_stop(struct kr_batch *batch, int code);

#endif
