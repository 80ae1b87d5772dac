#ifndef KR_REBUILD_H
#define KR_REBUILD_H

#include "lib/skiplist_state.h"

/* Where the writer stands in each lane, from the lowest up: a block, and in it the slot that leads
 * down; in lane 0 the gap right behind the key. */
struct kr_path_step {
  struct kr_block *block;
  size_t at;
  struct kr_block_span span;
};

struct kr_path {
  struct kr_path_step steps[KR_LANES_MAX];
  size_t lanes;
};

/* Find the way to a key. The list is not empty. */
void kr_path_find(struct kr_path *path, const struct kr_skiplist *list, struct keyroute_bytes key);

/* Put a value whose key is not there where the path leads. Errors: NO_MEMORY, nothing has changed
 * then. */
int kr_rebuild_put(struct kr_skiplist *list, struct kr_path *path, void *value);

/* A value was taken out of that block of lane 0: have what has become small share a block with its
 * neighbour. Where memory is short, some of it stays as it is. */
void kr_rebuild_shrink(struct kr_skiplist *list, struct keyroute_bytes key);

/* Free all blocks at once: no readers any more; or later: the list has just been emptied. */
void kr_rebuild_free(struct kr_mem *mem, struct kr_block *top);
void kr_rebuild_clear(struct kr_skiplist *list);

#endif
