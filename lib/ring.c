/*
 * A ring of locations with a hand on it: whose turn is it to be looked at?
 *
 * The cache is looked through for two reasons: to find regions whose time is over, and to find one
 * to let go when room is short. Neither may stop the loop for long, so both go on where the last
 * look ended: the hand of a clock. The skip lists cannot be walked so, for a table may be gone in
 * between.
 *
 *  1. The links are in the location, in the room that it needs only once it has left the cache
 *     (kr_location_release_later): a location in a ring costs no byte and no allocation more, and
 *     must be taken out before it is released so.
 *  2. A new location stands behind the hand, which comes to it last.
 *
 * Loop thread. Source: F. J. Corbato, A Paging Experiment with the Multics System, 1968
 */
#include "lib/ring.h"

void kr_ring_add(struct kr_ring *ring, struct keyroute_location *location)
{
  struct keyroute_location *hand = ring->hand;

  if (hand == NULL) {
    location->cached.prev = location->cached.next = location;
    ring->hand = location;
  } else {
    location->cached.prev = hand->cached.prev;
    location->cached.next = hand;
    hand->cached.prev->cached.next = location;
    hand->cached.prev = location;
  }
  ring->count++;
}

void kr_ring_remove(struct kr_ring *ring, struct keyroute_location *location)
{
  struct keyroute_location *next = location->cached.next;

  next->cached.prev = location->cached.prev;
  location->cached.prev->cached.next = next;
  if (ring->hand == location) {
    ring->hand = next != location ? next : NULL;
  }
  ring->count--;
}

struct keyroute_location *kr_ring_next(struct kr_ring *ring)
{
  struct keyroute_location *location = ring->hand;

  if (location != NULL) {
    ring->hand = location->cached.next;
  }
  return location;
}
