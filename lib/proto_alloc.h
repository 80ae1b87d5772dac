#ifndef KR_PROTO_ALLOC_H
#define KR_PROTO_ALLOC_H

#include <protobuf-c/protobuf-c.h>

#include "lib/mem.h"

/* What protobuf-c's unpack and free calls take, on top of a connection's allocator. mem is
 * borrowed: it must outlive the messages. A message is freed with what unpacked it. */
ProtobufCAllocator kr_proto_allocator(struct kr_mem *mem);

#endif
