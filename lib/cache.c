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
 *  4. Tables are found through immutable snapshots, one a shard of the name's hash. A new table
 *     copies its shard only, so ten thousand tables cost no quadratic time. tables_lock is for
 *     those who change shards or counts; readers take no lock.
 *  5. A table object outlives its last region while somebody counts it: a handle stays valid while
 *     the table is dropped and made again.
 *
 * What a store may replace, in kr_cache_store's terms:
 *
 *  - The same region (equal name): replica by replica the higher sequence number stays, unless a
 *    later read says that the replica is on no server. What is on a dropped server is not known.
 *  - Another region that overlaps: a read sent after that one was stored is newer knowledge and
 *    wins, whatever the ids, for a restored snapshot brings old ids back. Of reads that overlap in
 *    time the larger region id wins, for it was made later.
 *  - What is retired never stands in the way.
 */
#include "lib/cache.h"

#include "lib/bytes.h"
#include "lib/hash.h"
#include "lib/skiplist.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { SHARDS = 256 };

struct keyroute_table {
  struct kr_cache *cache;
  struct kr_skiplist *regions;
  struct kr_rcu_head rcu;
  size_t refs;       /* tables_lock */
  int64_t missed_us; /* loop thread: when a row was last missed, 0 = never */
  unsigned hash;
  uint32_t name_len;
  char name[];
};

struct entry {
  UT_hash_handle hh;
  struct keyroute_table *table;
};

/* The tables of one shard; never changed once published. */
struct shard {
  struct kr_rcu_head rcu;
  struct kr_mem *mem;
  struct entry *by_name;
  size_t count;
  struct entry entries[];
};

struct kr_cache {
  struct kr_mem *mem;
  struct kr_stats *stats;
  void *owner;
  uint64_t now;               /* logical time; loop thread */
  atomic_uint_fast64_t epoch; /* grows when something is retired from outside */
  pthread_mutex_t tables_lock;
  atomic_size_t tables, regions, bytes; /* relaxed: figures for people, which order nothing */
  _Atomic(struct shard *) shards[SHARDS];
};

/* ---- Tables ---- */

static unsigned hash_name(struct keyroute_bytes name)
{
  unsigned hash;

  HASH_VALUE(name.data, (unsigned)name.len, hash);
  return hash;
}

static struct keyroute_table *shard_find(const struct shard *shard, struct keyroute_bytes name,
                                         unsigned hash)
{
  struct entry *found = NULL;

  if (shard != NULL) {
    HASH_FIND_BYHASHVALUE(hh, shard->by_name, name.data, (unsigned)name.len, hash, found);
  }
  return found != NULL ? found->table : NULL;
}

static _Atomic(struct shard *) *shard_of(struct kr_cache *cache, unsigned hash)
{
  return &cache->shards[(hash >> 16) % SHARDS];
}

static void shard_free(struct shard *shard)
{
  if (shard != NULL) {
    struct kr_mem *mem = shard->mem;

    HASH_CLEAR(hh, shard->by_name);
    kr_free(mem, shard);
    kr_mem_release(mem);
  }
}

static void shard_free_deferred(struct kr_rcu_head *head)
{
  shard_free((struct shard *)(void *)head); /* its first field */
}

/* A copy of old (may be NULL) without `leave` and with `add`; either may be NULL. */
static struct shard *shard_copy(struct kr_mem *mem, const struct shard *old,
                                const struct keyroute_table *leave, struct keyroute_table *add)
{
  size_t room = (old != NULL ? old->count : 0) + 1;
  struct shard *shard = kr_calloc(mem, sizeof(*shard) + room * sizeof(shard->entries[0]));
  bool hash_failed = false;

  if (shard == NULL) {
    return NULL;
  }
  shard->mem = kr_mem_ref(mem);
  for (size_t i = 0; i < room; i++) {
    bool is_old = i + 1 < room;
    struct keyroute_table *table = is_old ? old->entries[i].table : add;

    if (table == NULL || table == leave) {
      continue;
    }
    struct entry *entry = &shard->entries[shard->count++];

    entry->table = table;
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, shard->by_name, table->name, table->name_len, table->hash,
                                entry);
  }
  if (hash_failed) {
    shard_free(shard);
    return NULL;
  }
  return shard;
}

/* Publish a shard in place of another. tables_lock is held, under which shards are read relaxed. */
static void shard_publish(_Atomic(struct shard *) *place, struct shard *shard)
{
  struct shard *old = atomic_load_explicit(place, memory_order_relaxed);

  /* Release: a reader that finds the new shard finds its entries filled in. */
  atomic_store_explicit(place, shard, memory_order_release);
  if (old != NULL) {
    kr_rcu_defer(&old->rcu, shard_free_deferred);
  }
}

struct kr_cache *kr_cache_new(struct kr_mem *mem, struct kr_stats *stats)
{
  struct kr_cache *cache = kr_calloc(mem, sizeof(*cache));

  if (cache != NULL) {
    cache->mem = mem;
    cache->stats = stats;
    pthread_mutex_init(&cache->tables_lock, NULL);
  }
  return cache;
}

void kr_cache_set_owner(struct kr_cache *cache, void *owner)
{
  cache->owner = owner;
}

static void table_free(struct keyroute_table *table)
{
  struct kr_mem *mem = table->cache->mem;

  kr_skiplist_free(table->regions);
  kr_free(mem, table);
  kr_mem_release(mem);
}

static void table_free_deferred(struct kr_rcu_head *head)
{
  char *member = (char *)head;

  table_free((struct keyroute_table *)(void *)(member - offsetof(struct keyroute_table, rcu)));
}

static struct keyroute_table *table_new(struct kr_cache *cache, struct keyroute_bytes name,
                                        unsigned hash)
{
  struct keyroute_table *table = kr_alloc(cache->mem, sizeof(*table) + name.len);

  if (table == NULL) {
    return NULL;
  }
  *table = (struct keyroute_table){.cache = cache, .refs = 1, .hash = hash};
  table->name_len = (uint32_t)name.len;
  memcpy(table->name, name.data, name.len);
  table->regions = kr_skiplist_new(cache->mem);
  if (table->regions == NULL) {
    kr_free(cache->mem, table);
    return NULL;
  }
  kr_mem_ref(cache->mem);
  return table;
}

/* Make a table and publish it. tables_lock is held. */
static struct keyroute_table *table_add(struct kr_cache *cache, struct keyroute_bytes name,
                                        unsigned hash)
{
  _Atomic(struct shard *) *place = shard_of(cache, hash);
  struct keyroute_table *table = table_new(cache, name, hash);
  struct shard *shard = NULL;

  if (table != NULL) {
    shard = shard_copy(cache->mem, atomic_load_explicit(place, memory_order_relaxed), NULL, table);
    if (shard == NULL) {
      table_free(table);
      return NULL;
    }
    shard_publish(place, shard);
    atomic_fetch_add_explicit(&cache->tables, 1, memory_order_relaxed);
  }
  return table;
}

struct keyroute_table *kr_cache_find_table(struct kr_cache *cache, struct keyroute_bytes name)
{
  unsigned hash = hash_name(name);

  /* Acquire: pairs with shard_publish. */
  return shard_find(atomic_load_explicit(shard_of(cache, hash), memory_order_acquire), name, hash);
}

struct keyroute_table *kr_cache_table(struct kr_cache *cache, struct keyroute_bytes name)
{
  unsigned hash = hash_name(name);

  pthread_mutex_lock(&cache->tables_lock);
  struct keyroute_table *table =
      shard_find(atomic_load_explicit(shard_of(cache, hash), memory_order_relaxed), name, hash);

  if (table != NULL) {
    table->refs++;
  } else {
    table = table_add(cache, name, hash);
  }
  pthread_mutex_unlock(&cache->tables_lock);
  return table;
}

/* Take a table out of its shard if nobody counts it and it is empty. If there is no memory for the
 * smaller shard it stays until it is next looked at. tables_lock is held. */
static void table_drop_if_unused(struct keyroute_table *table)
{
  struct kr_cache *cache = table->cache;
  _Atomic(struct shard *) *place = shard_of(cache, table->hash);

  if (table->refs > 0 || kr_skiplist_count(table->regions) > 0) {
    return;
  }
  struct shard *shard =
      shard_copy(cache->mem, atomic_load_explicit(place, memory_order_relaxed), table, NULL);

  if (shard != NULL) {
    shard_publish(place, shard);
    atomic_fetch_sub_explicit(&cache->tables, 1, memory_order_relaxed);
    kr_rcu_defer(&table->rcu, table_free_deferred);
  }
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
  struct kr_cache *cache = table->cache;

  pthread_mutex_lock(&cache->tables_lock);
  table->refs--;
  table_drop_if_unused(table);
  pthread_mutex_unlock(&cache->tables_lock);
}

struct keyroute_bytes kr_table_name(const struct keyroute_table *table)
{
  return kr_bytes(table->name, table->name_len);
}

void *kr_table_owner(const struct keyroute_table *table)
{
  return table->cache->owner;
}

/* ---- Finding ---- */

/* What a hit may give out, or NULL. */
static struct keyroute_location *live(struct keyroute_location *location, struct keyroute_bytes row,
                                      enum kr_position position)
{
  if (location == NULL || kr_location_retired(location) ||
      !kr_location_covers(location, row, position)) {
    return NULL;
  }
  /* Relaxed: the mark orders nothing. Written only if clear, so that hits share the line. */
  if (!__atomic_load_n(&location->touched, __ATOMIC_RELAXED)) {
    __atomic_store_n(&location->touched, true, __ATOMIC_RELAXED);
  }
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

struct keyroute_location *kr_table_find(const struct keyroute_table *table,
                                        struct keyroute_bytes row, enum kr_position position)
{
  return live(candidate(table, row, position), row, position);
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

  while (count < max) {
    const struct keyroute_location *next = kr_skiplist_higher(table->regions, low);

    if (next == NULL ||
        (high != NULL && kr_bytes_compare(keyroute_location_start_key(next), *high) > 0)) {
      break;
    }
    low = keyroute_location_start_key(next);
    count++;
  }
  return count;
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
  return ++cache->now;
}

/* The count on a location that has left the skip list goes back later. */
static void forget(struct kr_cache *cache, struct keyroute_location *location)
{
  atomic_fetch_sub_explicit(&cache->regions, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&cache->bytes, kr_location_size(location), memory_order_relaxed);
  kr_stats_add(cache->stats, KR_COUNT_EVICTIONS, 1);
  /* It may still be held by somebody who asks whether it is current. */
  kr_location_retire(location);
  kr_location_release_later(location);
}

static void take_out(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  kr_skiplist_take(table->regions, keyroute_location_start_key(location));
  forget(cache, location);
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

static bool same_region(const struct keyroute_location *a, const struct keyroute_location *b)
{
  return kr_bytes_equal(kr_location_name(a), kr_location_name(b));
}

/* Does a region that is known stand above what was read? */
static bool outranks(const struct keyroute_location *known, const struct keyroute_location *fresh,
                     uint64_t sent)
{
  return !kr_location_retired(known) && !same_region(known, fresh) && sent <= known->stored &&
         known->region_id > fresh->region_id;
}

/* Let fresh take over the replicas of the same region that are known with a higher sequence number.
 * Where the read brought none (the replica is on no server, or its cell is missing), the later read
 * is right. Only before it is published. */
static void merge_replicas(struct keyroute_location *fresh, const struct keyroute_location *known,
                           uint64_t sent)
{
  for (int i = 0; i < fresh->replica_count && i < known->replica_count; i++) {
    bool unnumbered = fresh->replicas[i].server == NULL || fresh->replicas[i].seqnum < 0;
    bool is_later = unnumbered && sent > known->stored;

    if (kr_location_live_server(known, i) != NULL && !is_later &&
        known->replicas[i].seqnum > fresh->replicas[i].seqnum) {
      kr_server_release(fresh->replicas[i].server);
      fresh->replicas[i] = known->replicas[i];
      kr_server_ref(fresh->replicas[i].server);
    }
  }
}

/* Does fresh say just what is known? */
static bool equal(const struct keyroute_location *fresh, const struct keyroute_location *known)
{
  if (!same_region(fresh, known) || fresh->replica_count != known->replica_count ||
      fresh->state != known->state ||
      !kr_bytes_equal(keyroute_location_end_key(fresh), keyroute_location_end_key(known))) {
    return false;
  }
  for (int i = 0; i < fresh->replica_count; i++) {
    if (fresh->replicas[i].server != known->replicas[i].server ||
        fresh->replicas[i].seqnum != known->replicas[i].seqnum) {
      return false;
    }
  }
  return true;
}

/* Put fresh in. Every other region that overlaps it goes; the order is such that a reader finds
 * either an old region or the new one, but never an old one that outlives its replacement. */
static int put_in(struct kr_cache *cache, struct keyroute_table *table,
                  struct keyroute_location *fresh)
{
  void *replaced;
  struct keyroute_location *other;

  if (kr_skiplist_put(table->regions, keyroute_location_start_key(fresh), fresh, &replaced) != 0) {
    return KEYROUTE_E_NO_MEMORY;
  }
  keyroute_location_ref(fresh);
  fresh->stored = kr_cache_tick(cache);
  atomic_fetch_add_explicit(&cache->regions, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&cache->bytes, kr_location_size(fresh), memory_order_relaxed);
  if (replaced != NULL) {
    forget(cache, replaced);
  }
  other = kr_skiplist_lower(table->regions, keyroute_location_start_key(fresh));
  if (other != NULL && kr_location_overlaps(other, fresh)) {
    take_out(cache, table, other);
  }
  while ((other = next_overlap(table, fresh, fresh)) != NULL) {
    take_out(cache, table, other);
  }
  return 0;
}

int kr_cache_store(struct kr_cache *cache, struct keyroute_table *table,
                   struct keyroute_location *fresh, uint64_t sent, struct keyroute_location **kept)
{
  struct keyroute_location *known =
      kr_skiplist_find(table->regions, keyroute_location_start_key(fresh));

  if (known != NULL && !kr_location_retired(known) && same_region(known, fresh)) {
    merge_replicas(fresh, known, sent);
    if (equal(fresh, known)) {
      known->stored = kr_cache_tick(cache); /* it has just been confirmed */
      *kept = keyroute_location_ref(known);
      return 0;
    }
  }
  for (known = next_overlap(table, fresh, NULL); known != NULL;
       known = next_overlap(table, fresh, known)) {
    if (outranks(known, fresh, sent)) {
      *kept = keyroute_location_ref(fresh);
      return 0;
    }
  }
  int error = put_in(cache, table, fresh);

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
  return put_in(cache, table, fresh) == 0;
}

void kr_cache_remove(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  if (kr_skiplist_find(table->regions, keyroute_location_start_key(location)) == location) {
    take_out(cache, table, location);
  }
}

void kr_cache_remove_row(struct kr_cache *cache, struct keyroute_table *table,
                         struct keyroute_bytes row, enum kr_position position)
{
  struct keyroute_location *location = candidate(table, row, position);

  if (location != NULL && kr_location_covers(location, row, position)) {
    take_out(cache, table, location);
  }
}

void kr_cache_clear_table(struct kr_cache *cache, struct keyroute_table *table)
{
  struct keyroute_location *location;

  while ((location = kr_skiplist_first(table->regions)) != NULL) {
    take_out(cache, table, location);
  }
}

/* ---- Retiring from any thread, sweeping on the loop ---- */

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

static void retire_table(const struct keyroute_table *table, const struct kr_cache_filter *filter)
{
  struct keyroute_location *location = kr_skiplist_first(table->regions);

  for (; location != NULL;
       location = kr_skiplist_higher(table->regions, keyroute_location_start_key(location))) {
    if (filter->host == NULL || on_server(location, filter)) {
      kr_location_retire(location);
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
  /* Before anything is retired: what was read in an older epoch is not stored any more. */
  kr_cache_new_epoch(cache);
  kr_rcu_read_begin();
  for (int i = 0; i < SHARDS; i++) {
    /* Acquire: pairs with shard_publish. */
    struct shard *shard = atomic_load_explicit(&cache->shards[i], memory_order_acquire);

    for (size_t j = 0; shard != NULL && j < shard->count; j++) {
      const struct keyroute_table *table = shard->entries[j].table;

      if (filter->table.data == NULL || kr_bytes_equal(filter->table, kr_table_name(table))) {
        retire_table(table, filter);
      }
    }
  }
  kr_rcu_read_end();
}

static void sweep_table(struct kr_cache *cache, struct keyroute_table *table)
{
  struct keyroute_location *location = kr_skiplist_first(table->regions);

  while (location != NULL) {
    struct keyroute_location *next =
        kr_skiplist_higher(table->regions, keyroute_location_start_key(location));

    if (kr_location_retired(location)) {
      take_out(cache, table, location);
    }
    location = next;
  }
}

/* Sweep the tables of one shard and drop those that are left empty and unused. The loop thread may
 * look at the shard it finds: it holds a read section, so that the shard and its tables stay. */
static void sweep_shard(struct kr_cache *cache, _Atomic(struct shard *) *place)
{
  /* Acquire: pairs with shard_publish. */
  struct shard *shard = atomic_load_explicit(place, memory_order_acquire);

  for (size_t i = 0; shard != NULL && i < shard->count; i++) {
    struct keyroute_table *table = shard->entries[i].table;

    sweep_table(cache, table);
    pthread_mutex_lock(&cache->tables_lock);
    if (shard_find(atomic_load_explicit(place, memory_order_relaxed), kr_table_name(table),
                   table->hash) == table) {
      table_drop_if_unused(table);
    }
    pthread_mutex_unlock(&cache->tables_lock);
  }
}

void kr_cache_sweep(struct kr_cache *cache)
{
  kr_rcu_read_begin();
  for (int i = 0; i < SHARDS; i++) {
    sweep_shard(cache, &cache->shards[i]);
  }
  kr_rcu_read_end();
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

void kr_cache_free(struct kr_cache *cache)
{
  struct kr_mem *mem = cache->mem;

  for (int i = 0; i < SHARDS; i++) {
    struct shard *shard = atomic_load_explicit(&cache->shards[i], memory_order_relaxed);

    for (size_t j = 0; shard != NULL && j < shard->count; j++) {
      kr_cache_clear_table(cache, shard->entries[j].table);
      table_free(shard->entries[j].table);
    }
    shard_free(shard);
  }
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

static void abandon_table(struct keyroute_table *table)
{
  struct kr_mem *mem = table->cache->mem;
  size_t count;
  struct keyroute_location **list = list_regions(table, &count);

  for (size_t i = 0; i < count; i++) {
    keyroute_location_release(list[i]);
  }
  kr_free(mem, list);
  table_free(table);
}

void kr_cache_abandon(struct kr_cache *cache)
{
  for (int i = 0; i < SHARDS; i++) {
    struct shard *shard = atomic_load_explicit(&cache->shards[i], memory_order_relaxed);

    for (size_t j = 0; shard != NULL && j < shard->count; j++) {
      abandon_table(shard->entries[j].table);
    }
    shard_free(shard);
  }
}
