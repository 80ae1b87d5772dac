/*
 * What HBase 0.94 answers: one row, many, or a number, with the code of its class in front.
 *
 *     one row   RESULT | RESULT | int32 length | KeyValues          none   ANY | NULL | RESULT
 *     many      RESULTS | 1 | int32 count | int32 length | for each: int32 cells | KeyValues
 *               RESULTS | 1 | 0                                     none   ANY | NULL | RESULTS
 *     number    LONG | int64
 *
 *  1. A row without cells is none: that is how a server says so of a row that is not there.
 *  2. Lengths and counts must add up to the answer exactly.
 *  3. Nothing is allocated here, so nothing is for what is only claimed.
 *
 * Threads: any.  Source: HBase 0.94 client.Result, io.HbaseObjectWritable
 */
#include "lib/hbase094_result.h"

#include "lib/bytes.h"

enum { RESULTS_VERSION = 1 };

/* Is what comes next a null of this class? The reader is behind it then, else where it was. */
static bool take_null(struct kr_reader *reader, uint8_t code)
{
  struct kr_reader ahead = *reader;
  uint8_t any = kr_read_u8(&ahead);
  uint8_t null = kr_read_u8(&ahead);
  uint8_t of = kr_read_u8(&ahead);

  if (ahead.bad || any != KR_WRITABLE_ANY || null != KR_WRITABLE_NULL || of != code) {
    return false;
  }
  *reader = ahead;
  return true;
}

static const char *check_end(const struct kr_reader *reader)
{
  return reader->bad || kr_reader_left(reader) > 0 ? "an unreadable value" : NULL;
}

const char *kr_hbase094_read_result(struct keyroute_bytes *cells, struct keyroute_bytes body)
{
  struct kr_reader reader = kr_reader(body);

  *cells = kr_bytes(NULL, 0);
  if (take_null(&reader, KR_WRITABLE_RESULT)) {
    return check_end(&reader);
  }
  uint8_t declared = kr_read_u8(&reader);
  uint8_t actual = kr_read_u8(&reader);

  if (reader.bad || declared != KR_WRITABLE_RESULT || actual != KR_WRITABLE_RESULT) {
    return "a value of another class than a row";
  }
  *cells = kr_read_bytes(&reader, kr_read_u32(&reader));
  return check_end(&reader);
}

const char *kr_hbase094_read_results(size_t *count, struct kr_reader *out,
                                     struct keyroute_bytes body)
{
  struct kr_reader reader = kr_reader(body);

  *count = 0;
  *out = kr_reader(kr_bytes(NULL, 0));
  if (take_null(&reader, KR_WRITABLE_RESULTS)) {
    return check_end(&reader);
  }
  uint8_t code = kr_read_u8(&reader);
  uint8_t version = kr_read_u8(&reader);
  uint32_t announced = kr_read_u32(&reader);

  if (reader.bad || code != KR_WRITABLE_RESULTS || version != RESULTS_VERSION) {
    return "a value of another class than rows";
  }
  if (announced > 0 && kr_read_u32(&reader) != kr_reader_left(&reader)) {
    return "rows of another length than announced";
  }
  if (reader.bad || announced > kr_reader_left(&reader) / 4) {
    return "more rows announced than sent";
  }
  *count = announced;
  *out = reader;
  return announced > 0 ? NULL : check_end(&reader);
}

struct keyroute_bytes kr_hbase094_next_result(struct kr_reader *reader)
{
  uint32_t cells = kr_read_u32(reader);
  struct kr_reader begin = *reader;

  for (uint32_t i = 0; i < cells && !reader->bad; i++) {
    kr_cell_read(reader);
  }
  return kr_read_bytes(&begin, kr_reader_left(&begin) - kr_reader_left(reader));
}

const char *kr_hbase094_count_cells(size_t *count, struct keyroute_bytes cells)
{
  struct kr_reader reader = kr_reader(cells);

  *count = 0;
  while (kr_reader_left(&reader) > 0) {
    kr_cell_read(&reader);
    ++*count;
  }
  return reader.bad ? "an unreadable cell" : NULL;
}

const char *kr_hbase094_read_long(int64_t *out, struct keyroute_bytes body)
{
  struct kr_reader reader = kr_reader(body);
  uint8_t code = kr_read_u8(&reader);

  *out = (int64_t)kr_read_u64(&reader);
  return code != KR_WRITABLE_LONG ? "a value of another class than a number" : check_end(&reader);
}
