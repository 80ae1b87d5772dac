#ifndef KR_HBASE_RPC_H
#define KR_HBASE_RPC_H

#include "lib/proto/hbase.pb-c.h"
#include "lib/rpc_codec.h"

/* The frames of HBase's protobuf RPC, service ClientService, simple authentication. */
extern const struct kr_rpc_codec kr_hbase_codec;

/* Append a message, without a length. */
void kr_hbase_write_message(struct kr_buf *out, const ProtobufCMessage *message);

/* How a message names a region; and that as field 1 of a message whose rest is appended next. */
Kr__Pb__RegionSpecifier kr_hbase_region(struct keyroute_bytes name);
void kr_hbase_write_region(struct kr_buf *out, struct keyroute_bytes name);

#endif
