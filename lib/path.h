#ifndef KR_PATH_H
#define KR_PATH_H

#include "lib/skiplist_state.h"

/* Where the writer of a skip list stands in each lane, from the lowest up: a block, and in it the
 * slot that leads down; in lane 0 the gap. */
struct kr_path_step {
  struct kr_block *block;
  size_t at;
  struct kr_block_span span;
};

struct kr_path {
  struct kr_path_step steps[KR_LANES_MAX];
  size_t lanes;
};

/* Find the way to the gap right behind a key, right below it, or behind all. The list is not
 * empty. */
void kr_path_find(struct kr_path *path, const struct kr_skiplist *list, struct keyroute_bytes key);
void kr_path_find_below(struct kr_path *path, const struct kr_skiplist *list,
                        struct keyroute_bytes key);
void kr_path_find_end(struct kr_path *path, const struct kr_skiplist *list);

/* The span of the block in a slot of a step above lane 0. */
struct kr_block_span kr_path_span(const struct kr_path_step *step, size_t at);

#endif
