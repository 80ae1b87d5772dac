#ifndef KR_LOCATOR_H
#define KR_LOCATOR_H

#include "lib/flight.h"

/* Runs lookups: from the cache, or by asking the catalog once for all who wait. Loop thread. */
struct kr_locator;

struct kr_locator *kr_locator_new(const struct kr_means *means); /* NULL = out of memory */
void kr_locator_free(struct kr_locator *locator);                /* after shutdown */

/* Start a lookup. Its done runs before or after this returns. */
void kr_locator_start(struct kr_locator *locator, struct kr_lookup *lookup);

/* End a lookup early with CANCELLED, unless it has its result already. */
void kr_locator_cancel(struct kr_locator *locator, struct kr_lookup *lookup);

/* The root may be elsewhere: forget where it was. Lookups that wait for their next try need not
 * wait any longer. */
void kr_locator_root_changed(struct kr_locator *locator);

/* End all lookups with CLOSED; those that start afterwards end so at once. */
void kr_locator_shutdown(struct kr_locator *locator);

#endif
