#ifndef KR_PUBLISH_REQUEST_H
#define KR_PUBLISH_REQUEST_H

#include "lib/publish_plan.h"

/* What whoever changes the range directory asks for. */

enum kr_publish_kind { KR_PUBLISH_SPLIT, KR_PUBLISH_MERGE, KR_PUBLISH_MOVE };

struct kr_publish_request {
  enum kr_publish_kind kind;
  enum kr_level level;
  struct keyroute_bytes key; /* split: where the right one begins; merge: the left one's; move */
  uint64_t ids[2];           /* of map's: those of the new ranges. Move: 0 = it keeps its own */
  struct kr_nodes nodes[2];  /* a node without a host is one that the directory names */
};

#endif
