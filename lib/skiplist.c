/*
 * A sorted map that one thread changes while others read it: what is at a key, and what is next to
 * it on either side?
 *
 *   lane 2   |a      m                          |
 *             |      '-------------.
 *   lane 1   |a  d  h     |       |m  q  t      |     a slot for each block of the lane below
 *             |  |  '--.           |  '----.
 *   lane 0   |a b c||d f g||h k l||m n p||q r||t u|   the values
 *
 * A skip list whose lanes are cut into blocks: sorted arrays of some thirty slots (block.c). A lane
 * has one slot for each block of the lane below, so it skips some twenty of that lane's; a walk
 * begins in the highest lane, which is one block, and goes down at the last slot that is not
 * beyond the key. Plain towers of nodes, one key each, look at a key in other memory for each step
 * to the right; here a step is an addition within two lines of the cache, and a million keys are
 * four steps down. How high a key stands is not drawn but follows from where blocks are cut: which
 * also makes this a B+ tree that is copied where it changes, with no links sideways. They would be
 * second ways to a block, and could not change together with the first.
 *
 *  1. What a reader sees changes by one store to one slot each time: a value is put in the place of
 *     another of its key, or taken out (its slot is empty from then on), or blocks are replaced by
 *     others (rebuild.c; load.c, with many more values). So every change has one moment at which it
 *     takes effect. Many that are taken out at once leave one by one (stretch.c).
 *  2. What is within a block was true at one moment, that of the last slot read: a key that was not
 *     there comes in a new block only, and the old one is never stored to again.
 *  3. For what is beyond the block in which a key belongs a reader looks into more than one; it
 *     counts the changes meanwhile, and if one began it looks again. One that was under way when
 *     it began does no harm, being one store: what was read was so either before or behind it.
 *  4. Hence every answer was true at one moment between the reader's start and its end, never a
 *     mixture.
 *  5. Taking out stores to a slot and needs no memory. Blocks become smaller and fewer behind it,
 *     as memory allows.
 *  6. Keys belong to the values. What is in the blocks beyond heads is copied.
 *
 * Threads: put and take from one writer at a time, new and free alone, the rest from any thread
 * inside a read section. Readers never wait; by 3 they look again only where the writer is quicker
 * than they are, and then at few blocks.
 *
 * Source: J. I. Munro, T. Papadakis, R. Sedgewick, Deterministic Skip Lists, 1992; R. Bayer,
 * K. Unterauer, Prefix B-Trees, 1977
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rebuild.h"
#include "lib/skiplist_floor.h"

#include <assert.h>

/* ---- Down the lanes ---- */

/* A place between keys: right below a key, right behind it, or behind all. */
struct place {
  struct keyroute_bytes key;
  bool behind; /* the key */
  bool behind_all;
};

static size_t gap_in(const struct kr_block *block, const struct place *place, kr_key_of *key_of)
{
  return place->behind_all ? block->count : kr_block_gap(block, place->key, place->behind, key_of);
}

/* The block of lane 0 to which a place belongs, and the gap in it. The list is not empty. */
static const struct kr_block *go_down(const struct kr_skiplist *list, const struct place *place,
                                      size_t *gap)
{
  const struct kr_block *block = kr_skiplist_top(list);

  while (block != NULL) {
    *gap = gap_in(block, place, list->key_of);
    if (block->lane == 0) {
      break;
    }
    block = kr_block_slot(block, *gap - 1);
    kr_block_prefetch(block);
  }
  return block;
}

/* The last value before a gap. */
static void *value_before(const struct kr_block *block, size_t gap)
{
  void *value = NULL;

  while (value == NULL && gap > 0) {
    value = kr_block_slot(block, --gap);
  }
  return value;
}

static void *value_behind(const struct kr_block *block, size_t gap)
{
  void *value = NULL;

  while (value == NULL && gap < block->count) {
    value = kr_block_slot(block, gap++);
  }
  return value;
}

/* ---- Beyond one block ---- */

/* A walk along lane 0 by way of the lanes above: in each a block, and the slot that leads down. */
struct walk {
  const struct kr_block *blocks[KR_LANES_MAX];
  size_t at[KR_LANES_MAX];
  size_t lanes;
};

static bool walk_begin(struct walk *walk, const struct kr_skiplist *list, const struct place *place)
{
  const struct kr_block *block = kr_skiplist_top(list);

  if (block == NULL) {
    return false;
  }
  walk->lanes = (size_t)block->lane + 1;
  for (size_t lane = walk->lanes; lane-- > 0;) {
    size_t gap = gap_in(block, place, list->key_of);

    walk->blocks[lane] = block;
    walk->at[lane] = lane > 0 ? gap - 1 : gap;
    if (lane > 0) {
      block = kr_block_slot(block, walk->at[lane]);
    }
  }
  return true;
}

/* Move to the next block of lane 0 on one side; false = there is none. */
static bool walk_on(struct walk *walk, bool right)
{
  size_t lane = 1;

  while (lane < walk->lanes &&
         walk->at[lane] == (right ? (size_t)walk->blocks[lane]->count - 1 : 0)) {
    lane++;
  }
  if (lane >= walk->lanes) {
    return false;
  }
  walk->at[lane] += right ? 1 : (size_t)-1;
  while (lane-- > 0) {
    const struct kr_block *block = kr_block_slot(walk->blocks[lane + 1], walk->at[lane + 1]);

    walk->blocks[lane] = block;
    walk->at[lane] = right ? 0 : (size_t)block->count - (lane > 0 ? 1 : 0);
  }
  return true;
}

static void *look(const struct kr_skiplist *list, const struct place *place, bool right)
{
  struct walk walk;
  void *value = NULL;

  if (!walk_begin(&walk, list, place)) {
    return NULL;
  }
  do {
    value =
        right ? value_behind(walk.blocks[0], walk.at[0]) : value_before(walk.blocks[0], walk.at[0]);
  } while (value == NULL && walk_on(&walk, right));
  return value;
}

/* The nearest value on one side of a place, however many blocks away (invariant 3). */
static void *look_far(const struct kr_skiplist *list, const struct place *place, bool right)
{
  size_t before, behind;
  void *value;

  do {
    /* Acquire: what is read below is no older than the last change but one of those counted. */
    before = atomic_load_explicit(&list->changes, memory_order_acquire);
    value = look(list, place, right);
    /* Relaxed: what was read above was read with acquire, so that if it is part of a change, that
     * is counted here. */
    behind = atomic_load_explicit(&list->changes, memory_order_relaxed);
  } while (before != behind);
  return value;
}

static void *left_of(const struct kr_skiplist *list, const struct place *place)
{
  size_t gap;
  const struct kr_block *block = go_down(list, place, &gap);
  void *value = block != NULL ? value_before(block, gap) : NULL;

  return value != NULL || block == NULL ? value : look_far(list, place, false);
}

static void *right_of(const struct kr_skiplist *list, const struct place *place)
{
  size_t gap;
  const struct kr_block *block = go_down(list, place, &gap);
  void *value = block != NULL ? value_behind(block, gap) : NULL;

  return value != NULL || block == NULL ? value : look_far(list, place, true);
}

/* ---- Readers ---- */

void *kr_skiplist_find(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  const struct place place = {.key = key, .behind = true};
  size_t gap;
  const struct kr_block *block = go_down(list, &place, &gap);
  void *value = block != NULL ? value_before(block, gap) : NULL;

  return value != NULL && kr_bytes_equal(list->key_of(value), key) ? value : NULL;
}

void *kr_skiplist_floor_from(const struct kr_skiplist *list, struct keyroute_bytes key,
                             struct kr_descent at)
{
  void *value = NULL;

  while (value == NULL && at.block != NULL) {
    size_t gap = at.tied > 0 ? kr_block_settle(at.block, key, true, list->key_of, at.tied)
                             : kr_block_gap(at.block, key, true, list->key_of);

    if (at.block->lane == 0) {
      value = value_before(at.block, gap);
      return value != NULL ? value
                           : look_far(list, &(struct place){.key = key, .behind = true}, false);
    }
    at.block = kr_block_slot(at.block, gap - 1);
    kr_block_prefetch(at.block);
    value = kr_skiplist_floor_by_heads(&at, key);
  }
  return value;
}

void *kr_skiplist_floor(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct kr_descent at = kr_descent_begin(list);
  void *value = kr_skiplist_floor_by_heads(&at, key);

  if (value == NULL) {
    value = kr_skiplist_floor_by_ties(&at, key, list->key_of);
  }
  return value != NULL ? value : kr_skiplist_floor_from(list, key, at);
}

void *kr_skiplist_lower(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  return left_of(list, &(struct place){.key = key});
}

void *kr_skiplist_higher(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  return right_of(list, &(struct place){.key = key, .behind = true});
}

void *kr_skiplist_first(const struct kr_skiplist *list)
{
  return right_of(list, &(struct place){.behind = false});
}

void *kr_skiplist_last(const struct kr_skiplist *list)
{
  return left_of(list, &(struct place){.behind_all = true});
}

size_t kr_skiplist_above(const struct kr_skiplist *list, void **values,
                         const struct keyroute_bytes *key, size_t max)
{
  const struct place place = {.key = key != NULL ? *key : kr_bytes(NULL, 0), .behind = key != NULL};
  size_t gap, count = 0;
  const struct kr_block *block = go_down(list, &place, &gap);

  while (block != NULL && count < max && gap < block->count) {
    values[count] = kr_block_slot(block, gap++);
    count += values[count] != NULL;
  }
  if (block != NULL && count == 0 && max > 0) {
    values[0] = look_far(list, &place, true);
    count = values[0] != NULL;
  }
  return count;
}

size_t kr_skiplist_behind(const struct kr_skiplist *list, void **values, const void *value,
                          size_t max)
{
  struct keyroute_bytes key = value != NULL ? list->key_of(value) : kr_bytes(NULL, 0);

  return kr_skiplist_above(list, values, value != NULL ? &key : NULL, max);
}

size_t kr_skiplist_below(const struct kr_skiplist *list, void **values, struct keyroute_bytes key,
                         size_t max)
{
  const struct place place = {.key = key};
  size_t gap, count = 0;
  const struct kr_block *block = go_down(list, &place, &gap);

  while (block != NULL && count < max && gap > 0) {
    values[count] = kr_block_slot(block, --gap);
    count += values[count] != NULL;
  }
  if (block != NULL && count == 0 && max > 0) {
    values[0] = look_far(list, &place, false);
    count = values[0] != NULL;
  }
  return count;
}

/* ---- Many keys ---- */

/* So many walks side by side that the machine always waits for several lines at once. */
enum { GROUP = 16 };

/* kr_block_gap, where heads do not tell. */
KR_ALWAYS_INLINE size_t gap_beyond_heads(const struct kr_skiplist *list,
                                         const struct kr_block *block, struct keyroute_bytes key,
                                         size_t tied)
{
  return tied > 0 ? kr_block_settle(block, key, true, list->key_of, tied)
                  : kr_block_gap(block, key, true, list->key_of);
}

/* The block below to which a key belongs. */
KR_ALWAYS_INLINE const struct kr_block *block_below(const struct kr_skiplist *list,
                                                    const struct kr_block *block,
                                                    struct keyroute_bytes key)
{
  size_t tied, gap = kr_block_gap_by_heads(block, key, &tied);

  if (tied > 0) {
    gap = kr_block_gap_by_seconds(block, key, tied);
  }
  if (gap == 0) {
    gap = gap_beyond_heads(list, block, key, tied);
  }
  return kr_block_slot(block, gap - 1);
}

/* The last value whose head is not above that of the key, in a block of lane 0. *tied is 0, or the
 * heads are equal and value_if_tied knows better. */
KR_ALWAYS_INLINE void *value_by_heads(const struct kr_skiplist *list, const struct kr_block *block,
                                      struct keyroute_bytes key, size_t *tied)
{
  size_t gap = kr_block_gap_by_heads(block, key, tied);
  void *value;

  if (*tied > 0) {
    value = kr_block_slot(block, *tied - 1);
    kr_skiplist_prefetch_key(value);
    return value;
  }
  value = value_before(block, gap > 0 ? gap : gap_beyond_heads(list, block, key, 0));
  kr_skiplist_prefetch(value);
  return value;
}

KR_ALWAYS_INLINE void *value_if_tied(const struct kr_skiplist *list, const struct kr_block *block,
                                     struct keyroute_bytes key, size_t tied, void *value)
{
  if (value != NULL && !kr_block_below_tied(block, key, list->key_of(value))) {
    return value;
  }
  return value_before(block, gap_beyond_heads(list, block, key, tied));
}

/* All go down a lane before any goes down the next: what one waits for comes while the others look
 * for their ways. So it is with the keys that are compared in lane 0. From a top that the caller
 * has read, and found to be there: the list may be empty by now. */
static void floor_group(const struct kr_skiplist *list, const struct kr_block *top, void **values,
                        const struct keyroute_bytes *keys, size_t count)
{
  const struct kr_block *blocks[GROUP];
  size_t tied[GROUP];

  for (size_t i = 0; i < count; i++) {
    blocks[i] = top;
  }
  for (size_t lane = top->lane; lane > 0; lane--) {
    for (size_t i = 0; i < count; i++) {
      blocks[i] = block_below(list, blocks[i], keys[i]);
      kr_block_prefetch(blocks[i]);
    }
  }
  for (size_t i = 0; i < count; i++) {
    values[i] = value_by_heads(list, blocks[i], keys[i], &tied[i]);
  }
  for (size_t i = 0; i < count; i++) {
    if (tied[i] > 0) {
      values[i] = value_if_tied(list, blocks[i], keys[i], tied[i], values[i]);
    }
  }
}

void kr_skiplist_floor_many(const struct kr_skiplist *list, void **values,
                            const struct keyroute_bytes *keys, size_t count)
{
  for (size_t done = 0; done < count; done += GROUP) {
    size_t now = count - done < GROUP ? count - done : GROUP;
    const struct kr_block *top = kr_skiplist_top(list);

    if (top == NULL) {
      memset(values + done, 0, now * sizeof(*values));
      continue;
    }
    floor_group(list, top, values + done, keys + done, now);
    for (size_t i = done; i < done + now; i++) {
      if (values[i] == NULL) {
        values[i] = look_far(list, &(struct place){.key = keys[i], .behind = true}, false);
      }
    }
  }
}

/* ---- Made and freed ---- */

size_t kr_skiplist_empty_size(void)
{
  return kr_mem_taken(sizeof(struct kr_skiplist));
}

struct kr_skiplist *kr_skiplist_new_of(struct kr_mem *mem, kr_key_of *key_of, size_t block_max)
{
  struct kr_skiplist *list = kr_alloc(mem, sizeof(*list));

  assert(block_max >= 4 && block_max <= KR_BLOCK_MAX);
  if (list == NULL) {
    return NULL;
  }
  list->mem = kr_mem_ref(mem);
  list->key_of = key_of;
  list->block_max = block_max;
  list->size = kr_skiplist_empty_size();
  atomic_init(&list->top, NULL);
  atomic_init(&list->changes, 0);
  atomic_init(&list->count, 0);
  return list;
}

struct kr_skiplist *kr_skiplist_new(struct kr_mem *mem, kr_key_of *key_of)
{
  return kr_skiplist_new_of(mem, key_of, KR_BLOCK_MAX);
}

void kr_skiplist_free(struct kr_skiplist *list)
{
  kr_skiplist_free_with(list, NULL);
}

void kr_skiplist_free_with(struct kr_skiplist *list, void (*free_value)(void *value))
{
  if (list != NULL) {
    struct kr_mem *mem = list->mem;

    kr_rebuild_free(mem, kr_skiplist_top(list), free_value);
    kr_free(mem, list);
    kr_mem_release(mem);
  }
}

size_t kr_skiplist_count(const struct kr_skiplist *list)
{
  return atomic_load_explicit(&list->count, memory_order_relaxed); /* see kr_skiplist_set_count */
}

size_t kr_skiplist_size(const struct kr_skiplist *list)
{
  return list->size;
}
