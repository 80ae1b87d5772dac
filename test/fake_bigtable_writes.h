#ifndef FAKE_BIGTABLE_WRITES_H
#define FAKE_BIGTABLE_WRITES_H

#include "test/fake_bigtable.h"

/* Have the nodes take what a publisher writes, too: MutateRow, CheckAndMutateRow, CreateTable,
 * DeleteTable, GetTable. */
struct fake_bigtable_writes;

struct fake_bigtable_writes *fake_bigtable_writes_start(struct fake_bigtable *bigtable, int nodes);

/* From now on the nodes carry so many writes out, all of them together, and refuse those that
 * follow. -1 = none is refused. */
void fake_bigtable_writes_limit(struct fake_bigtable_writes *writes, int left);

/* Once the servers are stopped. */
void fake_bigtable_writes_free(struct fake_bigtable_writes *writes);

#endif
