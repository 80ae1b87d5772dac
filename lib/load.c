/*
 * How do many sorted values come into a skip list in one go, or the blocks of an emptied stretch
 * leave it?
 *
 *   lane 1   |b    j    t|             above e, below k; between the edges all is empty
 *             |    |    |
 *   lane 0   |b e| |. .||k p||t v|     and |b e f g||h i k p| once f, g, h and i are put there
 *
 * Lane by lane, from below, the blocks at the edges of the stretch (stretch.c) are laid anew as one
 * row: what the left one has before the stretch, then what is new, then what the right one has
 * behind it. In lane 0 the values are what is new, above it is the blocks that were just made. From
 * the lane on where both edges are in one block, a lane that comes out as one block again is shown
 * in its place, and all the values with it.
 *
 *  1. Blocks are full but for the last two, which halve what is left, so that there is room where
 *     more may come between. What is put behind all else leaves its last block but one full too: a
 *     list that is loaded in order, a page at a time, has full blocks.
 *  2. All comes by one change (change.c): a reader finds all the values or none.
 *  3. Without values no lane needs more blocks than it had. One is left even if it has nothing: it
 *     keeps the span, with no slot, until it shares another's.
 *  4. Values fall into one gap, but that may go beyond a block: a fence is no value's key, and may
 *     be between two that are put. So both edges count, even where nothing is between them.
 *
 * Writer only.
 */
#include "lib/load.h"

#include "lib/change.h"

/* A lane that is being laid: slots of which no block is made yet. */
struct laying {
  struct kr_change *change;
  struct kr_draft draft;
  struct kr_block_span span;
};

/* Make a block of the first slots. False = out of memory. */
static bool make_front(struct laying *laying, size_t count)
{
  struct kr_block_span front = laying->span;

  front.high = kr_draft_fence(&laying->draft, count);
  front.ends = true;
  laying->span.low = front.high;
  if (kr_change_make(laying->change, &laying->draft, 0, count, &front) == NULL) {
    return false;
  }
  kr_draft_drop(&laying->draft, count);
  return true;
}

static bool lay(struct laying *laying, void *const *slots, size_t count)
{
  size_t block_max = laying->change->list->block_max;

  for (size_t i = 0; i < count; i++) {
    if (laying->draft.count == 2 * block_max && !make_front(laying, block_max)) {
      return false;
    }
    kr_draft_insert(&laying->draft, laying->draft.count, slots[i]);
  }
  return true;
}

/* The slots of a block from one on come last. */
static bool lay_rest(struct laying *laying, const struct kr_block *block, size_t from)
{
  for (size_t at = from; at < block->count; at++) {
    void *slot = kr_block_slot(block, at);

    if (slot != NULL && !lay(laying, &slot, 1)) {
      return false;
    }
  }
  return true;
}

/* Make what is left, at most twice what a block holds (invariant 1). */
static bool lay_end(struct laying *laying, bool in_order)
{
  size_t block_max = laying->change->list->block_max;
  struct kr_draft *draft = &laying->draft;

  if (draft->count > block_max &&
      !make_front(laying, in_order ? block_max : kr_draft_middle(draft, block_max))) {
    return false;
  }
  return kr_change_make(laying->change, draft, 0, draft->count, &laying->span) != NULL;
}

/* Lay both edges of a lane, with the slots between them. False = out of memory. */
static bool lay_edges(struct kr_change *change, const struct kr_stretch *stretch, size_t lane,
                      void *const *slots, size_t count)
{
  const struct kr_path_step *left = &stretch->left.steps[lane];
  const struct kr_path_step *right = &stretch->right.steps[lane];
  size_t behind =
      right->at + (lane > 0 ? 1 : 0); /* above lane 0 the slots themselves are replaced */
  struct laying laying = {.change = change, .span = right->span};

  laying.span.low = left->span.low;
  kr_draft_read_part(&laying.draft, change->list->key_of, left->block, 0, left->at);
  change->gone[change->gone_count++] = left->block;
  if (left->block != right->block) {
    change->gone[change->gone_count++] = right->block;
  }
  return lay(&laying, slots, count) && lay_rest(&laying, right->block, behind) &&
         lay_end(&laying, behind == right->block->count && !right->span.ends);
}

/* Lay a lane that the list does not have yet. */
static bool lay_new_lane(struct kr_change *change, size_t lane, void *const *slots, size_t count)
{
  struct laying laying = {.change = change};

  kr_draft_begin(&laying.draft, change->list->key_of, lane);
  return lane < KR_LANES_MAX && lay(&laying, slots, count) && lay_end(&laying, true);
}

/* Make all that is new. Returns the lane of the last block made, which leads to all others;
 * KR_LANES_MAX = out of memory. */
static size_t lay_lanes(struct kr_change *change, const struct kr_stretch *stretch,
                        void *const *values, size_t count)
{
  void *const *slots = values;

  for (size_t lane = 0;; lane++) {
    size_t before = change->made_count;
    bool done = lane < stretch->left.lanes ? lay_edges(change, stretch, lane, slots, count)
                                           : lay_new_lane(change, lane, slots, count);

    if (!done) {
      return KR_LANES_MAX;
    }
    slots = (void *const *)(change->made + before);
    count = change->made_count - before;
    if (count == 1 && lane >= stretch->meet) {
      return lane;
    }
  }
}

/* More than are made: a lane of n slots makes at most n / max + 3 blocks. */
static size_t room_for(const struct kr_skiplist *list, size_t count)
{
  return count / (list->block_max - 1) + (size_t)6 * KR_LANES_MAX;
}

int kr_load(struct kr_skiplist *list, const struct kr_stretch *stretch, void *const *values,
            size_t count)
{
  struct kr_change change = {.list = list};

  change.made = kr_alloc(list->mem, room_for(list, count) * sizeof(*change.made));
  if (change.made == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  size_t lane = lay_lanes(&change, stretch, values, count);
  int error = 0;

  if (lane == KR_LANES_MAX) {
    error = kr_change_abandon(&change);
  } else {
    kr_change_show(&change, &stretch->left, lane, change.made[change.made_count - 1]);
    kr_stretch_free_later(list, stretch);
    kr_change_end(&change);
  }
  kr_free(list->mem, change.made);
  return error;
}
