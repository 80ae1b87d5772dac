#ifndef KR_PUBLISH_COPY_H
#define KR_PUBLISH_COPY_H

#include "lib/publish_send.h"

/* Bring what the table of step->from has of step->range's keys into range's table on step->node.
 * Errors: those of the means. */
int kr_publish_copy(struct kr_publisher *publisher, const struct kr_step *step,
                    struct kr_failure *failure);

#endif
