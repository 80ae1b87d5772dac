#ifndef SHOW_RANGE_H
#define SHOW_RANGE_H

#include "keyroute/range.h"
#include "tools/line.h"

/* One line for a range, on stdout.
 *  kind  "range"; of an interrupted change "old" or "new" */
void show_range_header(const struct output *output);
void show_range(const struct output *output, const struct keyroute_ranges *ranges, size_t index,
                const char *kind);

/* One for what is wrong from start to end: kind is "hole" or "overlap". */
void show_range_wrong(const struct output *output, const char *kind, const char *table,
                      struct keyroute_bytes start, struct keyroute_bytes end);

/* One for a call that failed, and what went wrong on stderr. Returns the exit status. */
int show_range_failure(const struct line *line, int error, const struct keyroute_detail *detail);

#endif
