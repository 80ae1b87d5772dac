#ifndef KR_HBASE_RPC_H
#define KR_HBASE_RPC_H

#include "lib/rpc.h"

#include <protobuf-c/protobuf-c.h>

/* The frames of HBase's protobuf RPC, service ClientService, simple authentication. */
extern const struct kr_rpc_codec kr_hbase_codec;

/* Append a message, without a length. */
void kr_hbase_write_message(struct kr_buf *out, const ProtobufCMessage *message);

#endif
