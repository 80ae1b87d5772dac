/*
 * How do the blocks of a skip list change, while others read them?
 *
 * A block is replaced as a whole: the new one is made beside it, and one store, to the slot that
 * leads to it, shows it to readers. If it has grown beyond what a block holds, two come in its
 * place; the slot's own block is then replaced as well, by one with a slot more, and so on upwards
 * until one store shows it all. If it has become small, it and its neighbour are replaced by one.
 *
 *  1. All is done by changes that one store shows (change.c).
 *  2. No store but those that put or take a value changes what is in the list: neither does
 *     joining blocks, nor going on without.
 *  3. Without memory nothing is joined. The list is then larger than it need be, not wrong; the
 *     next to be taken out nearby tries again. An emptied list needs no memory to be
 *     freed.
 *
 * Writer only.
 */
#include "lib/rebuild.h"

#include "lib/change.h"

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
  return inserted == 0 ? 1 : kr_draft_middle(draft, max);
}

/* A lane more, above two blocks. */
static struct kr_block *make_top(struct kr_change *change, struct kr_block *const blocks[2])
{
  struct kr_draft draft;
  struct kr_block_span all = {.ends = false};

  if (blocks[0]->lane + 1 == KR_LANES_MAX) {
    return NULL;
  }
  kr_draft_begin(&draft, change->list->key_of, blocks[0]->lane + 1u);
  kr_draft_insert(&draft, 0, blocks[0]);
  kr_draft_insert(&draft, 1, blocks[1]);
  return kr_change_make(change, &draft, 0, 2, &all);
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
  struct kr_block *room[KR_CHANGE_ROOM];
  struct kr_change change = {.list = list, .made = room};
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

    size_t made = kr_change_make_some(blocks, &change, &draft, &step->span,
                                      cut_grown(&draft, inserted, list->block_max));

    if (made == 0) {
      return kr_change_abandon(&change);
    }
    if (made == 1) {
      kr_change_publish(&change, path, lane, blocks[0]);
      return 0;
    }
  }
  struct kr_block *top = make_top(&change, blocks);

  if (top == NULL) {
    return kr_change_abandon(&change);
  }
  kr_change_publish(&change, path, path->lanes - 1, top);
  return 0;
}

/* ---- Shrinking ---- */

/* Make what two neighbours become: one block if they hold little, else two, evenly. left is the
 * slot of the first in the block above. Returns how many; 0 = out of memory. */
static size_t make_shared(struct kr_block *blocks[2], struct kr_change *change,
                          const struct kr_path_step *above, size_t left)
{
  size_t block_max = change->list->block_max;
  const struct kr_block *first = kr_block_slot(above->block, left);
  const struct kr_block *second = kr_block_slot(above->block, left + 1);
  struct kr_block_span span = kr_path_span(above, left + 1);
  struct kr_draft draft;

  span.low = kr_block_fence(first);
  kr_draft_read(&draft, change->list->key_of, first);
  kr_draft_append(&draft, second, 0, second->count);

  bool fits = draft.count <= block_max * 3 / 4;

  return kr_change_make_some(blocks, change, &draft, &span,
                             fits ? draft.count : kr_draft_middle(&draft, block_max));
}

/* Make the block above anew: it leads to these, one or two, in the place of the neighbours. NULL =
 * out of memory. */
static struct kr_block *make_above(struct kr_change *change, const struct kr_path_step *above,
                                   size_t left, struct kr_block *const blocks[2], size_t made)
{
  struct kr_draft draft;

  kr_draft_read(&draft, change->list->key_of, above->block);
  draft.slots[left] = blocks[0];
  kr_draft_remove(&draft, left + 1);
  if (made == 2) {
    kr_draft_insert(&draft, left + 1, blocks[1]);
  }
  return kr_change_make(change, &draft, 0, draft.count, &above->span);
}

/* Have two neighbours share what they hold. False = out of memory. */
static bool share(struct kr_skiplist *list, const struct kr_path *path, size_t lane, size_t left)
{
  const struct kr_path_step *above = &path->steps[lane + 1];
  struct kr_block *room[KR_CHANGE_ROOM];
  struct kr_change change = {.list = list,
                             .made = room,
                             .gone = {kr_block_slot(above->block, left),
                                      kr_block_slot(above->block, left + 1), above->block},
                             .gone_count = 3};
  struct kr_block *blocks[2], *shown = NULL;
  size_t made = make_shared(blocks, &change, above, left);

  if (made == 1 && above->block->count == 2 && lane + 2 == path->lanes) {
    shown = blocks[0]; /* the new top, as lower_top would have it */
  } else if (made > 0) {
    shown = make_above(&change, above, left, blocks, made);
  }
  if (shown == NULL) {
    kr_change_abandon(&change);
    return false;
  }
  kr_change_publish(&change, path, lane + 1, shown);
  return true;
}

/* A highest lane of one slot tells nothing: the lane below is the highest then. */
static void lower_top(struct kr_skiplist *list)
{
  static const struct kr_path none;
  struct kr_block *top;

  while ((top = kr_skiplist_top(list))->lane > 0 && top->count == 1) {
    struct kr_change change = {.list = list, .gone = {top}, .gone_count = 1};

    kr_change_publish(&change, &none, 0, kr_block_slot(top, 0));
  }
}

void kr_rebuild_shrink(struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct kr_path path;

  kr_path_find(&path, list, key);
  for (size_t lane = 0; lane + 1 < path.lanes; lane++) {
    const struct kr_path_step *above = &path.steps[lane + 1];
    size_t last = above->block->count - 1u;

    if (last == 0 || kr_block_live(path.steps[lane].block) > list->block_max / 4) {
      continue; /* alone under its block, which is small then too and will get another next */
    }
    if (!share(list, &path, lane, above->at < last ? above->at : last - 1)) {
      return;
    }
    kr_path_find(&path, list, key);
  }
  lower_top(list);
}

/* ---- Freeing ---- */

void kr_rebuild_free(struct kr_mem *mem, struct kr_block *top, void (*free_value)(void *value))
{
  for (size_t i = 0; top != NULL && i < top->count; i++) {
    void *slot = kr_block_slot(top, i);

    if (top->lane > 0) {
      kr_rebuild_free(mem, slot, free_value);
    } else if (slot != NULL && free_value != NULL) {
      free_value(slot);
    }
  }
  kr_free(mem, top);
}

void kr_rebuild_clear(struct kr_skiplist *list)
{
  struct kr_block *top = kr_skiplist_top(list);

  kr_skiplist_changing(list);
  kr_skiplist_set_top(list, NULL);
  kr_change_free_later(list, top);
}
