#ifndef KR_LATCH_H
#define KR_LATCH_H

#include <pthread.h>
#include <stdbool.h>

/* Something that one thread waits for and another does, once. On the waiting thread's stack. */
struct kr_latch {
  pthread_mutex_t lock;
  pthread_cond_t opened;
  bool is_open; /* lock */
};

#define KR_LATCH_INIT                                                                              \
  {                                                                                                \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false                                     \
  }

/* It is done: what was written before is seen by the one who waited. The latch may be gone when
 * this returns. */
void kr_latch_open(struct kr_latch *latch);

/* Wait until it is open, then take it apart. */
void kr_latch_await(struct kr_latch *latch);

#endif
