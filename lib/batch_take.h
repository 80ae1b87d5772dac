#ifndef KR_BATCH_TAKE_H
#define KR_BATCH_TAKE_H

#include "lib/batch_state.h"

/* What comes back of a request. Its runs go where they belong then; out of memory some may be left.
 * Loop thread, inside the batch. */
void kr_batch_take_answer(struct kr_batch_request *request, struct kr_got *answer);
void kr_batch_take_failure(struct kr_batch_request *request, const struct kr_failure *failure);

#endif
