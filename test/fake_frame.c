/*
 * How the scripted region server writes and reads.
 *
 * Source: HBase ipc.ServerCall (replies), KeyValueCodec, RegionMovedException, ResponseConverter
 */
#include "test/fake_frame.h"

#include "test/must.h"

#include <stdio.h>
#include <string.h>

/* ---- Numbers and bytes ---------------------------------------------------------------------- */

uint8_t *fake_out_extend(struct fake_out *out, size_t len)
{
  if (out->len + len > out->cap) {
    out->cap = 2 * (out->len + len);
    out->data = must(realloc(out->data, out->cap));
  }
  out->len += len;
  return out->data + out->len - len;
}

void fake_out_bytes(struct fake_out *out, const void *data, size_t len)
{
  if (len > 0) {
    memcpy(fake_out_extend(out, len), data, len);
  }
}

void fake_out_int(struct fake_out *out, uint64_t value, unsigned width)
{
  uint8_t *to = fake_out_extend(out, width);

  for (unsigned i = 0; i < width; i++) {
    to[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
  }
}

void fake_out_varint(struct fake_out *out, uint64_t value)
{
  for (; value >= 0x80; value >>= 7) {
    fake_out_int(out, (value & 0x7f) | 0x80, 1);
  }
  fake_out_int(out, value, 1);
}

void fake_out_packed(struct fake_out *out, const ProtobufCMessage *message)
{
  size_t len = protobuf_c_message_get_packed_size(message);

  if (len > 0) {
    protobuf_c_message_pack(message, fake_out_extend(out, len));
  }
}

void fake_out_message(struct fake_out *out, const ProtobufCMessage *message)
{
  fake_out_varint(out, protobuf_c_message_get_packed_size(message));
  fake_out_packed(out, message);
}

ProtobufCBinaryData fake_binary(struct keyroute_bytes bytes)
{
  return (ProtobufCBinaryData){bytes.len, (uint8_t *)(uintptr_t)bytes.data};
}

struct keyroute_bytes fake_bytes(ProtobufCBinaryData binary)
{
  return (struct keyroute_bytes){binary.data, binary.len};
}

int fake_bytes_compare(struct keyroute_bytes a, struct keyroute_bytes b)
{
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common > 0 ? memcmp(a.data, b.data, common) : 0;

  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool fake_bytes_equal(struct keyroute_bytes a, struct keyroute_bytes b)
{
  return fake_bytes_compare(a, b) == 0;
}

struct keyroute_bytes fake_bytes_copy(struct keyroute_bytes bytes)
{
  char *copy = must(malloc(bytes.len + 1));

  if (bytes.len > 0) {
    memcpy(copy, bytes.data, bytes.len);
  }
  copy[bytes.len] = '\0';
  return (struct keyroute_bytes){copy, bytes.len};
}

/* ---- Cells ---------------------------------------------------------------------------------- */

void fake_out_key_value(struct fake_out *out, const struct fake_key_value *cell)
{
  size_t key_len = 2 + cell->row.len + 1 + cell->family.len + cell->qualifier.len + 8 + 1;

  fake_out_int(out, 8 + key_len + cell->value.len, 4);
  fake_out_int(out, key_len, 4);
  fake_out_int(out, cell->value.len, 4);
  fake_out_int(out, cell->row.len, 2);
  fake_out_bytes(out, cell->row.data, cell->row.len);
  fake_out_int(out, cell->family.len, 1);
  fake_out_bytes(out, cell->family.data, cell->family.len);
  fake_out_bytes(out, cell->qualifier.data, cell->qualifier.len);
  fake_out_int(out, (uint64_t)cell->timestamp, 8);
  fake_out_int(out, cell->type, 1);
  fake_out_bytes(out, cell->value.data, cell->value.len);
}

void fake_cell_message(Kr__Pb__Cell *out, const struct fake_key_value *cell)
{
  kr__pb__cell__init(out);
  out->has_row = out->has_family = out->has_qualifier = out->has_timestamp = true;
  out->has_cell_type = out->has_value = true;
  out->row = fake_binary(cell->row);
  out->family = fake_binary(cell->family);
  out->qualifier = fake_binary(cell->qualifier);
  out->timestamp = (uint64_t)cell->timestamp;
  out->cell_type = cell->type;
  out->value = fake_binary(cell->value);
  out->has_tags = cell->tags.len > 0;
  out->tags = fake_binary(cell->tags);
}

/* ---- Replies -------------------------------------------------------------------------------- */

/* Put the length in front of what was written. */
static struct fake_out framed(struct fake_out *inner)
{
  struct fake_out frame = {0};

  fake_out_int(&frame, inner->len, 4);
  fake_out_bytes(&frame, inner->data, inner->len);
  free(inner->data);
  return frame;
}

struct fake_out fake_reply(uint32_t call_id, struct fake_out *body, struct fake_out *block)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  Kr__Pb__CellBlockMeta meta = KR__PB__CELL_BLOCK_META__INIT;
  struct fake_out inner = {0};

  header.has_call_id = true;
  header.call_id = call_id;
  meta.has_length = true;
  meta.length = (uint32_t)block->len;
  header.cell_block_meta = block->len > 0 ? &meta : NULL;
  fake_out_message(&inner, &header.base);
  fake_out_varint(&inner, body->len);
  fake_out_bytes(&inner, body->data, body->len);
  fake_out_bytes(&inner, block->data, block->len);
  free(body->data);
  free(block->data);
  return framed(&inner);
}

struct fake_exception fake_exception_of(const char *class_name, const char *text)
{
  struct fake_exception exception = {.text = ""};

  snprintf(exception.class_name, sizeof(exception.class_name), "%s", class_name);
  snprintf(exception.text, sizeof(exception.text), "%s", text != NULL ? text : "");
  return exception;
}

/* The first lines of a stack trace, the first of which carries all there is to know. */
static void write_trace(char *trace, size_t size, const struct fake_exception *exception)
{
  snprintf(trace, size, "%s%s%s\n\tat org.apache.hadoop.hbase.Fake(Fake.java:1)\n",
           exception->class_name, exception->text[0] != '\0' ? ": " : "", exception->text);
}

struct fake_out fake_exception_reply(uint32_t call_id, const struct fake_exception *from)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  Kr__Pb__ExceptionResponse exception = KR__PB__EXCEPTION_RESPONSE__INIT;
  struct fake_out inner = {0};
  char trace[700];

  write_trace(trace, sizeof(trace), from);
  exception.exception_class_name = (char *)(uintptr_t)from->class_name;
  exception.stack_trace = trace;
  exception.hostname = (char *)(uintptr_t)from->host;
  exception.has_port = from->host != NULL;
  exception.port = from->port;
  exception.has_do_not_retry = true;
  exception.do_not_retry = from->do_not_retry;
  exception.has_server_overloaded = from->overloaded;
  exception.server_overloaded = from->overloaded;
  header.has_call_id = true;
  header.call_id = call_id;
  header.exception = &exception;
  fake_out_message(&inner, &header.base);
  return framed(&inner);
}

Kr__Pb__NameBytesPair *fake_exception_message(const struct fake_exception *exception)
{
  Kr__Pb__NameBytesPair *pair = must(malloc(sizeof(*pair)));
  char trace[700];

  write_trace(trace, sizeof(trace), exception);
  kr__pb__name_bytes_pair__init(pair);
  pair->name = must(strdup(exception->class_name));
  pair->has_value = true;
  pair->value = fake_binary(fake_bytes_copy(keyroute_string(trace)));
  return pair;
}

/* ---- Bytes in ------------------------------------------------------------------------------- */

uint64_t fake_in_varint(const uint8_t **at, const uint8_t *end)
{
  uint64_t value = 0;

  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    uint8_t byte = *(*at)++;

    value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      break;
    }
  }
  return value;
}

ProtobufCBinaryData fake_in_piece(const uint8_t **at, const uint8_t *end)
{
  uint64_t len = fake_in_varint(at, end);

  must_work(len <= (uint64_t)(end - *at)); /* the client under test sent nonsense */
  *at += len;
  return (ProtobufCBinaryData){(size_t)len, (uint8_t *)(uintptr_t)*at - len};
}
