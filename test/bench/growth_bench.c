/*
 * What grows with the cache, and what must not: so many tables of so many regions each, filled in
 * random order, without a cluster (bench_cache.c).
 *
 *   growth_bench TABLES REGIONS
 *
 * prints one line, all in ns and per region or lookup:
 *
 *   insert     to put a region in          bytes      that the cache says it takes
 *   peek       a hit by table handle       allocated  bytes that the C library's allocator gave
 *   locate     a hit by the table's name   resident   bytes that the process grew by
 *   visit      a sweep that finds nothing to do
 *   evict      a sweep that takes all out, which have been dropped before
 *
 * A process measures once: what it has freed would be there for the next.
 */
#include "test/bench/bench_cache.h"

#include "lib/bytes.h"
#include "lib/rcu.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME_SIZE = 32, LOOKUPS = 1 << 18, SWEEP = 1000 };

struct place {
  uint32_t table, region;
};

static struct keyroute_connection *conn;
static struct keyroute_table **tables;
static char (*names)[NAME_SIZE]; /* of the tables */
static size_t table_count, region_count;
static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (seed >> 33) % below;
}

static double now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void die(const char *what)
{
  fprintf(stderr, "growth_bench: %s\n", what);
  exit(1);
}

static void *allocate(size_t count, size_t size)
{
  void *new = calloc(count, size);

  if (new == NULL) {
    die("out of memory");
  }
  return new;
}

static struct keyroute_bytes start_of(char out[BENCH_KEY_LEN + 1], size_t region)
{
  return bench_start_key(out, region, region_count);
}

static struct place *shuffle(size_t count)
{
  struct place *places = allocate(count, sizeof(*places));

  for (size_t i = 0; i < count; i++) {
    size_t other = draw(i + 1);

    places[i] = places[other];
    places[other] = (struct place){(uint32_t)(i / region_count), (uint32_t)(i % region_count)};
  }
  return places;
}

static double fill(const struct place *places, size_t count)
{
  char start[BENCH_KEY_LEN + 1], end[BENCH_KEY_LEN + 1];
  double began = now_ns();

  for (size_t i = 0; i < count; i++) {
    bench_put(conn, tables[places[i].table], start_of(start, places[i].region),
              start_of(end, places[i].region + 1), places[i].region);
  }
  return (now_ns() - began) / (double)count;
}

/* ---- Memory ---- */

struct memory {
  double allocated, resident;
};

/* What waits for readers is freed first. */
static struct memory memory_now(void)
{
  kr_rcu_barrier();
  struct mallinfo2 info = mallinfo2();
  FILE *file = fopen("/proc/self/statm", "r");
  size_t pages = 0;

  if (file == NULL || fscanf(file, "%*u %zu", &pages) != 1) {
    die("no /proc");
  }
  fclose(file);
  return (struct memory){(double)(info.uordblks + info.hblkhd),
                         (double)pages * (double)sysconf(_SC_PAGESIZE)};
}

/* ---- Hits ---- */

/* A row to look up, at the start of the region that holds it. */
struct question {
  struct place place;
  char row[BENCH_KEY_LEN + 1];
};

/* Drawn, lest the order be that in which the regions came into memory. */
static void draw_questions(struct question *questions)
{
  for (size_t i = 0; i < LOOKUPS; i++) {
    struct question *question = &questions[i];

    question->place.table = (uint32_t)draw(table_count);
    question->place.region = (uint32_t)draw(region_count);
    struct keyroute_bytes start = start_of(question->row, question->place.region);

    memset(question->row + start.len, '0', BENCH_KEY_LEN - start.len);
  }
}

static void check(const struct keyroute_location *location, const struct question *question)
{
  if (location == NULL || keyroute_location_seqnum(location, 0) != question->place.region) {
    die("a wrong answer");
  }
}

static void peek(const struct question *question)
{
  keyroute_peek_begin();
  check(keyroute_peek(tables[question->place.table], kr_bytes(question->row, BENCH_KEY_LEN)),
        question);
  keyroute_peek_end();
}

static void locate(const struct question *question)
{
  struct keyroute_location *location = NULL;

  keyroute_locate(&location, conn, names[question->place.table],
                  kr_bytes(question->row, BENCH_KEY_LEN), NULL, NULL);
  check(location, question);
  keyroute_location_release(location);
}

static double time_hits(const struct question *questions, void (*hit)(const struct question *))
{
  double began = now_ns();

  for (size_t i = 0; i < LOOKUPS; i++) {
    hit(&questions[i]);
  }
  return (now_ns() - began) / LOOKUPS;
}

/* ---- Sweeps ---- */

/* One round over all regions, in portions as the loop does it. */
static double sweep(size_t count)
{
  double began = now_ns();

  for (size_t done = 0; done < count; done += SWEEP) {
    kr_cache_visit(conn->cache, SWEEP);
  }
  return (now_ns() - began) / (double)count;
}

static void measure(size_t count)
{
  struct place *places = shuffle(count);
  struct question *questions = allocate(LOOKUPS, sizeof(*questions));
  struct memory before = memory_now();
  double insert_ns = fill(places, count);
  struct memory after = memory_now();
  double bytes = (double)kr_cache_size(conn->cache).bytes / (double)count;

  draw_questions(questions);
  time_hits(questions, peek);
  double peek_ns = time_hits(questions, peek), locate_ns = time_hits(questions, locate);
  double visit_ns = sweep(count);

  kr_cache_retire(conn->cache, &(struct kr_cache_filter){.host = NULL});
  double evict_ns = sweep(count);

  if (kr_cache_size(conn->cache).regions != 0) {
    die("regions are left");
  }
  printf("insert=%.1f bytes=%.1f allocated=%.1f resident=%.1f peek=%.1f locate=%.1f visit=%.1f "
         "evict=%.1f\n",
         insert_ns, bytes, (after.allocated - before.allocated) / (double)count,
         (after.resident - before.resident) / (double)count, peek_ns, locate_ns, visit_ns,
         evict_ns);
  free(questions);
  free(places);
}

static void get_tables(void)
{
  tables = allocate(table_count, sizeof(tables[0]));
  names = allocate(table_count, sizeof(names[0]));
  for (size_t i = 0; i < table_count; i++) {
    snprintf(names[i], sizeof(names[i]), "table%zu", i);
    tables[i] = bench_table(conn, names[i]);
  }
}

static void release_tables(void)
{
  for (size_t i = 0; i < table_count; i++) {
    keyroute_table_release(tables[i]);
  }
  free(tables);
  free(names);
}

int main(int argc, char **argv)
{
  table_count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
  region_count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
  if (table_count < 1 || region_count < 1 || table_count * region_count > 10000000) {
    fprintf(stderr, "usage: growth_bench TABLES REGIONS\n");
    return 2;
  }
  conn = bench_open(0);
  get_tables();
  measure(table_count * region_count);
  release_tables();
  bench_close(conn);
  return 0;
}
