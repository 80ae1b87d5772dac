#ifndef KR_META_KEY_H
#define KR_META_KEY_H

#include "lib/buf.h"

/* Row keys of HBase's catalogs, "table,start key,id": the order in which servers hold them. */

/* The longest key that a server takes. Source: HBase HConstants.MAX_ROW_LENGTH */
enum { KR_META_KEY_MAX = 32767 };

/* The parts of a key; data NULL = there is no such part. */
struct kr_meta_key {
  struct keyroute_bytes table, start, id;
};
struct kr_meta_key kr_meta_key_split(struct keyroute_bytes key);

/* By table, by start key, by id; a part that is not there comes before one that is empty. */
int kr_meta_key_compare(struct keyroute_bytes a, struct keyroute_bytes b);

/* Append the highest key below this one that no region can have between it and this one. */
void kr_meta_key_write_below(struct kr_buf *out, struct keyroute_bytes key);

/* The table and the comma behind it, a view; empty where there is no comma. */
struct keyroute_bytes kr_meta_key_table(struct keyroute_bytes key);

#endif
