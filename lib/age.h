#ifndef KR_AGE_H
#define KR_AGE_H

#include "lib/location.h"

/* How long a cached location may stay. Loop thread. */
struct kr_age {
  int64_t ttl_ms;  /* 0 = no bound */
  int64_t idle_ms; /* 0 = no bound */
  int64_t began_us;
  uint64_t random;
};

void kr_age_init(struct kr_age *age, int64_t ttl_ms, int64_t idle_ms);

/* The present in the units of a location's expires_ds and used_ds. 0 if nothing bounds the time:
 * the clock is not read then. */
uint32_t kr_age_now(const struct kr_age *age);

/* A location was read just now: its time begins. */
void kr_age_begin(struct kr_age *age, struct keyroute_location *location);

/* Has a location been hit since this was last asked? */
bool kr_age_take_touched(struct keyroute_location *location, uint32_t now_ds);

/* Is its time over, and why? KR_NOT_EVICTED if not. Takes the touched mark if it judges by that. */
enum kr_evicted kr_age_judge(const struct kr_age *age, struct keyroute_location *location,
                             uint32_t now_ds);

/* In what time each location should be judged once; 0 = nothing bounds the time. */
int64_t kr_age_round_ms(const struct kr_age *age);

#endif
