/*
 * The public calls: what they refuse, and what they leave untouched then.
 *
 * The connection's root is written down and nobody listens there, so that nothing leaves this host
 * and every lookup ends in UNREACHABLE.
 */
#include "keyroute/keyroute.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct keyroute_connection *open_nowhere(const char *pause_ms)
{
  struct keyroute_options *options;
  struct keyroute_connection *conn = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(keyroute_options_new(&options, &failing_allocator), 0);
  ck_assert_int_eq(keyroute_options_set(options, "keyroute.registry", "static", NULL), 0);
  ck_assert_int_eq(
      keyroute_options_set(options, "keyroute.registry.static.root", "127.0.0.1:1", NULL), 0);
  ck_assert_int_eq(keyroute_options_set(options, "hbase.client.pause", pause_ms, NULL), 0);
  ck_assert_msg(keyroute_open(&conn, options, &detail) == 0, "%s", detail.message);
  keyroute_options_free(options);
  return conn;
}

static void close_clean(struct keyroute_connection *conn)
{
  ck_assert_int_eq(keyroute_close(conn), 0);
  ck_assert_int_eq(mem_live(), 0);
}

static void never(void *payload, int error, struct keyroute_location *location,
                  const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)location, (void)detail;
  ck_abort_msg("a refused call was called back");
}

/* Every way to ask must refuse the same, touch nothing and say why. */
static void expect_refused(struct keyroute_connection *conn, const char *table,
                           struct keyroute_bytes row, const struct keyroute_call *call)
{
  struct keyroute_location *untouched = (struct keyroute_location *)(uintptr_t)&conn;
  struct keyroute_location *out = untouched;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  uint64_t number = 77;

  ck_assert_int_eq(keyroute_locate(&out, conn, table, row, call, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_eq(out, untouched);
  ck_assert_int_eq(detail.error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_ne(detail.message, "");
  ck_assert_int_eq(keyroute_locate(&out, conn, table, row, call, NULL),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_locate_async(&number, conn, table, row, call, never, NULL),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_uint_eq(number, 77);
}

/* ---- Arguments of a lookup ---- */

static const char *const bad_tables[] = {"",      ":",     "a:", ":t", "a,b",   "t t",
                                         "a:b:c", "t\x01", ".t", "-t", "n-s:t", "t\xff"};

START_TEST(test_keyroute__table_names_that_hbase_refuses_are_refused)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_table *table = NULL;

  expect_refused(conn, bad_tables[_i], keyroute_string("a"), NULL);
  ck_assert_int_eq(keyroute_table_get(&table, conn, bad_tables[_i]), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_null(table);
  ck_assert_int_eq(keyroute_clear_table(conn, bad_tables[_i]), KEYROUTE_E_INVALID_ARGUMENT);
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__null_arguments_are_refused)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_location *out = NULL;
  struct keyroute_table *table = NULL;
  struct keyroute_bytes row = keyroute_string("a");

  expect_refused(NULL, "t", row, NULL);
  expect_refused(conn, NULL, row, NULL);
  expect_refused(conn, "t", (struct keyroute_bytes){NULL, 1}, NULL);
  ck_assert_int_eq(keyroute_locate(NULL, conn, "t", row, NULL, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_table_locate(&out, NULL, row, NULL, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_locate_async(NULL, conn, "t", row, NULL, NULL, NULL),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_table_get(NULL, conn, "t"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_table_get(&table, NULL, "t"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_table_get(&table, conn, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_open(NULL, NULL, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_close(NULL), 0);
  keyroute_table_release(NULL);
  keyroute_location_release(NULL);
  keyroute_detail_clear(NULL);
  keyroute_cancel(NULL, 1);
  close_clean(conn);
}
END_TEST

#define CALL(...)                                                                                  \
  {                                                                                                \
    .size = sizeof(struct keyroute_call), __VA_ARGS__                                              \
  }
static const struct keyroute_call bad_calls[] = {
    {.size = 0},
    CALL(.flags = 0x20),
    CALL(.flags = 0x80000000),
    CALL(.flags = KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY),
    CALL(.flags = KEYROUTE_BEFORE | KEYROUTE_AFTER),
    CALL(.deadline_ms = -1),
    CALL(.deadline_ms = 86400001),
    CALL(.deadline_ms = INT64_MIN),
    CALL(.replica = -2),
    CALL(.replica = 255),
};

START_TEST(test_keyroute__calls_out_of_range_are_refused)
{
  struct keyroute_connection *conn = open_nowhere("100");

  expect_refused(conn, "t", keyroute_string("a"), &bad_calls[_i]);
  close_clean(conn);
}
END_TEST

static const struct keyroute_call good_calls[] = {
    CALL(.flags = KEYROUTE_CACHE_ONLY),
    CALL(.flags = KEYROUTE_CACHE_ONLY | KEYROUTE_BEFORE),
    CALL(.flags = KEYROUTE_CACHE_ONLY | KEYROUTE_AFTER | KEYROUTE_TRACE),
    CALL(.flags = KEYROUTE_CACHE_ONLY, .deadline_ms = 86400000),
    CALL(.flags = KEYROUTE_CACHE_ONLY, .replica = 254),
    CALL(.flags = KEYROUTE_CACHE_ONLY, .replica = KEYROUTE_REPLICA_ANY),
    {.size = 4096, .flags = KEYROUTE_CACHE_ONLY},
};

START_TEST(test_keyroute__cache_only_on_a_cold_cache_is_not_cached)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_location *out = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  char long_row[1000];

  memset(long_row, 'r', sizeof(long_row));
  for (size_t len = 0; len <= sizeof(long_row); len += 250) {
    struct keyroute_bytes row = {long_row, len};

    ck_assert_int_eq(keyroute_locate(&out, conn, "t", row, &good_calls[_i], &detail),
                     KEYROUTE_E_NOT_CACHED);
    ck_assert_int_eq(detail.error, KEYROUTE_E_NOT_CACHED);
    ck_assert_uint_eq(detail.attempts + detail.rpcs, 0);
  }
  ck_assert_ptr_null(out);
  keyroute_detail_clear(&detail);
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__shorter_call_of_an_older_caller_has_defaults_behind_its_end)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_location *out = NULL;
  struct keyroute_call call = {
      .size = offsetof(struct keyroute_call, replica),
      .flags = KEYROUTE_CACHE_ONLY,
      .replica = -99,
  };

  ck_assert_int_eq(keyroute_locate(&out, conn, "t", keyroute_string("a"), &call, NULL),
                   KEYROUTE_E_NOT_CACHED);
  close_clean(conn);
}
END_TEST

/* ---- Where calls may not be made ---- */

START_TEST(test_keyroute__calls_that_block_refuse_to_run_in_a_peek_section)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_location *out = NULL;
  struct keyroute_table *table;

  ck_assert_int_eq(keyroute_table_get(&table, conn, "t"), 0);
  keyroute_peek_begin();
  keyroute_peek_begin();
  ck_assert_int_eq(keyroute_locate(&out, conn, "t", keyroute_string("a"), NULL, NULL),
                   KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_peek_end();
  ck_assert_int_eq(keyroute_table_locate(&out, table, keyroute_string("a"), NULL, NULL),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_close(conn), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_null(keyroute_peek(table, keyroute_string("a")));
  ck_assert_ptr_null(keyroute_peek(NULL, keyroute_string("a")));
  keyroute_peek_end();

  keyroute_table_release(table);
  close_clean(conn);
}
END_TEST

/* An opening that fails would wait for itself. */
START_TEST(test_keyroute__open_refuses_to_run_in_a_peek_section)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  keyroute_peek_begin();
  ck_assert_int_eq(keyroute_open(&conn, NULL, &detail), KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_peek_end();
  ck_assert_ptr_null(conn);
  ck_assert_str_ne(detail.message, "");
}
END_TEST

/* The first opening of a process, for libuv is touchy there. */
START_TEST(test_keyroute__open_without_descriptors_fails_and_nothing_else)
{
  struct keyroute_connection *conn = NULL;
  struct rlimit limit;
  int next_free = dup(0);
  int error = KEYROUTE_E_NO_MEMORY;

  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  close(next_free);
  for (int left = 0; error == KEYROUTE_E_NO_MEMORY && left < 32; left++) {
    limit.rlim_cur = (rlim_t)(next_free + left);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    error = keyroute_open(&conn, NULL, NULL);
  }
  ck_assert_int_eq(error, 0);
  ck_assert_int_eq(keyroute_close(conn), 0);
}
END_TEST

/* What callbacks saw. */
struct seen {
  struct keyroute_connection *conn;
  atomic_int calls;
  int error;
  int locate_error, close_error, async_error;
};

static void note(void *payload, int error, struct keyroute_location *location,
                 const struct keyroute_detail *detail)
{
  struct seen *seen = payload;

  ck_assert((error == 0) == (location != NULL));
  ck_assert_int_eq(detail->error, error);
  seen->error = error;
  atomic_fetch_add(&seen->calls, 1);
}

static void call_back_in(void *payload, int error, struct keyroute_location *location,
                         const struct keyroute_detail *detail)
{
  struct seen *seen = payload;
  struct keyroute_location *out = NULL;
  struct keyroute_call call = CALL(.flags = KEYROUTE_CACHE_ONLY);

  seen->locate_error = keyroute_locate(&out, seen->conn, "t", keyroute_string("a"), NULL, NULL);
  seen->close_error = keyroute_close(seen->conn);
  seen->async_error =
      keyroute_locate_async(NULL, seen->conn, "t", keyroute_string("a"), &call, note, seen);
  note(payload, error, location, detail);
}

static void wait_for_calls(struct seen *seen, int count)
{
  struct timespec pause = {0, 1000000};

  for (int i = 0; i < 10000 && atomic_load(&seen->calls) < count; i++) {
    nanosleep(&pause, NULL);
  }
  ck_assert_int_eq(atomic_load(&seen->calls), count);
}

START_TEST(test_keyroute__callback_may_start_calls_but_not_block_or_close)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_call call = CALL(.flags = KEYROUTE_CACHE_ONLY);
  struct seen seen = {.conn = conn};

  ck_assert_int_eq(
      keyroute_locate_async(NULL, conn, "t", keyroute_string("a"), &call, call_back_in, &seen), 0);
  wait_for_calls(&seen, 2);

  ck_assert_int_eq(seen.locate_error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(seen.close_error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(seen.async_error, 0);
  close_clean(conn);
}
END_TEST

/* ---- Ends of calls ---- */

START_TEST(test_keyroute__nobody_at_the_root_is_unreachable_at_the_deadline)
{
  struct keyroute_connection *conn = open_nowhere("10");
  struct keyroute_location *out = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_call call = CALL(.deadline_ms = 300, .flags = KEYROUTE_TRACE);

  ck_assert_int_eq(keyroute_locate(&out, conn, "t", keyroute_string("a"), &call, &detail),
                   KEYROUTE_E_UNREACHABLE);

  ck_assert_uint_ge(detail.attempts, 1);
  ck_assert_int_le(detail.elapsed_us, 3000000);
  ck_assert_ptr_nonnull(strstr(detail.message, "127.0.0.1"));
  ck_assert_str_eq(detail.server, "127.0.0.1:1");
  ck_assert_uint_ge(keyroute_trace_count(detail.trace), 2);
  keyroute_detail_clear(&detail);
  ck_assert_ptr_null(detail.trace);
  ck_assert_str_eq(detail.message, "");
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__detail_too_small_for_a_trace_gets_none_and_leaks_none)
{
  struct keyroute_connection *conn = open_nowhere("10");
  struct keyroute_location *out = NULL;
  struct keyroute_detail detail = {.size = offsetof(struct keyroute_detail, trace)};
  struct keyroute_call call = CALL(.deadline_ms = 50, .flags = KEYROUTE_TRACE);

  detail.trace = (struct keyroute_trace *)(uintptr_t)&call; /* not ours to touch */
  ck_assert_int_eq(keyroute_locate(&out, conn, "t", keyroute_string("a"), &call, &detail),
                   KEYROUTE_E_UNREACHABLE);

  ck_assert_ptr_eq((void *)detail.trace, (void *)&call);
  ck_assert_str_ne(detail.message, "");
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__refusal_writes_no_more_of_a_detail_than_its_size)
{
  struct keyroute_location *out = NULL;
  struct keyroute_detail detail = {.size = offsetof(struct keyroute_detail, message),
                                   .message = "mine"};

  int error = keyroute_locate(&out, NULL, "t", keyroute_string("a"), NULL, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(detail.error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "mine");
}
END_TEST

START_TEST(test_s095_cancel_ends_a_call_that_waits_for_its_next_try)
{
  struct keyroute_connection *conn = open_nowhere("60000");
  struct seen seen = {.conn = conn};
  struct keyroute_stats stats = {.size = sizeof(stats)};
  struct timespec pause = {0, 50000000};
  uint64_t number = 0;

  ck_assert_int_eq(
      keyroute_locate_async(&number, conn, "t", keyroute_string("a"), NULL, note, &seen), 0);
  nanosleep(&pause, NULL);
  ck_assert_uint_ne(number, 0);
  keyroute_cancel(conn, number + 1000);
  keyroute_cancel(conn, number);
  keyroute_cancel(conn, number);
  wait_for_calls(&seen, 1);

  ck_assert_int_eq(seen.error, KEYROUTE_E_CANCELLED);
  keyroute_cancel(conn, number);
  keyroute_stats(conn, &stats);
  ck_assert_uint_eq(stats.pending, 0);
  close_clean(conn);
}
END_TEST

START_TEST(test_s110_close_ends_all_calls_with_closed)
{
  enum { COUNT = 100 };
  struct keyroute_connection *conn = open_nowhere("60000");
  struct seen seen = {.conn = conn};

  for (int i = 0; i < COUNT; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%d", i);
    ck_assert_int_eq(keyroute_locate_async(NULL, conn, i % 2 == 0 ? "t" : "u", keyroute_string(row),
                                           NULL, note, &seen),
                     0);
  }
  close_clean(conn);

  ck_assert_int_eq(atomic_load(&seen.calls), COUNT);
  ck_assert_int_eq(seen.error, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_s110_connections_come_and_go)
{
  for (int i = 0; i < 50; i++) {
    close_clean(open_nowhere("100"));
  }
}
END_TEST

/* ---- Tables, clearing, counting ---- */

START_TEST(test_keyroute__two_spellings_of_a_name_are_one_table)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_table *one, *two, *other;

  ck_assert_int_eq(keyroute_table_get(&one, conn, "t"), 0);
  ck_assert_int_eq(keyroute_table_get(&two, conn, "default:t"), 0);
  ck_assert_int_eq(keyroute_table_get(&other, conn, "ns:t"), 0);

  ck_assert_ptr_eq(one, two);
  ck_assert_ptr_ne(one, other);
  keyroute_table_release(one);
  keyroute_table_release(two);
  keyroute_table_release(other);
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__peeking_at_many_rows_checks_its_arguments)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_bytes rows[2] = {{"a", 1}, {"b", 1}};
  const struct keyroute_location *found[2] = {(const void *)rows, (const void *)rows};
  struct keyroute_table *table;

  keyroute_table_get(&table, conn, "t");
  keyroute_peek_begin();
  ck_assert_uint_eq(keyroute_peek_many(NULL, table, rows, 2), 0);
  ck_assert_uint_eq(keyroute_peek_many(found, NULL, rows, 2), 0);
  ck_assert_uint_eq(keyroute_peek_many(found, table, NULL, 2), 0);
  ck_assert_uint_eq(keyroute_peek_many(found, table, rows, 0), 0);
  ck_assert_ptr_eq((const void *)found[0], (const void *)rows);
  ck_assert_uint_eq(keyroute_peek_many(found, table, rows, 2), 0);
  ck_assert_ptr_null(found[0]);
  ck_assert_ptr_null(found[1]);
  keyroute_peek_end();
  keyroute_table_release(table);
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__clearing_checks_its_arguments)
{
  struct keyroute_connection *conn = open_nowhere("100");

  ck_assert_int_eq(keyroute_clear_table(NULL, "t"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_clear_table(conn, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_clear_server(NULL, "h", 1, 0), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_clear_server(conn, NULL, 1, 0), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_clear_server(conn, "h", 0, 0), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_clear_server(conn, "h", 65536, 0), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_clear_all(NULL), KEYROUTE_E_INVALID_ARGUMENT);

  ck_assert_int_eq(keyroute_clear_table(conn, "t"), 0);
  ck_assert_int_eq(keyroute_clear_server(conn, "h", 65535, 5), 0);
  ck_assert_int_eq(keyroute_clear_all(conn), 0);
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__stats_write_as_much_as_the_caller_has_room_for)
{
  struct keyroute_connection *conn = open_nowhere("100");
  struct keyroute_stats stats;

  memset(&stats, 0xee, sizeof(stats));
  stats.size = offsetof(struct keyroute_stats, misses);
  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  ck_assert_uint_eq(stats.hits, 0);
  ck_assert_uint_eq(stats.misses, 0xeeeeeeeeeeeeeeee);
  ck_assert_uint_eq(stats.size, offsetof(struct keyroute_stats, misses));

  stats.size = 0;
  ck_assert_int_eq(keyroute_stats(conn, &stats), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_stats(conn, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_stats(NULL, &stats), KEYROUTE_E_INVALID_ARGUMENT);
  close_clean(conn);
}
END_TEST

START_TEST(test_keyroute__version_is_three_numbers)
{
  int major, minor, patch;

  ck_assert_int_eq(sscanf(keyroute_version(), "%d.%d.%d", &major, &minor, &patch), 3);
}
END_TEST

START_TEST(test_keyroute__each_allocation_of_a_lookup_may_fail)
{
  struct keyroute_connection *conn = open_nowhere("10");
  struct keyroute_call call = CALL(.deadline_ms = 30, .flags = KEYROUTE_TRACE | KEYROUTE_AFTER);
  char row[400];

  memset(row, 'r', sizeof(row));
  for (long n = 1; n <= 40; n++) {
    struct keyroute_location *out = NULL;
    struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
    struct keyroute_bytes key = {row, sizeof(row)};

    mem_fail(n);
    int error = keyroute_locate(&out, conn, "t", key, &call, &detail);

    mem_fail(0);
    ck_assert_msg(error == KEYROUTE_E_NO_MEMORY || error == KEYROUTE_E_UNREACHABLE ||
                      error == KEYROUTE_E_TIMEOUT || error == KEYROUTE_E_BOOTSTRAP,
                  "allocation %ld: %s", n, keyroute_errname(error));
    ck_assert_ptr_null(out);
    keyroute_detail_clear(&detail);
  }
  close_clean(conn);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("keyroute");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests, test_keyroute__table_names_that_hbase_refuses_are_refused, 0,
                      (int)(sizeof(bad_tables) / sizeof(bad_tables[0])));
  tcase_add_test(tests, test_keyroute__null_arguments_are_refused);
  tcase_add_loop_test(tests, test_keyroute__calls_out_of_range_are_refused, 0,
                      (int)(sizeof(bad_calls) / sizeof(bad_calls[0])));
  tcase_add_loop_test(tests, test_keyroute__cache_only_on_a_cold_cache_is_not_cached, 0,
                      (int)(sizeof(good_calls) / sizeof(good_calls[0])));
  tcase_add_test(tests, test_keyroute__shorter_call_of_an_older_caller_has_defaults_behind_its_end);
  tcase_add_test(tests, test_keyroute__calls_that_block_refuse_to_run_in_a_peek_section);
  tcase_add_test(tests, test_keyroute__open_refuses_to_run_in_a_peek_section);
  tcase_add_test(tests, test_keyroute__open_without_descriptors_fails_and_nothing_else);
  tcase_add_test(tests, test_keyroute__callback_may_start_calls_but_not_block_or_close);
  tcase_add_test(tests, test_keyroute__nobody_at_the_root_is_unreachable_at_the_deadline);
  tcase_add_test(tests, test_keyroute__detail_too_small_for_a_trace_gets_none_and_leaks_none);
  tcase_add_test(tests, test_keyroute__refusal_writes_no_more_of_a_detail_than_its_size);
  tcase_add_test(tests, test_s095_cancel_ends_a_call_that_waits_for_its_next_try);
  tcase_add_test(tests, test_s110_close_ends_all_calls_with_closed);
  tcase_add_test(tests, test_s110_connections_come_and_go);
  tcase_add_test(tests, test_keyroute__two_spellings_of_a_name_are_one_table);
  tcase_add_test(tests, test_keyroute__peeking_at_many_rows_checks_its_arguments);
  tcase_add_test(tests, test_keyroute__clearing_checks_its_arguments);
  tcase_add_test(tests, test_keyroute__stats_write_as_much_as_the_caller_has_room_for);
  tcase_add_test(tests, test_keyroute__version_is_three_numbers);
  tcase_add_test(tests, test_keyroute__each_allocation_of_a_lookup_may_fail);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
