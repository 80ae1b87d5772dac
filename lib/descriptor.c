/*
 * What do the bytes of a descriptor say? That is what the range directory holds about one range.
 *
 * Four bytes come first, "KRD" and a version, then a RangeDescriptor. They tell a descriptor from
 * whatever else a cell or a znode may hold, and a version that changes what the fields mean from
 * this one. Fields that are merely added are stepped over.
 *
 *  1. Anybody who may write to the index, to ZooKeeper, or to us can put anything here: nothing
 *     that is given out is outside what descriptor.h says of it, and a host that holds other than
 *     printable, unspaced ASCII is refused before it reaches a resolver or a log.
 *  2. Each refusal has its own static text, for it is the publisher's fault and has to be found
 *     there.
 *  3. What is read is not held against anything else: whether it belongs to its row, or may follow
 *     the one before, is for the catalog to say.
 *
 * Pure: any thread. Source: range.proto; Protocol Buffers Encoding
 */
#include "lib/descriptor.h"

#include "lib/bytes.h"
#include "lib/error.h"
#include "lib/proto/range.pb-c.h"
#include "lib/proto_alloc.h"
#include "lib/wire.h"

#include <string.h>

#define MAGIC 0x4b5244u /* "KRD" */
enum { VERSION = 1 };

/* The longest descriptor there can be, and something for what later versions may add. */
enum { LEN_MAX = 256 * 1024 };

bool kr_descriptor_holds(const struct kr_descriptor *descriptor, struct keyroute_bytes key)
{
  return kr_bytes_compare(descriptor->start_key, key) <= 0 &&
         (descriptor->end_key.len == 0 || kr_bytes_compare(key, descriptor->end_key) < 0);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_replica(struct kr_buf *out, const struct kr_descriptor_replica *replica)
{
  struct kr_buf message;

  kr_buf_init(&message, out->mem);
  kr_wire_put_number(&message, 1, replica->node_id);
  kr_wire_put_bytes(&message, 2, replica->host);
  kr_wire_put_number(&message, 3, replica->port);
  kr_wire_put_message(out, 5, &message);
}

void kr_descriptor_write(struct kr_buf *out, const struct kr_descriptor *descriptor)
{
  kr_buf_u32(out, MAGIC << 8 | VERSION);
  kr_wire_put_number(out, 1, descriptor->id);
  kr_wire_put_number(out, 2, descriptor->generation);
  kr_wire_put_bytes(out, 3, descriptor->start_key);
  kr_wire_put_bytes(out, 4, descriptor->end_key);
  for (size_t i = 0; i < descriptor->replica_count; i++) {
    put_replica(out, &descriptor->replicas[i]);
  }
}

/* ---- What cannot be -------------------------------------------------------------------------- */

/* Why bytes are no descriptor's; else where its message stands. */
static const char *find_message(struct keyroute_bytes *message, struct keyroute_bytes value)
{
  struct kr_reader reader = kr_reader(value);
  uint32_t head = kr_read_u32(&reader);

  if (value.len == 0) {
    return "it is empty";
  }
  if (head >> 8 != MAGIC) {
    return "it holds no descriptor";
  }
  if ((head & 0xff) != VERSION) {
    return (head & 0xff) > VERSION ? "its descriptor is of a newer version"
                                   : "its descriptor is of no version";
  }
  *message = kr_read_bytes(&reader, kr_reader_left(&reader));
  return NULL;
}

static const char *object_to_host(struct keyroute_bytes host)
{
  const char *text = host.data;

  if (host.len == 0) {
    return "a replica of its descriptor has no host";
  }
  if (host.len > KR_HOST_MAX) {
    return "a replica of its descriptor has too long a host name";
  }
  for (size_t i = 0; i < host.len; i++) {
    if (text[i] <= ' ' || text[i] > '~') {
      return "a replica of its descriptor has strange bytes in its host name";
    }
  }
  return NULL;
}

static const char *object_to_replica(const Keyroute__RangeReplica *replica)
{
  if (!replica->has_port || replica->port == 0 || replica->port > UINT16_MAX) {
    return "a replica of its descriptor has no proper port";
  }
  return object_to_host(kr_proto_bytes(replica->host));
}

static const char *object_to_replicas(const Keyroute__RangeDescriptor *message)
{
  const char *wrong = NULL;

  if (message->n_replicas == 0) {
    return "its descriptor names no replica";
  }
  if (message->n_replicas > KR_DESCRIPTOR_REPLICAS_MAX) {
    return "its descriptor names too many replicas";
  }
  for (size_t i = 0; i < message->n_replicas && wrong == NULL; i++) {
    wrong = object_to_replica(message->replicas[i]);
  }
  return wrong;
}

static const char *object_to_bounds(const Keyroute__RangeDescriptor *message)
{
  struct keyroute_bytes start = kr_proto_bytes(message->start_key);
  struct keyroute_bytes end = kr_proto_bytes(message->end_key);

  if (start.len > KR_DESCRIPTOR_KEY_MAX) {
    return "its descriptor has too long a start key";
  }
  if (end.len > KR_DESCRIPTOR_KEY_MAX) {
    return "its descriptor has too long an end key";
  }
  if (end.len > 0 && kr_bytes_compare(end, start) <= 0) {
    return "its descriptor ends at or below its start key";
  }
  return NULL;
}

/* Why a message describes no range; NULL = it does. */
static const char *object_to(const Keyroute__RangeDescriptor *message)
{
  if (message == NULL) {
    return "its descriptor cannot be read";
  }
  if (message->id == 0) {
    return "its descriptor has no id";
  }
  if (message->generation > INT64_MAX) {
    return "its descriptor has too large a generation";
  }
  const char *wrong = object_to_bounds(message);

  return wrong != NULL ? wrong : object_to_replicas(message);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Room for all that a message points to. */
static size_t text_len(const Keyroute__RangeDescriptor *message)
{
  size_t len = message->start_key.len + message->end_key.len;

  for (size_t i = 0; i < message->n_replicas; i++) {
    len += message->replicas[i]->host.len;
  }
  return len;
}

/* Copy what a message says into one allocation; NULL = out of memory. */
static struct kr_descriptor *descriptor_new(struct kr_mem *mem,
                                            const Keyroute__RangeDescriptor *message)
{
  struct kr_descriptor_replica *replicas;
  size_t count = message->n_replicas;
  struct kr_descriptor *descriptor =
      kr_alloc(mem, sizeof(*descriptor) + count * sizeof(*replicas) + text_len(message));

  if (descriptor == NULL) {
    return NULL;
  }
  replicas = (struct kr_descriptor_replica *)(descriptor + 1);
  uint8_t *to = (uint8_t *)(replicas + count);

  *descriptor = (struct kr_descriptor){
      .id = message->id,
      .generation = message->generation,
      .start_key = kr_bytes_put(&to, kr_proto_bytes(message->start_key)),
      .end_key = kr_bytes_put(&to, kr_proto_bytes(message->end_key)),
      .replicas = replicas,
      .replica_count = count,
  };
  for (size_t i = 0; i < count; i++) {
    const Keyroute__RangeReplica *replica = message->replicas[i];

    replicas[i] = (struct kr_descriptor_replica){
        .node_id = replica->node_id,
        .host = kr_bytes_put(&to, kr_proto_bytes(replica->host)),
        .port = (uint16_t)replica->port,
    };
  }
  return descriptor;
}

int kr_descriptor_read_message(struct kr_descriptor **out, struct kr_mem *mem,
                               struct keyroute_bytes body, const char **reason)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  struct kr_descriptor *descriptor = NULL;
  Keyroute__RangeDescriptor *message;
  bool is_short;

  if (body.len > LEN_MAX) {
    *reason = "its descriptor is too long";
    return KEYROUTE_E_CORRUPT;
  }
  message = kr_proto_unpack(&keyroute__range_descriptor__descriptor, mem, body, &is_short);
  if (is_short) {
    return KEYROUTE_E_NO_MEMORY;
  }
  const char *wrong = object_to(message);

  if (wrong == NULL) {
    descriptor = descriptor_new(mem, message);
  } else {
    *reason = wrong;
  }
  if (message != NULL) {
    keyroute__range_descriptor__free_unpacked(message, &allocator);
  }
  if (descriptor == NULL) {
    return wrong != NULL ? KEYROUTE_E_CORRUPT : KEYROUTE_E_NO_MEMORY;
  }
  *out = descriptor;
  return 0;
}

int kr_descriptor_read(struct kr_descriptor **out, struct kr_mem *mem, struct keyroute_bytes value,
                       const char **reason)
{
  struct keyroute_bytes message = {NULL, 0};
  const char *wrong = find_message(&message, value);

  if (wrong != NULL) {
    *reason = wrong;
    return KEYROUTE_E_CORRUPT;
  }
  return kr_descriptor_read_message(out, mem, message, reason);
}
