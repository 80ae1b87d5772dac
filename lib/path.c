/*
 * Which blocks of a skip list lead to a gap, and which keys is each for?
 *
 *  1. The block of a step is the one in the slot of the step above; the highest is the list's top.
 *  2. What a block is for ends where its neighbour in the block above begins, or, if it is the last
 *     there, where that block's span ends. The last of all ends nowhere.
 *
 * Writer only: a path is right until the next change.
 */
#include "lib/path.h"

struct kr_block_span kr_path_span(const struct kr_path_step *step, size_t at)
{
  struct kr_block_span span = step->span;

  span.low = kr_block_fence(kr_block_slot(step->block, at));
  if (at + 1 < step->block->count) {
    span.high = kr_block_fence(kr_block_slot(step->block, at + 1));
    span.ends = true;
  }
  return span;
}

/* key NULL = behind all; inclusive = behind the key. */
static void find(struct kr_path *path, const struct kr_skiplist *list,
                 const struct keyroute_bytes *key, bool inclusive)
{
  struct kr_path_step step = {.block = kr_skiplist_top(list)};

  path->lanes = (size_t)step.block->lane + 1;
  for (size_t lane = path->lanes; lane-- > 0;) {
    step.at = step.block->count;
    if (key != NULL) {
      step.at = kr_block_gap(step.block, *key, inclusive || lane > 0, list->key_of);
    }
    step.at -= lane > 0 ? 1 : 0;
    path->steps[lane] = step;
    if (lane > 0) {
      step.span = kr_path_span(&path->steps[lane], step.at);
      step.block = kr_block_slot(step.block, step.at);
    }
  }
}

void kr_path_find(struct kr_path *path, const struct kr_skiplist *list, struct keyroute_bytes key)
{
  find(path, list, &key, true);
}

void kr_path_find_below(struct kr_path *path, const struct kr_skiplist *list,
                        struct keyroute_bytes key)
{
  find(path, list, &key, false);
}

void kr_path_find_end(struct kr_path *path, const struct kr_skiplist *list)
{
  find(path, list, NULL, false);
}
