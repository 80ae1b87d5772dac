#ifndef KR_BUF_H
#define KR_BUF_H

#include "lib/bytes.h"
#include "lib/mem.h"

/* Reads what somebody else sent. The only code that moves a read pointer: a read that would go past
 * the end sets `bad`, returns zeros or empty bytes, and every later read does the same, so that a
 * parser may read all its fields and check `bad` once. Inline, for a cell of a row is ten reads of
 * a few bytes each. */
struct kr_reader {
  const uint8_t *at;
  const uint8_t *end;
  bool bad;
};

struct kr_reader kr_reader(struct keyroute_bytes bytes);
uint64_t kr_read_varint(struct kr_reader *reader); /* protobuf base-128, at most 10 bytes */

static inline size_t kr_reader_left(const struct kr_reader *reader)
{
  return reader->bad ? 0 : (size_t)(reader->end - reader->at);
}

/* Move over len bytes and give where they began, or NULL. */
static inline const uint8_t *kr_reader_advance(struct kr_reader *reader, uint64_t len)
{
  if (reader->bad || len > (uint64_t)(reader->end - reader->at)) {
    reader->bad = true;
    return NULL;
  }
  reader->at += len;
  return reader->at - len;
}

static inline struct keyroute_bytes kr_read_bytes(struct kr_reader *reader, uint64_t len)
{
  const uint8_t *from = kr_reader_advance(reader, len);

  return from != NULL ? kr_bytes(from, (size_t)len) : kr_bytes(NULL, 0);
}

/* Numbers are big-endian. */
static inline uint8_t kr_read_u8(struct kr_reader *reader)
{
  const uint8_t *from = kr_reader_advance(reader, 1);

  return from != NULL ? *from : 0;
}

static inline uint16_t kr_read_u16(struct kr_reader *reader)
{
  const uint8_t *from = kr_reader_advance(reader, 2);

  return (uint16_t)(from != NULL ? from[0] << 8 | from[1] : 0);
}

static inline uint32_t kr_read_u32(struct kr_reader *reader)
{
  const uint8_t *from = kr_reader_advance(reader, 4);

  return from != NULL ? kr_bytes_four(from) : 0;
}

static inline uint64_t kr_read_u64(struct kr_reader *reader)
{
  const uint8_t *from = kr_reader_advance(reader, 8);

  return from != NULL ? kr_bytes_eight(from) : 0;
}

/* Writes a message. A failed allocation sets `failed` and every later write does nothing, so that a
 * writer may write all its fields and check `failed` once. */
struct kr_buf {
  struct kr_mem *mem; /* borrowed */
  uint8_t *data;
  size_t len;
  size_t cap;
  bool failed;
};

void kr_buf_init(struct kr_buf *buf, struct kr_mem *mem);
void kr_buf_clear(struct kr_buf *buf);                  /* release the memory */
uint8_t *kr_buf_extend(struct kr_buf *buf, size_t len); /* room for len bytes, or NULL */
void kr_buf_u8(struct kr_buf *buf, uint8_t value);
void kr_buf_u32(struct kr_buf *buf, uint32_t value);
void kr_buf_varint(struct kr_buf *buf, uint64_t value);
void kr_buf_bytes(struct kr_buf *buf, struct keyroute_bytes bytes);
void kr_buf_text(struct kr_buf *buf, const char *text);
struct keyroute_bytes kr_buf_view(const struct kr_buf *buf);

#endif
