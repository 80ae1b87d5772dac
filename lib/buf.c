/*
 * Reading what others sent, and writing what we send.
 *
 * A reader never believes a length: it compares it with what is left before it moves. This file and
 * its header are all that moves a read pointer, so they are all to check for over-reads.
 *
 *  1. `at` never passes `end`.
 *  2. Once `bad` is set it stays set, and every read gives zeros or empty bytes.
 *  3. A writer's memory grows by doubling; after a failed allocation it keeps what it had.
 */
#include "lib/buf.h"

#include "lib/bytes.h"

#include <string.h>

struct kr_reader kr_reader(struct keyroute_bytes bytes)
{
  static const uint8_t nothing;
  const uint8_t *data = bytes.len > 0 ? bytes.data : &nothing;

  return (struct kr_reader){data, data + bytes.len, false};
}

uint64_t kr_read_varint(struct kr_reader *reader)
{
  uint64_t value = 0;

  for (unsigned shift = 0; shift < 70; shift += 7) {
    uint8_t byte = kr_read_u8(reader);

    /* The tenth byte holds the one bit that is left. */
    if (reader->bad || (shift == 63 && byte > 1)) {
      break;
    }
    value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      return value;
    }
  }
  reader->bad = true;
  return 0;
}

void kr_buf_init(struct kr_buf *buf, struct kr_mem *mem)
{
  *buf = (struct kr_buf){.mem = mem};
}

void kr_buf_clear(struct kr_buf *buf)
{
  kr_free(buf->mem, buf->data);
  kr_buf_init(buf, buf->mem);
}

uint8_t *kr_buf_extend(struct kr_buf *buf, size_t len)
{
  if (buf->failed || len > SIZE_MAX / 2 - buf->len) {
    buf->failed = true;
    return NULL;
  }
  if (buf->len + len > buf->cap) {
    size_t cap = buf->cap > 0 ? buf->cap : 64;

    while (cap < buf->len + len) {
      cap *= 2;
    }
    uint8_t *data = kr_realloc(buf->mem, buf->data, cap);

    if (data == NULL) {
      buf->failed = true;
      return NULL;
    }
    buf->data = data;
    buf->cap = cap;
  }
  buf->len += len;
  return len > 0 ? buf->data + buf->len - len : buf->data; /* of no room there may be no data */
}

static void write_big_endian(struct kr_buf *buf, uint64_t value, unsigned width)
{
  uint8_t *to = kr_buf_extend(buf, width);

  for (unsigned i = 0; to != NULL && i < width; i++) {
    to[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
  }
}

void kr_buf_u8(struct kr_buf *buf, uint8_t value)
{
  write_big_endian(buf, value, 1);
}

void kr_buf_u32(struct kr_buf *buf, uint32_t value)
{
  write_big_endian(buf, value, 4);
}

void kr_buf_varint(struct kr_buf *buf, uint64_t value)
{
  for (; value >= 0x80; value >>= 7) {
    kr_buf_u8(buf, (uint8_t)(value | 0x80));
  }
  kr_buf_u8(buf, (uint8_t)value);
}

void kr_buf_bytes(struct kr_buf *buf, struct keyroute_bytes bytes)
{
  uint8_t *to = kr_buf_extend(buf, bytes.len);

  if (to != NULL && bytes.len > 0) {
    memcpy(to, bytes.data, bytes.len);
  }
}

void kr_buf_text(struct kr_buf *buf, const char *text)
{
  kr_buf_bytes(buf, keyroute_string(text));
}

struct keyroute_bytes kr_buf_view(const struct kr_buf *buf)
{
  return (struct keyroute_bytes){buf->data, buf->len};
}
