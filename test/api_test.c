/* The public interface: what it refuses, and what it promises about calls, callbacks and
 * lifetimes. */
#include "test/fake_cluster.h"

#include "test/run_suite.h"

#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Callbacks that start calls, scenario 87. */
enum { DEPTH = 10000 };

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

static struct keyroute_bytes row(const char *text)
{
  return keyroute_string(text);
}

static void warm(void)
{
  struct keyroute_location *location = NULL;

  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, NULL), 0);
  keyroute_location_release(location);
}

/* ---- Errors and bytes ----------------------------------------------------------------------- */

#define COUNT_ERROR(name, number, text, kind, retried) +1
enum { ERRORS = 0 KEYROUTE_ERRORS(COUNT_ERROR) };

START_TEST(test_api__every_error_has_name_text_and_kind)
{
  for (int i = 1; i <= ERRORS; i++) {
    ck_assert_str_ne(keyroute_errname(-i), "UNKNOWN");
    ck_assert_str_ne(keyroute_strerror(-i), "unknown error");
    ck_assert_int_ne(keyroute_error_kind(-i), KEYROUTE_KIND_NONE);
  }

  ck_assert_str_eq(keyroute_errname(0), "OK");
  ck_assert_str_eq(keyroute_errname(-1000), "UNKNOWN");
  ck_assert_str_eq(keyroute_strerror(1), "unknown error");
  ck_assert(!keyroute_is_retriable(0));
  ck_assert(keyroute_is_retriable(KEYROUTE_E_HOLE));
  ck_assert(!keyroute_is_retriable(KEYROUTE_E_TABLE_NOT_FOUND));
}
END_TEST

START_TEST(test_api__escapes_parse_back)
{
  char bytes[256], text[1025], back[1025];
  size_t len = 0;

  for (int i = 0; i < 256; i++) {
    bytes[i] = (char)i;
  }

  size_t needed = keyroute_escape(text, sizeof(text), (struct keyroute_bytes){bytes, 256});

  ck_assert_uint_eq(needed, strlen(text));
  ck_assert_uint_eq(keyroute_escape(NULL, 0, (struct keyroute_bytes){bytes, 256}), needed);
  ck_assert_int_eq(keyroute_unescape(back, &len, text), 0);
  ck_assert_uint_eq(len, 256);
  ck_assert_mem_eq(back, bytes, 256);
  ck_assert_int_eq(keyroute_unescape(back, &len, "\\x0"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_unescape(back, &len, "\\n"), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_api__a_text_cut_to_fit_still_ends)
{
  char text[4] = "zzz";

  size_t needed = keyroute_escape(text, 3, row("abcdef"));

  ck_assert_uint_eq(needed, 6);
  ck_assert_str_eq(text, "ab");
}
END_TEST

/* ---- Arguments ------------------------------------------------------------------------------ */

START_TEST(test_api__null_is_refused_or_harmless)
{
  struct keyroute_location *location = (struct keyroute_location *)&cluster;
  struct keyroute_table *table = NULL;
  struct keyroute_stats stats = {.size = sizeof(stats)};
  struct keyroute_bytes no_data = {NULL, 3};
  struct keyroute_connection *conn = cluster.conn;
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  ck_assert_int_eq(keyroute_open(NULL, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_options_new(NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_locate(NULL, conn, "t", row("a"), NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_locate(&location, NULL, "t", row("a"), NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_locate(&location, conn, NULL, row("a"), NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_locate(&location, conn, "t", no_data, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_locate_async(NULL, conn, "t", row("a"), NULL, NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_table_get(NULL, conn, "t"), invalid);
  ck_assert_int_eq(keyroute_table_get(&table, NULL, "t"), invalid);
  ck_assert_int_eq(keyroute_table_get(&table, conn, NULL), invalid);
  ck_assert_int_eq(keyroute_table_locate(&location, NULL, row("a"), NULL, NULL), invalid);
  ck_assert_int_eq(keyroute_stats(NULL, &stats), invalid);
  ck_assert_int_eq(keyroute_stats(conn, NULL), invalid);
  ck_assert_int_eq(keyroute_clear_all(NULL), invalid);
  ck_assert_int_eq(keyroute_clear_table(NULL, "t"), invalid);
  ck_assert_int_eq(keyroute_clear_table(conn, NULL), invalid);
  ck_assert_int_eq(keyroute_clear_server(NULL, "h", 1, 0), invalid);
  ck_assert_int_eq(keyroute_clear_server(conn, NULL, 1, 0), invalid);
  ck_assert_int_eq(keyroute_clear_server(conn, "h", 0, 0), invalid);
  ck_assert_int_eq(keyroute_clear_server(conn, "h", 65536, 0), invalid);
  ck_assert_int_eq(keyroute_report(NULL, location, KEYROUTE_FAULT_MOVED, NULL), invalid);
  ck_assert_int_eq(keyroute_report(conn, NULL, KEYROUTE_FAULT_MOVED, NULL), invalid);
  ck_assert_int_eq(keyroute_report_exception(NULL, conn, NULL, "E", NULL, 0), invalid);
  ck_assert_int_eq(keyroute_close(NULL), 0);
  keyroute_cancel(NULL, 1);
  keyroute_cancel(conn, 12345);
  keyroute_options_free(NULL);
  keyroute_location_release(NULL);
  keyroute_table_release(NULL);
  keyroute_detail_clear(NULL);
  ck_assert_ptr_null(keyroute_peek(NULL, row("a")));
  ck_assert_uint_eq(keyroute_trace_count(NULL), 0);

  ck_assert_ptr_eq(location, (struct keyroute_location *)&cluster);
  ck_assert_ptr_null(table);
  ck_assert_uint_eq(fake_server_counts(cluster.server).rpcs, 0);
}
END_TEST

START_TEST(test_api__an_empty_row_may_have_no_data)
{
  struct keyroute_location *location = NULL;
  struct keyroute_bytes empty = {NULL, 0};

  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", empty, NULL, NULL), 0);

  ck_assert_int_eq(keyroute_location_region_id(location), 1);
  keyroute_location_release(location);
}
END_TEST

static const struct {
  struct keyroute_call call;
  const char *reason;
} bad_calls[] = {
    {{0, 0, 0, 0}, "size"},
    {{sizeof(struct keyroute_call), -1, 0, 0}, "deadline is -1,"},
    {{sizeof(struct keyroute_call), 86400001, 0, 0}, "deadline"},
    {{sizeof(struct keyroute_call), 0, 0x80000001u, 0}, "flags 0x80000000"},
    {{sizeof(struct keyroute_call), 0, KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY, 0}, "exclude"},
    {{sizeof(struct keyroute_call), 0, KEYROUTE_BEFORE | KEYROUTE_AFTER, 0}, "exclude"},
    {{sizeof(struct keyroute_call), 0, 0, -2}, "replica"},
    {{sizeof(struct keyroute_call), 0, 0, 255}, "replica is 255,"},
};

START_TEST(test_api__a_call_that_makes_no_sense_is_refused_with_the_reason)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  int error = keyroute_locate(&location, cluster.conn, "t", row("a"), &bad_calls[_i].call, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(detail.error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, bad_calls[_i].reason));
  ck_assert_ptr_null(location);
}
END_TEST

START_TEST(test_api__fields_behind_a_calls_size_are_not_read)
{
  struct keyroute_location *location = NULL;
  struct keyroute_call call = {offsetof(struct keyroute_call, flags), 5000, 0xffffffffu, 999};

  int error = keyroute_locate(&location, cluster.conn, "t", row("a"), &call, NULL);

  ck_assert_int_eq(error, 0);
  keyroute_location_release(location);
}
END_TEST

static const char *const bad_names[] = {
    "",   ":",  ":t",    "ns:", "a:b:c", ".t", "-t", "t t",
    "t/", "t,", "n-s:t", "t\n", "t\xff", ".",  "..",
};

START_TEST(test_api__a_name_that_hbase_would_refuse_is_refused)
{
  struct keyroute_location *location = NULL;
  struct keyroute_table *table = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  const char *name = bad_names[_i];
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  int error = keyroute_locate(&location, cluster.conn, name, row("a"), NULL, &detail);

  ck_assert_int_eq(error, invalid);
  ck_assert_ptr_nonnull(strstr(detail.message, "table name"));
  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, name), invalid);
  ck_assert_int_eq(keyroute_clear_table(cluster.conn, name), invalid);
}
END_TEST

START_TEST(test_api__two_spellings_are_one_table)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  warm();
  int error = keyroute_locate(&location, cluster.conn, "default:t", row("b"), NULL, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_CACHE);
  ck_assert_uint_eq(keyroute_location_table(location).len, 1);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_api__open_says_which_option_is_wrong)
{
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set(options, "keyroute.registry", "static", NULL), 0);

  int error = keyroute_open(&conn, options, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute.registry.static.root"));
  ck_assert_ptr_null(conn);
  keyroute_options_free(options);
}
END_TEST

static const struct {
  const char *root;
  const char *host;
  int port;
  int64_t start_code;
} roots[] = {
    {"h1:16020", "h1", 16020, 0},
    {"h1.example:1:1796001106352", "h1.example", 1, 1796001106352},
    {"[fe80::1]:65535:7", "fe80::1", 65535, 7},
    {"10.0.0.1:16020:9223372036854775807", "10.0.0.1", 16020, INT64_MAX},
};

START_TEST(test_api__a_static_root_may_be_written_in_all_its_forms)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "keyroute.registry.static.root", roots[_i].root);
  fake_cluster_open(&cluster);

  int error = keyroute_locate(&location, cluster.conn, "hbase:meta", row("x"), NULL, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_REGISTRY);
  ck_assert_str_eq(keyroute_location_host(location, 0), roots[_i].host);
  ck_assert_int_eq(keyroute_location_port(location, 0), roots[_i].port);
  ck_assert_int_eq(keyroute_location_start_code(location, 0), roots[_i].start_code);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_api__a_start_code_out_of_range_is_no_root)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "keyroute.registry.static.root", "h1:16020:9223372036854775808");
  fake_cluster_open(&cluster);

  int error = keyroute_locate(&location, cluster.conn, "t", row("x"), NULL, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_BOOTSTRAP);
  ck_assert_ptr_nonnull(strstr(detail.message, "h1:16020:9223372036854775808"));
}
END_TEST

/* ---- Details and traces --------------------------------------------------------------------- */

START_TEST(test_api__no_more_of_a_detail_is_written_than_its_size)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail;

  memset(&detail, 0x5a, sizeof(detail));
  detail.size = offsetof(struct keyroute_detail, server);
  detail.trace = NULL; /* behind the size: not looked at */
  struct keyroute_call call = {sizeof(call), 0, KEYROUTE_TRACE, 0};

  int error = keyroute_locate(&location, cluster.conn, "t", row("a"), &call, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(detail.size, offsetof(struct keyroute_detail, server));
  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_CATALOG);
  ck_assert_uint_eq(detail.attempts, 1);
  ck_assert_int_eq(detail.server[0], 0x5a);
  ck_assert_int_eq(detail.message[0], 0x5a);
  ck_assert_ptr_null(detail.trace);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_api__no_more_of_the_stats_is_written_than_their_size)
{
  struct keyroute_stats stats;

  memset(&stats, 0x5a, sizeof(stats));
  stats.size = offsetof(struct keyroute_stats, misses);

  ck_assert_int_eq(keyroute_stats(cluster.conn, &stats), 0);

  ck_assert_uint_eq(stats.hits, 0);
  ck_assert_uint_ne(stats.misses, 0);
  stats.size = 0;
  ck_assert_int_eq(keyroute_stats(cluster.conn, &stats), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

/* Is there a step of that name? It goes to *out. */
static bool has_step(const struct keyroute_trace *trace, const char *name,
                     struct keyroute_step *out)
{
  for (size_t i = 0; i < keyroute_trace_count(trace); i++) {
    out->size = sizeof(*out);
    ck_assert_int_eq(keyroute_trace_step(trace, i, out), 0);
    ck_assert_int_ge(out->at_us, 0);
    ck_assert_int_ge(out->took_us, 0);
    if (strcmp(out->name, name) == 0) {
      return true;
    }
  }
  return false;
}

START_TEST(test_api__a_trace_tells_the_steps)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_call call = {sizeof(call), 0, KEYROUTE_TRACE, 0};
  struct keyroute_step step;
  char address[32];

  snprintf(address, sizeof(address), "127.0.0.1:%d", fake_server_port(cluster.server));
  fake_server_fault(cluster.server,
                    &(struct fake_fault){.what = FAKE_EXCEPTION, .class_name = "org.example.Once"});

  int error = keyroute_locate(&location, cluster.conn, "t", row("a"), &call, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert(has_step(detail.trace, "registry", &step));
  ck_assert(has_step(detail.trace, "wait", &step));
  ck_assert(has_step(detail.trace, "scan", &step));
  ck_assert_str_eq(step.server, address);
  ck_assert_ptr_nonnull(strstr(step.detail, "org.example.Once"));
  ck_assert_int_eq(keyroute_trace_step(detail.trace, 1000, &step), KEYROUTE_E_INVALID_ARGUMENT);
  step.size = 0;
  ck_assert_int_eq(keyroute_trace_step(detail.trace, 0, &step), KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_location_release(location);

  /* The same detail again: what it held goes. */
  error = keyroute_locate(&location, cluster.conn, "t", row("a"), &call, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(keyroute_trace_count(detail.trace), 1);
  ck_assert(has_step(detail.trace, "cache", &step));
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
  ck_assert_ptr_null(detail.trace);
}
END_TEST

START_TEST(test_api__a_detail_without_trace_has_none)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  int error = keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_ptr_null(detail.trace);
  ck_assert_str_eq(detail.message, "");
  ck_assert_int_gt(detail.elapsed_us, 0);
  keyroute_location_release(location);
}
END_TEST

/* ---- Callbacks ------------------------------------------------------------------------------ */

/* What callbacks have done. */
struct calls {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned answers; /* lock, as all below */
  unsigned errors;
  int last_error;
  bool inside; /* in a starting call, on this thread's own account */
};

#define CALLS_INIT                                                                                 \
  {                                                                                                \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0, false                            \
  }

static _Thread_local bool starting;

static void note(struct calls *calls, int error)
{
  pthread_mutex_lock(&calls->lock);
  calls->answers++;
  calls->errors += error != 0;
  calls->last_error = error;
  calls->inside = calls->inside || starting;
  pthread_cond_broadcast(&calls->changed);
  pthread_mutex_unlock(&calls->lock);
}

static void await(struct calls *calls, unsigned answers)
{
  pthread_mutex_lock(&calls->lock);
  while (calls->answers < answers) {
    pthread_cond_wait(&calls->changed, &calls->lock);
  }
  pthread_mutex_unlock(&calls->lock);
}

static void note_answer(void *payload, int error, struct keyroute_location *location,
                        const struct keyroute_detail *detail)
{
  ck_assert_int_eq(error == 0, location != NULL);
  ck_assert_int_eq(detail->error, error);
  note(payload, error);
}

static int start(const char *table, const char *key, keyroute_locate_cb cb, void *payload,
                 uint64_t *request)
{
  starting = true;
  int error = keyroute_locate_async(request, cluster.conn, table, row(key), NULL, cb, payload);

  starting = false;
  return error;
}

START_TEST(test_api__a_callback_runs_once_for_hit_miss_and_error)
{
  struct calls calls = CALLS_INIT;

  ck_assert_int_eq(start("t", "a", note_answer, &calls, NULL), 0);
  await(&calls, 1);
  ck_assert_int_eq(start("t", "a", note_answer, &calls, NULL), 0);
  ck_assert_int_eq(start("absent", "a", note_answer, &calls, NULL), 0);
  await(&calls, 3);
  teardown();

  ck_assert_uint_eq(calls.answers, 3);
  ck_assert_uint_eq(calls.errors, 1);
  ck_assert(!calls.inside);
  setup();
}
END_TEST

START_TEST(test_api__arguments_that_are_refused_are_not_called_back)
{
  struct calls calls = CALLS_INIT;

  ck_assert_int_eq(start("bad name", "a", note_answer, &calls, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "t", row("a"), &bad_calls[1].call,
                                         note_answer, &calls),
                   KEYROUTE_E_INVALID_ARGUMENT);
  teardown();

  ck_assert_uint_eq(calls.answers, 0);
  setup();
}
END_TEST

/* What a callback may not do. */
static void try_to_block(void *payload, int error, struct keyroute_location *location,
                         const struct keyroute_detail *detail)
{
  struct keyroute_location *other = NULL;
  int blocked = keyroute_locate(&other, cluster.conn, "t", row("a"), NULL, NULL);
  int closed = keyroute_close(cluster.conn);

  (void)error;
  (void)location;
  (void)detail;
  note(payload, blocked == closed ? blocked : 0);
}

START_TEST(test_api__a_callback_may_neither_block_nor_close)
{
  struct calls calls = CALLS_INIT;

  ck_assert_int_eq(start("t", "a", try_to_block, &calls, NULL), 0);
  await(&calls, 1);

  ck_assert_int_eq(calls.last_error, KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_api__a_peek_section_may_neither_block_nor_close)
{
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  warm();
  keyroute_peek_begin();
  keyroute_peek_begin();
  keyroute_peek_end();
  int located = keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, &detail);
  int closed = keyroute_close(cluster.conn);
  keyroute_peek_end();

  ck_assert_int_eq(located, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(closed, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "peek section"));
}
END_TEST

/* A chain of calls, each started by the callback of the one before. */
struct chain {
  struct calls calls;
  unsigned left;
  const char *lowest, *highest; /* of the callbacks' stacks */
  bool refresh;
};

static void go_on(void *payload, int error, struct keyroute_location *location,
                  const struct keyroute_detail *detail)
{
  struct chain *chain = payload;
  char here = 0;
  const char *at = &here;

  (void)location;
  (void)detail;
  chain->lowest = chain->lowest == NULL || at < chain->lowest ? at : chain->lowest;
  chain->highest = at > chain->highest ? at : chain->highest;
  if (error == 0 && chain->left > 0) {
    struct keyroute_call call = {sizeof(call), 0, chain->refresh ? KEYROUTE_REFRESH : 0, 0};

    chain->left--;
    error = keyroute_locate_async(NULL, cluster.conn, "t", row("a"), &call, go_on, chain);
    if (error == 0) {
      return;
    }
  }
  note(&chain->calls, error);
}

static void run_chain(struct chain *chain)
{
  ck_assert_int_eq(start("t", "a", go_on, chain, NULL), 0);
  await(&chain->calls, 1);

  ck_assert_int_eq(chain->calls.last_error, 0);
  ck_assert_uint_eq(chain->left, 0);
  ck_assert_int_lt(chain->highest - chain->lowest, 65536);
}

START_TEST(test_api__s087_callbacks_start_calls_on_a_flat_stack)
{
  struct chain chain = {.calls = CALLS_INIT, .left = DEPTH};

  run_chain(&chain);
}
END_TEST

START_TEST(test_api__s087_callbacks_start_misses_on_a_flat_stack)
{
  struct chain chain = {.calls = CALLS_INIT, .left = DEPTH / 10, .refresh = true};

  run_chain(&chain);
}
END_TEST

START_TEST(test_api__s095_cancelling_ends_a_long_pause)
{
  struct calls calls = CALLS_INIT;
  uint64_t request = 0;

  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "hbase.client.pause", "60000");
  fake_cluster_set(&cluster, "keyroute.pause.max.ms", "60000");
  fake_cluster_open(&cluster);
  fake_server_fault(
      cluster.server,
      &(struct fake_fault){.what = FAKE_EXCEPTION, .times = -1, .class_name = "org.example.No"});

  ck_assert_int_eq(start("t", "a", note_answer, &calls, &request), 0);
  while (fake_cluster_stats(&cluster).retries == 0) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  keyroute_cancel(cluster.conn, request);
  await(&calls, 1);
  keyroute_cancel(cluster.conn, request);

  ck_assert_int_eq(calls.last_error, KEYROUTE_E_CANCELLED);
  ck_assert_uint_eq(calls.answers, 1);
}
END_TEST

/* ---- Lifetimes ------------------------------------------------------------------------------ */

START_TEST(test_api__close_ends_a_hundred_calls_once_each)
{
  struct calls calls = CALLS_INIT;

  fake_server_set_silent(cluster.server, true);
  for (int i = 0; i < 100; i++) {
    const char *table = i % 2 == 0 ? "t" : "u";

    ck_assert_int_eq(start(table, i % 3 == 0 ? "a" : "z", note_answer, &calls, NULL), 0);
  }
  ck_assert_uint_eq(fake_cluster_stats(&cluster).pending, 100);
  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  cluster.conn = NULL;

  ck_assert_uint_eq(calls.answers, 100);
  ck_assert_uint_eq(calls.errors, 100);
  ck_assert_int_eq(calls.last_error, KEYROUTE_E_CLOSED);
}
END_TEST

/* A thread that waits for an answer while another one closes. */
static void *wait_for_answer(void *arg)
{
  struct keyroute_location *location = NULL;

  *(int *)arg = keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, NULL);
  return NULL;
}

START_TEST(test_api__close_ends_a_waiting_thread)
{
  pthread_t thread;
  int error = 0;

  fake_server_set_silent(cluster.server, true);
  ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_answer, &error), 0);
  while (fake_cluster_stats(&cluster).pending == 0) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  cluster.conn = NULL;
  pthread_join(thread, NULL);

  ck_assert_int_eq(error, KEYROUTE_E_CLOSED);
}
END_TEST

/* How many entries a folder has. */
static int count_entries(const char *path)
{
  DIR *folder = opendir(path);
  int count = 0;

  while (folder != NULL && readdir(folder) != NULL) {
    count++;
  }
  if (folder != NULL) {
    closedir(folder);
  }
  return count;
}

static void live_once(void)
{
  fake_cluster_open(&cluster);
  warm();
  keyroute_close(cluster.conn);
  cluster.conn = NULL;
}

START_TEST(test_api__opening_and_closing_leaves_no_thread_and_no_descriptor)
{
  keyroute_close(cluster.conn);
  live_once();
  ck_assert(fake_server_wait_closed(cluster.server, 0, 5000));
  int threads = count_entries("/proc/self/task");
  int descriptors = count_entries("/proc/self/fd");

  for (int i = 0; i < 200; i++) {
    live_once();
  }
  ck_assert(fake_server_wait_closed(cluster.server, 0, 5000));

  ck_assert_int_eq(count_entries("/proc/self/task"), threads);
  ck_assert_int_eq(count_entries("/proc/self/fd"), descriptors);
}
END_TEST

START_TEST(test_api__a_connection_that_was_not_used_may_be_closed)
{
  struct keyroute_connection *conn = NULL;

  ck_assert_int_eq(keyroute_open(&conn, cluster.options, NULL), 0);

  ck_assert_int_eq(keyroute_close(conn), 0);
}
END_TEST

START_TEST(test_api__two_connections_share_nothing)
{
  struct keyroute_connection *other = NULL;
  struct keyroute_location *location = NULL;
  struct keyroute_call cache_only = {sizeof(cache_only), 0, KEYROUTE_CACHE_ONLY, 0};

  warm();
  ck_assert_int_eq(keyroute_open(&other, cluster.options, NULL), 0);

  ck_assert_int_eq(keyroute_locate(&location, other, "t", row("a"), &cache_only, NULL),
                   KEYROUTE_E_NOT_CACHED);
  ck_assert_int_eq(keyroute_close(other), 0);
  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("a"), &cache_only, NULL), 0);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_api__a_location_outlives_its_connection)
{
  struct keyroute_location *location = NULL;
  char name[100] = "";

  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("z"), NULL, NULL), 0);
  keyroute_location_ref(location);
  keyroute_location_release(location);
  keyroute_close(cluster.conn);
  keyroute_options_free(cluster.options);
  cluster.conn = NULL;
  cluster.options = NULL;

  size_t len = keyroute_location_region_name(location, 0, name, sizeof(name) - 1);
  ck_assert_int_eq(strncmp(name, "t,m,2.", 6), 0);
  ck_assert_uint_eq(len, strlen(name));
  ck_assert_str_eq(keyroute_location_host(location, 0), "127.0.0.1");
  ck_assert_int_eq(keyroute_location_port(location, 0), fake_server_port(cluster.server));
  ck_assert_ptr_null(keyroute_location_host(location, 1));
  ck_assert_int_eq(keyroute_location_port(location, 1), 0);
  ck_assert_int_eq(keyroute_location_seqnum(location, 1), -1);
  ck_assert_ptr_null(keyroute_location_host(location, -1));
  ck_assert_ptr_null(keyroute_location_host(location, 1000));
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_api__a_handle_stays_valid_while_its_table_comes_and_goes)
{
  struct keyroute_table *table = NULL;
  struct keyroute_location *location = NULL;
  struct fake_region gone = {.table = "t", .start = {"", 0}, .id = 1};
  struct fake_region gone_too = {.table = "t", .start = {"m", 1}, .id = 2};
  struct keyroute_call refresh = {sizeof(refresh), 0, KEYROUTE_REFRESH, 0};

  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, "t"), 0);
  ck_assert_int_eq(keyroute_table_locate(&location, table, row("a"), NULL, NULL), 0);
  keyroute_location_release(location);

  ck_assert_int_eq(keyroute_clear_all(cluster.conn), 0);
  keyroute_peek_begin();
  ck_assert_ptr_null(keyroute_peek(table, row("a")));
  keyroute_peek_end();
  fake_server_delete_region(cluster.server, &gone);
  fake_server_delete_region(cluster.server, &gone_too);
  ck_assert_int_eq(keyroute_table_locate(&location, table, row("a"), &refresh, NULL),
                   KEYROUTE_E_TABLE_NOT_FOUND);
  fake_cluster_put(&cluster, "t", "", "", 9);
  ck_assert_int_eq(keyroute_table_locate(&location, table, row("a"), NULL, NULL), 0);

  ck_assert_int_eq(keyroute_location_region_id(location), 9);
  keyroute_peek_begin();
  ck_assert_ptr_eq(keyroute_peek(table, row("a")), location);
  keyroute_peek_end();
  keyroute_location_release(location);
  keyroute_table_release(table);
}
END_TEST

START_TEST(test_api__a_handle_of_an_absent_table_is_no_error)
{
  struct keyroute_table *table = NULL;
  struct keyroute_location *location = NULL;

  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, "absent"), 0);

  ck_assert_int_eq(keyroute_table_locate(&location, table, row("a"), NULL, NULL),
                   KEYROUTE_E_TABLE_NOT_FOUND);
  keyroute_table_release(table);
}
END_TEST

/* ---- Readers while the cache is cleared (scenario 40) --------------------------------------- */

static atomic_bool reading;

static void *read_all_the_time(void *arg)
{
  unsigned *wrong = arg;

  while (atomic_load(&reading)) {
    struct keyroute_location *location = NULL;

    if (keyroute_locate(&location, cluster.conn, "t", row("z"), NULL, NULL) != 0 ||
        keyroute_location_region_id(location) != 2) {
      (*wrong)++;
    }
    keyroute_location_release(location);
  }
  return NULL;
}

START_TEST(test_api__s040_clearing_disturbs_no_reader)
{
  enum { READERS = 8 };
  pthread_t threads[READERS];
  unsigned wrong[READERS] = {0};

  atomic_store(&reading, true);
  for (int i = 0; i < READERS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, read_all_the_time, &wrong[i]), 0);
  }
  for (int i = 0; i < 300; i++) {
    ck_assert_int_eq(i % 3 == 0   ? keyroute_clear_all(cluster.conn)
                     : i % 3 == 1 ? keyroute_clear_table(cluster.conn, "t")
                                  : keyroute_clear_server(cluster.conn, "127.0.0.1",
                                                          fake_server_port(cluster.server), 0),
                     0);
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
  atomic_store(&reading, false);
  for (int i = 0; i < READERS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_uint_eq(wrong[i], 0);
  }
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* Look while a figure of the cache is not yet small enough; false after half a minute. */
static bool comes_down_to(uint64_t regions)
{
  for (int i = 0; i < 3000; i++) {
    if (fake_cluster_stats(&cluster).regions <= regions) {
      return true;
    }
    nanosleep(&(struct timespec){0, 10000000}, NULL);
  }
  return false;
}

static int locate_z(void)
{
  struct keyroute_location *location = NULL;
  int error = keyroute_locate(&location, cluster.conn, "t", row("z"), NULL, NULL);

  keyroute_location_release(location);
  return error;
}

START_TEST(test_api__bound_of_regions_holds_and_answers_stay_right)
{
  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "keyroute.cache.max.regions", "2");
  for (int i = 0; i < 10; i++) {
    char start[3], end[3];

    snprintf(start, sizeof(start), "%02d", i);
    snprintf(end, sizeof(end), "%02d", i + 1);
    fake_cluster_put(&cluster, "many", i == 0 ? "" : start, i == 9 ? "" : end, 100 + i);
  }
  fake_cluster_open(&cluster);

  for (int i = 0; i < 30; i++) {
    struct keyroute_location *location = NULL;
    char text[4];

    snprintf(text, sizeof(text), "%02dx", i * 7 % 10);
    ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "many", row(text), NULL, NULL), 0);
    ck_assert_int_eq(keyroute_location_region_id(location), 100 + i * 7 % 10);
    keyroute_location_release(location);
    ck_assert_uint_le(fake_cluster_stats(&cluster).regions, 2);
  }

  struct keyroute_stats stats = fake_cluster_stats(&cluster);
  ck_assert_uint_gt(stats.evicted_full, 0);
  ck_assert_uint_eq(stats.evictions, stats.evicted_full);
  ck_assert_uint_eq(stats.registry_reads, 1); /* the catalog's own region stays */
}
END_TEST

START_TEST(test_api__what_is_cleared_is_gone_soon_and_counted_so)
{
  ck_assert_int_eq(locate_z(), 0);
  uint64_t bytes = fake_cluster_stats(&cluster).bytes;

  ck_assert_int_eq(keyroute_clear_all(cluster.conn), 0);

  ck_assert(comes_down_to(0));
  struct keyroute_stats stats = fake_cluster_stats(&cluster);
  ck_assert_uint_gt(stats.evicted_cleared, 0);
  ck_assert_uint_eq(stats.evictions, stats.evicted_cleared);
  ck_assert_uint_lt(stats.bytes, bytes);
}
END_TEST

START_TEST(test_api__what_is_idle_leaves)
{
  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "keyroute.cache.idle.ms", "200");
  fake_cluster_set(&cluster, "keyroute.cache.sweep.ms", "10");
  fake_cluster_open(&cluster);
  ck_assert_int_eq(locate_z(), 0);

  ck_assert(comes_down_to(0));
  struct keyroute_stats stats = fake_cluster_stats(&cluster);
  ck_assert_uint_eq(stats.evictions, stats.evicted_idle);
  ck_assert_int_eq(locate_z(), 0);
}
END_TEST

START_TEST(test_api__what_has_expired_leaves)
{
  keyroute_close(cluster.conn);
  fake_cluster_set(&cluster, "keyroute.cache.ttl.ms", "200");
  fake_cluster_set(&cluster, "keyroute.cache.sweep.ms", "10");
  fake_cluster_open(&cluster);
  ck_assert_int_eq(locate_z(), 0);

  ck_assert(comes_down_to(0));
  ck_assert_uint_gt(fake_cluster_stats(&cluster).evicted_expired, 0);
}
END_TEST

/* ---- The log -------------------------------------------------------------------------------- */

static atomic_uint log_lines;

static void take_line(void *user, enum keyroute_log_level level, const char *line)
{
  ck_assert_ptr_eq(user, &log_lines);
  ck_assert_int_le(level, KEYROUTE_LOG_WARNING);
  ck_assert_ptr_null(strchr(line, '\n'));
  atomic_fetch_add(&log_lines, 1);
}

START_TEST(test_api__the_log_goes_where_it_is_sent)
{
  struct keyroute_location *location = NULL;

  keyroute_close(cluster.conn);
  keyroute_options_set_log(cluster.options, KEYROUTE_LOG_WARNING, take_line, &log_lines);
  fake_cluster_open(&cluster);
  fake_server_fault(cluster.server, &(struct fake_fault){.what = FAKE_GARBAGE});

  ck_assert_int_eq(keyroute_locate(&location, cluster.conn, "t", row("a"), NULL, NULL), 0);

  ck_assert_uint_gt(atomic_load(&log_lines), 0);
  keyroute_location_release(location);
}
END_TEST

static void add_tests(TCase *all)
{
  tcase_add_test(all, test_api__every_error_has_name_text_and_kind);
  tcase_add_test(all, test_api__escapes_parse_back);
  tcase_add_test(all, test_api__a_text_cut_to_fit_still_ends);
  tcase_add_test(all, test_api__null_is_refused_or_harmless);
  tcase_add_test(all, test_api__an_empty_row_may_have_no_data);
  tcase_add_loop_test(all, test_api__a_call_that_makes_no_sense_is_refused_with_the_reason, 0,
                      (int)(sizeof(bad_calls) / sizeof(bad_calls[0])));
  tcase_add_test(all, test_api__fields_behind_a_calls_size_are_not_read);
  tcase_add_loop_test(all, test_api__a_name_that_hbase_would_refuse_is_refused, 0,
                      (int)(sizeof(bad_names) / sizeof(bad_names[0])));
  tcase_add_test(all, test_api__two_spellings_are_one_table);
  tcase_add_test(all, test_api__open_says_which_option_is_wrong);
  tcase_add_loop_test(all, test_api__a_static_root_may_be_written_in_all_its_forms, 0,
                      (int)(sizeof(roots) / sizeof(roots[0])));
  tcase_add_test(all, test_api__a_start_code_out_of_range_is_no_root);
  tcase_add_test(all, test_api__no_more_of_a_detail_is_written_than_its_size);
  tcase_add_test(all, test_api__no_more_of_the_stats_is_written_than_their_size);
  tcase_add_test(all, test_api__a_trace_tells_the_steps);
  tcase_add_test(all, test_api__a_detail_without_trace_has_none);
  tcase_add_test(all, test_api__a_callback_runs_once_for_hit_miss_and_error);
  tcase_add_test(all, test_api__arguments_that_are_refused_are_not_called_back);
  tcase_add_test(all, test_api__a_callback_may_neither_block_nor_close);
  tcase_add_test(all, test_api__a_peek_section_may_neither_block_nor_close);
  tcase_add_test(all, test_api__s087_callbacks_start_calls_on_a_flat_stack);
  tcase_add_test(all, test_api__s087_callbacks_start_misses_on_a_flat_stack);
  tcase_add_test(all, test_api__s095_cancelling_ends_a_long_pause);
  tcase_add_test(all, test_api__close_ends_a_hundred_calls_once_each);
  tcase_add_test(all, test_api__close_ends_a_waiting_thread);
  tcase_add_test(all, test_api__opening_and_closing_leaves_no_thread_and_no_descriptor);
  tcase_add_test(all, test_api__a_connection_that_was_not_used_may_be_closed);
  tcase_add_test(all, test_api__two_connections_share_nothing);
  tcase_add_test(all, test_api__a_location_outlives_its_connection);
  tcase_add_test(all, test_api__a_handle_stays_valid_while_its_table_comes_and_goes);
  tcase_add_test(all, test_api__a_handle_of_an_absent_table_is_no_error);
  tcase_add_test(all, test_api__s040_clearing_disturbs_no_reader);
  tcase_add_test(all, test_api__bound_of_regions_holds_and_answers_stay_right);
  tcase_add_test(all, test_api__what_is_cleared_is_gone_soon_and_counted_so);
  tcase_add_test(all, test_api__what_is_idle_leaves);
  tcase_add_test(all, test_api__what_has_expired_leaves);
  tcase_add_test(all, test_api__the_log_goes_where_it_is_sent);
}

int main(void)
{
  Suite *suite = suite_create("api");
  TCase *all = tcase_create("api");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  add_tests(all);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
