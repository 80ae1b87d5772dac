#ifndef KR_FINDINGS_H
#define KR_FINDINGS_H

#include "lib/flight_state.h"

/* What a flight found, and what becomes of it in the cache. Loop thread. */

/* Is it on servers that may be asked, so that a hit may give it out? */
bool kr_findings_usable(const struct keyroute_location *location);

/* Was it reported to be wrong after it was asked for? */
bool kr_findings_doubtful(const struct kr_flight *flight, const struct keyroute_location *location);

/* Store the region that holds the flight's row, and those met beside it; sets the flight's
 * location, or its failure if a newer region stands in the way. False = out of memory, and neither
 * is set. */
bool kr_findings_store(struct kr_flight *flight, struct keyroute_location *location);

/* Store the regions met beside the wanted one (NULL = there is none), if they are whole. */
void kr_findings_store_others(struct kr_flight *flight, const struct keyroute_location *wanted);

/* What the cache says about the flight's row is wrong. */
void kr_findings_forget_row(struct kr_flight *flight);

#endif
