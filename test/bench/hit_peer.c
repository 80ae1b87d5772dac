/*
 * A peer in the race of hits. It fills its cache, says so, and then obeys commands on standard
 * input, one a line, until that ends:
 *
 *   READY fill_ns=N grown_bytes=N bytes=N                  once
 *   run WAY uniform|zipf THREADS UPDATES MS              a command
 *   OK lookups=N ns=N missing=N updates=N                its answer
 *
 * run has so many threads look rows up side by side for so many milliseconds, each with an update
 * after so many lookups (0 = none). ns is the time on the wall, which is the same for all threads.
 * Every answer is checked; one is missing only where its region has just been taken out.
 *
 *  1. Updates are, in turn: a region's location is replaced, a region is taken out, another one is
 *     replaced, the one that was taken out is put back. No two threads update the same region.
 *  2. Reader threads live as long as the program and are called reader-0, reader-1: whoever started
 *     the program can so tie each to a processor.
 *  3. java/HitPeer.java does the same for Java; what is changed here is to be changed there.
 */
#include "test/bench/hit_peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { READERS = 2, CHUNK = 1024 };

/* Rows and the regions that hold them. */
struct rows {
  const char *name;
  struct keyroute_bytes *keys;
  uint32_t *regions;
  size_t count;
};

/* What a run is about; written before its threads are let go. */
struct run {
  const struct hit_way *way;
  const struct rows *rows;
  int threads;
  long updates; /* lookups between two of them; 0 = none */
  int64_t end_ns;
};

struct reader {
  pthread_t thread;
  int number;
  size_t at;     /* where in the rows it goes on, in the next run too */
  long due;      /* lookups until the next update */
  long updated;  /* updates so far, ever */
  uint64_t seed; /* which region is next */
  uint32_t taken;
  size_t lookups, missing, updates; /* of this run */
  int64_t ended_ns;
};

static const struct hit_peer *peer;
static struct rows starts = {.name = "keys"}, rows[] = {{.name = "uniform"}, {.name = "zipf"}};
static struct run run;
static struct reader readers[READERS];
static pthread_barrier_t at_begin, at_end; /* of a run: all readers and main */

void hit_die(const char *what)
{
  fprintf(stderr, "peer: %s\n", what);
  exit(1);
}

void hit_wrong(void)
{
  hit_die("a wrong answer");
}

static int64_t now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static size_t resident_bytes(void)
{
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");

  if (file == NULL || fscanf(file, "%*u %zu", &pages) != 1) {
    hit_die("no /proc");
  }
  fclose(file);
  return pages * 4096;
}

/* ---- Files ---- */

static uint32_t take_number(const uint8_t **at, int bytes)
{
  uint32_t number = 0;

  for (int i = 0; i < bytes; i++) {
    number |= (uint32_t) * (*at)++ << 8 * i;
  }
  return number;
}

static uint8_t *read_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  long size = -1;

  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 4) {
    hit_die(path);
  }
  rewind(file);
  uint8_t *bytes = malloc((size_t)size);

  if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
    hit_die(path);
  }
  fclose(file);
  return bytes;
}

/* The bytes of the file stay, the keys are views of them. */
static void read_rows(struct rows *to, const char *stem, bool numbered)
{
  char path[1024];

  snprintf(path, sizeof(path), "%s.%s", stem, to->name);
  const uint8_t *at = read_file(path);

  to->count = take_number(&at, 4);
  to->keys = malloc(to->count * sizeof(to->keys[0]));
  to->regions = malloc(to->count * sizeof(to->regions[0]));
  if (to->keys == NULL || to->regions == NULL) {
    hit_die("out of memory");
  }
  for (size_t i = 0; i < to->count; i++) {
    size_t len = take_number(&at, 2);

    to->keys[i] = (struct keyroute_bytes){at, len};
    at += len;
    to->regions[i] = numbered ? take_number(&at, 4) : 0;
  }
}

/* ---- Changing ---- */

static struct hit_region region_of(uint32_t number, long generation)
{
  struct keyroute_bytes end = {"", 0};

  if (number + 1 < starts.count) {
    end = starts.keys[number + 1];
  }
  return (struct hit_region){starts.keys[number], end,
                             (int64_t)generation << HIT_REGION_BITS | number};
}

/* Fill in random order: neighbours in the map are none in memory. */
static void fill(void)
{
  uint32_t *order = malloc(starts.count * sizeof(*order));
  uint64_t seed = 1;

  if (order == NULL || starts.count > HIT_REGION_MASK) {
    hit_die("too many regions");
  }
  for (uint32_t i = 0; i < starts.count; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint32_t other = (uint32_t)(seed >> 33) % (i + 1);

    order[i] = order[other];
    order[other] = i;
  }
  size_t before = resident_bytes();
  int64_t began = now_ns();

  for (size_t i = 0; i < starts.count; i++) {
    struct hit_region region = region_of(order[i], 1);

    peer->put(&region);
  }
  printf("READY fill_ns=%lld grown_bytes=%zu bytes=%zu\n", (long long)(now_ns() - began),
         resident_bytes() - before, peer->bytes != NULL ? peer->bytes() : 0);
  fflush(stdout);
  free(order);
}

/* One of those that this reader may change. */
static uint32_t draw_region(struct reader *reader)
{
  reader->seed = reader->seed * 6364136223846793005u + 1442695040888963407u;
  uint32_t number = (uint32_t)(reader->seed >> 33) % (uint32_t)(starts.count / READERS);

  return number * READERS + (uint32_t)reader->number;
}

static void update(struct reader *reader)
{
  long turn = reader->updated++ % 4;
  uint32_t number = turn == 3 ? reader->taken : draw_region(reader);
  struct hit_region region = region_of(number, 2 + reader->updated);

  if (turn == 1) {
    peer->take(&region);
    reader->taken = number;
  } else {
    peer->put(&region);
  }
  reader->updates++;
}

/* ---- Reading ---- */

static void read_chunk(struct reader *reader)
{
  const struct rows *from = run.rows;

  if (reader->at + CHUNK > from->count) {
    reader->at = 0;
  }
  reader->missing += run.way->find(&from->keys[reader->at], &from->regions[reader->at], CHUNK);
  reader->at += CHUNK;
  reader->lookups += CHUNK;
}

/* A chunk cut where updates are due. */
static void read_and_update(struct reader *reader)
{
  const struct rows *from = run.rows;
  size_t left = CHUNK;

  if (reader->at + CHUNK > from->count) {
    reader->at = 0;
  }
  while (left > 0) {
    size_t now = (long)left < reader->due ? left : (size_t)reader->due;

    reader->missing += run.way->find(&from->keys[reader->at], &from->regions[reader->at], now);
    reader->at += now;
    reader->lookups += now;
    left -= now;
    reader->due -= (long)now;
    if (reader->due == 0) {
      update(reader);
      reader->due = run.updates;
    }
  }
}

static void *read_on(void *arg)
{
  struct reader *reader = arg;
  char name[16];

  snprintf(name, sizeof(name), "reader-%d", reader->number);
  pthread_setname_np(pthread_self(), name);
  for (;;) {
    pthread_barrier_wait(&at_begin);
    if (reader->number < run.threads) {
      do {
        if (run.updates > 0) {
          read_and_update(reader);
        } else {
          read_chunk(reader);
        }
      } while ((reader->ended_ns = now_ns()) < run.end_ns);
    }
    pthread_barrier_wait(&at_end);
  }
  return NULL;
}

static void start_readers(void)
{
  pthread_barrier_init(&at_begin, NULL, READERS + 1);
  pthread_barrier_init(&at_end, NULL, READERS + 1);
  for (int i = 0; i < READERS; i++) {
    readers[i] = (struct reader){
        .number = i, .seed = (uint64_t)i + 1, .at = rows[0].count / READERS * (size_t)i};
    if (pthread_create(&readers[i].thread, NULL, read_on, &readers[i]) != 0) {
      hit_die("no thread");
    }
  }
}

/* ---- Runs ---- */

static void prepare_readers(void)
{
  for (int i = 0; i < READERS; i++) {
    struct reader *reader = &readers[i];

    reader->lookups = reader->missing = reader->updates = 0;
    reader->due = run.updates;
  }
}

/* Put back what the readers have taken out and not yet put back. */
static void mend(void)
{
  for (int i = 0; i < READERS; i++) {
    while (readers[i].updated % 4 >= 2) {
      update(&readers[i]);
    }
  }
}

static void measure(int ms)
{
  size_t lookups = 0, missing = 0, updates = 0;
  int64_t began = now_ns(), ended = began;

  prepare_readers();
  run.end_ns = began + (int64_t)ms * 1000000;
  pthread_barrier_wait(&at_begin);
  pthread_barrier_wait(&at_end);
  for (int i = 0; i < run.threads; i++) {
    lookups += readers[i].lookups;
    missing += readers[i].missing;
    updates += readers[i].updates;
    ended = readers[i].ended_ns > ended ? readers[i].ended_ns : ended;
  }
  if (missing > 0 && run.updates == 0) {
    hit_die("a region is missing");
  }
  mend();
  printf("OK lookups=%zu ns=%lld missing=%zu updates=%zu\n", lookups, (long long)(ended - began),
         missing, updates);
  fflush(stdout);
}

static void obey(const char *line)
{
  char way[32], kind[32];
  int ms;

  if (sscanf(line, "run %31s %31s %d %ld %d", way, kind, &run.threads, &run.updates, &ms) != 5 ||
      run.threads < 1 || run.threads > READERS) {
    hit_die("not a command");
  }
  for (run.way = peer->ways; run.way->name != NULL && strcmp(run.way->name, way) != 0;) {
    run.way++;
  }
  run.rows = strcmp(kind, rows[0].name) == 0 ? &rows[0] : &rows[1];
  if (run.way->name == NULL || strcmp(kind, run.rows->name) != 0) {
    hit_die("no such way, or no such rows");
  }
  measure(ms);
}

int hit_play(const struct hit_peer *played, const char *stem)
{
  char line[256];

  peer = played;
  read_rows(&starts, stem, false);
  read_rows(&rows[0], stem, true);
  read_rows(&rows[1], stem, true);
  start_readers();
  fill();
  while (fgets(line, sizeof(line), stdin) != NULL) {
    obey(line);
  }
  return 0;
}
