#ifndef TABLE_H
#define TABLE_H

#include "tools/outcome.h"

/* A column of a table: its heading, and how wide it is padded. */
struct table_column {
  const char *name;
  size_t width;
};

/* Print one line of texts, one a column; the last is not padded. A first_width of 0 is the first
 * column's own. */
void table_line(const struct table_column *columns, size_t count, size_t first_width,
                const char *const *texts);

/* The heading, if stdout is a terminal. */
void table_header(const struct table_column *columns, size_t count, size_t first_width);

/* The steps of a call, below its line. */
void table_steps(const struct outcome *outcome);

#endif
