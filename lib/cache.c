/*
 * The cache: tables by name, in each table a skip list of regions by start key.
 *
 * A hit is: find the table (or have its handle), the last region that starts at or below the row,
 * check that the row lies in it and that nobody has retired it. No lock, no allocation, no write
 * but to the region's touched mark, and that at most once a sweep.
 *
 *  1. Regions are put in and taken out by the loop thread alone.
 *  2. In one table no two regions overlap. (Each store makes it so; retired ones count too.)
 *  3. What leaves the skip list is released after a grace period, never before.
 *  4. Tables are found by name without a lock (name_map.c). tables_lock is for those who add or
 *     drop tables, or count them.
 *  5. A table object outlives its last region while somebody counts it: a handle stays valid while
 *     the table is dropped and made again.
 *  6. Two hands go round all regions (hand.c): the sweeper's, and one that goes on when room is
 *     short. What was hit since the last look is spared once by it, a new region too, and the
 *     catalog's own as long as there are others. No visit, and no store, looks at all of them.
 *  7. What was cleared is found no more, but may still be here (cleared.c). It makes room first.
 *
 * What a store may replace, precedence.c says. What is retired never stands in the way.
 */
#include "lib/cache.h"

#include "lib/age.h"
#include "lib/bytes.h"
#include "lib/cleared.h"
#include "lib/clock.h"
#include "lib/hand.h"
#include "lib/name_map.h"
#include "lib/precedence.h"
#include "lib/skiplist.h"
#include "lib/skiplist_floor.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* How many regions that were hit lately are spared for one that has to go. If all are in use, one
 * of them goes before the loop has looked at the whole cache. */
enum { SPARED_MAX = 64 };

/* How many regions are asked for at once by who wants all of them. */
enum { SOME = 32 };

/* What hits read stands so far before what is written while they do that, as memory is aligned to
 * 16 bytes, it never shares a line of the machine's caches with it. */
struct keyroute_table {
  struct kr_cache *cache;
  struct kr_skiplist *regions;
  struct kr_label *label; /* of its locations */
  struct kr_rcu_head rcu;
  unsigned hash;
  bool pinned;         /* loop thread */
  bool named;          /* atomic: an application may name it so; once set it stays */
  uint64_t apart;      /* room */
  struct kr_stop stop; /* loop thread */
  size_t refs;         /* tables_lock */
  int64_t missed_us;   /* loop thread: when a row was last missed, 0 = never */
};

_Static_assert(offsetof(struct keyroute_table, regions) + 56 <=
                   offsetof(struct keyroute_table, stop),
               "a table's stop is not on the line of its regions");

struct kr_cache {
  struct kr_mem *mem;
  struct kr_stats *stats;
  void *owner;
  struct kr_cache_watcher watcher;
  struct kr_cache_limits limits;
  int64_t began_us;           /* when logical time began */
  uint64_t now;               /* logical time; loop thread */
  struct kr_hands hands;      /* that go round all regions; loop thread */
  size_t pinned;              /* regions of pinned tables; loop thread */
  struct kr_cleared cleared;  /* loop thread */
  struct kr_age age;          /* loop thread */
  atomic_uint_fast64_t epoch; /* grows when something is retired from outside */
  pthread_mutex_t tables_lock;
  bool has_leftovers;                   /* tables_lock: tables found no memory to leave with */
  struct kr_name_map names;             /* of tables; tables_lock is its writers' */
  atomic_size_t tables, regions, bytes; /* relaxed: figures for people, which order nothing */
};

/* ---- Tables ---- */

/* A figure grows by after - before, which may be less than nothing. */
static void count_bytes(struct kr_cache *cache, size_t before, size_t after)
{
  atomic_fetch_add_explicit(&cache->bytes, after - before, memory_order_relaxed);
}

struct kr_cache *kr_cache_new(struct kr_mem *mem, struct kr_stats *stats)
{
  struct kr_cache *cache = kr_calloc(mem, sizeof(*cache));

  if (cache != NULL) {
    cache->mem = mem;
    cache->stats = stats;
    cache->began_us = kr_clock_us();
    kr_name_map_init(&cache->names, mem);
    pthread_mutex_init(&cache->tables_lock, NULL);
  }
  return cache;
}

void kr_cache_set_limits(struct kr_cache *cache, const struct kr_cache_limits *limits)
{
  cache->limits = *limits;
  kr_age_init(&cache->age, limits->ttl_ms, limits->idle_ms);
}

void kr_cache_set_watcher(struct kr_cache *cache, const struct kr_cache_watcher *watcher)
{
  cache->watcher = *watcher;
}

void kr_cache_set_owner(struct kr_cache *cache, void *owner)
{
  cache->owner = owner;
}

/* Memory that a table takes while it is empty. */
static size_t empty_size(const struct keyroute_table *table)
{
  return kr_mem_taken(sizeof(*table)) + kr_label_size(table->label) + kr_skiplist_empty_size();
}

static void table_free(struct keyroute_table *table)
{
  struct kr_mem *mem = table->cache->mem;

  kr_skiplist_free(table->regions);
  kr_label_release(table->label);
  kr_free(mem, table);
  kr_mem_release(mem);
}

static void table_free_deferred(struct kr_rcu_head *head)
{
  char *member = (char *)head;

  table_free((struct keyroute_table *)(void *)(member - offsetof(struct keyroute_table, rcu)));
}

static struct keyroute_bytes start_key_of(const void *location)
{
  return kr_location_start(location);
}

static struct keyroute_table *table_new(struct kr_cache *cache, struct keyroute_bytes name,
                                        unsigned hash)
{
  struct keyroute_table *table = kr_alloc(cache->mem, sizeof(*table));

  if (table == NULL) {
    return NULL;
  }
  *table = (struct keyroute_table){.cache = cache, .refs = 1, .hash = hash};
  table->label = kr_label_new(cache->mem, name);
  table->regions = table->label != NULL ? kr_skiplist_new(cache->mem, start_key_of) : NULL;
  if (table->regions == NULL) {
    kr_label_release(table->label);
    kr_free(cache->mem, table);
    return NULL;
  }
  table->stop.regions = table->regions;
  kr_mem_ref(cache->mem);
  return table;
}

/* Make a table that can be found from now on. tables_lock is held. */
static struct keyroute_table *table_add(struct kr_cache *cache, struct keyroute_bytes name,
                                        unsigned hash)
{
  struct keyroute_table *table = table_new(cache, name, hash);
  size_t before = cache->names.size;

  if (table == NULL) {
    return NULL;
  }
  if (kr_name_map_put(&cache->names, kr_table_name(table), hash, table) != 0) {
    table_free(table);
    return NULL;
  }
  count_bytes(cache, before, cache->names.size + empty_size(table));
  atomic_fetch_add_explicit(&cache->tables, 1, memory_order_relaxed);
  return table;
}

struct keyroute_table *kr_cache_find_table(struct kr_cache *cache, struct keyroute_bytes name)
{
  return kr_name_map_find(&cache->names, name, kr_name_map_hash(name));
}

struct keyroute_table *kr_cache_table(struct kr_cache *cache, struct keyroute_bytes name)
{
  unsigned hash = kr_name_map_hash(name);

  pthread_mutex_lock(&cache->tables_lock);
  struct keyroute_table *table = kr_name_map_find(&cache->names, name, hash);

  if (table != NULL) {
    table->refs++;
  } else {
    table = table_add(cache, name, hash);
  }
  pthread_mutex_unlock(&cache->tables_lock);
  return table;
}

/* Have a table leave if nobody counts it and it is empty. If there is no memory for that it stays
 * until the next visit. tables_lock is held. */
static void table_drop_if_unused(struct keyroute_table *table)
{
  struct kr_cache *cache = table->cache;
  size_t before = cache->names.size + empty_size(table);

  if (table->refs > 0 || kr_skiplist_count(table->regions) > 0) {
    return;
  }
  if (kr_name_map_take(&cache->names, table, table->hash) != 0) {
    cache->has_leftovers = true;
    return;
  }
  count_bytes(cache, before, cache->names.size);
  atomic_fetch_sub_explicit(&cache->tables, 1, memory_order_relaxed);
  kr_rcu_defer(&table->rcu, table_free_deferred);
}

struct keyroute_table *kr_table_ref(struct keyroute_table *table)
{
  pthread_mutex_lock(&table->cache->tables_lock);
  table->refs++;
  pthread_mutex_unlock(&table->cache->tables_lock);
  return table;
}

void kr_table_release(struct keyroute_table *table)
{
  if (table == NULL) {
    return;
  }
  struct kr_cache *cache = table->cache;

  pthread_mutex_lock(&cache->tables_lock);
  table->refs--;
  table_drop_if_unused(table);
  pthread_mutex_unlock(&cache->tables_lock);
}

/* Relaxed: it says something of the name, which does not change. */
void kr_table_set_named(struct keyroute_table *table)
{
  if (!kr_table_named(table)) {
    __atomic_store_n(&table->named, true, __ATOMIC_RELAXED);
  }
}

bool kr_table_named(const struct keyroute_table *table)
{
  return __atomic_load_n(&table->named, __ATOMIC_RELAXED);
}

struct keyroute_bytes kr_table_name(const struct keyroute_table *table)
{
  return kr_label_table(table->label);
}

void *kr_table_owner(const struct keyroute_table *table)
{
  return table->cache->owner;
}

/* ---- Finding ---- */

/* What a hit may give out of what candidate() gave, or NULL. */
KR_ALWAYS_INLINE struct keyroute_location *live(struct keyroute_location *location,
                                                struct keyroute_bytes row,
                                                enum kr_position position)
{
  if (location == NULL || kr_location_retired(location) ||
      !(position == KR_AT ? kr_location_ends_above(location, row)
                          : kr_location_reaches(location, row, position))) {
    return NULL;
  }
  kr_location_touch(location);
  return location;
}

/* The only region of a table that can cover the row, or NULL. */
static struct keyroute_location *candidate(const struct keyroute_table *table,
                                           struct keyroute_bytes row, enum kr_position position)
{
  if (position == KR_AT) {
    return kr_skiplist_floor(table->regions, row);
  }
  return row.len == 0 ? kr_skiplist_last(table->regions) : kr_skiplist_lower(table->regions, row);
}

/* Not inlined, as is the next: what is left of kr_table_find calls nothing, and so saves next to no
 * registers. */
static __attribute__((noinline)) struct keyroute_location *find_from(
    const struct keyroute_table *table, struct keyroute_bytes row, struct kr_floor_stop stop)
{
  return live(kr_skiplist_floor_from(table->regions, row, stop), row, KR_AT);
}

static __attribute__((noinline)) struct keyroute_location *find_before(
    const struct keyroute_table *table, struct keyroute_bytes row)
{
  return live(candidate(table, row, KR_BEFORE), row, KR_BEFORE);
}

struct keyroute_location *kr_table_find(const struct keyroute_table *table,
                                        struct keyroute_bytes row, enum kr_position position)
{
  if (position != KR_AT) {
    return find_before(table, row);
  }
  struct kr_floor_stop stop = kr_floor_begin(table->regions);
  struct keyroute_location *location = kr_skiplist_floor_by_heads(&stop, row, start_key_of);

  return location != NULL ? live(location, row, KR_AT) : find_from(table, row, stop);
}

void kr_table_find_many(const struct keyroute_table *table, const struct keyroute_location **out,
                        const struct keyroute_bytes *rows, size_t count)
{
  enum { CHUNK = 32 };
  void *found[CHUNK];

  for (size_t done = 0; done < count; done += CHUNK) {
    size_t now = count - done < CHUNK ? count - done : CHUNK;

    kr_skiplist_floor_many(table->regions, found, rows + done, now);
    for (size_t i = 0; i < now; i++) {
      out[done + i] = live(found[i], rows[done + i], KR_AT);
    }
  }
}

const struct keyroute_location *kr_table_floor(const struct keyroute_table *table,
                                               struct keyroute_bytes row)
{
  return kr_skiplist_floor(table->regions, row);
}

size_t kr_table_count_above(const struct keyroute_table *table, struct keyroute_bytes low,
                            const struct keyroute_bytes *high, size_t max)
{
  size_t count = 0;
  void *some[SOME];
  size_t now;

  while ((now = kr_skiplist_above(table->regions, some, &low, SOME)) > 0) {
    for (size_t i = 0; i < now; i++) {
      low = keyroute_location_start_key(some[i]);
      if (count == max || (high != NULL && kr_bytes_compare(low, *high) > 0)) {
        return count;
      }
      count++;
    }
  }
  return count;
}

/* The live region that ends where this one starts, or NULL. */
static struct keyroute_location *right_below(const struct keyroute_table *table,
                                             const struct keyroute_location *location)
{
  struct keyroute_bytes start = keyroute_location_start_key(location);
  struct keyroute_location *below = kr_skiplist_lower(table->regions, start);

  return below != NULL && !kr_location_retired(below) &&
                 kr_bytes_equal(keyroute_location_end_key(below), start)
             ? below
             : NULL;
}

bool kr_table_knows_below(const struct keyroute_table *table, struct keyroute_bytes row,
                          enum kr_position position, size_t count)
{
  const struct keyroute_location *at = candidate(table, row, position);

  if (at != NULL && !kr_location_covers(at, row, position)) {
    return false;
  }
  while (at != NULL && count > 0 && keyroute_location_start_key(at).len > 0) {
    at = right_below(table, at);
    count--;
  }
  return at != NULL;
}

int64_t kr_table_missed(struct keyroute_table *table, int64_t now_us)
{
  int64_t last_us = table->missed_us;

  table->missed_us = now_us;
  return last_us;
}

struct keyroute_location *kr_table_entry(const struct keyroute_table *table,
                                         struct keyroute_bytes start_key)
{
  return kr_skiplist_find(table->regions, start_key);
}

/* ---- Changing; all on the loop thread ---- */

uint64_t kr_cache_tick(struct kr_cache *cache)
{
  uint64_t us = (uint64_t)(kr_clock_us() - cache->began_us);

  cache->now = us > cache->now ? us : cache->now + 1;
  return cache->now;
}

/* A location has come into the skip list of a table. */
static void remember(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  /* Touched, so that it is spared at first wherever the hand is. Relaxed: see live(). */
  __atomic_store_n(&location->touched, true, __ATOMIC_RELAXED);
  if (table->stop.next == NULL) {
    kr_hands_add(&cache->hands, &table->stop);
  }
  cache->pinned += table->pinned ? 1 : 0;
  atomic_fetch_add_explicit(&cache->regions, 1, memory_order_relaxed);
  count_bytes(cache, 0, kr_location_size(location));
}

/* Why a location really leaves: if it was retired before, what retired it. */
static enum kr_evicted why(const struct keyroute_location *location, enum kr_evicted reason)
{
  enum kr_evicted before = kr_location_retired_why(location);

  return before != KR_NOT_EVICTED ? before : reason;
}

/* A location is in no skip list any more: the count on it goes back later. */
static void forget(struct kr_cache *cache, struct keyroute_location *location,
                   enum kr_evicted reason)
{
  reason = why(location, reason);
  atomic_fetch_sub_explicit(&cache->regions, 1, memory_order_relaxed);
  count_bytes(cache, kr_location_size(location), 0);
  kr_stats_add(cache->stats, KR_COUNT_EVICTIONS, 1);
  kr_stats_add(cache->stats, KR_COUNT_EVICTED_REPLACED + (reason - KR_EVICTED_REPLACED), 1);
  /* It may still be held by somebody who asks whether it is current. */
  kr_location_retire(location, reason);
  kr_location_release_later(location);
}

static void take_out(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location, enum kr_evicted reason)
{
  size_t before = kr_skiplist_size(table->regions);

  kr_skiplist_take(table->regions, keyroute_location_start_key(location));
  count_bytes(cache, before, kr_skiplist_size(table->regions));
  cache->pinned -= table->pinned ? 1 : 0;
  if (kr_skiplist_count(table->regions) == 0) {
    kr_hands_remove(&cache->hands, &table->stop);
  }
  forget(cache, location, reason);
}

void kr_table_pin(struct keyroute_table *table)
{
  if (!table->pinned) {
    table->pinned = true;
    table->cache->pinned += kr_skiplist_count(table->regions);
  }
}

/* Drop a table if it is unused. It may have been dropped, and so be no more than readable, before
 * the lock is had: whoever calls has had a read section open since the table was in use. */
static void leave_if_unused(struct keyroute_table *table)
{
  struct kr_cache *cache = table->cache;

  pthread_mutex_lock(&cache->tables_lock);
  if (kr_name_map_find(&cache->names, kr_table_name(table), table->hash) == table) {
    table_drop_if_unused(table);
  }
  pthread_mutex_unlock(&cache->tables_lock);
}

/* Take a location out, and with its last one the table. */
static void evict(struct kr_cache *cache, struct keyroute_table *table,
                  struct keyroute_location *location, enum kr_evicted reason)
{
  kr_rcu_read_begin();
  take_out(cache, table, location, reason);
  if (kr_skiplist_count(table->regions) == 0) {
    leave_if_unused(table);
  }
  kr_rcu_read_end();
}

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

/* A search for who has to go for want of room (invariant 6). */
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
  struct keyroute_location *some[SOME];
  size_t count = kr_hand_ahead(hand, some, SOME);
  struct keyroute_table *table = table_at(hand);

  if (search->others > 0 && table->pinned) {
    kr_hand_skip(hand);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    enum kr_evicted reason = judge_for_room(cache, search, some[i]);

    kr_hand_pass(hand, some[i]);
    if (reason != KR_NOT_EVICTED) {
      evict(cache, table, some[i], reason);
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
  forget(arg, region, KR_EVICTED_CLEARED);
}

size_t kr_cache_drain(struct kr_cache *cache, size_t max)
{
  size_t before = cache->cleared.size;
  size_t drained = kr_cleared_take(&cache->cleared, max, evict_cleared, cache);

  count_bytes(cache, before, cache->cleared.size);
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

static void make_room(struct kr_cache *cache, const struct keyroute_table *table,
                      const struct keyroute_location *keep)
{
  while (is_full(cache) && cached_regions(cache) > 1) {
    evict_another(cache, table, keep);
  }
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
  forget(table->cache, location, KR_EVICTED_REPLACED);
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
    take_out(cache, table, below, KR_EVICTED_REPLACED);
  }
  before = kr_skiplist_size(table->regions);
  kr_skiplist_take_between(table->regions, &start, end.len > 0 ? &end : NULL, forget_covered,
                           table);
  count_bytes(cache, before, kr_skiplist_size(table->regions));
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
  count_bytes(cache, before, kr_skiplist_size(table->regions));
  remember(cache, table, fresh);
  if (replaced != NULL) {
    cache->pinned -= table->pinned ? 1 : 0;
    forget(cache, replaced, KR_EVICTED_REPLACED);
  }
  if (!alone) {
    take_overlapping(cache, table, fresh);
  }
  make_room(cache, table, fresh);
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
    evict(cache, table, location, KR_EVICTED_REPORTED);
  }
}

void kr_cache_remove_row(struct kr_cache *cache, struct keyroute_table *table,
                         struct keyroute_bytes row, enum kr_position position)
{
  struct keyroute_location *location = candidate(table, row, position);

  if (location != NULL && kr_location_covers(location, row, position)) {
    evict(cache, table, location, KR_EVICTED_REPLACED);
  }
}

/* Have the regions of a table wait for kr_cache_drain. False = out of memory. */
static bool clear_later(struct kr_cache *cache, struct keyroute_table *table)
{
  size_t count = kr_skiplist_count(table->regions);
  size_t before = kr_skiplist_size(table->regions) + cache->cleared.size;

  if (!kr_cleared_add(&cache->cleared, cache->mem, table->regions,
                      kr_skiplist_new(cache->mem, start_key_of))) {
    return false;
  }
  count_bytes(cache, before, kr_skiplist_size(table->regions) + cache->cleared.size);
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
    take_out(cache, table, location, KR_EVICTED_CLEARED);
  }
}

void kr_cache_clear_table(struct kr_cache *cache, struct keyroute_table *table)
{
  if (kr_skiplist_count(table->regions) <= SOME || !clear_later(cache, table)) {
    clear_now(cache, table);
  }
}

/* ---- Retiring from any thread, visiting on the loop ---- */

static bool on_server(const struct keyroute_location *location,
                      const struct kr_cache_filter *filter)
{
  for (int i = 0; i < location->replica_count; i++) {
    const struct kr_server *server = location->replicas[i].server;

    if (server != NULL && server->port == filter->port && strcmp(server->host, filter->host) == 0 &&
        (filter->start_code == 0 || server->start_code == filter->start_code)) {
      return true;
    }
  }
  return false;
}

/* The regions behind one of them (NULL = from the first on), some at a time; how many. */
static size_t next_regions(const struct keyroute_table *table,
                           struct keyroute_location *regions[SOME],
                           const struct keyroute_location *behind)
{
  struct keyroute_bytes key = {NULL, 0};
  void *values[SOME];

  if (behind != NULL) {
    key = keyroute_location_start_key(behind);
  }
  size_t count = kr_skiplist_above(table->regions, values, behind != NULL ? &key : NULL, SOME);

  for (size_t i = 0; i < count; i++) {
    regions[i] = values[i];
  }
  return count;
}

/* Retire what matches the filter, if the table does. */
static void retire_table(void *value, void *arg)
{
  const struct keyroute_table *table = value;
  const struct kr_cache_filter *filter = arg;
  enum kr_evicted reason = filter->host != NULL ? KR_EVICTED_SERVER : KR_EVICTED_CLEARED;
  struct keyroute_location *some[SOME];
  size_t count = 0;

  if (filter->table.data != NULL && !kr_bytes_equal(filter->table, kr_table_name(table))) {
    return;
  }
  while ((count = next_regions(table, some, count > 0 ? some[count - 1] : NULL)) > 0) {
    for (size_t i = 0; i < count; i++) {
      if (filter->host == NULL || on_server(some[i], filter)) {
        kr_location_retire(some[i], reason);
      }
    }
  }
}

uint64_t kr_cache_epoch(const struct kr_cache *cache)
{
  /* Acquire, with the release below: who sees the new epoch sees what is retired from then on. */
  return atomic_load_explicit(&cache->epoch, memory_order_acquire);
}

void kr_cache_new_epoch(struct kr_cache *cache)
{
  atomic_fetch_add_explicit(&cache->epoch, 1, memory_order_acq_rel);
}

void kr_cache_retire(struct kr_cache *cache, const struct kr_cache_filter *filter)
{
  struct kr_cache_filter copy = *filter;

  /* Before anything is retired: what was read in an older epoch is not stored any more. */
  kr_cache_new_epoch(cache);
  kr_rcu_read_begin();
  kr_name_map_visit(&cache->names, retire_table, &copy);
  kr_rcu_read_end();
}

static void visit_leftover(void *value, void *arg)
{
  (void)arg;
  table_drop_if_unused(value);
}

/* Drop the tables that are empty and unused but found no memory to leave with. Such are rare: all
 * tables are looked at, under the lock. */
static void drop_leftovers(struct kr_cache *cache)
{
  kr_rcu_read_begin(); /* what is dropped stays readable until the visit is over */
  pthread_mutex_lock(&cache->tables_lock);
  if (cache->has_leftovers) {
    cache->has_leftovers = false;
    kr_name_map_visit(&cache->names, visit_leftover, NULL);
  }
  pthread_mutex_unlock(&cache->tables_lock);
  kr_rcu_read_end();
}

/* Visit what comes next at the sweeper's hand, at most max; how many that were. */
static size_t visit_some(struct kr_cache *cache, size_t max)
{
  struct kr_hand *hand = &cache->hands.of[KR_HAND_SWEEP];
  struct keyroute_location *some[SOME];
  size_t count = kr_hand_ahead(hand, some, max < SOME ? max : SOME);
  struct keyroute_table *table = count > 0 ? table_at(hand) : NULL;

  for (size_t i = 0; i < count; i++) {
    enum kr_evicted reason = why(some[i], kr_age_judge(&cache->age, some[i], cache->now));

    kr_hand_pass(hand, some[i]);
    if (reason != KR_NOT_EVICTED) {
      evict(cache, table, some[i], reason);
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
  drop_leftovers(cache);
}

int64_t kr_cache_round_ms(const struct kr_cache *cache)
{
  return kr_age_round_ms(&cache->age);
}

struct kr_cache_size kr_cache_size(const struct kr_cache *cache)
{
  struct kr_cache_size size = {
      atomic_load_explicit(&cache->tables, memory_order_relaxed),
      atomic_load_explicit(&cache->regions, memory_order_relaxed),
      atomic_load_explicit(&cache->bytes, memory_order_relaxed),
  };

  return size;
}

static void free_table(void *value, void *arg)
{
  clear_now(arg, value);
  table_free(value);
}

void kr_cache_free(struct kr_cache *cache)
{
  struct kr_mem *mem = cache->mem;

  kr_name_map_visit(&cache->names, free_table, cache);
  kr_name_map_clear(&cache->names);
  kr_cache_drain(cache, SIZE_MAX);
  /* What still waits for its grace period uses the tables' memory and this cache's allocator. */
  kr_rcu_barrier();
  pthread_mutex_destroy(&cache->tables_lock);
  kr_free(mem, cache);
}

/* The regions of a table as a reader finds them, in memory of their own; NULL if there is none. */
static struct keyroute_location **list_regions(const struct keyroute_table *table, size_t *count)
{
  /* One more than are counted: one may have been put in but not counted yet. */
  size_t room = kr_skiplist_count(table->regions) + 1;
  struct keyroute_location **list = kr_alloc(table->cache->mem, room * sizeof(*list));
  struct keyroute_location *location = kr_skiplist_first(table->regions);

  *count = 0;
  while (list != NULL && location != NULL && *count < room) {
    list[(*count)++] = location;
    location = kr_skiplist_higher(table->regions, keyroute_location_start_key(location));
  }
  return list;
}

static void abandon_table(void *value, void *arg)
{
  struct keyroute_table *table = value;
  struct kr_mem *mem = table->cache->mem;
  size_t count;

  (void)arg;
  struct keyroute_location **list = list_regions(table, &count);

  for (size_t i = 0; i < count; i++) {
    keyroute_location_release(list[i]);
  }
  kr_free(mem, list);
  table_free(table);
}

void kr_cache_abandon(struct kr_cache *cache)
{
  kr_name_map_visit(&cache->names, abandon_table, NULL);
  kr_name_map_clear(&cache->names);
}
