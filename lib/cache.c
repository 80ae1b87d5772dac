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
 *
 * Its parts have files of their own: cache_table.c (tables), cache_find.c (a hit), cache_store.c
 * (how regions come in), cache_retire.c (how no hit gives them out any more) and cache_evict.c (how
 * they leave). Here it is made, and freed.
 */
#include "lib/cache.h"

#include "lib/cache_state.h"
#include "lib/clock.h"

struct kr_cache *kr_cache_new(struct kr_mem *mem, struct kr_stats *stats)
{
  struct kr_cache *cache = kr_calloc(mem, sizeof(*cache));

  if (cache != NULL) {
    cache->mem = mem;
    cache->stats = stats;
    cache->began_us = kr_clock_us();
    kr_name_map_init(&cache->names, mem);
    pthread_mutex_init(&cache->epoch_lock, NULL);
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

uint64_t kr_cache_tick(struct kr_cache *cache)
{
  uint64_t us = (uint64_t)(kr_clock_us() - cache->began_us);

  cache->now = us > cache->now ? us : cache->now + 1;
  return cache->now;
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

/* ---- Freeing ---- */

static void free_table(void *value, void *arg)
{
  (void)arg;
  kr_table_free(value);
}

/* All that hits found, and what was cleared. No readers any more. */
static void free_contents(struct kr_cache *cache)
{
  kr_hands_release(&cache->hands);
  kr_name_map_visit(&cache->names, free_table, NULL);
  kr_name_map_clear(&cache->names);
  kr_cleared_free(&cache->cleared, kr_region_free);
}

void kr_cache_free(struct kr_cache *cache)
{
  struct kr_mem *mem = cache->mem;

  free_contents(cache);
  /* What still waits for its grace period uses the tables' memory and this cache's allocator. */
  kr_rcu_barrier();
  pthread_mutex_destroy(&cache->tables_lock);
  pthread_mutex_destroy(&cache->epoch_lock);
  kr_free(mem, cache);
}

void kr_cache_abandon(struct kr_cache *cache)
{
  free_contents(cache);
}
