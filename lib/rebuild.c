/*
 * How do the blocks of a skip list change, while others read them?
 *
 * A block is replaced as a whole: the new one is made beside it, and one store, to the slot that
 * leads to it, shows it to readers. If it has grown beyond what a block holds, two come in its
 * place; the slot's own block is then replaced as well, by one with a slot more, and so on upwards
 * until one store shows it all. If it has become small, it and its neighbour are replaced by one.
 *
 *  1. A change is made ready first, then shown by one store (`publish`), then what it replaced is
 *     freed, after a grace period. What cannot be made ready leaves no trace.
 *  2. What was replaced is never stored to again. A reader who stands on it finds it as it was when
 *     it was replaced.
 *  3. No store but those that put or take a value changes what is in the list: neither does
 *     joining blocks, nor going on without.
 *  4. Without memory nothing is joined. The list is then larger than it need be, not wrong; the
 *     next to be taken out of the same stretch tries again. An emptied list needs no memory to be
 *     freed.
 *
 * Writer only.
 */
#include "lib/rebuild.h"

#include <assert.h>

/* Blocks made for a change under way, and those that it replaces. */
struct change {
  struct kr_skiplist *list;
  struct kr_block *made[2 * KR_LANES_MAX + 1], *gone[2 * KR_LANES_MAX];
  size_t made_count, gone_count;
};

/* ---- Paths ---- */

/* The span of the block in a slot. */
static struct kr_block_span span_in(const struct kr_path_step *step, size_t at)
{
  struct kr_block_span span = step->span;

  span.low = kr_block_fence(kr_block_slot(step->block, at));
  if (at + 1 < step->block->count) {
    span.high = kr_block_fence(kr_block_slot(step->block, at + 1));
    span.ends = true;
  }
  return span;
}

void kr_path_find(struct kr_path *path, const struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct kr_path_step step = {.block = kr_skiplist_top(list)};

  path->lanes = (size_t)step.block->lane + 1;
  for (size_t lane = path->lanes; lane-- > 0;) {
    step.at = kr_block_gap(step.block, key, true, list->key_of) - (lane > 0 ? 1 : 0);
    path->steps[lane] = step;
    if (lane > 0) {
      step.span = span_in(&path->steps[lane], step.at);
      step.block = kr_block_slot(step.block, step.at);
    }
  }
}

/* ---- A change ---- */

static struct kr_block *make(struct change *change, const struct kr_draft *draft, size_t from,
                             size_t to, const struct kr_block_span *span)
{
  struct kr_block *block = kr_draft_make(draft, change->list->mem, from, to, span);

  if (block != NULL) {
    change->made[change->made_count++] = block;
  }
  return block;
}

static int abandon(struct change *change)
{
  while (change->made_count > 0) {
    kr_free(change->list->mem, change->made[--change->made_count]);
  }
  return KEYROUTE_E_NO_MEMORY;
}

/* Show the new block in the place of that of the path's lane. */
static void publish(struct change *change, const struct kr_path *path, size_t lane,
                    struct kr_block *block)
{
  struct kr_skiplist *list = change->list;

  kr_skiplist_changing(list);
  if (lane + 1 < path->lanes) {
    kr_block_set_slot(path->steps[lane + 1].block, path->steps[lane + 1].at, block);
  } else {
    kr_skiplist_set_top(list, block);
  }
  for (size_t i = 0; i < change->made_count; i++) {
    list->size += kr_block_size(change->made[i]);
  }
  for (size_t i = 0; i < change->gone_count; i++) {
    list->size -= kr_block_size(change->gone[i]);
    kr_block_free_later(change->gone[i], list->mem);
  }
}

/* Make one block of a draft, or two that meet at `middle`, unless that is its end. Returns how
 * many; 0 = out of memory. */
static size_t make_blocks(struct kr_block *blocks[2], struct change *change,
                          const struct kr_draft *draft, const struct kr_block_span *span,
                          size_t middle)
{
  struct kr_block_span left = *span, right = *span;

  if (middle == draft->count) {
    blocks[0] = make(change, draft, 0, draft->count, span);
    return blocks[0] != NULL ? 1 : 0;
  }
  left.high = right.low = kr_draft_fence(draft, middle);
  left.ends = true;
  blocks[0] = make(change, draft, 0, middle, &left);
  blocks[1] = make(change, draft, middle, draft->count, &right);
  return blocks[0] != NULL && blocks[1] != NULL ? 2 : 0;
}

/* ---- Growing ---- */

/* Where to cut a draft in which something was inserted. What grows at one end goes on growing
 * there, so that a list that is filled in order has full blocks. */
static size_t cut_grown(const struct kr_draft *draft, size_t inserted, size_t max)
{
  if (draft->count <= max) {
    return draft->count;
  }
  if (inserted + 1 == draft->count) {
    return inserted;
  }
  return inserted == 0 ? 1 : kr_draft_middle(draft);
}

/* A lane more, above two blocks. */
static struct kr_block *make_top(struct change *change, struct kr_block *const blocks[2])
{
  struct kr_draft draft;
  struct kr_block_span all = {.ends = false};

  if (blocks[0]->lane + 1 == KR_LANES_MAX) {
    return NULL;
  }
  kr_draft_begin(&draft, change->list->key_of, (uint8_t)(blocks[0]->lane + 1), blocks[0]);
  kr_draft_insert(&draft, 1, blocks[1]);
  return make(change, &draft, 0, 2, &all);
}

/* Where among the slots that are not empty is this gap? */
static size_t live_before(const struct kr_block *block, size_t gap)
{
  size_t live = 0;

  for (size_t i = 0; i < gap; i++) {
    live += kr_block_slot(block, i) != NULL;
  }
  return live;
}

int kr_rebuild_put(struct kr_skiplist *list, struct kr_path *path, void *value)
{
  struct change change = {.list = list};
  struct kr_block *blocks[2] = {NULL, value};
  struct kr_draft draft;

  for (size_t lane = 0; lane < path->lanes; lane++) {
    struct kr_path_step *step = &path->steps[lane];
    size_t inserted = lane == 0 ? live_before(step->block, step->at) : step->at + 1;

    kr_draft_read(&draft, list->key_of, step->block);
    if (lane > 0) {
      draft.slots[step->at] = blocks[0];
    }
    kr_draft_insert(&draft, inserted, blocks[1]);
    change.gone[change.gone_count++] = step->block;

    size_t made = make_blocks(blocks, &change, &draft, &step->span,
                              cut_grown(&draft, inserted, list->block_max));

    if (made == 0) {
      return abandon(&change);
    }
    if (made == 1) {
      publish(&change, path, lane, blocks[0]);
      return 0;
    }
  }
  struct kr_block *top = make_top(&change, blocks);

  if (top == NULL) {
    return abandon(&change);
  }
  publish(&change, path, path->lanes - 1, top);
  return 0;
}

/* ---- Shrinking ---- */

/* Have two neighbours share what they hold: one block if it is little, else two, evenly. left is
 * the slot of the first in the block above. False = out of memory. */
static bool share(struct kr_skiplist *list, const struct kr_path *path, size_t lane, size_t left)
{
  const struct kr_path_step *above = &path->steps[lane + 1];
  struct kr_block *first = kr_block_slot(above->block, left);
  struct kr_block *second = kr_block_slot(above->block, left + 1);
  struct change change = {.list = list, .gone = {first, second, above->block}, .gone_count = 3};
  struct kr_block_span span = span_in(above, left + 1);
  struct kr_block *blocks[2];
  struct kr_draft draft;

  span.low = kr_block_fence(first);
  kr_draft_read(&draft, list->key_of, first);
  kr_draft_append(&draft, second);

  bool fits = draft.count <= list->block_max * 3 / 4;
  size_t made =
      make_blocks(blocks, &change, &draft, &span, fits ? draft.count : kr_draft_middle(&draft));

  if (made == 0) {
    abandon(&change);
    return false;
  }
  kr_draft_read(&draft, list->key_of, above->block);
  draft.slots[left] = blocks[0];
  if (made == 1 && draft.count == 2 && lane + 2 == path->lanes) {
    publish(&change, path, lane + 1, blocks[0]); /* the highest lane has nothing to tell any more */
    return true;
  }
  kr_draft_remove(&draft, left + 1);
  if (made == 2) {
    kr_draft_insert(&draft, left + 1, blocks[1]);
  }
  struct kr_block *new_above = make(&change, &draft, 0, draft.count, &above->span);

  if (new_above == NULL) {
    abandon(&change);
    return false;
  }
  publish(&change, path, lane + 1, new_above);
  return true;
}

void kr_rebuild_shrink(struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct kr_path path;

  for (size_t lane = 0;; lane++) {
    kr_path_find(&path, list, key);
    if (lane + 1 >= path.lanes || kr_block_live(path.steps[lane].block) > list->block_max / 4) {
      return;
    }
    const struct kr_path_step *above = &path.steps[lane + 1];
    size_t last = above->block->count - 1u;

    /* Alone under its block, which is small then too and will get another next. */
    if (last > 0 && !share(list, &path, lane, above->at < last ? above->at : last - 1)) {
      return;
    }
  }
}

/* ---- Freeing ---- */

void kr_rebuild_free(struct kr_mem *mem, struct kr_block *top)
{
  for (size_t i = 0; top != NULL && top->lane > 0 && i < top->count; i++) {
    kr_rebuild_free(mem, kr_block_slot(top, i));
  }
  kr_free(mem, top);
}

static void free_later(struct kr_skiplist *list, struct kr_block *block)
{
  for (size_t i = 0; block->lane > 0 && i < block->count; i++) {
    free_later(list, kr_block_slot(block, i));
  }
  list->size -= kr_block_size(block);
  kr_block_free_later(block, list->mem);
}

void kr_rebuild_clear(struct kr_skiplist *list)
{
  struct kr_block *top = kr_skiplist_top(list);

  kr_skiplist_changing(list);
  kr_skiplist_set_top(list, NULL);
  free_later(list, top);
}
