#ifndef KR_CALL_H
#define KR_CALL_H

#include "lib/connection.h"

/* A public call that the cache did not answer in the caller's thread. What is asked, checked: */
struct kr_call_request {
  struct keyroute_table *table; /* borrowed */
  struct keyroute_bytes row;    /* copied */
  enum kr_position position;
  int replica;
  unsigned flags; /* KEYROUTE_... */
  int64_t began_us;
  int64_t deadline_ms;
  struct keyroute_location *found; /* the answer, from the cache; counted; NULL = find it out */
};

/* Start a call; cb runs on the loop, or where the dispatcher brings it. number  NULL, or for
 * kr_call_cancel. Takes over the count of what was found, unless it fails.
 * Errors: NO_MEMORY; OVERLOADED too many are under way, unless the answer is there already. */
int kr_call_start(uint64_t *number, struct keyroute_connection *conn,
                  const struct kr_call_request *request, keyroute_locate_cb cb, void *payload);

/* Start a call and wait for it. Not on the loop. detail may be NULL; its size is checked. */
int kr_call_wait(struct keyroute_location **out, struct keyroute_connection *conn,
                 const struct kr_call_request *request, struct keyroute_detail *detail);

/* Count and describe a call that kr_call_start had no room for. Returns OVERLOADED. */
int kr_call_refuse(struct keyroute_connection *conn, struct keyroute_detail *detail);

/* End one call early; unknown numbers are ignored. Any thread. */
void kr_call_cancel(struct keyroute_connection *conn, uint64_t number);

/* Check a table's name as applications give it; *name is its canonical form, a view into it. detail
 * may be NULL. Errors: INVALID_ARGUMENT, with the reason in the detail. */
int kr_call_check_table(struct keyroute_bytes *name, const char *table,
                        struct keyroute_detail *detail);

/* Copy a detail into the caller's, as much of it as that has room for; the trace moves, or is freed
 * where there is no room. */
void kr_detail_take(struct keyroute_detail *to, struct keyroute_detail *from);

#endif
