/*
 * Making a block: which slots go in, and what do their keys share?
 *
 * The writer never changes what a block is but makes another one. A draft is what it makes them of:
 * the slots of the old one or two, in order, and what comes or goes.
 *
 *  1. Empty slots are left behind: a block that was just made has none.
 *  2. In lane 0 heads are taken over as long as they stand behind the same bytes, so that making a
 *     block looks at the first key, the last and the new one, not at all of them.
 *  3. In lane 0 a fence is cut behind the first byte in which it differs from the key before it:
 *     the shorter fences are, the fewer ties in the lanes above.
 *  4. Two blocks meet in the middle, or in the quarter around it where a fence is shorter by a head
 *     or more: there one tenant ends and the next begins. Within a block whose keys share more the
 *     heads tell more.
 *
 * Writer only.
 */
#include "lib/draft.h"

#include "lib/mem.h"

#include <assert.h>

static struct keyroute_bytes key_at(const struct kr_draft *draft, size_t at)
{
  return draft->lane == 0 ? draft->key_of(draft->slots[at]) : kr_block_fence(draft->slots[at]);
}

static size_t shared_len(struct keyroute_bytes a, struct keyroute_bytes b)
{
  const uint8_t *left = a.data, *right = b.data;
  size_t shorter = a.len < b.len ? a.len : b.len;
  size_t len = 0;

  while (len < shorter && left[len] == right[len]) {
    len++;
  }
  return len;
}

void kr_draft_begin(struct kr_draft *draft, kr_key_of *key_of, size_t lane)
{
  draft->key_of = key_of;
  draft->lane = (uint8_t)lane;
  draft->count = 0;
  draft->cut_len = SIZE_MAX;
}

void kr_draft_append(struct kr_draft *draft, const struct kr_block *block, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++) {
    void *slot = kr_block_slot(block, i);

    if (slot != NULL) {
      draft->slots[draft->count] = slot;
      draft->heads[draft->count++] = block->heads[i];
    }
  }
  if (block->cut_len != draft->cut_len) {
    draft->cut_len = SIZE_MAX;
  }
}

void kr_draft_read_part(struct kr_draft *draft, kr_key_of *key_of, const struct kr_block *block,
                        size_t from, size_t to)
{
  kr_draft_begin(draft, key_of, block->lane);
  draft->cut_len = block->cut_len;
  kr_draft_append(draft, block, from, to);
}

void kr_draft_read(struct kr_draft *draft, kr_key_of *key_of, const struct kr_block *block)
{
  kr_draft_read_part(draft, key_of, block, 0, block->count);
}

void kr_draft_insert(struct kr_draft *draft, size_t at, void *slot)
{
  assert(at <= draft->count && draft->count < 2 * (size_t)KR_BLOCK_MAX);
  memmove(&draft->slots[at + 1], &draft->slots[at], (draft->count - at) * sizeof(void *));
  memmove(&draft->heads[at + 1], &draft->heads[at], (draft->count - at) * sizeof(int32_t));
  draft->slots[at] = slot;
  draft->count++;
  if (draft->cut_len != SIZE_MAX) {
    draft->heads[at] = kr_head_of(key_at(draft, at), draft->cut_len);
  }
}

/* Take so many out from one on. */
static void take_out(struct kr_draft *draft, size_t at, size_t count)
{
  draft->count -= count;
  memmove(&draft->slots[at], &draft->slots[at + count], (draft->count - at) * sizeof(void *));
  memmove(&draft->heads[at], &draft->heads[at + count], (draft->count - at) * sizeof(int32_t));
}

void kr_draft_remove(struct kr_draft *draft, size_t at)
{
  take_out(draft, at, 1);
}

void kr_draft_drop(struct kr_draft *draft, size_t count)
{
  take_out(draft, 0, count);
}

struct keyroute_bytes kr_draft_fence(const struct kr_draft *draft, size_t at)
{
  struct keyroute_bytes key = key_at(draft, at);

  if (draft->lane > 0) {
    return key;
  }
  return kr_bytes(key.data, shared_len(key_at(draft, at - 1), key) + 1);
}

size_t kr_draft_middle(const struct kr_draft *draft, size_t max)
{
  size_t middle = draft->count / 2, best = middle;
  size_t shortest = kr_draft_fence(draft, middle).len;

  for (size_t at = draft->count * 3 / 8; at <= draft->count * 5 / 8; at++) {
    if (at > max || draft->count - at > max) {
      continue;
    }
    size_t len = at > 0 ? kr_draft_fence(draft, at).len : SIZE_MAX;

    if (len + sizeof(draft->heads[0]) <= shortest) {
      best = at;
      shortest = len;
    }
  }
  return best;
}

/* What a block will be. */
struct shape {
  size_t from, count; /* slots of the draft */
  size_t skip_len, cut_len;
  bool has_seconds;
};

/* The first key that heads and tails are about (block.c, invariant 5). */
static size_t first_key(const struct kr_draft *draft, const struct shape *shape)
{
  return shape->from + (draft->lane > 0 ? 1 : 0);
}

/* A single key shares all it has with itself, which would be kept for nothing. */
static size_t find_cut(const struct kr_draft *draft, const struct shape *shape)
{
  size_t first = first_key(draft, shape), end = shape->from + shape->count;
  size_t len = first + 1 < end ? shared_len(key_at(draft, first), key_at(draft, end - 1)) : 0;

  return len > shape->skip_len ? len : shape->skip_len;
}

/* What follows the cut in a key above lane 0. */
static struct keyroute_bytes tail_of(const struct kr_draft *draft, const struct shape *shape,
                                     size_t at)
{
  struct keyroute_bytes key = key_at(draft, at);

  return at < first_key(draft, shape) ? kr_bytes(NULL, 0) : kr_bytes_from(key, shape->cut_len);
}

/* Is there anything behind the heads? */
static bool has_seconds(const struct kr_draft *draft, const struct shape *shape)
{
  for (size_t i = 0; draft->lane > 0 && i < shape->count; i++) {
    if (tail_of(draft, shape, shape->from + i).len > KR_HEAD_LEN) {
      return true;
    }
  }
  return false;
}

/* Where a block's bytes begin. */
static size_t bytes_at(const struct kr_draft *draft, const struct shape *shape)
{
  size_t at = sizeof(struct kr_block) + kr_heads_room(shape->count) * sizeof(int32_t) +
              shape->count * sizeof(void *);

  if (draft->lane > 0) {
    at += (shape->count + 1) * sizeof(struct kr_tail);
  }
  return shape->has_seconds ? at + kr_block_seconds_room(shape->count) * sizeof(int32_t) : at;
}

static size_t size_of(const struct kr_draft *draft, const struct shape *shape, size_t fence_len)
{
  size_t size = bytes_at(draft, shape) + (shape->cut_len - shape->skip_len) + fence_len;

  for (size_t i = 0; draft->lane > 0 && i < shape->count; i++) {
    size += tail_of(draft, shape, shape->from + i).len;
  }
  return kr_block_room(size);
}

static void fill_heads(struct kr_block *block, const struct kr_draft *draft, size_t from)
{
  bool known = draft->lane == 0 && draft->cut_len == block->cut_len;

  for (size_t i = 0; i < kr_heads_room(block->count); i++) {
    if (i >= block->count) {
      block->heads[i] = KR_HEADS_PAD;
    } else {
      block->heads[i] =
          known ? draft->heads[from + i] : kr_head_of(key_at(draft, from + i), block->cut_len);
    }
  }
  if (draft->lane > 0) {
    block->heads[0] = INT32_MIN;
  }
}

/* How many bytes are between the heads and the second heads of slots, from one to before another,
 * whose heads are equal (block.c, invariant 7). */
static size_t shared_behind(const struct kr_draft *draft, const struct shape *shape, size_t from,
                            size_t to)
{
  size_t len = shared_len(tail_of(draft, shape, from), tail_of(draft, shape, to - 1));
  size_t heads = to - from > 1 ? KR_HEAD_LEN : 2 * KR_HEAD_LEN;
  size_t behind = len > heads ? len - heads : 0;

  return behind < UINT16_MAX ? behind : UINT16_MAX;
}

/* The slots from one to before another, whose heads are equal. */
static void fill_equal(struct kr_block *block, const struct kr_draft *draft,
                       const struct shape *shape, size_t from, size_t to)
{
  size_t shared = shared_behind(draft, shape, shape->from + from, shape->from + to);

  for (size_t i = from; i < to; i++) {
    struct kr_tail *tail = &kr_block_tails(block)[i];

    tail->first = (uint8_t)from;
    tail->shared = (uint16_t)shared;
    tail->has_second = shape->has_seconds;
    if (tail->has_second) {
      kr_block_seconds(block)[i] =
          kr_head_of(tail_of(draft, shape, shape->from + i), KR_HEAD_LEN + shared);
    }
  }
}

static void fill_seconds(struct kr_block *block, const struct kr_draft *draft,
                         const struct shape *shape)
{
  fill_equal(block, draft, shape, 0, 1);
  for (size_t from = 1, to; from < block->count; from = to) {
    for (to = from + 1; to < block->count && block->heads[to] == block->heads[from];) {
      to++;
    }
    fill_equal(block, draft, shape, from, to);
  }
  for (size_t i = block->count; shape->has_seconds && i < kr_block_seconds_room(block->count);
       i++) {
    kr_block_seconds(block)[i] = KR_HEADS_PAD;
  }
}

static void fill_tails(struct kr_block *block, const struct kr_draft *draft,
                       const struct shape *shape, uint8_t *to)
{
  struct kr_tail *tails = kr_block_tails(block);

  for (size_t i = 0; i <= shape->count; i++) {
    tails[i].begin = (uint32_t)(to - kr_block_bytes(block));
    if (i < shape->count) {
      kr_bytes_put(&to, tail_of(draft, shape, shape->from + i));
    }
  }
}

static void fill_bytes(struct kr_block *block, const struct kr_draft *draft,
                       const struct shape *shape, struct keyroute_bytes fence)
{
  uint8_t *to = kr_block_bytes(block);

  if (shape->cut_len > shape->skip_len) {
    struct keyroute_bytes key = key_at(draft, first_key(draft, shape));

    key.len = shape->cut_len;
    kr_bytes_put(&to, kr_bytes_from(key, shape->skip_len));
  }
  kr_bytes_put(&to, fence);
  if (draft->lane > 0) {
    fill_tails(block, draft, shape, to);
  }
}

struct kr_block *kr_draft_make(const struct kr_draft *draft, struct kr_mem *mem, size_t from,
                               size_t to, const struct kr_block_span *span)
{
  struct shape shape = {.from = from, .count = to - from};

  assert(shape.count <= KR_BLOCK_MAX);
  shape.skip_len = span->ends ? shared_len(span->low, span->high) : 0;
  shape.cut_len = find_cut(draft, &shape);
  shape.has_seconds = has_seconds(draft, &shape);

  struct kr_block *block = kr_alloc(mem, size_of(draft, &shape, span->low.len));

  if (block == NULL) {
    return NULL;
  }
  block->count = (uint8_t)shape.count;
  block->lane = draft->lane;
  block->bytes_at = (uint16_t)bytes_at(draft, &shape);
  block->fence_len = (uint32_t)span->low.len;
  block->skip_len = (uint32_t)shape.skip_len;
  block->cut_len = (uint32_t)shape.cut_len;
  fill_heads(block, draft, from);
  for (size_t i = 0; i < shape.count; i++) {
    atomic_init(&kr_block_slots(block)[i], draft->slots[from + i]);
  }
  if (block->lane > 0) {
    fill_seconds(block, draft, &shape);
  }
  fill_bytes(block, draft, &shape, span->low);
  return block;
}
