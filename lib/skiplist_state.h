#ifndef KR_SKIPLIST_STATE_H
#define KR_SKIPLIST_STATE_H

#include "lib/draft.h"
#include "lib/mem.h"

/* A block is halved before it gets a neighbour, so that lanes are at least 2 to 1 of each other in
 * what was put in: enough for all that fits into a machine. */
enum { KR_LANES_MAX = 24 };

/* What the files of the skip list share. */
struct kr_skiplist {
  struct kr_mem *mem; /* counted */
  kr_key_of *key_of;
  _Atomic(struct kr_block *) top; /* the one block of the highest lane; NULL = the list is empty */
  atomic_size_t changes;          /* begun, each of them one store */
  atomic_size_t count;
  size_t block_max; /* writer's */
  size_t size;      /* writer's */
};

/* Acquire and release as those of a slot, which this is. */
static inline struct kr_block *kr_skiplist_top(const struct kr_skiplist *list)
{
  return atomic_load_explicit(&list->top, memory_order_acquire);
}

/* Writer: a change of what readers see begins; one store follows. Release: who finds it counted
 * sees all changes before it. */
static inline void kr_skiplist_changing(struct kr_skiplist *list)
{
  size_t changes = atomic_load_explicit(&list->changes, memory_order_relaxed);

  atomic_store_explicit(&list->changes, changes + 1, memory_order_release);
}

/* Writer: the one store to top, as kr_block_set_slot is to a slot. */
static inline void kr_skiplist_set_top(struct kr_skiplist *list, struct kr_block *top)
{
  atomic_store_explicit(&list->top, top, memory_order_release);
}

/* Writer. Relaxed: readers get a figure, nothing is derived from it. */
static inline void kr_skiplist_set_count(struct kr_skiplist *list, size_t count)
{
  atomic_store_explicit(&list->count, count, memory_order_relaxed);
}

#endif
