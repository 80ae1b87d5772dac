/*
 * Counters that do not slow down what they count.
 *
 * Hits are counted in the caller's thread. Were all threads to add to one number, its cache line
 * would travel between their processors at each hit, so there are stripes, each on lines of its
 * own, and a thread keeps to one. Two threads may share a stripe: the additions are atomic. All
 * orders are relaxed, for a count orders nothing.
 */
#include "lib/stats.h"

#include <stdatomic.h>

enum { STRIPES = 32 };

struct stripe {
  _Alignas(64) atomic_uint_fast64_t counters[KR_COUNTERS];
};

struct kr_stats {
  struct kr_mem *mem;
  void *room; /* what stripes was aligned in */
  struct stripe *stripes;
};

/* Which stripe a thread uses: handed out in turn, 0 = not yet. */
static _Thread_local unsigned own_stripe;
static atomic_uint next_stripe;

struct kr_stats *kr_stats_new(struct kr_mem *mem)
{
  struct kr_stats *stats = kr_calloc(mem, sizeof(*stats));

  if (stats == NULL) {
    return NULL;
  }
  stats->mem = mem;
  stats->room = kr_calloc(mem, (STRIPES + 1) * sizeof(struct stripe));
  if (stats->room == NULL) {
    kr_free(mem, stats);
    return NULL;
  }
  uintptr_t aligned = ((uintptr_t)stats->room + _Alignof(struct stripe) - 1) &
                      ~(uintptr_t)(_Alignof(struct stripe) - 1);

  stats->stripes = (struct stripe *)aligned;
  return stats;
}

void kr_stats_free(struct kr_stats *stats)
{
  if (stats != NULL) {
    kr_free(stats->mem, stats->room);
    kr_free(stats->mem, stats);
  }
}

void kr_stats_add(struct kr_stats *stats, enum kr_counter counter, uint64_t more)
{
  if (own_stripe == 0) {
    own_stripe = 1 + atomic_fetch_add_explicit(&next_stripe, 1, memory_order_relaxed) % STRIPES;
  }
  atomic_fetch_add_explicit(&stats->stripes[own_stripe - 1].counters[counter], more,
                            memory_order_relaxed);
}

uint64_t kr_stats_read(const struct kr_stats *stats, enum kr_counter counter)
{
  uint64_t sum = 0;

  for (int i = 0; i < STRIPES; i++) {
    sum += atomic_load_explicit(&stats->stripes[i].counters[counter], memory_order_relaxed);
  }
  return sum;
}
