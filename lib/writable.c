/*
 * Hadoop's Writable encodings, as far as HBase before 0.96 has use for them here.
 *
 *     vint     -112..127 in one byte; else one that says sign and count, then 1 to 8 bytes
 *              -113..-120: -112 minus it many bytes, the value
 *              -121..-128: -120 minus it many bytes, the value's complement
 *     bytes    vint length | bytes                    string   int32 length | UTF-8
 *     value    class code | what the class writes     null     ANY | NULL | class code
 *
 *  1. Numbers are written in the fewest bytes, as Hadoop does. Read are longer ones too: Hadoop
 *     reads them, and nothing here depends on their being the shortest.
 *  2. A class code is a vint; those in use fit into one byte.
 *  3. Nothing is allocated for a length that is read.
 *
 * Threads: any.  Source: Hadoop io.WritableUtils, HBase 0.94 util.Bytes, io.HbaseObjectWritable
 */
#include "lib/writable.h"

/* The ends of the one-byte numbers, and of the two rows of counts below them. */
enum { ONE_BYTE_MIN = -112, POSITIVE_MIN = -120 };

int64_t kr_read_vint(struct kr_reader *reader)
{
  int first = (int8_t)kr_read_u8(reader);

  if (first >= ONE_BYTE_MIN) {
    return first;
  }
  bool negative = first < POSITIVE_MIN;
  int count = (negative ? POSITIVE_MIN : ONE_BYTE_MIN) - first;
  uint64_t value = 0;

  for (int i = 0; i < count; i++) {
    value = value << 8 | kr_read_u8(reader);
  }
  if (reader->bad) {
    return 0;
  }
  return (int64_t)(negative ? ~value : value);
}

void kr_write_vint(struct kr_buf *buf, int64_t value)
{
  bool negative = value < 0;
  uint64_t rest = negative ? ~(uint64_t)value : (uint64_t)value;
  int count = 1;

  if (value >= ONE_BYTE_MIN && value <= INT8_MAX) {
    kr_buf_u8(buf, (uint8_t)value);
    return;
  }
  while (count < 8 && rest >> (8 * count) != 0) {
    count++;
  }
  kr_buf_u8(buf, (uint8_t)((negative ? POSITIVE_MIN : ONE_BYTE_MIN) - count));
  for (int i = count - 1; i >= 0; i--) {
    kr_buf_u8(buf, (uint8_t)(rest >> (8 * i)));
  }
}

struct keyroute_bytes kr_read_vbytes(struct kr_reader *reader)
{
  /* A negative length is huge here, and bad like any that is too long. */
  return kr_read_bytes(reader, (uint64_t)kr_read_vint(reader));
}

void kr_write_vbytes(struct kr_buf *buf, struct keyroute_bytes bytes)
{
  kr_write_vint(buf, (int64_t)bytes.len);
  kr_buf_bytes(buf, bytes);
}

struct keyroute_bytes kr_read_string(struct kr_reader *reader)
{
  int32_t len = (int32_t)kr_read_u32(reader);

  return kr_read_bytes(reader, len > 0 ? (uint64_t)len : 0);
}

bool kr_read_bool(struct kr_reader *reader)
{
  uint8_t value = kr_read_u8(reader);

  reader->bad = reader->bad || value > 1;
  return value == 1 && !reader->bad;
}

void kr_write_u16(struct kr_buf *buf, uint16_t value)
{
  kr_buf_u8(buf, (uint8_t)(value >> 8));
  kr_buf_u8(buf, (uint8_t)value);
}

void kr_write_u64(struct kr_buf *buf, uint64_t value)
{
  kr_buf_u32(buf, (uint32_t)(value >> 32));
  kr_buf_u32(buf, (uint32_t)value);
}

void kr_write_bytes_param(struct kr_buf *buf, struct keyroute_bytes bytes)
{
  kr_buf_u8(buf, KR_WRITABLE_BYTES);
  kr_write_vbytes(buf, bytes);
}

void kr_write_int_param(struct kr_buf *buf, int32_t value)
{
  kr_buf_u8(buf, KR_WRITABLE_INT);
  kr_buf_u32(buf, (uint32_t)value);
}

void kr_write_long_param(struct kr_buf *buf, int64_t value)
{
  kr_buf_u8(buf, KR_WRITABLE_LONG);
  kr_write_u64(buf, (uint64_t)value);
}
