#ifndef KR_CHANGE_H
#define KR_CHANGE_H

#include "lib/path.h"

/* At most so many blocks are made by a change that makes at most two in each lane. */
enum { KR_CHANGE_ROOM = 2 * KR_LANES_MAX + 1 };

/* A change of a skip list's blocks that is made ready: those made for it, and those on a path that
 * it replaces. The caller sets list and made. */
struct kr_change {
  struct kr_skiplist *list;
  struct kr_block **made; /* room of the caller's */
  struct kr_block *gone[2 * KR_LANES_MAX];
  size_t made_count, gone_count;
};

/* Make a block of part of a draft. NULL = out of memory. */
struct kr_block *kr_change_make(struct kr_change *change, const struct kr_draft *draft, size_t from,
                                size_t to, const struct kr_block_span *span);

/* Make one block of a draft, or two that meet at `middle`, unless that is its end. Returns how
 * many; 0 = out of memory. */
size_t kr_change_make_some(struct kr_block *blocks[2], struct kr_change *change,
                           const struct kr_draft *draft, const struct kr_block_span *span,
                           size_t middle);

/* It cannot be done: free what was made. Returns NO_MEMORY. */
int kr_change_abandon(struct kr_change *change);

/* Show the new block in the place of that of the path's lane, or as the list's top if the path has
 * no such lane. */
void kr_change_show(struct kr_change *change, const struct kr_path *path, size_t lane,
                    struct kr_block *block);

/* It was shown: free what it replaced, later. */
void kr_change_end(struct kr_change *change);

/* Both at once. */
void kr_change_publish(struct kr_change *change, const struct kr_path *path, size_t lane,
                       struct kr_block *block);

/* Free a block, which is not to be found any more, and all that it leads to, later. */
void kr_change_free_later(struct kr_skiplist *list, struct kr_block *block);

#endif
