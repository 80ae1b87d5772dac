/*
 * Connections as the guests of a process: many at once, many one after another, idle ones, and how
 * many calls one of them takes on.
 */
#include "lib/connection.h"

#include "test/blocking.h"
#include "test/failing_mem.h"
#include "test/fake_cluster.h"
#include "test/run_suite.h"
#include "test/zookeeper.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Many at once ---------------------------------------------------------------------------- */

enum { CLUSTERS = 5, CONNECTIONS = 50, THREADS = 8, ROUNDS = 2000 };

static struct fake_cluster clusters[CLUSTERS];
static struct keyroute_connection *conns[CONNECTIONS];
static atomic_uint wrong;

/* The same table everywhere, with another id and bound in each. */
static void start_cluster(int i)
{
  char middle[2] = {(char)('b' + i), '\0'};

  fake_cluster_start(&clusters[i], NULL);
  fake_cluster_put(&clusters[i], "t", "", middle, 10 + i);
  fake_cluster_put(&clusters[i], "t", middle, "", 20 + i);
}

/* Is this what the connection's own cluster says? */
static bool is_right(int conn, const struct keyroute_location *location, char key)
{
  int cluster = conn % CLUSTERS;
  int64_t id = (key < 'b' + cluster ? 10 : 20) + cluster;

  return keyroute_location_region_id(location) == id &&
         keyroute_location_port(location, 0) == fake_server_port(clusters[cluster].server);
}

static void *use_them(void *arg)
{
  unsigned dice = 1u + (unsigned)(uintptr_t)arg;

  for (int i = 0; i < ROUNDS; i++) {
    dice = dice * 1664525u + 1013904223u;
    int conn = (int)(dice >> 8) % CONNECTIONS;
    char key[2] = {(char)('a' + (dice >> 16) % 8), '\0'};
    struct keyroute_location *location = NULL;
    int error = keyroute_locate(&location, conns[conn], "t", row(key), NULL, NULL);

    if (error != 0 || !is_right(conn, location, key[0])) {
      atomic_fetch_add(&wrong, 1);
    }
    keyroute_location_release(location);
    if (i % 100 == 99) {
      keyroute_clear_all(conns[conn]);
    }
  }
  return NULL;
}

START_TEST(test_connection__fifty_at_once_do_not_mix)
{
  pthread_t threads[THREADS];

  for (int i = 0; i < CLUSTERS; i++) {
    start_cluster(i);
  }
  for (int i = 0; i < CONNECTIONS; i++) {
    ck_assert_int_eq(keyroute_open(&conns[i], clusters[i % CLUSTERS].options, NULL), 0);
  }
  for (uintptr_t i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, use_them, (void *)i), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }

  ck_assert_uint_eq(atomic_load(&wrong), 0);
  for (int i = 0; i < CONNECTIONS; i++) {
    ck_assert_int_eq(keyroute_close(conns[i]), 0);
  }
  for (int i = 0; i < CLUSTERS; i++) {
    fake_cluster_stop(&clusters[i]);
  }
}
END_TEST

/* ---- Many one after another (scenario 110) --------------------------------------------------- */

/* What a process holds. */
struct held {
  int threads, descriptors;
  size_t bytes;
};

static int count_entries(const char *path)
{
  DIR *folder = opendir(path);
  int count = 0;

  ck_assert_ptr_nonnull(folder);
  while (readdir(folder) != NULL) {
    count++;
  }
  closedir(folder);
  return count;
}

static struct held measure(void)
{
  malloc_trim(0);
  return (struct held){count_entries("/proc/self/task"), count_entries("/proc/self/fd"),
                       mallinfo2().uordblks};
}

/* Threads and sockets of others (a server's side of a connection) may take a moment to go. */
static void expect_same(const struct held *before)
{
  struct held now = measure();

  for (int i = 0;
       i < 1000 && (now.threads > before->threads || now.descriptors > before->descriptors); i++) {
    pause_ms(10);
    now = measure();
  }
  ck_assert_int_eq(now.threads, before->threads);
  ck_assert_int_eq(now.descriptors, before->descriptors);
  /* A fourth of what 1 KiB a cycle would come to. The sanitizers' allocators say 0. */
  ck_assert_msg(now.bytes < before->bytes + 256 * 1024, "%zu bytes before, %zu after",
                before->bytes, now.bytes);
}

static struct fake_cluster cluster;

static void live_once(void)
{
  struct keyroute_connection *conn = NULL;

  ck_assert_int_eq(keyroute_open(&conn, cluster.options, NULL), 0);
  ck_assert_int_eq(locate(conn, "t", "a", 0, NULL), 0);
  ck_assert_int_eq(keyroute_close(conn), 0);
}

START_TEST(test_connection__s110_a_thousand_lives_leave_nothing_behind)
{
  fake_cluster_start(&cluster, NULL);
  fake_cluster_put(&cluster, "t", "", "", 1);
  for (int i = 0; i < 20; i++) {
    live_once();
  }
  ck_assert(fake_server_wait_closed(cluster.server, 0, 10000));
  struct held before = measure();

  for (int i = 0; i < 1000; i++) {
    live_once();
  }
  ck_assert(fake_server_wait_closed(cluster.server, 0, 10000));

  expect_same(&before);
  fake_cluster_stop(&cluster);
}
END_TEST

/* ---- The same with ZooKeeper's client -------------------------------------------------------- */

static struct zookeeper *zookeeper;
static struct keyroute_options *options;

/* False = no jars. */
static bool start_zookeeper(void)
{
  char ensemble[64];

  if (zookeeper_jars() == NULL) {
    return false;
  }
  zookeeper = zookeeper_start();
  zookeeper_create(zookeeper, "/hbase", "");
  zookeeper_create(zookeeper, "/hbase/meta-region-server", "nonsense");
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(zookeeper));
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, ensemble), 0);
  ck_assert_int_eq(keyroute_options_set_retries(options, 0), 0);
  return true;
}

static void stop_zookeeper(void)
{
  keyroute_options_free(options);
  zookeeper_stop(zookeeper);
}

/* The znode holds nonsense: whoever is told so has heard from ZooKeeper. */
static void live_once_with_zookeeper(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(keyroute_open(&conn, options, NULL), 0);
  int error = locate(conn, "hbase:meta", "", 0, &detail);
  ck_assert_msg(error == KEYROUTE_E_CORRUPT || error == KEYROUTE_E_BOOTSTRAP, "%s: %s",
                keyroute_errname(error), detail.message);
  ck_assert_uint_eq(kr_stats_read(conn->stats, KR_COUNT_SESSIONS), 1);
  ck_assert_int_eq(keyroute_close(conn), 0);
}

START_TEST(test_connection__s110_lives_with_zookeeper_leave_nothing_behind)
{
  int lives = getenv("KEYROUTE_LONG_TESTS") != NULL ? 1000 : 200;

  if (!start_zookeeper()) {
    return;
  }
  for (int i = 0; i < 20; i++) {
    live_once_with_zookeeper();
  }
  struct held before = measure();

  for (int i = 0; i < lives; i++) {
    live_once_with_zookeeper();
  }

  expect_same(&before);
  stop_zookeeper();
}
END_TEST

/* ---- Counting answers ------------------------------------------------------------------------ */

static atomic_uint answers, closed;

static void note(void *payload, int error, struct keyroute_location *location,
                 const struct keyroute_detail *detail)
{
  (void)payload, (void)location, (void)detail;
  atomic_fetch_add(&closed, error == KEYROUTE_E_CLOSED);
  atomic_fetch_add(&answers, 1);
}

static int start(struct keyroute_connection *conn, const char *table, unsigned flags)
{
  struct keyroute_call call = {sizeof(call), 0, flags, 0};

  return keyroute_locate_async(NULL, conn, table, row("a"), &call, note, NULL);
}

static void await_answers(unsigned count)
{
  for (int i = 0; i < 60000 && atomic_load(&answers) < count; i++) {
    pause_ms(1);
  }
  ck_assert_uint_eq(atomic_load(&answers), count);
}

START_TEST(test_connection__s077_closing_with_a_watch_and_waiters_ends_them_with_closed)
{
  struct keyroute_connection *conn = NULL;

  if (!start_zookeeper()) {
    return;
  }
  ck_assert_int_eq(keyroute_open(&conn, options, NULL), 0);
  ck_assert_int_ne(locate(conn, "hbase:meta", "", 0, NULL), 0); /* leaves its watch */
  zookeeper_pause(zookeeper);
  for (int i = 0; i < 50; i++) {
    ck_assert_int_eq(start(conn, i % 2 == 0 ? "t" : "hbase:meta", KEYROUTE_REFRESH), 0);
  }

  ck_assert_int_eq(keyroute_close(conn), 0);

  ck_assert_uint_eq(atomic_load(&answers), 50);
  ck_assert_uint_eq(atomic_load(&closed), 50);
  zookeeper_resume(zookeeper);
  stop_zookeeper();
}
END_TEST

/* ---- Idle (scenario 100) --------------------------------------------------------------------- */

/* Threads that were there before the connection: the test's, the server's, a sanitizer's. */
static int strangers[64];
static size_t stranger_count;

static bool is_stranger(int thread)
{
  for (size_t i = 0; i < stranger_count; i++) {
    if (strangers[i] == thread) {
      return true;
    }
  }
  return false;
}

static long sleeps_of(int thread)
{
  char path[64], line[200];
  long sleeps = 0;

  snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
  FILE *status = fopen(path, "r");
  while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
    sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
  }
  if (status != NULL) {
    fclose(status);
  }
  return sleeps;
}

/* How often the threads of the connection have gone to sleep by themselves; how many they are. With
 * `mark`, those that are there now are strangers instead. */
static long count_sleeps(int *threads, bool mark)
{
  DIR *folder = opendir("/proc/self/task");
  struct dirent *entry;
  long sum = 0;

  ck_assert_ptr_nonnull(folder);
  *threads = 0;
  while ((entry = readdir(folder)) != NULL) {
    int thread = atoi(entry->d_name);

    if (mark && stranger_count < sizeof(strangers) / sizeof(strangers[0])) {
      strangers[stranger_count++] = thread;
    } else if (thread > 0 && !is_stranger(thread)) {
      sum += sleeps_of(thread);
      (*threads)++;
    }
  }
  closedir(folder);
  return sum;
}

START_TEST(test_connection__s100_an_idle_one_does_not_wake_up)
{
  int threads;

  fake_cluster_start(&cluster, NULL);
  fake_cluster_put(&cluster, "t", "", "", 1);
  count_sleeps(&threads, true);
  fake_cluster_open(&cluster);
  ck_assert_int_eq(locate(cluster.conn, "t", "a", 0, NULL), 0);
  pause_ms(500);
  long before = count_sleeps(&threads, false);
  ck_assert_int_ge(threads, 2); /* the loop's and the resolver's */

  pause_ms(2000);

  ck_assert_int_le(count_sleeps(&threads, false) - before, 3);
  fake_cluster_stop(&cluster);
}
END_TEST

/* ---- How many calls may be under way --------------------------------------------------------- */

enum { BOUND = 100 };

/* A cluster whose server does not answer any more; table t is cached. */
static void open_bounded(const char *bound, bool drain)
{
  fake_cluster_start(&cluster, &failing_allocator);
  fake_cluster_put(&cluster, "t", "", "", 1);
  fake_cluster_put(&cluster, "u", "", "", 2);
  fake_cluster_set(&cluster, "keyroute.max.pending", bound);
  keyroute_options_set_drain(cluster.options, drain);
  fake_cluster_open(&cluster);
  ck_assert_int_eq(locate(cluster.conn, "t", "a", 0, NULL), 0);
  fake_server_set_silent(cluster.server, true);
}

static void stop_bounded(void)
{
  fake_server_set_silent(cluster.server, false);
  fake_cluster_stop(&cluster);
  ck_assert_int_eq(mem_live(), 0);
}

START_TEST(test_connection__misses_beyond_the_bound_are_overloaded_at_once)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  open_bounded("2", false);
  ck_assert_int_eq(start(cluster.conn, "u", 0), 0);
  ck_assert_int_eq(start(cluster.conn, "u", 0), 0);

  ck_assert_int_eq(start(cluster.conn, "u", 0), KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(start(cluster.conn, "t", KEYROUTE_REFRESH), KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(locate(cluster.conn, "u", "a", 0, &detail), KEYROUTE_E_OVERLOADED);

  ck_assert_int_eq(detail.error, KEYROUTE_E_OVERLOADED);
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute.max.pending, 2"));
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute.max.pending"));
  ck_assert_uint_eq(fake_cluster_stats(&cluster).refused, 3);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).pending, 2);
  fake_server_set_silent(cluster.server, false);
  await_answers(2);
  ck_assert_int_eq(locate(cluster.conn, "u", "a", KEYROUTE_REFRESH, NULL), 0);
  stop_bounded();
}
END_TEST

START_TEST(test_connection__hits_beyond_the_bound_are_answered)
{
  struct keyroute_call trace = {sizeof(trace), 0, KEYROUTE_TRACE, 0};

  open_bounded("1", false);
  ck_assert_int_eq(start(cluster.conn, "u", 0), 0);
  unsigned long long hits = fake_cluster_stats(&cluster).hits;

  ck_assert_int_eq(locate(cluster.conn, "t", "a", 0, NULL), 0);
  ck_assert_int_eq(start(cluster.conn, "t", 0), 0);
  ck_assert_int_eq(start(cluster.conn, "t", KEYROUTE_CACHE_ONLY), 0);
  ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "t", row("z"), &trace, note, NULL), 0);
  await_answers(3);

  ck_assert_uint_eq(fake_cluster_stats(&cluster).hits, hits + 4);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).refused, 0);
  stop_bounded();
  ck_assert_uint_eq(atomic_load(&answers), 4);
}
END_TEST

static atomic_uint taken;

static void *start_fifty(void *arg)
{
  (void)arg;
  for (int i = 0; i < 50; i++) {
    atomic_fetch_add(&taken, start(cluster.conn, "u", 0) == 0);
  }
  return NULL;
}

START_TEST(test_connection__racing_threads_do_not_exceed_the_bound)
{
  pthread_t threads[THREADS];

  open_bounded("100", false);
  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, start_fifty, NULL), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }

  ck_assert_uint_eq(atomic_load(&taken), BOUND);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).refused, THREADS * 50 - BOUND);
  stop_bounded();
  ck_assert_uint_eq(atomic_load(&answers), BOUND);
}
END_TEST

START_TEST(test_connection__callbacks_left_lying_count_until_they_run)
{
  open_bounded("3", true);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(start(cluster.conn, "t", 0), 0);
  }
  ck_assert_int_eq(start(cluster.conn, "u", 0), KEYROUTE_E_OVERLOADED);
  while (atomic_load(&answers) < 3) {
    ck_assert_int_ge(keyroute_drain(cluster.conn), 0);
  }

  ck_assert_int_eq(start(cluster.conn, "u", 0), 0);
  stop_bounded();
}
END_TEST

START_TEST(test_connection__no_bound_is_no_bound)
{
  open_bounded("0", false);

  for (int i = 0; i < 1000; i++) {
    ck_assert_int_eq(start(cluster.conn, "u", 0), 0);
  }

  stop_bounded();
  ck_assert_uint_eq(atomic_load(&answers), 1000);
}
END_TEST

static void add_tests(TCase *all)
{
  tcase_add_test(all, test_connection__fifty_at_once_do_not_mix);
  tcase_add_test(all, test_connection__s110_a_thousand_lives_leave_nothing_behind);
  tcase_add_test(all, test_connection__s110_lives_with_zookeeper_leave_nothing_behind);
  tcase_add_test(all, test_connection__s077_closing_with_a_watch_and_waiters_ends_them_with_closed);
  tcase_add_test(all, test_connection__s100_an_idle_one_does_not_wake_up);
  tcase_add_test(all, test_connection__misses_beyond_the_bound_are_overloaded_at_once);
  tcase_add_test(all, test_connection__hits_beyond_the_bound_are_answered);
  tcase_add_test(all, test_connection__racing_threads_do_not_exceed_the_bound);
  tcase_add_test(all, test_connection__callbacks_left_lying_count_until_they_run);
  tcase_add_test(all, test_connection__no_bound_is_no_bound);
}

int main(void)
{
  Suite *suite = suite_create("connection");
  TCase *all = tcase_create("connection");

  tcase_set_timeout(all, 600);
  add_tests(all);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
