/*
 * The tables of a cache: found by name, made, counted, and dropped.
 *
 * Threads: any. tables_lock is for those who add or drop tables, or count them; a name is found
 * without it (name_map.c).
 */
#include "lib/cache.h"

#include "lib/cache_state.h"

/* Memory that a table takes while it is empty. */
static size_t empty_size(const struct keyroute_table *table)
{
  return kr_mem_taken(sizeof(*table)) + kr_label_size(table->label) + kr_skiplist_empty_size();
}

void kr_region_free(void *location)
{
  /* Somebody may still hold it, and ask whether it is current. */
  kr_location_retire(location, KR_EVICTED_CLEARED);
  keyroute_location_release(location);
}

void kr_table_free(struct keyroute_table *table)
{
  struct kr_mem *mem = table->cache->mem;

  kr_skiplist_free_with(table->regions, kr_region_free);
  kr_label_release(table->label);
  kr_free(mem, table);
  kr_mem_release(mem);
}

static void table_free_deferred(struct kr_rcu_head *head)
{
  char *member = (char *)head;

  kr_table_free((struct keyroute_table *)(void *)(member - offsetof(struct keyroute_table, rcu)));
}

struct kr_skiplist *kr_cache_list_new(struct kr_cache *cache)
{
  return kr_skiplist_new(cache->mem, kr_table_key_of);
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
  table->regions = table->label != NULL ? kr_cache_list_new(cache) : NULL;
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
    kr_table_free(table);
    return NULL;
  }
  kr_cache_count_bytes(cache, before, cache->names.size + empty_size(table));
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
  kr_cache_count_bytes(cache, before, cache->names.size);
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

void kr_table_leave(struct keyroute_table *table)
{
  struct kr_cache *cache = table->cache;

  pthread_mutex_lock(&cache->tables_lock);
  if (kr_name_map_find(&cache->names, kr_table_name(table), table->hash) == table) {
    table_drop_if_unused(table);
  }
  pthread_mutex_unlock(&cache->tables_lock);
}

static void visit_leftover(void *value, void *arg)
{
  (void)arg;
  table_drop_if_unused(value);
}

void kr_cache_drop_leftovers(struct kr_cache *cache)
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

int64_t kr_table_missed(struct keyroute_table *table, int64_t now_us)
{
  int64_t last_us = table->missed_us;

  table->missed_us = now_us;
  return last_us;
}

void kr_table_pin(struct keyroute_table *table)
{
  if (!table->pinned) {
    table->pinned = true;
    table->cache->pinned += kr_skiplist_count(table->regions);
  }
}
