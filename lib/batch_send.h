#ifndef KR_BATCH_SEND_H
#define KR_BATCH_SEND_H

#include "lib/batch_state.h"

/* The requests of a batch. Loop thread, inside the batch. */

/* A run has a location: have it sent there; or keep it there, if rows are located only. Takes it
 * over. */
void kr_batch_place(struct kr_batch *batch, struct kr_run *run);

/* Send what may be sent now. */
void kr_batch_send(struct kr_batch *batch);

/* Give up the requests under way. */
void kr_batch_send_drop(struct kr_batch *batch);

#endif
