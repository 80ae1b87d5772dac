#ifndef KR_RANGES_H
#define KR_RANGES_H

#include "keyroute/range.h"

#include "lib/publish_plan.h"
#include "lib/range_list.h"

/* What keyroute/range.h gives out. Filled in by whoever makes it, before it is given out. */
struct keyroute_ranges {
  struct kr_mem *mem; /* counted */
  struct kr_range_list list;
  enum kr_level level; /* of all of them */
  bool each_level;     /* but if one is of each level: meta1, meta2, map */
  size_t new_from;     /* those from here on are new ones */
  uint8_t *next;       /* from where to go on; NULL = there is no more */
  size_t next_len;
};

/* An empty one. NULL = out of memory. */
struct keyroute_ranges *kr_ranges_new(struct kr_mem *mem, enum kr_level level);

/* There is more behind it, from this key on. False = out of memory. */
bool kr_ranges_set_next(struct keyroute_ranges *ranges, struct keyroute_bytes next);

#endif
