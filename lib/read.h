#ifndef KR_READ_H
#define KR_READ_H

#include "lib/error.h"
#include "lib/mem.h"

/* Reads of rows as they pass between those who ask for them and a transport. */

/* What of each row; checked. */
struct kr_read {
  const struct keyroute_column *columns; /* the asker's */
  size_t column_count;                   /* 0 = all */
  uint32_t max_versions;                 /* at least 1 */
  int64_t from_ms, to_ms;                /* timestamps, `to` exclusive; to 0 = no end */
  size_t max_result_len;                 /* of one row, bytes; more is TOO_LARGE */
};

/* Check what an application wants to read; NULL = everything. The columns stay the application's.
 *  frame_len  the bound of an answer where it names none
 * detail NULL or filled in. Errors: INVALID_ARGUMENT. */
int kr_read_check(struct kr_read *out, const struct keyroute_read *given, size_t frame_len,
                  struct keyroute_detail *detail);

/* Copy into room of kr_read_size(read) bytes, aligned for anything, which is to outlive *out. */
size_t kr_read_size(const struct kr_read *read);
void kr_read_copy(struct kr_read *out, void *room, const struct kr_read *read);

/* Check the row of a read. As kr_read_check. */
int kr_read_check_row(struct keyroute_bytes row, struct keyroute_detail *detail);

/* Rows of one region. */
struct kr_get_region {
  struct keyroute_bytes name; /* region name, the replica's where one is meant */
  size_t first, count;        /* which of kr_gets.rows; they follow one another without a gap */
};

/* Rows of one server, asked for in one request. */
struct kr_gets {
  const struct kr_read *read;
  bool timeline; /* what a replica has is good enough */
  const struct kr_get_region *regions;
  size_t region_count;
  const struct keyroute_bytes *rows;
  size_t row_count; /* at least 1 */
};

/* A copy in one piece of memory, but for read, which stays the asker's. NULL = out of memory. */
struct kr_gets *kr_gets_copy(struct kr_mem *mem, const struct kr_gets *gets);

/* Memory that cells are in; released with kr_free. */
struct kr_cell_block {
  struct kr_cell_block *next; /* the owner's: in a list of them */
};

/* What came of one row. */
struct kr_got_row {
  const struct keyroute_cell *cells; /* in the block */
  size_t cell_count;
  bool stale;
  const struct kr_failure *failure; /* NULL = it was read; rows of a region that failed share one */
};

/* What came of kr_gets, as long as the callback lasts that gets it. */
struct kr_got {
  struct kr_cell_block *block;   /* that callback's to keep or free; NULL = no cells came */
  const struct kr_got_row *rows; /* one for each row asked for, in their order */
  size_t row_count;
  size_t len; /* bytes that the answer took on the wire */
};

#endif
