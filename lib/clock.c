/*
 * The one clock of the library: monotonic, so that a deadline never jumps with the calendar. A hit
 * does not read it, unless its caller wants a detail.
 */
#include "lib/clock.h"

#include <time.h>

int64_t kr_clock_us(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
