#ifndef KR_PROTO_ALLOC_H
#define KR_PROTO_ALLOC_H

#include "lib/mem.h"

#include <protobuf-c/protobuf-c.h>

/* Unpack a message of the type that descriptor describes (kr__pb__..._descriptor). NULL = it
 * cannot be read or, where *is_short is set, memory ran short. Freed with protobuf-c's call for
 * its type and kr_proto_allocator(mem). */
void *kr_proto_unpack(const ProtobufCMessageDescriptor *descriptor, struct kr_mem *mem,
                      struct keyroute_bytes bytes, bool *is_short);

/* A field's bytes. */
static inline struct keyroute_bytes kr_proto_bytes(ProtobufCBinaryData data)
{
  return (struct keyroute_bytes){data.data, data.len};
}

/* And the other way; protobuf-c has no const, packing only reads. */
static inline ProtobufCBinaryData kr_proto_binary(struct keyroute_bytes bytes)
{
  return (ProtobufCBinaryData){.len = bytes.len, .data = (uint8_t *)(uintptr_t)bytes.data};
}

/* What protobuf-c's free calls take, on top of a connection's allocator. mem is borrowed: it must
 * outlive the messages. */
ProtobufCAllocator kr_proto_allocator(struct kr_mem *mem);

#endif
