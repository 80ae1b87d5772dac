#ifndef KR_PUBLISH_MEANS_H
#define KR_PUBLISH_MEANS_H

#include "lib/descriptor.h"
#include "lib/error.h"
#include "lib/scan.h"
#include "lib/transport.h"

/* What whoever changes the range directory acts through: the nodes, and what says where meta1 is.
 * All of it blocks the thread that publishes. Each returns 0 or the code that failure then has. */
struct kr_publish_means;

/* Receives what a scan brought; the publishing thread waits meanwhile. */
typedef void (*kr_publish_take)(void *arg, const struct kr_rows *rows);

struct kr_publish_ops {
  /* Scan a table of one node; scan->region names the table as kr_directory_table writes it. */
  int (*scan)(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
              const struct kr_scan *scan, kr_publish_take take, void *arg,
              struct kr_failure *failure);

  /* Send a request to one node; the answer is appended to reply. */
  int (*call)(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
              const struct kr_method *method, struct kr_buf *reply, struct kr_failure *failure);

  /* Read the descriptor of meta1, appended to data; *version is -1, and nothing is appended, if
   * there is none. */
  int (*read_root)(struct kr_publish_means *means, struct kr_buf *data, int64_t *version,
                   struct kr_failure *failure);

  /* Write it, if it has this version still; -1 = if there is none. */
  int (*write_root)(struct kr_publish_means *means, struct keyroute_bytes data, int64_t version,
                    struct kr_failure *failure);

  /* Is this still the one that may publish? Asked before each write. */
  int (*check)(struct kr_publish_means *means, struct kr_failure *failure);
};

/* The first field of all means. */
struct kr_publish_means {
  const struct kr_publish_ops *ops;
  struct kr_mem *mem;
  const char *znode; /* what says where meta1 is, for messages; borrowed; NULL = no znode does */
  bool fixed; /* where meta1 is was written down for each client: it cannot be told to them */
};

#endif
