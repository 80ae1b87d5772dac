/*
 * How long does a cached location stay? No longer than its time to live, and not unused for longer
 * than the idle time.
 *
 *  1. A hit reads no clock: it marks the location as touched, and whoever takes the mark notes the
 *     time. So a location counts as used up to one round of looking later than it was; it is never
 *     idle for less than it should be.
 *  2. Locations that were stored together must not leave together, or all are looked up again at
 *     once: each has its own end, drawn from a span of a quarter of the time to live. It is not
 *     kept but follows from when the location was stored, which no two were at one time, and from
 *     a seed of this cache's own.
 *  3. The last sixteenth of the time to live is left for finding the location, which takes a round
 *     or, while the cache grows, part of a second one: none is given out for longer.
 *  4. When a location was used is known to a sixteenth of the idle time, which one byte of it
 *     counts. The byte comes round after sixteen idle times; a location is visited every eighth of
 *     one and leaves soon after the first. Should the loop have stood still for so long, it stays
 *     for another idle time at most.
 *
 * Loop thread, but for the touched mark.
 */
#include "lib/age.h"

#include "lib/clock.h"
#include "lib/random.h"

enum { US_PER_MS = 1000 };

/* Parts of the time to live: the earliest end, and the span in which ends are drawn. */
enum { PARTS = 16, FIRST_END = 11, ENDS = 4 };

/* Units of use in one idle time. */
enum { IDLE_UNITS = 16 };

/* Rounds in one time to live, and in one idle time. */
enum { ROUNDS_TTL = 32, ROUNDS_IDLE = 8 };

void kr_age_init(struct kr_age *age, int64_t ttl_ms, int64_t idle_ms)
{
  *age = (struct kr_age){.ttl_ms = ttl_ms, .idle_ms = idle_ms};
  /* Not the same in each process: those that start together should not read together for ever. */
  age->seed = (uint64_t)kr_clock_us() ^ (uintptr_t)age;
}

/* A time in units of use, come round; 0 where no idle time bounds. */
static uint8_t in_units(const struct kr_age *age, uint64_t time)
{
  uint64_t idle_us = (uint64_t)age->idle_ms * US_PER_MS;

  return (uint8_t)(idle_us > 0 ? time / (idle_us / IDLE_UNITS) : 0);
}

/* When a location's time to live ends. */
static uint64_t end_of(const struct kr_age *age, const struct keyroute_location *location)
{
  uint64_t stored = kr_location_stored(location), state = age->seed ^ stored;
  uint64_t part_us = (uint64_t)age->ttl_ms * US_PER_MS / PARTS;

  return stored + FIRST_END * part_us + kr_random_next(&state) % (ENDS * part_us + 1);
}

void kr_age_begin(const struct kr_age *age, struct keyroute_location *location, uint64_t now)
{
  location->used = in_units(age, now);
}

bool kr_age_take_touched(const struct kr_age *age, struct keyroute_location *location, uint64_t now)
{
  /* Relaxed: the mark orders nothing, and a hit that is lost between the two is one too few. */
  if (!__atomic_load_n(&location->touched, __ATOMIC_RELAXED)) {
    return false;
  }
  __atomic_store_n(&location->touched, false, __ATOMIC_RELAXED);
  location->used = in_units(age, now);
  return true;
}

enum kr_evicted kr_age_judge(const struct kr_age *age, struct keyroute_location *location,
                             uint64_t now)
{
  if (age->ttl_ms > 0 && now >= end_of(age, location)) {
    return KR_EVICTED_EXPIRED;
  }
  /* More than all units: the first may have been all but over. */
  if (age->idle_ms > 0 && !kr_age_take_touched(age, location, now) &&
      (uint8_t)(in_units(age, now) - location->used) > IDLE_UNITS) {
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
