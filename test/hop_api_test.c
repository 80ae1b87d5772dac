/*
 * The public calls of the last hop, each of them in the same places: what they refuse and with what
 * reason, where they may not be made, and that what is refused is neither sent nor called back.
 * What each of them brings is its own test's.
 */
#include "test/failing_mem.h"
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static struct hop_world world;
static struct keyroute_detail detail;

static void setup(void)
{
  hop_world_start(&world, &failing_allocator);
  hop_world_put(&world, "apple", "red");
  hop_world_open(&world);
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}

static void teardown(void)
{
  keyroute_detail_clear(&detail);
  hop_world_stop(&world);
  ck_assert_int_eq(mem_live(), 0);
}

/* ---- The calls, all alike -------------------------------------------------------------------- */

/* What is asked for; what is left out is good. */
struct asked {
  const char *table; /* NULL = "t" */
  const struct keyroute_call *call;
  bool no_table, no_conn, no_out, no_cb;
};

static const char *table_of(const struct asked *asked)
{
  return asked->no_table ? NULL : asked->table != NULL ? asked->table : "t";
}

static struct keyroute_connection *conn_of(const struct asked *asked)
{
  return asked->no_conn ? NULL : world.cluster.conn;
}

static struct keyroute_method method(void)
{
  struct keyroute_method made = KEYROUTE_METHOD_INIT;

  made.name = "Mutate";
  return made;
}

static int get(const struct asked *asked)
{
  struct keyroute_result *result = NULL;
  int error = keyroute_get(asked->no_out ? NULL : &result, conn_of(asked), table_of(asked),
                           row("apple"), NULL, asked->call, &detail);

  ck_assert_int_eq(error == 0, result != NULL);
  keyroute_result_free(result);
  return error;
}

static int call(const struct asked *asked)
{
  struct keyroute_method made = method();
  struct keyroute_reply *reply = NULL;
  int error = keyroute_call(asked->no_out ? NULL : &reply, conn_of(asked), table_of(asked),
                            row("apple"), &made, asked->call, &detail);

  ck_assert_int_eq(error == 0, reply != NULL);
  keyroute_reply_free(reply);
  return error;
}

static struct keyroute_key key_of(const struct asked *asked)
{
  return (struct keyroute_key){table_of(asked), row("apple")};
}

/* Of many rows a failure is the row's own. */
static int get_many(const struct asked *asked)
{
  struct keyroute_key key = key_of(asked);
  struct keyroute_result *result = NULL;
  int error = keyroute_get_many(asked->no_out ? NULL : &result, conn_of(asked), &key, 1, NULL,
                                asked->call, &detail);

  ck_assert_int_eq(error == 0, result != NULL);
  keyroute_result_free(result);
  return error;
}

static int group(const struct asked *asked)
{
  struct keyroute_key key = key_of(asked);
  struct keyroute_groups *groups = NULL;
  int error =
      keyroute_group(asked->no_out ? NULL : &groups, conn_of(asked), &key, 1, asked->call, &detail);

  ck_assert_int_eq(error == 0, groups != NULL);
  keyroute_groups_free(groups);
  return error;
}

static int list(const struct asked *asked)
{
  struct keyroute_page *page = NULL;
  int error = keyroute_regions(asked->no_out ? NULL : &page, conn_of(asked), table_of(asked),
                               row(""), row(""), 0, asked->call, &detail);

  ck_assert_int_eq(error == 0, page != NULL);
  keyroute_page_free(page);
  return error;
}

/* What callbacks were told. */
static atomic_int answers, last_error;
static void (*in_callback)(void);

static void note(int error, bool something, const struct keyroute_detail *about)
{
  ck_assert_int_eq(error == 0, something);
  ck_assert_int_eq(about->error, error);
  atomic_store(&last_error, error);
  if (in_callback != NULL) {
    in_callback();
  }
  atomic_fetch_add(&answers, 1);
}

static void note_result(void *payload, int error, struct keyroute_result *result,
                        const struct keyroute_detail *about)
{
  ck_assert_ptr_eq(payload, &world);
  keyroute_result_free(result);
  note(error, result != NULL, about);
}

static void note_reply(void *payload, int error, struct keyroute_reply *reply,
                       const struct keyroute_detail *about)
{
  ck_assert_ptr_eq(payload, &world);
  keyroute_reply_free(reply);
  note(error, reply != NULL, about);
}

static void note_groups(void *payload, int error, struct keyroute_groups *groups,
                        const struct keyroute_detail *about)
{
  ck_assert_ptr_eq(payload, &world);
  keyroute_groups_free(groups);
  note(error, groups != NULL, about);
}

static void note_page(void *payload, int error, struct keyroute_page *page,
                      const struct keyroute_detail *about)
{
  ck_assert_ptr_eq(payload, &world);
  keyroute_page_free(page);
  note(error, page != NULL, about);
}

static int get_async(const struct asked *asked)
{
  return keyroute_get_async(NULL, conn_of(asked), table_of(asked), row("apple"), NULL, asked->call,
                            asked->no_cb ? NULL : note_result, &world);
}

static int call_async(const struct asked *asked)
{
  struct keyroute_method made = method();

  return keyroute_call_async(NULL, conn_of(asked), table_of(asked), row("apple"), &made,
                             asked->call, asked->no_cb ? NULL : note_reply, &world);
}

static int get_many_async(const struct asked *asked)
{
  struct keyroute_key key = key_of(asked);

  return keyroute_get_many_async(NULL, conn_of(asked), &key, 1, NULL, asked->call,
                                 asked->no_cb ? NULL : note_result, &world);
}

static int group_async(const struct asked *asked)
{
  struct keyroute_key key = key_of(asked);

  return keyroute_group_async(NULL, conn_of(asked), &key, 1, asked->call,
                              asked->no_cb ? NULL : note_groups, &world);
}

static int list_async(const struct asked *asked)
{
  return keyroute_regions_async(NULL, conn_of(asked), table_of(asked), row(""), row(""), 0,
                                asked->call, asked->no_cb ? NULL : note_page, &world);
}

static const struct kind {
  const char *name;
  int (*wait)(const struct asked *asked);
  int (*start)(const struct asked *asked);
} kinds[] = {
    {"get", get, get_async},
    {"call", call, call_async},
    {"get_many", get_many, get_many_async},
    {"group", group, group_async},
    {"regions", list, list_async},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct asked good;

static void await_answers(int count)
{
  while (atomic_load(&answers) < count) {
    pause_ms(1);
  }
}

static uint64_t rpcs(void)
{
  return fake_cluster_stats(&world.cluster).rpcs;
}

/* ---- What is refused ------------------------------------------------------------------------- */

static void expect_refused(const struct kind *kind, const struct asked *asked, const char *reason)
{
  ck_assert_msg(kind->wait(asked) == KEYROUTE_E_INVALID_ARGUMENT, "%s", kind->name);
  ck_assert_int_eq(detail.error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_msg(strstr(detail.message, reason) != NULL, "%s: %s", kind->name, detail.message);
  ck_assert_msg(kind->start(asked) == KEYROUTE_E_INVALID_ARGUMENT, "%s", kind->name);
  ck_assert_uint_eq(rpcs(), 0);
  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).pending, 0);
}

START_TEST(test_hop_api__null_is_refused)
{
  struct asked no_conn = {.no_conn = true}, no_table = {.no_table = true};
  struct asked no_out = {.no_out = true}, no_cb = {.no_cb = true};
  const struct kind *kind = &kinds[_i];

  expect_refused(kind, &no_conn, "connection is NULL");
  expect_refused(kind, &no_table, "table");
  ck_assert_int_eq(kind->wait(&no_out), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "out is NULL"));
  ck_assert_int_eq(kind->start(&no_cb), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(answers, 0);
}
END_TEST

static const char *const bad_names[] = {"", ":t", "a:b:c", ".t", "t t", "t,", "t\xff"};

START_TEST(test_hop_api__name_that_hbase_would_refuse_is_refused)
{
  for (size_t i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++) {
    struct asked asked = {.table = bad_names[i]};

    expect_refused(&kinds[_i], &asked, "table name");
  }
}
END_TEST

static const struct {
  struct keyroute_call call;
  const char *reason;
} bad_calls[] = {
    {{0, 0, 0, 0}, "size"},
    {{sizeof(struct keyroute_call), -1, 0, 0}, "deadline is -1,"},
    {{sizeof(struct keyroute_call), 86400001, 0, 0}, "deadline"},
    {{sizeof(struct keyroute_call), 0, 0x80000010u, 0}, "flags 0x80000000"},
    {{sizeof(struct keyroute_call), 0, KEYROUTE_BEFORE, 0}, "flags 0x4"},
    {{sizeof(struct keyroute_call), 0, KEYROUTE_AFTER | KEYROUTE_TRACE, 0}, "flags 0x8"},
    {{sizeof(struct keyroute_call), 0, 0, -2}, "replica"},
    {{sizeof(struct keyroute_call), 0, 0, 255}, "replica"},
};

START_TEST(test_hop_api__call_that_makes_no_sense_is_refused_with_the_reason)
{
  for (size_t i = 0; i < sizeof(bad_calls) / sizeof(bad_calls[0]); i++) {
    struct asked asked = {.call = &bad_calls[i].call};

    expect_refused(&kinds[_i], &asked, bad_calls[i].reason);
  }
}
END_TEST

/* As an application would be that was built when these structures were smaller. */
START_TEST(test_hop_api__fields_behind_a_calls_size_are_not_read)
{
  struct keyroute_call older = {offsetof(struct keyroute_call, flags), PATIENCE_MS, ~0u, 999};
  struct asked asked = {.call = &older};

  ck_assert_int_eq(kinds[_i].wait(&asked), 0);
  ck_assert_int_eq(kinds[_i].start(&asked), 0);
  await_answers(1);
  ck_assert_int_eq(last_error, 0);
}
END_TEST

START_TEST(test_hop_api__no_more_of_a_detail_is_written_than_its_size)
{
  struct asked asked = {.table = "absent"};

  memset(&detail, 0x5a, sizeof(detail));
  detail.size = offsetof(struct keyroute_detail, server);
  int error = kinds[_i].wait(&asked);

  ck_assert(error == 0 || error == KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_int_eq(detail.error, error);
  ck_assert_int_eq(detail.server[0], 0x5a);
  ck_assert_int_eq(detail.message[0], 0x5a);
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}
END_TEST

START_TEST(test_hop_api__fields_behind_a_methods_size_are_not_read)
{
  struct keyroute_method older = method();
  struct keyroute_reply *reply = NULL;

  older.size = offsetof(struct keyroute_method, cells);
  older.cells = (struct keyroute_bytes){NULL, 99};

  ck_assert_int_eq(
      keyroute_call(&reply, world.cluster.conn, "t", row("apple"), &older, NULL, &detail), 0);
  keyroute_reply_free(reply);
}
END_TEST

START_TEST(test_hop_api__method_that_makes_no_sense_is_refused_with_the_reason)
{
  char name[102];
  struct keyroute_method too_long = method(), no_cells = method(), empty = method();
  struct keyroute_reply *reply = NULL;
  struct keyroute_bytes no_data = {NULL, 3};
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  memset(name, 'x', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  too_long.name = name;
  no_cells.cells = no_data;
  empty.name = "";

  struct keyroute_connection *conn = world.cluster.conn;

  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row("a"), &too_long, NULL, &detail), invalid);
  ck_assert_ptr_nonnull(strstr(detail.message, "name"));
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row("a"), &empty, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row("a"), &no_cells, NULL, &detail), invalid);
  ck_assert_ptr_nonnull(strstr(detail.message, "cells"));
  too_long.name = name + 1;
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", no_data, &too_long, NULL, &detail), invalid);
  ck_assert_ptr_nonnull(strstr(detail.message, "row"));
  ck_assert_uint_eq(rpcs(), 0);
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row(""), &too_long, NULL, &detail), 0);
  keyroute_reply_free(reply);
}
END_TEST

START_TEST(test_hop_api__null_has_no_reply)
{
  ck_assert_uint_eq(keyroute_reply_message(NULL).len, 0);
  ck_assert_uint_eq(keyroute_reply_cells(NULL).len, 0);
  ck_assert_ptr_null(keyroute_reply_location(NULL));
  keyroute_reply_free(NULL);
}
END_TEST

START_TEST(test_hop_api__reply_outlives_its_connection)
{
  struct keyroute_method made = method();
  struct keyroute_reply *reply = NULL;

  ck_assert_int_eq(keyroute_call(&reply, world.cluster.conn, "t", row("z"), &made, NULL, NULL), 0);
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  ck_assert_int_eq(keyroute_location_port(keyroute_reply_location(reply), 0),
                   fake_server_port(world.servers[1]));
  keyroute_reply_free(reply);
}
END_TEST

/* ---- Where it may not be made ---------------------------------------------------------------- */

static const struct kind *tried;
static atomic_int tried_wait, tried_start, tried_close;

static void try_all(void)
{
  in_callback = NULL;
  atomic_store(&tried_wait, tried->wait(&good));
  atomic_store(&tried_close, keyroute_close(world.cluster.conn));
  atomic_store(&tried_start, tried->start(&good));
}

START_TEST(test_hop_api__callback_may_start_calls_but_neither_block_nor_close)
{
  tried = &kinds[_i];
  in_callback = try_all;
  ck_assert_int_eq(tried->start(&good), 0);
  await_answers(2);

  ck_assert_int_eq(tried_wait, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(tried_close, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(tried_start, 0);
  ck_assert_int_eq(last_error, 0);
  ck_assert_ptr_nonnull(strstr(detail.message, "callback"));
}
END_TEST

START_TEST(test_hop_api__peek_section_may_start_calls_but_not_block)
{
  tried = &kinds[_i];
  keyroute_peek_begin();
  try_all();
  keyroute_peek_end();
  await_answers(1);

  ck_assert_int_eq(tried_wait, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(tried_start, 0);
  ck_assert_int_eq(last_error, 0);
  ck_assert_ptr_nonnull(strstr(detail.message, "peek section"));
}
END_TEST

START_TEST(test_hop_api__callback_of_a_closing_connection_starts_nothing)
{
  tried = &kinds[_i];
  in_callback = try_all;
  for (int i = 0; i < HOP_SERVERS; i++) {
    fake_server_set_silent(world.servers[i], true);
  }
  fake_server_set_silent(world.cluster.server, true);
  ck_assert_int_eq(tried->start(&good), 0);
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  ck_assert_int_eq(answers, 1);
  ck_assert_int_eq(last_error, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(tried_start, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(tried_wait, KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

/* ---- Bounds and ends ------------------------------------------------------------------------- */

static void silence(void)
{
  fake_server_set_silent(world.cluster.server, true);
  for (int i = 0; i < HOP_SERVERS; i++) {
    fake_server_set_silent(world.servers[i], true);
  }
}

START_TEST(test_hop_api__calls_beyond_the_bound_are_refused_and_counted)
{
  keyroute_close(world.cluster.conn);
  fake_cluster_set(&world.cluster, "keyroute.max.pending", "2");
  hop_world_open(&world);
  silence();
  ck_assert_int_eq(kinds[_i].start(&good), 0);
  ck_assert_int_eq(kinds[_i].start(&good), 0);

  ck_assert_int_eq(kinds[_i].start(&good), KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(kinds[_i].wait(&good), KEYROUTE_E_OVERLOADED);
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute.max.pending, 2"));
  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).pending, 2);
  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).refused, 2);
}
END_TEST

static void *wait_for_answer(void *arg)
{
  atomic_store((atomic_int *)arg, tried->wait(&good));
  return NULL;
}

START_TEST(test_hop_api__close_ends_a_waiting_thread)
{
  pthread_t thread;
  atomic_int error = 0;

  tried = &kinds[_i];
  silence();
  ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_answer, &error), 0);
  while (fake_cluster_stats(&world.cluster).pending == 0) {
    pause_ms(1);
  }
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;
  pthread_join(thread, NULL);

  ck_assert_int_eq(error, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_hop_api__trace_that_nobody_takes_is_not_left)
{
  struct keyroute_call traced = {sizeof(traced), PATIENCE_MS, KEYROUTE_TRACE, 0};
  struct asked asked = {.call = &traced};

  detail.size = offsetof(struct keyroute_detail, trace);
  ck_assert_int_eq(kinds[_i].wait(&asked), 0);
  ck_assert_int_eq(kinds[_i].start(&asked), 0);
  await_answers(1);

  detail.size = sizeof(detail);
  ck_assert_ptr_null(detail.trace);
}
END_TEST

/* Every allocation from opening to closing. */
START_TEST(test_hop_api__every_allocation_may_fail)
{
  bool failed = true;

  for (long n = 1; failed; n++) {
    mem_fail(n);
    int error = kinds[_i].wait(&good);
    int started = kinds[_i].start(&good);

    ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_msg(error == 0 || failed, "%s: %s", keyroute_errname(error), detail.message);
    ck_assert(started == 0 || started == KEYROUTE_E_NO_MEMORY);
    hop_world_open(&world);
  }
}
END_TEST

static void add_for_each_kind(TCase *tests)
{
  tcase_add_loop_test(tests, test_hop_api__null_is_refused, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__name_that_hbase_would_refuse_is_refused, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__call_that_makes_no_sense_is_refused_with_the_reason, 0,
                      KINDS);
  tcase_add_loop_test(tests, test_hop_api__fields_behind_a_calls_size_are_not_read, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__no_more_of_a_detail_is_written_than_its_size, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__callback_may_start_calls_but_neither_block_nor_close, 0,
                      KINDS);
  tcase_add_loop_test(tests, test_hop_api__peek_section_may_start_calls_but_not_block, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__callback_of_a_closing_connection_starts_nothing, 0,
                      KINDS);
  tcase_add_loop_test(tests, test_hop_api__calls_beyond_the_bound_are_refused_and_counted, 0,
                      KINDS);
  tcase_add_loop_test(tests, test_hop_api__close_ends_a_waiting_thread, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__trace_that_nobody_takes_is_not_left, 0, KINDS);
  tcase_add_loop_test(tests, test_hop_api__every_allocation_may_fail, 0, KINDS);
}

int main(void)
{
  Suite *suite = suite_create("hop_api");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 240);
  add_for_each_kind(tests);
  tcase_add_test(tests, test_hop_api__fields_behind_a_methods_size_are_not_read);
  tcase_add_test(tests, test_hop_api__method_that_makes_no_sense_is_refused_with_the_reason);
  tcase_add_test(tests, test_hop_api__null_has_no_reply);
  tcase_add_test(tests, test_hop_api__reply_outlives_its_connection);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
