#ifndef KR_BIGTABLE_WRITE_H
#define KR_BIGTABLE_WRITE_H

#include "lib/cell.h"

/* Requests that change what Bigtable nodes hold, encoded but for their first field (the table's
 * name, or the instance's), which the transport puts in front. */

#define KR_BIGTABLE_MUTATE "MutateRow"
#define KR_BIGTABLE_CHECK "CheckAndMutateRow"
#define KR_BIGTABLE_CREATE "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable"
/* These have no param. */
#define KR_BIGTABLE_DELETE "/google.bigtable.admin.v2.BigtableTableAdmin/DeleteTable"
#define KR_BIGTABLE_GET_TABLE "/google.bigtable.admin.v2.BigtableTableAdmin/GetTable"

/* What becomes of a row: cells take the place of what its columns hold; none = the row goes. Of a
 * cell its family, qualifier and value count. */
struct kr_bigtable_change {
  struct keyroute_bytes row;
  const struct kr_cell *cells;
  size_t cell_count;
};

/* The param of MutateRow. */
void kr_bigtable_write_mutate(struct kr_buf *out, const struct kr_bigtable_change *change);

/* The param of CheckAndMutateRow: only if the newest value of a column is this one, or the column,
 * with value NULL, has none. */
void kr_bigtable_write_check(struct kr_buf *out, const struct kr_bigtable_change *change,
                             const char *family, const char *qualifier,
                             const struct keyroute_bytes *value);

/* Was the change made, by the answer to CheckAndMutateRow? False = the answer is none.
 *  absent  the column was to have no value */
bool kr_bigtable_read_check(bool *made, struct keyroute_bytes message, bool absent);

/* The param of CreateTable; families are texts. */
void kr_bigtable_write_create(struct kr_buf *out, const char *table_id, const char *const *families,
                              size_t count);

#endif
