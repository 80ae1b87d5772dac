/*
 * Making a block: which slots go in, and what do their keys share?
 *
 * The writer never changes what a block is but makes another one. A draft is what it makes them of:
 * the slots of the old one or two, in order, and what comes or goes.
 *
 *  1. Empty slots are left behind: a block that was just made has none.
 *  2. Heads are taken over as long as they stand behind the same bytes, so that making a block
 *     looks at the first key, the last and the new one, not at all of them.
 *  3. In lane 0 a fence is cut behind the first byte in which it differs from the key before it:
 *     the shorter fences are, the fewer ties in the lanes above, and the more two of them share.
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

void kr_draft_begin(struct kr_draft *draft, kr_key_of *key_of, uint8_t lane, void *first)
{
  draft->key_of = key_of;
  draft->lane = lane;
  draft->count = 1;
  draft->cut_len = SIZE_MAX;
  draft->slots[0] = first;
}

void kr_draft_append(struct kr_draft *draft, const struct kr_block *block)
{
  for (size_t i = 0; i < block->count; i++) {
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

void kr_draft_read(struct kr_draft *draft, kr_key_of *key_of, const struct kr_block *block)
{
  draft->key_of = key_of;
  draft->lane = block->lane;
  draft->count = 0;
  draft->cut_len = block->cut_len;
  kr_draft_append(draft, block);
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

void kr_draft_remove(struct kr_draft *draft, size_t at)
{
  draft->count--;
  memmove(&draft->slots[at], &draft->slots[at + 1], (draft->count - at) * sizeof(void *));
  memmove(&draft->heads[at], &draft->heads[at + 1], (draft->count - at) * sizeof(int32_t));
}

struct keyroute_bytes kr_draft_fence(const struct kr_draft *draft, size_t at)
{
  struct keyroute_bytes key = key_at(draft, at);

  if (draft->lane > 0) {
    return key;
  }
  return kr_bytes(key.data, shared_len(key_at(draft, at - 1), key) + 1);
}

/* What the keys share, and so what heads stand behind. A single key shares all it has with itself,
 * which would be kept for nothing. */
static size_t cut_len(const struct kr_draft *draft, size_t from, size_t to, size_t skip_len)
{
  size_t len = to - from > 1 ? shared_len(key_at(draft, from), key_at(draft, to - 1)) : 0;

  return len > skip_len ? len : skip_len;
}

static void fill_heads(struct kr_block *block, const struct kr_draft *draft, size_t from)
{
  for (size_t i = 0; i < kr_heads_room(block->count); i++) {
    if (i >= block->count) {
      block->heads[i] = KR_HEADS_PAD;
    } else if (draft->cut_len == block->cut_len) {
      block->heads[i] = draft->heads[from + i];
    } else {
      block->heads[i] = kr_head_of(key_at(draft, from + i), block->cut_len);
    }
  }
}

static void fill_bytes(struct kr_block *block, const struct kr_draft *draft, size_t from,
                       struct keyroute_bytes fence)
{
  uint8_t *to = (uint8_t *)(kr_block_slots(block) + block->count);

  if (block->cut_len > block->skip_len) {
    kr_bytes_put(&to, kr_bytes((const uint8_t *)key_at(draft, from).data + block->skip_len,
                               block->cut_len - block->skip_len));
  }
  kr_bytes_put(&to, fence);
}

struct kr_block *kr_draft_make(const struct kr_draft *draft, struct kr_mem *mem, size_t from,
                               size_t to, const struct kr_span *span)
{
  size_t count = to - from;
  size_t skip_len = span->ends ? shared_len(span->low, span->high) : 0;
  size_t cut = cut_len(draft, from, to, skip_len);
  struct kr_block *block =
      kr_alloc(mem, sizeof(*block) + kr_heads_room(count) * sizeof(int32_t) +
                        count * sizeof(void *) + (cut - skip_len) + span->low.len);

  assert(count <= KR_BLOCK_MAX);
  if (block == NULL) {
    return NULL;
  }
  block->count = (uint8_t)count;
  block->lane = draft->lane;
  block->fence_len = (uint32_t)span->low.len;
  block->skip_len = (uint32_t)skip_len;
  block->cut_len = (uint32_t)cut;
  fill_heads(block, draft, from);
  for (size_t i = 0; i < count; i++) {
    atomic_init(&kr_block_slots(block)[i], draft->slots[from + i]);
  }
  fill_bytes(block, draft, from, span->low);
  return block;
}
