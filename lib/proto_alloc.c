/*
 * Lets protobuf-c allocate from the connection.
 *
 * protobuf-c takes a struct of two functions for everything it makes while unpacking a message;
 * given NULL it would use the C library's and the application's allocator would not see the memory.
 *
 * Invariants:
 *  1. A message is freed with an allocator made from the same kr_mem as the one it was unpacked
 *     with; the struct itself may be a fresh one, it only carries the pointer.
 *  2. A failed allocation makes unpack return NULL, just as unreadable bytes do, and protobuf-c
 *     does not tell the two apart. The allocator that kr_proto_unpack hands in remembers whether
 *     it failed: with little memory left a good message is not called bad.
 *
 * Threads: as kr_mem, any.
 */
#include "lib/proto_alloc.h"

/* An allocator that remembers whether it failed. */
struct noting {
  struct kr_mem *mem;
  bool is_short;
};

static void *noting_alloc(void *data, size_t size)
{
  struct noting *noting = data;
  void *memory = kr_alloc(noting->mem, size);

  noting->is_short = noting->is_short || memory == NULL;
  return memory;
}

static void noting_free(void *data, void *old)
{
  struct noting *noting = data;

  kr_free(noting->mem, old);
}

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

void *kr_proto_unpack(const ProtobufCMessageDescriptor *descriptor, struct kr_mem *mem,
                      struct keyroute_bytes bytes, bool *is_short)
{
  struct noting noting = {mem, false};
  ProtobufCAllocator allocator = {noting_alloc, noting_free, &noting};
  ProtobufCMessage *message =
      protobuf_c_message_unpack(descriptor, &allocator, bytes.len, bytes.data);

  *is_short = message == NULL && noting.is_short;
  return message;
}
