/*
 * What the one writer of a skip list does with many values at once.
 *
 *  1. A list is moved into another by two stores, one to the top of each, the other's last. In
 *     between its values are in neither.
 *  2. A reader that began before stands on blocks that are the other list's now. What it finds in
 *     one was true of either list; looking at several it counts the changes, of which the moving is
 *     one, and looks again.
 *
 * Writer only. The rules that readers rely on stand in skiplist.c.
 */
#include "lib/skiplist.h"

#include "lib/skiplist_state.h"

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
