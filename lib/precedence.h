#ifndef KR_PRECEDENCE_H
#define KR_PRECEDENCE_H

#include "lib/location.h"

/* Which of two things that the catalog said is believed: what is known, or `fresh`, which a read
 * brought that was sent at the cache's logical time `sent`. Loop thread. */

/* Does a region that is known, and overlaps, keep fresh out of the cache? */
bool kr_precedence_outranks(const struct keyroute_location *known,
                            const struct keyroute_location *fresh, uint64_t sent);

/* Let fresh take over the replicas of the same region that are known to be newer. Where the read
 * brought none (the replica is on no server, or its cell is missing), the later read is right. Only
 * before it is published. */
void kr_precedence_merge(struct keyroute_location *fresh, const struct keyroute_location *known,
                         uint64_t sent);

/* Does fresh say just what is known? */
bool kr_precedence_equal(const struct keyroute_location *fresh,
                         const struct keyroute_location *known);

#endif
