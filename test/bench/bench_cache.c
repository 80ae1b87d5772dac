/*
 * A cache for benchmarks, of a connection that never asks anybody: its registry is a fixed address,
 * and opening touches no network.
 *
 *  1. The sweeper is told of nothing that is stored, and nothing bounds how long a region stays: so
 *     the loop thread never looks into the cache, which makes it safe to change it elsewhere.
 *  2. Regions lie on SERVERS servers, each interned once, as those of a real cluster are.
 */
#include "test/bench/bench_cache.h"

#include "lib/bytes.h"
#include "lib/region.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS = 100, NAME_MAX_LEN = 512 };

static struct kr_servers *interned;
static struct kr_server *servers[SERVERS];
static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER; /* in the loop's place */

static void require(bool good, const char *what)
{
  if (!good) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
  }
}

static void make_servers(struct kr_mem *mem)
{
  interned = kr_servers_new(mem);
  require(interned != NULL, "out of memory");
  for (int i = 0; i < SERVERS; i++) {
    char host[64];

    snprintf(host, sizeof(host), "server-%d.example", i);
    servers[i] = kr_servers_get(interned, keyroute_string(host), 16020, 1);
    require(servers[i] != NULL, "out of memory");
  }
}

struct keyroute_connection *bench_open(void)
{
  static const char *const settings[][2] = {{"keyroute.registry", "static"},
                                            {"keyroute.registry.static.root", "127.0.0.1:1"},
                                            {"keyroute.cache.max.regions", "0"},
                                            {"keyroute.cache.max.bytes", "0"},
                                            {"keyroute.cache.idle.ms", "0"}};
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;

  require(keyroute_options_new(&options, NULL) == 0, "out of memory");
  for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
    require(keyroute_options_set(options, settings[i][0], settings[i][1], NULL) == 0,
            settings[i][0]);
  }
  require(keyroute_open(&conn, options, NULL) == 0, "no connection");
  keyroute_options_free(options);
  kr_cache_set_watcher(conn->cache, NULL, NULL);
  make_servers(conn->mem);
  return conn;
}

void bench_close(struct keyroute_connection *conn)
{
  for (int i = 0; i < SERVERS; i++) {
    kr_server_release(servers[i]);
  }
  kr_servers_free(interned);
  keyroute_close(conn);
}

struct keyroute_table *bench_table(struct keyroute_connection *conn, const char *name)
{
  struct keyroute_table *table = NULL;

  require(keyroute_table_get(&table, conn, name) == 0, "no table");
  return table;
}

/* Write "table,start,id.encoded." and give its length. */
static size_t write_name(char *out, struct keyroute_bytes table, struct keyroute_bytes start,
                         int64_t id)
{
  char *to = out;

  require(table.len + start.len + 64 < NAME_MAX_LEN, "a key is too long");
  memcpy(to, table.data, table.len);
  to += table.len;
  *to++ = ',';
  memcpy(to, start.data, start.len);
  to += start.len;
  to += sprintf(to, ",%lld.", (long long)id);
  kr_region_encoded_name(to, table, start, id, 0);
  memcpy(to + 32, ".", 2);
  return (size_t)(to + 33 - out);
}

static struct keyroute_location *make_location(struct kr_mem *mem, struct keyroute_bytes table,
                                               struct keyroute_bytes start,
                                               struct keyroute_bytes end, int64_t seqnum)
{
  char name[NAME_MAX_LEN];
  struct kr_replica replica = {servers[seqnum % SERVERS], seqnum};
  int64_t id = 1700000000000 + seqnum;
  size_t len = write_name(name, table, start, id);
  struct kr_location_parts parts = {
      .name = kr_bytes(name, len),
      .table_len = table.len,
      .start_len = start.len,
      .encoded = kr_bytes(name + len - 33, 32),
      .end_key = end,
      .region_id = id,
      .state = KR_STATE_OPEN,
      .replicas = &replica,
      .replica_count = 1,
  };

  return kr_location_new(mem, &parts);
}

void bench_put(struct keyroute_connection *conn, struct keyroute_table *table,
               struct keyroute_bytes start, struct keyroute_bytes end, int64_t seqnum)
{
  struct keyroute_location *kept = NULL;
  struct keyroute_location *fresh =
      make_location(conn->mem, kr_table_name(table), start, end, seqnum);

  require(fresh != NULL, "out of memory");
  pthread_mutex_lock(&loop_lock);
  int error = kr_cache_store(conn->cache, table, fresh, kr_cache_tick(conn->cache), &kept);

  pthread_mutex_unlock(&loop_lock);
  require(error == 0 && kept == fresh, "a region was not stored");
  keyroute_location_release(kept);
  keyroute_location_release(fresh);
}

void bench_take(struct keyroute_connection *conn, struct keyroute_table *table,
                struct keyroute_bytes row)
{
  pthread_mutex_lock(&loop_lock);
  kr_cache_remove_row(conn->cache, table, row, KR_AT);
  pthread_mutex_unlock(&loop_lock);
}
