#ifndef KR_AGE_H
#define KR_AGE_H

#include "lib/location.h"

/* How long a cached location may stay. Times are the cache's logical ones (kr_cache_tick). Loop
 * thread. */
struct kr_age {
  int64_t ttl_ms;  /* 0 = no bound */
  int64_t idle_ms; /* 0 = no bound */
  uint64_t seed;
};

void kr_age_init(struct kr_age *age, int64_t ttl_ms, int64_t idle_ms);

/* A location was read just now, which its times say already: its time in use begins. */
void kr_age_begin(const struct kr_age *age, struct keyroute_location *location, uint64_t now);

/* Has a location been hit since this was last asked? */
bool kr_age_take_touched(const struct kr_age *age, struct keyroute_location *location,
                         uint64_t now);

/* Is its time over, and why? KR_NOT_EVICTED if not. Takes the touched mark if it judges by that. */
enum kr_evicted kr_age_judge(const struct kr_age *age, struct keyroute_location *location,
                             uint64_t now);

/* In what time each location should be judged once; 0 = nothing bounds the time. */
int64_t kr_age_round_ms(const struct kr_age *age);

#endif
