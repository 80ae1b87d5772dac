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
 *  6. All regions stand in one ring (ring.c), which the sweeper goes round, and which is gone on
 *     along when room is short: what was hit since the last look is spared once, and the catalog's
 *     own regions as long as there are others. No visit, and no store, looks at all of them.
 *
 * What a store may replace, in kr_cache_store's terms:
 *
 *  - The same region (equal name): replica by replica the higher sequence number stays, unless a
 *    later read says that the replica is on no server. With one and the same number (a region that
 *    is opened elsewhere after its server was killed may get its old one) the read sent later is
 *    right. What is on a dropped server is not known.
 *  - Another region that overlaps: a read sent after that one was stored is newer knowledge and
 *    wins, whatever the ids, for a restored snapshot brings old ids back. Of reads that overlap in
 *    time the larger region id wins, for it was made later.
 *  - What is retired never stands in the way.
 */
#include "lib/cache.h"

#include "lib/age.h"
#include "lib/bytes.h"
#include "lib/hash.h"
#include "lib/ring.h"
#include "lib/skiplist.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { SHARDS = 256 };

/* How many regions that were hit lately are spared for one that has to go. If all are in use, one
 * of them goes before the loop has looked at the whole cache. */
enum { SPARED_MAX = 64 };

struct keyroute_table {
  struct kr_cache *cache;
  struct kr_skiplist *regions;
  struct kr_rcu_head rcu;
  size_t refs;       /* tables_lock */
  int64_t missed_us; /* loop thread: when a row was last missed, 0 = never */
  unsigned hash;
  bool pinned; /* loop thread */
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
  size_t size; /* memory that it takes */
  size_t count;
  struct entry entries[];
};

struct kr_cache {
  struct kr_mem *mem;
  struct kr_stats *stats;
  void *owner;
  void (*stored)(void *arg); /* the watcher's; NULL = there is none */
  void *stored_arg;
  struct kr_cache_limits limits;
  uint64_t now;               /* logical time; loop thread */
  struct kr_ring ring;        /* all regions; loop thread */
  size_t pinned;              /* of these, how many are of pinned tables; loop thread */
  struct kr_age age;          /* loop thread */
  atomic_uint_fast64_t epoch; /* grows when something is retired from outside */
  pthread_mutex_t tables_lock;
  bool has_leftovers;                   /* tables_lock: tables found no memory to leave with */
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

/* Memory that uthash takes for a table of its own. */
static size_t hash_size(const UT_hash_table *table)
{
  return kr_mem_taken(sizeof(*table)) +
         kr_mem_taken(table->num_buckets * sizeof(table->buckets[0]));
}

/* A copy of old (may be NULL) without `leave` and with `add`; either may be NULL. */
static struct shard *shard_copy(struct kr_mem *mem, const struct shard *old,
                                const struct keyroute_table *leave, struct keyroute_table *add)
{
  size_t old_count = old != NULL ? old->count : 0;
  size_t room = old_count + (add != NULL ? 1 : 0) - (leave != NULL ? 1 : 0);
  size_t size = sizeof(struct shard) + room * sizeof(struct entry);
  struct shard *shard = kr_calloc(mem, size);
  bool hash_failed = false;

  if (shard == NULL) {
    return NULL;
  }
  shard->mem = kr_mem_ref(mem);
  for (size_t i = 0; i <= old_count; i++) {
    struct keyroute_table *table = i < old_count ? old->entries[i].table : add;

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
  shard->size = kr_mem_taken(size) + hash_size(shard->by_name->hh.tbl);
  return shard;
}

/* A figure grows by after - before, which may be less than nothing. */
static void count_bytes(struct kr_cache *cache, size_t before, size_t after)
{
  atomic_fetch_add_explicit(&cache->bytes, after - before, memory_order_relaxed);
}

/* Publish a shard in place of another; NULL = none any more. tables_lock is held, under which
 * shards are read relaxed. */
static void shard_publish(struct kr_cache *cache, _Atomic(struct shard *) *place,
                          struct shard *shard)
{
  struct shard *old = atomic_load_explicit(place, memory_order_relaxed);

  count_bytes(cache, old != NULL ? old->size : 0, shard != NULL ? shard->size : 0);
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

void kr_cache_set_limits(struct kr_cache *cache, const struct kr_cache_limits *limits)
{
  cache->limits = *limits;
  kr_age_init(&cache->age, limits->ttl_ms, limits->idle_ms);
}

void kr_cache_set_watcher(struct kr_cache *cache, void (*stored)(void *arg), void *arg)
{
  cache->stored = stored;
  cache->stored_arg = arg;
}

void kr_cache_set_owner(struct kr_cache *cache, void *owner)
{
  cache->owner = owner;
}

/* Memory that a table takes while it is empty. */
static size_t empty_size(const struct keyroute_table *table)
{
  return kr_mem_taken(sizeof(*table) + table->name_len) + kr_skiplist_empty_size();
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
    shard_publish(cache, place, shard);
    count_bytes(cache, 0, empty_size(table));
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
 * smaller shard it stays until the next visit. tables_lock is held. */
static void table_drop_if_unused(struct keyroute_table *table)
{
  struct kr_cache *cache = table->cache;
  _Atomic(struct shard *) *place = shard_of(cache, table->hash);
  struct shard *old = atomic_load_explicit(place, memory_order_relaxed);
  struct shard *smaller = NULL;

  if (table->refs > 0 || kr_skiplist_count(table->regions) > 0) {
    return;
  }
  if (old->count > 1) {
    smaller = shard_copy(cache->mem, old, table, NULL);
    if (smaller == NULL) {
      cache->has_leftovers = true;
      return;
    }
  }
  shard_publish(cache, place, smaller);
  count_bytes(cache, empty_size(table), 0);
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

/* A location has come into the skip list of a table. */
static void remember(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  location->cached.table = table;
  kr_ring_add(&cache->ring, location);
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

/* A location has left the skip list: the count on it goes back later. */
static void forget(struct kr_cache *cache, struct keyroute_location *location,
                   enum kr_evicted reason)
{
  reason = why(location, reason);
  cache->pinned -= location->cached.table->pinned ? 1 : 0;
  kr_ring_remove(&cache->ring, location);
  atomic_fetch_sub_explicit(&cache->regions, 1, memory_order_relaxed);
  count_bytes(cache, kr_location_size(location), 0);
  kr_stats_add(cache->stats, KR_COUNT_EVICTIONS, 1);
  kr_stats_add(cache->stats, KR_COUNT_EVICTED_REPLACED + (reason - KR_EVICTED_REPLACED), 1);
  /* It may still be held by somebody who asks whether it is current. */
  kr_location_retire(location, reason);
  kr_location_release_later(location);
}

static void take_out(struct kr_cache *cache, struct keyroute_location *location,
                     enum kr_evicted reason)
{
  struct keyroute_table *table = location->cached.table;
  size_t before = kr_skiplist_size(table->regions);

  kr_skiplist_take(table->regions, keyroute_location_start_key(location));
  count_bytes(cache, before, kr_skiplist_size(table->regions));
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
  if (shard_find(atomic_load_explicit(shard_of(cache, table->hash), memory_order_relaxed),
                 kr_table_name(table), table->hash) == table) {
    table_drop_if_unused(table);
  }
  pthread_mutex_unlock(&cache->tables_lock);
}

/* Take a location out, and with its last one the table. */
static void evict(struct kr_cache *cache, struct keyroute_location *location,
                  enum kr_evicted reason)
{
  struct keyroute_table *table = location->cached.table;

  kr_rcu_read_begin();
  take_out(cache, location, reason);
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

/* Who has to go for want of room, and why: the next whose time is over or who was not hit lately
 * (invariant 6). There are others than `keep`. */
static struct keyroute_location *next_victim(struct kr_cache *cache,
                                             const struct keyroute_location *keep,
                                             enum kr_evicted *reason)
{
  size_t others = cache->ring.count - cache->pinned - (keep->cached.table->pinned ? 0 : 1);
  uint32_t now_ds = kr_age_now(&cache->age);

  for (unsigned spared = 0;;) {
    struct keyroute_location *location = kr_ring_next(&cache->ring);

    if (location == keep || (others > 0 && location->cached.table->pinned)) {
      continue;
    }
    bool touched = kr_age_take_touched(location, now_ds);

    *reason = why(location, kr_age_judge(&cache->age, location, now_ds));
    if (*reason == KR_NOT_EVICTED && (!touched || ++spared > SPARED_MAX)) {
      *reason = KR_EVICTED_FULL;
    }
    if (*reason != KR_NOT_EVICTED) {
      return location;
    }
  }
}

static void make_room(struct kr_cache *cache, const struct keyroute_location *keep)
{
  while (is_full(cache) && cache->ring.count > 1) {
    enum kr_evicted reason;
    struct keyroute_location *victim = next_victim(cache, keep, &reason);

    evict(cache, victim, reason);
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

/* Is what is known of a replica newer than what was read? */
static bool is_newer(const struct keyroute_location *known, const struct keyroute_location *fresh,
                     int replica, uint64_t sent)
{
  int64_t have = known->replicas[replica].seqnum, read = fresh->replicas[replica].seqnum;

  return have > read || (have == read && known->sent > sent);
}

/* Let fresh take over the replicas of the same region that are known to be newer. Where the read
 * brought none (the replica is on no server, or its cell is missing), the later read is right. Only
 * before it is published. */
static void merge_replicas(struct keyroute_location *fresh, const struct keyroute_location *known,
                           uint64_t sent)
{
  for (int i = 0; i < fresh->replica_count && i < known->replica_count; i++) {
    bool unnumbered = fresh->replicas[i].server == NULL || fresh->replicas[i].seqnum < 0;
    bool is_later = unnumbered && sent > known->stored;

    if (kr_location_live_server(known, i) != NULL && !is_later && is_newer(known, fresh, i, sent)) {
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

static void tell_watcher(const struct kr_cache *cache)
{
  if (cache->stored != NULL) {
    cache->stored(cache->stored_arg);
  }
}

/* Put fresh in. Every other region that overlaps it goes; the order is such that a reader finds
 * either an old region or the new one, but never an old one that outlives its replacement. */
static int put_in(struct kr_cache *cache, struct keyroute_table *table,
                  struct keyroute_location *fresh)
{
  size_t before = kr_skiplist_size(table->regions);
  void *replaced;
  struct keyroute_location *other;

  assert(fresh->stored == 0);
  if (kr_skiplist_put(table->regions, keyroute_location_start_key(fresh), fresh, &replaced) != 0) {
    return KEYROUTE_E_NO_MEMORY;
  }
  keyroute_location_ref(fresh);
  fresh->stored = kr_cache_tick(cache);
  kr_age_begin(&cache->age, fresh);
  count_bytes(cache, before, kr_skiplist_size(table->regions));
  remember(cache, table, fresh);
  if (replaced != NULL) {
    forget(cache, replaced, KR_EVICTED_REPLACED);
  }
  other = kr_skiplist_lower(table->regions, keyroute_location_start_key(fresh));
  if (other != NULL && kr_location_overlaps(other, fresh)) {
    take_out(cache, other, KR_EVICTED_REPLACED);
  }
  while ((other = next_overlap(table, fresh, fresh)) != NULL) {
    take_out(cache, other, KR_EVICTED_REPLACED);
  }
  make_room(cache, fresh);
  tell_watcher(cache);
  return 0;
}

int kr_cache_store(struct kr_cache *cache, struct keyroute_table *table,
                   struct keyroute_location *fresh, uint64_t sent, struct keyroute_location **kept)
{
  struct keyroute_location *known =
      kr_skiplist_find(table->regions, keyroute_location_start_key(fresh));
  uint64_t newest = sent;

  if (known != NULL && !kr_location_retired(known) && same_region(known, fresh)) {
    merge_replicas(fresh, known, sent);
    newest = known->sent > sent ? known->sent : sent;
    if (equal(fresh, known)) {
      known->sent = newest;
      known->stored = kr_cache_tick(cache); /* it has just been confirmed */
      kr_age_begin(&cache->age, known);
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
    fresh->sent = newest;
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
  fresh->sent = old != NULL ? old->sent : 0;
  return put_in(cache, table, fresh) == 0;
}

void kr_cache_remove(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location)
{
  if (kr_skiplist_find(table->regions, keyroute_location_start_key(location)) == location) {
    evict(cache, location, KR_EVICTED_REPORTED);
  }
}

void kr_cache_remove_row(struct kr_cache *cache, struct keyroute_table *table,
                         struct keyroute_bytes row, enum kr_position position)
{
  struct keyroute_location *location = candidate(table, row, position);

  if (location != NULL && kr_location_covers(location, row, position)) {
    evict(cache, location, KR_EVICTED_REPLACED);
  }
}

void kr_cache_clear_table(struct kr_cache *cache, struct keyroute_table *table)
{
  struct keyroute_location *location;

  while ((location = kr_skiplist_first(table->regions)) != NULL) {
    take_out(cache, location, KR_EVICTED_CLEARED);
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

static void retire_table(const struct keyroute_table *table, const struct kr_cache_filter *filter)
{
  enum kr_evicted reason = filter->host != NULL ? KR_EVICTED_SERVER : KR_EVICTED_CLEARED;
  struct keyroute_location *location = kr_skiplist_first(table->regions);

  for (; location != NULL;
       location = kr_skiplist_higher(table->regions, keyroute_location_start_key(location))) {
    if (filter->host == NULL || on_server(location, filter)) {
      kr_location_retire(location, reason);
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

/* Drop the tables that are empty and unused but found no memory to leave with. Such are rare: all
 * tables are looked at, under the lock. */
static void drop_leftovers(struct kr_cache *cache)
{
  pthread_mutex_lock(&cache->tables_lock);
  if (cache->has_leftovers) {
    cache->has_leftovers = false;
    for (int i = 0; i < SHARDS; i++) {
      /* From the last, for what is dropped leaves a shard without it, and the others in order. */
      struct shard *shard = atomic_load_explicit(&cache->shards[i], memory_order_relaxed);

      for (size_t j = shard != NULL ? shard->count : 0; j > 0; j--) {
        shard = atomic_load_explicit(&cache->shards[i], memory_order_relaxed);
        table_drop_if_unused(shard->entries[j - 1].table);
      }
    }
  }
  pthread_mutex_unlock(&cache->tables_lock);
}

void kr_cache_visit(struct kr_cache *cache, size_t count)
{
  uint32_t now_ds = kr_age_now(&cache->age);
  struct keyroute_location *location;

  for (; count > 0 && (location = kr_ring_next(&cache->ring)) != NULL; count--) {
    enum kr_evicted reason = why(location, kr_age_judge(&cache->age, location, now_ds));

    if (reason != KR_NOT_EVICTED) {
      evict(cache, location, reason);
    }
  }
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
