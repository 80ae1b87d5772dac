#ifndef KR_RANDOM_H
#define KR_RANDOM_H

#include <stdint.h>

/* The next 64 random bits of a state, which may begin with any value; good enough for spreading
 * waits. */
uint64_t kr_random_next(uint64_t *state);

#endif
