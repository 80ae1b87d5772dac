#include "test/cache_harness.h"

#include <stdio.h>

struct fixture fixture_new(void)
{
  struct fixture fixture = {.mem = failing_mem_new()};

  fixture.stats = kr_stats_new(fixture.mem);
  fixture.cache = kr_cache_new(fixture.mem, fixture.stats);
  fixture.servers = kr_servers_new(fixture.mem);
  fixture.table = kr_cache_table(fixture.cache, keyroute_string("t"));
  ck_assert_ptr_nonnull(fixture.table);
  return fixture;
}

void fixture_free(struct fixture *fixture)
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

struct keyroute_location *made(struct fixture *fixture, const char *start, const char *end,
                               int64_t id, int64_t start_code, int64_t seqnum)
{
  struct made parts = {"t", start, end, id, "h", 1, start_code, seqnum};
  struct keyroute_location *location = make_location(fixture->mem, fixture->servers, &parts);

  ck_assert_ptr_nonnull(location);
  return location;
}

bool store_sent(struct fixture *fixture, struct keyroute_location *location, uint64_t sent)
{
  struct keyroute_location *kept = NULL;

  ck_assert_int_eq(kr_cache_store(fixture->cache, fixture->table, location, sent, &kept), 0);
  ck_assert_ptr_nonnull(kept);
  bool same = kept == location && kr_location_stored(location) > 0;

  keyroute_location_release(kept);
  keyroute_location_release(location);
  return same;
}

void store(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  store_sent(fixture, made(fixture, start, end, id, 1, 2), kr_cache_tick(fixture->cache));
}

int64_t find_at(const struct fixture *fixture, const char *row, enum kr_position position)
{
  kr_rcu_read_begin();
  struct keyroute_location *location =
      kr_table_find(fixture->table, keyroute_string(row), position);
  int64_t id = location != NULL ? keyroute_location_region_id(location) : 0;

  kr_rcu_read_end();
  return id;
}

int64_t find(const struct fixture *fixture, const char *row)
{
  return find_at(fixture, row, KR_AT);
}

size_t region_count(const struct fixture *fixture)
{
  return kr_cache_size(fixture->cache).regions;
}

void sweep(struct fixture *fixture)
{
  kr_cache_visit(fixture->cache, region_count(fixture));
}

int64_t start_code_of(const struct fixture *fixture, const char *row)
{
  kr_rcu_read_begin();
  int64_t code =
      keyroute_location_start_code(kr_table_find(fixture->table, keyroute_string(row), KR_AT), 0);

  kr_rcu_read_end();
  return code;
}

struct keyroute_location *made_two(struct fixture *fixture, int64_t first_code,
                                   int64_t first_seqnum, int64_t second_code, int64_t second_seqnum)
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

int64_t replica_code(const struct fixture *fixture, int replica)
{
  kr_rcu_read_begin();
  int64_t code = keyroute_location_start_code(
      kr_table_find(fixture->table, keyroute_string("a"), KR_AT), replica);

  kr_rcu_read_end();
  return code;
}

struct fixture bounded(size_t regions, size_t bytes)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_limits limits = {.regions = regions, .bytes = bytes};

  kr_cache_set_limits(fixture.cache, &limits);
  return fixture;
}

void store_number(struct fixture *fixture, int number)
{
  char start[16], end[16];

  snprintf(start, sizeof(start), "%04d", number);
  snprintf(end, sizeof(end), "%04d", number + 1);
  store(fixture, start, end, number + 1);
}

uint64_t counted(const struct fixture *fixture, enum kr_counter counter)
{
  return kr_stats_read(fixture->stats, counter);
}
