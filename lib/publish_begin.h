#ifndef KR_PUBLISH_BEGIN_H
#define KR_PUBLISH_BEGIN_H

#include "lib/publish_means.h"
#include "lib/publish_plan.h"
#include "lib/range_list.h"

/* The beginning of a range directory. */

struct kr_publish_beginning {
  struct kr_nodes meta1, meta2, map; /* none of them without a host */
  uint64_t map_id;
  const char *const *families; /* of map's table; none = that table stands already */
  size_t family_count;
};

/* Make a directory where there is none.
 *  after  receives the ranges: of meta1, meta2 and map
 * Errors: INVALID_ARGUMENT there is one, or what is asked cannot be; those of steps. */
int kr_publish_begin(struct kr_range_list *after, struct kr_publish_means *means,
                     const struct kr_publish_beginning *beginning, struct kr_failure *failure);

#endif
