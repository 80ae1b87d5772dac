/*
 * Cells: one KeyValue read from bytes, and a row's cell found by name.
 *
 * A KeyValue is how HBase writes a cell wherever no message does it: in cell blocks of the protobuf
 * RPC and in results of the Writable RPC.
 *
 *     int32 length | int32 key length | int32 value length | key | value
 *     key = int16 row length | row | int8 family length | family | qualifier |
 *           int64 timestamp | int8 type
 *
 *  1. Nothing of it is redundant but the first length and the qualifier's, which follows from the
 *     others: a KeyValue whose parts do not add up exactly is not believed.
 *  2. Lengths that are negative in Java are huge here and fail like any that is too long.
 *  3. What is read are views; nothing is allocated.
 *
 * Threads: any.  Source: HBase KeyValueCodec, KeyValue
 */
#include "lib/cell.h"

#include "lib/bytes.h"

/* Of the key: the lengths of row and family, the time and the type. */
#define KEY_FIXED_LEN (2 + 1 + 8 + 1)

static void read_key(struct kr_reader *key, struct kr_cell *cell)
{
  cell->row = kr_read_bytes(key, kr_read_u16(key));
  cell->family = kr_read_bytes(key, kr_read_u8(key));
  size_t left = kr_reader_left(key);

  /* With less than time and type left, the huge length makes the reader bad. */
  cell->qualifier = kr_read_bytes(key, (uint64_t)left - (8 + 1));
  cell->timestamp = (int64_t)kr_read_u64(key);
  cell->type = kr_read_u8(key);
}

struct kr_cell kr_cell_read(struct kr_reader *reader)
{
  static const struct kr_cell nothing;
  struct kr_cell cell = nothing;
  uint64_t len = kr_read_u32(reader);
  uint64_t key_len = kr_read_u32(reader);
  uint64_t value_len = kr_read_u32(reader);

  if (reader->bad || key_len < KEY_FIXED_LEN || len != 4 + 4 + key_len + value_len) {
    reader->bad = true;
    return nothing;
  }
  struct kr_reader key = kr_reader(kr_read_bytes(reader, key_len));

  cell.value = kr_read_bytes(reader, value_len);
  read_key(&key, &cell);
  if (reader->bad || key.bad) {
    reader->bad = true;
    return nothing;
  }
  return cell;
}

const struct kr_cell *kr_row_find(const struct kr_row *row, const char *family,
                                  const char *qualifier)
{
  struct keyroute_bytes wanted = keyroute_string(qualifier), in = keyroute_string(family);

  for (size_t i = 0; i < row->cell_count; i++) {
    const struct kr_cell *cell = &row->cells[i];

    if (kr_bytes_equal(cell->qualifier, wanted) && kr_bytes_equal(cell->family, in)) {
      return cell;
    }
  }
  return NULL;
}
