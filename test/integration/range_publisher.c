/*
 * Changes of a range directory through keyroute_range_init, _split, _merge and _move, on a
 * connection of their own. A change that is to stop is made on another one, which has the property
 * for that, as if a publisher had died.
 */
#include "test/integration/range_publisher.h"

#include "keyroute/range.h"
#include "test/integration/range_tables.h"
#include "test/integration/range_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct keyroute_connection *publisher;
static unsigned stop_after, stops;
static int meta1_node;

/* ---- Calls ---- */

/* One call, to be made perhaps twice. */
struct call {
  int (*make)(struct keyroute_ranges **out, struct keyroute_connection *conn, const char *table,
              struct keyroute_bytes key, const struct keyroute_range_change *change,
              const struct keyroute_call *call, struct keyroute_detail *detail);
  const char *table;
  struct keyroute_bytes key;
  struct keyroute_range_change change;
};

/* Make it up to a write; false if it was whole before. */
static bool make_in_part(const struct range_map *map, const struct call *call)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  char setting[64];

  snprintf(setting, sizeof(setting), "keyroute.range.stop.after.writes=%u", stop_after);
  struct keyroute_connection *conn = range_open(map->znode, (const char *const[]){setting, NULL});
  int error = call->make(NULL, conn, call->table, call->key, &call->change, NULL, &detail);

  ck_assert_msg(error == 0 || error == KEYROUTE_E_CANCELLED, "%s: %s", keyroute_errname(error),
                detail.message);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}

static void make(const struct range_map *map, const struct call *call)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  if (stop_after > 0) {
    if (!make_in_part(map, call)) {
      return;
    }
    stops++;
    map->stopped();
  }
  int error = call->make(NULL, publisher, call->table, call->key, &call->change, NULL, &detail);

  ck_assert_msg(error == 0, "%s of %s: %s", call->table, keyroute_errname(error), detail.message);
  keyroute_detail_clear(&detail);
}

static struct keyroute_range_node node_of(int node)
{
  const char *port = strchr(nodes_address(range_nodes, node), ':') + 1;

  return (struct keyroute_range_node){(uint64_t)node + 1, "127.0.0.1", atoi(port)};
}

/* ---- Changes ---- */

static void publish(struct range_map *map, const struct range_change *change)
{
  const struct range *left = &change->news[0], *right = &change->news[1];
  struct keyroute_range_node node = node_of(left->node), right_node = node_of(right->node);
  struct call call = {keyroute_range_move, "map", range_bytes(&left->start),
                      KEYROUTE_RANGE_CHANGE_INIT};

  call.change.id = left->id;
  call.change.nodes = &node;
  call.change.node_count = 1;
  if (change->new_count > 1) {
    call.make = keyroute_range_split;
    call.key = range_bytes(&right->start);
    call.change.right_id = right->id;
    call.change.right_nodes = &right_node;
    call.change.right_node_count = 1;
  } else if (change->old_count > 1) {
    call.make = keyroute_range_merge;
  }
  make(map, &call);
}

/* In the indexes keys have a level in front; what is cut is told by its start. */
static void change_index(const struct range_map *map, const char *table, const struct range *range,
                         struct call *call)
{
  struct keyroute_range_node node = node_of(range->node);

  call->table = table;
  call->key = range_bytes(&range->start);
  call->change = (struct keyroute_range_change)KEYROUTE_RANGE_CHANGE_INIT;
  if (call->make == keyroute_range_move) {
    call->change.nodes = &node;
    call->change.node_count = 1;
  } else if (call->make == keyroute_range_split) {
    call->change.right_nodes = &node;
    call->change.right_node_count = 1;
  }
  make(map, call);
}

static void move_meta2(struct range_map *map, size_t index)
{
  struct range *range = &map->meta2[index];

  range->node = (range->node + 1) % RANGE_NODES;
  change_index(map, "meta2", range, &(struct call){.make = keyroute_range_move});
}

void range_publisher_cut_meta2(struct range_map *map)
{
  for (size_t i = 1; i < RANGE_META2; i++) {
    struct range *range = &map->meta2[i];
    const struct range_key *start = &map->ranges[map->count * i / RANGE_META2].start;

    range->start = (struct range_key){.data = {2}, .len = start->len + 1};
    memcpy(range->start.data + 1, start->data, start->len);
    range->node = (int)((i + 1) % RANGE_NODES);
    change_index(map, "meta2", range, &(struct call){.make = keyroute_range_split});
  }
}

void range_publisher_recut_meta2(struct range_map *map)
{
  change_index(map, "meta2", &map->meta2[0], &(struct call){.make = keyroute_range_merge});
  change_index(map, "meta2", &map->meta2[1], &(struct call){.make = keyroute_range_split});
}

void range_publisher_move_meta1(struct range_map *map)
{
  meta1_node = (meta1_node + 1) % RANGE_NODES;
  change_index(map, "meta1", &(struct range){.node = meta1_node},
               &(struct call){.make = keyroute_range_move});
}

/* ---- Making it ---- */

void range_publisher_make(struct range_map *map)
{
  static const struct range_publishing publishing = {publish, move_meta2};
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_range_node meta1 = node_of(0), meta2 = node_of(1);
  struct keyroute_range_node node = node_of(map->ranges[0].node);
  struct keyroute_range_init init = {.size = sizeof(init),
                                     .meta1 = &meta1,
                                     .meta2 = &meta2,
                                     .map = &node,
                                     .meta1_count = 1,
                                     .meta2_count = 1,
                                     .map_count = 1,
                                     .id = map->ranges[0].id};

  ck_assert_uint_eq(map->count, 1);
  map->publishing = &publishing;
  map->meta2[0].node = 1;
  meta1_node = 0;
  publisher = range_open(map->znode, NULL);
  ck_assert_msg(keyroute_range_init(NULL, publisher, &init, NULL, &detail) == 0, "%s",
                detail.message);
  keyroute_detail_clear(&detail);
}

void range_publisher_end(struct range_map *map)
{
  (void)map;
  keyroute_close(publisher);
}

void range_publisher_stop_after(unsigned writes)
{
  stop_after = writes;
}

unsigned range_publisher_stops(void)
{
  unsigned since = stops;

  stops = 0;
  return since;
}
