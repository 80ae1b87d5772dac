/*
 * Callbacks on the application's own thread: connections to the scripted cluster, inside an epoll
 * loop and inside a libuv loop.
 */
#include "test/blocking.h"
#include "test/dispatcher_harness.h"
#include "test/failing_mem.h"
#include "test/fake_cluster.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

static struct fake_cluster cluster;

static void setup(void)
{
  fake_cluster_start(&cluster, &failing_allocator);
  fake_cluster_put(&cluster, "t", "", "m", 1);
  fake_cluster_put(&cluster, "t", "m", "", 2);
}

static void teardown(void)
{
  fake_cluster_stop(&cluster);
  while (run_post()) {
  }
  ck_assert_int_eq(mem_live(), 0);
}

static void open_drained(void)
{
  keyroute_options_set_drain(cluster.options, true);
  fake_cluster_open(&cluster);
}

static void open_posted(keyroute_post_cb post)
{
  keyroute_options_set_post(cluster.options, post, NULL);
  fake_cluster_open(&cluster);
}

static int close_now(void)
{
  int error = keyroute_close(cluster.conn);

  if (error == 0) {
    cluster.conn = NULL;
  }
  return error;
}

/* What callbacks have done; for one thread, like those of an application with a loop. */
struct calls {
  pthread_t thread; /* where they should run */
  unsigned answers, errors, strangers;
  int last_error;
  int64_t last_id;
};

static void note(void *payload, int error, struct keyroute_location *location,
                 const struct keyroute_detail *detail)
{
  struct calls *calls = payload;

  ck_assert_int_eq(error == 0, location != NULL);
  ck_assert_int_eq(detail->error, error);
  calls->answers++;
  calls->errors += error != 0;
  calls->strangers += !pthread_equal(calls->thread, pthread_self());
  calls->last_error = error;
  calls->last_id = location != NULL ? keyroute_location_region_id(location) : 0;
}

static uint64_t start(const char *table, const char *key, keyroute_locate_cb cb, void *payload)
{
  uint64_t number = 0;

  ck_assert_int_eq(
      keyroute_locate_async(&number, cluster.conn, table, keyroute_string(key), NULL, cb, payload),
      0);
  return number;
}

/* Drain until so many answers have come. */
static void drain_until(const struct calls *calls, unsigned answers)
{
  int fd = keyroute_event_fd(cluster.conn);

  while (calls->answers < answers) {
    ck_assert(is_readable(fd, PATIENCE_MS));
    ck_assert_int_ge(keyroute_drain(cluster.conn), 0);
  }
}

static void run_posts_until(const struct calls *calls, unsigned answers)
{
  while (calls->answers < answers) {
    await_post();
    run_post();
  }
}

START_TEST(test_dispatcher__hits_misses_and_errors_are_drained_on_this_thread)
{
  struct calls calls = {.thread = pthread_self()};

  open_drained();
  start("t", "a", note, &calls);
  start("t", "z", note, &calls);
  start("absent", "a", note, &calls);
  drain_until(&calls, 3);
  start("t", "z", note, &calls);
  drain_until(&calls, 4);

  ck_assert_uint_eq(calls.errors, 1);
  ck_assert_uint_eq(calls.strangers, 0);
  ck_assert_int_eq(calls.last_id, 2);
  ck_assert_int_eq(keyroute_drain(cluster.conn), 0);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).pending, 0);
}
END_TEST

START_TEST(test_dispatcher__hits_misses_and_errors_are_posted_to_this_thread)
{
  struct calls calls = {.thread = pthread_self()};

  open_posted(keep_post);
  start("t", "a", note, &calls);
  start("absent", "a", note, &calls);
  run_posts_until(&calls, 2);
  start("t", "a", note, &calls);
  run_posts_until(&calls, 3);

  ck_assert_uint_eq(calls.errors, 1);
  ck_assert_uint_eq(calls.strangers, 0);
}
END_TEST

START_TEST(test_dispatcher__blocking_calls_need_nobody_to_drain)
{
  struct keyroute_location *location = NULL;

  open_drained();

  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", keyroute_string("a"), NULL, NULL),
                   0);

  ck_assert(!is_readable(keyroute_event_fd(cluster.conn), 0));
  keyroute_location_release(location);
}
END_TEST

static int blocked, closed, drained;

static void block_and_close(void *payload, int error, struct keyroute_location *location,
                            const struct keyroute_detail *detail)
{
  struct keyroute_location *other = NULL;

  blocked = keyroute_locate(&other, cluster.conn, "t", keyroute_string("z"), NULL, NULL);
  keyroute_location_release(other);
  closed = keyroute_close(cluster.conn);
  drained = keyroute_drain(cluster.conn);
  note(payload, error, location, detail);
}

START_TEST(test_dispatcher__a_callback_may_block_but_not_close_and_draining_in_it_does_nothing)
{
  struct calls calls = {.thread = pthread_self()};

  open_drained();
  start("t", "a", block_and_close, &calls);
  drain_until(&calls, 1);

  ck_assert_int_eq(blocked, 0);
  ck_assert_int_eq(closed, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(drained, 0);
}
END_TEST

/* ---- A chain of calls, each started by the callback of the one before (scenario 87) ---- */

struct chain {
  struct calls calls; /* of the last one */
  unsigned left;
  const char *lowest, *highest; /* of the callbacks' stacks */
};

static void go_on(void *payload, int error, struct keyroute_location *location,
                  const struct keyroute_detail *detail)
{
  struct chain *chain = payload;
  char here = 0;
  const char *at = &here;

  chain->lowest = chain->lowest == NULL || at < chain->lowest ? at : chain->lowest;
  chain->highest = at > chain->highest ? at : chain->highest;
  if (error == 0 && chain->left > 0) {
    chain->left--;
    start("t", "a", go_on, chain);
    return;
  }
  note(&chain->calls, error, location, detail);
}

static void expect_flat(const struct chain *chain)
{
  ck_assert_uint_eq(chain->left, 0);
  ck_assert_int_eq(chain->calls.last_error, 0);
  ck_assert_uint_eq(chain->calls.strangers, 0);
  ck_assert_int_lt(chain->highest - chain->lowest, 65536);
}

START_TEST(test_dispatcher__s087_a_chain_of_calls_is_drained_on_a_flat_stack)
{
  struct chain chain = {.calls.thread = pthread_self(), .left = DEPTH};

  open_drained();
  start("t", "a", go_on, &chain);
  drain_until(&chain.calls, 1);

  expect_flat(&chain);
}
END_TEST

START_TEST(test_dispatcher__s087_a_chain_of_calls_is_posted_on_a_flat_stack)
{
  struct chain chain = {.calls.thread = pthread_self(), .left = DEPTH};

  open_posted(keep_post);
  start("t", "a", go_on, &chain);
  run_posts_until(&chain.calls, 1);

  expect_flat(&chain);
}
END_TEST

/* ---- Cancelling and closing ---- */

START_TEST(test_dispatcher__cancelling_what_waits_already_gives_its_answer_once)
{
  struct calls calls = {.thread = pthread_self()};

  open_drained();
  uint64_t number = start("t", "a", note, &calls);
  ck_assert(is_readable(keyroute_event_fd(cluster.conn), PATIENCE_MS));
  keyroute_cancel(cluster.conn, number);
  drain_until(&calls, 1);

  ck_assert_int_eq(calls.last_error, 0);
  ck_assert_int_eq(close_now(), 0);
  ck_assert_uint_eq(calls.answers, 1);
}
END_TEST

START_TEST(test_dispatcher__cancelling_what_is_under_way_gives_cancelled_once)
{
  struct calls calls = {.thread = pthread_self()};

  open_drained();
  fake_server_set_silent(cluster.server, true);
  keyroute_cancel(cluster.conn, start("t", "a", note, &calls));
  drain_until(&calls, 1);

  ck_assert_int_eq(calls.last_error, KEYROUTE_E_CANCELLED);
  ck_assert_int_eq(close_now(), 0);
  ck_assert_uint_eq(calls.answers, 1);
}
END_TEST

static struct calls others;

static void cancel_other(void *payload, int error, struct keyroute_location *location,
                         const struct keyroute_detail *detail)
{
  fake_server_set_silent(cluster.server, true);
  keyroute_cancel(cluster.conn, start("u", "z", note, &others));
  note(payload, error, location, detail);
}

START_TEST(test_dispatcher__a_callback_starts_and_cancels_calls)
{
  struct calls calls = {.thread = pthread_self()};

  others.thread = pthread_self();
  open_drained();
  start("t", "a", cancel_other, &calls);
  drain_until(&calls, 1);
  ck_assert_uint_eq(others.answers, 0);
  drain_until(&others, 1);

  ck_assert_int_eq(calls.last_error, 0);
  ck_assert_int_eq(others.last_error, KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_dispatcher__s110_close_runs_all_that_waits_and_all_that_is_under_way)
{
  struct calls calls = {.thread = pthread_self()};

  open_drained();
  start("t", "a", note, &calls);
  ck_assert(is_readable(keyroute_event_fd(cluster.conn), PATIENCE_MS));
  fake_server_set_silent(cluster.server, true);
  for (int i = 0; i < 100; i++) {
    start(i % 2 == 0 ? "u" : "v", "a", note, &calls);
  }
  ck_assert_uint_eq(fake_cluster_stats(&cluster).pending, 101);

  ck_assert_int_eq(close_now(), 0);

  ck_assert_uint_eq(calls.answers, 101);
  ck_assert_uint_eq(calls.errors, 100);
  ck_assert_int_eq(calls.last_error, KEYROUTE_E_CLOSED);
  ck_assert_uint_eq(calls.strangers, 0);
}
END_TEST

START_TEST(test_dispatcher__work_posted_before_close_may_be_done_after_it)
{
  struct calls calls = {.thread = pthread_self()};

  open_posted(keep_post);
  start("t", "a", note, &calls);
  await_post();
  ck_assert_int_eq(close_now(), 0);
  ck_assert_uint_eq(calls.answers, 1);

  ck_assert(run_post());

  ck_assert(!run_post());
  ck_assert_uint_eq(calls.answers, 1);
}
END_TEST

/* What a callback that close runs gets from the connection. */
static int async_error, locate_error, table_error, clear_error, drain_error, nested_close,
    hit_error;

static void use_closing(void *payload, int error, struct keyroute_location *location,
                        const struct keyroute_detail *detail)
{
  struct keyroute_bytes row = keyroute_string("a");
  struct keyroute_location *other = NULL;
  struct keyroute_table *table = NULL;

  async_error = keyroute_locate_async(NULL, cluster.conn, "t", row, NULL, note, payload);
  locate_error = keyroute_locate(&other, cluster.conn, "u", row, NULL, NULL);
  hit_error = keyroute_locate(&other, cluster.conn, "t", row, NULL, NULL);
  table_error = keyroute_table_get(&table, cluster.conn, "t");
  clear_error = keyroute_clear_all(cluster.conn);
  drain_error = keyroute_drain(cluster.conn);
  nested_close = keyroute_close(cluster.conn);
  keyroute_cancel(cluster.conn, 1);
  keyroute_location_release(other);
  note(payload, error, location, detail);
}

START_TEST(test_dispatcher__a_callback_that_close_runs_is_told_that_it_is_closed)
{
  struct calls calls = {.thread = pthread_self()};

  open_drained();
  start("t", "a", use_closing, &calls);
  ck_assert(is_readable(keyroute_event_fd(cluster.conn), PATIENCE_MS));

  ck_assert_int_eq(close_now(), 0);

  ck_assert_uint_eq(calls.answers, 1);
  ck_assert_int_eq(async_error, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(locate_error, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(hit_error, 0);
  ck_assert_int_eq(table_error, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(clear_error, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(drain_error, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(nested_close, KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

/* A thread of the application's that runs callbacks, which go on starting and asking, while another
 * one closes. */
static atomic_bool at_work;
static struct calls busy;

static void keep_busy(void *payload, int error, struct keyroute_location *location,
                      const struct keyroute_detail *detail)
{
  struct keyroute_location *other = NULL;
  struct keyroute_call call = {sizeof(call), 0, KEYROUTE_REFRESH, 0};

  (void)location;
  (void)detail;
  busy.answers++;
  if (error == 0) {
    int missed = keyroute_locate(&other, cluster.conn, "t", keyroute_string("z"), &call, NULL);

    ck_assert(missed == 0 || missed == KEYROUTE_E_CLOSED);
    keyroute_location_release(other);
    keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string("a"), NULL, keep_busy, payload);
  }
}

static void *work(void *arg)
{
  (void)arg;
  while (atomic_load(&at_work)) {
    run_post();
  }
  return NULL;
}

START_TEST(test_dispatcher__closing_while_another_thread_runs_callbacks_is_orderly)
{
  pthread_t thread;

  atomic_store(&at_work, true);
  ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
  open_posted(keep_post);
  start("t", "a", keep_busy, NULL);
  start("t", "b", keep_busy, NULL);
  while (fake_cluster_stats(&cluster).hits < 20) {
    pause_ms(1);
  }

  struct keyroute_connection *conn = cluster.conn;
  ck_assert_int_eq(keyroute_close(conn), 0);
  cluster.conn = NULL;

  atomic_store(&at_work, false);
  pthread_join(thread, NULL);
  ck_assert_uint_ge(busy.answers, 2);
}
END_TEST

/* ---- Memory that runs short ---- */

START_TEST(test_dispatcher__each_allocation_of_a_drained_life_may_fail)
{
  bool survived = false;

  for (long n = 1; n < 400 && !survived; n++) {
    struct calls calls = {.thread = pthread_self()};
    struct keyroute_call call = {sizeof(call), 5000, KEYROUTE_TRACE, 0};

    keyroute_options_set_drain(cluster.options, true);
    mem_fail(n);
    int error = keyroute_open(&cluster.conn, cluster.options, NULL);
    if (error == 0) {
      int started =
          keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string("a"), &call, note, &calls);

      ck_assert(started == 0 || started == KEYROUTE_E_NO_MEMORY);
      drain_until(&calls, started == 0);
      ck_assert(calls.last_error == 0 || calls.last_error == KEYROUTE_E_NO_MEMORY);
      ck_assert_int_eq(close_now(), 0);
    } else {
      ck_assert_int_eq(error, KEYROUTE_E_NO_MEMORY);
    }
    survived = !mem_has_failed();
    mem_fail(0);
  }

  ck_assert(survived);
}
END_TEST

/* ---- What is refused ---- */

START_TEST(test_dispatcher__posting_and_draining_exclude_each_other)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  keyroute_options_set_post(cluster.options, keep_post, NULL);
  keyroute_options_set_drain(cluster.options, true);
  ck_assert_int_eq(keyroute_open(&cluster.conn, cluster.options, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute_options_set_drain"));

  keyroute_options_set_post(cluster.options, NULL, NULL);
  fake_cluster_open(&cluster);

  ck_assert_int_ge(keyroute_event_fd(cluster.conn), 0);
}
END_TEST

START_TEST(test_dispatcher__draining_needs_its_option_and_no_peek_section)
{
  ck_assert_int_eq(keyroute_event_fd(NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_drain(NULL), KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_options_set_post(NULL, NULL, NULL);
  keyroute_options_set_drain(NULL, true);
  fake_cluster_open(&cluster);
  ck_assert_int_eq(keyroute_event_fd(cluster.conn), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_drain(cluster.conn), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(close_now(), 0);
  open_posted(keep_post);
  ck_assert_int_eq(keyroute_event_fd(cluster.conn), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(close_now(), 0);
  keyroute_options_set_post(cluster.options, NULL, NULL);
  open_drained();

  keyroute_peek_begin();
  ck_assert_int_eq(keyroute_drain(cluster.conn), KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_peek_end();

  ck_assert_int_eq(keyroute_drain(cluster.conn), 0);
}
END_TEST

/* ---- Loops of an application's own ----------------------------------------------------------- */

START_TEST(test_dispatcher__s113_an_epoll_loop_drains_beside_its_other_work)
{
  enum { CALLS = 200 };
  struct calls calls = {.thread = pthread_self()};
  struct epoll_event event = {.events = EPOLLIN};
  int loop = epoll_create1(EPOLL_CLOEXEC);
  int own[2];
  unsigned ticks = 0;
  char byte = 'x';

  ck_assert_int_eq(pipe(own), 0);
  open_drained();
  event.data.fd = own[0];
  ck_assert_int_eq(epoll_ctl(loop, EPOLL_CTL_ADD, own[0], &event), 0);
  event.data.fd = keyroute_event_fd(cluster.conn);
  ck_assert_int_eq(epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event), 0);
  ck_assert_int_eq(write(own[1], &byte, 1), 1);
  for (int i = 0; i < CALLS; i++) {
    start("t", i % 2 == 0 ? "a" : "z", note, &calls);
  }
  while (calls.answers < CALLS || ticks == 0) {
    ck_assert_int_eq(epoll_wait(loop, &event, 1, PATIENCE_MS), 1);
    if (event.data.fd == own[0]) {
      ticks += read(own[0], &byte, 1) == 1;
    } else {
      ck_assert_int_gt(keyroute_drain(cluster.conn), 0);
    }
  }

  ck_assert_uint_eq(calls.answers, CALLS);
  ck_assert_uint_eq(calls.errors + calls.strangers, 0);
  close(loop);
  close(own[0]);
  close(own[1]);
}
END_TEST

/* An application on libuv: a queue of its own, and an async handle that empties it. */
static uv_loop_t uv;
static uv_async_t uv_wake;
static struct calls uv_calls;

static void post_to_uv(void *payload, void (*run)(void *arg), void *arg)
{
  keep_post(payload, run, arg);
  uv_async_send(&uv_wake);
}

static void uv_woken(uv_async_t *wake)
{
  while (run_post()) {
  }
  if (uv_calls.answers == 200) {
    uv_close((uv_handle_t *)wake, NULL);
  }
}

static void start_again(void *payload, int error, struct keyroute_location *location,
                        const struct keyroute_detail *detail)
{
  note(payload, error, location, detail);
  start("t", "z", note, payload);
}

START_TEST(test_dispatcher__s113_a_libuv_loop_runs_what_is_posted)
{
  uv_calls.thread = pthread_self();
  ck_assert_int_eq(uv_loop_init(&uv), 0);
  ck_assert_int_eq(uv_async_init(&uv, &uv_wake, uv_woken), 0);
  open_posted(post_to_uv);
  for (int i = 0; i < 100; i++) {
    start("t", "a", start_again, &uv_calls);
  }

  ck_assert_int_eq(uv_run(&uv, UV_RUN_DEFAULT), 0);

  ck_assert_uint_eq(uv_calls.answers, 200);
  ck_assert_uint_eq(uv_calls.errors + uv_calls.strangers, 0);
  ck_assert_int_eq(uv_loop_close(&uv), 0);
}
END_TEST

/* ---- The manual's example -------------------------------------------------------------------- */

static void write_site(const char *folder)
{
  char path[128];

  snprintf(path, sizeof(path), "%s/hbase-site.xml", folder);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fprintf(file,
          "<configuration>"
          "<property><name>keyroute.registry</name><value>static</value></property>"
          "<property><name>keyroute.registry.static.root</name>"
          "<value>127.0.0.1:%d:77</value></property>"
          "</configuration>",
          fake_server_port(cluster.server));
  fclose(file);
}

START_TEST(test_dispatcher__the_manuals_example_locates_its_rows)
{
  char folder[] = "/tmp/keyroute-epoll-XXXXXX";
  char command[600], line[128];
  const char *program = getenv("KEYROUTE");
  int rows = 0;

  ck_assert_ptr_nonnull(mkdtemp(folder));
  write_site(folder);
  fake_cluster_put(&cluster, "Table2", "", "", 9);
  program = program != NULL ? program : "./keyroute";
  snprintf(command, sizeof(command),
           "HBASE_CONF_DIR=%s timeout 30 \"$(dirname '%s')\"/doc/examples/epoll", folder, program);
  FILE *output = popen(command, "r");
  ck_assert_ptr_nonnull(output);
  while (fgets(line, sizeof(line), output) != NULL) {
    rows += strstr(line, " is on 127.0.0.1:") != NULL;
  }

  ck_assert_int_eq(pclose(output), 0);
  ck_assert_int_eq(rows, 3);
  snprintf(command, sizeof(command), "rm -r '%s'", folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("dispatcher_calls");
  TCase *all = tcase_create("all");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_dispatcher__hits_misses_and_errors_are_drained_on_this_thread);
  tcase_add_test(all, test_dispatcher__hits_misses_and_errors_are_posted_to_this_thread);
  tcase_add_test(all, test_dispatcher__blocking_calls_need_nobody_to_drain);
  tcase_add_test(
      all, test_dispatcher__a_callback_may_block_but_not_close_and_draining_in_it_does_nothing);
  tcase_add_test(all, test_dispatcher__s087_a_chain_of_calls_is_drained_on_a_flat_stack);
  tcase_add_test(all, test_dispatcher__s087_a_chain_of_calls_is_posted_on_a_flat_stack);
  tcase_add_test(all, test_dispatcher__cancelling_what_waits_already_gives_its_answer_once);
  tcase_add_test(all, test_dispatcher__cancelling_what_is_under_way_gives_cancelled_once);
  tcase_add_test(all, test_dispatcher__a_callback_starts_and_cancels_calls);
  tcase_add_test(all, test_dispatcher__s110_close_runs_all_that_waits_and_all_that_is_under_way);
  tcase_add_test(all, test_dispatcher__work_posted_before_close_may_be_done_after_it);
  tcase_add_test(all, test_dispatcher__a_callback_that_close_runs_is_told_that_it_is_closed);
  tcase_add_test(all, test_dispatcher__closing_while_another_thread_runs_callbacks_is_orderly);
  tcase_add_test(all, test_dispatcher__each_allocation_of_a_drained_life_may_fail);
  tcase_add_test(all, test_dispatcher__posting_and_draining_exclude_each_other);
  tcase_add_test(all, test_dispatcher__draining_needs_its_option_and_no_peek_section);
  tcase_add_test(all, test_dispatcher__s113_an_epoll_loop_drains_beside_its_other_work);
  tcase_add_test(all, test_dispatcher__s113_a_libuv_loop_runs_what_is_posted);
  tcase_add_test(all, test_dispatcher__the_manuals_example_locates_its_rows);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
