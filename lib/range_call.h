#ifndef KR_RANGE_CALL_H
#define KR_RANGE_CALL_H

#include "lib/call.h"
#include "lib/publish_conn.h"
#include "lib/ranges.h"

/* A call about a range directory, from the first check to what is given out. In one thread. */
struct kr_range_call {
  struct keyroute_connection *conn;
  struct kr_terms terms;
  struct kr_failure failure;
  struct kr_publish_conn publish;
};

/* Begin: may it wait, is the connection one of this layout? kr_range_call_end on success only.
 * detail  NULL or filled in on an error
 * Errors: INVALID_ARGUMENT, CLOSED. */
int kr_range_call_begin(struct kr_range_call *range_call, struct keyroute_connection *conn,
                        const struct keyroute_call *call, struct keyroute_detail *detail);

/* Which level's ranges are in a table of this name? May there be this key? Errors:
 * INVALID_ARGUMENT. */
int kr_range_call_check_table(enum kr_level *out, const char *table, struct kr_failure *failure);
int kr_range_call_check_key(struct keyroute_bytes key, struct kr_failure *failure);

/* Get hold of ZooKeeper, and of the lock where something is to change. Errors: as
 * kr_publish_conn_open. */
int kr_range_call_reach(struct kr_range_call *range_call, bool changes);

/* Tell how it went, give ranges out or free them, and leave the connection. Returns error.
 * out  NULL = they are not wanted */
int kr_range_call_end(struct kr_range_call *range_call, int error, struct keyroute_ranges **out,
                      struct keyroute_ranges *ranges, struct keyroute_detail *detail);

#endif
