#ifndef KR_ZNODE_H
#define KR_ZNODE_H

#include "lib/location.h"
#include "lib/mem.h"

/* What HBase wrote into a znode, without the header that says who wrote it. out is a view into the
 * payload. Errors: CORRUPT the payload is empty, or ends inside its header.
 * Source: HBase RecoverableZooKeeper.removeMetaData */
int kr_znode_unwrap(struct keyroute_bytes *out, struct keyroute_bytes payload);

/* The znode meta-region-server: where one replica of hbase:meta is. One allocation. */
struct kr_meta_region_server {
  struct keyroute_bytes host; /* never empty, printable ASCII, NUL behind it */
  int port;                   /* 1 to 65535 */
  int64_t start_code;
  enum kr_region_state state; /* OPEN where the znode does not say */
};

/* Read such a znode's whole payload, header included.
 * out     release with kr_free(mem, out)
 * reason  receives a static text on CORRUPT
 * Errors: CORRUPT, NO_MEMORY.
 * Source: HBase ProtobufUtil.parseMetaServerNameFrom, ZooKeeper.proto */
int kr_meta_region_server_parse(struct kr_meta_region_server **out, struct kr_mem *mem,
                                struct keyroute_bytes payload, const char **reason);

#endif
