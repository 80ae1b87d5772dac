#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

/* How long the turns of a connection's loop are: what a socket or a timer may have to wait. */

#include "lib/loop.h"

struct bench_turns {
  double longest_us;     /* on the wall, but for the time that the loop waits */
  double longest_cpu_us; /* that the loop's thread worked */
  size_t count;
};

/* Look at each turn from now on. On the loop. */
void bench_turns_start(struct kr_loop *loop);

/* Those since then; look no more. On the loop. */
struct bench_turns bench_turns_stop(void);

#endif
