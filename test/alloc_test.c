/*
 * Memory runs short: every allocation of a connection's life fails in turn.
 *
 * One run makes options, opens a connection, looks up a row that is not cached, one that is, one of
 * an absent table, one in a hole, one through a handle and one asynchronously, reports some
 * locations, and closes. The n-th allocation fails, alone or with all that follow, for n = 1, 2,
 * ... until a run meets no failure.
 *
 *  1. Every call ends with NO_MEMORY or with its right answer; none hangs.
 *  2. Whatever was allocated has been released when the connection and the options are gone.
 *
 * Only the connection's own allocator fails. liburcu, libuv, ZooKeeper's client and libxml2 have
 * memory of their own and are left alone. With a sanitizer this looks for leaks of theirs too.
 */
#include "test/fake_server.h"

#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* More than any run takes. */
enum { RUNS_MAX = 5000 };

/* ---- Memory that runs short ----------------------------------------------------------------- */

struct memory {
  atomic_long until; /* allocations until one fails; below 0: that has happened */
  bool forever;      /* and all later ones too */
  atomic_long live;  /* pieces not released */
};

static bool is_short(struct memory *memory)
{
  long left = atomic_fetch_sub(&memory->until, 1) - 1;

  return left == 0 || (left < 0 && memory->forever);
}

static void *allocate(void *user, size_t size)
{
  struct memory *memory = user;
  void *piece = is_short(memory) ? NULL : malloc(size);

  if (piece != NULL) {
    atomic_fetch_add(&memory->live, 1);
  }
  return piece;
}

static void *reallocate(void *user, void *old, size_t size)
{
  struct memory *memory = user;
  void *piece = is_short(memory) ? NULL : realloc(old, size);

  if (piece != NULL && old == NULL) {
    atomic_fetch_add(&memory->live, 1);
  }
  return piece;
}

static void release(void *user, void *old)
{
  struct memory *memory = user;

  if (old != NULL) {
    atomic_fetch_sub(&memory->live, 1);
    free(old);
  }
}

/* ---- A cluster ------------------------------------------------------------------------------ */

static struct fake_server *server;
static char root[64];

static void put(const char *table, const char *start, const char *end, int64_t id)
{
  struct fake_region region = {
      .table = table,
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .host = "h1.example",
      .port = 16020,
      .start_code = 5,
      .replicas = 2,
  };

  fake_server_put_region(server, &region);
}

static void setup(void)
{
  server = fake_server_start(0);
  snprintf(root, sizeof(root), "127.0.0.1:%d:1", fake_server_port(server));
  put("t", "", "m", 1);
  put("t", "m", "", 2);
  put("holed", "", "c", 3);
  put("holed", "d", "", 4);
}

static void teardown(void)
{
  fake_server_free(server);
}

/* ---- One run -------------------------------------------------------------------------------- */

static void right_or_short(int error, int right, const struct keyroute_detail *detail)
{
  ck_assert_msg(error == right || error == KEYROUTE_E_NO_MEMORY, "%s, not %s or NO_MEMORY (%s)",
                keyroute_errname(error), keyroute_errname(right),
                detail != NULL ? detail->message : "");
}

static void locate(struct keyroute_connection *conn, const char *table, const char *row,
                   unsigned flags, int right)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_call call = {sizeof(call), 0, flags, 0};
  struct keyroute_location *location = NULL;
  int error = keyroute_locate(&location, conn, table, keyroute_string(row), &call, &detail);

  right_or_short(error, right, &detail);
  ck_assert_int_eq(detail.error, error);
  ck_assert_int_eq(location != NULL, error == 0);
  if (location != NULL) {
    ck_assert_str_eq(keyroute_location_host(location, 0), "h1.example");
    ck_assert_int_eq(keyroute_location_port(location, 1), 16021);
  }
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
}

static void locate_through_handle(struct keyroute_connection *conn)
{
  struct keyroute_table *table = NULL;
  struct keyroute_location *location = NULL;
  int error = keyroute_table_get(&table, conn, "t");

  right_or_short(error, 0, NULL);
  if (error == 0) {
    error = keyroute_table_locate(&location, table, keyroute_string("z"), NULL, NULL);
    right_or_short(error, 0, NULL);
  }
  keyroute_location_release(location);
  keyroute_table_release(table);
}

/* Report where a row is, and ask for it once more. */
static void report(struct keyroute_connection *conn, enum keyroute_fault fault, const char *host)
{
  struct keyroute_fault_detail more = KEYROUTE_FAULT_DETAIL_INIT;
  struct keyroute_location *location = NULL;
  int error = keyroute_locate(&location, conn, "t", keyroute_string("a"), NULL, NULL);

  right_or_short(error, 0, NULL);
  if (error == 0) {
    more.host = host;
    more.port = 16020;
    right_or_short(keyroute_report(conn, location, fault, &more), 0, NULL);
    struct keyroute_location *next = NULL;

    right_or_short(keyroute_locate(&next, conn, "t", keyroute_string("a"), NULL, NULL), 0, NULL);
    ck_assert_ptr_ne(next, location);
    keyroute_location_release(next);
  }
  keyroute_location_release(location);
}

struct wait {
  pthread_mutex_t lock;
  pthread_cond_t ended;
  unsigned answers; /* lock */
  int error;
};

static void note_answer(void *payload, int error, struct keyroute_location *location,
                        const struct keyroute_detail *detail)
{
  struct wait *wait = payload;

  (void)location;
  (void)detail;
  pthread_mutex_lock(&wait->lock);
  wait->answers++;
  wait->error = error;
  pthread_cond_signal(&wait->ended);
  pthread_mutex_unlock(&wait->lock);
}

static void locate_async(struct keyroute_connection *conn)
{
  struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
  uint64_t request = 0;
  int error =
      keyroute_locate_async(&request, conn, "t", keyroute_string("q"), NULL, note_answer, &wait);

  right_or_short(error, 0, NULL);
  if (error == 0) {
    keyroute_cancel(conn, request + 1000); /* nobody's */
    pthread_mutex_lock(&wait.lock);
    while (wait.answers == 0) {
      pthread_cond_wait(&wait.ended, &wait.lock);
    }
    pthread_mutex_unlock(&wait.lock);
    ck_assert_uint_eq(wait.answers, 1);
    right_or_short(wait.error, 0, NULL);
  }
}

static void use(struct keyroute_connection *conn)
{
  locate(conn, "t", "a", KEYROUTE_TRACE, 0);
  locate(conn, "t", "b", 0, 0);
  locate(conn, "absent", "a", 0, KEYROUTE_E_TABLE_NOT_FOUND);
  locate(conn, "holed", "c5", KEYROUTE_TRACE, KEYROUTE_E_HOLE);
  locate_through_handle(conn);
  locate(conn, "t", "a", KEYROUTE_REFRESH, 0);
  report(conn, KEYROUTE_FAULT_MOVED, "h2.example");
  report(conn, KEYROUTE_FAULT_NOT_SERVING, NULL);
  report(conn, KEYROUTE_FAULT_CONNECTION_FAILED, NULL);
  ck_assert_int_eq(keyroute_clear_all(conn), 0);
  locate_async(conn);
  fake_server_fault(server, &(struct fake_fault){.what = FAKE_EXCEPTION, .class_name = "E"});
  locate(conn, "t", "a", KEYROUTE_REFRESH, 0);
  fake_server_clear_faults(server);
}

/* Options with what the cluster needs; NULL = no memory. */
static struct keyroute_options *make_options(const struct keyroute_allocator *allocator)
{
  static const char *const properties[][2] = {
      {"keyroute.registry", "static"},    {"keyroute.registry.static.root", root},
      {"hbase.client.pause", "1"},        {"hbase.client.retries.number", "1"},
      {"keyroute.user", "${user.name}x"}, {"user.name", "tester"},
  };
  struct keyroute_options *options = NULL;
  int error = keyroute_options_new(&options, allocator);

  for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]) && error == 0; i++) {
    error = keyroute_options_set(options, properties[i][0], properties[i][1], NULL);
  }
  right_or_short(error, 0, NULL);
  if (error != 0) {
    keyroute_options_free(options);
    return NULL;
  }
  return options;
}

/* One life of a connection. Returns whether no allocation had to fail. */
static bool run(long until, bool forever)
{
  struct memory memory = {until, forever, 0};
  struct keyroute_allocator allocator = {&memory, allocate, reallocate, release};
  struct keyroute_options *options = make_options(&allocator);
  struct keyroute_connection *conn = NULL;

  if (options != NULL) {
    int error = keyroute_open(&conn, options, NULL);

    right_or_short(error, 0, NULL);
    if (error == 0) {
      use(conn);
    }
    ck_assert_int_eq(keyroute_close(conn), 0);
    keyroute_options_free(options);
  }
  ck_assert_msg(atomic_load(&memory.live) == 0, "allocation %ld failed: %ld pieces are left", until,
                atomic_load(&memory.live));
  return atomic_load(&memory.until) > 0;
}

static void sweep(bool forever)
{
  long n = 1;

  while (n < RUNS_MAX && !run(n, forever)) {
    n++;
  }
  ck_assert_int_lt(n, RUNS_MAX);
  ck_assert_int_gt(n, 50); /* it did fail some */
}

START_TEST(test_alloc__each_allocation_may_fail)
{
  sweep(false);
}
END_TEST

START_TEST(test_alloc__memory_may_stay_short)
{
  sweep(true);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("alloc");
  TCase *all = tcase_create("alloc");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_alloc__each_allocation_may_fail);
  tcase_add_test(all, test_alloc__memory_may_stay_short);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
