/*
 * How a call ended: the status with what came in the trailing metadata, and where it broke off.
 *
 *  1. Nothing of it is believed to be text, or to be there.
 *  2. gRPC tells by its own words alone that a name was not resolved or a message too long; so they
 *     are looked for here and nowhere else. A server that sends the same words means the same.
 *  3. A call that was given to a connection knows the other end's address; one that was not, only
 *     what its channel was asked for. A call that gRPC cancels, as it does with one that failed in
 *     the midst of a message, forgets the address; but its request has been sent by then.
 *
 * The client's thread.
 * Source: gRPC's doc/PROTOCOL-HTTP2.md (trailers), proposal A6 (grpc-retry-pushback-ms)
 */
#include "module/grpc_status.h"

#include <grpc/support/alloc.h>

#include <string.h>

static struct keyroute_bytes bytes(const grpc_slice *slice)
{
  return (struct keyroute_bytes){GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

static struct keyroute_bytes find(const grpc_metadata_array *metadata, const char *key)
{
  for (size_t i = 0; i < metadata->count; i++) {
    if (grpc_slice_str_cmp(metadata->metadata[i].key, key) == 0) {
      return bytes(&metadata->metadata[i].value);
    }
  }
  return (struct keyroute_bytes){NULL, 0};
}

/* A decimal number; -1 = none, or not one that a server may send. */
static int64_t read_pushback(struct keyroute_bytes text)
{
  const int64_t max = INT32_MAX;
  int64_t value = 0;

  for (size_t i = 0; i < text.len; i++) {
    unsigned digit = (unsigned)((const uint8_t *)text.data)[i] - '0';

    if (digit > 9 || value > max / 10) {
      return -1;
    }
    value = value * 10 + digit;
  }
  return text.len == 0 ? -1 : value;
}

static bool has_words(struct keyroute_bytes text, const char *words)
{
  return text.len > 0 && memmem(text.data, text.len, words, strlen(words)) != NULL;
}

bool kr_grpc_status_was_sent(const struct kr_grpc_stream *stream)
{
  if (atomic_load_explicit(&stream->was_sent, memory_order_relaxed)) {
    return true;
  }
  char *peer = grpc_call_get_peer(stream->call);
  bool is_address = strncmp(peer, "dns:", strlen("dns:")) != 0;

  gpr_free(peer);
  return is_address;
}

struct kr_grpc_status kr_grpc_status_read(const struct kr_grpc_stream *stream)
{
  struct keyroute_bytes message = bytes(&stream->text);
  bool sent = kr_grpc_status_was_sent(stream);

  return (struct kr_grpc_status){
      .code = (int)stream->code,
      .message = message,
      .details = find(&stream->trailing, "grpc-status-details-bin"),
      .pushback_ms = read_pushback(find(&stream->trailing, "grpc-retry-pushback-ms")),
      .connecting = !sent,
      .resolving = !sent && has_words(message, "DNS resolution failed"),
      .too_long = has_words(message, "message larger than max"),
  };
}
