#ifndef KR_WORKER_H
#define KR_WORKER_H

#include "lib/loop.h"

/* A thread for calls that block in other people's code (name resolution, zookeeper_init and
 * zookeeper_close). It can be left behind: what such a call does cannot be interrupted. */
struct kr_worker;

/* A piece of work, run in the order submitted. It and all it owns is allocated with malloc, not
 * with the connection's allocator, since it may outlive the connection. */
struct kr_job {
  struct kr_job *next;
  void (*run)(struct kr_job *job);  /* on the worker */
  void (*done)(struct kr_job *job); /* on the loop, after run; frees the job */
  void (*drop)(struct kr_job *job); /* instead of done, any thread, when the worker was closed,
                                       whether or not run has run: must touch nothing but the job;
                                       frees it */
  bool always;                      /* run it even when the worker is closed first: gives back what
                                       an earlier job got */
  struct kr_task task;              /* the worker's own */
  struct kr_worker *worker;         /* the worker's own */
};

/* Start a worker, all signals blocked on its thread. Errors: NO_MEMORY (memory or threads). */
int kr_worker_new(struct kr_worker **out, struct kr_loop *loop);

/* On the loop only. Once close has begun only from a done, and what is not `always` is dropped. */
void kr_worker_submit(struct kr_worker *worker, struct kr_job *job);

/* Not on the loop; the loop must still be running. Waiting jobs are dropped but for those marked
 * `always`; they and the running one get bound_ms to end (their done still runs on the loop before
 * this returns, if they ended in time). True = the thread is joined, false = it was left behind and
 * ends by itself, dropping what it ends. The worker is gone for the caller either way. */
bool kr_worker_close(struct kr_worker *worker, int64_t bound_ms);

#endif
