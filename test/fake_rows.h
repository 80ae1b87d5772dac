#ifndef FAKE_ROWS_H
#define FAKE_ROWS_H

/* The rows of user tables in memory, for the scripted region servers of one cluster: a region that
 * moved finds its rows again on the new server. Cells have versions, and may have tags. May be used
 * from any thread; out of memory aborts. */

#include "test/fake_frame.h"

struct fake_rows;

/* Counted: each server that is given it holds it too, so that order of release is free. */
struct fake_rows *fake_rows_new(void);
struct fake_rows *fake_rows_ref(struct fake_rows *rows);
void fake_rows_release(struct fake_rows *rows); /* NULL is accepted */

/* One version of a cell, replacing the one of the same timestamp. */
void fake_rows_put(struct fake_rows *rows, const char *table, struct keyroute_bytes row,
                   const char *family, const char *qualifier, int64_t timestamp,
                   struct keyroute_bytes value);

/* The same with any bytes and with tags; its type is kept. */
void fake_rows_put_cell(struct fake_rows *rows, const char *table,
                        const struct fake_key_value *cell);

/* All versions of a cell; a whole row. What is not there is not an error. */
void fake_rows_delete(struct fake_rows *rows, const char *table, struct keyroute_bytes row,
                      const char *family, const char *qualifier);
void fake_rows_delete_row(struct fake_rows *rows, const char *table, struct keyroute_bytes row);

/* The table has this family, also without a cell of it. A table has the families named here and
 * those of its cells; one of which nothing is known has every family. */
void fake_rows_add_family(struct fake_rows *rows, const char *table, const char *family);

/* The table has rows that are made when read: prefix and six digits, from 000000 on, with the cell
 * f:q of timestamp 1, whose value is the row key, repeated and cut to value_len bytes (0 = the key
 * itself). A row that was put or deleted stands for itself. Again = replace. */
void fake_rows_generate(struct fake_rows *rows, const char *table, const char *prefix, size_t count,
                        size_t value_len);

/* What a Get finds. */
struct fake_result {
  struct fake_key_value *cells; /* by family, qualifier, the newest first; one allocation */
  size_t count;
  bool existence_only; /* `exists` is the answer; no cells */
  bool exists;
  bool stale; /* set by who knows the region */
};

/* Read a row as a Get asks: columns, versions, time range. Release it with free(out->cells). False
 * = the table does not have the family that *family names, cut to fit. */
bool fake_rows_get(struct fake_result *out, struct fake_rows *rows, const char *table,
                   const Kr__Pb__Get *get, char family[64]);

#endif
