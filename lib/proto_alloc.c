/*
 * Lets protobuf-c allocate from the connection.
 *
 * protobuf-c takes a struct of two functions for everything it makes while unpacking a message;
 * given NULL it would use the C library's and the application's allocator would not see the memory.
 *
 * Invariants:
 *  1. A message is freed with an allocator made from the same kr_mem as the one it was unpacked
 *     with; the struct itself may be a fresh one, it only carries the pointer.
 *  2. A failed allocation makes unpack return NULL, just as unreadable bytes do. protobuf-c does
 *     not tell the two apart, so callers take NULL as "cannot be believed": with little memory left
 *     a good message may be called bad, and is asked for again.
 *
 * Threads: as kr_mem, any.
 */
#include "lib/proto_alloc.h"

static void *proto_alloc(void *data, size_t size)
{
  return kr_alloc(data, size);
}

static void proto_free(void *data, void *old)
{
  kr_free(data, old);
}

ProtobufCAllocator kr_proto_allocator(struct kr_mem *mem)
{
  return (ProtobufCAllocator){.alloc = proto_alloc, .free = proto_free, .allocator_data = mem};
}
