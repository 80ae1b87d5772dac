#ifndef FAKE_LOOP_H
#define FAKE_LOOP_H

/* The symbols of lib/loop.c and lib/clock.c without threads: a clock that stands still until a test
 * moves it, timers that fire then, tasks that run when a test says so. */

#include "lib/clock.h"
#include "lib/loop.h"

/* Run what was posted, and what that posts. */
void fake_loop_run(void);

/* Move the clock; timers fire in order at their own times, tasks run behind each. */
void fake_clock_pass_ms(int64_t ms);

/* Is what runs now the loop's thread? It is, unless a test says otherwise. */
void fake_loop_set_inside(bool inside);

/* How long until the next timer fires, rounded up; -1 = none is running. */
int64_t fake_timer_next_ms(void);

/* How many tasks are posted. */
size_t fake_task_count(void);

/* How many timers are running. */
size_t fake_timer_count(void);

#endif
