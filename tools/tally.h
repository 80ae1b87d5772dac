#ifndef TALLY_H
#define TALLY_H

#include "keyroute/keyroute.h"
#include "tools/rows.h"

/* One region of one server, and what of the rows it holds. */
struct tally_region {
  struct keyroute_location *location;
  int replica; /* the one that is on the server */
  size_t row_count;
  struct row *rows; /* those that are kept; after tally_sort in the order of their keys */
  size_t kept;
};

/* Rows counted by server and region. All zero is an empty one. */
struct tally {
  struct tally_region **regions; /* after tally_sort by host, port, start code and start key */
  size_t region_count;
  size_t row_count;
  void *tree; /* of tsearch: the same regions */
};

/* The region of this replica, made if it is new. A count of the location is taken then. */
struct tally_region *tally_region(struct tally *tally, struct keyroute_location *location,
                                  int replica);

/* Count rows of a region. */
void tally_count(struct tally *tally, struct tally_region *region, size_t rows);

/* Keep a row of a region; its bytes go over to the tally, and row is empty. */
void tally_keep(struct tally_region *region, struct row *row);

/* Once all is counted. */
void tally_sort(struct tally *tally);

/* Are two regions on the same process? */
bool tally_same_server(const struct tally_region *a, const struct tally_region *b);

void tally_free(struct tally *tally);

#endif
