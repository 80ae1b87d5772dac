/*
 * The smallest cluster: one scripted region server, which holds meta and is named by the static
 * registry, and one connection to it. No ZooKeeper, no Java.
 */
#include "test/fake_cluster.h"

#include <check.h>
#include <stdio.h>

enum { START_CODE = 77 };

void fake_cluster_set(struct fake_cluster *cluster, const char *name, const char *value)
{
  ck_assert_int_eq(keyroute_options_set(cluster->options, name, value, NULL), 0);
}

void fake_cluster_start(struct fake_cluster *cluster, const struct keyroute_allocator *allocator)
{
  char root[64];

  cluster->conn = NULL;
  cluster->server = fake_server_start(0);
  ck_assert_int_eq(keyroute_options_new(&cluster->options, allocator), 0);
  snprintf(root, sizeof(root), "127.0.0.1:%d:%d", fake_server_port(cluster->server), START_CODE);
  fake_cluster_set(cluster, "keyroute.registry", "static");
  fake_cluster_set(cluster, "keyroute.registry.static.root", root);
  fake_cluster_set(cluster, "keyroute.user", "tester");
  fake_cluster_set(cluster, "hbase.client.pause", "1");
  fake_cluster_set(cluster, "hbase.client.retries.number", "1");
}

void fake_cluster_open(struct fake_cluster *cluster)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int error = keyroute_open(&cluster->conn, cluster->options, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
}

void fake_cluster_put(struct fake_cluster *cluster, const char *table, const char *start,
                      const char *end, int64_t id)
{
  struct fake_region region = {
      .table = table,
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .host = "127.0.0.1",
      .port = fake_server_port(cluster->server),
      .start_code = START_CODE,
      .seqnum = 1,
  };

  fake_server_put_region(cluster->server, &region);
}

struct keyroute_stats fake_cluster_stats(const struct fake_cluster *cluster)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  ck_assert_int_eq(keyroute_stats(cluster->conn, &stats), 0);
  return stats;
}

void fake_cluster_stop(struct fake_cluster *cluster)
{
  ck_assert_int_eq(keyroute_close(cluster->conn), 0);
  keyroute_options_free(cluster->options);
  fake_server_free(cluster->server);
}
