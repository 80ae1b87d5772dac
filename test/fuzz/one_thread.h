#ifndef ONE_THREAD_H
#define ONE_THREAD_H

/* The symbols of lib/latch.c, lib/rcu.c and lib/worker.c for a process of one thread, to be linked
 * with fake_loop.c. With them a whole connection, its blocking calls too, runs by a clock that
 * stands still, and every run of one input is the same. */

#include <stdbool.h>
#include <stdint.h>

/* Let so much time pass on the loop. */
void one_thread_pass_ms(int64_t ms);

/* Run the loop, timer by timer, until something is so. If it is not when no timer is left, or after
 * more time than anything may take, the process ends: somebody would wait for ever. */
void one_thread_run_until(bool (*is_so)(void));

#endif
