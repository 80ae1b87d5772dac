#ifndef KR_CACHE_H
#define KR_CACHE_H

#include "lib/cache_limits.h"
#include "lib/location.h"
#include "lib/stats.h"

/* What a connection knows: tables by name, in each the regions by start key. Readers anywhere, in a
 * read section (rcu.h); regions are changed on the loop thread only. */
struct kr_cache;

/* A table of the cache; the public handle is this object. Counted: by handles and by lookups. */
struct keyroute_table;

struct kr_cache *kr_cache_new(struct kr_mem *mem,
                              struct kr_stats *stats); /* NULL = out of memory */
void kr_cache_free(struct kr_cache *cache);            /* no readers, lookups or handles any more */

/* The same in a forked child, where the loop may have been stopped in the middle of a change: frees
 * regions and tables, and leaves what may still be asked for by those that wait to be freed. */
void kr_cache_abandon(struct kr_cache *cache);

/* Before anything is stored. */
void kr_cache_set_limits(struct kr_cache *cache, const struct kr_cache_limits *limits);

void kr_cache_set_watcher(struct kr_cache *cache, const struct kr_cache_watcher *watcher);

/* The table of that canonical name, made if it is new; a count is the caller's. Any thread. NULL =
 * out of memory. */
struct keyroute_table *kr_cache_table(struct kr_cache *cache, struct keyroute_bytes name);

/* The same without making one and without a count; NULL = not there. Reader. */
struct keyroute_table *kr_cache_find_table(struct kr_cache *cache, struct keyroute_bytes name);

/* One more count for somebody who holds one. Any thread. */
struct keyroute_table *kr_table_ref(struct keyroute_table *table);

/* Give a count back; NULL is accepted. A table that nobody counts and that has no regions leaves
 * the cache. */
void kr_table_release(struct keyroute_table *table);

struct keyroute_bytes kr_table_name(const struct keyroute_table *table);

/* Has an application named the table so, canonically, and was the name found to be good? Not every
 * table's is: -ROOT- is none that they may ask for. Any thread. */
void kr_table_set_named(struct keyroute_table *table);
bool kr_table_named(const struct keyroute_table *table);

/* Loop: this table's regions say where others' are; they make room only where there are none. */
void kr_table_pin(struct keyroute_table *table);

/* What the cache's owner wants to find again from a handle. */
void kr_cache_set_owner(struct kr_cache *cache, void *owner);
void *kr_table_owner(const struct keyroute_table *table);

/* Reader: the live region that covers the row, or NULL; marks it as touched. */
struct keyroute_location *kr_table_find(const struct keyroute_table *table,
                                        struct keyroute_bytes row, enum kr_position position);
void kr_table_find_many(const struct keyroute_table *table, const struct keyroute_location **out,
                        const struct keyroute_bytes *rows, size_t count);

/* Reader: the last region, live or not, that starts at or below the row; for comparing gaps. */
const struct keyroute_location *kr_table_floor(const struct keyroute_table *table,
                                               struct keyroute_bytes row);

/* Reader: how many regions, live or not, start above low and not above high (NULL = the end of the
 * table); counts no further than max. */
size_t kr_table_count_above(const struct keyroute_table *table, struct keyroute_bytes low,
                            const struct keyroute_bytes *high, size_t max);

/* Loop: are the region of a row, live or not, and the `count` below it known, those live and
 * without a gap between them? Below the table's first one there is nothing to be known. */
bool kr_table_knows_below(const struct keyroute_table *table, struct keyroute_bytes row,
                          enum kr_position position, size_t count);

/* Loop: note that a row of the table is missed now; returns when one was missed last, 0 = never. */
int64_t kr_table_missed(struct keyroute_table *table, int64_t now_us);

/* Loop: the region, live or not, that starts just there; NULL = none does. */
struct keyroute_location *kr_table_entry(const struct keyroute_table *table,
                                         struct keyroute_bytes start_key);

/* The cache's logical time: microseconds since it was made, and at least one more with every change
 * and every call of this. Loop. */
uint64_t kr_cache_tick(struct kr_cache *cache);

/* Loop: store what a read of the catalog, sent at logical time `sent`, found. precedence.c has the
 * rules. *kept is the location to answer with, counted for the caller: the one stored, the equal
 * one that was there already, or, where a newer region stands in the way, fresh itself, unstored.
 * fresh is not consumed, and its replicas may be replaced by newer ones known here. It must never
 * have been stored before. Others go if the cache is then beyond its limits.
 * Errors: NO_MEMORY. */
int kr_cache_store(struct kr_cache *cache, struct keyroute_table *table,
                   struct keyroute_location *fresh, uint64_t sent, struct keyroute_location **kept);

/* Loop: put fresh in the place of `old`, a location of the same region, if the cache holds that
 * very one; old NULL = if nothing live stands where fresh would. fresh is not consumed. False = the
 * cache holds something else, or out of memory; nothing has changed then. */
bool kr_cache_replace(struct kr_cache *cache, struct keyroute_table *table,
                      struct keyroute_location *old, struct keyroute_location *fresh);

/* Loop: take this very location out, if it is still there. */
void kr_cache_remove(struct kr_cache *cache, struct keyroute_table *table,
                     struct keyroute_location *location);

/* Loop: take out the region of a table, live or not, that covers the row. */
void kr_cache_remove_row(struct kr_cache *cache, struct keyroute_table *table,
                         struct keyroute_bytes row, enum kr_position position);

/* Loop: take out all regions of a table. Where they are many they wait to be evicted, and the
 * figures count them until then. */
void kr_cache_clear_table(struct kr_cache *cache, struct keyroute_table *table);

/* Loop: evict so many of those that were cleared; how many that were. */
size_t kr_cache_drain(struct kr_cache *cache, size_t max);

/* Any thread: retire what matches, so that no hit gives it out any more; the loop takes it out with
 * kr_cache_visit. table NULL = all tables; host NULL = all servers; start_code 0 = any. */
struct kr_cache_filter {
  struct keyroute_bytes table;
  const char *host;
  int port;
  int64_t start_code;
};
void kr_cache_retire(struct kr_cache *cache, const struct kr_cache_filter *filter);

/* How often something was dropped: kr_cache_retire counts itself, and kr_cache_new_epoch is for
 * whoever is about to drop a server. What was read before the last time may be what the caller
 * wanted to be rid of: it is neither stored nor given to those who asked since. Any thread. */
uint64_t kr_cache_epoch(const struct kr_cache *cache);
void kr_cache_new_epoch(struct kr_cache *cache);

/* Loop: is it still that epoch? Then it stays so until kr_cache_end_store, and whoever drops
 * something meanwhile finds what was stored. */
bool kr_cache_begin_store(struct kr_cache *cache, uint64_t epoch);
void kr_cache_end_store(struct kr_cache *cache);

/* Loop: visit so many regions, from where the last visit ended, and take out those that are retired
 * and those whose time is over. As many as there are take one round. Tables that are left empty and
 * unused leave. */
void kr_cache_visit(struct kr_cache *cache, size_t count);

/* In what time each region should be visited once; 0 = nothing bounds their time. */
int64_t kr_cache_round_ms(const struct kr_cache *cache);

/* Figures of this moment; bytes is all that the cache holds but for its own fixed part, what waits
 * for readers, and what others count too. Any thread. */
struct kr_cache_size {
  size_t tables, regions, bytes;
};
struct kr_cache_size kr_cache_size(const struct kr_cache *cache);

#endif
