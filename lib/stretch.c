/*
 * How does all that is between two keys leave a skip list in one go?
 *
 *   lane 2   |a          m          s|       above d, below v: the left path leads by a and d,
 *             |          |          |        the right one by s and u; they meet in lane 2
 *   lane 1   |a    d|   |m    p|   |s    u|
 *             |    |     |    |     |    |
 *   lane 0   |a b||d f| |m n||p q| |s t||u v|   f to u go; what is left of the edges is |d v|
 *
 * Two paths lead to its edges. Below the lane where they meet, what is right of the left path and
 * left of the right path lies in the stretch as a whole, blocks and all; so do the slots between
 * the two in the block where they meet.
 *
 *  1. First the values leave, in order, each by one store to its slot as by a take. A reader finds
 *     those that are not out yet, so that each of its answers was true at one moment.
 *  2. Then the blocks follow, by one change (change.c), in which no value comes or goes: what each
 *     lane has left of both edges comes into one block or two, and in the lane where the paths meet
 *     into one, which has no more slots than before.
 *  3. What lies in the stretch as a whole is freed behind that. Readers may stand on it; its values
 *     are gone.
 *  4. A block that is left with nothing keeps its span, with no slot, until it shares another's.
 *
 * Writer only.
 */
#include "lib/stretch.h"

#include "lib/change.h"

void kr_stretch_find(struct kr_stretch *stretch, const struct kr_skiplist *list,
                     const struct keyroute_bytes *low, const struct keyroute_bytes *high)
{
  size_t lane = 0;

  if (low != NULL) {
    kr_path_find(&stretch->left, list, *low);
  } else {
    kr_path_find_below(&stretch->left, list, kr_bytes(NULL, 0));
  }
  if (high != NULL) {
    kr_path_find_below(&stretch->right, list, *high);
  } else {
    kr_path_find_end(&stretch->right, list);
  }
  while (stretch->left.steps[lane].block != stretch->right.steps[lane].block) {
    lane++; /* at the latest, the highest lane has but one */
  }
  stretch->meet = lane;
}

/* What is done with each block that lies in a stretch as a whole. */
struct visit {
  struct kr_skiplist *list;
  void (*block)(struct visit *visit, struct kr_block *block);
  void (*taken)(void *value, void *arg);
  void *arg;
  size_t count; /* of values taken */
};

static void visit_slots(struct visit *visit, const struct kr_block *block, size_t from, size_t to)
{
  for (size_t at = from; at < to; at++) {
    visit->block(visit, kr_block_slot(block, at));
  }
}

/* Visit the highest blocks of those that lie in it as a whole, in the order of their keys. */
static void visit_whole(struct visit *visit, const struct kr_stretch *stretch)
{
  const struct kr_path_step *left = stretch->left.steps, *right = stretch->right.steps;
  size_t meet = stretch->meet;

  for (size_t lane = 1; lane < meet; lane++) {
    visit_slots(visit, left[lane].block, left[lane].at + 1, left[lane].block->count);
  }
  visit_slots(visit, left[meet].block, left[meet].at + 1, right[meet].at);
  for (size_t lane = meet; lane-- > 1;) {
    visit_slots(visit, right[lane].block, 0, right[lane].at);
  }
}

/* ---- Emptying ---- */

static void take_values(struct visit *visit, struct kr_block *block, size_t from, size_t to)
{
  struct kr_skiplist *list = visit->list;

  for (size_t at = from; at < to; at++) {
    void *value = kr_block_slot(block, at);

    if (value != NULL) {
      kr_skiplist_changing(list);
      kr_block_set_slot(block, at, NULL);
      visit->count++;
      visit->taken(value, visit->arg);
    }
  }
}

static void empty_block(struct visit *visit, struct kr_block *block)
{
  if (block->lane == 0) {
    take_values(visit, block, 0, block->count);
  } else {
    visit_slots(visit, block, 0, block->count);
  }
}

size_t kr_stretch_empty(struct kr_skiplist *list, const struct kr_stretch *stretch,
                        void (*taken)(void *value, void *arg), void *arg)
{
  struct visit visit = {.list = list, .block = empty_block, .taken = taken, .arg = arg};
  const struct kr_path_step *left = &stretch->left.steps[0], *right = &stretch->right.steps[0];

  if (stretch->meet == 0) {
    take_values(&visit, left->block, left->at, right->at);
  } else {
    take_values(&visit, left->block, left->at, left->block->count);
    visit_whole(&visit, stretch);
    take_values(&visit, right->block, 0, right->at);
  }
  return visit.count;
}

/* ---- Closing ---- */

static void free_block(struct visit *visit, struct kr_block *block)
{
  kr_change_free_later(visit->list, block);
}

/* What a lane has left of both edges, with the new blocks of the lane below between them. */
static void draft_edges(struct kr_draft *draft, const struct kr_stretch *stretch, size_t lane,
                        kr_key_of *key_of, struct kr_block *const blocks[2], size_t count)
{
  const struct kr_path_step *left = &stretch->left.steps[lane];
  const struct kr_path_step *right = &stretch->right.steps[lane];

  kr_draft_read_part(draft, key_of, left->block, 0, left->at);
  for (size_t i = 0; i < count; i++) {
    kr_draft_insert(draft, draft->count, blocks[i]);
  }
  kr_draft_append(draft, right->block, right->at + (lane > 0 ? 1 : 0), right->block->count);
}

static struct kr_block_span span_of_both(const struct kr_stretch *stretch, size_t lane)
{
  struct kr_block_span span = stretch->right.steps[lane].span;

  span.low = stretch->left.steps[lane].span.low;
  return span;
}

/* Make what comes in the place of the edges of each lane. Returns the block of the lane where the
 * paths meet; NULL = out of memory. */
static struct kr_block *make_edges(struct kr_change *change, const struct kr_stretch *stretch)
{
  size_t one_block = change->list->block_max * 3 / 4, count = 0;
  struct kr_block *blocks[2];
  struct kr_draft draft;

  for (size_t lane = 0; lane <= stretch->meet; lane++) {
    struct kr_block_span span = span_of_both(stretch, lane);
    bool fits = lane == stretch->meet;

    draft_edges(&draft, stretch, lane, change->list->key_of, blocks, count);
    fits = fits || draft.count <= one_block;
    count = kr_change_make_some(blocks, change, &draft, &span,
                                fits ? draft.count : kr_draft_middle(&draft));
    if (count == 0) {
      return NULL;
    }
    change->gone[change->gone_count++] = stretch->left.steps[lane].block;
    if (lane < stretch->meet) {
      change->gone[change->gone_count++] = stretch->right.steps[lane].block;
    }
  }
  return blocks[0];
}

void kr_stretch_close(struct kr_skiplist *list, const struct kr_stretch *stretch)
{
  struct kr_block *room[KR_CHANGE_ROOM];
  struct kr_change change = {.list = list, .made = room};
  struct visit visit = {.list = list, .block = free_block};

  if (stretch->meet == 0) {
    return; /* one block, which others may share */
  }
  struct kr_block *block = make_edges(&change, stretch);

  if (block == NULL) {
    kr_change_abandon(&change);
    return;
  }
  kr_change_show(&change, &stretch->left, stretch->meet, block);
  visit_whole(&visit, stretch); /* the edges lead there: they are freed last */
  kr_change_end(&change);
}
