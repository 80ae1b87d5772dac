#ifndef KR_HOP_H
#define KR_HOP_H

#include "lib/call.h"

/* The last hop of a call about one row: find its region, send there what the call is about, and on
 * an error that says so find it again and send once more. Loop thread. */
struct kr_hop;

/* The flags that calls of this kind have. */
#define KR_HOP_FLAGS (KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY | KEYROUTE_TRACE)

/* What is sent. */
struct kr_hop_ops {
  /* Send it to that server; the answer goes to kr_hop_answered or kr_hop_failed, later. NULL = out
   * of memory. */
  struct kr_request *(*send)(struct kr_hop *hop, const char *host, int port, int64_t timeout_ms);

  /* It is over: hop->failure says how. The hop is the owner's again, and may go. */
  void (*done)(struct kr_hop *hop);

  bool once;  /* what may have been done once must not be done twice */
  bool scans; /* what is sent are scans of the catalog, and counted as such */
};

/* Embedded in a call, which outlives it. The owner fills in the first part. */
struct kr_hop {
  const struct kr_hop_ops *ops;
  void *owner;                  /* the owner's */
  struct kr_call *call;         /* times, trace, detail */
  struct keyroute_table *table; /* counted by the owner */
  struct keyroute_bytes row;    /* the owner's */
  enum kr_position position;    /* the row's region, or the one before */
  int replica;                  /* or KEYROUTE_REPLICA_ANY */
  unsigned flags;               /* KEYROUTE_REFRESH, KEYROUTE_CACHE_ONLY */
  const char *step;             /* static: its name in a trace, "get" */

  /* Where it was sent last: counted by the hop until it is done, then by the owner; NULL = it never
   * was. */
  struct keyroute_location *location;
  int asked; /* the replica asked, of that location */

  struct kr_failure failure; /* the outcome; code 0 = answered */
  bool maybe_applied;

  /* Its own. */
  struct kr_lookup lookup;
  struct kr_request *request; /* NULL = none is under way */
  struct kr_timer *timer;     /* until the next try */
  unsigned tries;             /* sent so far */
  int64_t sent_us;
  bool looking;
  bool stopped; /* failure says why */
};

/* Begin. Its done runs before or after this returns. */
void kr_hop_start(struct kr_hop *hop);

/* What came of the last send: an answer, which the owner has taken, or why there is none. */
void kr_hop_answered(struct kr_hop *hop);
void kr_hop_failed(struct kr_hop *hop, const struct kr_failure *failure);

/* End it early, with CANCELLED or CLOSED; its done runs now or later. */
void kr_hop_stop(struct kr_hop *hop, int code);

#endif
