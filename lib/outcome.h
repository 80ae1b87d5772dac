#ifndef KR_OUTCOME_H
#define KR_OUTCOME_H

#include "lib/check.h"
#include "lib/lookup.h"

/* What becomes of one lookup. Loop thread, inside the locator. */

/* End it: take it out of everything it stands in; its done runs soon. */
void kr_lookup_found(struct kr_lookup *lookup, const struct keyroute_location *location,
                     enum keyroute_source source);
void kr_lookup_failed(struct kr_lookup *lookup, const struct kr_failure *failure);
void kr_lookup_end_early(struct kr_lookup *lookup, int code);
void kr_lookup_no_memory(struct kr_lookup *lookup);
void kr_lookup_closed(struct kr_lookup *lookup);
void kr_lookup_late(struct kr_lookup *lookup); /* its deadline has passed */
void kr_lookup_end(struct kr_lookup *lookup);  /* with what its failure says */

/* Take it out of everything, without an end. */
void kr_lookup_take_out(struct kr_lookup *lookup);

/* A try has failed, as that of all rows from `reach` up to it would: end it, or let it sleep. */
void kr_lookup_try_failed(struct kr_lookup *lookup, const struct kr_failure *failure,
                          struct keyroute_bytes reach);

/* Have one that sleeps try again soon: not all at once, and not in this turn of the loop. */
void kr_lookup_wake_soon(struct kr_lookup *lookup);

struct kr_question kr_lookup_question(const struct kr_lookup *lookup);

#endif
