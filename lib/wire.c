/*
 * How is a field of a message written? Its number and kind in one varint, then what it holds.
 *
 * protobuf-c does that for messages that have a generated type. Here are the few that are small and
 * written in one place, or put in front of bytes that a caller has encoded.
 *
 * Threads: any.  Source: Protocol Buffers Encoding
 */
#include "lib/wire.h"

void kr_wire_put_number(struct kr_buf *out, unsigned field, uint64_t number)
{
  kr_buf_varint(out, KR_WIRE_NUMBER(field));
  kr_buf_varint(out, number);
}

void kr_wire_put_bytes(struct kr_buf *out, unsigned field, struct keyroute_bytes bytes)
{
  kr_buf_varint(out, KR_WIRE_BYTES(field));
  kr_buf_varint(out, bytes.len);
  kr_buf_bytes(out, bytes);
}

void kr_wire_put_message(struct kr_buf *out, unsigned field, struct kr_buf *message)
{
  kr_wire_put_bytes(out, field, kr_buf_view(message));
  out->failed = out->failed || message->failed;
  kr_buf_clear(message);
}
