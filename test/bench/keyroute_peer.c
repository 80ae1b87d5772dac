/*
 * Our side in the race of hits (hit_peer.c): the public calls, on the cache of an open connection,
 * which bench_cache.c fills.
 *
 *   peek    keyroute_peek through a table handle, in a section of its own
 *   many    keyroute_peek_many, 16 rows a section
 *   locate  keyroute_locate by the table's name: counted in and out, checks its arguments
 *
 *   keyroute_peer STEM
 */
#include "test/bench/bench_cache.h"
#include "test/bench/hit_peer.h"

#include <stdio.h>

enum { BATCH = 16 };

static const char table_name[] = "bench";

static struct keyroute_connection *conn;
static struct keyroute_table *table;

/* Is it this region? Returns 1 where there is none. */
static size_t check(const struct keyroute_location *location, uint32_t region)
{
  if (location == NULL) {
    return 1;
  }
  if ((keyroute_location_seqnum(location, 0) & HIT_REGION_MASK) != region) {
    hit_wrong();
  }
  return 0;
}

static size_t find_peek(const struct keyroute_bytes *rows, const uint32_t *regions, size_t count)
{
  size_t missing = 0;

  for (size_t i = 0; i < count; i++) {
    keyroute_peek_begin();
    missing += check(keyroute_peek(table, rows[i]), regions[i]);
    keyroute_peek_end();
  }
  return missing;
}

static size_t find_many(const struct keyroute_bytes *rows, const uint32_t *regions, size_t count)
{
  const struct keyroute_location *found[BATCH];
  size_t missing = 0;

  for (size_t done = 0; done < count; done += BATCH) {
    size_t now = count - done < BATCH ? count - done : BATCH;

    keyroute_peek_begin();
    keyroute_peek_many(found, table, rows + done, now);
    for (size_t i = 0; i < now; i++) {
      missing += check(found[i], regions[done + i]);
    }
    keyroute_peek_end();
  }
  return missing;
}

static size_t find_locate(const struct keyroute_bytes *rows, const uint32_t *regions, size_t count)
{
  static const struct keyroute_call call = {.size = sizeof(call), .flags = KEYROUTE_CACHE_ONLY};
  size_t missing = 0;

  for (size_t i = 0; i < count; i++) {
    struct keyroute_location *location = NULL;

    keyroute_locate(&location, conn, table_name, rows[i], &call, NULL);
    missing += check(location, regions[i]);
    keyroute_location_release(location);
  }
  return missing;
}

static void put(const struct hit_region *region)
{
  bench_put(conn, table, region->start, region->end, region->seqnum);
}

static void take(const struct hit_region *region)
{
  bench_take(conn, table, region->start);
}

static size_t bytes(void)
{
  return kr_cache_size(conn->cache).bytes;
}

int main(int argc, char **argv)
{
  static const struct hit_way ways[] = {
      {"peek", find_peek}, {"many", find_many}, {"locate", find_locate}, {NULL, NULL}};
  static const struct hit_peer us = {.ways = ways, .put = put, .take = take, .bytes = bytes};

  if (argc != 2) {
    fprintf(stderr, "usage: keyroute_peer STEM\n");
    return 2;
  }
  conn = bench_open(0);
  table = bench_table(conn, table_name);
  int result = hit_play(&us, argv[1]);

  keyroute_table_release(table);
  bench_close(conn);
  return result;
}
