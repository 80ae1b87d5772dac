#ifndef COLUMNS_H
#define COLUMNS_H

#include "keyroute/keyroute.h"

/* The columns that are asked for. All zero = every one. */
struct columns {
  struct keyroute_column *list;
  size_t count;
};

/* Add those of "family:qualifier,family,...", a family alone being all of its columns. Bytes are
 * escaped as in rows, a comma within a qualifier as \x2C. Returns NULL, or why the text is none. */
const char *columns_add(struct columns *columns, const char *text);
void columns_free(struct columns *columns);

#endif
