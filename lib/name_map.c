/*
 * A map from names to pointers, read without a lock.
 *
 *  1. Names are spread over shards by their hash. A shard is an immutable snapshot, replaced by one
 *     pointer store: a change copies its shard only, so ten thousand names cost no quadratic time.
 *  2. What was replaced is freed after a grace period. A visit goes through the snapshots of the
 *     moment, whatever is put in or taken out meanwhile.
 *  3. Writers exclude each other; each shard and what it has taken of the memory is theirs.
 */
#include "lib/name_map.h"

#include "lib/hash.h"
#include "lib/rcu.h"

struct entry {
  UT_hash_handle hh;
  void *value;
};

/* Never changed once published. */
struct kr_name_shard {
  struct kr_rcu_head rcu;
  struct kr_mem *mem;
  struct entry *by_name;
  size_t size; /* memory that it takes */
  size_t count;
  struct entry entries[];
};

void kr_name_map_init(struct kr_name_map *map, struct kr_mem *mem)
{
  map->mem = mem;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
  hash = (hash ^ more) * 0x9e3779b97f4a7c15u; /* odd, and half its bits are set */
  return hash ^ hash >> 32;
}

/* Eight bytes at a time, each mixed in by a multiplication, whose high half has of all bits. */
unsigned kr_name_map_hash(struct keyroute_bytes name)
{
  const uint8_t *at = name.data;
  uint64_t hash = name.len;
  size_t left = name.len;

  for (; left >= 8; left -= 8, at += 8) {
    hash = mix(hash, kr_bytes_eight(at));
  }
  uint64_t rest = 0;

  for (; left > 0; left--, at++) {
    rest = rest << 8 | *at;
  }
  hash = mix(hash, rest);
  return (unsigned)(hash >> 32);
}

static size_t shard_of(unsigned hash)
{
  return (hash >> 16) % KR_NAME_MAP_SHARDS;
}

/* Acquire: pairs with publish, so that who finds a shard finds its entries filled in. */
static struct kr_name_shard *load(const struct kr_name_map *map, size_t at)
{
  return atomic_load_explicit(&map->shards[at], memory_order_acquire);
}

static void shard_free(struct kr_name_shard *shard)
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
  shard_free((struct kr_name_shard *)(void *)head); /* its first field */
}

void kr_name_map_clear(struct kr_name_map *map)
{
  for (size_t i = 0; i < KR_NAME_MAP_SHARDS; i++) {
    shard_free(load(map, i));
  }
}

/* Memory that uthash takes for a table of its own. */
static size_t hash_size(const UT_hash_table *table)
{
  return kr_mem_taken(sizeof(*table)) +
         kr_mem_taken(table->num_buckets * sizeof(table->buckets[0]));
}

/* One without entries, with room for some; NULL = out of memory. */
static struct kr_name_shard *shard_new(struct kr_mem *mem, size_t room)
{
  size_t size = sizeof(struct kr_name_shard) + room * sizeof(struct entry);
  struct kr_name_shard *shard = kr_calloc(mem, size);

  if (shard != NULL) {
    shard->mem = kr_mem_ref(mem);
    shard->size = kr_mem_taken(size);
  }
  return shard;
}

/* False = out of memory. */
static bool shard_add(struct kr_name_shard *shard, struct keyroute_bytes name, unsigned hash,
                      void *value)
{
  struct kr_mem *mem = shard->mem;
  struct entry *entry = &shard->entries[shard->count++];
  bool hash_failed = false;

  entry->value = value;
  HASH_ADD_KEYPTR_BYHASHVALUE(hh, shard->by_name, name.data, (unsigned)name.len, hash, entry);
  return !hash_failed;
}

/* Add what old (NULL = nothing) has, but for the value to leave. False = out of memory. */
static bool shard_add_all(struct kr_name_shard *shard, const struct kr_name_shard *old,
                          const void *leave)
{
  for (size_t i = 0; old != NULL && i < old->count; i++) {
    const struct entry *entry = &old->entries[i];

    if (entry->value != leave && !shard_add(shard, kr_bytes(entry->hh.key, entry->hh.keylen),
                                            entry->hh.hashv, entry->value)) {
      return false;
    }
  }
  return true;
}

/* Put a shard in the place of another; NULL = none any more. */
static void publish(struct kr_name_map *map, size_t at, struct kr_name_shard *shard)
{
  struct kr_name_shard *old = load(map, at);

  if (shard != NULL) {
    shard->size += hash_size(shard->by_name->hh.tbl);
    map->size += shard->size;
  }
  /* Release: a reader that finds the new shard finds its entries filled in. */
  atomic_store_explicit(&map->shards[at], shard, memory_order_release);
  if (old != NULL) {
    map->size -= old->size;
    kr_rcu_defer(&old->rcu, shard_free_deferred);
  }
}

void *kr_name_map_find(const struct kr_name_map *map, struct keyroute_bytes name, unsigned hash)
{
  const struct kr_name_shard *shard = load(map, shard_of(hash));
  struct entry *found = NULL;

  if (shard != NULL) {
    HASH_FIND_BYHASHVALUE(hh, shard->by_name, name.data, (unsigned)name.len, hash, found);
  }
  return found != NULL ? found->value : NULL;
}

int kr_name_map_put(struct kr_name_map *map, struct keyroute_bytes name, unsigned hash, void *value)
{
  const struct kr_name_shard *old = load(map, shard_of(hash));
  struct kr_name_shard *shard = shard_new(map->mem, (old != NULL ? old->count : 0) + 1);

  if (shard == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  if (!shard_add_all(shard, old, NULL) || !shard_add(shard, name, hash, value)) {
    shard_free(shard);
    return KEYROUTE_E_NO_MEMORY;
  }
  publish(map, shard_of(hash), shard);
  return 0;
}

int kr_name_map_take(struct kr_name_map *map, const void *value, unsigned hash)
{
  const struct kr_name_shard *old = load(map, shard_of(hash));
  struct kr_name_shard *smaller = NULL;

  if (old->count > 1) {
    smaller = shard_new(map->mem, old->count - 1);
    if (smaller == NULL) {
      return KEYROUTE_E_NO_MEMORY;
    }
    if (!shard_add_all(smaller, old, value)) {
      shard_free(smaller);
      return KEYROUTE_E_NO_MEMORY;
    }
  }
  publish(map, shard_of(hash), smaller);
  return 0;
}

void kr_name_map_visit(const struct kr_name_map *map, void (*visit)(void *value, void *arg),
                       void *arg)
{
  for (size_t i = 0; i < KR_NAME_MAP_SHARDS; i++) {
    const struct kr_name_shard *shard = load(map, i);

    for (size_t j = 0; shard != NULL && j < shard->count; j++) {
      visit(shard->entries[j].value, arg);
    }
  }
}
