#ifndef KR_BATCH_STATE_H
#define KR_BATCH_STATE_H

#include "lib/call.h"
#include "lib/read.h"
#include "lib/result.h"
#include "lib/run.h"

struct kr_batch;
struct kr_batch_lookup;

/* A server that some rows of a batch are on. */
struct kr_batch_server {
  UT_hash_handle hh;                   /* by `server` */
  struct kr_batch_server *prev, *next; /* in the batch's line */
  struct kr_server *server;            /* counted */
  struct kr_run *placed;               /* to be sent there, or what a grouping has on it */
  unsigned requests;                   /* under way */
  uint32_t rows_max;                   /* of the next one */
  bool in_line;
};

/* One request under way. */
struct kr_batch_request {
  struct kr_batch_request *prev, *next; /* in the batch's list */
  struct kr_batch *batch;
  struct kr_batch_server *server;
  struct kr_request *request;
  struct kr_run *runs; /* in the order of its rows */
  uint32_t rows, regions;
  int64_t sent_us;
};

/* Many rows on their way. The owner, a call, fills in the first part and outlives it. Loop thread,
 * but for kr_batch_init and kr_batch_clear. */
struct kr_batch {
  struct kr_call *call; /* times, trace, detail */
  const struct kr_keys *keys;
  const struct kr_read *read; /* NULL = the rows are located only */
  int replica;                /* or KEYROUTE_REPLICA_ANY */
  unsigned flags;             /* KEYROUTE_REFRESH, KEYROUTE_CACHE_ONLY */

  /* It is over: the call's detail says how. Where its error is 0 the result is complete, or, if the
   * rows were located only, tells of those that could not be; the others are in runs of servers. */
  void (*done)(struct kr_batch *batch);

  struct keyroute_result *result; /* NULL = taken */
  struct kr_batch_server *servers;

  /* Its own. */
  struct kr_runs runs;
  uint32_t left;            /* rows whose fate is open */
  struct kr_run *unlocated; /* to be looked for in the cache */
  struct kr_run *missed;    /* not there: wait for a lookup */
  struct kr_run *sleeping;
  struct kr_batch_lookup *lookups;
  unsigned lookup_count;
  unsigned ahead;               /* runs of servers */
  struct kr_batch_server *line; /* those to which something may be sent */
  struct kr_batch_request *requests;
  unsigned request_count;
  struct kr_timer *alarm; /* at the deadline */
  struct kr_timer *nap;   /* until those that sleep may wake up */
  struct kr_timer *turn;  /* until the loop has done something else */
  int64_t nap_us;         /* when that is */
  uint64_t since;         /* the cache's logical time when it began */
  uint32_t first_failed;  /* the lowest index of a row that failed, */
  uint32_t failed_at;     /* and its position */
  unsigned depth;         /* of functions of the batch on the stack */
  int code;               /* ends it early, 0 = nothing does */
  bool ended;
};

/* What the files of a batch share: batch.c (its course), batch_find.c (where rows are),
 * batch_send.c (requests), batch_take.c (answers). */

/* Every function that is called from outside begins and ends with these. The batch may be gone when
 * the outermost one has left. */
void kr_batch_enter(struct kr_batch *batch);
void kr_batch_leave(struct kr_batch *batch);

/* End it early, with CANCELLED, CLOSED or NO_MEMORY. */
void kr_batch_abort(struct kr_batch *batch, int code);

/* Rounded up; not above 0 = the deadline has passed. */
int64_t kr_batch_remaining_ms(const struct kr_batch *batch);

/* Where a run is, is to be found out. Takes it over. */
void kr_batch_unlocated(struct kr_batch *batch, struct kr_run *run);

/* A row has failed for good; or all of a run, which is taken over. */
void kr_batch_fail_row(struct kr_batch *batch, uint32_t position, struct kr_note *note);
void kr_batch_fail(struct kr_batch *batch, struct kr_run *run, struct kr_note *note);

/* A try for a run has failed: wait so many ms before the next one, or fail it if that is negative.
 * Takes it over. */
void kr_batch_try_failed(struct kr_batch *batch, struct kr_run *run, struct kr_note *note,
                         int64_t wait_ms);

/* A server asks to wait: what is placed there, of one table or (-1) of all, sleeps so many ms. The
 * note is what it said. */
void kr_batch_hold(struct kr_batch *batch, struct kr_batch_server *server, int64_t table,
                   struct kr_note *note, int64_t wait_ms);

#endif
