/*
 * Cleared regions: what of a table that was cleared is still in memory?
 *
 * To evict a region takes about a microsecond, and a table may have a million. So clearing a table
 * moves its whole list here, which takes one store to each list however many there are, and the
 * regions are evicted some at a time: by the sweeper, and before all others where room is short.
 *
 *  1. No hit that begins later finds a region that is here.
 *  2. A region is here until it has been taken, once.
 *  3. A list without regions is freed. No reader knows it: who began before knows the blocks, which
 *     wait for him (rcu.h), and the list that they were taken from.
 *  4. Regions leave their table's list before this one is here, and a list leaves before it is
 *     freed, so that a child that is forked in between finds each once at most.
 *
 * Loop thread. The lists are of one allocator, that of the cache.
 */
#include "lib/cleared.h"

#include "lib/location.h"

struct kr_cleared_list {
  struct kr_cleared_list *next;
  struct kr_mem *mem;
  struct kr_skiplist *regions;
};

static size_t size_of(const struct kr_cleared_list *list)
{
  return kr_mem_taken(sizeof(*list)) + kr_skiplist_size(list->regions);
}

bool kr_cleared_add(struct kr_cleared *cleared, struct kr_mem *mem, struct kr_skiplist *regions,
                    struct kr_skiplist *into)
{
  struct kr_cleared_list *list = into != NULL ? kr_alloc(mem, sizeof(*list)) : NULL;

  if (list == NULL) {
    kr_skiplist_free(into);
    return false;
  }
  *list = (struct kr_cleared_list){cleared->first, mem, into};
  kr_skiplist_detach(regions, into);
  cleared->first = list;
  cleared->count += kr_skiplist_count(list->regions);
  cleared->size += size_of(list);
  return true;
}

void kr_cleared_free(struct kr_cleared *cleared, void (*free_region)(void *region))
{
  while (cleared->first != NULL) {
    struct kr_cleared_list *list = cleared->first;

    cleared->first = list->next;
    kr_skiplist_free_with(list->regions, free_region);
    kr_free(list->mem, list);
  }
  cleared->count = cleared->size = 0;
}

/* Take the first ones of a list out, at most max of those that can be had at one look. */
static size_t take_some(struct kr_skiplist *regions, size_t max,
                        void (*taken)(void *region, void *arg), void *arg)
{
  enum { SOME = 32 };
  void *some[SOME];
  size_t count = kr_skiplist_above(regions, some, NULL, max < SOME ? max : SOME);

  if (count == 1) {
    taken(kr_skiplist_take(regions, keyroute_location_start_key(some[0])), arg);
    return 1;
  }
  struct keyroute_bytes high = keyroute_location_start_key(some[count - 1]);

  return kr_skiplist_take_between(regions, NULL, &high, taken, arg);
}

size_t kr_cleared_take(struct kr_cleared *cleared, size_t max,
                       void (*taken)(void *region, void *arg), void *arg)
{
  size_t left = max;

  while (left > 0 && cleared->first != NULL) {
    struct kr_cleared_list *list = cleared->first;
    size_t before = size_of(list);
    size_t count = take_some(list->regions, left, taken, arg);

    left -= count;
    cleared->count -= count;
    cleared->size -= before;
    if (kr_skiplist_count(list->regions) > 0) {
      cleared->size += size_of(list);
    } else {
      cleared->first = list->next;
      kr_skiplist_free(list->regions);
      kr_free(list->mem, list);
    }
  }
  return max - left;
}
