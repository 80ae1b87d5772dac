#ifndef KR_STRETCH_H
#define KR_STRETCH_H

#include "lib/path.h"

/* A stretch of a skip list: all that is between two keys. In an empty list its paths have no
 * lanes. */
struct kr_stretch {
  struct kr_path left, right; /* in lane 0 to the first slot of the stretch, and behind its last */
  size_t meet;                /* the lowest lane in which both paths are in one block */
};

/* Find what is above one key and below another, which is higher; NULL = there is no such end. */
void kr_stretch_find(struct kr_stretch *stretch, const struct kr_skiplist *list,
                     const struct keyroute_bytes *low, const struct keyroute_bytes *high);

/* Take all its values out, in order, each by a store to its slot; `taken` gets each behind that.
 * Returns how many. */
size_t kr_stretch_empty(struct kr_skiplist *list, const struct kr_stretch *stretch,
                        void (*taken)(void *value, void *arg), void *arg);

/* Other blocks are found in its place: free those that lie in it as a whole, later. Its edges must
 * still be there. */
void kr_stretch_free_later(struct kr_skiplist *list, const struct kr_stretch *stretch);

#endif
