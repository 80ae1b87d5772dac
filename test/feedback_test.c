/* The public calls that report: arguments, what each fault does, threads. */
#include "test/fake_cluster.h"

#include "lib/location.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define HBASE "org.apache.hadoop.hbase."

/* Longer than anything here takes on any machine. */
enum { PATIENCE_MS = 20000 };

static struct fake_cluster cluster;

static void setup(void)
{
  fake_cluster_start(&cluster, NULL);
  fake_cluster_put(&cluster, "t", "", "m", 1);
  fake_cluster_put(&cluster, "t", "m", "", 2);
  fake_cluster_open(&cluster);
}

static void teardown(void)
{
  fake_cluster_stop(&cluster);
}

static struct keyroute_location *locate(const char *row)
{
  struct keyroute_location *location = NULL;

  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", keyroute_string(row), NULL, NULL),
                   0);
  return location;
}

static bool is_cached(const char *row)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_location *location = NULL;

  call.flags = KEYROUTE_CACHE_ONLY;
  int error = keyroute_locate(&location, cluster.conn, "t", keyroute_string(row), &call, NULL);

  keyroute_location_release(location);
  return error == 0;
}

static int report(struct keyroute_location *location, enum keyroute_fault fault)
{
  return keyroute_report(cluster.conn, location, fault, NULL);
}

/* Wait until the loop has taken all reports: a lookup that misses is posted behind them. */
static void await_loop(void)
{
  struct keyroute_location *location = NULL;

  keyroute_locate(&location, cluster.conn, "absent", keyroute_string(""), NULL, NULL);
  keyroute_location_release(location);
}

/* ---- Faults --------------------------------------------------------------------------------- */

START_TEST(test_s030_every_fault_has_name_and_kind)
{
  int faults = 0;

#define CHECK_FAULT(name, kind, text)                                                              \
  ck_assert_str_eq(keyroute_fault_name(KEYROUTE_FAULT_##name), #name);                             \
  ck_assert_int_eq(keyroute_fault_kind(KEYROUTE_FAULT_##name), KEYROUTE_KIND_##kind);              \
  ck_assert_str_ne(text, "");                                                                      \
  faults++;
  KEYROUTE_FAULTS(CHECK_FAULT)
#undef CHECK_FAULT

  ck_assert_int_eq(faults, 8);
  ck_assert_str_eq(keyroute_fault_name((enum keyroute_fault)faults), "UNKNOWN");
  ck_assert_int_eq(keyroute_fault_kind((enum keyroute_fault) - 1), KEYROUTE_KIND_NONE);
}
END_TEST

START_TEST(test_s030_only_what_speaks_against_the_location_makes_it_go)
{
  enum keyroute_fault fault = (enum keyroute_fault)_i;
  bool keeps = keyroute_fault_kind(fault) == KEYROUTE_KIND_KEEP;
  struct keyroute_location *location = locate("a");

  ck_assert_int_eq(report(location, fault), 0);

  ck_assert_int_eq(is_cached("a"), keeps);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_s029_a_thousand_reports_of_load_forget_and_read_nothing)
{
  static const enum keyroute_fault faults[] = {KEYROUTE_FAULT_OVERLOADED, KEYROUTE_FAULT_OPENING,
                                               KEYROUTE_FAULT_REQUEST_FAILED};
  struct keyroute_location *location = locate("a");
  struct keyroute_stats before = fake_cluster_stats(&cluster);

  for (int i = 0; i < 1000; i++) {
    ck_assert_int_eq(report(location, faults[_i]), 0);
  }
  await_loop();
  struct keyroute_stats after = fake_cluster_stats(&cluster);
  struct keyroute_location *again = locate("a");

  ck_assert_ptr_eq(again, location);
  ck_assert_uint_eq(after.evictions, before.evictions);
  ck_assert_uint_eq(after.scans, before.scans + 2); /* await_loop's */
  ck_assert_uint_eq(after.reports, before.reports + 1000);
  keyroute_location_release(location);
  keyroute_location_release(again);
}
END_TEST

START_TEST(test_s041_second_report_of_a_handle_does_nothing)
{
  struct keyroute_location *location = locate("a");
  struct keyroute_stats before = fake_cluster_stats(&cluster);

  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(report(location, KEYROUTE_FAULT_NOT_SERVING), 0);
  }
  await_loop();

  ck_assert_uint_eq(fake_cluster_stats(&cluster).evictions, before.evictions + 1);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_feedback__hint_is_used_without_a_read)
{
  struct keyroute_fault_detail detail = KEYROUTE_FAULT_DETAIL_INIT;
  struct keyroute_location *location = locate("a");
  uint64_t scans = fake_cluster_stats(&cluster).scans;

  detail.host = "moved.example";
  detail.port = 16021;
  detail.start_code = 9;
  detail.seqnum = 100;
  ck_assert_int_eq(keyroute_report(cluster.conn, location, KEYROUTE_FAULT_MOVED, &detail), 0);
  struct keyroute_location *moved = locate("a");

  ck_assert_str_eq(keyroute_location_host(moved, 0), "moved.example");
  ck_assert_int_eq(keyroute_location_port(moved, 0), 16021);
  ck_assert_int_eq(keyroute_location_start_code(moved, 0), 9);
  ck_assert_int_eq(keyroute_location_seqnum(moved, 0), 100);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).scans, scans);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).hints_taken, 1);
  keyroute_location_release(location);
  keyroute_location_release(moved);
}
END_TEST

/* ---- Exceptions ----------------------------------------------------------------------------- */

static const struct {
  const char *class_name, *text;
  enum keyroute_fault fault;
} exceptions[] = {
    {HBASE "NotServingRegionException", "t,,1 is not online", KEYROUTE_FAULT_NOT_SERVING},
    {HBASE "exceptions.RegionMovedException",
     HBASE "exceptions.RegionMovedException: Region moved to: hostname=h port=16020 startCode=5. "
           "As of locationSeqNum=7.\n\tat org.apache...",
     KEYROUTE_FAULT_MOVED},
    {HBASE "exceptions.RegionMovedException", "no place", KEYROUTE_FAULT_MOVED},
    {HBASE "exceptions.RegionOpeningException", NULL, KEYROUTE_FAULT_OPENING},
    {HBASE "CallQueueTooBigException", "", KEYROUTE_FAULT_OVERLOADED},
    {HBASE "RegionTooBusyException", "", KEYROUTE_FAULT_OVERLOADED},
    {HBASE "quotas.RpcThrottlingException", "", KEYROUTE_FAULT_OVERLOADED},
    {HBASE "ipc.ServerNotRunningYetException", "", KEYROUTE_FAULT_NOT_RUNNING},
    {HBASE "regionserver.RegionServerStoppedException", "", KEYROUTE_FAULT_SERVER_DEAD},
    {HBASE "YouAreDeadException", "", KEYROUTE_FAULT_SERVER_DEAD},
    {HBASE "UnknownScannerException", "", KEYROUTE_FAULT_REQUEST_FAILED},
    {HBASE "security.AccessDeniedException", "", KEYROUTE_FAULT_REQUEST_FAILED},
    {HBASE "DoNotRetryIOException", "", KEYROUTE_FAULT_REQUEST_FAILED},
    {"com.example.Odd", "", KEYROUTE_FAULT_NOT_SERVING},
    {"", "", KEYROUTE_FAULT_NOT_SERVING},
};

START_TEST(test_s030_exception_is_taken_for_its_fault)
{
  struct keyroute_location *location = locate("a");
  enum keyroute_fault fault = (enum keyroute_fault)99;

  ck_assert_int_eq(keyroute_report_exception(&fault, cluster.conn, location,
                                             exceptions[_i].class_name, exceptions[_i].text, 0),
                   0);

  ck_assert_str_eq(keyroute_fault_name(fault), keyroute_fault_name(exceptions[_i].fault));
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_feedback__moved_exception_names_the_place)
{
  struct keyroute_location *location = locate("a");

  ck_assert_int_eq(keyroute_report_exception(NULL, cluster.conn, location, exceptions[1].class_name,
                                             exceptions[1].text, 0),
                   0);
  struct keyroute_location *moved = locate("a");

  ck_assert_str_eq(keyroute_location_host(moved, 0), "h");
  ck_assert_int_eq(keyroute_location_start_code(moved, 0), 5);
  ck_assert_int_eq(keyroute_location_seqnum(moved, 0), 7);
  keyroute_location_release(location);
  keyroute_location_release(moved);
}
END_TEST

/* ---- Arguments ------------------------------------------------------------------------------ */

START_TEST(test_feedback__what_cannot_be_is_refused_and_changes_nothing)
{
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;
  struct keyroute_connection *conn = cluster.conn;
  struct keyroute_location *location = locate("a");
  struct keyroute_fault_detail detail = KEYROUTE_FAULT_DETAIL_INIT;
  const enum keyroute_fault moved = KEYROUTE_FAULT_MOVED;
  char long_host[300];
  enum keyroute_fault out = (enum keyroute_fault)99;

  memset(long_host, 'h', sizeof(long_host) - 1);
  long_host[sizeof(long_host) - 1] = '\0';
  ck_assert_int_eq(keyroute_report(NULL, location, moved, NULL), invalid);
  ck_assert_int_eq(keyroute_report(conn, NULL, moved, NULL), invalid);
  ck_assert_int_eq(keyroute_report(conn, location, (enum keyroute_fault)8, NULL), invalid);
  ck_assert_int_eq(keyroute_report(conn, location, (enum keyroute_fault) - 1, NULL), invalid);
  detail.replica = 1;
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  detail.replica = KEYROUTE_REPLICA_ANY;
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  detail = (struct keyroute_fault_detail)KEYROUTE_FAULT_DETAIL_INIT;
  detail.size = 0;
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  detail.size = sizeof(detail);
  detail.host = "h";
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid); /* port 0 */
  detail.port = 65536;
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  detail.port = 1;
  detail.host = "";
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  detail.host = long_host;
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  detail.host = "h";
  detail.start_code = -1;
  ck_assert_int_eq(keyroute_report(conn, location, moved, &detail), invalid);
  ck_assert_int_eq(keyroute_report_exception(&out, NULL, location, "C", "", 0), invalid);
  ck_assert_int_eq(keyroute_report_exception(&out, conn, NULL, "C", "", 0), invalid);
  ck_assert_int_eq(keyroute_report_exception(&out, conn, location, NULL, "", 0), invalid);
  ck_assert_int_eq(keyroute_report_exception(&out, conn, location, "C", "", 1), invalid);

  ck_assert_int_eq(out, 99);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).reports, 0);
  ck_assert(is_cached("a"));
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_feedback__shorter_detail_of_an_older_program_is_understood)
{
  struct keyroute_fault_detail detail = KEYROUTE_FAULT_DETAIL_INIT;
  struct keyroute_location *location = locate("a");

  detail.size = offsetof(struct keyroute_fault_detail, host);
  detail.host = "not read";
  detail.port = -5;
  ck_assert_int_eq(keyroute_report(cluster.conn, location, KEYROUTE_FAULT_MOVED, &detail), 0);

  ck_assert(!is_cached("a"));
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_feedback__peeked_location_may_be_reported_in_its_section)
{
  struct keyroute_table *table = NULL;
  struct keyroute_location *location = locate("a");

  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, "t"), 0);
  keyroute_peek_begin();
  ck_assert_ptr_eq(keyroute_peek(table, keyroute_string("a")), location);
  ck_assert_int_eq(report(location, KEYROUTE_FAULT_NOT_SERVING), 0);
  ck_assert_ptr_null(keyroute_peek(table, keyroute_string("a")));
  keyroute_peek_end();

  keyroute_table_release(table);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_feedback__location_outlives_its_connection_and_is_then_told_to_another)
{
  struct fake_cluster other;
  struct keyroute_location *location;

  fake_cluster_start(&other, NULL);
  fake_cluster_put(&other, "t", "", "", 1);
  fake_cluster_open(&other);
  ck_assert_int_eq(keyroute_locate(&location, other.conn, "t", keyroute_string("a"), NULL, NULL),
                   0);
  keyroute_location_release(locate("a"));
  ck_assert_int_eq(report(location, KEYROUTE_FAULT_SERVER_DEAD), 0);
  fake_cluster_stop(&other);
  await_loop();

  ck_assert(is_cached("a"));
  keyroute_location_release(location);
}
END_TEST

/* ---- In a callback -------------------------------------------------------------------------- */

struct chain {
  atomic_int answers;
  struct keyroute_location *last;
  bool same; /* a reported one came again */
};

static void report_and_ask_again(void *payload, int error, struct keyroute_location *location,
                                 const struct keyroute_detail *detail)
{
  struct chain *chain = payload;

  (void)detail;
  ck_assert_int_eq(error, 0);
  chain->same = chain->same || location == chain->last;
  keyroute_location_release(chain->last);
  chain->last = keyroute_location_ref(location);
  ck_assert_int_eq(report(location, KEYROUTE_FAULT_NOT_SERVING), 0);
  if (atomic_load(&chain->answers) < 500) {
    ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string("a"), NULL,
                                           report_and_ask_again, chain),
                     0);
  }
  atomic_fetch_add(&chain->answers, 1);
}

START_TEST(test_feedback__callback_may_report_what_it_was_given)
{
  struct chain chain = {0};

  ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "t", keyroute_string("a"), NULL,
                                         report_and_ask_again, &chain),
                   0);
  for (int i = 0; i < PATIENCE_MS && atomic_load(&chain.answers) < 501; i++) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }

  ck_assert_int_eq(atomic_load(&chain.answers), 501);
  ck_assert(!chain.same);
  keyroute_location_release(chain.last);
}
END_TEST

/* ---- Without memory ------------------------------------------------------------------------- */

START_TEST(test_feedback__without_memory_it_says_so_and_the_handle_is_gone)
{
  struct fake_cluster own;
  struct keyroute_location *location = NULL;
  struct keyroute_call call = {sizeof(call), 0, KEYROUTE_CACHE_ONLY, 0};

  fake_cluster_start(&own, &failing_allocator);
  fake_cluster_put(&own, "t", "", "", 1);
  fake_cluster_open(&own);
  ck_assert_int_eq(keyroute_locate(&location, own.conn, "t", keyroute_string("a"), NULL, NULL), 0);
  mem_fail_from(1);
  int error = keyroute_report(own.conn, location, KEYROUTE_FAULT_NOT_SERVING, NULL);
  mem_fail(0);

  ck_assert_int_eq(error, KEYROUTE_E_NO_MEMORY);
  ck_assert(kr_location_retired(location));
  ck_assert_int_eq(keyroute_report(own.conn, location, KEYROUTE_FAULT_NOT_SERVING, NULL), 0);
  struct keyroute_location *none = NULL;
  ck_assert_int_eq(keyroute_locate(&none, own.conn, "t", keyroute_string("a"), &call, NULL),
                   KEYROUTE_E_NOT_CACHED);
  keyroute_location_release(location);
  fake_cluster_stop(&own);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* ---- Threads -------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 150 };

/* Handles in the order in which their reports returned; kept counted, so that no address comes
 * twice. */
static struct {
  pthread_mutex_t lock;
  size_t count; /* lock */
  struct keyroute_location *handles[THREADS * ROUNDS];
} reported = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t reported_count(void)
{
  pthread_mutex_lock(&reported.lock);
  size_t count = reported.count;

  pthread_mutex_unlock(&reported.lock);
  return count;
}

static void add_reported(struct keyroute_location *location)
{
  pthread_mutex_lock(&reported.lock);
  reported.handles[reported.count++] = location;
  pthread_mutex_unlock(&reported.lock);
}

static void hint(struct keyroute_location *location, int number)
{
  struct keyroute_fault_detail detail = KEYROUTE_FAULT_DETAIL_INIT;

  detail.host = "127.0.0.1";
  detail.port = 20000 + number;
  detail.start_code = 77;
  detail.seqnum = number;
  ck_assert_int_eq(keyroute_report(cluster.conn, location, KEYROUTE_FAULT_MOVED, &detail), 0);
}

static void *locate_and_report(void *arg)
{
  static const enum keyroute_fault faults[] = {
      KEYROUTE_FAULT_NOT_SERVING, KEYROUTE_FAULT_CONNECTION_FAILED, KEYROUTE_FAULT_NOT_RUNNING};
  int number = *(int *)arg;

  for (int i = 0; i < ROUNDS; i++) {
    size_t before = reported_count();
    struct keyroute_location *location = locate(i % 3 == 0 ? "a" : "r");

    for (size_t j = 0; j < before; j++) {
      ck_assert_ptr_ne(reported.handles[j], location);
    }
    if (i % 5 == 0) {
      hint(location, i * THREADS + number);
    } else {
      ck_assert_int_eq(report(location, faults[i % 3]), 0);
    }
    ck_assert(kr_location_retired(location));
    add_reported(location);
  }
  return NULL;
}

START_TEST(test_feedback__nobody_is_given_a_handle_after_its_report)
{
  pthread_t threads[THREADS];
  int numbers[THREADS];

  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, locate_and_report, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }

  ck_assert_uint_eq(reported.count, THREADS * ROUNDS);
  ck_assert_uint_eq(fake_cluster_stats(&cluster).reports, THREADS * ROUNDS);
  for (size_t i = 0; i < reported.count; i++) {
    keyroute_location_release(reported.handles[i]);
  }
}
END_TEST

START_TEST(test_feedback__reports_under_way_do_not_hold_up_closing)
{
  for (int i = 0; i < 50; i++) {
    struct keyroute_location *left = locate("a");
    struct keyroute_location *right = locate("r");

    report(left, KEYROUTE_FAULT_SERVER_DEAD);
    hint(right, 1);
    ck_assert_int_eq(keyroute_close(cluster.conn), 0);
    keyroute_location_release(left);
    keyroute_location_release(right);
    fake_cluster_open(&cluster);
  }
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

int main(void)
{
  Suite *suite = suite_create("feedback");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s030_every_fault_has_name_and_kind);
  tcase_add_loop_test(tests, test_s030_only_what_speaks_against_the_location_makes_it_go, 0, 8);
  tcase_add_loop_test(tests, test_s029_a_thousand_reports_of_load_forget_and_read_nothing, 0, 3);
  tcase_add_test(tests, test_s041_second_report_of_a_handle_does_nothing);
  tcase_add_test(tests, test_feedback__hint_is_used_without_a_read);
  tcase_add_loop_test(tests, test_s030_exception_is_taken_for_its_fault, 0,
                      (int)(sizeof(exceptions) / sizeof(exceptions[0])));
  tcase_add_test(tests, test_feedback__moved_exception_names_the_place);
  tcase_add_test(tests, test_feedback__what_cannot_be_is_refused_and_changes_nothing);
  tcase_add_test(tests, test_feedback__shorter_detail_of_an_older_program_is_understood);
  tcase_add_test(tests, test_feedback__peeked_location_may_be_reported_in_its_section);
  tcase_add_test(tests,
                 test_feedback__location_outlives_its_connection_and_is_then_told_to_another);
  tcase_add_test(tests, test_feedback__callback_may_report_what_it_was_given);
  tcase_add_test(tests, test_feedback__without_memory_it_says_so_and_the_handle_is_gone);
  tcase_add_test(tests, test_feedback__nobody_is_given_a_handle_after_its_report);
  tcase_add_test(tests, test_feedback__reports_under_way_do_not_hold_up_closing);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
