#ifndef KR_FLIGHT_H
#define KR_FLIGHT_H

#include "lib/flight_state.h"

/* NULL = out of memory. row is copied. */
struct kr_flight *kr_flight_new(const struct kr_means *means, const struct kr_flight_host *host,
                                struct kr_locator *locator, struct keyroute_table *table,
                                struct keyroute_bytes row, enum kr_position position);

/* limit, try_ms and deadline_us are set. May end the flight at once. */
void kr_flight_start(struct kr_flight *flight);

/* The root is on that server now. A scan of it that is under way on another one is given up, and
 * the flight goes on there, within the same try. May end the flight. */
void kr_flight_reroute(struct kr_flight *flight, const struct kr_server *root);

/* End whatever is under way and release it; ended is not called. */
void kr_flight_free(struct kr_flight *flight);

#endif
