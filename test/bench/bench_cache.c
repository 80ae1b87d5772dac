/*
 * A cache for benchmarks, of a connection that never asks anybody: its registry is a fixed address,
 * and opening touches no network.
 *
 *  1. The sweeper is told of nothing that is stored: so the loop thread looks into the cache only
 *     once it is told to sweep, and until then it is safe to change it elsewhere.
 *  2. Regions lie on BENCH_SERVERS servers, each interned once, as those of a real cluster are.
 */
#include "test/bench/bench_cache.h"

#include "lib/bytes.h"
#include "lib/region.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 512 };

static struct kr_servers *interned;
static struct kr_server *servers[BENCH_SERVERS];
static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER; /* in the loop's place */

static void require(bool good, const char *what)
{
  if (!good) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
  }
}

struct keyroute_bytes bench_start_key(char out[BENCH_KEY_LEN + 1], size_t region, size_t count)
{
  if (region == 0 || region == count) {
    return kr_bytes("", 0);
  }
  snprintf(out, BENCH_KEY_LEN + 1, "%016llx",
           (unsigned long long)(UINT64_MAX / count * (uint64_t)region));
  return kr_bytes(out, BENCH_KEY_LEN);
}

static void make_servers(struct kr_mem *mem)
{
  interned = kr_servers_new(mem);
  require(interned != NULL, "out of memory");
  for (int i = 0; i < BENCH_SERVERS; i++) {
    char host[64];

    snprintf(host, sizeof(host), "server-%d.example", i);
    servers[i] = kr_servers_get(interned, keyroute_string(host), 16020, 1);
    require(servers[i] != NULL, "out of memory");
  }
}

static void set(struct keyroute_options *options, const char *name, const char *value)
{
  require(keyroute_options_set(options, name, value, NULL) == 0, name);
}

struct keyroute_connection *bench_open(int64_t ttl_ms)
{
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;
  char ttl[32];

  snprintf(ttl, sizeof(ttl), "%lld", (long long)ttl_ms);
  require(keyroute_options_new(&options, NULL) == 0, "out of memory");
  set(options, "keyroute.registry", "static");
  set(options, "keyroute.registry.static.root", "127.0.0.1:1");
  set(options, "keyroute.cache.max.regions", "0");
  set(options, "keyroute.cache.max.bytes", "0");
  set(options, "keyroute.cache.idle.ms", "0");
  set(options, "keyroute.cache.ttl.ms", ttl);
  require(keyroute_open(&conn, options, NULL) == 0, "no connection");
  keyroute_options_free(options);
  kr_cache_set_watcher(conn->cache, &(struct kr_cache_watcher){0});
  make_servers(conn->mem);
  return conn;
}

void bench_close(struct keyroute_connection *conn)
{
  for (int i = 0; i < BENCH_SERVERS; i++) {
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
  struct kr_replica replica = {servers[seqnum % BENCH_SERVERS], seqnum};
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

/* ---- On the loop ---- */

struct job {
  struct kr_task task; /* first, so that its address is the job's */
  void (*work)(void *arg);
  void *arg;
  sem_t done;
};

static void run_job(struct kr_task *task)
{
  struct job *job = (struct job *)(void *)task;

  job->work(job->arg);
  sem_post(&job->done);
}

void bench_on_loop(struct keyroute_connection *conn, void (*work)(void *arg), void *arg)
{
  struct job job = {.task.run = run_job, .work = work, .arg = arg};

  sem_init(&job.done, 0, 0);
  kr_loop_post(conn->loop, &job.task);
  while (sem_wait(&job.done) != 0) { /* a signal */
  }
  sem_destroy(&job.done);
}

void bench_sweep(struct keyroute_connection *conn)
{
  kr_connection_sweep(conn);
}

void bench_drop_server(struct keyroute_connection *conn, int number)
{
  kr_cache_new_epoch(conn->cache);
  kr_server_drop(servers[number]);
  bench_sweep(conn);
}
