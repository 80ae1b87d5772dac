/* The transport for HBase against the scripted region server, on a real loop with real sockets. */
#include "lib/transport_hbase.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/latch.h"
#include "test/fake_server.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_MS 5000
#define MAX_ROWS 16
#define QUEUE_MAX (64 * 1024)

/* ---- A transport on its loop ----------------------------------------------------------------- */

/* Memory that notes its largest piece and can be made to run short. */
struct memory {
  pthread_mutex_t lock;
  size_t largest;
  long left; /* allocations until they fail, once; negative = never */
};

struct world {
  struct memory memory;
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_worker *worker;
  struct kr_settings settings;
  struct kr_stats *stats;
  struct kr_transport *transport;
  struct fake_server *server;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool shut;
};

/* One request and what came of it. */
struct asked {
  struct kr_task task;
  struct world *world;
  const char *host;
  int port;
  struct kr_scan scan;
  int64_t timeout_ms;
  struct kr_request *request;
  struct asked *then;   /* to be asked inside the callback */
  struct asked *cancel; /* to be cancelled inside the callback */
  unsigned answers;     /* how often the callback ran; under the world's lock, as all below */
  bool refused;         /* scan gave NULL */
  bool inside;          /* called inside the starting call */
  bool starting;
  struct kr_failure failure;
  size_t count;
  char keys[MAX_ROWS][128];
  size_t cell_counts[MAX_ROWS];
  char first_server[64];
  bool more;
};

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

static struct world *new_world(void)
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

static void on_loop(struct world *world, void (*run)(struct world *world, void *arg), void *arg)
{
  struct errand errand = {.task.run = run_errand, .world = world, .run = run, .arg = arg};

  kr_latch_init(&errand.done);
  kr_loop_post(world->loop, &errand.task);
  kr_latch_await(&errand.done);
}

static void shut_down(struct world *world, void *arg)
{
  (void)arg;
  if (!world->shut) {
    world->transport->ops->shutdown(world->transport);
    world->shut = true;
  }
}

static void free_world(struct world *world)
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

/* ---- Asking ---------------------------------------------------------------------------------- */

static void start_asked(struct asked *asked);

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

static void start_asked(struct asked *asked)
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

static void start_errand(struct world *world, void *arg)
{
  (void)world;
  start_asked(arg);
}

static void cancel_errand(struct world *world, void *arg)
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

static struct asked *prepare(struct world *world, uint32_t limit)
{
  struct asked *asked = calloc(1, sizeof(*asked));

  asked->world = world;
  asked->host = "127.0.0.1";
  asked->port = fake_server_port(world->server);
  asked->scan = scan_of("t,zz,99999999999999", limit);
  asked->timeout_ms = 4000;
  return asked;
}

static struct asked *ask(struct world *world, uint32_t limit)
{
  struct asked *asked = prepare(world, limit);

  on_loop(world, start_errand, asked);
  return asked;
}

/* Wait for the callback. */
static bool wait_answer(struct asked *asked)
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

/* Wait for one answer and compare its code. */
static void expect(struct asked *asked, int code)
{
  ck_assert_msg(wait_answer(asked), "no answer");
  ck_assert_msg(asked->failure.code == code, "wanted %s, got %s: %s", keyroute_errname(code),
                keyroute_errname(asked->failure.code), asked->failure.message);
  ck_assert(!asked->inside);
}

static void expect_message(const struct asked *asked, const char *part)
{
  ck_assert_msg(strstr(asked->failure.message, part) != NULL, "\"%s\" not in \"%s\"", part,
                asked->failure.message);
}

static unsigned connects(struct world *world)
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

static struct world *world_with_regions(unsigned count)
{
  struct world *world = new_world();

  put_regions(world, count);
  return world;
}

static void fault(struct world *world, enum fake_what what)
{
  fake_server_fault(world->server, &(struct fake_fault){.what = what});
}

static void fault_exception(struct world *world, enum fake_what what, const char *class_name,
                            const char *text)
{
  fake_server_fault(world->server,
                    &(struct fake_fault){.what = what, .class_name = class_name, .text = text});
}

/* ---- Good answers ---------------------------------------------------------------------------- */

START_TEST(test_transport_hbase__rows_come_in_scan_order_in_each_encoding)
{
  struct world *world = world_with_regions(3);

  fake_server_set_encoding(world->server, (enum fake_encoding)_i);
  struct asked *asked = ask(world, 2);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 2);
  ck_assert(strncmp(asked->keys[0], "t,c,1002.", 9) == 0);
  ck_assert(strncmp(asked->keys[1], "t,b,1001.", 9) == 0);
  ck_assert_uint_eq(asked->cell_counts[0], 6);
  ck_assert_str_eq(asked->first_server, "rs1:16020");
  ck_assert(!asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__scan_is_one_request_that_leaves_no_scanner)
{
  struct world *world = world_with_regions(3);
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  struct fake_seen seen = fake_server_last_scan(world->server);

  ck_assert_uint_eq(fake_server_counts(world->server).scanners, 0);
  ck_assert_uint_eq(fake_server_counts(world->server).rpcs, 1);
  ck_assert(seen.reversed && seen.small && seen.pread && seen.close_scanner);
  ck_assert(seen.include_start && seen.include_stop);
  ck_assert(!seen.has_limit_of_rows && !seen.handles_partials && !seen.handles_heartbeats);
  ck_assert_uint_eq(seen.number_of_rows, 3);
  ck_assert_uint_eq(seen.priority, 200);
  ck_assert_uint_eq(seen.timeout_ms, 4000);
  ck_assert_uint_eq(seen.max_versions, 3);
  ck_assert_str_eq(seen.region, "hbase:meta,,1");
  ck_assert_str_eq(seen.family, "info");
  ck_assert_str_eq(seen.start, "t,zz,99999999999999");
  ck_assert_str_eq(seen.stop, "t,,");
  ck_assert_str_eq(seen.user, "tester");
  ck_assert_str_eq(seen.service, "ClientService");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__no_row_is_a_good_answer)
{
  struct world *world = new_world();
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 0);
  ck_assert(!asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__forward_scan_reads_another_family)
{
  struct world *world = world_with_regions(1);

  fake_server_put_table_state(world->server, "t", 1);
  struct asked *asked = prepare(world, 1);

  asked->scan = (struct kr_scan){.region = keyroute_string("hbase:meta,,1"),
                                 .start_row = keyroute_string("t"),
                                 .stop_row = keyroute_string("t"),
                                 .include_start = true,
                                 .include_stop = true,
                                 .limit = 1,
                                 .family = "table"};
  on_loop(world, start_errand, asked);
  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 1);
  ck_assert_str_eq(asked->keys[0], "t");
  ck_assert_uint_eq(asked->cell_counts[0], 1);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__early_stop_asks_for_more)
{
  struct world *world = world_with_regions(5);

  fake_server_fault(world->server, &(struct fake_fault){.what = (enum fake_what)_i, .rows = 1});
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 1);
  ck_assert(asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__heartbeat_without_rows_asks_for_more)
{
  struct world *world = world_with_regions(5);

  fault(world, FAKE_HEARTBEAT);
  struct asked *asked = ask(world, 3);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 0);
  ck_assert(asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__rows_beyond_the_limit_are_cut_off)
{
  struct world *world = world_with_regions(6);

  fault(world, FAKE_NO_LIMIT);
  struct asked *asked = ask(world, 2);

  expect(asked, 0);
  ck_assert_uint_eq(asked->count, 2);
  ck_assert(!asked->more);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__answer_in_single_bytes_is_put_together)
{
  struct world *world = world_with_regions(3);

  fault(world, FAKE_TRICKLE);
  struct asked *first = ask(world, 3);
  struct asked *second = ask(world, 3);

  expect(first, 0);
  expect(second, 0);
  ck_assert_uint_eq(first->count, 3);
  ck_assert_uint_eq(second->count, 3);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

#define MANY 100

START_TEST(test_transport_hbase__requests_share_one_connection_and_are_answered_in_any_order)
{
  struct world *world = world_with_regions(5);
  struct asked *asked[MANY];

  fake_server_fault(world->server, &(struct fake_fault){.what = FAKE_REVERSE, .times = MANY});
  for (unsigned i = 0; i < MANY; i++) {
    asked[i] = ask(world, 1 + i % 5);
  }

  for (unsigned i = 0; i < MANY; i++) {
    expect(asked[i], 0);
    ck_assert_uint_eq(asked[i]->count, 1 + i % 5);
    free(asked[i]);
  }
  ck_assert_uint_eq(connects(world), 1);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_CONNECTS), 1);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_RPCS), MANY);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__callback_may_ask_again_and_cancel_others)
{
  struct world *world = world_with_regions(3);
  struct asked *first = prepare(world, 1);
  struct asked *second = prepare(world, 2);
  struct asked *third;

  fault(world, FAKE_ANSWER);
  fault(world, FAKE_NEVER);
  third = prepare(world, 3);
  first->cancel = third;
  first->then = second;
  fake_server_set_silent(world->server, true);
  on_loop(world, start_errand, first);
  on_loop(world, start_errand, third);
  fake_server_set_silent(world->server, false);

  expect(first, 0);
  expect(second, 0);
  ck_assert_uint_eq(second->count, 2);
  on_loop(world, shut_down, NULL);
  ck_assert_uint_eq(third->answers, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(first);
  free(second);
  free(third);
  free_world(world);
}
END_TEST

/* ---- Bad answers ----------------------------------------------------------------------------- */

static const struct {
  enum fake_what what;
  int code;
  const char *message;
} faults[] = {
    {FAKE_CLOSE, KEYROUTE_E_UNREACHABLE, "closed by the server"},
    {FAKE_RESET, KEYROUTE_E_UNREACHABLE, "reset"},
    {FAKE_HALF, KEYROUTE_E_UNREACHABLE, "closed by the server"},
    {FAKE_WRONG_ID, KEYROUTE_E_PROTOCOL, "never made"},
    {FAKE_GARBAGE, KEYROUTE_E_PROTOCOL, "unreadable header"},
    {FAKE_HUGE_LENGTH, KEYROUTE_E_PROTOCOL, "over the limit"},
    {FAKE_NEGATIVE_LENGTH, KEYROUTE_E_PROTOCOL, "-1 bytes"},
    {FAKE_BAD_MESSAGE, KEYROUTE_E_PROTOCOL, "unreadable message"},
    {FAKE_BAD_COUNTS, KEYROUTE_E_PROTOCOL, "cell"},
    {FAKE_SPARE_BYTES, KEYROUTE_E_PROTOCOL, "more cells sent"},
    {FAKE_MIXED_ROW, KEYROUTE_E_PROTOCOL, "cells of two rows"},
    {FAKE_EMPTY_ROW, KEYROUTE_E_PROTOCOL, "row without cells"},
    {FAKE_PARTIAL_ROW, KEYROUTE_E_PROTOCOL, "partial row"},
};

#define FAULT_COUNT ((int)(sizeof(faults) / sizeof(faults[0])))

START_TEST(test_transport_hbase__broken_answer_is_told_and_the_next_request_reconnects)
{
  struct world *world = world_with_regions(3);
  char server[64];

  fault(world, faults[_i].what);
  struct asked *bad = ask(world, 3);

  expect(bad, faults[_i].code);
  expect_message(bad, faults[_i].message);
  snprintf(server, sizeof(server), "127.0.0.1:%d", fake_server_port(world->server));
  expect_message(bad, server);
  ck_assert_str_eq(bad->failure.server, server);
  ck_assert_int_eq(bad->failure.kind, KEYROUTE_KIND_DROP_SERVER);
  ck_assert_uint_eq(bad->count, 0);
  struct asked *good = ask(world, 3);

  expect(good, 0);
  ck_assert_uint_eq(good->count, 3);
  ck_assert_uint_eq(connects(world), 2);
  free(bad);
  free(good);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__inline_rows_are_checked_too)
{
  struct world *world = world_with_regions(3);

  fake_server_set_encoding(world->server, FAKE_INLINE);
  fault(world, FAKE_EMPTY_ROW);
  struct asked *asked = ask(world, 3);

  expect(asked, KEYROUTE_E_PROTOCOL);
  expect_message(asked, "row without cells");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__exception_is_told_and_the_connection_stays)
{
  struct world *world = world_with_regions(3);

  fault_exception(world, FAKE_EXCEPTION, "org.apache.hadoop.hbase.NotServingRegionException",
                  "hbase:meta,,1 is not online");
  struct asked *bad = ask(world, 3);

  expect(bad, KEYROUTE_E_REMOTE);
  ck_assert_int_eq(bad->failure.kind, KEYROUTE_KIND_REFRESH);
  expect_message(bad, ": NotServingRegionException: hbase:meta,,1 is not online");
  struct asked *good = ask(world, 3);

  expect(good, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(bad);
  free(good);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__throttled_scan_carries_the_servers_wait)
{
  struct world *world = new_world();

  fault_exception(world, FAKE_EXCEPTION, "org.apache.hadoop.hbase.quotas.RpcThrottlingException",
                  "number of requests exceeded - wait 2sec, 5ms");
  struct asked *asked = ask(world, 3);

  expect(asked, KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(asked->failure.wait_ms, 2005);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__wrong_region_is_not_served)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  asked->scan.region = keyroute_string("u,,1.0123.");
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_REMOTE);
  expect_message(asked, "NotServingRegionException");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__fatal_reply_ends_every_request_of_the_connection)
{
  struct world *world = world_with_regions(3);
  struct asked *asked[3];

  fake_server_fault(world->server, &(struct fake_fault){.what = FAKE_NEVER, .times = 2});
  fault_exception(world, FAKE_FATAL, "org.apache.hadoop.hbase.security.AccessDeniedException",
                  "Authentication is required");
  for (unsigned i = 0; i < 3; i++) {
    asked[i] = ask(world, 3);
  }

  for (unsigned i = 0; i < 3; i++) {
    expect(asked[i], KEYROUTE_E_AUTH);
    ck_assert(asked[i]->failure.final);
    expect_message(asked[i], "Authentication is required");
    free(asked[i]);
  }
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__lost_connection_ends_every_request)
{
  struct world *world = world_with_regions(3);
  struct asked *asked[3];

  fake_server_fault(world->server, &(struct fake_fault){.what = FAKE_NEVER, .times = 3});
  for (unsigned i = 0; i < 3; i++) {
    asked[i] = ask(world, 3);
  }
  ck_assert(fake_server_wait_scans(world->server, 3, PATIENCE_MS));
  fake_server_drop_connections(world->server);

  for (unsigned i = 0; i < 3; i++) {
    expect(asked[i], KEYROUTE_E_UNREACHABLE);
    free(asked[i]);
  }
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__request_made_in_the_callback_of_a_lost_one_reconnects)
{
  struct world *world = world_with_regions(3);
  struct asked *first = prepare(world, 1);
  struct asked *second = prepare(world, 2);

  fault(world, FAKE_CLOSE);
  first->then = second;
  on_loop(world, start_errand, first);

  expect(first, KEYROUTE_E_UNREACHABLE);
  expect(second, 0);
  ck_assert_uint_eq(connects(world), 2);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__server_back_on_the_same_port_is_found_again)
{
  struct world *world = world_with_regions(3);
  struct asked *before = ask(world, 1);

  expect(before, 0);
  fake_server_stop(world->server);
  struct asked *meanwhile = ask(world, 1);

  expect(meanwhile, KEYROUTE_E_UNREACHABLE);
  fake_server_restart(world->server);
  struct asked *after = ask(world, 1);

  expect(after, 0);
  free(before);
  free(meanwhile);
  free(after);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__claimed_length_allocates_nothing)
{
  struct world *world = new_world();

  world->settings.max_frame_len = SIZE_MAX;
  fault(world, FAKE_HUGE_LENGTH);
  struct asked *asked = prepare(world, 3);

  asked->timeout_ms = 300;
  on_loop(world, start_errand, asked);
  expect(asked, KEYROUTE_E_TIMEOUT);
  pthread_mutex_lock(&world->memory.lock);
  ck_assert_uint_lt(world->memory.largest, 200 * 1024);
  pthread_mutex_unlock(&world->memory.lock);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__reply_over_the_limit_is_refused)
{
  struct world *world = world_with_regions(5);

  world->settings.max_frame_len = 600;
  struct asked *small = ask(world, 1);

  expect(small, 0);
  struct asked *large = ask(world, 5);

  expect(large, KEYROUTE_E_PROTOCOL);
  expect_message(large, "over the limit of 600");
  free(small);
  free(large);
  free_world(world);
}
END_TEST

/* ---- Time ------------------------------------------------------------------------------------ */

START_TEST(test_transport_hbase__timeout_names_server_and_time_and_the_late_reply_is_skipped)
{
  struct world *world = world_with_regions(3);

  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 800});
  struct asked *slow = prepare(world, 3);

  slow->timeout_ms = 400;
  on_loop(world, start_errand, slow);
  struct asked *quick = ask(world, 2);

  expect(quick, 0);
  expect(slow, KEYROUTE_E_TIMEOUT);
  expect_message(slow, "within 400 ms");
  expect_message(slow, "server 127.0.0.1:");
  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 1000});
  struct asked *later = ask(world, 1);

  expect(later, 0);
  ck_assert_uint_eq(later->count, 1);
  ck_assert_uint_eq(connects(world), 1);
  free(slow);
  free(quick);
  free(later);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__who_has_little_time_does_not_cost_a_connection)
{
  struct world *world = world_with_regions(3);
  struct asked *lost[5];

  for (int i = 0; i < 5; i++) {
    fault(world, FAKE_NEVER);
    lost[i] = prepare(world, 1);
    lost[i]->timeout_ms = 20;
    on_loop(world, start_errand, lost[i]);
    expect(lost[i], KEYROUTE_E_TIMEOUT);
  }
  struct asked *next = ask(world, 1);

  expect(next, 0);
  ck_assert_uint_eq(connects(world), 1);
  for (int i = 0; i < 5; i++) {
    free(lost[i]);
  }
  free(next);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__connection_silent_for_a_whole_second_takes_no_more_requests)
{
  struct world *world = world_with_regions(3);

  fault(world, FAKE_NEVER);
  struct asked *lost = prepare(world, 1);

  lost->timeout_ms = 1200;
  on_loop(world, start_errand, lost);
  expect(lost, KEYROUTE_E_TIMEOUT);
  struct asked *next = ask(world, 1);

  expect(next, 0);
  ck_assert_uint_eq(connects(world), 2);
  ck_assert(fake_server_wait_closed(world->server, 1, PATIENCE_MS));
  free(lost);
  free(next);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__cancelled_request_gets_no_answer_and_disturbs_nobody)
{
  struct world *world = world_with_regions(3);

  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 100, .times = 2});
  struct asked *cancelled = ask(world, 1);
  struct asked *other = ask(world, 2);

  ck_assert(fake_server_wait_scans(world->server, 2, PATIENCE_MS));
  on_loop(world, cancel_errand, cancelled);
  expect(other, 0);
  ck_assert_uint_eq(other->count, 2);
  struct asked *next = ask(world, 3);

  expect(next, 0);
  ck_assert_uint_eq(connects(world), 1);
  on_loop(world, shut_down, NULL);
  ck_assert_uint_eq(cancelled->answers, 0);
  free(cancelled);
  free(other);
  free(next);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__second_reply_to_a_request_is_skipped)
{
  struct world *world = world_with_regions(3);

  fault(world, FAKE_TWICE);
  struct asked *first = ask(world, 1);

  expect(first, 0);
  struct asked *second = ask(world, 2);

  expect(second, 0);
  ck_assert_uint_eq(second->count, 2);
  ck_assert_uint_eq(connects(world), 1);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__idle_connection_is_closed_and_made_again)
{
  struct world *world = world_with_regions(3);

  world->settings.connection_idle_ms = 50;
  struct asked *first = ask(world, 1);

  expect(first, 0);
  ck_assert(fake_server_wait_closed(world->server, 0, PATIENCE_MS));
  struct asked *second = ask(world, 1);

  expect(second, 0);
  ck_assert_uint_eq(connects(world), 2);
  free(first);
  free(second);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__connection_with_a_request_is_not_idle)
{
  struct world *world = world_with_regions(3);

  world->settings.connection_idle_ms = 400;
  fault(world, FAKE_ANSWER);
  fake_server_fault(world->server, &(struct fake_fault){.delay_ms = 900});
  struct asked *first = ask(world, 1);

  expect(first, 0);
  struct asked *slow = ask(world, 1);

  expect(slow, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(first);
  free(slow);
  free_world(world);
}
END_TEST

/* ---- Connecting ------------------------------------------------------------------------------ */

START_TEST(test_transport_hbase__refused_connection_names_server_and_reason)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  asked->port = fake_closed_port();
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_UNREACHABLE);
  expect_message(asked, "connect to 127.0.0.1:");
  expect_message(asked, "Connection refused");
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_CONNECTS), 0);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__black_hole_is_unreachable_by_the_connect_timeout)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);
  struct fake_black_hole *hole = fake_black_hole_open(&asked->port);

  world->settings.connect_timeout_ms = 200;
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_UNREACHABLE);
  expect_message(asked, "no answer to connect within 200 ms");
  fake_black_hole_close(hole);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__request_shorter_than_the_connect_timeout_times_out)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);
  struct fake_black_hole *hole = fake_black_hole_open(&asked->port);

  asked->timeout_ms = 100;
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_TIMEOUT);
  expect_message(asked, "within 100 ms, still connecting");
  fake_black_hole_close(hole);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__server_that_never_speaks_times_out)
{
  struct world *world = new_world();

  fake_server_set_silent(world->server, true);
  struct asked *asked = prepare(world, 1);

  asked->timeout_ms = 100;
  on_loop(world, start_errand, asked);
  expect(asked, KEYROUTE_E_TIMEOUT);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__name_is_resolved_and_all_its_addresses_are_tried)
{
  struct world *world = world_with_regions(3);
  struct asked *asked = prepare(world, 1);

  /* Where localhost is ::1 first, nobody listens there. */
  asked->host = "localhost";
  on_loop(world, start_errand, asked);

  expect(asked, 0);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__refused_name_names_the_address_tried)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  asked->host = "localhost";
  asked->port = fake_closed_port();
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_UNREACHABLE);
  expect_message(asked, "connect to localhost:");
  expect_message(asked, "): Connection refused");
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__name_that_does_not_resolve_is_named)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  /* Too long for a label: refused without asking anybody. */
  asked->host = "a0123456789012345678901234567890123456789012345678901234567890123456789.invalid";
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_RESOLVE);
  expect_message(asked, "host name \"a0123456789");
  free(asked);
  free_world(world);
}
END_TEST

static void block_worker(struct kr_job *job)
{
  (void)job;
  nanosleep(&(struct timespec){0, 500 * 1000000L}, NULL);
}

static void free_job(struct kr_job *job)
{
  free(job);
}

static void submit_block(struct world *world, void *arg)
{
  struct kr_job *job = calloc(1, sizeof(*job));

  (void)arg;
  job->run = block_worker;
  job->done = free_job;
  job->drop = free_job;
  kr_worker_submit(world->worker, job);
}

START_TEST(test_transport_hbase__resolver_without_an_answer_is_bounded_by_the_connect_timeout)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  world->settings.connect_timeout_ms = 100;
  asked->host = "localhost";
  on_loop(world, submit_block, NULL);
  on_loop(world, start_errand, asked);

  expect(asked, KEYROUTE_E_RESOLVE);
  expect_message(asked, "no answer from the resolver within 100 ms");
  free(asked);
  free_world(world);
}
END_TEST

/* ---- The end --------------------------------------------------------------------------------- */

static void start_and_shut_down(struct world *world, void *arg)
{
  start_asked(arg);
  shut_down(world, NULL);
}

START_TEST(test_transport_hbase__shutdown_ends_requests_in_every_state)
{
  struct world *world = world_with_regions(3);
  struct asked *waiting, *resolving, *connecting, *fresh;

  fault(world, FAKE_NEVER);
  waiting = ask(world, 1);
  ck_assert(fake_server_wait_scans(world->server, 1, PATIENCE_MS));
  on_loop(world, submit_block, NULL);
  resolving = prepare(world, 1);
  resolving->host = "localhost";
  on_loop(world, start_errand, resolving);
  connecting = prepare(world, 1);
  struct fake_black_hole *hole = fake_black_hole_open(&connecting->port);

  on_loop(world, start_errand, connecting);
  fresh = prepare(world, 1);
  fresh->then = prepare(world, 1);
  fresh->port = fake_closed_port();
  on_loop(world, start_and_shut_down, fresh);

  expect(waiting, KEYROUTE_E_CLOSED);
  expect(resolving, KEYROUTE_E_CLOSED);
  expect(connecting, KEYROUTE_E_CLOSED);
  expect(fresh, KEYROUTE_E_CLOSED);
  ck_assert(fresh->then->refused);
  free_world(world);
  fake_black_hole_close(hole);
  free(waiting);
  free(resolving);
  free(connecting);
  free(fresh->then);
  free(fresh);
}
END_TEST

static void start_and_cancel(struct world *world, void *arg)
{
  start_asked(arg);
  cancel_errand(world, arg);
}

START_TEST(test_transport_hbase__shutdown_right_after_the_start_is_clean)
{
  struct world *world = new_world();
  struct asked *asked = prepare(world, 1);

  on_loop(world, start_and_shut_down, asked);

  expect(asked, KEYROUTE_E_CLOSED);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__cancel_right_after_the_start_is_clean)
{
  struct world *world = world_with_regions(3);
  struct asked *cancelled = prepare(world, 1);

  on_loop(world, start_and_cancel, cancelled);
  struct asked *next = ask(world, 2);

  expect(next, 0);
  ck_assert_uint_eq(cancelled->answers, 0);
  free(cancelled);
  free(next);
  free_world(world);
}
END_TEST

/* Let the n-th allocation fail. */
static void run_short(struct world *world, long n)
{
  pthread_mutex_lock(&world->memory.lock);
  world->memory.left = n;
  pthread_mutex_unlock(&world->memory.lock);
}

START_TEST(test_transport_hbase__each_failed_allocation_is_survived)
{
  bool good = false;

  for (long n = 0; n < 200 && !good; n++) {
    struct world *world = world_with_regions(3);
    struct asked *asked = prepare(world, 3);

    fake_server_set_encoding(world->server, (enum fake_encoding)_i);
    run_short(world, n);
    on_loop(world, start_errand, asked);
    ck_assert_msg(wait_answer(asked) || asked->refused, "allocation %ld lost the answer", n);
    pthread_mutex_lock(&world->memory.lock);
    good = world->memory.left >= 0;
    pthread_mutex_unlock(&world->memory.lock);
    ck_assert(!good || asked->failure.code == 0);
    free(asked);
    free_world(world);
  }
  ck_assert(good);
}
END_TEST

/* ---- Bytes that wait ------------------------------------------------------------------------- */

/* More than half of what may wait. */
static char long_row[QUEUE_MAX / 2 + 1000];

static struct asked *prepare_long(struct world *world, int port, size_t len)
{
  struct asked *asked = prepare(world, 1);

  memset(long_row, 'r', sizeof(long_row));
  asked->port = port;
  asked->timeout_ms = 60000;
  asked->scan.start_row = kr_bytes(long_row, len);
  on_loop(world, start_errand, asked);
  return asked;
}

START_TEST(test_transport_hbase__more_than_may_wait_while_connecting_is_overloaded_at_once)
{
  struct world *world = new_world();
  int port;
  struct fake_black_hole *hole = fake_black_hole_open(&port);
  struct asked *first = prepare_long(world, port, sizeof(long_row));
  struct asked *second = prepare_long(world, port, sizeof(long_row));

  expect(second, KEYROUTE_E_OVERLOADED);

  ck_assert_int_eq(second->failure.kind, KEYROUTE_KIND_KEEP);
  ck_assert(!second->failure.connecting);
  expect_message(second, "server 127.0.0.1:");
  expect_message(second, "65536 bytes");
  expect_message(second, "keyroute.server.queue.max.bytes");
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_REFUSED), 1);
  /* One that is cancelled makes room. */
  on_loop(world, cancel_errand, first);
  struct asked *third = prepare_long(world, port, sizeof(long_row));
  struct asked *fourth = prepare_long(world, port, 10);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_REFUSED), 1);
  on_loop(world, shut_down, NULL);
  expect(third, KEYROUTE_E_CLOSED);
  expect(fourth, KEYROUTE_E_CLOSED);
  ck_assert_uint_eq(first->answers, 0);
  fake_black_hole_close(hole);
  free(first);
  free(second);
  free(third);
  free(fourth);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__server_that_does_not_read_is_overloaded_until_it_does)
{
  enum { MOST = 2000 };
  struct world *world = world_with_regions(1);
  static struct asked *all[MOST];
  int port = fake_server_port(world->server);
  int count = 0;
  struct asked *opener = ask(world, 1);
  expect(opener, 0);
  fake_server_set_silent(world->server, true);
  do {
    ck_assert_int_lt(count, MOST);
    all[count++] = prepare_long(world, port, sizeof(long_row));
  } while (kr_stats_read(world->stats, KR_COUNT_REFUSED) == 0);
  expect(all[count - 1], KEYROUTE_E_OVERLOADED);
  fake_server_set_silent(world->server, false);
  for (int i = 0; i < count - 1; i++) {
    expect(all[i], 0);
    free(all[i]);
  }
  free(all[count - 1]);

  struct asked *later = ask(world, 1);

  expect(later, 0);
  ck_assert_uint_eq(connects(world), 1);
  free(later);
  free(opener);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__lone_request_is_sent_whatever_its_length)
{
  struct world *world = world_with_regions(1);

  world->settings.max_queue_len = 10;
  struct asked *asked = ask(world, 1);

  expect(asked, 0);
  free(asked);
  free_world(world);
}
END_TEST

START_TEST(test_transport_hbase__refused_request_may_be_cancelled_or_shut_down)
{
  struct world *world = new_world();
  int port;
  struct fake_black_hole *hole = fake_black_hole_open(&port);
  struct asked *first = prepare_long(world, port, sizeof(long_row));
  struct asked *refused[2];

  world->settings.max_queue_len = 1;
  for (int i = 0; i < 2; i++) {
    refused[i] = prepare_long(world, port, 10);
    on_loop(world, i == 0 ? cancel_errand : shut_down, refused[i]);
  }

  expect(first, KEYROUTE_E_CLOSED);
  ck_assert_uint_eq(kr_stats_read(world->stats, KR_COUNT_REFUSED), 2);
  fake_black_hole_close(hole);
  free_world(world);
  ck_assert_uint_le(refused[0]->answers, 1);
  ck_assert_uint_eq(refused[1]->answers, 1);
  free(first);
  free(refused[0]);
  free(refused[1]);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("transport_hbase");
  TCase *good = tcase_create("good");
  TCase *bad = tcase_create("bad");
  TCase *time_case = tcase_create("time");
  TCase *connect_case = tcase_create("connect");
  TCase *bytes = tcase_create("bytes");
  TCase *end = tcase_create("end");

  tcase_add_loop_test(good, test_transport_hbase__rows_come_in_scan_order_in_each_encoding, 0, 3);
  tcase_add_test(good, test_transport_hbase__scan_is_one_request_that_leaves_no_scanner);
  tcase_add_test(good, test_transport_hbase__no_row_is_a_good_answer);
  tcase_add_test(good, test_transport_hbase__forward_scan_reads_another_family);
  tcase_add_loop_test(good, test_transport_hbase__early_stop_asks_for_more, FAKE_EARLY_STOP,
                      FAKE_HEARTBEAT + 1);
  tcase_add_test(good, test_transport_hbase__heartbeat_without_rows_asks_for_more);
  tcase_add_test(good, test_transport_hbase__rows_beyond_the_limit_are_cut_off);
  tcase_add_test(good, test_transport_hbase__answer_in_single_bytes_is_put_together);
  tcase_add_test(good,
                 test_transport_hbase__requests_share_one_connection_and_are_answered_in_any_order);
  tcase_add_test(good, test_transport_hbase__callback_may_ask_again_and_cancel_others);
  suite_add_tcase(made, good);

  tcase_add_loop_test(bad,
                      test_transport_hbase__broken_answer_is_told_and_the_next_request_reconnects,
                      0, FAULT_COUNT);
  tcase_add_test(bad, test_transport_hbase__inline_rows_are_checked_too);
  tcase_add_test(bad, test_transport_hbase__exception_is_told_and_the_connection_stays);
  tcase_add_test(bad, test_transport_hbase__throttled_scan_carries_the_servers_wait);
  tcase_add_test(bad, test_transport_hbase__wrong_region_is_not_served);
  tcase_add_test(bad, test_transport_hbase__fatal_reply_ends_every_request_of_the_connection);
  tcase_add_test(bad, test_transport_hbase__lost_connection_ends_every_request);
  tcase_add_test(bad, test_transport_hbase__request_made_in_the_callback_of_a_lost_one_reconnects);
  tcase_add_test(bad, test_transport_hbase__server_back_on_the_same_port_is_found_again);
  tcase_add_test(bad, test_transport_hbase__claimed_length_allocates_nothing);
  tcase_add_test(bad, test_transport_hbase__reply_over_the_limit_is_refused);
  suite_add_tcase(made, bad);

  tcase_add_test(time_case,
                 test_transport_hbase__timeout_names_server_and_time_and_the_late_reply_is_skipped);
  tcase_add_test(time_case, test_transport_hbase__who_has_little_time_does_not_cost_a_connection);
  tcase_add_test(time_case,
                 test_transport_hbase__connection_silent_for_a_whole_second_takes_no_more_requests);
  tcase_add_test(time_case,
                 test_transport_hbase__cancelled_request_gets_no_answer_and_disturbs_nobody);
  tcase_add_test(time_case, test_transport_hbase__second_reply_to_a_request_is_skipped);
  tcase_add_test(time_case, test_transport_hbase__idle_connection_is_closed_and_made_again);
  tcase_add_test(time_case, test_transport_hbase__connection_with_a_request_is_not_idle);
  suite_add_tcase(made, time_case);

  tcase_add_test(connect_case, test_transport_hbase__refused_connection_names_server_and_reason);
  tcase_add_test(connect_case,
                 test_transport_hbase__black_hole_is_unreachable_by_the_connect_timeout);
  tcase_add_test(connect_case,
                 test_transport_hbase__request_shorter_than_the_connect_timeout_times_out);
  tcase_add_test(connect_case, test_transport_hbase__server_that_never_speaks_times_out);
  tcase_add_test(connect_case,
                 test_transport_hbase__name_is_resolved_and_all_its_addresses_are_tried);
  tcase_add_test(connect_case, test_transport_hbase__refused_name_names_the_address_tried);
  tcase_add_test(connect_case, test_transport_hbase__name_that_does_not_resolve_is_named);
  tcase_add_test(
      connect_case,
      test_transport_hbase__resolver_without_an_answer_is_bounded_by_the_connect_timeout);
  suite_add_tcase(made, connect_case);

  tcase_add_test(bytes,
                 test_transport_hbase__more_than_may_wait_while_connecting_is_overloaded_at_once);
  tcase_add_test(bytes,
                 test_transport_hbase__server_that_does_not_read_is_overloaded_until_it_does);
  tcase_add_test(bytes, test_transport_hbase__lone_request_is_sent_whatever_its_length);
  tcase_add_test(bytes, test_transport_hbase__refused_request_may_be_cancelled_or_shut_down);
  tcase_set_timeout(bytes, 300);
  suite_add_tcase(made, bytes);

  tcase_add_test(end, test_transport_hbase__shutdown_ends_requests_in_every_state);
  tcase_add_test(end, test_transport_hbase__shutdown_right_after_the_start_is_clean);
  tcase_add_test(end, test_transport_hbase__cancel_right_after_the_start_is_clean);
  tcase_add_loop_test(end, test_transport_hbase__each_failed_allocation_is_survived, 0, 3);
  tcase_set_timeout(end, 60);
  suite_add_tcase(made, end);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
