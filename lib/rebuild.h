#ifndef KR_REBUILD_H
#define KR_REBUILD_H

#include "lib/path.h"

/* Put a value whose key is not there where the path leads. Errors: NO_MEMORY, nothing has changed
 * then. */
int kr_rebuild_put(struct kr_skiplist *list, struct kr_path *path, void *value);

/* Values were taken out of the block of lane 0 that is for this key, or blocks out of those above:
 * have what has become small share a block with its neighbour. Where memory is short, some of it
 * stays as it is. */
void kr_rebuild_shrink(struct kr_skiplist *list, struct keyroute_bytes key);

/* Free all blocks at once, and have free_value (NULL = nobody) take each value: no readers any
 * more. */
void kr_rebuild_free(struct kr_mem *mem, struct kr_block *top, void (*free_value)(void *value));

/* Free all blocks later: the list has just been emptied. */
void kr_rebuild_clear(struct kr_skiplist *list);

#endif
