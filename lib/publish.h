#ifndef KR_PUBLISH_H
#define KR_PUBLISH_H

#include "lib/publish_means.h"
#include "lib/publish_request.h"
#include "lib/range_list.h"

/* Changes of the range directory, from a request to the last write. */

/* Carry a request out. An interrupted change that is found is seen to first.
 *  after  receives the ranges that are there instead of the old ones
 * Errors: INVALID_ARGUMENT what is asked cannot be; HOLE no range holds the key; CORRUPT rows of
 * the directory that cannot be believed, or that somebody else has changed; OVERLOADED somebody
 * else publishes; those of nodes and registry. */
int kr_publish(struct kr_range_list *after, struct kr_publish_means *means,
               const struct kr_publish_request *request, struct kr_failure *failure);

#endif
