/*
 * A sorted map that one thread changes while others read it: what is at a key, and what is next to
 * it on either side?
 *
 * A linked list in key order (level 0), and above it sparser lists of the same nodes: a quarter of
 * each level also stands in the next. A walk goes right while the next key is small enough, then
 * one level down; at the bottom it stands in the gap between two neighbours, and every question
 * here is about one side of a gap.
 *
 *  1. A node's key, value and height never change once it is linked. Replacing a value swaps in a
 *     new node, because the key's bytes belong to the value and must go with it.
 *  2. A node is in the map while it is linked at level 0. One linked at level n is linked at all
 *     levels below: put links upwards from 0, take unlinks downwards to 0. So each change takes
 *     effect with one store, the one to a link of level 0.
 *  3. A node that was unlinked keeps its links as they were at that moment, for readers who stand
 *     on it.
 *  4. Unlinked nodes are freed after a grace period (rcu.h), and so must their values be.
 *  5. Every answer was true at one moment between the reader's start and its end, as it stood
 *     before or after each change, never a mixture: by 2 and 3 each node that a walk passes was in
 *     the map at some moment of that walk; it ends by reading one link of level 0, whose two ends
 *     were neighbours at that moment, or, if the left one was unlinked by then, just before that.
 *     So the answer comes from that very read; reading the link once more could break it.
 *
 * Threads: put and take from one writer at a time, new and free alone, the rest from any thread
 * inside a read section. Readers never wait or start over. There are no links backwards: they could
 * not change together with those forwards, and the left neighbour is where a walk stands anyway.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rcu.h"

#include <assert.h>
#include <stdatomic.h>

/* With a quarter of each level in the next, enough for 4^12 = 16 million entries. */
#define MAX_HEIGHT 12

struct node {
  struct kr_rcu_head rcu;    /* used once unlinked */
  struct kr_mem *mem;        /* counted, set once unlinked: the list may be gone before the node */
  struct keyroute_bytes key; /* borrowed from the value */
  void *value;
  int height;
  _Atomic(struct node *) next[]; /* one for each level */
};

struct kr_skiplist {
  struct kr_mem *mem; /* counted */
  struct node *head;  /* stands before all keys, has all levels, has no key */
  uint64_t random;    /* writer's */
  size_t size;        /* writer's */
  atomic_int height;  /* levels in use, at least 1; never shrinks */
  atomic_size_t count;
};

/* Two neighbours of level 0. */
struct gap {
  struct node *left;  /* the head if nothing is smaller */
  struct node *right; /* NULL if nothing is greater */
};

/* ---- Nodes and links ------------------------------------------------------------------------- */

/* Acquire: with the pointer, the reader sees the node's fields and links as they were set. */
static struct node *next_of(const struct node *node, int level)
{
  return atomic_load_explicit(&node->next[level], memory_order_acquire);
}

/* Release: all that was set in the node comes before the pointer that shows it to readers, and so
 * do all earlier changes of the list: what a reader sees never goes back in time. */
static void set_next(struct node *node, int level, struct node *to)
{
  atomic_store_explicit(&node->next[level], to, memory_order_release);
}

static size_t node_size(int height)
{
  return sizeof(struct node) + (size_t)height * sizeof(((struct node *)NULL)->next[0]);
}

static struct node *node_new(struct kr_mem *mem, struct keyroute_bytes key, void *value, int height)
{
  struct node *node = kr_alloc(mem, node_size(height));

  if (node == NULL) {
    return NULL;
  }
  node->key = key;
  node->value = value;
  node->height = height;
  for (int level = 0; level < height; level++) {
    atomic_init(&node->next[level], NULL);
  }
  return node;
}

static void node_free(struct kr_rcu_head *head)
{
  struct node *node = (struct node *)((char *)head - offsetof(struct node, rcu));
  struct kr_mem *mem = node->mem;

  kr_free(mem, node);
  kr_mem_release(mem);
}

static void node_retire(struct kr_skiplist *list, struct node *node)
{
  list->size -= kr_mem_taken(node_size(node->height));
  node->mem = kr_mem_ref(list->mem);
  kr_rcu_defer(&node->rcu, node_free);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/* Relaxed: a height that is out of date costs steps, not answers. Too low, the walk begins further
 * down; too high, it begins with links from the head that are still NULL. */
static int list_height(const struct kr_skiplist *list)
{
  return atomic_load_explicit(&list->height, memory_order_relaxed);
}

/* Find the gap right behind all keys below the given one, and with inclusive also behind the key
 * itself. left receives the last node before the gap for each level in use, unless it is NULL. */
static struct gap find_gap(const struct kr_skiplist *list, struct keyroute_bytes key,
                           bool inclusive, struct node **left)
{
  struct gap gap = {list->head, NULL};

  for (int level = list_height(list) - 1; level >= 0; level--) {
    /* Keys do not change: the node that was too great one level up need not be compared again. */
    struct node *too_great = gap.right;

    for (;;) {
      gap.right = next_of(gap.left, level);
      if (gap.right == NULL || gap.right == too_great ||
          kr_bytes_compare(gap.right->key, key) >= (inclusive ? 1 : 0)) {
        break;
      }
      gap.left = gap.right;
    }
    if (left != NULL) {
      left[level] = gap.left;
    }
  }
  return gap;
}

static void *left_value(const struct kr_skiplist *list, struct gap gap)
{
  return gap.left != list->head ? gap.left->value : NULL;
}

static void *right_value(struct gap gap)
{
  return gap.right != NULL ? gap.right->value : NULL;
}

/* The node with this key, or NULL. left as in find_gap. */
static struct node *find_node(const struct kr_skiplist *list, struct keyroute_bytes key,
                              struct node **left)
{
  struct gap gap = find_gap(list, key, false, left);

  return gap.right != NULL && kr_bytes_equal(gap.right->key, key) ? gap.right : NULL;
}

/* ---- The writer ------------------------------------------------------------------------------ */

/* A level more with a chance of 1 in 4. xorshift64, from the same seed in each list: runs repeat
 * exactly, and no order of keys is a bad one, since heights do not depend on keys. */
static int random_height(struct kr_skiplist *list)
{
  int height = 1;

  list->random ^= list->random << 13;
  list->random ^= list->random >> 7;
  list->random ^= list->random << 17;
  for (uint64_t bits = list->random >> 32; height < MAX_HEIGHT && (bits & 3) == 0; bits >>= 2) {
    height++;
  }
  return height;
}

size_t kr_skiplist_empty_size(void)
{
  return kr_mem_taken(sizeof(struct kr_skiplist)) + kr_mem_taken(node_size(MAX_HEIGHT));
}

struct kr_skiplist *kr_skiplist_new(struct kr_mem *mem)
{
  struct kr_skiplist *list = kr_alloc(mem, sizeof(*list));
  struct node *head = node_new(mem, kr_bytes(NULL, 0), NULL, MAX_HEIGHT);

  if (list == NULL || head == NULL) {
    kr_free(mem, head);
    kr_free(mem, list);
    return NULL;
  }
  list->mem = kr_mem_ref(mem);
  list->head = head;
  list->size = kr_skiplist_empty_size();
  list->random = 0x9e3779b97f4a7c15; /* any number but 0 */
  atomic_init(&list->height, 1);
  atomic_init(&list->count, 0);
  return list;
}

void kr_skiplist_free(struct kr_skiplist *list)
{
  struct kr_mem *mem;

  if (list == NULL) {
    return;
  }
  mem = list->mem;
  for (struct node *node = list->head, *next; node != NULL; node = next) {
    next = next_of(node, 0);
    kr_free(mem, node);
  }
  kr_free(mem, list);
  kr_mem_release(mem);
}

/* Relaxed: readers get a figure, nothing is derived from it. */
static void set_count(struct kr_skiplist *list, size_t count)
{
  atomic_store_explicit(&list->count, count, memory_order_relaxed);
}

/* The nodes to the left of a key at every level there is, used or not. */
static struct node *find_to_change(struct kr_skiplist *list, struct keyroute_bytes key,
                                   struct node **left)
{
  for (int level = 0; level < MAX_HEIGHT; level++) {
    left[level] = list->head;
  }
  return find_node(list, key, left);
}

/* Take a node out of its levels from the top down to, and with, the lowest. */
static void unlink_down_to(struct node *node, struct node **left, int lowest)
{
  for (int level = node->height - 1; level >= lowest; level--) {
    set_next(left[level], level, next_of(node, level));
  }
}

/* Link a node at all its levels from the bottom up. At level 0 it takes the place of old, unless
 * that is NULL; old stands in no other level any more. The node's links are set before anybody can
 * see it. */
static void link_up(struct kr_skiplist *list, struct node *node, struct node **left,
                    const struct node *old)
{
  set_next(node, 0, next_of(old != NULL ? old : left[0], 0));
  for (int level = 1; level < node->height; level++) {
    set_next(node, level, next_of(left[level], level));
  }
  for (int level = 0; level < node->height; level++) {
    set_next(left[level], level, node);
  }
  if (node->height > list_height(list)) {
    atomic_store_explicit(&list->height, node->height, memory_order_relaxed); /* see list_height */
  }
}

int kr_skiplist_put(struct kr_skiplist *list, struct keyroute_bytes key, void *value,
                    void **replaced)
{
  struct node *left[MAX_HEIGHT];
  struct node *old = find_to_change(list, key, left);
  struct node *node =
      node_new(list->mem, key, value, old != NULL ? old->height : random_height(list));

  assert(value != NULL); /* NULL is the answer "none" */
  if (node == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  *replaced = old != NULL ? old->value : NULL;
  list->size += kr_mem_taken(node_size(node->height));
  if (old == NULL) {
    link_up(list, node, left, NULL);
    set_count(list, kr_skiplist_count(list) + 1);
  } else {
    unlink_down_to(old, left, 1);
    link_up(list, node, left, old);
    node_retire(list, old);
  }
  return 0;
}

void *kr_skiplist_take(struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct node *left[MAX_HEIGHT];
  struct node *node = find_to_change(list, key, left);
  void *value;

  if (node == NULL) {
    return NULL;
  }
  value = node->value;
  unlink_down_to(node, left, 0);
  set_count(list, kr_skiplist_count(list) - 1);
  node_retire(list, node);
  return value;
}

/* ---- Readers --------------------------------------------------------------------------------- */

void *kr_skiplist_find(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  struct node *node = find_node(list, key, NULL);

  return node != NULL ? node->value : NULL;
}

void *kr_skiplist_floor(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  return left_value(list, find_gap(list, key, true, NULL));
}

void *kr_skiplist_lower(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  return left_value(list, find_gap(list, key, false, NULL));
}

void *kr_skiplist_higher(const struct kr_skiplist *list, struct keyroute_bytes key)
{
  return right_value(find_gap(list, key, true, NULL));
}

void *kr_skiplist_first(const struct kr_skiplist *list)
{
  return right_value((struct gap){list->head, next_of(list->head, 0)});
}

void *kr_skiplist_last(const struct kr_skiplist *list)
{
  struct gap gap = {list->head, NULL};

  for (int level = list_height(list) - 1; level >= 0; level--) {
    for (struct node *next; (next = next_of(gap.left, level)) != NULL;) {
      gap.left = next;
    }
  }
  return left_value(list, gap);
}

size_t kr_skiplist_count(const struct kr_skiplist *list)
{
  return atomic_load_explicit(&list->count, memory_order_relaxed); /* see set_count */
}

size_t kr_skiplist_size(const struct kr_skiplist *list)
{
  return list->size;
}

/* One after another: this list has nothing to gain from knowing the keys together. */
void kr_skiplist_floor_many(const struct kr_skiplist *list, void **values,
                            const struct keyroute_bytes *keys, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    values[i] = kr_skiplist_floor(list, keys[i]);
  }
}
