/*
 * A sweep of all regions of a table, by the sweeper of an open connection on its loop: how long is
 * the loop's longest turn, and what does a reader notice?
 *
 *   sweep_bench server|ttl REGIONS
 *
 * server: fifteen of sixteen regions are on one server, which is dropped. The reader looks up rows
 * of the others. ttl: the time to live of all is over. The reader looks up rows of all, and where a
 * region is gone that is no hit.
 *
 *   sweep_ms    until all are gone          turns         of the loop meanwhile
 *   turn_us     the longest of them         turn_cpu_us   the same in processor time (turns.c)
 *   slowest_us  hit in the sweep            quiet_us      in as much time before it
 *   usual_us    the slowest of each SLICE_MS, of these the median; usual_quiet_us before
 *
 *  1. The reader notes the slowest hit of each slice of time. A slice is of the quiet time, of the
 *     sweep, or of neither, in which the sweep began.
 *  2. Both sides have the same number of slices, the first ones: the longer one looks, the slower
 *     is the slowest.
 *  3. The reader has a processor to itself, where there are two; the loop shares the others with
 *     liburcu's thread, which frees what leaves. Three busy threads on two processors would show
 *     how long the kernel has one of them wait.
 */
#include "test/bench/bench_cache.h"
#include "test/bench/turns.h"

#include "lib/bytes.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  KEPT = 16, /* one of so many is not on the server that is dropped */
  SLICE_MS = 10,
  SLICES_MAX = 2000,
  QUIET_MS = 1500,
  SETTLE_MS = 100, /* after the regions were put in */
  TTL_MS = 1000    /* over when the quiet time is */
};

enum phase { NEITHER, QUIET, SWEEP, OVER };

/* The slowest hit of each slice of a phase. */
struct slices {
  int64_t slowest_ns[SLICES_MAX];
  size_t count;
};

static struct keyroute_connection *conn;
static struct keyroute_table *table;
static size_t region_count;
static bool by_server;
static enum phase phase;           /* atomic */
static struct slices slices[OVER]; /* the reader's, until it has ended */
static struct bench_turns turns;

static void require(bool good, const char *what)
{
  if (!good) {
    fprintf(stderr, "sweep_bench: %s\n", what);
    exit(1);
  }
}

static int64_t now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_ms(int64_t ms)
{
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static uint64_t draw(uint64_t *seed, uint64_t below)
{
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (*seed >> 33) % below;
}

/* ---- Processors ---- */

static cpu_set_t processors; /* that the process may use */

/* Tie this thread, and those that it starts, to the first processor or to all others. Nothing if
 * there is but one. */
static void tie(bool to_first)
{
  cpu_set_t set = processors;
  size_t first = 0;

  if (CPU_COUNT(&set) < 2) {
    return;
  }
  while (!CPU_ISSET(first, &set)) {
    first++;
  }
  if (to_first) {
    CPU_ZERO(&set);
    CPU_SET(first, &set);
  } else {
    CPU_CLR(first, &set);
  }
  require(sched_setaffinity(0, sizeof(set), &set) == 0, "cannot be tied to a processor");
}

/* ---- Regions ---- */

static struct keyroute_bytes start_of(char out[BENCH_KEY_LEN + 1], size_t region)
{
  return bench_start_key(out, region, region_count);
}

/* Its last two digits say on which server. */
static int64_t seqnum_of(size_t region)
{
  bool kept = region % KEPT == 0;

  return (int64_t)region * BENCH_SERVERS + (kept ? 1 : 0);
}

/* In random order, so that neighbours in the table are none in memory. */
static void fill(void)
{
  uint32_t *order = malloc(region_count * sizeof(*order));
  char start[BENCH_KEY_LEN + 1], end[BENCH_KEY_LEN + 1];
  uint64_t seed = 1;

  require(order != NULL, "out of memory");
  for (uint32_t i = 0; i < region_count; i++) {
    uint32_t other = (uint32_t)draw(&seed, i + 1);

    order[i] = order[other];
    order[other] = i;
  }
  for (size_t i = 0; i < region_count; i++) {
    bench_put(conn, table, start_of(start, order[i]), start_of(end, order[i] + 1),
              seqnum_of(order[i]));
  }
  free(order);
}

/* ---- The reader ---- */

/* A hit's time, or 0 if the region is gone. */
static int64_t time_hit(size_t region)
{
  char row[BENCH_KEY_LEN + 1] = "0";
  struct keyroute_bytes start = start_of(row, region);
  struct keyroute_bytes key = start.len > 0 ? start : kr_bytes(row, 1);
  int64_t began = now_ns();

  keyroute_peek_begin();
  const struct keyroute_location *location = keyroute_peek(table, key);
  int64_t seqnum = location != NULL ? keyroute_location_seqnum(location, 0) : -1;

  keyroute_peek_end();
  int64_t took = now_ns() - began;

  require(seqnum < 0 || seqnum == seqnum_of(region), "a wrong answer");
  return seqnum >= 0 ? took : 0;
}

static size_t draw_region(uint64_t *seed)
{
  return by_server ? draw(seed, (region_count + KEPT - 1) / KEPT) * KEPT : draw(seed, region_count);
}

/* Hits for one slice of time. Returns the slowest, 0 if there was none. */
static int64_t read_slice(uint64_t *seed)
{
  int64_t end = now_ns() + SLICE_MS * 1000000, slowest = 0;

  while (now_ns() < end) {
    int64_t took = time_hit(draw_region(seed));

    slowest = took > slowest ? took : slowest;
  }
  return slowest;
}

static void *read_on(void *arg)
{
  uint64_t seed = 2;
  enum phase before;

  tie(true);
  while ((before = __atomic_load_n(&phase, __ATOMIC_ACQUIRE)) != OVER) {
    int64_t slowest = read_slice(&seed);
    struct slices *to = &slices[before];

    if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) == before && slowest > 0 &&
        to->count < SLICES_MAX) {
      to->slowest_ns[to->count++] = slowest;
    }
  }
  return arg;
}

static void enter(enum phase next)
{
  __atomic_store_n(&phase, next, __ATOMIC_RELEASE);
}

/* ---- The sweep ---- */

static void start_turns(void *arg)
{
  (void)arg;
  bench_turns_start(conn->loop);
}

static void stop_turns(void *arg)
{
  (void)arg;
  turns = bench_turns_stop();
}

/* Wait until no more regions are left than that. */
static void wait_for(size_t left)
{
  while (kr_cache_size(conn->cache).regions > left) {
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
}

/* Returns how long it took, in ns. */
static int64_t sweep(void)
{
  size_t kept = by_server ? (region_count + KEPT - 1) / KEPT : 0;
  int64_t began = now_ns();

  enter(SWEEP);
  if (by_server) {
    bench_drop_server(conn, 0);
  } else {
    bench_sweep(conn);
  }
  wait_for(kept);
  return now_ns() - began;
}

static int compare(const void *a, const void *b)
{
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

  return (left > right) - (left < right);
}

static double us_at(struct slices *of, size_t count, size_t place)
{
  qsort(of->slowest_ns, count, sizeof(of->slowest_ns[0]), compare);
  return count > 0 ? (double)of->slowest_ns[place] / 1e3 : 0;
}

static void tell(int64_t sweep_ns)
{
  struct slices *quiet = &slices[QUIET], *swept = &slices[SWEEP];
  size_t count = quiet->count < swept->count ? quiet->count : swept->count;

  printf("sweep_ms=%.1f turns=%zu turn_us=%.1f turn_cpu_us=%.1f", (double)sweep_ns / 1e6,
         turns.count, turns.longest_us, turns.longest_cpu_us);
  if (count > 0) {
    printf(" slowest_us=%.1f quiet_us=%.1f usual_us=%.1f usual_quiet_us=%.1f",
           us_at(swept, count, count - 1), us_at(quiet, count, count - 1),
           us_at(swept, count, count / 2), us_at(quiet, count, count / 2));
  }
  printf("\n");
}

static void measure(void)
{
  pthread_t reader;

  fill();
  require(pthread_create(&reader, NULL, read_on, NULL) == 0, "no thread");
  wait_ms(SETTLE_MS);
  enter(QUIET);
  wait_ms(QUIET_MS);
  enter(NEITHER);
  bench_on_loop(conn, start_turns, NULL);
  int64_t sweep_ns = sweep();

  bench_on_loop(conn, stop_turns, NULL);
  enter(OVER);
  pthread_join(reader, NULL);
  tell(sweep_ns);
}

int main(int argc, char **argv)
{
  by_server = argc == 3 && strcmp(argv[1], "server") == 0;
  region_count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
  if ((!by_server && (argc != 3 || strcmp(argv[1], "ttl") != 0)) || region_count < KEPT ||
      region_count > 10000000) {
    fprintf(stderr, "usage: sweep_bench server|ttl REGIONS\n");
    return 2;
  }
  require(sched_getaffinity(0, sizeof(processors), &processors) == 0, "no processors");
  tie(false);
  conn = bench_open(by_server ? 0 : TTL_MS);
  table = bench_table(conn, "bench");
  measure();
  keyroute_table_release(table);
  bench_close(conn);
  return 0;
}
