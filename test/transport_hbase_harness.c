#include "test/transport_hbase_harness.h"

#include "lib/bytes.h"
#include "lib/latch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *count_alloc(void *user, size_t size)
{
  struct memory *memory = user;

  pthread_mutex_lock(&memory->lock);
  memory->largest = size > memory->largest ? size : memory->largest;
  bool fail = memory->left == 0;

  if (memory->left >= 0) {
    memory->left--;
  }
  pthread_mutex_unlock(&memory->lock);
  return fail ? NULL : malloc(size);
}

static void *count_realloc(void *user, void *old, size_t size)
{
  void *made = count_alloc(user, size);

  if (made == NULL) {
    return NULL;
  }
  free(made);
  return realloc(old, size);
}

static void count_free(void *user, void *old)
{
  (void)user;
  free(old);
}

static void world_open(struct world *world)
{
  struct keyroute_allocator allocator = {&world->memory, count_alloc, count_realloc, count_free};

  memset(world, 0, sizeof(*world));
  pthread_mutex_init(&world->memory.lock, NULL);
  world->memory.left = -1;
  pthread_mutex_init(&world->lock, NULL);
  pthread_cond_init(&world->changed, NULL);
  world->mem = kr_mem_new(&allocator);
  world->stats = kr_stats_new(world->mem);
  ck_assert_int_eq(kr_loop_new(&world->loop, world->mem), 0);
  ck_assert_int_eq(kr_worker_new(&world->worker, world->loop), 0);
  world->settings.user = (char *)"tester";
  world->settings.connect_timeout_ms = 2000;
  world->settings.connection_idle_ms = 60000;
  world->settings.max_frame_len = 1 << 20;
  world->settings.max_queue_len = QUEUE_MAX;
  world->server = fake_server_start(0);
  ck_assert_int_eq(kr_transport_hbase_new(&world->transport, world->mem, world->loop, world->worker,
                                          &world->settings, world->stats),
                   0);
}

struct world *new_world(void)
{
  struct world *world = malloc(sizeof(*world));

  world_open(world);
  return world;
}

/* Run something on the loop and wait for it. */
struct errand {
  struct kr_task task;
  struct world *world;
  void (*run)(struct world *world, void *arg);
  void *arg;
  struct kr_latch done;
};

static void run_errand(struct kr_task *task)
{
  struct errand *errand = (struct errand *)task;

  errand->run(errand->world, errand->arg);
  kr_latch_open(&errand->done);
}

void on_loop(struct world *world, void (*run)(struct world *world, void *arg), void *arg)
{
  struct errand errand = {.task.run = run_errand, .world = world, .run = run, .arg = arg};

  kr_latch_init(&errand.done);
  kr_loop_post(world->loop, &errand.task);
  kr_latch_await(&errand.done);
}

void shut_down(struct world *world, void *arg)
{
  (void)arg;
  if (!world->shut) {
    world->transport->ops->shutdown(world->transport);
    world->shut = true;
  }
}

void free_world(struct world *world)
{
  on_loop(world, shut_down, NULL);
  ck_assert(kr_worker_close(world->worker, 10000));
  kr_loop_free(world->loop);
  world->transport->ops->free(world->transport);
  kr_stats_free(world->stats);
  kr_mem_release(world->mem);
  fake_server_free(world->server);
  pthread_cond_destroy(&world->changed);
  pthread_mutex_destroy(&world->lock);
  pthread_mutex_destroy(&world->memory.lock);
  free(world);
}

static void note_rows(struct asked *asked, const struct kr_rows *rows)
{
  asked->count = rows->count;
  asked->more = rows->more;
  for (size_t i = 0; i < rows->count && i < MAX_ROWS; i++) {
    const struct kr_cell *server = kr_row_find(&rows->rows[i], "info", "server");

    kr_bytes_print(asked->keys[i], sizeof(asked->keys[i]), rows->rows[i].key);
    asked->cell_counts[i] = rows->rows[i].cell_count;
    if (i == 0 && server != NULL) {
      kr_bytes_print(asked->first_server, sizeof(asked->first_server), server->value);
    }
  }
}

static void answered(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct asked *asked = arg;
  struct world *world = asked->world;

  asked->request = NULL;
  if (asked->cancel != NULL && asked->cancel->request != NULL) {
    world->transport->ops->cancel(world->transport, asked->cancel->request);
    asked->cancel->request = NULL;
  }
  if (asked->then != NULL) {
    start_asked(asked->then);
  }
  pthread_mutex_lock(&world->lock);
  asked->answers++;
  asked->inside = asked->starting;
  asked->failure = *failure;
  note_rows(asked, rows);
  pthread_cond_broadcast(&world->changed);
  pthread_mutex_unlock(&world->lock);
}

void start_asked(struct asked *asked)
{
  struct world *world = asked->world;

  asked->starting = true;
  asked->request = world->transport->ops->scan(world->transport, asked->host, asked->port,
                                               &asked->scan, asked->timeout_ms, answered, asked);
  asked->starting = false;
  pthread_mutex_lock(&world->lock);
  asked->refused = asked->request == NULL;
  pthread_cond_broadcast(&world->changed);
  pthread_mutex_unlock(&world->lock);
}

void start_errand(struct world *world, void *arg)
{
  (void)world;
  start_asked(arg);
}

void cancel_errand(struct world *world, void *arg)
{
  struct asked *asked = arg;

  if (asked->request != NULL) {
    world->transport->ops->cancel(world->transport, asked->request);
    asked->request = NULL;
  }
}

/* A reversed scan of table t as the locator makes it, from `start` down to the table's first. */
static struct kr_scan scan_of(const char *start, uint32_t limit)
{
  return (struct kr_scan){
      .region = keyroute_string("hbase:meta,,1"),
      .start_row = keyroute_string(start),
      .stop_row = keyroute_string("t,,"),
      .include_start = true,
      .include_stop = true,
      .reversed = true,
      .limit = limit,
      .family = "info",
  };
}

struct asked *prepare(struct world *world, uint32_t limit)
{
  struct asked *asked = calloc(1, sizeof(*asked));

  asked->world = world;
  asked->host = "127.0.0.1";
  asked->port = fake_server_port(world->server);
  asked->scan = scan_of("t,zz,99999999999999", limit);
  asked->timeout_ms = 4000;
  return asked;
}

struct asked *ask(struct world *world, uint32_t limit)
{
  struct asked *asked = prepare(world, limit);

  on_loop(world, start_errand, asked);
  return asked;
}

bool wait_answer(struct asked *asked)
{
  struct world *world = asked->world;
  struct timespec until;
  int error = 0;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_MS / 1000;
  pthread_mutex_lock(&world->lock);
  while (asked->answers == 0 && !asked->refused && error == 0) {
    error = pthread_cond_timedwait(&world->changed, &world->lock, &until);
  }
  bool came = asked->answers == 1;

  pthread_mutex_unlock(&world->lock);
  return came;
}

void expect(struct asked *asked, int code)
{
  ck_assert_msg(wait_answer(asked), "no answer");
  ck_assert_msg(asked->failure.code == code, "wanted %s, got %s: %s", keyroute_errname(code),
                keyroute_errname(asked->failure.code), asked->failure.message);
  ck_assert(!asked->inside);
}

void expect_message(const struct asked *asked, const char *part)
{
  ck_assert_msg(strstr(asked->failure.message, part) != NULL, "\"%s\" not in \"%s\"", part,
                asked->failure.message);
}

unsigned connects(struct world *world)
{
  return fake_server_counts(world->server).connects;
}

static void put_regions(struct world *world, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    char start[2] = {(char)('a' + i), '\0'};
    char end[2] = {(char)('b' + i), '\0'};
    struct fake_region region = {
        .table = "t",
        .start = keyroute_string(i == 0 ? "" : start),
        .end = keyroute_string(i + 1 == count ? "" : end),
        .id = 1000 + i,
        .host = "rs1",
        .port = 16020,
        .start_code = 7,
        .seqnum = 2,
    };

    fake_server_put_region(world->server, &region);
  }
}

struct world *world_with_regions(unsigned count)
{
  struct world *world = new_world();

  put_regions(world, count);
  return world;
}

void fault(struct world *world, enum fake_what what)
{
  fake_server_fault(world->server, &(struct fake_fault){.what = what});
}

void fault_exception(struct world *world, enum fake_what what, const char *class_name,
                     const char *text)
{
  fake_server_fault(world->server,
                    &(struct fake_fault){.what = what, .class_name = class_name, .text = text});
}

static void block_worker(struct kr_job *job)
{
  (void)job;
  nanosleep(&(struct timespec){0, 500 * 1000000L}, NULL);
}

static void free_job(struct kr_job *job)
{
  free(job);
}

void submit_block(struct world *world, void *arg)
{
  struct kr_job *job = calloc(1, sizeof(*job));

  (void)arg;
  job->run = block_worker;
  job->done = free_job;
  job->drop = free_job;
  kr_worker_submit(world->worker, job);
}
