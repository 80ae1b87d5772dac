/*
 * Waiting for another thread: the blocking call for its answer, close for the loop.
 *
 *  1. It opens once, and one thread waits.
 *  2. The latch belongs to the waiter, who may return, and its stack with it, as soon as it sees it
 *     open. So the opener touches nothing of it once it has let go of the lock.
 */
#include "lib/latch.h"

void kr_latch_open(struct kr_latch *latch)
{
  pthread_mutex_lock(&latch->lock);
  latch->is_open = true;
  pthread_cond_signal(&latch->opened);
  pthread_mutex_unlock(&latch->lock);
}

void kr_latch_await(struct kr_latch *latch)
{
  pthread_mutex_lock(&latch->lock);
  while (!latch->is_open) {
    pthread_cond_wait(&latch->opened, &latch->lock);
  }
  pthread_mutex_unlock(&latch->lock);
  pthread_mutex_destroy(&latch->lock);
  pthread_cond_destroy(&latch->opened);
}
