#ifndef KR_PUBLISH_SEND_H
#define KR_PUBLISH_SEND_H

#include "lib/bigtable_write.h"
#include "lib/directory.h"

/* Whoever makes a change, while it is made. */
struct kr_publisher {
  struct kr_publish_means *means;
  struct kr_directory *directory;
  const struct kr_descriptor *root; /* where meta1 is now */
  const struct kr_change *change;   /* for the journal; NULL = a directory is being begun */
  const char *const *families;      /* of the table of map's range that is made */
  size_t family_count;
};

/* Requests that write, each to one node or to several, waited for. Each returns 0 or the code that
 * failure then has: NO_MEMORY, or those of the means. */

/* May something be written, still? */
int kr_publish_may_write(const struct kr_publisher *publisher, struct kr_failure *failure);

/* Send a request about the table of a range, id 0 = none; param is emptied. */
int kr_publish_send(struct kr_publisher *publisher, const struct kr_descriptor_replica *node,
                    uint64_t id, const char *name, struct kr_buf *param, struct kr_buf *reply,
                    struct kr_failure *failure);

/* Change a row of a table on one node. */
int kr_publish_mutate(struct kr_publisher *publisher, const struct kr_descriptor_replica *node,
                      uint64_t id, const struct kr_bigtable_change *change,
                      struct kr_failure *failure);

/* The same on the leaseholder of a range, if a column says so; *made tells. As
 * kr_bigtable_write_check. Errors: also PROTOCOL. */
int kr_publish_mutate_checked(bool *made, struct kr_publisher *publisher,
                              const struct kr_descriptor *range,
                              const struct kr_bigtable_change *change, const char *qualifier,
                              const struct keyroute_bytes *value, struct kr_failure *failure);

/* The same on all its other nodes, unchecked. */
int kr_publish_mutate_others(struct kr_publisher *publisher, const struct kr_descriptor *range,
                             const struct kr_bigtable_change *change, struct kr_failure *failure);

#endif
