#ifndef KR_HAND_H
#define KR_HAND_H

#include "lib/location.h"
#include "lib/skiplist.h"

/* Where somebody who looks at the cached regions one after another, a few at a time, has come to.
 * Regions stand in sorted lists, and lists that are not empty stand in a circle of stops. Loop
 * thread. */
struct kr_stop {
  struct kr_stop *prev, *next; /* NULL while it is not in the circle */
  struct kr_skiplist *regions;
};

struct kr_hand {
  struct kr_stop *stop;           /* NULL = the circle is empty */
  struct keyroute_location *last; /* counted: visited last at this stop; NULL = none was */
};

/* The hands that go round one circle. All zero at first. */
enum { KR_HAND_SWEEP, KR_HAND_ROOM, KR_HANDS };
struct kr_hands {
  struct kr_hand of[KR_HANDS];
};

/* A list has its first region: it is visited last. */
void kr_hands_add(struct kr_hands *hands, struct kr_stop *stop);

/* A list has lost its last region. A hand that was on it is on the next one. */
void kr_hands_remove(struct kr_hands *hands, struct kr_stop *stop);

/* The regions that come next, at most max, all of the hand's stop, which may be another than before
 * then. Good as long as they stay in the list. 0 = there are none. */
size_t kr_hand_ahead(struct kr_hand *hand, struct keyroute_location **regions, size_t max);

/* Give back what the hands count, and go round no more. Also in a forked child. */
void kr_hands_release(struct kr_hands *hands);

/* This one of them has been visited. */
void kr_hand_pass(struct kr_hand *hand, struct keyroute_location *region);

/* Leave out what is left at this stop. */
void kr_hand_skip(struct kr_hand *hand);

#endif
