/*
 * A block of a skip list: where among up to 32 sorted keys is this one?
 *
 *   | lengths | heads: 4 bytes a key | slots | ends | second heads | cut | fence | tails |
 *     32 bytes  64 or 128 bytes        8 each  above lane 0                      likewise
 *
 * The keys of lane 0 are in the values, elsewhere. Looking at one costs a miss of the machine's
 * caches, and mostly none is looked at: the heads tell. What makes them tell is that the bytes
 * which all keys here share are cut off first, else every head of "customer-000017" would be
 * "cust". The keys of the lanes above are the fences of the blocks below, of which a block keeps
 * its own copies, from the cut on: its tails.
 *
 *  1. A block is for the keys of a span, from its fence to the fence of the next block of its lane.
 *     Span, fence, heads, lengths and tails never change; a block is replaced as a whole.
 *  2. Slots change. In lane 0 a value may be replaced by another of the same key, or taken out,
 *     which leaves the slot empty for good; above, a block by another for the same span.
 *  3. Keys are in order, none twice. An empty slot has a head, but nobody knows its key any more.
 *  4. What the two ends of a span have in common all keys of it have: skip_len bytes, at which a
 *     search need not look. What the keys in the block have in common beyond that, up to cut_len,
 *     another key of the span need not share: it is kept and compared.
 *  5. Above lane 0 no key of the span is below the first slot, whose fence is the block's own: it
 *     is left out of what is shared, and its head is the lowest. (The lowest fence of all is empty
 *     and shares nothing with others.)
 *  6. Fences and tails are the block's own bytes: no key is looked at whose value may be gone.
 *  7. Above lane 0 heads are often equal: "42/f" of all folders of a tenant. So slots have second
 *     heads, unless no tail goes beyond its head: the next four bytes behind what all slots of that
 *     head share beyond it, or, if it is one slot, the last four of its tail. Keys that share as
 *     much with such slots are in the order of second heads. (Without them tails are searched, by
 *     branches that nobody foresees. In lane 0 they would take room for each value: there the
 *     one key whose head is equal is compared.)
 *
 * Threads: searched by any thread inside a read section, slots set by the one writer.
 */
#include "lib/block.h"

#include "lib/mem.h"

struct keyroute_bytes kr_block_fence(const struct kr_block *block)
{
  return kr_bytes(kr_block_bytes(block) + (block->cut_len - block->skip_len), block->fence_len);
}

static struct keyroute_bytes tail_at(const struct kr_block *block, size_t at)
{
  const struct kr_tail *tail = kr_block_tails(block) + at;

  return kr_bytes(kr_block_bytes(block) + tail->begin, tail[1].begin - tail->begin);
}

/* Does a key that does not begin as all those of this block do come before them? */
static bool is_above(const struct kr_block *block, struct keyroute_bytes key)
{
  struct keyroute_bytes cut = kr_bytes(kr_block_bytes(block), block->cut_len - block->skip_len);

  return kr_bytes_below(kr_bytes_from(key, block->skip_len), cut);
}

/* Is `of_slot` above the key, or with inclusive false at it? */
static bool is_behind(struct keyroute_bytes of_slot, struct keyroute_bytes key, bool inclusive)
{
  return inclusive ? kr_bytes_below(key, of_slot) : !kr_bytes_below(of_slot, key);
}

/* Above lane 0: the gap among the slots from low to before high, whose heads equal that of the key,
 * by tails, none of which is missing. */
static size_t settle_tails(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                           size_t low, size_t high)
{
  struct keyroute_bytes tail = kr_bytes_from(key, block->cut_len);

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (is_behind(tail_at(block, middle), tail, inclusive)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

/* In lane 0: the same by the values' keys. An empty slot says nothing: the one before it is asked
 * in its stead. */
static size_t settle_values(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                            kr_key_of *key_of, size_t low, size_t high)
{
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    size_t at = middle;
    const void *value = kr_block_slot(block, at);

    while (value == NULL && at > low) {
      value = kr_block_slot(block, --at);
    }
    if (value != NULL && is_behind(key_of(value), key, inclusive)) {
      high = at;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

size_t kr_block_settle(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                       kr_key_of *key_of, size_t tied)
{
  if (block->lane > 0) {
    return settle_tails(block, key, inclusive, kr_block_tails(block)[tied - 1].first, tied);
  }
  int32_t head = block->heads[tied - 1];
  size_t low = head > INT32_MIN ? kr_heads_not_above(block->heads, block->count, head - 1) : 0;

  return settle_values(block, key, inclusive, key_of, low, tied);
}

size_t kr_block_gap(const struct kr_block *block, struct keyroute_bytes key, bool inclusive,
                    kr_key_of *key_of)
{
  size_t least = block->lane > 0 ? 1 : 0; /* invariant 5 */
  size_t tied, gap = kr_block_gap_by_heads(block, key, &tied);

  if (tied > least) {
    return kr_block_settle(block, key, inclusive, key_of, tied);
  }
  if (gap > 0 || tied > 0) {
    return gap + tied;
  }
  return kr_block_begins(block, key) || is_above(block, key) ? least : block->count;
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
  const uint8_t *end = kr_block_bytes(block);

  if (block->lane > 0) {
    end += kr_block_tails(block)[block->count].begin;
  } else {
    end += block->cut_len - block->skip_len + block->fence_len;
  }
  return kr_mem_taken(kr_block_room((size_t)(end - (const uint8_t *)block)));
}

static void free_block(struct kr_rcu_link *link)
{
  struct kr_block *block = (struct kr_block *)((char *)link - offsetof(struct kr_block, later));
  struct kr_mem *mem = block->mem;

  kr_free(mem, block);
  kr_mem_release(mem);
}

void kr_block_free_later(struct kr_block *block, struct kr_mem *mem)
{
  static struct kr_rcu_queue gone = {.free = free_block};

  block->mem = kr_mem_ref(mem);
  kr_rcu_enqueue(&gone, &block->later);
}
