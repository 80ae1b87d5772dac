#ifndef CACHE_HARNESS_H
#define CACHE_HARNESS_H

/* A cache with all it needs, and regions to put into it. */

#include "lib/cache.h"
#include "test/failing_mem.h"
#include "test/made_location.h"

#include <check.h>

struct fixture {
  struct kr_mem *mem;
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_servers *servers;
  struct keyroute_table *table; /* "t" */
};

static inline struct fixture fixture_new(void)
{
  struct fixture fixture = {.mem = failing_mem_new()};

  fixture.stats = kr_stats_new(fixture.mem);
  fixture.cache = kr_cache_new(fixture.mem, fixture.stats);
  fixture.servers = kr_servers_new(fixture.mem);
  fixture.table = kr_cache_table(fixture.cache, keyroute_string("t"));
  ck_assert_ptr_nonnull(fixture.table);
  return fixture;
}

static inline void fixture_free(struct fixture *fixture)
{
  if (fixture->table != NULL) {
    kr_table_release(fixture->table);
  }
  kr_cache_free(fixture->cache);
  kr_servers_free(fixture->servers);
  kr_stats_free(fixture->stats);
  kr_rcu_barrier();
  failing_mem_done(fixture->mem);
}

static inline struct keyroute_location *made(struct fixture *fixture, const char *start,
                                             const char *end, int64_t id, int64_t start_code,
                                             int64_t seqnum)
{
  struct made parts = {"t", start, end, id, "h", 1, start_code, seqnum};
  struct keyroute_location *location = make_location(fixture->mem, fixture->servers, &parts);

  ck_assert_ptr_nonnull(location);
  return location;
}

/* Store what a read sent at a logical time found; true if that very location was kept. */
static inline bool store_sent(struct fixture *fixture, struct keyroute_location *location,
                              uint64_t sent)
{
  struct keyroute_location *kept = NULL;

  ck_assert_int_eq(kr_cache_store(fixture->cache, fixture->table, location, sent, &kept), 0);
  ck_assert_ptr_nonnull(kept);
  bool same = kept == location && kr_location_stored(location) > 0;

  keyroute_location_release(kept);
  keyroute_location_release(location);
  return same;
}

/* Store what a read sent now found. */
static inline void store(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  store_sent(fixture, made(fixture, start, end, id, 1, 2), kr_cache_tick(fixture->cache));
}

/* The id of the live region that covers a row; 0 = a miss. */
static inline int64_t find_at(const struct fixture *fixture, const char *row,
                              enum kr_position position)
{
  kr_rcu_read_begin();
  struct keyroute_location *location =
      kr_table_find(fixture->table, keyroute_string(row), position);
  int64_t id = location != NULL ? keyroute_location_region_id(location) : 0;

  kr_rcu_read_end();
  return id;
}

static inline int64_t find(const struct fixture *fixture, const char *row)
{
  return find_at(fixture, row, KR_AT);
}

static inline size_t region_count(const struct fixture *fixture)
{
  return kr_cache_size(fixture->cache).regions;
}

/* One whole round. */
static inline void sweep(struct fixture *fixture)
{
  kr_cache_visit(fixture->cache, region_count(fixture));
}

/* The start code of the server that a row's region is said to be on. */
static inline int64_t start_code_of(const struct fixture *fixture, const char *row)
{
  kr_rcu_read_begin();
  int64_t code =
      keyroute_location_start_code(kr_table_find(fixture->table, keyroute_string(row), KR_AT), 0);

  kr_rcu_read_end();
  return code;
}

/* A region with two replicas; code 0 = on no server. */
static inline struct keyroute_location *made_two(struct fixture *fixture, int64_t first_code,
                                                 int64_t first_seqnum, int64_t second_code,
                                                 int64_t second_seqnum)
{
  struct made made = {"t", "", "", 1, NULL, 0, 0, 0};
  struct keyroute_bytes host = keyroute_string("h");
  struct kr_replica replicas[2] = {{NULL, first_seqnum}, {NULL, second_seqnum}};
  char name[128];
  size_t len = made_name(name, sizeof(name), &made);

  if (first_code != 0) {
    replicas[0].server = kr_servers_get(fixture->servers, host, 1, first_code);
  }
  if (second_code != 0) {
    replicas[1].server = kr_servers_get(fixture->servers, host, 1, second_code);
  }
  struct kr_location_parts parts = {
      .name = kr_bytes(name, len),
      .table_len = 1,
      .encoded = kr_bytes(name + len - 33, 32),
      .region_id = 1,
      .replicas = replicas,
      .replica_count = 2,
  };
  struct keyroute_location *location = kr_location_new(fixture->mem, &parts);

  kr_server_release(replicas[0].server);
  kr_server_release(replicas[1].server);
  ck_assert_ptr_nonnull(location);
  return location;
}

static inline int64_t replica_code(const struct fixture *fixture, int replica)
{
  kr_rcu_read_begin();
  int64_t code = keyroute_location_start_code(
      kr_table_find(fixture->table, keyroute_string("a"), KR_AT), replica);

  kr_rcu_read_end();
  return code;
}

#endif
