#ifndef KR_PROTO_ALLOC_H
#define KR_PROTO_ALLOC_H

#include <protobuf-c/protobuf-c.h>

#include "lib/mem.h"

/* Unpack a message of the type that descriptor describes (kr__pb__..._descriptor). NULL = it
 * cannot be read or, where *is_short is set, memory ran short. Freed with protobuf-c's call for
 * its type and kr_proto_allocator(mem). */
void *kr_proto_unpack(const ProtobufCMessageDescriptor *descriptor, struct kr_mem *mem,
                      struct keyroute_bytes bytes, bool *is_short);

/* What protobuf-c's free calls take, on top of a connection's allocator. mem is borrowed: it must
 * outlive the messages. */
ProtobufCAllocator kr_proto_allocator(struct kr_mem *mem);

#endif
