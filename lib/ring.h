#ifndef KR_RING_H
#define KR_RING_H

#include "lib/location.h"

/* The cached locations in a ring, with a hand that says whose turn it is: for those who look at
 * them one after another, a few at a time. Loop thread. */
struct kr_ring {
  struct keyroute_location *hand; /* visited next; NULL = the ring is empty */
  size_t count;
};

/* Put a location in, to be visited last. It must not be in a ring, nor wait for readers. */
void kr_ring_add(struct kr_ring *ring, struct keyroute_location *location);

/* Take a location out. If the hand was on it, it is now on the next one. */
void kr_ring_remove(struct kr_ring *ring, struct keyroute_location *location);

/* The location under the hand, which moves on; NULL if there is none. */
struct keyroute_location *kr_ring_next(struct kr_ring *ring);

#endif
