#ifndef KR_CLOCK_H
#define KR_CLOCK_H

#include <stdint.h>

/* Microseconds of a clock that never goes back. Tests link fake_loop.c, which has its own. */
int64_t kr_clock_us(void);

#endif
