#ifndef SHOW_LOCATE_H
#define SHOW_LOCATE_H

#include "keyroute/keyroute.h"
#include "tools/outcome.h"
#include "tools/output.h"

/* The table's header, if stdout is a terminal. */
void show_locate_header(const struct output *output);

/* Print where one row is, or why nobody knows. Failed writes show in ferror(stdout).
 * table     canonical
 * location  NULL on error */
void show_locate(const struct output *output, const char *table, struct keyroute_bytes row,
                 const struct outcome *outcome, const struct keyroute_location *location);

#endif
