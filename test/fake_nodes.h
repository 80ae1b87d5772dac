#ifndef FAKE_NODES_H
#define FAKE_NODES_H

/* Bigtable nodes and a znode in arrays: means for a publisher, without threads. What a request
 * changes is there at once. Requests are counted, and one of them may fail: before it does
 * anything, or after, so that the publisher does not know. */

#include "lib/publish_means.h"
#include "lib/publish_plan.h"

enum { FAKE_NODES = 4 };

struct fake_cell {
  char qualifier[16];
  uint8_t value[256];
  size_t len;
};

struct fake_row {
  uint8_t key[32];
  size_t len;
  struct fake_cell cells[6];
  size_t count;
};

struct fake_table {
  uint64_t id;
  int node;
  struct fake_row *rows; /* sorted */
  size_t count;
  unsigned keys; /* of the test's own: users' rows that it holds */
};

struct fake_nodes {
  struct kr_publish_means means; /* first */
  struct fake_table tables[64];
  size_t table_count;
  uint8_t root[256];
  size_t root_len;
  int64_t root_version; /* -1 = none */
  bool down[FAKE_NODES];
  unsigned long requests; /* so far, of all kinds */
  unsigned long fail_at;  /* this one fails; 0 = none */
  bool fail_after;        /* when it is done */
  bool not_mine;          /* the lock is lost */
  uint64_t writes_left;   /* then the publisher dies */
  void (*changed)(void);  /* called after each change; NULL = nobody */
};

extern const struct kr_descriptor_replica fake_places[FAKE_NODES];

void fake_nodes_init(struct fake_nodes *nodes, struct kr_mem *mem);
void fake_nodes_clear(struct fake_nodes *nodes);

/* The table of a range on a node; NULL = there is none. */
struct fake_table *fake_nodes_table(struct fake_nodes *nodes, uint64_t id,
                                    const struct kr_descriptor_replica *node);
struct fake_table *fake_nodes_make(struct fake_nodes *nodes, uint64_t id,
                                   const struct kr_descriptor_replica *node);
void fake_nodes_drop(struct fake_nodes *nodes, uint64_t id,
                     const struct kr_descriptor_replica *node);

const struct fake_cell *fake_row_cell(const struct fake_row *row, const char *qualifier);

#endif
