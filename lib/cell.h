#ifndef KR_CELL_H
#define KR_CELL_H

#include "lib/buf.h"

/* One cell of a row: views into the buffer it was read from. */
struct kr_cell {
  struct keyroute_bytes row, family, qualifier, value;
  int64_t timestamp;
  uint8_t type; /* 4 = PUT */
};

/* The length of a KeyValue with nothing in it: three lengths, and the fixed part of its key. */
#define KR_CELL_MIN_LEN (4 + 4 + 4 + 2 + 1 + 8 + 1)

/* One row: its cells, all of the same key. */
struct kr_row {
  struct keyroute_bytes key;
  const struct kr_cell *cells;
  size_t cell_count;
};

/* Read one KeyValue with its int32 length in front; sets reader->bad where it cannot be believed
 * (also where its inner lengths disagree with the outer one).
 * Source: HBase KeyValueCodec, KeyValue */
struct kr_cell kr_cell_read(struct kr_reader *reader);

/* The value of the cell with this family and qualifier; NULL if the row has none. */
const struct kr_cell *kr_row_find(const struct kr_row *row, const char *family,
                                  const char *qualifier);

#endif
