#ifndef RANGE_CHAIN_H
#define RANGE_CHAIN_H

#include "tools/line.h"

/* Print what the line asks for: the ranges of all tables or of one. Returns the exit status. */
int range_chain_show(struct keyroute_connection *conn, const struct line *line);

#endif
