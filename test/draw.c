#include "test/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t state;

void draw_from_seed(uint64_t seed)
{
  state = seed;
}

void draw_seeded(void)
{
  const char *given = getenv("KR_TEST_SEED");

  state = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
  printf("KR_TEST_SEED=%llu\n", (unsigned long long)state);
  fflush(stdout);
}

uint32_t draw(uint32_t below)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}
