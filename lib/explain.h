#ifndef KR_EXPLAIN_H
#define KR_EXPLAIN_H

#include "lib/flight_state.h"

/* Why a row has no region that could be asked, where one more read must tell. Each may end the
 * flight, and in the end does. Loop thread. */

/* The scan met no row: is there a hole, or no such table? */
void kr_explain_no_rows(struct kr_flight *flight);

/* The nearest region ends below the row: where does the hole end? */
void kr_explain_gap(struct kr_flight *flight);

/* The region is offline (failure is set) or on no server (unplaced is set): does its table say why?
 * If not, the flight ends with what is set. */
void kr_explain_absence(struct kr_flight *flight);

#endif
