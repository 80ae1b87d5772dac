#ifndef KR_BIGTABLE_ROWS_H
#define KR_BIGTABLE_ROWS_H

#include "lib/bigtable_chunks.h"
#include "lib/read.h"
#include "lib/scan.h"

/* From rows put together to what scans and gets are answered with. */

/* The rows of a scan, in one piece of memory: views into chunks, at most `limit`. Errors:
 * NO_MEMORY. out  release *memory with kr_free, on success only */
int kr_bigtable_rows_make(struct kr_rows *out, void **memory, struct kr_mem *mem,
                          const struct kr_bigtable_chunks *chunks, uint32_t limit);

/* What came of one region of kr_gets. */
struct kr_bigtable_answer {
  const struct kr_bigtable_chunks *chunks; /* rows from the first to the last; not with a failure */
  const struct kr_failure *failure;        /* of all its rows; NULL = it was read */
};

/* What came of kr_gets, until the callback has had it. */
struct kr_bigtable_got {
  struct kr_got got;
  struct kr_mem *mem;
  struct kr_got_row *rows;           /* got.rows, to be written */
  struct kr_bigtable_failed *failed; /* failures of single rows */
};

/* Put the answers about all regions of gets together; failures outlive out.
 *  server  "host:port", for failures
 *  out     release with kr_bigtable_got_clear, but for got.block, which is the callback's; on
 *          success only
 * Errors: PROTOCOL a row that was not asked for; NO_MEMORY. */
int kr_bigtable_got_make(struct kr_bigtable_got *out, struct kr_mem *mem,
                         const struct kr_gets *gets, const struct kr_bigtable_answer *answers,
                         const char *server);
void kr_bigtable_got_clear(struct kr_bigtable_got *got);

#endif
