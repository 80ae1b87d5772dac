#ifndef KEYROUTE_TEST_RANGE_ORACLE_H
#define KEYROUTE_TEST_RANGE_ORACLE_H

#include "test/integration/range_map.h"

/* Locate each of the keys, and compare with where Bigtable's Go client finds it. meta1 is r1 on the
 * first node. */
void range_oracle_compare(struct keyroute_connection *conn, const struct range_key *keys,
                          size_t count);

#endif
