#ifndef KEYROUTE_TEST_RANGE_TABLES_H
#define KEYROUTE_TEST_RANGE_TABLES_H

#include "test/integration/range_map.h"

/* The tables of ranges on their nodes, handled by Bigtable's own client. All of it must succeed. */

void range_create(const struct range *range, const char *family);
void range_drop(const struct range *range);

/* Bring to one range what another has of the keys from start to end. */
void range_copy(const struct range *from, const struct range_key *start,
                const struct range_key *end, const struct range *to);

#endif
