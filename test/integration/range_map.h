#ifndef KEYROUTE_TEST_RANGE_MAP_H
#define KEYROUTE_TEST_RANGE_MAP_H

#include "keyroute/keyroute.h"

/* A range directory on the nodes of range_world.h, with rows in it: what there is of it is known
 * here, too. It is written by Bigtable's Go client and an encoder of the nodes' own, so that what
 * keyroute reads was not written by keyroute. */

enum { RANGE_KEY_MAX = 16 };

struct range_key {
  unsigned char data[RANGE_KEY_MAX];
  size_t len;
};

static inline struct keyroute_bytes range_bytes(const struct range_key *key)
{
  return (struct keyroute_bytes){key->data, key->len};
}

/* One range of map, or of meta2. */
struct range {
  uint64_t id, generation;
  struct range_key start, end;
  int node;
  bool moved; /* its table has been on another node, under this id */
};

enum { RANGE_META2 = 3 };

struct range_map {
  const char *znode;
  struct range meta2[RANGE_META2];
  struct range *ranges; /* of map, by start */
  size_t count, room;
  struct range_key *rows; /* those that are there, sorted */
  size_t row_count;
  uint64_t next_id;
  unsigned seed;
  void (*stopped)(void); /* called after each single write that readers may notice; NULL = never */
};

/* Make one of so many ranges, with so many rows in each: meta1 on the first node, meta2 in three
 * ranges and map all over the nodes. One border of meta2 is where a range of map begins, the other
 * within one. */
void range_map_make(struct range_map *map, const char *znode, size_t ranges, size_t rows_each,
                    unsigned seed);

/* Drop all of its tables, and what else there is on the nodes. */
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

/* ---- Changes ---- */

/* Cut the range in two at a key within it; the right half goes to another node. */
void range_map_split(struct range_map *map, size_t index, const struct range_key *key);

/* Make one of a range and the one after it. */
void range_map_merge(struct range_map *map, size_t index);

/* Bring a range to the next node; its id stays once, for no node may ever have two tables of it. */
void range_map_move(struct range_map *map, size_t index);

/* Bring a range of meta2 to the next node, under another id. */
void range_map_move_meta2(struct range_map *map, size_t index);

#endif
