#ifndef KEYROUTE_TEST_ROWS_H
#define KEYROUTE_TEST_ROWS_H

#include "keyroute/keyroute.h"

/* Rows as the Java client wrote or read them, to compare ours with: byte for byte. Immutable, so
 * any thread may look at them. */

/* One row: its cells in the order of HBase. */
struct row {
  struct keyroute_bytes key;
  const struct keyroute_cell *cells;
  size_t count;
};

struct rows {
  struct row *each;
  size_t count;
  struct keyroute_cell *cells;
  char *text;
};

/* From the lines of the cluster's "fill" or "get"; the cells of a row stand together. Takes the
 * text. */
void rows_parse(struct rows *rows, char *text);

/* The same of a file. */
void rows_read(struct rows *rows, const char *path);

void rows_clear(struct rows *rows);

enum { ROWS_DIFFERENCE_MAX = 400 };

/* What one row of a result has otherwise: written to text, of ROWS_DIFFERENCE_MAX bytes. Is it the
 * same? */
bool rows_same(char *text, const struct row *expected, const struct keyroute_result *result,
               size_t index);

#endif
