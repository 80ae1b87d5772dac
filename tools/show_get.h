#ifndef SHOW_GET_H
#define SHOW_GET_H

#include "keyroute/keyroute.h"
#include "tools/outcome.h"
#include "tools/output.h"

/* One row that was to be read. */
struct show_row {
  const char *table; /* canonical */
  struct keyroute_bytes row;
  int error;
  const char *message;                  /* on error */
  const struct keyroute_result *result; /* NULL on error */
  size_t index;                         /* of the row in it */
  const struct outcome *outcome;        /* of the call; NULL = it was about other rows too */
};

/* The table's header, if stdout is a terminal. */
void show_get_header(const struct output *output);

/* Print what a row holds, or why nobody knows. Failed writes show in ferror(stdout). */
void show_get(const struct output *output, const struct show_row *about);

#endif
