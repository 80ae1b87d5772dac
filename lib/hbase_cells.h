#ifndef KR_HBASE_CELLS_H
#define KR_HBASE_CELLS_H

#include "lib/cell.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/read.h"
#include "lib/rpc.h"

/* From the results of an answer to what came of the rows asked for. */

/* A cell that stands inside a message, as one read from bytes; without its tags. */
struct kr_cell kr_hbase_inline_cell(const Kr__Pb__Cell *from);

/* What came of kr_gets, while it is being read and until the callback has had it. */
struct kr_hbase_got {
  struct kr_got got;
  struct kr_mem *mem;
  struct kr_got_row *rows; /* got.rows, to be written */
  struct kr_hbase_failed *failed;
  const char *server; /* "host:port", for failures */
};

/* Nothing came of any row yet. Errors: NO_MEMORY. */
int kr_hbase_got_init(struct kr_hbase_got *out, struct kr_mem *mem, size_t row_count,
                      const struct kr_rpc_reply *reply);

/* Release all but got.block, which is the callback's. */
void kr_hbase_got_clear(struct kr_hbase_got *got);

/* The failure that an exception inside a message is, for one row or many. NULL = out of memory. */
const struct kr_failure *kr_hbase_got_exception(struct kr_hbase_got *got,
                                                const Kr__Pb__NameBytesPair *exception);

/* A copy of a failure, to live as long as got. NULL = out of memory. */
const struct kr_failure *kr_hbase_got_failure(struct kr_hbase_got *got,
                                              const struct kr_failure *failure);

/* One result of an answer. */
struct kr_hbase_result {
  const Kr__Pb__Result *message;
  struct keyroute_bytes row; /* asked for: what its cells must be of */
  size_t index;              /* which row of got it is */
  size_t cell_count;         /* these two are written by kr_hbase_got_results */
  uint64_t len;
};

/* Read results, in the order in which they stand in the answer, into got.
 *  block    the cell block, which they must use up
 *  max_len  bytes in the cells of one row; a row of more fails with TOO_LARGE
 *  trouble  with PROTOCOL: what cannot be believed
 * Errors: PROTOCOL, NO_MEMORY; no block is left then. */
int kr_hbase_got_results(struct kr_hbase_got *got, struct kr_hbase_result *results, size_t count,
                         struct keyroute_bytes block, size_t max_len, const char **trouble);

/* Tell why the answer to a method could not be read, if error is not 0. Returns error. */
int kr_hbase_unread(struct kr_failure *failure, int error, const char *method, const char *trouble);

#endif
