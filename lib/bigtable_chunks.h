#ifndef KR_BIGTABLE_CHUNKS_H
#define KR_BIGTABLE_CHUNKS_H

#include "lib/buf.h"

/* Rows as ReadRows sends them, in chunks, put together again. */

/* Bytes that the assembler holds: their place may change as long as more come. */
struct kr_bigtable_view {
  size_t at, len;
};

struct kr_bigtable_cell {
  struct kr_bigtable_view family, qualifier, value;
  int64_t timestamp_micros;
};

struct kr_bigtable_row {
  struct kr_bigtable_view key;
  size_t first_cell, cell_count;
  uint64_t len;   /* bytes in its cells, each with key, family and qualifier */
  bool too_large; /* it has more than allowed, and therefore no cells here */
};

struct kr_bigtable_limits {
  bool reversed;      /* rows come from the last to the first */
  size_t max_row_len; /* of one row */
  size_t max_len;     /* memory of all that is kept; more is TOO_LARGE */
};

struct kr_bigtable_chunks {
  struct kr_bigtable_limits limits;
  struct kr_buf rows;  /* of struct kr_bigtable_row, the one under way too */
  struct kr_buf cells; /* of struct kr_bigtable_cell */
  struct kr_buf bytes;
  struct kr_buf last_key;      /* no later row may be at or before it */
  struct kr_bigtable_cell now; /* the cell that came last */
  size_t wire_len;             /* of all messages */
  size_t kept_len;             /* what was in bytes when the row under way began */
  size_t kept_cells;           /* the same of cells */
  bool any_key;                /* last_key is one */
  bool in_row, in_cell;        /* something is not yet complete */
  int error;
  const char *trouble; /* with PROTOCOL: what cannot be believed, static */
};

void kr_bigtable_chunks_init(struct kr_bigtable_chunks *chunks, struct kr_mem *mem,
                             const struct kr_bigtable_limits *limits);
void kr_bigtable_chunks_clear(struct kr_bigtable_chunks *chunks);

/* Take a message, a ReadRowsResponse. Errors: PROTOCOL, TOO_LARGE, NO_MEMORY; the same for all
 * further ones. */
int kr_bigtable_chunks_take(struct kr_bigtable_chunks *chunks, struct keyroute_bytes message);

/* There are no more. Errors: as before, and PROTOCOL within a row. */
int kr_bigtable_chunks_end(struct kr_bigtable_chunks *chunks);

/* What came, once it has ended well. */
size_t kr_bigtable_chunks_count(const struct kr_bigtable_chunks *chunks);
const struct kr_bigtable_row *kr_bigtable_chunks_row(const struct kr_bigtable_chunks *chunks,
                                                     size_t index);
const struct kr_bigtable_cell *kr_bigtable_chunks_cells(const struct kr_bigtable_chunks *chunks,
                                                        const struct kr_bigtable_row *row);
struct keyroute_bytes kr_bigtable_chunks_bytes(const struct kr_bigtable_chunks *chunks,
                                               struct kr_bigtable_view view);

/* The memory that is in use. */
size_t kr_bigtable_chunks_held(const struct kr_bigtable_chunks *chunks);

#endif
