#ifndef KEYROUTE_TEST_RANGE_INDEX_H
#define KEYROUTE_TEST_RANGE_INDEX_H

#include "test/integration/range_map.h"

/* Publish a directory without keyroute: by Bigtable's Go client and an encoder of the nodes' own,
 * so that what keyroute reads was not written by keyroute. */

/* Make meta1 on the first node, meta2 in three ranges all over them, and the znode; from now on
 * changes are published here. One border of meta2 is where a range of map begins, the other within
 * one. */
void range_index_make(struct range_map *map);

#endif
