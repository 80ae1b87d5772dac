#ifndef SHOW_REGIONS_H
#define SHOW_REGIONS_H

#include "keyroute/keyroute.h"
#include "tools/outcome.h"
#include "tools/output.h"

/* The table's header, if stdout is a terminal. */
void show_regions_header(const struct output *output);

/* Print one part of the key space. Failed writes show in ferror(stdout). */
void show_span(const struct output *output, const char *table, const struct keyroute_span *span);

/* The listing ends here with an error. */
void show_regions_error(const struct output *output, const char *table, struct keyroute_bytes start,
                        const struct outcome *outcome);

/* How the page that begins with start came about: for --trace. */
void show_regions_steps(const struct output *output, const char *table, struct keyroute_bytes start,
                        const struct outcome *outcome);

/* "REGION", "HOLE", ...; static. */
const char *show_span_kind(enum keyroute_span_kind kind);

#endif
