/*
 * What lies between two keys of a skip list: where is it, and how does it leave?
 *
 *   lane 2   |a          m          s|       above d, below v: the left path leads by a and d,
 *             |          |          |        the right one by s and u; they meet in lane 2
 *   lane 1   |a    d|   |m    p|   |s    u|
 *             |    |     |    |     |    |
 *   lane 0   |a b||d f| |m n||p q| |s t||u v|
 *
 * Two paths lead to its edges. Below the lane where they meet, what is right of the left path and
 * left of the right path lies in the stretch as a whole, blocks and all (|m p| here, with what is
 * below it); so do the slots between the two in the block where they meet.
 *
 *  1. Values leave in order, each by one store to its slot as by a take. A reader finds those that
 *     are not out yet, so that each of its answers was true at one moment.
 *  2. The blocks follow when something else is laid in their place: load.c. If that does not happen
 *     they stay, empty.
 *  3. Also a stretch without values may have blocks: such that memory was too short to join.
 *
 * Writer only.
 */
#include "lib/stretch.h"

#include "lib/change.h"

void kr_stretch_find(struct kr_stretch *stretch, const struct kr_skiplist *list,
                     const struct keyroute_bytes *low, const struct keyroute_bytes *high)
{
  size_t lane = 0;

  stretch->left.lanes = stretch->right.lanes = stretch->meet = 0;
  if (kr_skiplist_top(list) == NULL) {
    return;
  }
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

/* ---- Freeing ---- */

static void free_block(struct visit *visit, struct kr_block *block)
{
  kr_change_free_later(visit->list, block);
}

void kr_stretch_free_later(struct kr_skiplist *list, const struct kr_stretch *stretch)
{
  struct visit visit = {.list = list, .block = free_block};

  if (stretch->meet > 0) {
    visit_whole(&visit, stretch);
  }
}
