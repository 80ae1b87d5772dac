/*
 * A block of a skip list: where among up to 32 sorted keys is this one?
 *
 *   | count, lengths | heads: 4 bytes of each key | slots: pointers | bytes cut | fence |
 *     16 bytes         64 or 128 bytes              8 bytes each
 *
 * The keys themselves are elsewhere: in the values for lane 0, in the blocks of the lane below for
 * the others. Looking at one costs a miss of the machine's caches, and mostly none is looked at:
 * the heads tell. What makes them tell is that the bytes which all keys here share are cut off
 * first, else every head of "customer-000017" would be "cust".
 *
 *  1. A block is for the keys of a span, from its fence to the fence of the next block of its lane.
 *     Span, fence, heads and lengths never change; a block is replaced as a whole.
 *  2. Slots change. In lane 0 a value may be replaced by another of the same key, or taken out,
 *     which leaves the slot empty for good; above, a block by another for the same span.
 *  3. Keys are in order, none twice. An empty slot has a head, but nobody knows its key any more.
 *  4. What the two ends of a span have in common all keys of it have: skip_len bytes, at which a
 *     search need not look. What the keys in the block have in common beyond that, up to cut_len,
 *     another key of the span need not share: it is kept and compared.
 *  5. Fences are the block's own bytes: no key is looked at whose value may be gone.
 *
 * Threads: searched by any thread inside a read section, slots set by the one writer.
 */
#include "lib/block.h"

#include "lib/mem.h"

static uint8_t *bytes_of(const struct kr_block *block)
{
  return (uint8_t *)(kr_block_slots(block) + block->count);
}

struct keyroute_bytes kr_block_fence(const struct kr_block *block)
{
  return kr_bytes(bytes_of(block) + (block->cut_len - block->skip_len), block->fence_len);
}

/* Does the key come before, or after, all keys that begin as those of this block do? 0 = it begins
 * so itself. */
static int compare_cut(const struct kr_block *block, struct keyroute_bytes key)
{
  size_t cut_len = block->cut_len - block->skip_len;
  size_t len = key.len - block->skip_len;
  int order = len > 0 ? memcmp((const uint8_t *)key.data + block->skip_len, bytes_of(block),
                               len < cut_len ? len : cut_len)
                      : 0;

  return order == 0 && len < cut_len ? -1 : order;
}

static struct keyroute_bytes key_in(const struct kr_block *block, const void *slot,
                                    kr_key_of *key_of)
{
  return block->lane == 0 ? key_of(slot) : kr_block_fence(slot);
}

/* The gap among the slots whose heads equal that of the key, of which `high` is the number of the
 * last plus one. An empty slot says nothing: the one before it is asked in its stead. */
static size_t settle(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                     kr_key_of *key_of, size_t high)
{
  size_t low = high;

  while (low > 0 && block->heads[low - 1] == block->heads[high - 1]) {
    low--;
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    size_t at = middle;
    const void *slot = kr_block_slot(block, at);

    while (slot == NULL && at > low) {
      slot = kr_block_slot(block, --at);
    }
    if (slot != NULL && kr_bytes_compare(key_in(block, slot, key_of), key) >= (inclusive ? 1 : 0)) {
      high = at;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

size_t kr_block_gap(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                    kr_key_of *key_of)
{
  if (block->cut_len > block->skip_len) {
    int order = compare_cut(block, key);

    if (order != 0) {
      return order < 0 ? 0 : block->count;
    }
  }
  int32_t head = kr_head_of(key, block->cut_len);
  size_t gap = kr_heads_not_above(block->heads, block->count, head);

  return gap > 0 && block->heads[gap - 1] == head ? settle(block, key, inclusive, key_of, gap)
                                                  : gap;
}

size_t kr_block_live(const struct kr_block *block)
{
  size_t live = 0;

  for (size_t i = 0; i < block->count; i++) {
    live += kr_block_slot(block, i) != NULL;
  }
  return live;
}

size_t kr_block_size(const struct kr_block *block)
{
  const uint8_t *end = bytes_of(block) + (block->cut_len - block->skip_len) + block->fence_len;

  return kr_mem_taken((size_t)(end - (const uint8_t *)block));
}

static void free_block(struct kr_rcu_head *head)
{
  struct kr_block *block = (struct kr_block *)((char *)head - offsetof(struct kr_block, rcu));
  struct kr_mem *mem = block->mem;

  kr_free(mem, block);
  kr_mem_release(mem);
}

void kr_block_free_later(struct kr_block *block, struct kr_mem *mem)
{
  block->mem = kr_mem_ref(mem);
  kr_rcu_defer(&block->rcu, free_block);
}
