/*
 * What an answer costs: requests, scanners, allocations, locks, looks at the clock and at names.
 *
 * Requests are counted by the scripted server. The rest is counted in the calling thread by
 * standing in front of the C library's functions, which a sanitizer does too: in such a build only
 * the connection's own allocator is looked at.
 */
#include "test/fake_cluster.h"

#include "test/run_suite.h"

#include <check.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLERS = 64 };

/* ---- Counting in front of the C library ----------------------------------------------------- */

static _Thread_local unsigned allocations, locks, clocks;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
  allocations++;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  allocations++;
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
  allocations++;
  return __libc_realloc(old, size);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
  clocks++;
  return (int)syscall(SYS_clock_gettime, clock, time);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
  static int (*next)(pthread_mutex_t * mutex);

  if (next == NULL) {
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_lock");
  }
  locks++;
  return next(mutex);
}
#endif

/* Names asked for that no name server knows, counted over all threads. */
static atomic_uint unknown_names;

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **found)
{
  int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

  if (strstr(host, ".invalid") != NULL) {
    atomic_fetch_add(&unknown_names, 1);
    return EAI_NONAME;
  }
  *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
  return next(host, port, hints, found);
}

/* The connection's allocator, counted over all threads. */
static atomic_uint own_allocations;

static void *count_allocate(void *user, size_t size)
{
  (void)user;
  atomic_fetch_add(&own_allocations, 1);
  return malloc(size);
}

static void *count_reallocate(void *user, void *old, size_t size)
{
  (void)user;
  atomic_fetch_add(&own_allocations, 1);
  return realloc(old, size);
}

static void count_release(void *user, void *old)
{
  (void)user;
  free(old);
}

/* What this thread has spent since the last call; the own allocations are everybody's. */
struct spent {
  unsigned allocations, own_allocations, locks, clocks;
};

static struct spent spend(void)
{
  struct spent spent = {allocations, atomic_exchange(&own_allocations, 0), locks, clocks};

  allocations = locks = clocks = 0;
  return spent;
}

/* ---- A cluster ------------------------------------------------------------------------------ */

static struct fake_cluster cluster;

static void setup(void)
{
  static const struct keyroute_allocator allocator = {NULL, count_allocate, count_reallocate,
                                                      count_release};

  fake_cluster_start(&cluster, &allocator);
  /* The sweeper's timers are memory, which a hit must not seem to take. */
  fake_cluster_set(&cluster, "keyroute.cache.sweep.ms", "3600000");
  fake_cluster_put(&cluster, "t", "", "m", 1);
  fake_cluster_put(&cluster, "t", "m", "", 2);
  fake_cluster_open(&cluster);
}

static void teardown(void)
{
  fake_cluster_stop(&cluster);
}

static int64_t locate_id(const char *table, const char *row, struct keyroute_detail *detail)
{
  struct keyroute_location *location = NULL;
  int64_t id = -1;

  if (keyroute_locate(&location, cluster.conn, table, keyroute_string(row), NULL, detail) == 0) {
    id = keyroute_location_region_id(location);
  }
  keyroute_location_release(location);
  return id;
}

static void let_go(void *payload, int error, struct keyroute_location *location,
                   const struct keyroute_detail *detail)
{
  (void)error;
  (void)location;
  (void)detail;
  sem_post(payload);
}

/* Wait until the loop has ended what it did when it answered the last call (it starts the idle
 * timer of a connection behind the answer, for one). */
static void settle(void)
{
  sem_t passed;

  sem_init(&passed, 0, 0);
  ck_assert_int_eq(
      keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string("a"), NULL, let_go, &passed),
      0);
  while (sem_wait(&passed) != 0) {
  }
  sem_destroy(&passed);
}

/* ---- Requests ------------------------------------------------------------------------------- */

START_TEST(test_cost__a_miss_is_one_request_and_leaves_no_scanner)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(locate_id("t", "a", &detail), 1);

  struct fake_counts counts = fake_server_counts(cluster.server);
  ck_assert_uint_eq(counts.scans, 1);
  ck_assert_uint_eq(counts.rpcs, 1);
  ck_assert_uint_eq(counts.scanners, 0);
  ck_assert_uint_eq(detail.rpcs, 1);
  ck_assert_uint_eq(detail.attempts, 1);
}
END_TEST

START_TEST(test_cost__a_split_parent_met_first_costs_no_further_request)
{
  struct fake_region parent = {.table = "s",
                               .start = keyroute_string(""),
                               .end = {"", 0},
                               .id = 9,
                               .host = "h",
                               .port = 1,
                               .split = true,
                               .offline = true};

  fake_server_put_region(cluster.server, &parent);
  fake_cluster_put(&cluster, "s", "", "", 8);

  ck_assert_int_eq(locate_id("s", "a", NULL), 8);

  struct fake_counts counts = fake_server_counts(cluster.server);
  ck_assert_uint_eq(counts.rpcs, 1);
  ck_assert_uint_eq(counts.scanners, 0);
}
END_TEST

START_TEST(test_cost__an_absent_table_is_two_requests)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(locate_id("absent", "a", &detail), -1);

  struct fake_counts counts = fake_server_counts(cluster.server);
  ck_assert_int_eq(detail.error, KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_uint_eq(counts.rpcs, 2);
  ck_assert_uint_eq(counts.scanners, 0);
  ck_assert_uint_eq(detail.rpcs, 2);
}
END_TEST

START_TEST(test_cost__neighbours_come_along)
{
  locate_id("t", "z", NULL);

  ck_assert_int_eq(locate_id("t", "a", NULL), 1);

  ck_assert_uint_eq(fake_server_counts(cluster.server).rpcs, 1);
}
END_TEST

/* ---- Hits ----------------------------------------------------------------------------------- */

static void assert_free(struct spent spent)
{
  ck_assert_uint_eq(spent.allocations, 0);
  ck_assert_uint_eq(spent.own_allocations, 0);
  ck_assert_uint_eq(spent.locks, 0);
  ck_assert_uint_eq(spent.clocks, 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
START_TEST(test_cost__what_a_miss_takes_is_seen)
{
  spend();

  locate_id("t", "a", NULL);

  struct spent spent = spend();
  ck_assert_uint_gt(spent.allocations, 0);
  ck_assert_uint_gt(spent.locks, 0);
  ck_assert_uint_gt(spent.clocks, 0);
}
END_TEST
#endif

START_TEST(test_cost__a_hit_takes_no_request_memory_lock_or_time)
{
  locate_id("t", "a", NULL);
  struct spent missed = spend();
  locate_id("t", "a", NULL); /* registers the thread */
  settle();
  spend();

  int64_t id = 0;
  for (int i = 0; i < 100; i++) {
    id += locate_id("t", "b", NULL);
  }
  struct spent spent = spend();

  ck_assert_int_eq(id, 100);
  ck_assert_uint_gt(missed.own_allocations, 0);
  assert_free(spent);
  ck_assert_uint_eq(fake_server_counts(cluster.server).rpcs, 1);
}
END_TEST

START_TEST(test_cost__a_hit_through_a_handle_is_free_too)
{
  struct keyroute_table *table;
  struct keyroute_location *location = NULL;

  locate_id("t", "a", NULL);
  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, "t"), 0);
  locate_id("t", "a", NULL);
  settle();
  spend();

  int error = keyroute_table_locate(&location, table, keyroute_string("b"), NULL, NULL);
  keyroute_location_release(location);
  struct spent spent = spend();

  ck_assert_int_eq(error, 0);
  assert_free(spent);
  keyroute_table_release(table);
}
END_TEST

START_TEST(test_cost__a_hit_with_after_and_before_is_free_too)
{
  struct keyroute_location *location = NULL;
  struct keyroute_call after = {sizeof(after), 0, KEYROUTE_AFTER, 0};
  struct keyroute_call before = {sizeof(before), 0, KEYROUTE_BEFORE, 0};

  locate_id("t", "a", NULL);
  locate_id("t", "a", NULL);
  settle();
  spend();

  int error = keyroute_locate(&location, cluster.conn, "t", keyroute_string("b"), &after, NULL);
  keyroute_location_release(location);
  error += keyroute_locate(&location, cluster.conn, "t", keyroute_string("b"), &before, NULL);
  keyroute_location_release(location);
  struct spent spent = spend();

  ck_assert_int_eq(error, 0);
  assert_free(spent);
}
END_TEST

START_TEST(test_cost__peeking_is_free)
{
  struct keyroute_table *table;
  struct keyroute_bytes rows[] = {{"a", 1}, {"b", 1}, {"", 0}};
  const struct keyroute_location *found[3];

  locate_id("t", "a", NULL);
  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, "t"), 0);
  keyroute_peek_begin(); /* registers the thread */
  keyroute_peek_end();
  settle();
  spend();

  keyroute_peek_begin();
  const struct keyroute_location *one = keyroute_peek(table, rows[0]);
  size_t count = keyroute_peek_many(found, table, rows, 3);
  keyroute_peek_end();
  struct spent spent = spend();

  ck_assert_ptr_nonnull(one);
  ck_assert_uint_eq(count, 3);
  assert_free(spent);
  keyroute_table_release(table);
}
END_TEST

/* ---- Crowds --------------------------------------------------------------------------------- */

struct caller {
  pthread_t thread;
  char row[2];
  int64_t id;
};

static void *call(void *arg)
{
  struct caller *caller = arg;

  caller->id = locate_id("t", caller->row, NULL);
  return NULL;
}

START_TEST(test_cost__s105_no_name_of_an_answer_is_resolved)
{
  const struct fake_region region = {
      .table = "inside", .id = 3, .host = "rs7.cluster.invalid", .port = 16020, .start_code = 9};
  struct keyroute_location *location = NULL;

  fake_server_put_region(cluster.server, &region);
  int64_t missed = locate_id("inside", "a", NULL);
  int64_t hit = locate_id("inside", "b", NULL);
  int error = keyroute_locate(&location, cluster.conn, "inside", keyroute_string("c"), NULL, NULL);

  ck_assert_int_eq(missed, 3);
  ck_assert_int_eq(hit, 3);
  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(keyroute_location_host(location, 0), "rs7.cluster.invalid");
  ck_assert_uint_eq(atomic_load(&unknown_names), 0);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_cost__a_crowd_of_threads_on_one_region_makes_one_request)
{
  struct caller callers[CALLERS];

  fake_server_fault(cluster.server, &(struct fake_fault){.what = FAKE_ANSWER, .delay_ms = 100});

  for (int i = 0; i < CALLERS; i++) {
    callers[i].row[0] = (char)('n' + i);
    callers[i].row[1] = '\0';
    ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    pthread_join(callers[i].thread, NULL);
    ck_assert_int_eq(callers[i].id, 2);
  }

  ck_assert_uint_eq(fake_server_counts(cluster.server).rpcs, 1);
}
END_TEST

struct crowd {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned answers, right; /* lock */
};

static void note_answer(void *payload, int error, struct keyroute_location *location,
                        const struct keyroute_detail *detail)
{
  struct crowd *crowd = payload;

  (void)detail;
  pthread_mutex_lock(&crowd->lock);
  crowd->answers++;
  crowd->right += error == 0 && keyroute_location_region_id(location) == 2;
  pthread_cond_signal(&crowd->changed);
  pthread_mutex_unlock(&crowd->lock);
}

static void await(struct crowd *crowd, unsigned answers)
{
  pthread_mutex_lock(&crowd->lock);
  while (crowd->answers < answers) {
    pthread_cond_wait(&crowd->changed, &crowd->lock);
  }
  pthread_mutex_unlock(&crowd->lock);
}

START_TEST(test_cost__a_crowd_of_calls_on_one_region_makes_one_request)
{
  struct crowd crowd = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

  fake_server_fault(cluster.server, &(struct fake_fault){.what = FAKE_ANSWER, .delay_ms = 100});

  for (int i = 0; i < CALLERS; i++) {
    char row[] = {(char)('n' + i), '\0'};

    ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string(row), NULL,
                                           note_answer, &crowd),
                     0);
  }
  await(&crowd, CALLERS);

  ck_assert_uint_eq(crowd.right, CALLERS);
  ck_assert_uint_eq(fake_server_counts(cluster.server).rpcs, 1);
  ck_assert_uint_eq(fake_server_counts(cluster.server).scanners, 0);
}
END_TEST

START_TEST(test_cost__a_crowd_on_an_absent_table_makes_two_requests)
{
  struct crowd crowd = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

  fake_server_fault(cluster.server, &(struct fake_fault){.what = FAKE_ANSWER, .delay_ms = 100});

  for (int i = 0; i < CALLERS; i++) {
    char row[] = {(char)('A' + i), '\0'};

    ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "absent", keyroute_string(row), NULL,
                                           note_answer, &crowd),
                     0);
  }
  await(&crowd, CALLERS);

  ck_assert_uint_eq(fake_server_counts(cluster.server).rpcs, 2);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cost");
  TCase *all = tcase_create("cost");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_cost__a_miss_is_one_request_and_leaves_no_scanner);
  tcase_add_test(all, test_cost__a_split_parent_met_first_costs_no_further_request);
  tcase_add_test(all, test_cost__an_absent_table_is_two_requests);
  tcase_add_test(all, test_cost__neighbours_come_along);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  tcase_add_test(all, test_cost__what_a_miss_takes_is_seen);
#endif
  tcase_add_test(all, test_cost__a_hit_takes_no_request_memory_lock_or_time);
  tcase_add_test(all, test_cost__a_hit_through_a_handle_is_free_too);
  tcase_add_test(all, test_cost__a_hit_with_after_and_before_is_free_too);
  tcase_add_test(all, test_cost__peeking_is_free);
  tcase_add_test(all, test_cost__s105_no_name_of_an_answer_is_resolved);
  tcase_add_test(all, test_cost__a_crowd_of_threads_on_one_region_makes_one_request);
  tcase_add_test(all, test_cost__a_crowd_of_calls_on_one_region_makes_one_request);
  tcase_add_test(all, test_cost__a_crowd_on_an_absent_table_makes_two_requests);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
