#ifndef KR_BUF_H
#define KR_BUF_H

#include "lib/mem.h"

/* Reads what somebody else sent. The only code that moves a read pointer: a read that would go past
 * the end sets `bad`, returns zeros or empty bytes, and every later read does the same, so that a
 * parser may read all its fields and check `bad` once. */
struct kr_reader {
  const uint8_t *at;
  const uint8_t *end;
  bool bad;
};

struct kr_reader kr_reader(struct keyroute_bytes bytes);
size_t kr_reader_left(const struct kr_reader *reader);
uint8_t kr_read_u8(struct kr_reader *reader);
uint16_t kr_read_u16(struct kr_reader *reader); /* big-endian, as all of them */
uint32_t kr_read_u32(struct kr_reader *reader);
uint64_t kr_read_u64(struct kr_reader *reader);
uint64_t kr_read_varint(struct kr_reader *reader); /* protobuf base-128, at most 10 bytes */
struct keyroute_bytes kr_read_bytes(struct kr_reader *reader, uint64_t len);

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
