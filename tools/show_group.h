#ifndef SHOW_GROUP_H
#define SHOW_GROUP_H

#include "keyroute/keyroute.h"
#include "tools/output.h"
#include "tools/tally.h"

/* Print what was counted: a line for each server, or, as JSON, for each region.
 * tally   sorted
 * failed  rows that are on no server */
void show_group(const struct output *output, const char *table, const struct tally *tally,
                size_t failed);

/* A row that is on no server: JSON has a line for each. */
void show_group_failure(const struct output *output, const char *table, struct keyroute_bytes row,
                        int error, const char *message);

#endif
