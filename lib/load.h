#ifndef KR_LOAD_H
#define KR_LOAD_H

#include "lib/stretch.h"

/* Put sorted values in the place of a stretch of which no value is left; if there are none, its
 * blocks are dropped, of which there must be several. Errors: NO_MEMORY, nothing has changed
 * then. */
int kr_load(struct kr_skiplist *list, const struct kr_stretch *stretch, void *const *values,
            size_t count);

#endif
