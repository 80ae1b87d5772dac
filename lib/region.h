#ifndef KR_REGION_H
#define KR_REGION_H

#include "lib/mem.h"

/* A region name "table,start,id.encoded." taken apart: the table ends at the first comma, the id
 * begins behind the last one. Views into the name. encoded is empty in old names ("t,a,123") and in
 * those of catalog regions ("hbase:meta,,1"). */
struct kr_region_name {
  struct keyroute_bytes table, start_key, encoded;
  int64_t id;
};

/* Names of primaries only, as catalog rows have them. Errors: CORRUPT. */
int kr_region_name_parse(struct kr_region_name *out, struct keyroute_bytes name);

/* The encoded name of a user table's region: hex digits and a NUL. (Regions of the catalog and
 * of old clusters have a number instead, made by another hash.)
 * Source: HBase RegionInfo.createRegionName */
enum { KR_REGION_ENCODED_LEN = 32 };
void kr_region_encoded_name(char out[KR_REGION_ENCODED_LEN + 1], struct keyroute_bytes table,
                            struct keyroute_bytes start_key, int64_t id, int replica);
/* The same of a name that is at hand, up to its id: "table,start,id". */
void kr_region_hash(char out[KR_REGION_ENCODED_LEN + 1], struct keyroute_bytes name);

/* How the id of a replica, not a negative one, is spelt behind the last comma of its region's name:
 * "id", and "id_RRRR" for others than the primary. Returns the length; no NUL is added. */
enum { KR_REGION_ID_ROOM = 32 };
size_t kr_region_id_text(char out[KR_REGION_ID_ROOM], int64_t id, int replica);

/* A RegionInfo value ("PBUF" + message), copied into one allocation. */
struct kr_region_info {
  struct keyroute_bytes table; /* canonical: without "default:" */
  struct keyroute_bytes start_key, end_key;
  int64_t id;
  int replica;
  bool offline, split;
};

/* out  released with kr_free(mem, out). Errors: CORRUPT, NO_MEMORY.
 * Source: HBase RegionInfo.parseFrom, HBase.proto */
int kr_region_info_parse(struct kr_region_info **out, struct kr_mem *mem,
                         struct keyroute_bytes value);

#endif
