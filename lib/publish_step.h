#ifndef KR_PUBLISH_STEP_H
#define KR_PUBLISH_STEP_H

#include "lib/publish_send.h"

/* Do one step. What it replaces has to be what the plan knows. Errors: CORRUPT it is not: somebody
 * else has changed it; those of the means. */
int kr_step_do(struct kr_publisher *publisher, const struct kr_step *step,
               struct kr_failure *failure);

/* Has this step, one that switches, been done? */
int kr_step_is_done(bool *out, struct kr_publisher *publisher, const struct kr_step *step,
                    struct kr_failure *failure);

/* Does the journal say what is being done, still? Errors: CORRUPT it does not. */
int kr_step_check_journal(struct kr_publisher *publisher, struct kr_failure *failure);

#endif
