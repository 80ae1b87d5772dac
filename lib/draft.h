#ifndef KR_DRAFT_H
#define KR_DRAFT_H

#include "lib/block.h"

/* The most slots that a block has. */
enum { KR_BLOCK_MAX = KR_HEADS_MAX };

/* What one or two blocks shall be made of. Writer. */
struct kr_draft {
  kr_key_of *key_of;
  size_t count;
  size_t cut_len; /* what heads stand behind; SIZE_MAX = there are none yet */
  uint8_t lane;
  void *slots[2 * KR_BLOCK_MAX];
  int32_t heads[2 * KR_BLOCK_MAX];
};

/* There is nothing yet. */
void kr_draft_begin(struct kr_draft *draft, kr_key_of *key_of, size_t lane);
/* What is in a block, but for its empty slots; or in its slots from one to before another. */
void kr_draft_read(struct kr_draft *draft, kr_key_of *key_of, const struct kr_block *block);
void kr_draft_read_part(struct kr_draft *draft, kr_key_of *key_of, const struct kr_block *block,
                        size_t from, size_t to);
/* What is in a block of the same lane, further on, comes behind. */
void kr_draft_append(struct kr_draft *draft, const struct kr_block *block, size_t from, size_t to);

void kr_draft_insert(struct kr_draft *draft, size_t at, void *slot);
void kr_draft_remove(struct kr_draft *draft, size_t at);
void kr_draft_drop(struct kr_draft *draft, size_t count); /* the first so many */

/* A key that is above all before `at` and not above that one, as short as can be: a view into it.
 * 0 < at < count. */
struct keyroute_bytes kr_draft_fence(const struct kr_draft *draft, size_t at);

/* Where near the middle do the slots, at least four, fall apart best, so many at most on a side? */
size_t kr_draft_middle(const struct kr_draft *draft, size_t max);

/* Make a block of the slots from one to before another, at most KR_BLOCK_MAX. NULL = out of
 * memory. */
struct kr_block *kr_draft_make(const struct kr_draft *draft, struct kr_mem *mem, size_t from,
                               size_t to, const struct kr_block_span *span);

#endif
