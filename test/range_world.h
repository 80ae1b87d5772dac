#ifndef RANGE_WORLD_H
#define RANGE_WORLD_H

/* A range directory in memory: nodes with tables, of which some are the index, below a locator in a
 * world of its own (locator_harness.h). A table that is not on a node is not found there, as real
 * nodes have it. What is published is up to the test, write by write. */

#include "lib/descriptor.h"
#include "test/locator_harness.h"

enum { RANGE_TABLES_MAX = 512 };

/* A range, on the one node that serves it: "n3" is node 3. */
struct range {
  uint64_t id, generation;
  const char *start, *end; /* without NUL */
  unsigned node;
};

/* meta1 and the only range of meta2, as a new directory has them. */
extern const struct range range_meta1, range_meta2;

struct range_world {
  struct world *world;
  struct range_table {
    uint64_t id;
    unsigned node;
    struct fake_catalog *rows; /* of the index; the map's have none */
  } tables[RANGE_TABLES_MAX];
  size_t table_count;
  struct kr_buf root; /* what the znode holds */
  unsigned reads[3];  /* scans that reached a node: of [1] meta1, [2] meta2 */
  unsigned not_found; /* those that met no table there */
};

/* meta1 is on node 1, meta2 is one range on node 2, the map is empty. */
struct range_world *range_world_new(void);
void range_world_free(struct range_world *range);

/* Tables of a node. */
void range_make_table(struct range_world *range, uint64_t id, unsigned node);
void range_drop_table(struct range_world *range, uint64_t id, unsigned node);
bool range_has_table(const struct range_world *range, uint64_t id, unsigned node);

/* Copy the index rows of a table into another, those of keys within the bounds. */
void range_copy_rows(struct range_world *range, const struct range *from, const struct range *to);

/* One write each, to the table of an index range: to meta1 about one of meta2, to meta2 about one
 * of the map. */
void range_write_row(struct range_world *range, const struct range *index, const struct range *row);
void range_delete_row(struct range_world *range, const struct range *index, const char *start);
void range_write_znode(struct range_world *range, const struct range *meta1);

/* Make a table for a range of the map and write its row into the only range of meta2. */
void range_publish(struct range_world *range, const struct range *row);

/* The id in a location's encoded name, and the node. */
uint64_t range_id(const struct keyroute_location *location);
unsigned range_node(const struct keyroute_location *location);

#endif
