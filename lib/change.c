/*
 * A change of the blocks of a skip list: made ready, shown at once, or abandoned.
 *
 *  1. New blocks are made beside the old ones, then shown by one store, to the slot that leads to
 *     the highest of them. What cannot be made ready leaves no trace.
 *  2. What was replaced is freed after a grace period, and never stored to again. A reader who
 *     stands on it finds it as it was when it was replaced.
 *  3. The list's size follows at the end: it tells what can be found, not what waits for readers.
 *
 * Writer only.
 */
#include "lib/change.h"

struct kr_block *kr_change_make(struct kr_change *change, const struct kr_draft *draft, size_t from,
                                size_t to, const struct kr_block_span *span)
{
  struct kr_block *block = kr_draft_make(draft, change->list->mem, from, to, span);

  if (block != NULL) {
    change->made[change->made_count++] = block;
  }
  return block;
}

size_t kr_change_make_some(struct kr_block *blocks[2], struct kr_change *change,
                           const struct kr_draft *draft, const struct kr_block_span *span,
                           size_t middle)
{
  struct kr_block_span left = *span, right = *span;

  if (middle == draft->count) {
    blocks[0] = kr_change_make(change, draft, 0, draft->count, span);
    return blocks[0] != NULL ? 1 : 0;
  }
  left.high = right.low = kr_draft_fence(draft, middle);
  left.ends = true;
  blocks[0] = kr_change_make(change, draft, 0, middle, &left);
  blocks[1] = kr_change_make(change, draft, middle, draft->count, &right);
  return blocks[0] != NULL && blocks[1] != NULL ? 2 : 0;
}

int kr_change_abandon(struct kr_change *change)
{
  while (change->made_count > 0) {
    kr_free(change->list->mem, change->made[--change->made_count]);
  }
  return KEYROUTE_E_NO_MEMORY;
}

void kr_change_show(struct kr_change *change, const struct kr_path *path, size_t lane,
                    struct kr_block *block)
{
  kr_skiplist_changing(change->list);
  if (lane + 1 < path->lanes) {
    kr_block_set_slot(path->steps[lane + 1].block, path->steps[lane + 1].at, block);
  } else {
    kr_skiplist_set_top(change->list, block);
  }
}

void kr_change_end(struct kr_change *change)
{
  struct kr_skiplist *list = change->list;

  for (size_t i = 0; i < change->made_count; i++) {
    list->size += kr_block_size(change->made[i]);
  }
  for (size_t i = 0; i < change->gone_count; i++) {
    list->size -= kr_block_size(change->gone[i]);
    kr_block_free_later(change->gone[i], list->mem);
  }
}

void kr_change_publish(struct kr_change *change, const struct kr_path *path, size_t lane,
                       struct kr_block *block)
{
  kr_change_show(change, path, lane, block);
  kr_change_end(change);
}

void kr_change_free_later(struct kr_skiplist *list, struct kr_block *block)
{
  for (size_t i = 0; block->lane > 0 && i < block->count; i++) {
    kr_change_free_later(list, kr_block_slot(block, i));
  }
  list->size -= kr_block_size(block);
  kr_block_free_later(block, list->mem);
}
