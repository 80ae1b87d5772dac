/*
 * How regions leave the cache: because room is short, because their time is over or somebody has
 * retired them, or because their table was cleared.
 *
 *  1. Two hands go round all regions (hand.c): the sweeper's, and one that goes on when room is
 *     short. The latter spares what was hit since it came by last, a new region too, and the
 *     catalog's own as long as there are others.
 *  2. What was cleared is found no more, but may still be here (cleared.c). It makes room first.
 *  3. No visit, and no store, looks at all regions.
 *
 * Loop thread.
 */
#include "lib/cache.h"

#include "lib/cache_state.h"

/* How many regions that were hit lately are spared for one that has to go. If all are in use, one
 * of them goes before the loop has looked at the whole cache. */
enum { SPARED_MAX = 64 };

/* ---- Leaving ---- */

/* Why a location really leaves: if it was retired before, what retired it; and if no replica is on
 * a server any more, that. (A hit asks the primary's server only.) */
static enum kr_evicted why(const struct keyroute_location *location, enum kr_evicted reason)
{
  enum kr_evicted before = kr_location_retired_why(location);

  if (before == KR_NOT_EVICTED && !kr_location_placed(location)) {
    before = KR_EVICTED_SERVER;
  }
  return before != KR_NOT_EVICTED ? before : reason;
}

void kr_cache_forget(struct kr_cache *cache, struct keyroute_location *location,
                     enum kr_evicted reason)
{
  reason = why(location, reason);
  atomic_fetch_sub_explicit(&cache->regions, 1, memory_order_relaxed);
  kr_cache_count_bytes(cache, kr_location_size(location), 0);
  kr_stats_add(cache->stats, KR_COUNT_EVICTIONS, 1);
  kr_stats_add(cache->stats, KR_COUNT_EVICTED_REPLACED + (reason - KR_EVICTED_REPLACED), 1);
  /* It may still be held by somebody who asks whether it is current. */
  kr_location_retire(location, reason);
  kr_location_release_later(location);
}

void kr_cache_take_out(struct kr_cache *cache, struct keyroute_table *table,
                       struct keyroute_location *location, enum kr_evicted reason)
{
  size_t before = kr_skiplist_size(table->regions);

  kr_skiplist_take(table->regions, keyroute_location_start_key(location));
  kr_cache_count_bytes(cache, before, kr_skiplist_size(table->regions));
  cache->pinned -= table->pinned ? 1 : 0;
  if (kr_skiplist_count(table->regions) == 0) {
    kr_hands_remove(&cache->hands, &table->stop);
  }
  kr_cache_forget(cache, location, reason);
}

void kr_cache_evict(struct kr_cache *cache, struct keyroute_table *table,
                    struct keyroute_location *location, enum kr_evicted reason)
{
  kr_rcu_read_begin();
  kr_cache_take_out(cache, table, location, reason);
  if (kr_skiplist_count(table->regions) == 0) {
    kr_table_leave(table);
  }
  kr_rcu_read_end();
}

/* ---- Want of room ---- */

static bool is_full(const struct kr_cache *cache)
{
  struct kr_cache_size size = kr_cache_size(cache);

  return (cache->limits.regions > 0 && size.regions > cache->limits.regions) ||
         (cache->limits.bytes > 0 && size.bytes > cache->limits.bytes);
}

/* The table whose regions a hand is among. */
static struct keyroute_table *table_at(const struct kr_hand *hand)
{
  char *member = (char *)hand->stop;

  return (struct keyroute_table *)(void *)(member - offsetof(struct keyroute_table, stop));
}

/* A search for who has to go for want of room (invariant 1). */
struct search {
  const struct keyroute_location *keep;
  size_t others; /* regions that are neither kept nor pinned: where there are some, these are out */
  unsigned spared;
};

/* Has this one to go, and why? KR_NOT_EVICTED if not yet. */
static enum kr_evicted judge_for_room(struct kr_cache *cache, struct search *search,
                                      struct keyroute_location *location)
{
  if (location == search->keep) {
    return KR_NOT_EVICTED;
  }
  bool touched = kr_age_take_touched(&cache->age, location, cache->now);
  enum kr_evicted reason = why(location, kr_age_judge(&cache->age, location, cache->now));

  if (reason == KR_NOT_EVICTED && (!touched || ++search->spared > SPARED_MAX)) {
    reason = KR_EVICTED_FULL;
  }
  return reason;
}

/* Go on to the next who has to go, and let him. False = there is none among the few that come next,
 * the hand has passed them. */
static bool evict_next(struct kr_cache *cache, struct search *search)
{
  struct kr_hand *hand = &cache->hands.of[KR_HAND_ROOM];
  struct keyroute_location *some[KR_CACHE_SOME];
  size_t count = kr_hand_ahead(hand, some, KR_CACHE_SOME);
  struct keyroute_table *table = table_at(hand);

  if (search->others > 0 && table->pinned) {
    kr_hand_skip(hand);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    enum kr_evicted reason = judge_for_room(cache, search, some[i]);

    kr_hand_pass(hand, some[i]);
    if (reason != KR_NOT_EVICTED) {
      kr_cache_evict(cache, table, some[i], reason);
      return true;
    }
  }
  return false;
}

static size_t cached_regions(const struct kr_cache *cache)
{
  return atomic_load_explicit(&cache->regions, memory_order_relaxed);
}

static void evict_cleared(void *region, void *arg)
{
  kr_cache_forget(arg, region, KR_EVICTED_CLEARED);
}

size_t kr_cache_drain(struct kr_cache *cache, size_t max)
{
  size_t before = cache->cleared.size;
  size_t drained = kr_cleared_take(&cache->cleared, max, evict_cleared, cache);

  kr_cache_count_bytes(cache, before, cache->cleared.size);
  return drained;
}

/* Have another leave than `keep`, which has just come into that table. */
static void evict_another(struct kr_cache *cache, const struct keyroute_table *table,
                          const struct keyroute_location *keep)
{
  struct search search = {.keep = keep};

  if (kr_cache_drain(cache, 1) == 0) {
    search.others = cached_regions(cache) - cache->pinned - (table->pinned ? 0 : 1);
    while (!evict_next(cache, &search)) {
    }
  }
}

void kr_cache_make_room(struct kr_cache *cache, const struct keyroute_table *table,
                        const struct keyroute_location *keep)
{
  while (is_full(cache) && cached_regions(cache) > 1) {
    evict_another(cache, table, keep);
  }
}

/* ---- Clearing, visiting ---- */

/* Have the regions of a table wait for kr_cache_drain. False = out of memory. */
static bool clear_later(struct kr_cache *cache, struct keyroute_table *table)
{
  size_t count = kr_skiplist_count(table->regions);
  size_t before = kr_skiplist_size(table->regions) + cache->cleared.size;

  if (!kr_cleared_add(&cache->cleared, cache->mem, table->regions, kr_cache_list_new(cache))) {
    return false;
  }
  kr_cache_count_bytes(cache, before, kr_skiplist_size(table->regions) + cache->cleared.size);
  cache->pinned -= table->pinned ? count : 0;
  kr_hands_remove(&cache->hands, &table->stop);
  if (cache->watcher.cleared != NULL) {
    cache->watcher.cleared(cache->watcher.arg);
  }
  return true;
}

static void clear_now(struct kr_cache *cache, struct keyroute_table *table)
{
  struct keyroute_location *location;

  while ((location = kr_skiplist_first(table->regions)) != NULL) {
    kr_cache_take_out(cache, table, location, KR_EVICTED_CLEARED);
  }
}

void kr_cache_clear_table(struct kr_cache *cache, struct keyroute_table *table)
{
  if (kr_skiplist_count(table->regions) <= KR_CACHE_SOME || !clear_later(cache, table)) {
    clear_now(cache, table);
  }
}

/* Visit what comes next at the sweeper's hand, at most max; how many that were. */
static size_t visit_some(struct kr_cache *cache, size_t max)
{
  struct kr_hand *hand = &cache->hands.of[KR_HAND_SWEEP];
  struct keyroute_location *some[KR_CACHE_SOME];
  size_t count = kr_hand_ahead(hand, some, max < KR_CACHE_SOME ? max : KR_CACHE_SOME);
  struct keyroute_table *table = count > 0 ? table_at(hand) : NULL;

  for (size_t i = 0; i < count; i++) {
    enum kr_evicted reason = why(some[i], kr_age_judge(&cache->age, some[i], cache->now));

    kr_hand_pass(hand, some[i]);
    if (reason != KR_NOT_EVICTED) {
      kr_cache_evict(cache, table, some[i], reason);
    }
  }
  return count;
}

void kr_cache_visit(struct kr_cache *cache, size_t count)
{
  size_t visited;

  kr_cache_tick(cache);
  do {
    visited = visit_some(cache, count);
    count -= visited;
  } while (count > 0 && visited > 0);
  kr_cache_drop_leftovers(cache);
}
