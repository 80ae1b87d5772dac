/*
 * Changes of a range directory through keyroute_range_init, _split, _merge and _move, on a
 * connection of their own. A change that is to stop is made below these calls, on another one,
 * whose means end before a write, as if a publisher had died.
 */
#include "test/integration/range_publisher.h"

#include "keyroute/range.h"
#include "lib/clock.h"
#include "lib/connection.h"
#include "lib/publish.h"
#include "lib/publish_conn.h"
#include "test/integration/range_tables.h"
#include "test/integration/real_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct keyroute_connection *publisher;
static unsigned stop_after, stops;
static int meta1_node;

/* ---- Calls ---- */

/* One call, to be made perhaps twice. */
struct call {
  enum kr_publish_kind kind;
  enum kr_level level;
  struct keyroute_bytes key;
  struct keyroute_range_change change;
};

static const struct kr_publish_ops *whole_ops;
static unsigned written;

/* As means have it: asked before each write. */
static int live_or_die(struct kr_publish_means *means, struct kr_failure *failure)
{
  if (written == stop_after) {
    kr_fail(failure, KEYROUTE_E_CANCELLED, "the publisher dies");
    return failure->code;
  }
  written++;
  return whole_ops->check(means, failure);
}

/* No node or one, as the calls below take it. */
static struct kr_nodes take_node(struct kr_descriptor_replica *node,
                                 const struct keyroute_range_node *given, size_t count)
{
  if (count == 0) {
    return (struct kr_nodes){NULL, 0};
  }
  *node = (struct kr_descriptor_replica){
      .node_id = given->id, .host = keyroute_string(given->host), .port = (uint16_t)given->port};
  return (struct kr_nodes){node, 1};
}

static int publish_up_to_death(struct kr_publish_conn *publish, const struct call *call,
                               struct kr_failure *failure)
{
  const struct keyroute_range_change *change = &call->change;
  struct kr_descriptor_replica node, right_node;
  struct kr_publish_request request = {
      .kind = call->kind,
      .level = call->level,
      .key = call->key,
      .ids = {change->id, change->right_id},
      .nodes = {take_node(&node, change->nodes, change->node_count),
                take_node(&right_node, change->right_nodes, change->right_node_count)},
  };
  struct kr_range_list after = {.mem = publish->means.mem};
  struct kr_publish_ops ops = *publish->means.ops;

  whole_ops = publish->means.ops;
  written = 0;
  ops.check = live_or_die;
  publish->means.ops = &ops;
  int error = kr_publish(&after, &publish->means, &request, failure);

  kr_range_list_clear(&after);
  return error;
}

/* Make it up to a write; false if it was whole before. */
static bool make_in_part(const struct range_map *map, const struct call *call)
{
  struct keyroute_connection *conn = range_open(map->znode, NULL);
  int64_t deadline_us = kr_clock_us() + conn->settings->deadline_ms * 1000;
  struct kr_publish_conn publish;
  struct kr_failure failure;

  ck_assert(kr_connection_enter(conn));
  int error = kr_publish_conn_open(&publish, conn, deadline_us, true, &failure);

  if (error == 0) {
    error = publish_up_to_death(&publish, call, &failure);
  }
  kr_publish_conn_close(&publish);
  kr_connection_leave(conn);
  keyroute_close(conn);
  ck_assert_msg(error == 0 || error == KEYROUTE_E_CANCELLED, "%s: %s", keyroute_errname(error),
                failure.message);
  return error != 0;
}

static void make_whole(const struct call *call)
{
  static int (*const calls[])(struct keyroute_ranges **, struct keyroute_connection *, const char *,
                              struct keyroute_bytes, const struct keyroute_range_change *,
                              const struct keyroute_call *, struct keyroute_detail *) = {
      [KR_PUBLISH_SPLIT] = keyroute_range_split,
      [KR_PUBLISH_MERGE] = keyroute_range_merge,
      [KR_PUBLISH_MOVE] = keyroute_range_move,
  };
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  const char *table = kr_level_name(call->level);
  int error = calls[call->kind](NULL, publisher, table, call->key, &call->change, NULL, &detail);

  ck_assert_msg(error == 0, "%s of %s: %s", table, keyroute_errname(error), detail.message);
  keyroute_detail_clear(&detail);
}

static void make(const struct range_map *map, const struct call *call)
{
  if (stop_after > 0) {
    if (!make_in_part(map, call)) {
      return;
    }
    stops++;
    map->stopped();
  }
  make_whole(call);
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
  struct call call = {KR_PUBLISH_MOVE, KR_MAP, range_bytes(&left->start),
                      KEYROUTE_RANGE_CHANGE_INIT};

  call.change.id = left->id;
  call.change.nodes = &node;
  call.change.node_count = 1;
  if (change->new_count > 1) {
    call.kind = KR_PUBLISH_SPLIT;
    call.key = range_bytes(&right->start);
    call.change.right_id = right->id;
    call.change.right_nodes = &right_node;
    call.change.right_node_count = 1;
  } else if (change->old_count > 1) {
    call.kind = KR_PUBLISH_MERGE;
  }
  make(map, &call);
}

/* In the indexes keys have a level in front; what is cut is told by its start. */
static void change_index(const struct range_map *map, enum kr_publish_kind kind,
                         enum kr_level level, const struct range *range)
{
  struct keyroute_range_node node = node_of(range->node);
  struct call call = {kind, level, range_bytes(&range->start), KEYROUTE_RANGE_CHANGE_INIT};

  if (kind == KR_PUBLISH_MOVE) {
    call.change.nodes = &node;
    call.change.node_count = 1;
  } else if (kind == KR_PUBLISH_SPLIT) {
    call.change.right_nodes = &node;
    call.change.right_node_count = 1;
  }
  make(map, &call);
}

static void move_meta2(struct range_map *map, size_t index)
{
  struct range *range = &map->meta2[index];

  range->node = (range->node + 1) % RANGE_NODES;
  change_index(map, KR_PUBLISH_MOVE, KR_META2, range);
}

void range_publisher_cut_meta2(struct range_map *map)
{
  for (size_t i = 1; i < RANGE_META2; i++) {
    struct range *range = &map->meta2[i];
    const struct range_key *start = &map->ranges[map->count * i / RANGE_META2].start;

    range->start = (struct range_key){.data = {2}, .len = start->len + 1};
    memcpy(range->start.data + 1, start->data, start->len);
    range->node = (int)((i + 1) % RANGE_NODES);
    change_index(map, KR_PUBLISH_SPLIT, KR_META2, range);
  }
}

void range_publisher_recut_meta2(struct range_map *map)
{
  change_index(map, KR_PUBLISH_MERGE, KR_META2, &map->meta2[0]);
  change_index(map, KR_PUBLISH_SPLIT, KR_META2, &map->meta2[1]);
}

void range_publisher_move_meta1(struct range_map *map)
{
  meta1_node = (meta1_node + 1) % RANGE_NODES;
  change_index(map, KR_PUBLISH_MOVE, KR_META1, &(struct range){.node = meta1_node});
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
