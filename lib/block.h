#ifndef KR_BLOCK_H
#define KR_BLOCK_H

#include "lib/heads.h"
#include "lib/rcu.h"

#include <stdatomic.h>

/* A block: a piece of one lane of a skip list, sorted. In lane 0 its slots are values, above they
 * are the blocks of the lane below. */
struct kr_block {
  struct kr_rcu_link later; /* used once replaced */
  struct kr_mem *mem;       /* counted, set once replaced: the list may be gone before the block */
  uint8_t count;            /* of slots, those of values taken out included */
  uint8_t lane;
  uint16_t bytes_at; /* where the bytes begin, in the block */
  uint32_t fence_len;
  uint32_t skip_len; /* bytes in front that all keys of the block's span share */
  uint32_t cut_len;  /* bytes in front that all keys in the block share; heads are behind them */
  int32_t heads[];   /* behind them the slots and more (block.c) */
};

/* The key that is in a value. */
typedef struct keyroute_bytes kr_key_of(const void *value);

/* What keys a block is for. */
struct kr_block_span {
  struct keyroute_bytes low; /* inclusive: the block's fence */
  struct keyroute_bytes high;
  bool ends; /* high is set, exclusive */
};

static inline _Atomic(void *) *kr_block_slots(const struct kr_block *block)
{
  return (_Atomic(void *) *)(uintptr_t)(block->heads + kr_heads_room(block->count));
}

/* Acquire: with the pointer, the reader sees what it leads to as it was when it was set. */
static inline void *kr_block_slot(const struct kr_block *block, size_t at)
{
  return atomic_load_explicit(&kr_block_slots(block)[at], memory_order_acquire);
}

/* Release: all that was done before is seen by who finds the pointer. */
static inline void kr_block_set_slot(struct kr_block *block, size_t at, void *slot)
{
  atomic_store_explicit(&kr_block_slots(block)[at], slot, memory_order_release);
}

/* Ask the machine for a block that will be searched, all its lines at once. (Always inlined, as
 * is all that prefetches: the compiler takes such a function for one without effect, and may leave
 * out calls of it.) */
KR_ALWAYS_INLINE void kr_block_prefetch(const struct kr_block *block)
{
  const char *line = (const char *)block->heads - 16;

  for (int i = 0; i < 6; i++) {
    __builtin_prefetch(line + (ptrdiff_t)64 * i);
  }
}

/* Above lane 0: more of a slot's key. */
struct kr_tail {
  uint32_t begin;  /* of the tail, in the bytes; it ends where the next begins */
  uint16_t shared; /* bytes between the slot's head and its second head */
  uint8_t first;   /* the first slot whose head is equal; that of slot 0 is 0, and no other's */
  bool has_second; /* the same for all slots of a block */
};

/* Above lane 0 they are behind the slots, one more than there are of those: its begin is the last
 * tail's end. */
static inline struct kr_tail *kr_block_tails(const struct kr_block *block)
{
  return (struct kr_tail *)(uintptr_t)(kr_block_slots(block) + block->count);
}

/* Behind them, where there are any: with room for a search from each of them. */
static inline int32_t *kr_block_seconds(const struct kr_block *block)
{
  return (int32_t *)(void *)(kr_block_tails(block) + block->count + 1);
}

static inline size_t kr_block_seconds_room(size_t count)
{
  return count + KR_HEADS_GROUP;
}

/* Behind all that. */
static inline uint8_t *kr_block_bytes(const struct kr_block *block)
{
  return (uint8_t *)(uintptr_t)block + block->bytes_at;
}

/* The lowest key that a block is for. */
struct keyroute_bytes kr_block_fence(const struct kr_block *block);

/* How many slots are below a key of the block's span, with inclusive also one at it: the gap in
 * which the key is. Slots that are empty may be on either side. Above lane 0 at least 1. */
size_t kr_block_gap(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                    kr_key_of *key_of);

/* Does the key begin as all keys of this block do? */
KR_ALWAYS_INLINE bool kr_block_begins(const struct kr_block *block, struct keyroute_bytes key)
{
  return key.len >= block->cut_len &&
         kr_bytes_same(kr_bytes_from(key, block->skip_len).data, kr_block_bytes(block),
                       block->cut_len - block->skip_len);
}

/* kr_block_gap with inclusive, by the heads alone and without a call. 0 = they do not tell, and if
 * that is so because they are equal, *tied is what the next three go on with; else it is 0. */
KR_ALWAYS_INLINE size_t kr_block_gap_by_heads(const struct kr_block *block,
                                              struct keyroute_bytes key, size_t *tied)
{
  *tied = 0;
  if (block->cut_len > block->skip_len && !kr_block_begins(block, key)) {
    return 0;
  }
  int32_t head = kr_head_of(key, block->cut_len);
  size_t gap = kr_heads_not_above(block->heads, block->count, head);

  if (gap > 0 && block->heads[gap - 1] == head) {
    *tied = gap;
    return 0;
  }
  return gap;
}

/* The same above lane 0, where the head before `tied` equals that of the key: by second heads. 0 =
 * they do not tell either. */
KR_ALWAYS_INLINE size_t kr_block_gap_by_seconds(const struct kr_block *block,
                                                struct keyroute_bytes key, size_t tied)
{
  const struct kr_tail *tail = kr_block_tails(block) + tied - 1;
  const int32_t *seconds = kr_block_seconds(block);
  size_t first = tail->first, shared = tail->shared, at = block->cut_len + KR_HEAD_LEN;

  if (!tail->has_second || key.len < at + shared ||
      !kr_bytes_same(kr_bytes_from(key, at).data, kr_block_bytes(block) + tail->begin + KR_HEAD_LEN,
                     shared)) {
    return 0;
  }
  int32_t second = kr_head_of(key, at + shared);
  size_t gap = first + kr_heads_not_above(seconds + first, tied - first, second);

  if (seconds[gap - 1] != second) {
    return gap;
  }
  /* A key that has all there is of the slot's is not below it. (Where the slot is none of those of
   * equal heads, the gap is right in any case.) */
  tail = kr_block_tails(block) + gap - 1;
  size_t len = block->cut_len + tail[1].begin - tail->begin;

  return len <= at + shared + KR_HEAD_LEN && len <= key.len ? gap : 0;
}

/* In lane 0: is a key below that of a slot whose head equals its own? What they are known to share
 * is not compared again. */
KR_ALWAYS_INLINE bool kr_block_below_tied(const struct kr_block *block, struct keyroute_bytes key,
                                          struct keyroute_bytes of_slot)
{
  size_t same = block->cut_len + KR_HEAD_LEN;

  same = key.len < same ? key.len : same;
  same = of_slot.len < same ? of_slot.len : same;
  return kr_bytes_below(kr_bytes_from(key, same), kr_bytes_from(of_slot, same));
}

/* The gap, where the head before `tied` equals that of the key, and the one behind is above it. */
size_t kr_block_settle(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                       kr_key_of *key_of, size_t tied);

/* Slots that are not empty. Writer. */
size_t kr_block_live(const struct kr_block *block);

size_t kr_block_size(const struct kr_block *block); /* memory it takes, the allocator's included */

/* What is asked of the allocator for a block of so many bytes. Blocks are replaced all the time,
 * and what they leave is cut up for values as well. Locations of a replica and 16-byte keys take 96
 * bytes with glibc's share: nothing is left over then. Measured with a million in random order:
 * 118 bytes of resident memory each, 125 without. */
static inline size_t kr_block_room(size_t len)
{
  enum { UNIT = 96, HEADER = 8 };

  return (len + HEADER + UNIT - 1) / UNIT * UNIT - HEADER;
}

/* Free a block once the readers of this moment are gone; what it leads to is not touched. */
void kr_block_free_later(struct kr_block *block, struct kr_mem *mem);

#endif
