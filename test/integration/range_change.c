/*
 * Changes of ranges: the tables that take the old ones' place are made and filled here, before
 * anybody is told. A reader that has an old location meets a table that is complete, or none.
 */
#include "test/integration/range_change.h"

#include "test/integration/range_tables.h"
#include "test/integration/real_nodes.h"

#include <stdlib.h>
#include <string.h>

/* ---- The list of ranges ---- */

static void insert(struct range_map *map, size_t index)
{
  if (map->count == map->room) {
    map->room *= 2;
    map->ranges = realloc(map->ranges, map->room * sizeof(map->ranges[0]));
    ck_assert_ptr_nonnull(map->ranges);
  }
  memmove(&map->ranges[index + 1], &map->ranges[index],
          (map->count - index) * sizeof(map->ranges[0]));
  map->count++;
}

static void take_out(struct range_map *map, size_t index)
{
  map->count--;
  memmove(&map->ranges[index], &map->ranges[index + 1],
          (map->count - index) * sizeof(map->ranges[0]));
}

bool range_is_inside(const struct range_map *map, size_t index, const struct range_key *row)
{
  return range_map_find(map, range_bytes(row)) == index &&
         range_key_compare(row, &map->ranges[index].start) != 0;
}

/* ---- Changes ---- */

/* What an old range has of a new one's keys. */
static void fill(const struct range *from, const struct range *to)
{
  bool starts_later = range_key_compare(&from->start, &to->start) > 0;
  bool ends_earlier =
      from->end.len > 0 && (to->end.len == 0 || range_key_compare(&from->end, &to->end) < 0);

  range_copy(from, starts_later ? &from->start : &to->start, ends_earlier ? &from->end : &to->end,
             to);
}

static void carry_out(struct range_map *map, const struct range_change *change)
{
  for (size_t i = 0; i < change->new_count; i++) {
    range_create(&change->news[i], "f");
    for (size_t j = 0; j < change->old_count; j++) {
      fill(&change->olds[j], &change->news[i]);
    }
  }
  map->publishing->publish(map, change);
}

static struct range new_range(struct range_map *map, const struct range *old)
{
  return (struct range){.id = map->next_id++,
                        .generation = old->generation + 1,
                        .start = old->start,
                        .end = old->end,
                        .node = old->node};
}

static int next_node(const struct range *range)
{
  return (range->node + 1) % RANGE_NODES;
}

void range_split(struct range_map *map, const struct range_key *key)
{
  size_t index = range_map_find(map, range_bytes(key));
  const struct range *old = &map->ranges[index];
  struct range_change change = {{*old}, {new_range(map, old), new_range(map, old)}, 1, 2};

  change.news[0].end = change.news[1].start = *key;
  change.news[1].node = next_node(old);
  carry_out(map, &change);
  insert(map, index);
  map->ranges[index] = change.news[0];
  map->ranges[index + 1] = change.news[1];
}

void range_merge(struct range_map *map, size_t index)
{
  const struct range *left = &map->ranges[index], *right = left + 1;
  struct range_change change = {{*left, *right}, {new_range(map, left)}, 2, 1};

  change.news[0].end = right->end;
  if (right->generation > left->generation) {
    change.news[0].generation = right->generation + 1;
  }
  carry_out(map, &change);
  take_out(map, index + 1);
  map->ranges[index] = change.news[0];
}

void range_move(struct range_map *map, size_t index)
{
  const struct range *old = &map->ranges[index];
  struct range_change change = {{*old}, {*old}, 1, 1};
  struct range *moved = &change.news[0];

  moved->id = old->moved ? map->next_id++ : old->id;
  moved->moved = !old->moved;
  moved->generation++;
  moved->node = next_node(old);
  carry_out(map, &change);
  map->ranges[index] = *moved;
}

void range_move_meta2(struct range_map *map, size_t index)
{
  map->publishing->move_meta2(map, index);
}
