#ifndef CONNECT_H
#define CONNECT_H

#include "keyroute/keyroute.h"
#include "tools/line.h"

/* Open a connection as the command line, files and environment say; close it with keyroute_close.
 * Returns an exit status after a complaint, or -1 for go on. */
int connect_open(struct keyroute_connection **out, const struct line *line);

/* Say what the library refuses. Returns an exit status: what is out of memory is no wrong usage. */
int connect_fail(int error, const struct keyroute_detail *detail);

/* A table's canonical spelling: "default:t" is "t". Borrowed from the name. */
const char *connect_canonical(const char *table);

#endif
