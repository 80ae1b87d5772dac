/*
 * The readers of the tests that change a range directory under a client. They share a connection
 * and their counts, which have a lock; what is right does not change (range_map.h).
 */
#include "test/integration/range_readers.h"

#include "test/integration/real_nodes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 50, MANY_ONE_IN = 8, READERS_MAX = 16, PATIENCE_MS = 60000 };

struct range_readers {
  struct keyroute_connection *conn;
  const struct range_map *map;
  int64_t deadline_ms;
  pthread_t threads[READERS_MAX];
  unsigned count;
  atomic_uint seed;
  atomic_bool stop;
  pthread_mutex_t lock;
  struct range_counts counts; /* lock */
};

/* What one call brought, before it is added to the others'. */
static void add(struct range_readers *readers, const struct range_counts *one)
{
  struct range_counts *all = &readers->counts;

  pthread_mutex_lock(&readers->lock);
  if (one->message[0] != '\0' && (all->message[0] == '\0' || (one->wrong > 0 && all->wrong == 0))) {
    memcpy(all->message, one->message, sizeof(all->message));
  }
  all->calls++;
  all->failed += one->failed > 0;
  all->rows += one->rows;
  all->wrong += one->wrong;
  all->late_ms = one->late_ms > all->late_ms ? one->late_ms : all->late_ms;
  pthread_mutex_unlock(&readers->lock);
}

static void judge_row(struct range_counts *counts, const struct range_readers *readers,
                      const struct keyroute_key *key, const struct keyroute_result *result,
                      size_t index)
{
  char wrong[RANGE_WRONG_MAX];

  if (keyroute_result_error(result, index) != 0) {
    counts->failed++;
    snprintf(counts->message, sizeof(counts->message), "%s",
             keyroute_result_message(result, index));
    return;
  }
  counts->rows++;
  if (!range_map_right(readers->map, key->row, result, index, wrong)) {
    counts->wrong++;
    memcpy(counts->message, wrong, sizeof(wrong));
  }
}

static int read_rows(struct keyroute_result **out, const struct range_readers *readers,
                     const struct keyroute_key *keys, size_t count, struct keyroute_detail *detail)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;

  call.deadline_ms = readers->deadline_ms;
  return count == 1 ? keyroute_get(out, readers->conn, "map", keys[0].row, NULL, &call, detail)
                    : keyroute_get_many(out, readers->conn, keys, count, NULL, &call, detail);
}

static void read_once(struct range_readers *readers, unsigned *seed, struct keyroute_detail *detail)
{
  struct range_key rows[MANY];
  struct keyroute_key keys[MANY];
  struct range_counts counts = {0};
  struct keyroute_result *result = NULL;
  size_t count = rand_r(seed) % MANY_ONE_IN == 0 ? MANY : 1;

  for (size_t i = 0; i < count; i++) {
    rows[i] = range_map_key(readers->map, seed);
    keys[i] = (struct keyroute_key){"map", range_bytes(&rows[i])};
  }
  int64_t end = range_now_ms() + readers->deadline_ms;
  int error = read_rows(&result, readers, keys, count, detail);
  int64_t late = range_now_ms() - end;

  counts.late_ms = late > 0 ? late : 0;
  if (error != 0) {
    counts.failed = 1;
    snprintf(counts.message, sizeof(counts.message), "%.300s", detail->message);
  }
  for (size_t i = 0; result != NULL && i < count; i++) {
    judge_row(&counts, readers, &keys[i], result, i);
  }
  keyroute_result_free(result);
  add(readers, &counts);
}

static void *run(void *arg)
{
  struct range_readers *readers = arg;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  unsigned seed = atomic_fetch_add(&readers->seed, 1);

  while (!atomic_load(&readers->stop)) {
    read_once(readers, &seed, &detail);
  }
  keyroute_detail_clear(&detail);
  return NULL;
}

struct range_readers *range_readers_start(struct keyroute_connection *conn,
                                          const struct range_map *map, unsigned threads,
                                          int64_t deadline_ms)
{
  struct range_readers *readers = calloc(1, sizeof(*readers));

  ck_assert_ptr_nonnull(readers);
  ck_assert_uint_le(threads, READERS_MAX);
  readers->conn = conn;
  readers->map = map;
  readers->deadline_ms = deadline_ms;
  readers->count = threads;
  atomic_store(&readers->seed, 1);
  pthread_mutex_init(&readers->lock, NULL);
  for (unsigned i = 0; i < threads; i++) {
    ck_assert_int_eq(pthread_create(&readers->threads[i], NULL, run, readers), 0);
  }
  return readers;
}

struct range_counts range_readers_counts(struct range_readers *readers)
{
  pthread_mutex_lock(&readers->lock);
  struct range_counts counts = readers->counts;

  pthread_mutex_unlock(&readers->lock);
  return counts;
}

void range_readers_await(struct range_readers *readers, uint64_t calls)
{
  struct range_counts now = range_readers_counts(readers);
  uint64_t enough = now.calls - now.failed + calls;
  int64_t end = range_now_ms() + PATIENCE_MS;

  while (now.calls - now.failed < enough && range_now_ms() < end) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    now = range_readers_counts(readers);
  }
  ck_assert_msg(now.calls - now.failed >= enough, "nothing succeeds: %s", now.message);
}

struct range_counts range_readers_stop(struct range_readers *readers)
{
  atomic_store(&readers->stop, true);
  for (unsigned i = 0; i < readers->count; i++) {
    pthread_join(readers->threads[i], NULL);
  }
  struct range_counts counts = readers->counts;

  pthread_mutex_destroy(&readers->lock);
  free(readers);
  return counts;
}
