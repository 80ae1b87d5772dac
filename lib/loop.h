#ifndef KR_LOOP_H
#define KR_LOOP_H

#include "lib/mem.h"

/* The one thread of a connection on which everything is decided. */
struct kr_loop;

/* Something to run on the loop; embedded in what it is about. */
struct kr_task {
  struct kr_task *next;
  void (*run)(struct kr_task *task);
};

/* A one-shot timer. */
struct kr_timer;
typedef void (*kr_timer_cb)(void *arg);

/* Start a loop and its thread, all signals blocked there. Errors: NO_MEMORY. */
int kr_loop_new(struct kr_loop **out, struct kr_mem *mem);

/* End the loop: runs what was posted, then joins the thread. Every socket and timer must have been
 * closed or stopped on the loop before. Not from the loop's own thread. Whether a thread is the
 * loop's may still be asked afterwards. */
void kr_loop_end(struct kr_loop *loop);

/* Free the loop, which is ended first if it was not. */
void kr_loop_free(struct kr_loop *loop);

/* Run a task on the loop, after those posted before it. Any thread; allocates nothing. */
void kr_loop_post(struct kr_loop *loop, struct kr_task *task);

/* Is this the loop's thread? */
bool kr_loop_inside(const struct kr_loop *loop);

/* On the loop only. fire runs once after delay_ms unless stopped. NULL = out of memory. The timer
 * is gone once it has fired or been stopped; stopping NULL does nothing. */
struct kr_timer *kr_timer_start(struct kr_loop *loop, int64_t delay_ms, kr_timer_cb fire,
                                void *arg);
void kr_timer_stop(struct kr_timer *timer);

/* For socket.c: the uv_loop_t. */
void *kr_loop_uv(struct kr_loop *loop);

#endif
