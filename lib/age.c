/*
 * How long does a cached location stay? No longer than its time to live, and not unused for longer
 * than the idle time.
 *
 *  1. A hit reads no clock: it marks the location as touched, and whoever takes the mark notes the
 *     time. So a location counts as used up to one round of looking later than it was; it is never
 *     idle for less than it should be.
 *  2. Locations that were stored together must not leave together, or all are looked up again at
 *     once: each draws its own end from a span of a quarter of the time to live.
 *  3. The last sixteenth of the time to live is left for finding the location, which takes a round
 *     or, while the cache grows, part of a second one: none is given out for longer.
 *  4. Times are tenths of a second since the cache was made, in 32 bits, which a location has room
 *     for. They come round after thirteen years: only differences are compared, and no bound is
 *     longer than a month.
 *
 * Loop thread, but for the touched mark.
 */
#include "lib/age.h"

#include "lib/clock.h"
#include "lib/random.h"

enum { US_PER_DS = 100000, MS_PER_DS = 100 };

/* Parts of the time to live: the earliest end, and the span in which ends are drawn. */
enum { PARTS = 16, FIRST_END = 11, ENDS = 4 };

/* Rounds in one time to live, and in one idle time. */
enum { ROUNDS_TTL = 32, ROUNDS_IDLE = 8 };

void kr_age_init(struct kr_age *age, int64_t ttl_ms, int64_t idle_ms)
{
  int64_t now_us = kr_clock_us();

  *age = (struct kr_age){.ttl_ms = ttl_ms, .idle_ms = idle_ms, .began_us = now_us};
  /* Not the same in each process: those that start together should not read together for ever. */
  age->random = (uint64_t)now_us ^ (uintptr_t)age;
}

uint32_t kr_age_now(const struct kr_age *age)
{
  if (age->ttl_ms == 0 && age->idle_ms == 0) {
    return 0;
  }
  return (uint32_t)((kr_clock_us() - age->began_us) / US_PER_DS);
}

/* A number below limit. */
static int64_t draw(struct kr_age *age, int64_t limit)
{
  return (int64_t)(kr_random_next(&age->random) % (uint64_t)limit);
}

void kr_age_begin(struct kr_age *age, struct keyroute_location *location)
{
  uint32_t now_ds = kr_age_now(age);
  int64_t life_ms = age->ttl_ms * FIRST_END / PARTS + draw(age, age->ttl_ms * ENDS / PARTS + 1);

  location->used_ds = now_ds;
  location->expires_ds = now_ds + (uint32_t)(life_ms / MS_PER_DS);
}

bool kr_age_take_touched(struct keyroute_location *location, uint32_t now_ds)
{
  /* Relaxed: the mark orders nothing, and a hit that is lost between the two is one too few. */
  if (!__atomic_load_n(&location->touched, __ATOMIC_RELAXED)) {
    return false;
  }
  __atomic_store_n(&location->touched, false, __ATOMIC_RELAXED);
  location->used_ds = now_ds;
  return true;
}

/* How long ago, or if negative from now, that is. */
static int64_t since_ms(uint32_t then_ds, uint32_t now_ds)
{
  return (int64_t)(int32_t)(now_ds - then_ds) * MS_PER_DS;
}

enum kr_evicted kr_age_judge(const struct kr_age *age, struct keyroute_location *location,
                             uint32_t now_ds)
{
  if (age->ttl_ms > 0 && since_ms(location->expires_ds, now_ds) >= 0) {
    return KR_EVICTED_EXPIRED;
  }
  if (age->idle_ms > 0 && !kr_age_take_touched(location, now_ds) &&
      since_ms(location->used_ds, now_ds) >= age->idle_ms) {
    return KR_EVICTED_IDLE;
  }
  return KR_NOT_EVICTED;
}

int64_t kr_age_round_ms(const struct kr_age *age)
{
  int64_t ttl_round = age->ttl_ms / ROUNDS_TTL, idle_round = age->idle_ms / ROUNDS_IDLE;

  if (age->ttl_ms == 0 && age->idle_ms == 0) {
    return 0;
  }
  if (age->ttl_ms == 0 || (age->idle_ms > 0 && idle_round < ttl_round)) {
    ttl_round = idle_round;
  }
  return ttl_round > 0 ? ttl_round : 1;
}
