#ifndef KR_CACHE_STATE_H
#define KR_CACHE_STATE_H

#include "lib/age.h"
#include "lib/cache_limits.h"
#include "lib/cleared.h"
#include "lib/hand.h"
#include "lib/name_map.h"
#include "lib/skiplist.h"
#include "lib/stats.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the files of the cache share. */

/* How many regions are asked for at once by who wants all of them. */
enum { KR_CACHE_SOME = 32 };

/* What hits read comes first, and so far before what is written meanwhile that the two never share
 * a line of the machine's caches, wherever memory that is aligned to 16 bytes begins. */
struct keyroute_table {
  struct kr_cache *cache;
  struct kr_skiplist *regions;
  struct kr_label *label; /* of its locations */
  struct kr_rcu_head rcu;
  unsigned hash;
  bool pinned;         /* loop thread */
  bool named;          /* atomic: an application may name it so; once set it stays */
  uint64_t apart[2];   /* room */
  struct kr_stop stop; /* loop thread */
  size_t refs;         /* tables_lock */
  int64_t missed_us;   /* loop thread: when a row was last missed, 0 = never */
};

_Static_assert(offsetof(struct keyroute_table, regions) + 56 <=
                   offsetof(struct keyroute_table, stop),
               "what is written is not on the line of what hits read");

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
  pthread_mutex_t epoch_lock; /* cache_retire.c */
  atomic_uint_fast64_t epoch; /* grows when something is retired from outside */
  pthread_mutex_t tables_lock;
  bool has_leftovers;                   /* tables_lock: tables found no memory to leave with */
  struct kr_name_map names;             /* of tables; tables_lock is its writers' */
  atomic_size_t tables, regions, bytes; /* relaxed: figures for people, which order nothing */
};

/* A figure grows by after - before, which may be less than nothing. */
static inline void kr_cache_count_bytes(struct kr_cache *cache, size_t before, size_t after)
{
  atomic_fetch_add_explicit(&cache->bytes, after - before, memory_order_relaxed);
}

/* A list for a table's regions. NULL = out of memory. */
struct kr_skiplist *kr_cache_list_new(struct kr_cache *cache);

/* What is such a list's key_of. */
static inline struct keyroute_bytes kr_table_key_of(const void *location)
{
  return kr_location_start(location);
}

/* The only region of a table that can cover the row, or NULL. Reader. */
struct keyroute_location *kr_table_candidate(const struct keyroute_table *table,
                                             struct keyroute_bytes row, enum kr_position position);

/* Free a region that no list holds any more. No readers any more. */
void kr_region_free(void *location);

/* Free a table, and give the counts on its regions back. No readers any more. */
void kr_table_free(struct keyroute_table *table);

/* Drop a table if it is unused. It may have been dropped, and so be no more than readable, before
 * the lock is had: whoever calls has had a read section open since the table was in use. */
void kr_table_leave(struct keyroute_table *table);

/* Drop the tables that are empty and unused but found no memory to leave with. Such are rare: all
 * tables are looked at, under the lock. */
void kr_cache_drop_leftovers(struct kr_cache *cache);

/* ---- Loop thread: how regions leave (cache_evict.c) ---- */

/* A location is in no skip list any more: the count on it goes back later. */
void kr_cache_forget(struct kr_cache *cache, struct keyroute_location *location,
                     enum kr_evicted reason);

void kr_cache_take_out(struct kr_cache *cache, struct keyroute_table *table,
                       struct keyroute_location *location, enum kr_evicted reason);

/* Take a location out, and with its last one the table. */
void kr_cache_evict(struct kr_cache *cache, struct keyroute_table *table,
                    struct keyroute_location *location, enum kr_evicted reason);

/* Have others leave than `keep`, which has just come into that table, until the cache is within its
 * limits. */
void kr_cache_make_room(struct kr_cache *cache, const struct keyroute_table *table,
                        const struct keyroute_location *keep);

#endif
