#ifndef KR_TRUST_H
#define KR_TRUST_H

#include "lib/flight_state.h"

/* What is thought of servers because of failures. Loop thread. */

/* A scan of the parent's region failed: it was not where it was asked, or nobody was there. */
void kr_trust_lose(struct kr_flight *flight, const struct kr_failure *failure);

/* News of the root that name a server again speak for it: what failed before is over. */
void kr_trust_restore(struct kr_flight *flight, const struct keyroute_location *root);

#endif
