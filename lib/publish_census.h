#ifndef KR_PUBLISH_CENSUS_H
#define KR_PUBLISH_CENSUS_H

#include "lib/directory.h"
#include "lib/publish_request.h"

/* What a request needs to know of all ranges of the directory. */
struct kr_census {
  const struct kr_publish_request *request;
  struct kr_mem *mem;
  struct kr_descriptor *before, *holder, *next; /* of the key; NULL = none. Own copies */
  bool overlaps;                                /* two ranges of the level hold the key */
  uint64_t top_id;                              /* the largest that this library gave */
  uint64_t used_id;                     /* one of those asked for, which a range has; 0 = none */
  enum kr_level used_by;                /* a range of this level */
  struct kr_nodes nodes[2];             /* the request's, each with its host */
  struct kr_descriptor_replica *places; /* theirs */
  char **hosts;                         /* those that were looked for */
  size_t place_count;
};

/* Take it. kr_census_clear, also after an error. Errors: those of reading; INVALID_ARGUMENT the
 * directory names no such node. */
int kr_census_take(struct kr_census *out, struct kr_directory *directory,
                   const struct kr_publish_request *request, struct kr_failure *failure);
void kr_census_clear(struct kr_census *census);

#endif
