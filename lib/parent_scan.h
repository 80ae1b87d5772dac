#ifndef KR_PARENT_SCAN_H
#define KR_PARENT_SCAN_H

#include "lib/flight_state.h"

/* One scan of the parent's region, at the place that the flight has for it. Loop thread. */

/* Send a scan; region, and family if it is NULL, are filled in. `name` is the step's. May end the
 * flight: out of memory. */
void kr_parent_scan_send(struct kr_flight *flight, const char *name, struct kr_scan *scan,
                         kr_scan_cb cb);

/* What a callback begins with: the request is over and so is its step. False = it failed. */
bool kr_parent_scan_answered(struct kr_flight *flight, const struct kr_failure *failure,
                             const struct kr_rows *rows);

/* The same where rows of regions were asked for: they are added to the flight's. False = the flight
 * has ended. */
bool kr_parent_scan_received(struct kr_flight *flight, const struct kr_failure *failure,
                             const struct kr_rows *rows);

/* Forget the rows met so far. */
void kr_parent_scan_release_rows(struct kr_flight *flight);

#endif
