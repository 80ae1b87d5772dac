#ifndef KR_LOCATOR_STATE_H
#define KR_LOCATOR_STATE_H

#include "lib/queue.h"

/* What the files of the locator share: locator.c (who flies), outcome.c (what becomes of one
 * lookup), serve.c (what a flight brought for whom), root.c (the root's place). Loop thread. */
struct kr_locator {
  struct kr_means means;
  struct kr_queue *queues;     /* by table */
  struct kr_queue *line;       /* those to be looked at, in turn */
  struct kr_queue *stalled;    /* those that wait for the connection's budget */
  struct kr_lookup *answered;  /* those whose done is yet to run */
  unsigned depth;              /* of functions of the locator on the stack */
  unsigned flight_count;       /* those in the connection's budget */
  uint64_t random;             /* kr_random_next */
  int64_t root_failed_us;      /* when the root could not be learnt; 0 = it could */
  struct kr_timer *root_pause; /* until it may be asked for again */
  struct kr_lookup news; /* of the root, asked for by nobody but the locator; table NULL = none */
  bool closed;
};

/* Every function that is called from outside begins and ends with these. What was set off meanwhile
 * is done when the outermost one leaves. */
void kr_locator_enter(struct kr_locator *locator);
void kr_locator_leave(struct kr_locator *locator);

/* Have a queue looked at when the outermost function leaves. */
void kr_locator_line_up(struct kr_locator *locator, struct kr_queue *queue);

#endif
