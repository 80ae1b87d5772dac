#ifndef KR_SKIPLIST_FLOOR_H
#define KR_SKIPLIST_FLOOR_H

#include "lib/skiplist_state.h"

/*
 * kr_skiplist_floor without a call, for the one place where every hit comes along (cache_find.c).
 *
 * Down the lanes by the heads of the keys alone, which mostly tell; where they are equal, by what
 * tells ties apart, and where that does not help either, skiplist.c goes on from the block that was
 * come to. The first part calls nothing, so whoever has it inlined saves no registers for it; the
 * second would have it save some, and belongs where those hits alone come along.
 */

/* How far down a search has come: at the top, or where what was looked at does not tell. */
struct kr_descent {
  const struct kr_block *block; /* NULL = the list is empty */
  size_t tied;                  /* see kr_block_gap_by_heads */
};

static inline struct kr_descent kr_descent_begin(const struct kr_skiplist *list)
{
  return (struct kr_descent){.block = kr_skiplist_top(list)};
}

/* Floor, from where the two below did not tell. */
void *kr_skiplist_floor_from(const struct kr_skiplist *list, struct keyroute_bytes key,
                             struct kr_descent at);

/* Ask the machine for what a reader will want of a value (NULL is accepted): its lines come side by
 * side, not one when the one before has told where it is. */
KR_ALWAYS_INLINE void kr_skiplist_prefetch(const void *value)
{
  for (int i = 0; value != NULL && i < 2; i++) {
    __builtin_prefetch((const char *)value + (ptrdiff_t)64 * i);
  }
}

/* The same where its key will be compared, which may stand behind that. */
KR_ALWAYS_INLINE void kr_skiplist_prefetch_key(const void *value)
{
  kr_skiplist_prefetch(value);
  if (value != NULL) {
    __builtin_prefetch((const char *)value + 128);
  }
}

/* Go on from *at by heads; NULL = they do not tell, and *at is how far down that was. */
KR_ALWAYS_INLINE void *kr_skiplist_floor_by_heads(struct kr_descent *at, struct keyroute_bytes key)
{
  const struct kr_block *block = at->block;
  size_t gap = 0, tied = 0;
  void *value = NULL;

  while (block != NULL) {
    gap = kr_block_gap_by_heads(block, key, &tied);
    if (gap == 0 || block->lane == 0) {
      break;
    }
    block = kr_block_slot(block, gap - 1);
    kr_block_prefetch(block);
  }
  *at = (struct kr_descent){block, tied};
  if (gap > 0) {
    value = kr_block_slot(block, gap - 1);
    kr_skiplist_prefetch(value);
  }
  return value;
}

/* Go on where they are equal: above lane 0 by second heads. In lane 0 the last such value is mostly
 * the one, and whoever knows whose keys they are need not call key_of, which is the list's. */
KR_ALWAYS_INLINE void *kr_skiplist_floor_by_ties(struct kr_descent *at, struct keyroute_bytes key,
                                                 kr_key_of *key_of)
{
  void *value = NULL;

  while (value == NULL && at->tied > 0) {
    if (at->block->lane == 0) {
      value = kr_block_slot(at->block, at->tied - 1);
      kr_skiplist_prefetch_key(value);
      return value != NULL && !kr_block_below_tied(at->block, key, key_of(value)) ? value : NULL;
    }
    size_t gap = kr_block_gap_by_seconds(at->block, key, at->tied);

    if (gap == 0) {
      return NULL;
    }
    *at = (struct kr_descent){.block = kr_block_slot(at->block, gap - 1)};
    kr_block_prefetch(at->block);
    value = kr_skiplist_floor_by_heads(at, key);
  }
  return value;
}

#endif
