/*
 * How regions come into the cache: what a read of the catalog found is put in, and what it shows to
 * be wrong goes.
 *
 * In one table no two regions overlap: each store makes it so. What a store may replace,
 * precedence.c says. What is retired never stands in the way.
 *
 * Loop thread.
 */
#include "lib/cache.h"

#include "lib/cache_state.h"
#include "lib/precedence.h"

#include <assert.h>

/* A location has come into the skip list of a table. */
static void remember(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  /* Touched, so that it is spared at first wherever the hand is. Relaxed: see kr_location_touch. */
  __atomic_store_n(&location->touched, true, __ATOMIC_RELAXED);
  if (table->stop.next == NULL) {
    kr_hands_add(&cache->hands, &table->stop);
  }
  cache->pinned += table->pinned ? 1 : 0;
  atomic_fetch_add_explicit(&cache->regions, 1, memory_order_relaxed);
  kr_cache_count_bytes(cache, 0, kr_location_size(location));
}

/* The first region of a table that overlaps `span`, beginning the search at `from` (NULL = at the
 * lowest that can). */
static struct keyroute_location *next_overlap(const struct keyroute_table *table,
                                              const struct keyroute_location *span,
                                              const struct keyroute_location *from)
{
  struct keyroute_bytes start = keyroute_location_start_key(span);
  struct keyroute_location *at;

  if (from != NULL) {
    at = kr_skiplist_higher(table->regions, keyroute_location_start_key(from));
  } else {
    at = kr_skiplist_floor(table->regions, start);
    if (at == NULL || !kr_location_overlaps(at, span)) {
      at = kr_skiplist_higher(table->regions, start);
    }
  }
  return at != NULL && kr_location_overlaps(at, span) ? at : NULL;
}

/* A read that was sent at a logical time has just said that a location is right. */
static void confirm(struct kr_cache *cache, struct keyroute_location *location, uint64_t sent)
{
  uint64_t now = kr_cache_tick(cache);

  kr_location_set_times(location, now, sent);
  kr_age_begin(&cache->age, location, now);
}

static void forget_covered(void *location, void *arg)
{
  struct keyroute_table *table = arg;

  table->cache->pinned -= table->pinned ? 1 : 0;
  kr_cache_forget(table->cache, location, KR_EVICTED_REPLACED);
}

/* Take out what overlaps fresh, which is in: the region that reaches into it from below, and all
 * that start within it, as those do that it is merged of. */
static void take_overlapping(struct kr_cache *cache, struct keyroute_table *table,
                             const struct keyroute_location *fresh)
{
  struct keyroute_bytes start = keyroute_location_start_key(fresh);
  struct keyroute_bytes end = keyroute_location_end_key(fresh);
  struct keyroute_location *below = kr_skiplist_lower(table->regions, start);
  size_t before;

  if (below != NULL && kr_location_overlaps(below, fresh)) {
    kr_cache_take_out(cache, table, below, KR_EVICTED_REPLACED);
  }
  before = kr_skiplist_size(table->regions);
  kr_skiplist_take_between(table->regions, &start, end.len > 0 ? &end : NULL, forget_covered,
                           table);
  kr_cache_count_bytes(cache, before, kr_skiplist_size(table->regions));
}

/* Put fresh in. Every other region that overlaps it goes, unless it is known to be alone; the order
 * is such that a reader finds either an old region or the new one, but never an old one that
 * outlives its replacement. */
static int put_in(struct kr_cache *cache, struct keyroute_table *table,
                  struct keyroute_location *fresh, uint64_t sent, bool alone)
{
  size_t before = kr_skiplist_size(table->regions);
  void *replaced;

  assert(kr_location_stored(fresh) == 0);
  kr_location_relabel(fresh, table->label);
  if (kr_skiplist_put(table->regions, fresh, &replaced) != 0) {
    return KEYROUTE_E_NO_MEMORY;
  }
  keyroute_location_ref(fresh);
  confirm(cache, fresh, sent);
  kr_cache_count_bytes(cache, before, kr_skiplist_size(table->regions));
  remember(cache, table, fresh);
  if (replaced != NULL) {
    cache->pinned -= table->pinned ? 1 : 0;
    kr_cache_forget(cache, replaced, KR_EVICTED_REPLACED);
  }
  if (!alone) {
    take_overlapping(cache, table, fresh);
  }
  kr_cache_make_room(cache, table, fresh);
  if (cache->watcher.stored != NULL) {
    cache->watcher.stored(cache->watcher.arg);
  }
  return 0;
}

/* Is one that fresh overlaps believed rather? *alone = it overlaps none. */
static bool is_outranked(const struct keyroute_table *table, const struct keyroute_location *fresh,
                         uint64_t sent, bool *alone)
{
  const struct keyroute_location *known = next_overlap(table, fresh, NULL);

  *alone = known == NULL;
  while (known != NULL && !kr_precedence_outranks(known, fresh, sent)) {
    known = next_overlap(table, fresh, known);
  }
  return known != NULL;
}

int kr_cache_store(struct kr_cache *cache, struct keyroute_table *table,
                   struct keyroute_location *fresh, uint64_t sent, struct keyroute_location **kept)
{
  struct keyroute_location *known =
      kr_skiplist_find(table->regions, keyroute_location_start_key(fresh));
  uint64_t newest = sent;
  bool alone;

  if (known != NULL && !kr_location_retired(known) && kr_location_same_name(known, fresh)) {
    kr_precedence_merge(fresh, known, sent);
    newest = kr_location_sent(known) > sent ? kr_location_sent(known) : sent;
    if (kr_precedence_equal(fresh, known)) {
      confirm(cache, known, newest);
      *kept = keyroute_location_ref(known);
      return 0;
    }
  }
  if (is_outranked(table, fresh, sent, &alone)) {
    *kept = keyroute_location_ref(fresh);
    return 0;
  }
  int error = put_in(cache, table, fresh, newest, alone);

  if (error == 0) {
    *kept = keyroute_location_ref(fresh);
  }
  return error;
}

/* Does a live region overlap that one? */
static bool is_taken(const struct keyroute_table *table, const struct keyroute_location *fresh)
{
  const struct keyroute_location *other = next_overlap(table, fresh, NULL);

  while (other != NULL && kr_location_retired(other)) {
    other = next_overlap(table, fresh, other);
  }
  return other != NULL;
}

bool kr_cache_replace(struct kr_cache *cache, struct keyroute_table *table,
                      struct keyroute_location *old, struct keyroute_location *fresh)
{
  if (kr_table_entry(table, keyroute_location_start_key(fresh)) != old ||
      (old == NULL && is_taken(table, fresh))) {
    return false;
  }
  return put_in(cache, table, fresh, old != NULL ? kr_location_sent(old) : 0, false) == 0;
}

void kr_cache_remove(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  if (kr_skiplist_find(table->regions, keyroute_location_start_key(location)) == location) {
    kr_cache_evict(cache, table, location, KR_EVICTED_REPORTED);
  }
}

void kr_cache_remove_row(struct kr_cache *cache, struct keyroute_table *table,
                         struct keyroute_bytes row, enum kr_position position)
{
  struct keyroute_location *location = kr_table_candidate(table, row, position);

  if (location != NULL && kr_location_covers(location, row, position)) {
    kr_cache_evict(cache, table, location, KR_EVICTED_REPLACED);
  }
}
