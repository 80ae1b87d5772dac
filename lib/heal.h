#ifndef KR_HEAL_H
#define KR_HEAL_H

#include "lib/connection.h"

/* What follows when a request to a region's server failed: for the location that it was sent by,
 * and for the request. Loop thread. */

/* Report what was met, as an application would with keyroute_report. */
void kr_heal_report(struct keyroute_connection *conn, struct keyroute_location *location,
                    int replica, const struct kr_failure *failure);

/* May what was asked have been done, though it failed? */
bool kr_heal_maybe_applied(const struct kr_failure *failure);

/* After a failed try: how many ms to wait before the location is looked up again, or -1 to give up.
 *  tries  that were sent so far, at least 1 */
int64_t kr_heal_wait_ms(struct keyroute_connection *conn, const struct kr_failure *failure,
                        unsigned tries, int64_t deadline_us);

/* How many ms a request may take, of a call from began_us to deadline_us. once  it is not to be
 * sent again: there is nothing to save time for */
int64_t kr_heal_try_ms(const struct keyroute_connection *conn, int64_t began_us,
                       int64_t deadline_us, bool once);

/* A failure as the application is told of it: where the server does not have the region, with what
 * the catalog says of that. */
void kr_heal_tell(struct kr_failure *out, const struct kr_failure *failure,
                  const struct keyroute_location *location);

/* Does a failure say only that nobody answered, or that nobody was asked? Then it does not hide one
 * that somebody answered with. */
bool kr_heal_says_less(int code);

/* Which replica to ask, of a location that was found for `replica` (or KEYROUTE_REPLICA_ANY: the
 * first whose server may be asked now). */
int kr_heal_replica(const struct keyroute_location *location, int replica);

#endif
