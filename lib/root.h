#ifndef KR_ROOT_H
#define KR_ROOT_H

#include "lib/flight.h"

/* The root's place: how often it is asked for, and what news of it mean. Loop thread, inside the
 * locator. */

/* A flight that read the root's place has ended. */
void kr_root_note(struct kr_locator *locator, const struct kr_flight *flight);

/* Must the root not be asked for yet? Then its queue is lined up when it may be. */
bool kr_root_must_pause(struct kr_locator *locator);

/* The root is there: have scans of it on other servers go on there. */
void kr_root_reroute(struct kr_locator *locator, const struct keyroute_location *root);

/* The root may be elsewhere: forget where it was, wake those who sleep. Returns a lookup of the
 * root that is to be started for the sake of scans under way, or NULL. */
struct kr_lookup *kr_root_changed(struct kr_locator *locator);

#endif
