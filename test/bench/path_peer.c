/*
 * Our side of whole paths on a real HBase: does what it is told on standard input, one command a
 * line, and answers with figures.
 *
 *   path_peer HOST:PORT                      of ZooKeeper
 *
 *   misses TABLE N                           N lookups of random rows that read the catalog, over
 *                                            a warm connection, one after another
 *   floor HOST PORT TABLE N                  the last request of such lookups, sent to meta's
 *                                            server over a bare socket (floor.c)
 *   storm TABLE THREADS REGIONS drawn        so many threads of a new connection look up a row of
 *                                            each region, each in an order of its own
 *   storm TABLE THREADS REGIONS down         the same, all from the last region down
 *   list TABLE                               all regions, which warms the cache up, over a warm
 *                                            connection
 *
 * The first two answer "OK p50_us=N p99_us=N cpu_us=N", the others "OK ms=N cpu_ms=N" and how many
 * scans, or regions, it took.
 */
#include "keyroute/keyroute.h"

#include "test/bench/floor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT_MAX = 100000, THREADS_MAX = 256, ROW_LEN = 8, PAGE = 1000 };

static const char *zookeeper;
static struct keyroute_connection *warm;

static void require(bool good, const char *what)
{
  if (!good) {
    fprintf(stderr, "path_peer: %s\n", what);
    exit(1);
  }
}

static int64_t clock_ns(clockid_t clock)
{
  struct timespec now;

  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct keyroute_connection *open_connection(void)
{
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;

  require(keyroute_options_new(&options, NULL) == 0 &&
              keyroute_options_set_zookeeper(options, zookeeper) == 0 &&
              keyroute_open(&conn, options, NULL) == 0,
          "cannot open");
  keyroute_options_free(options);
  return conn;
}

static void locate(struct keyroute_connection *conn, const char *table, struct keyroute_bytes row,
                   unsigned flags)
{
  const struct keyroute_call call = {.size = sizeof(call), .flags = flags};
  struct keyroute_location *location = NULL;
  int error = keyroute_locate(&location, conn, table, row, &call, NULL);

  require(error == 0, keyroute_errname(error));
  keyroute_location_release(location);
}

/* ---- One after another ---- */

static int64_t took_ns[COUNT_MAX];

static int compare(const void *a, const void *b)
{
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

  return (left > right) - (left < right);
}

static void tell_quantiles(int count, int64_t cpu_ns)
{
  qsort(took_ns, (size_t)count, sizeof(took_ns[0]), compare);
  printf("OK p50_us=%.1f p99_us=%.1f cpu_us=%.1f\n", (double)took_ns[count / 2] / 1e3,
         (double)took_ns[(long)count * 99 / 100] / 1e3, (double)cpu_ns / 1e3 / count);
}

static void time_misses(const char *table, int count)
{
  int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  uint8_t row[ROW_LEN];

  for (int i = 0; i < count; i++) {
    for (size_t j = 0; j < sizeof(row); j++) {
      row[j] = (uint8_t)random();
    }
    int64_t began = clock_ns(CLOCK_MONOTONIC);

    locate(warm, table, (struct keyroute_bytes){row, sizeof(row)}, KEYROUTE_REFRESH);
    took_ns[i] = clock_ns(CLOCK_MONOTONIC) - began;
  }
  tell_quantiles(count, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

static void time_floor(const char *host, int port, const char *table, int count)
{
  struct floor *noted = floor_record(host, port, table);

  require(noted != NULL, "no request was noted");
  int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

  require(floor_replay(noted, took_ns, count), "the server took the request once and no more");
  tell_quantiles(count, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  floor_free(noted);
}

/* ---- A cold start ---- */

struct storm {
  struct keyroute_connection *conn;
  const char *table;
  unsigned regions;
  bool down;
  pthread_barrier_t begin; /* all threads, and whoever looks at the clock */
};

/* The key at which a region starts, as those do that have been made evenly of three bytes. */
static struct keyroute_bytes start_of(uint8_t out[3], unsigned region, unsigned regions)
{
  unsigned key = (unsigned)((unsigned long long)region * 0x1000000 / regions);

  out[0] = (uint8_t)(key >> 16);
  out[1] = (uint8_t)(key >> 8);
  out[2] = (uint8_t)key;
  return (struct keyroute_bytes){out, region == 0 ? 0 : 3};
}

/* The regions, from the last one down or shuffled. */
static unsigned *make_order(unsigned regions, bool down)
{
  unsigned *order = malloc(regions * sizeof(*order));

  require(order != NULL, "out of memory");
  for (unsigned i = 0; i < regions; i++) {
    order[i] = regions - 1 - i;
  }
  for (unsigned i = regions; !down && i > 1; i--) {
    unsigned other = (unsigned)random() % i, moved = order[other];

    order[other] = order[i - 1];
    order[i - 1] = moved;
  }
  return order;
}

static void *run_cold(void *arg)
{
  struct storm *storm = arg;
  unsigned *order = make_order(storm->regions, storm->down);
  uint8_t key[3];

  pthread_barrier_wait(&storm->begin);
  for (unsigned i = 0; i < storm->regions; i++) {
    locate(storm->conn, storm->table, start_of(key, order[i], storm->regions), 0);
  }
  free(order);
  return NULL;
}

static void time_storm(const char *table, int threads, unsigned regions, bool down)
{
  struct storm storm = {
      .conn = open_connection(), .table = table, .regions = regions, .down = down};
  struct keyroute_stats stats = {.size = sizeof(stats)};
  pthread_t ids[THREADS_MAX];

  pthread_barrier_init(&storm.begin, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; i++) {
    require(pthread_create(&ids[i], NULL, run_cold, &storm) == 0, "no thread");
  }
  int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), began = clock_ns(CLOCK_MONOTONIC);

  pthread_barrier_wait(&storm.begin);
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
  }
  double ms = (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e6;
  double cpu_ms = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e6;

  require(keyroute_stats(storm.conn, &stats) == 0, "no statistics");
  printf("OK ms=%.1f cpu_ms=%.1f scans=%llu\n", ms, cpu_ms, (unsigned long long)stats.scans);
  pthread_barrier_destroy(&storm.begin);
  keyroute_close(storm.conn);
}

/* ---- A whole table ---- */

static void time_list(const char *table)
{
  struct keyroute_bytes start = {"", 0};
  struct keyroute_page *page = NULL, *before = NULL;
  size_t count = 0;
  bool more;
  int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), began = clock_ns(CLOCK_MONOTONIC);

  do {
    require(keyroute_regions(&page, warm, table, start, keyroute_string(""), PAGE, NULL, NULL) == 0,
            "no list of regions");
    count += keyroute_page_count(page);
    more = keyroute_page_next(page, &start);
    keyroute_page_free(before); /* the start of this one was its */
    before = page;
  } while (more);
  printf("OK ms=%.1f cpu_ms=%.1f regions=%zu\n", (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e6,
         (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e6, count);
  keyroute_page_free(before);
}

static void obey(const char *line)
{
  char table[64], host[64], order[8];
  int count, port, threads;
  unsigned regions;

  if (sscanf(line, "misses %63s %d", table, &count) == 2 && count > 0 && count <= COUNT_MAX) {
    time_misses(table, count);
  } else if (sscanf(line, "floor %63s %d %63s %d", host, &port, table, &count) == 4 && count > 0 &&
             count <= COUNT_MAX) {
    time_floor(host, port, table, count);
  } else if (sscanf(line, "storm %63s %d %u %7s", table, &threads, &regions, order) == 4 &&
             threads > 0 && threads <= THREADS_MAX && regions > 0) {
    time_storm(table, threads, regions, strcmp(order, "down") == 0);
  } else if (sscanf(line, "list %63s", table) == 1) {
    time_list(table);
  } else {
    require(false, "not a command");
  }
  fflush(stdout);
}

int main(int argc, char **argv)
{
  char line[256];

  if (argc != 2) {
    fprintf(stderr, "usage: path_peer HOST:PORT\n");
    return 2;
  }
  zookeeper = argv[1];
  warm = open_connection();
  printf("READY\n");
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL) {
    obey(line);
  }
  keyroute_close(warm);
  return 0;
}
