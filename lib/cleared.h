#ifndef KR_CLEARED_H
#define KR_CLEARED_H

#include "lib/skiplist.h"

/* Lists of regions that were cleared, until each region has been evicted. All zero at first. Loop
 * thread. */
struct kr_cleared {
  struct kr_cleared_list *first;
  size_t count; /* of regions */
  size_t size;  /* memory that the lists take */
};

/* Move all regions of a list here, into an empty list made for them, which may be NULL and is
 * consumed. False = out of memory; nothing has changed then. */
bool kr_cleared_add(struct kr_cleared *cleared, struct kr_mem *mem, struct kr_skiplist *regions,
                    struct kr_skiplist *into);

/* Free the lists, and their regions by free_region. No readers any more. Also in a forked child. */
void kr_cleared_free(struct kr_cleared *cleared, void (*free_region)(void *region));

/* Take so many regions out, or all that there are if these are fewer; `taken` gets each. Returns
 * how many. */
size_t kr_cleared_take(struct kr_cleared *cleared, size_t max,
                       void (*taken)(void *region, void *arg), void *arg);

#endif
