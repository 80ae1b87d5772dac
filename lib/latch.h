#ifndef KR_LATCH_H
#define KR_LATCH_H

#include <semaphore.h>

/* Something that one thread waits for and another does, once. On the waiting thread's stack. */
struct kr_latch {
  sem_t opened;
};

/* Make it, shut. */
void kr_latch_init(struct kr_latch *latch);

/* It is done: what was written before is seen by the one who waited. The latch may be gone when
 * this returns. */
void kr_latch_open(struct kr_latch *latch);

/* Wait until it is open, then take it apart. */
void kr_latch_await(struct kr_latch *latch);

#endif
