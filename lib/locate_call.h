#ifndef KR_LOCATE_CALL_H
#define KR_LOCATE_CALL_H

#include "lib/call.h"

/* The call that asks where a row is. What is asked, checked: */
struct kr_locate_request {
  struct keyroute_table *table; /* borrowed */
  struct keyroute_bytes row;    /* copied */
  enum kr_position position;
  struct kr_terms terms;
  struct keyroute_location *found; /* the answer, from the cache; counted; NULL = find it out */
};

/* Start it. Takes over the count of what was found, unless it fails. Errors: NO_MEMORY; OVERLOADED
 * too many are under way, unless the answer is there already. */
int kr_locate_start(uint64_t *number, struct keyroute_connection *conn,
                    const struct kr_locate_request *request, keyroute_locate_cb cb, void *payload);

/* Start it and wait for it. Not on the loop. detail may be NULL; its size is checked. */
int kr_locate_wait(struct keyroute_location **out, struct keyroute_connection *conn,
                   const struct kr_locate_request *request, struct keyroute_detail *detail);

#endif
