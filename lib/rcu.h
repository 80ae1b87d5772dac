#ifndef KR_RCU_H
#define KR_RCU_H

#include <stdbool.h>

/* Read-copy-update: readers hold nothing up; what the writer takes away is freed once every reader
 * of that moment has gone. liburcu's flavour bp, which registers threads by itself. */
void kr_rcu_read_begin(void);
void kr_rcu_read_end(void); /* both without a call: rcu_read.h */
bool kr_rcu_reading(void);  /* inside a section, on this thread */

/* Free something after a grace period. It has room for one pointer, and shares a queue with all of
 * its kind, which lives as long as the process: `static struct kr_rcu_queue queue = {.free = fn};`.
 * fn runs on liburcu's own thread, or on one that is in kr_rcu_barrier, and must wait for no reader
 * and for no other fn. Never blocks on readers. Any thread. */
struct kr_rcu_link {
  struct kr_rcu_link *next;
};
struct kr_rcu_queue {
  void (*free)(struct kr_rcu_link *link);
  /* The rest is rcu.c's, which says more of it. */
  struct kr_rcu_link *waiting, *oldest; /* for the next grace period: a list, and its end */
  struct kr_rcu_link *passing;          /* wait for the one under way */
  struct kr_rcu_link *leaving;          /* are being freed */
  struct kr_rcu_queue *others;          /* queues that were used before */
  bool known;
};
void kr_rcu_enqueue(struct kr_rcu_queue *queue, struct kr_rcu_link *link);

/* The same for what has a kind of its own, and room to name it: run fn(head). */
struct kr_rcu_head {
  struct kr_rcu_link link;
  void (*fn)(struct kr_rcu_head *head);
};
void kr_rcu_defer(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head));

/* Wait until all that was deferred, or put into queues, before has run; what nobody runs yet does
 * so here. Blocks until readers have gone: not in a read section, not on the loop. */
void kr_rcu_barrier(void);

/* Around a fork, in the thread that forks. */
void kr_rcu_before_fork(void);
void kr_rcu_after_fork_in_parent(void);
void kr_rcu_after_fork_in_child(void);

/* False in a child that was forked inside a read section: nothing is deferred there any more, and
 * only the thread that forked may read. */
bool kr_rcu_usable(void);

#endif
