#ifndef KR_PUBLISH_CHANGE_H
#define KR_PUBLISH_CHANGE_H

#include "lib/publish_request.h"
#include "lib/publish_step.h"

/* A planned change, from its journal to its last step. Errors: those of steps. */

/* Do the tables of ranges of map stand on all their nodes? Errors: also INVALID_ARGUMENT one does
 * not. */
int kr_change_check_tables(struct kr_publish_means *means, const struct kr_descriptor *ranges,
                           size_t count, struct kr_failure *failure);

/* Carry a change out, step by step. */
int kr_change_carry_out(struct kr_publisher *publisher, const struct kr_change *change,
                        struct kr_failure *failure);

/* See to the change that the directory's journal tells of. *is_it  set if that is what the request
 * asks for, and is made now; else untouched. Errors: also INVALID_ARGUMENT it is half made, and for
 * others to make again. */
int kr_change_recover(bool *is_it, struct kr_publisher *publisher,
                      const struct kr_publish_request *request, struct kr_failure *failure);

#endif
