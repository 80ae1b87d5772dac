#ifndef KR_RANGE_LIST_H
#define KR_RANGE_LIST_H

#include "lib/descriptor.h"

/* Ranges, each a copy of its own. All zero but for mem is an empty one. */
struct kr_range_list {
  struct kr_mem *mem; /* borrowed */
  struct kr_descriptor **ranges;
  size_t count, room;
};

/* A copy of a descriptor, a NUL behind each host; kr_free. NULL = out of memory. */
struct kr_descriptor *kr_range_copy(struct kr_mem *mem, const struct kr_descriptor *range);

/* Put copies behind the others, in their order. False = out of memory: some may have been. */
bool kr_range_list_add(struct kr_range_list *list, const struct kr_descriptor *ranges,
                       size_t count);
void kr_range_list_clear(struct kr_range_list *list);

#endif
