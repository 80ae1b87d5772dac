/*
 * The index of a range directory, written in the order that keyroute_range(7) wants: of rows the
 * upper one first, tables that are not needed any more last.
 *
 * meta1 is r1 on node 0; meta2's ranges are r2 to r4, and others once they moved.
 */
#include "test/integration/range_index.h"

#include "test/integration/range_change.h"
#include "test/integration/range_tables.h"
#include "test/integration/real_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct range meta1 = {.id = 1, .generation = 1};

/* A change may end here. */
static void stop(const struct range_map *map)
{
  if (map->stopped != NULL) {
    map->stopped();
  }
}

/* ---- Rows ---- */

static void put_descriptor(const struct range *parent, const char *level, const struct range *range)
{
  char start[RANGE_TEXT_MAX], end[RANGE_TEXT_MAX];

  range_command("put-descriptor %d r%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %s %s %d", parent->node,
                parent->id, level, range->id, range->generation,
                range_text(start, range_bytes(&range->start)),
                range_text(end, range_bytes(&range->end)), range->node);
}

/* A key of map as a row of meta2. */
static struct range_key index_key(const struct range_key *start)
{
  struct range_key key = {.data = {2}, .len = start->len + 1};

  memcpy(key.data + 1, start->data, start->len);
  return key;
}

/* The range of meta2 that has the row of a range of map. */
static const struct range *parent_of(const struct range_map *map, const struct range_key *start)
{
  struct range_key key = index_key(start);
  size_t i = RANGE_META2 - 1;

  while (i > 0 && range_key_compare(&key, &map->meta2[i].start) < 0) {
    i--;
  }
  return &map->meta2[i];
}

static void put_row(const struct range_map *map, const struct range *range)
{
  put_descriptor(parent_of(map, &range->start), "map", range);
  stop(map);
}

static void delete_row(const struct range_map *map, const struct range *range)
{
  const struct range *parent = parent_of(map, &range->start);
  struct range_key key = index_key(&range->start);
  char text[RANGE_TEXT_MAX];

  range_command("delete %d r%" PRIu64 " %s", parent->node, parent->id,
                range_text(text, range_bytes(&key)));
  stop(map);
}

static void drop(const struct range_map *map, const struct range *range)
{
  range_drop(range);
  stop(map);
}

/* ---- Changes ---- */

static void publish(struct range_map *map, const struct range_change *change)
{
  for (size_t i = change->new_count; i-- > 0;) {
    put_row(map, &change->news[i]);
  }
  for (size_t i = change->new_count; i < change->old_count; i++) {
    delete_row(map, &change->olds[i]);
  }
  for (size_t i = 0; i < change->old_count; i++) {
    drop(map, &change->olds[i]);
  }
}

static void move_meta2(struct range_map *map, size_t index)
{
  struct range old = map->meta2[index], moved = old;

  moved.id = map->next_id++;
  moved.generation++;
  moved.node = (old.node + 1) % RANGE_NODES;
  range_create(&moved, "r");
  range_copy(&old, &old.start, &old.end, &moved);
  put_descriptor(&meta1, "meta2", &moved);
  stop(map);
  drop(map, &old);
  map->meta2[index] = moved;
}

static const struct range_publishing publishing = {publish, move_meta2};

/* ---- Making it ---- */

/* The second of meta2 begins with a row, the third just above one, which then is in the second. */
static void make_meta2(struct range_map *map)
{
  struct range_key second = index_key(&map->ranges[map->count / 3].start);
  struct range_key last = index_key(&map->ranges[map->count * 2 / 3].start);

  map->meta2[1].start = second;
  map->meta2[2].start = range_key_above(&last);
  for (int i = 0; i < RANGE_META2; i++) {
    struct range *range = &map->meta2[i];

    range->id = 2 + (uint64_t)i;
    range->generation = 1;
    range->node = (i + 1) % RANGE_NODES;
    if (i + 1 < RANGE_META2) {
      range->end = range[1].start;
    }
    range_create(range, "r");
    put_descriptor(&meta1, "meta2", range);
  }
}

/* Tell ZooKeeper where meta1 is. */
static void make_znode(const struct range_map *map)
{
  unsigned char bytes[256];
  size_t len = 0;
  unsigned byte;

  range_command("descriptor 1 1 \"\" \"\" 0");
  for (const char *hex = nodes_answer(range_nodes); sscanf(hex, "%2x", &byte) == 1; hex += 2) {
    ck_assert_uint_lt(len, sizeof(bytes));
    bytes[len++] = (unsigned char)byte;
  }
  zookeeper_put(range_zookeeper, map->znode, bytes, len);
}

void range_index_make(struct range_map *map)
{
  map->publishing = &publishing;
  range_create(&meta1, "r");
  make_meta2(map);
  for (size_t i = 0; i < map->count; i++) {
    put_row(map, &map->ranges[i]);
  }
  make_znode(map);
}
