/*
 * What the one writer of a skip list does with many values at once.
 *
 *  1. A list is moved into another by two stores, one to the top of each, the other's last. In
 *     between its values are in neither.
 *  2. A reader that began before stands on blocks that are the other list's now. What it finds in
 *     one was true of either list; looking at several it counts the changes, of which the moving is
 *     one, and looks again.
 *  3. Values that lie side by side come in at once (load.c).
 *  4. What is between two keys leaves value by value (stretch.c); the blocks follow at once.
 *
 * Writer only. The rules that readers rely on stand in skiplist.c.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/load.h"
#include "lib/rebuild.h"
#include "lib/stretch.h"

#include <assert.h>

void kr_skiplist_detach(struct kr_skiplist *list, struct kr_skiplist *into)
{
  struct kr_block *top = kr_skiplist_top(list);
  size_t moved = list->size - kr_skiplist_empty_size();

  assert(kr_skiplist_top(into) == NULL && into->key_of == list->key_of && into->mem == list->mem);
  assert(into->block_max == list->block_max);
  kr_skiplist_changing(list);
  kr_skiplist_set_top(list, NULL);
  kr_skiplist_changing(into);
  kr_skiplist_set_top(into, top);
  list->size -= moved;
  into->size += moved;
  kr_skiplist_set_count(into, kr_skiplist_count(list));
  kr_skiplist_set_count(list, 0);
}

int kr_skiplist_put_many(struct kr_skiplist *list, void *const *values, size_t count)
{
  struct keyroute_bytes first, low, high;
  struct kr_stretch stretch;
  int error;

  if (count == 0) {
    return 0;
  }
  first = list->key_of(values[0]);
  const void *before = kr_skiplist_floor(list, first), *behind = kr_skiplist_higher(list, first);

  if (before != NULL) {
    low = list->key_of(before);
    assert(kr_bytes_compare(low, first) < 0);
  }
  if (behind != NULL) {
    high = list->key_of(behind);
    assert(kr_bytes_compare(list->key_of(values[count - 1]), high) < 0);
  }
  kr_stretch_find(&stretch, list, before != NULL ? &low : NULL, behind != NULL ? &high : NULL);
  error = kr_load(list, &stretch, values, count);
  if (error == 0) {
    kr_skiplist_set_count(list, kr_skiplist_count(list) + count);
  }
  return error;
}

size_t kr_skiplist_take_between(struct kr_skiplist *list, const struct keyroute_bytes *low,
                                const struct keyroute_bytes *high,
                                void (*taken)(void *value, void *arg), void *arg)
{
  struct kr_stretch stretch;

  if (kr_skiplist_top(list) == NULL ||
      (low != NULL && high != NULL && kr_bytes_compare(*low, *high) >= 0)) {
    return 0;
  }
  kr_stretch_find(&stretch, list, low, high);
  size_t count = kr_stretch_empty(list, &stretch, taken, arg);

  kr_skiplist_set_count(list, kr_skiplist_count(list) - count);
  if (kr_skiplist_count(list) == 0) {
    kr_rebuild_clear(list);
  } else if (count > 0) {
    if (stretch.meet > 0) {
      kr_load(list, &stretch, NULL, 0); /* if memory is short its blocks stay, empty */
    }
    kr_rebuild_shrink(list, low != NULL ? *low : kr_bytes(NULL, 0));
  }
  return count;
}
