/*
 * Waiting for another thread: the blocking call for its answer, close for the loop.
 *
 *  1. It opens once, and one thread waits.
 *  2. The latch belongs to the waiter, who may return, and its stack with it, as soon as it sees it
 *     open. That a semaphore allows: who posts touches nothing of it afterwards.
 *
 * A mutex and a condition do the same, but wake the waiter while the mutex is held: it goes to
 * sleep again, on the mutex, and a lookup that misses takes a switch of threads more.
 */
#include "lib/latch.h"

#include <assert.h>
#include <errno.h>

void kr_latch_init(struct kr_latch *latch)
{
  int error = sem_init(&latch->opened, 0, 0);

  assert(error == 0); /* it may only complain of what it was asked for */
  (void)error;
}

void kr_latch_open(struct kr_latch *latch)
{
  sem_post(&latch->opened);
}

void kr_latch_await(struct kr_latch *latch)
{
  int error;

  do {
    error = sem_wait(&latch->opened);
  } while (error != 0 && errno == EINTR);
  assert(error == 0);
  sem_destroy(&latch->opened);
}
