/*
 * The scripted cluster of the tests of the last hop.
 */
#include "test/hop_world.h"

#include <string.h>

static struct fake_region region(const char *start, const char *end, int64_t id)
{
  return (struct fake_region){
      .table = "t",
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .seqnum = 5,
  };
}

void hop_world_start(struct hop_world *world, const struct keyroute_allocator *allocator)
{
  memset(world, 0, sizeof(*world));
  fake_cluster_start(&world->cluster, allocator);
  fake_cluster_set(&world->cluster, "hbase.client.retries.number", "15");
  world->rows = fake_rows_new();
  for (int i = 0; i < HOP_SERVERS; i++) {
    world->servers[i] = fake_server_start(0);
    fake_server_set_rows(world->servers[i], world->rows);
  }
  world->low = region("", "m", 1);
  world->high = region("m", "", 2);
  fake_server_place_region(world->cluster.server, world->servers[0], &world->low);
  fake_server_place_region(world->cluster.server, world->servers[1], &world->high);
}

void hop_world_open(struct hop_world *world)
{
  fake_cluster_open(&world->cluster);
}

void hop_world_stop(struct hop_world *world)
{
  fake_cluster_stop(&world->cluster);
  for (int i = 0; i < HOP_SERVERS; i++) {
    fake_server_free(world->servers[i]);
  }
  fake_rows_release(world->rows);
}

void hop_world_put(struct hop_world *world, const char *key, const char *value)
{
  fake_rows_put(world->rows, "t", row(key), "f", "q", 1, keyroute_string(value));
}

void hop_world_mark(struct hop_world *world)
{
  world->before = fake_cluster_stats(&world->cluster);
}

struct keyroute_stats hop_world_since(const struct hop_world *world)
{
  struct keyroute_stats since = fake_cluster_stats(&world->cluster);

  since.scans -= world->before.scans;
  since.rpcs -= world->before.rpcs;
  since.retries -= world->before.retries;
  since.hints_taken -= world->before.hints_taken;
  since.requests -= world->before.requests;
  since.requests_failed -= world->before.requests_failed;
  since.rows_read -= world->before.rows_read;
  since.rows_retried -= world->before.rows_retried;
  return since;
}

void hop_world_warm(struct hop_world *world, const char *key)
{
  ck_assert_int_eq(locate(world->cluster.conn, "t", key, 0, NULL), 0);
  hop_world_mark(world);
}
