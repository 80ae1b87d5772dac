#ifndef KEYROUTE_TEST_RANGE_MAP_H
#define KEYROUTE_TEST_RANGE_MAP_H

#include "keyroute/keyroute.h"

/* A range directory on the nodes of range_world.h, with rows in it: what there is of it is known
 * here, too. range_index.h and range_publisher.h publish it, range_change.h changes it. */

enum { RANGE_KEY_MAX = 16 };

struct range_key {
  unsigned char data[RANGE_KEY_MAX];
  size_t len;
};

static inline struct keyroute_bytes range_bytes(const struct range_key *key)
{
  return (struct keyroute_bytes){key->data, key->len};
}

/* The next key there can be. */
struct range_key range_key_above(const struct range_key *key);

/* As qsort wants it. */
int range_key_compare(const void *a, const void *b);

/* One range of map, or of meta2. */
struct range {
  uint64_t id, generation;
  struct range_key start, end;
  int node;
  bool moved; /* its table has been on another node, under this id */
};

enum { RANGE_META2 = 3, RANGE_FIRST_ID = 10 };

struct range_publishing;

struct range_map {
  const char *znode;
  struct range *ranges; /* of map, by start */
  size_t count, room;
  struct range_key *rows; /* those that are there, sorted */
  size_t row_count;
  uint64_t next_id;
  unsigned seed;

  /* How it is published. */
  const struct range_publishing *publishing;
  struct range meta2[RANGE_META2];
  void (*stopped)(void); /* called where a change may end, between two writes; NULL = never */
};

/* Make the tables and rows of so many ranges of map, with so many rows in each, all over the nodes.
 * Nothing is published. */
void range_map_make(struct range_map *map, const char *znode, size_t ranges, size_t rows_each,
                    unsigned seed);

/* Drop all of its tables, and what else there is on the nodes, and its znode. */
void range_map_clear(struct range_map *map);

/* The index of the range that holds a row. */
size_t range_map_find(const struct range_map *map, struct keyroute_bytes row);

/* Is that row there? Any thread. */
bool range_map_has(const struct range_map *map, struct keyroute_bytes row);

/* A key by chance: of a row that is there, every other time; else mostly one of none. */
struct range_key range_map_key(const struct range_map *map, unsigned *seed);

/* Is what was read of a row right? Any thread. Writes what is wrong to text, of RANGE_WRONG_MAX
 * bytes. */
enum { RANGE_WRONG_MAX = 400 };
bool range_map_right(const struct range_map *map, struct keyroute_bytes row,
                     const struct keyroute_result *result, size_t index, char *text);

#endif
