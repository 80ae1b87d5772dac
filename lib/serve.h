#ifndef KR_SERVE_H
#define KR_SERVE_H

#include "lib/flight.h"

/* What a flight brought, and for whom. Loop thread, inside the locator. */

/* It has a location: serve all whose rows its regions cover. */
void kr_serve_all(struct kr_flight *flight);

/* It has failed: tell its members, and all others what concerns them. */
void kr_serve_failure(struct kr_flight *flight);

/* Let go of those who are left. */
void kr_serve_disband(struct kr_flight *flight);

/* The cached location that serves a lookup, or NULL. Only good until the loop does something else:
 * it alone takes regions out. */
struct keyroute_location *kr_serve_cached(const struct kr_lookup *lookup);

#endif
