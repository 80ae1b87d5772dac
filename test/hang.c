/*
 * The regions that are hit were read before the meta server went away, and are on another server:
 * what is dropped with the meta server does not touch them. Rounds alternate, so that whatever else
 * the machine does falls on both sides. Hits are sampled while the misses arrive, and again when
 * they hang.
 */
#include "test/hang.h"

#include "test/fake_cluster.h"

#include <check.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { HITS = 2000, SETTLE_MS = 10 };

/* One side's samples, in ns. */
struct samples {
  double *locate, *peek;
  size_t count;
};

struct world {
  struct fake_cluster cluster;
  struct fake_black_hole *hole;
  struct keyroute_table *table;
  uint64_t requests[HANG_MISSES];
  sem_t ended;
};

static double now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void start_world(struct world *world)
{
  struct fake_region region = {.table = "t",
                               .start = keyroute_string(""),
                               .end = keyroute_string(""),
                               .id = 1,
                               .host = "127.0.0.1",
                               .port = 1,
                               .start_code = 1,
                               .seqnum = 1};
  struct keyroute_location *location;

  fake_cluster_start(&world->cluster, NULL);
  fake_cluster_set(&world->cluster, "hbase.client.retries.number", "1000");
  fake_server_put_region(world->cluster.server, &region);
  fake_cluster_open(&world->cluster);
  ck_assert_int_eq(keyroute_table_get(&world->table, world->cluster.conn, "t"), 0);
  ck_assert_int_eq(keyroute_table_locate(&location, world->table, keyroute_string("a"), NULL, NULL),
                   0);
  keyroute_location_release(location);
  fake_server_stop(world->cluster.server);
  world->hole = fake_black_hole_open_at(fake_server_port(world->cluster.server));
  sem_init(&world->ended, 0, 0);
}

static void stop_world(struct world *world)
{
  sem_destroy(&world->ended);
  keyroute_table_release(world->table);
  fake_black_hole_close(world->hole);
  fake_cluster_stop(&world->cluster);
}

static void note_end(void *payload, int error, struct keyroute_location *location,
                     const struct keyroute_detail *detail)
{
  (void)location;
  (void)detail;
  ck_assert_int_eq(error, KEYROUTE_E_CANCELLED);
  sem_post(payload);
}

/* A table each, so that none waits for another's scan. */
static void start_misses(struct world *world)
{
  for (int i = 0; i < HANG_MISSES; i++) {
    char table[16];

    snprintf(table, sizeof(table), "cold%d", i);
    ck_assert_int_eq(keyroute_locate_async(&world->requests[i], world->cluster.conn, table,
                                           keyroute_string("a"), NULL, note_end, &world->ended),
                     0);
  }
}

static void end_misses(struct world *world)
{
  ck_assert_uint_eq(fake_cluster_stats(&world->cluster).pending, HANG_MISSES);
  for (int i = 0; i < HANG_MISSES; i++) {
    keyroute_cancel(world->cluster.conn, world->requests[i]);
  }
  for (int i = 0; i < HANG_MISSES; i++) {
    while (sem_wait(&world->ended) != 0) {
    }
  }
}

static double time_locate(struct world *world)
{
  struct keyroute_location *location = NULL;
  double began = now_ns();
  int error = keyroute_table_locate(&location, world->table, keyroute_string("a"), NULL, NULL);
  double took = now_ns() - began;

  ck_assert_int_eq(error, 0);
  keyroute_location_release(location);
  return took;
}

static double time_peek(struct world *world)
{
  double began = now_ns();

  keyroute_peek_begin();
  const struct keyroute_location *location = keyroute_peek(world->table, keyroute_string("a"));
  keyroute_peek_end();
  double took = now_ns() - began;

  ck_assert_ptr_nonnull(location);
  return took;
}

static void sample(struct samples *samples, struct world *world)
{
  for (int i = 0; i < HITS; i++) {
    samples->locate[samples->count] = time_locate(world);
    samples->peek[samples->count++] = time_peek(world);
  }
}

/* By now the misses have all been taken up and only hang. */
static void settle(void)
{
  nanosleep(&(struct timespec){.tv_nsec = SETTLE_MS * 1000000}, NULL);
}

static struct samples new_samples(size_t count)
{
  struct samples samples = {calloc(count, sizeof(double)), calloc(count, sizeof(double)), 0};

  ck_assert(samples.locate != NULL && samples.peek != NULL);
  return samples;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static struct hang_quantiles quantiles(double *values, size_t count)
{
  qsort(values, count, sizeof(*values), compare);
  return (struct hang_quantiles){values[count / 2], values[count * 99 / 100]};
}

static struct hang_figures take_figures(struct samples *samples)
{
  struct hang_figures figures = {quantiles(samples->locate, samples->count),
                                 quantiles(samples->peek, samples->count)};

  free(samples->locate);
  free(samples->peek);
  return figures;
}

void hang_measure(struct hang_figures *quiet, struct hang_figures *hanging, unsigned rounds)
{
  struct samples quiet_samples = new_samples((size_t)rounds * HITS);
  struct samples hanging_samples = new_samples((size_t)rounds * HITS * 2);
  struct world world;

  start_world(&world);
  for (unsigned i = 0; i < rounds; i++) {
    sample(&quiet_samples, &world);
    start_misses(&world);
    sample(&hanging_samples, &world);
    settle();
    sample(&hanging_samples, &world);
    end_misses(&world);
  }
  stop_world(&world);
  *quiet = take_figures(&quiet_samples);
  *hanging = take_figures(&hanging_samples);
}
