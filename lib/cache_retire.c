/*
 * Retiring regions from any thread: no hit gives them out any more, whatever the loop is doing. The
 * loop takes them out later (kr_cache_visit).
 *
 * What the loop has read and is about to store must not slip in behind who retires. So it looks at
 * the epoch and stores under one lock, which is held as well while the epoch grows: what is stored
 * before that is found and retired, and what is not is not stored. Who retires also holds it from
 * looking at some regions until they are retired: none has been replaced by a copy meanwhile, and
 * who makes a copy finds the reason there, or the copy is found. He lets go between any two looks.
 */
#include "lib/cache.h"

#include "lib/bytes.h"
#include "lib/cache_state.h"

#include <string.h>

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

/* Retire what matches the filter of some regions behind one; NULL = from the first on. Gives the
 * last of them, or NULL if there are none. */
static void *retire_some(const struct keyroute_table *table, const struct kr_cache_filter *filter,
                         const void *behind)
{
  enum kr_evicted reason = filter->host != NULL ? KR_EVICTED_SERVER : KR_EVICTED_CLEARED;
  void *some[KR_CACHE_SOME];

  pthread_mutex_lock(&table->cache->epoch_lock);
  size_t count = kr_skiplist_behind(table->regions, some, behind, KR_CACHE_SOME);

  for (size_t i = 0; i < count; i++) {
    if (filter->host == NULL || on_server(some[i], filter)) {
      kr_location_retire(some[i], reason);
    }
  }
  pthread_mutex_unlock(&table->cache->epoch_lock);
  return count > 0 ? some[count - 1] : NULL;
}

/* All that matches, if the table does. */
static void retire_table(void *value, void *arg)
{
  const struct keyroute_table *table = value;
  const struct kr_cache_filter *filter = arg;
  const void *last = NULL;

  if (filter->table.data != NULL && !kr_bytes_equal(filter->table, kr_table_name(table))) {
    return;
  }
  do {
    last = retire_some(table, filter, last);
  } while (last != NULL);
}

uint64_t kr_cache_epoch(const struct kr_cache *cache)
{
  /* Acquire, with the release below: who sees an epoch sees all that was done before it began.
   * Whether it has ended since he asks under the lock. */
  return atomic_load_explicit(&cache->epoch, memory_order_acquire);
}

void kr_cache_new_epoch(struct kr_cache *cache)
{
  pthread_mutex_lock(&cache->epoch_lock);
  atomic_fetch_add_explicit(&cache->epoch, 1, memory_order_acq_rel);
  pthread_mutex_unlock(&cache->epoch_lock);
}

bool kr_cache_begin_store(struct kr_cache *cache, uint64_t epoch)
{
  pthread_mutex_lock(&cache->epoch_lock);
  if (kr_cache_epoch(cache) == epoch) {
    return true;
  }
  pthread_mutex_unlock(&cache->epoch_lock);
  return false;
}

void kr_cache_end_store(struct kr_cache *cache)
{
  pthread_mutex_unlock(&cache->epoch_lock);
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
