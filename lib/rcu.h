#ifndef KR_RCU_H
#define KR_RCU_H

#include <stdbool.h>

/* Read-copy-update: readers hold nothing up; what the writer takes away is freed once every reader
 * of that moment has gone. liburcu's flavour bp, which registers threads by itself. */
void kr_rcu_read_begin(void);
void kr_rcu_read_end(void); /* both without a call: rcu_read.h */
bool kr_rcu_reading(void);  /* inside a section, on this thread */

/* Run fn(head) on liburcu's own thread after a grace period. head is embedded in what is freed; it
 * is big enough for struct rcu_head, which rcu.c checks. Never blocks. Any thread. */
struct kr_rcu_head {
  void *room[2];
  void (*fn)(struct kr_rcu_head *head);
};
void kr_rcu_defer(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head));

/* The same for many things of one kind, each of which has room for one pointer only. A queue lives
 * as long as the process: `static struct kr_rcu_queue queue = {.free = fn};`. Never blocks on
 * readers. Any thread. */
struct kr_rcu_link {
  struct kr_rcu_link *next;
};
struct kr_rcu_queue {
  void (*free)(struct kr_rcu_link *link);
  struct kr_rcu_link *waiting; /* atomic: what waits for the next grace period, last come first */
  struct kr_rcu_link *passing; /* what waits for the one under way */
  struct kr_rcu_link end;      /* marks a list's end */
  struct kr_rcu_queue *others; /* queues that were used before */
  struct kr_rcu_head head;
  bool known;
};
void kr_rcu_enqueue(struct kr_rcu_queue *queue, struct kr_rcu_link *link);

/* Wait until all that was deferred, or put into queues, before has run. Blocks: not in a read
 * section, not on the loop. */
void kr_rcu_barrier(void);

/* Around a fork, in the thread that forks. */
void kr_rcu_before_fork(void);
void kr_rcu_after_fork_in_parent(void);
void kr_rcu_after_fork_in_child(void);

/* False in a child that was forked inside a read section: nothing is deferred there any more, and
 * only the thread that forked may read. */
bool kr_rcu_usable(void);

#endif
