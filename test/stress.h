#ifndef STRESS_H
#define STRESS_H

/* What stress tests throw their dice with, and count in: for one file of a program.
 * KEYROUTE_STRESS_MS is how long a round goes on, KEYROUTE_STRESS_SEED what the dice begin with. */

#include "keyroute/keyroute.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t now_us(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline void sleep_us(int64_t us)
{
  nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static inline unsigned dice(uint64_t *seed, unsigned sides)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((*seed >> 33) % sides);
}

static inline uint64_t first_seed(void)
{
  const char *text = getenv("KEYROUTE_STRESS_SEED");

  return text != NULL ? strtoull(text, NULL, 0) : 1;
}

static inline int64_t round_ms(int64_t otherwise_ms)
{
  const char *text = getenv("KEYROUTE_STRESS_MS");

  return text != NULL ? atoi(text) : otherwise_ms;
}

static atomic_int wrong; /* answers */

#define WRONG(...)                                                                                 \
  do {                                                                                             \
    if (atomic_fetch_add(&wrong, 1) < 20) {                                                        \
      fprintf(stderr, __VA_ARGS__);                                                                \
    }                                                                                              \
  } while (0)

/* ---- Memory: counted, and refused at random -------------------------------------------------- */

static atomic_long live;   /* allocations */
static atomic_uint one_in; /* 0 = never */

static inline bool refuses(void)
{
  static _Thread_local uint64_t seed;
  unsigned sides = atomic_load(&one_in);

  if (seed == 0) {
    seed = first_seed() ^ (uintptr_t)&seed;
  }
  return sides > 0 && dice(&seed, sides) == 0;
}

static inline void *allocate(void *user, size_t size)
{
  void *made = refuses() ? NULL : malloc(size);

  (void)user;
  atomic_fetch_add(&live, made != NULL);
  return made;
}

static inline void *reallocate(void *user, void *old, size_t size)
{
  (void)user;
  return refuses() ? NULL : realloc(old, size);
}

static inline void release(void *user, void *old)
{
  (void)user;
  atomic_fetch_sub(&live, 1);
  free(old);
}

static const struct keyroute_allocator allocator = {NULL, allocate, reallocate, release};

#endif
