#ifndef DRAW_H
#define DRAW_H

/* Numbers by chance, for tests that are to be repeated with the same ones. One thread. */

#include <stdint.h>

/* Begin with the seed that KR_TEST_SEED names, else with one of this second; it is printed. */
void draw_seeded(void);
/* Begin with this one. */
void draw_from_seed(uint64_t seed);

/* At least 0 and below a number that is not 0. */
uint32_t draw(uint32_t below);

#endif
