#ifndef KEYROUTE_TEST_RANGE_CHANGE_H
#define KEYROUTE_TEST_RANGE_CHANGE_H

#include "test/integration/range_map.h"

/* Ranges of map that give way to others with the same keys, both in the order of keys: one to two
 * is a split, two to one a merge, one to one a move. */
struct range_change {
  struct range olds[2], news[2];
  size_t old_count, new_count;
};

/* Who tells the directory what has changed. */
struct range_publishing {
  /* The tables of the new ranges stand and are full; those of the old ones are to go. */
  void (*publish)(struct range_map *map, const struct range_change *change);

  /* Bring a range of meta2 to the next node. */
  void (*move_meta2)(struct range_map *map, size_t index);
};

/* Cut the range that a key is in, above its start, in two; the right half goes to the next node. */
void range_split(struct range_map *map, const struct range_key *key);

/* Make one of a range and the one after it. */
void range_merge(struct range_map *map, size_t index);

/* Bring a range to the next node; its id stays once, for no node may ever have two tables of it. */
void range_move(struct range_map *map, size_t index);

void range_move_meta2(struct range_map *map, size_t index);

/* Is a row in that range, above its start? */
bool range_is_inside(const struct range_map *map, size_t index, const struct range_key *row);

#endif
