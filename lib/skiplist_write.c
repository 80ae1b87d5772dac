/*
 * What the one writer of a skip list does with a value: put in, replace, take out.
 *
 * To replace a value and to take one out is one store to its slot. All else changes blocks:
 * rebuild.c. The rules that readers rely on stand in skiplist.c.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rebuild.h"

/* The slot of a key in the block where it belongs; NULL = it is not there. */
static _Atomic(void *) *find_slot(const struct kr_skiplist *list, const struct kr_path_step *step,
                                  struct keyroute_bytes key)
{
  for (size_t at = step->at; at-- > 0;) {
    const void *value = kr_block_slot(step->block, at);

    if (value != NULL) {
      return kr_bytes_equal(list->key_of(value), key) ? &kr_block_slots(step->block)[at] : NULL;
    }
  }
  return NULL;
}

static void *exchange(struct kr_skiplist *list, _Atomic(void *) *slot, void *value)
{
  void *old = atomic_load_explicit(slot, memory_order_relaxed); /* it was the writer's own store */

  kr_skiplist_changing(list);
  atomic_store_explicit(slot, value, memory_order_release); /* see kr_block_set_slot */
  return old;
}

static int put_first(struct kr_skiplist *list, void *value)
{
  struct kr_draft draft;
  struct kr_block_span all = {.ends = false};

  kr_draft_begin(&draft, list->key_of, 0);
  kr_draft_insert(&draft, 0, value);
  struct kr_block *block = kr_draft_make(&draft, list->mem, 0, 1, &all);

  if (block == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  list->size += kr_block_size(block);
  kr_skiplist_changing(list);
  kr_skiplist_set_top(list, block);
  return 0;
}

int kr_skiplist_put(struct kr_skiplist *list, void *value, void **replaced)
{
  struct keyroute_bytes key = list->key_of(value);
  struct kr_path path;
  int error;

  if (kr_skiplist_top(list) == NULL) {
    error = put_first(list, value);
  } else {
    kr_path_find(&path, list, key);
    _Atomic(void *) *slot = find_slot(list, &path.steps[0], key);

    if (slot != NULL) {
      *replaced = exchange(list, slot, value);
      return 0;
    }
    error = kr_rebuild_put(list, &path, value);
  }
  if (error == 0) {
    *replaced = NULL;
    kr_skiplist_set_count(list, kr_skiplist_count(list) + 1);
  }
  return error;
}

void *kr_skiplist_take(struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct kr_path path;

  if (kr_skiplist_top(list) == NULL) {
    return NULL;
  }
  kr_path_find(&path, list, key);
  _Atomic(void *) *slot = find_slot(list, &path.steps[0], key);

  if (slot == NULL) {
    return NULL;
  }
  void *value = exchange(list, slot, NULL);

  kr_skiplist_set_count(list, kr_skiplist_count(list) - 1);
  if (kr_skiplist_count(list) == 0) {
    kr_rebuild_clear(list);
  } else if (kr_block_live(path.steps[0].block) <= list->block_max / 4) {
    kr_rebuild_shrink(list, key);
  }
  return value;
}
