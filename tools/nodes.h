#ifndef NODES_H
#define NODES_H

#include "keyroute/range.h"

/* Nodes as the command line names them. All zero is none. */
struct nodes {
  struct keyroute_range_node *list;
  size_t count;
  char *text; /* what hosts point into */
};

/* Read "ID=HOST:PORT,ID,...", an IPv6 address in brackets. Returns NULL, or why the text is none;
 * static. nodes_free either way.
 *  placed  each has its host and port */
const char *nodes_read(struct nodes *nodes, const char *text, bool placed);
void nodes_free(struct nodes *nodes);

#endif
