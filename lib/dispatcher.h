#ifndef KR_DISPATCHER_H
#define KR_DISPATCHER_H

#include "lib/mem.h"

/* Brings callbacks from the loop to the application's own thread or loop. */
struct kr_dispatcher;

/* Something to run there; embedded in what it is about. */
struct kr_answer {
  struct kr_answer *next;
  void (*run)(struct kr_answer *answer); /* the answer may be gone when it returns */
};

/* post NULL = they wait for kr_dispatcher_drain. Errors: NO_MEMORY memory or descriptors. */
int kr_dispatcher_new(struct kr_dispatcher **out, struct kr_mem *mem, keyroute_post_cb post,
                      void *payload);

/* Run an answer there, after those added before. The loop thread. */
void kr_dispatcher_add(struct kr_dispatcher *dispatcher, struct kr_answer *answer);

/* Readable while answers wait for kr_dispatcher_drain; -1 where they are posted. */
int kr_dispatcher_fd(const struct kr_dispatcher *dispatcher);

/* Run what waits, on this thread; how many that were. 0 while another thread does, and inside an
 * answer. */
int kr_dispatcher_drain(struct kr_dispatcher *dispatcher);

/* Is this thread running an answer? */
bool kr_dispatcher_inside(struct kr_dispatcher *dispatcher);

/* From now on nobody is told of what is added. Any thread. */
void kr_dispatcher_shut(struct kr_dispatcher *dispatcher);

/* Run what waits, on this thread, once the answer under way on another one has returned; then give
 * the dispatcher up. Nothing is added any more. What was posted before may still be called. */
void kr_dispatcher_close(struct kr_dispatcher *dispatcher);

#endif
