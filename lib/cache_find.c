/*
 * Finding regions in a table: what a hit does, and what others ask of the order of regions.
 *
 * doc/hits.md says what a hit reads and writes. It is one function, which calls nothing on the
 * usual way.
 *
 * Threads: readers, in a read section; kr_table_knows_below and kr_table_entry on the loop.
 */
#include "lib/cache.h"

#include "lib/bytes.h"
#include "lib/cache_state.h"
#include "lib/skiplist_floor.h"

/* The only region that can cover the row (NULL is accepted), if a hit may give it out, or NULL. */
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

struct keyroute_location *kr_table_candidate(const struct keyroute_table *table,
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
    const struct keyroute_table *table, struct keyroute_bytes row, struct kr_descent at)
{
  struct keyroute_location *location = kr_skiplist_floor_by_ties(&at, row, kr_table_key_of);

  if (location == NULL) {
    location = kr_skiplist_floor_from(table->regions, row, at);
  }
  return live(location, row, KR_AT);
}

static __attribute__((noinline)) struct keyroute_location *find_before(
    const struct keyroute_table *table, struct keyroute_bytes row)
{
  return live(kr_table_candidate(table, row, KR_BEFORE), row, KR_BEFORE);
}

struct keyroute_location *kr_table_find(const struct keyroute_table *table,
                                        struct keyroute_bytes row, enum kr_position position)
{
  if (position != KR_AT) {
    return find_before(table, row);
  }
  struct kr_descent at = kr_descent_begin(table->regions);
  struct keyroute_location *location = kr_skiplist_floor_by_heads(&at, row);

  return location != NULL ? live(location, row, KR_AT) : find_from(table, row, at);
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
  void *some[KR_CACHE_SOME];
  size_t now;

  while ((now = kr_skiplist_above(table->regions, some, &low, KR_CACHE_SOME)) > 0) {
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

/* Is it a live region, and does it end where the other one starts? */
static bool is_right_below(const struct keyroute_location *below,
                           const struct keyroute_location *location)
{
  return !kr_location_retired(below) &&
         kr_bytes_equal(keyroute_location_end_key(below), keyroute_location_start_key(location));
}

bool kr_table_knows_below(const struct keyroute_table *table, struct keyroute_bytes row,
                          enum kr_position position, size_t count)
{
  const struct keyroute_location *at = kr_table_candidate(table, row, position);
  void *some[KR_CACHE_SOME];

  if (at == NULL || !kr_location_covers(at, row, position)) {
    return false;
  }
  while (count > 0 && keyroute_location_start_key(at).len > 0) {
    size_t now = kr_skiplist_below(table->regions, some, keyroute_location_start_key(at),
                                   count < KR_CACHE_SOME ? count : KR_CACHE_SOME);

    if (now == 0) {
      return false;
    }
    for (size_t i = 0; i < now; i++) {
      if (!is_right_below(some[i], at)) {
        return false;
      }
      at = some[i];
    }
    count -= now;
  }
  return true;
}

struct keyroute_location *kr_table_entry(const struct keyroute_table *table,
                                         struct keyroute_bytes start_key)
{
  return kr_skiplist_find(table->regions, start_key);
}
