#ifndef KR_WRITABLE_H
#define KR_WRITABLE_H

#include "lib/buf.h"

/* Values as Hadoop's Writable classes put them on the wire, which HBase before 0.96 speaks. All set
 * the reader's `bad`, or the writer's `failed`, as buf.c does. */

/* Which class a value is of: the codes that occur in what is asked and answered here.
 * Source: HBase 0.94 io.HbaseObjectWritable */
enum kr_writable_code {
  KR_WRITABLE_INT = 5,
  KR_WRITABLE_LONG = 6,
  KR_WRITABLE_STRING = 10,
  KR_WRITABLE_BYTES = 11,
  KR_WRITABLE_ANY = 14, /* of a null: then comes NULL, and the class it might have been of */
  KR_WRITABLE_NULL = 17,
  KR_WRITABLE_GET = 32,
  KR_WRITABLE_RESULT = 37,
  KR_WRITABLE_RESULTS = 38,
  KR_WRITABLE_SCAN = 39
};

/* A number in 1 to 9 bytes. */
int64_t kr_read_vint(struct kr_reader *reader);
void kr_write_vint(struct kr_buf *buf, int64_t value);

/* A vint and so many bytes: a byte array, or a text in UTF-8. A negative length is bad. */
struct keyroute_bytes kr_read_vbytes(struct kr_reader *reader);
void kr_write_vbytes(struct kr_buf *buf, struct keyroute_bytes bytes);

/* An int32 and so many bytes: a string of an exception. A negative length, Java's null, is empty.
 */
struct keyroute_bytes kr_read_string(struct kr_reader *reader);

/* One byte; anything but 0 and 1 is bad. */
bool kr_read_bool(struct kr_reader *reader);

void kr_write_u16(struct kr_buf *buf, uint16_t value);
void kr_write_u64(struct kr_buf *buf, uint64_t value);

/* Parameters of a call: the class's code, then the value. */
void kr_write_bytes_param(struct kr_buf *buf, struct keyroute_bytes bytes);
void kr_write_int_param(struct kr_buf *buf, int32_t value);
void kr_write_long_param(struct kr_buf *buf, int64_t value);

#endif
