/*
 * Rows that the Java client wrote are read back while the cluster is anything but quiet: a churn
 * splits, merges and moves the table's regions, and one server is killed with SIGKILL. Some threads
 * read single rows, others many at once. What they get is compared byte for byte: nothing may be
 * wrong, no row may seem to be gone, nearly all reads succeed, and those that do not fail for a
 * reason that can be told, by their deadline. Afterwards every row is there.
 *
 * KEYROUTE_CHURN_SECONDS says for how long: 60 unless set. KEYROUTE_CHURN_SEED chooses the changes.
 */
#include "test/integration/real.h"
#include "test/integration/rows.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  ROWS = 10000,
  SINGLE_THREADS = 4,
  BATCH_THREADS = 2,
  THREADS = SINGLE_THREADS + BATCH_THREADS,
  BATCH = 300,
  DEADLINE_MS = 30000,
  SLACK_MS = 10000,
  MESSAGES_MAX = 20
};

struct counts {
  uint64_t calls, rows; /* asked for */
  uint64_t failed;      /* rows */
  uint64_t wrong, lost; /* rows with other cells; without any */
  uint64_t unexpected;  /* rows that failed for a reason that is none here */
  int64_t worst_ms;     /* the slowest call */
};

struct reader {
  pthread_t thread;
  size_t batch;
  unsigned seed;
  struct counts counts;
};

static struct keyroute_connection *conn;
static struct rows rows;
static atomic_bool stop;
static atomic_uint messages;

static unsigned number_of(const char *name, unsigned otherwise)
{
  const char *text = getenv(name);

  return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void complain(const char *what, const char *text)
{
  if (atomic_fetch_add(&messages, 1) < MESSAGES_MAX) {
    fprintf(stderr, "%s: %s\n", what, text);
  }
}

/* What a region may fail with while it is on its way, or its server dead. */
static bool is_expected(int error)
{
  static const int expected[] = {
      KEYROUTE_E_HOLE,        KEYROUTE_E_OFFLINE, KEYROUTE_E_NO_SERVER,  KEYROUTE_E_DEAD_SERVER,
      KEYROUTE_E_UNREACHABLE, KEYROUTE_E_TIMEOUT, KEYROUTE_E_OVERLOADED, KEYROUTE_E_REMOTE};

  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
    if (error == expected[i]) {
      return true;
    }
  }
  return false;
}

static void judge_failure(struct counts *counts, int error, const char *message, uint64_t count)
{
  counts->failed += count;
  counts->unexpected += is_expected(error) ? 0 : count;
  complain(keyroute_errname(error), message);
}

static void judge(struct counts *counts, const struct row *row,
                  const struct keyroute_result *result, size_t index)
{
  int error = keyroute_result_error(result, index);
  char text[ROWS_DIFFERENCE_MAX];
  size_t count;

  if (error != 0) {
    judge_failure(counts, error, keyroute_result_message(result, index), 1);
  } else if (!rows_same(text, row, result, index)) {
    keyroute_result_cells(result, index, &count);
    *(count == 0 ? &counts->lost : &counts->wrong) += 1;
    complain(count == 0 ? "lost" : "wrong", text);
  }
}

/* Read the rows of the given numbers in one call: one row by keyroute_get. */
static void read_rows(struct counts *counts, const size_t *numbers, size_t count)
{
  static _Thread_local struct keyroute_key keys[ROWS];
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result = NULL;
  int64_t began_ms = now_ms();
  int error;

  call.deadline_ms = DEADLINE_MS;
  if (count == 1) {
    error = keyroute_get(&result, conn, "t", rows.each[numbers[0]].key, NULL, &call, &detail);
  } else {
    for (size_t i = 0; i < count; i++) {
      keys[i] = (struct keyroute_key){"t", rows.each[numbers[i]].key};
    }
    error = keyroute_get_many(&result, conn, keys, count, NULL, &call, &detail);
  }
  int64_t took_ms = now_ms() - began_ms;

  counts->calls++;
  counts->rows += count;
  counts->worst_ms = took_ms > counts->worst_ms ? took_ms : counts->worst_ms;
  if (error != 0) {
    judge_failure(counts, error, detail.message, count);
  }
  for (size_t i = 0; error == 0 && i < count; i++) {
    judge(counts, &rows.each[numbers[i]], result, i);
  }
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
}

static void *run(void *arg)
{
  struct reader *reader = arg;
  size_t numbers[BATCH];

  while (!atomic_load(&stop)) {
    for (size_t i = 0; i < reader->batch; i++) {
      numbers[i] = (size_t)rand_r(&reader->seed) % rows.count;
    }
    read_rows(&reader->counts, numbers, reader->batch);
  }
  return NULL;
}

static void start(struct reader *readers)
{
  for (unsigned i = 0; i < THREADS; i++) {
    readers[i] = (struct reader){.batch = i < SINGLE_THREADS ? 1 : BATCH, .seed = i + 1};
    ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, run, &readers[i]), 0);
  }
}

static void add(struct counts *sum, const struct counts *counts)
{
  sum->calls += counts->calls;
  sum->rows += counts->rows;
  sum->failed += counts->failed;
  sum->wrong += counts->wrong;
  sum->lost += counts->lost;
  sum->unexpected += counts->unexpected;
  sum->worst_ms = counts->worst_ms > sum->worst_ms ? counts->worst_ms : sum->worst_ms;
}

static void assert_counts(const char *what, const struct counts *counts)
{
  printf("%s: %" PRIu64 " calls, %" PRIu64 " rows, %" PRIu64 " failed, %" PRIu64 " wrong, %" PRIu64
         " lost, slowest %" PRId64 " ms\n",
         what, counts->calls, counts->rows, counts->failed, counts->wrong, counts->lost,
         counts->worst_ms);
  ck_assert_uint_eq(counts->wrong, 0);
  ck_assert_uint_eq(counts->lost, 0);
  ck_assert_uint_eq(counts->unexpected, 0);
  ck_assert_uint_le(counts->failed * 100, counts->rows);
  ck_assert_int_le(counts->worst_ms, DEADLINE_MS + SLACK_MS);
}

static void stop_and_judge(struct reader *readers)
{
  struct counts single = {0}, batch = {0};

  atomic_store(&stop, true);
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_join(readers[i].thread, NULL);
    add(i < SINGLE_THREADS ? &single : &batch, &readers[i].counts);
  }
  assert_counts("one at a time", &single);
  assert_counts("many at once", &batch);
  ck_assert_uint_gt(single.calls, 100);
  ck_assert_uint_gt(batch.calls, 10);
}

/* Every row, all in one call and each in one of its own: none may fail when all is quiet. */
static void read_all(const char *what)
{
  static size_t numbers[ROWS];
  struct counts counts = {0};

  for (size_t i = 0; i < rows.count; i++) {
    numbers[i] = i;
  }
  read_rows(&counts, numbers, rows.count);
  for (size_t i = 0; i < rows.count; i++) {
    read_rows(&counts, &numbers[i], 1);
  }
  assert_counts(what, &counts);
  ck_assert_uint_eq(counts.failed, 0);
}

static void fill(void)
{
  char path[] = "/tmp/keyroute-rows-XXXXXX";
  int fd = mkstemp(path);

  ck_assert_int_ge(fd, 0);
  close(fd);
  real_command("create t families=f,g d h l p t");
  real_command("fill t %d 1 %s", ROWS, path);
  rows_read(&rows, path);
  unlink(path);
  ck_assert_uint_eq(rows.count, ROWS);
}

static void print_stats(void)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  printf("%" PRIu64 " requests, %" PRIu64 " failed; %" PRIu64 " rows read, %" PRIu64
         " sent again; %" PRIu64 " catalog scans, %" PRIu64 " places named by servers\n",
         stats.requests, stats.requests_failed, stats.rows_read, stats.rows_retried, stats.scans,
         stats.hints_taken);
}

START_TEST(test_reads__rows_survive_churn_and_a_killed_server)
{
  static struct reader readers[THREADS];
  unsigned seconds = number_of("KEYROUTE_CHURN_SECONDS", 60);

  fill();
  conn = real_open(NULL);
  read_all("at first");
  real_command("churn %u %u keep t", seconds, number_of("KEYROUTE_CHURN_SEED", 1));
  start(readers);
  sleep(seconds / 3);
  real_kill_another();
  sleep(seconds * 2 / 3);
  real_command("churn-stop");
  printf("%s\n", cluster_answer(real_cluster));
  stop_and_judge(readers);
  print_stats();

  real_command("wait-quiet");
  read_all("at last");
  keyroute_close(conn);
  rows_clear(&rows);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase reads");
  TCase *cases = tcase_create("reads");

  tcase_set_timeout(cases, 0);
  tcase_add_test(cases, test_reads__rows_survive_churn_and_a_killed_server);
  suite_add_tcase(suite, cases);
  return real_run(suite, true, number_of("KEYROUTE_CHURN_SECONDS", 60) + 360);
}
