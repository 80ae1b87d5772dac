#ifndef KR_DESCRIPTOR_H
#define KR_DESCRIPTOR_H

#include "lib/buf.h"

/* What the range directory says about one range: the value of an index row in meta1 and meta2, and
 * of the znode that says where meta1 is. */

/* A row key of the store has 4096 bytes at most, and that of an index row one more than the start
 * key. One is left to look for what is above all start keys of that length. */
enum { KR_DESCRIPTOR_KEY_MAX = 4094 };

enum { KR_DESCRIPTOR_REPLICAS_MAX = 255 };

/* The column of an index row that it stands in. */
#define KR_DESCRIPTOR_FAMILY "r"
#define KR_DESCRIPTOR_QUALIFIER "d"

struct kr_descriptor_replica {
  uint64_t node_id;
  struct keyroute_bytes host; /* an IPv6 address without brackets */
  uint16_t port;
};

struct kr_descriptor {
  uint64_t id;         /* of the range: that of its Bigtable table, "r<id>"; never 0 */
  uint64_t generation; /* grows: larger than that of any range it takes over keys from */
  struct keyroute_bytes start_key, end_key;     /* of its level's own keys */
  const struct kr_descriptor_replica *replicas; /* the leaseholder first */
  size_t replica_count;                         /* at least 1 */
};

/* Does the range hold a key of its level? */
bool kr_descriptor_holds(const struct kr_descriptor *descriptor, struct keyroute_bytes key);

/* Append the encoding: four bytes "KRD" and the version, and a RangeDescriptor (range.proto). */
void kr_descriptor_write(struct kr_buf *out, const struct kr_descriptor *descriptor);

/* Read it, into one allocation that owns all of it; released with kr_free(mem, out).
 * reason  receives a static text on CORRUPT
 * Errors: CORRUPT what it says cannot be; NO_MEMORY. */
int kr_descriptor_read(struct kr_descriptor **out, struct kr_mem *mem, struct keyroute_bytes value,
                       const char **reason);

/* The same of the message alone, as a refusal's status details carry it. */
int kr_descriptor_read_message(struct kr_descriptor **out, struct kr_mem *mem,
                               struct keyroute_bytes message, const char **reason);

#endif
