/* The transport for HBase reading rows and sending other methods, against the scripted region
 * server, in one thread without a network. Scans, sockets and time: transport_hbase_test.c. */
#include "lib/transport_hbase.h"

#include "lib/exception.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/fake_server.h"
#include "test/fuzz/fake_socket.h"
#include "test/made_cells.h"
#include "test/run_suite.h"

#include <stdlib.h>

enum { ROWS = 4, REGIONS = 2, TIMEOUT_MS = 5000 };

#define NOT_SERVING "org.apache.hadoop.hbase.NotServingRegionException"
#define BUSY "org.apache.hadoop.hbase.RegionTooBusyException"

static struct kr_mem *mem, *other_mem;
static struct kr_loop *loop;
static struct kr_stats *stats;
static struct kr_settings settings;
static struct kr_transport *transport;
static struct fake_server *server;

/* Region 0 holds the rows a and b, region 1 the rows n and o; row o does not exist. */
static const struct fake_region hosted[REGIONS] = {
    {.table = "t", .start = {"", 0}, .end = {"m", 1}, .id = 1},
    {.table = "t", .start = {"m", 1}, .end = {"", 0}, .id = 2},
};

/* ---- The network ----------------------------------------------------------------------------- */

static void peer_connects(struct kr_socket *socket, const char *host, int port)
{
  (void)host;
  (void)port;
  *fake_socket_number(socket) = fake_server_accept(server);
  fake_socket_open_later(socket, 0);
}

static void peer_receives(struct kr_socket *socket, struct keyroute_bytes bytes)
{
  bool closes = false;
  struct keyroute_bytes answer;

  while (!closes) {
    answer = fake_server_exchange(server, *fake_socket_number(socket), bytes, &closes);
    if (answer.data == NULL) {
      break;
    }
    if (answer.len > 0) {
      fake_socket_send_later(socket, 0, answer);
    }
    free((void *)(uintptr_t)answer.data);
    bytes.len = 0;
  }
  if (closes) {
    *fake_socket_number(socket) = 0;
    fake_socket_end_later(socket, 0);
  }
}

static void peer_forgets(struct kr_socket *socket)
{
  if (*fake_socket_number(socket) != 0) {
    fake_server_hang_up(server, *fake_socket_number(socket));
  }
}

static const struct fake_peer peer = {peer_connects, peer_receives, peer_forgets};

/* ---- The client ------------------------------------------------------------------------------ */

/* One request and what came of it. */
struct asked {
  struct kr_request *request;
  unsigned answers;
  struct kr_failure failure;
  struct kr_cell_block *block;
  struct kr_got_row rows[ROWS];
  struct kr_failure failures[ROWS];
  size_t row_count, len;
  char message[64], cells[64];
};

static struct kr_read read_of;
static struct keyroute_bytes names[REGIONS];

static void open_client(void)
{
  mem = failing_mem_new();
  fake_socket_set_peer(&peer);
  ck_assert_int_eq(kr_transport_hbase_new(&transport, mem, loop, NULL, &settings, stats), 0);
}

static void close_client(void)
{
  transport->ops->shutdown(transport);
  fake_clock_pass_ms(0);
  transport->ops->free(transport);
  ck_assert_uint_eq(fake_socket_count(), 0);
  failing_mem_done(mem);
}

static void setup(void)
{
  static const char *const rows[] = {"a", "b", "n"};

  other_mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, other_mem), 0);
  stats = kr_stats_new(other_mem);
  settings.user = (char *)"tester";
  settings.connect_timeout_ms = 5000;
  settings.connection_idle_ms = 60000;
  settings.max_frame_len = 1 << 20;
  settings.max_queue_len = 1 << 20;
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 1000};
  server = fake_server_new();
  for (size_t i = 0; i < REGIONS; i++) {
    fake_server_host_region(server, &hosted[i], 0);
    names[i] = fake_region_name(&hosted[i]);
  }
  for (size_t i = 0; i < 3; i++) {
    fake_server_put_row_cell(server, "t", keyroute_string(rows[i]), "f", "q", 5,
                             keyroute_string("v"));
  }
  open_client();
}

static void teardown(void)
{
  close_client();
  for (size_t i = 0; i < REGIONS; i++) {
    free((void *)(uintptr_t)names[i].data);
  }
  fake_server_free(server);
  kr_loop_free(loop);
  kr_stats_free(stats);
  kr_mem_release(other_mem);
}

static void got(void *arg, const struct kr_failure *failure, struct kr_got *what)
{
  struct asked *asked = arg;

  ck_assert((what != NULL) == (failure->code == 0));
  asked->answers++;
  asked->failure = *failure;
  if (what == NULL) {
    return;
  }
  asked->block = what->block;
  asked->row_count = what->row_count;
  asked->len = what->len;
  for (size_t i = 0; i < what->row_count; i++) {
    asked->rows[i] = what->rows[i];
    if (what->rows[i].failure != NULL) {
      asked->failures[i] = *what->rows[i].failure;
      asked->rows[i].failure = &asked->failures[i];
    }
  }
}

/* Start a read of the first `count` rows. All that may be copied is gone right after. */
static void start_get(struct asked *asked, size_t count)
{
  static const char *const texts[ROWS] = {"a", "b", "n", "o"};
  struct keyroute_bytes rows[ROWS];
  struct kr_get_region regions[REGIONS] = {{names[0], 0, count < 2 ? count : 2},
                                           {names[1], 2, count - 2}};
  struct kr_gets gets = {.read = &read_of,
                         .regions = regions,
                         .region_count = count > 2 ? 2 : 1,
                         .rows = rows,
                         .row_count = count};
  char room[ROWS];

  memset(asked, 0, sizeof(*asked));
  for (size_t i = 0; i < count; i++) {
    room[i] = texts[i][0];
    rows[i] = kr_bytes(&room[i], 1);
  }
  asked->request =
      transport->ops->get(transport, "rs1.example", 16020, &gets, TIMEOUT_MS, got, asked);
  memset(room, 'x', sizeof(room));
  memset(rows, 0, sizeof(rows));
  memset(regions, 0, sizeof(regions));
  memset(&gets, 0, sizeof(gets));
}

static void get(struct asked *asked, size_t count)
{
  start_get(asked, count);
  ck_assert_ptr_nonnull(asked->request);
  fake_clock_pass_ms(0);
  ck_assert_uint_eq(asked->answers, 1);
}

static void release(struct asked *asked)
{
  kr_free(mem, asked->block);
}

static void expect_read(const struct asked *asked, size_t row, const char *want)
{
  ck_assert_ptr_null(asked->rows[row].failure);
  ck_assert_uint_eq(asked->rows[row].cell_count, 1);
  expect_cell(asked->rows[row].cells, want);
}

static void expect_failed(const struct asked *asked, int code, const char *what)
{
  ck_assert_uint_eq(asked->answers, 1);
  ck_assert_int_eq(asked->failure.code, code);
  ck_assert_str_eq(asked->failure.server, MADE_SERVER);
  ck_assert(asked->failure.sent);
  ck_assert_msg(strstr(asked->failure.message, what) != NULL, "\"%s\" does not say \"%s\"",
                asked->failure.message, what);
}

static void fault(const char *method, enum fake_what what)
{
  fake_server_fault(server, &(struct fake_fault){.method = method, .what = what});
}

/* ---- Reading rows ---------------------------------------------------------------------------- */

START_TEST(test_transport_reads__one_row_is_a_get)
{
  const struct keyroute_column column = {keyroute_string("f"), keyroute_string("q")};
  struct asked asked;

  read_of.columns = &column;
  read_of.column_count = 1;
  fake_server_set_encoding(server, (enum fake_encoding)_i);
  get(&asked, 1);
  struct fake_seen_get seen = fake_server_last_get(server);

  ck_assert_int_eq(asked.failure.code, 0);
  ck_assert_uint_eq(asked.row_count, 1);
  ck_assert_uint_gt(asked.len, 0);
  expect_read(&asked, 0, "a/f:q@5=v");
  ck_assert_str_eq(seen.row, "a");
  ck_assert_str_eq(seen.columns, "f:q");
  ck_assert_uint_eq(seen.priority, 0);
  ck_assert_uint_eq(seen.timeout_ms, TIMEOUT_MS);
  ck_assert_uint_eq(fake_server_counts(server).multis, 0);
  release(&asked);
}
END_TEST

START_TEST(test_transport_reads__many_rows_are_one_multi)
{
  struct asked asked;

  fake_server_set_encoding(server, (enum fake_encoding)_i);
  fault("Multi", FAKE_ANY_ORDER);
  get(&asked, ROWS);
  struct fake_seen_multi seen = fake_server_last_multi(server);

  ck_assert_int_eq(asked.failure.code, 0);
  ck_assert_uint_eq(asked.row_count, ROWS);
  expect_read(&asked, 0, "a/f:q@5=v");
  expect_read(&asked, 1, "b/f:q@5=v");
  expect_read(&asked, 2, "n/f:q@5=v");
  ck_assert_ptr_null(asked.rows[3].failure);
  ck_assert_uint_eq(asked.rows[3].cell_count, 0);
  ck_assert_uint_eq(seen.regions, REGIONS);
  ck_assert_uint_eq(seen.rows, ROWS);
  ck_assert_uint_eq(fake_server_counts(server).multis, 1);
  ck_assert_uint_eq(fake_server_counts(server).gets, 0);
  release(&asked);
}
END_TEST

START_TEST(test_transport_reads__rows_outlive_the_transport)
{
  struct asked asked;

  get(&asked, ROWS);
  transport->ops->shutdown(transport);

  expect_read(&asked, 2, "n/f:q@5=v");
  release(&asked);
}
END_TEST

START_TEST(test_transport_reads__exception_fails_the_read_and_the_connection_stays)
{
  struct asked bad, good;

  fake_server_fault(server, &(struct fake_fault){.method = "Get",
                                                 .what = FAKE_EXCEPTION,
                                                 .class_name = NOT_SERVING,
                                                 .text = "t,,1 is not online"});
  get(&bad, 1);
  get(&good, 1);

  expect_failed(&bad, KEYROUTE_E_REMOTE, "server " MADE_SERVER ": NotServingRegionException: t,,1");
  ck_assert(bad.failure.refused);
  expect_read(&good, 0, "a/f:q@5=v");
  ck_assert_uint_eq(fake_server_counts(server).connects, 1);
  release(&good);
}
END_TEST

START_TEST(test_transport_reads__place_of_a_region_that_moved_is_in_the_failure)
{
  struct asked one, many;

  fake_server_move_region(server, &hosted[0], "rs2.example", 16021, 78, 12);
  get(&one, 1);
  get(&many, ROWS);

  ck_assert_int_eq(one.failure.kind, KEYROUTE_KIND_HINT);
  ck_assert_str_eq(one.failure.moved.host, "rs2.example");
  ck_assert_ptr_nonnull(many.rows[1].failure);
  const struct kr_place *moved = &many.rows[1].failure->moved;

  ck_assert_str_eq(moved->host, "rs2.example");
  ck_assert_uint_eq(moved->port, 16021);
  ck_assert_int_eq(moved->start_code, 78);
  ck_assert_int_eq(moved->seqnum, 12);
  expect_read(&many, 2, "n/f:q@5=v");
  release(&many);
}
END_TEST

START_TEST(test_transport_reads__row_with_an_exception_fails_alone)
{
  struct asked asked;

  fake_server_fault(server, &(struct fake_fault){.method = "Multi",
                                                 .what = FAKE_EXCEPTION,
                                                 .class_name = BUSY,
                                                 .text = "busy",
                                                 .row = keyroute_string("b")});
  get(&asked, ROWS);

  expect_read(&asked, 0, "a/f:q@5=v");
  ck_assert_int_eq(asked.failures[1].code, KEYROUTE_E_OVERLOADED);
  ck_assert_str_eq(asked.failures[1].server, MADE_SERVER);
  expect_read(&asked, 2, "n/f:q@5=v");
  release(&asked);
}
END_TEST

static const struct {
  const char *method;
  enum fake_what what;
} faults[] = {
    {"Get", FAKE_NO_RESULT},       {"Get", FAKE_BAD_MESSAGE},
    {"Get", FAKE_BAD_COUNTS},      {"Get", FAKE_SPARE_BYTES},
    {"Multi", FAKE_NO_RESULT},     {"Multi", FAKE_BAD_MESSAGE},
    {"Multi", FAKE_BAD_COUNTS},    {"Multi", FAKE_SPARE_BYTES},
    {"Multi", FAKE_FEWER_REGIONS}, {"Multi", FAKE_MORE_REGIONS},
    {"Multi", FAKE_LOST_RESULT},   {"Multi", FAKE_INDEX_TWICE},
    {"Multi", FAKE_WRONG_INDEX},   {"Multi", FAKE_RESULT_AND_EXCEPTION},
};

enum { FAULTS = (int)(sizeof(faults) / sizeof(faults[0])) };

START_TEST(test_transport_reads__answer_not_believed_is_told_and_the_next_read_reconnects)
{
  size_t count = strcmp(faults[_i].method, "Get") == 0 ? 1 : ROWS;
  struct asked bad, good;

  fake_server_fault(server, &(struct fake_fault){.method = faults[_i].method,
                                                 .what = faults[_i].what,
                                                 .class_name = BUSY});
  get(&bad, count);
  get(&good, count);

  expect_failed(&bad, KEYROUTE_E_PROTOCOL, "server " MADE_SERVER ": answer to ");
  ck_assert_int_eq(good.failure.code, 0);
  ck_assert_uint_eq(fake_server_counts(server).connects, 2);
  release(&good);
}
END_TEST

START_TEST(test_transport_reads__row_over_the_limit_fails_alone)
{
  struct asked one, many;

  fake_server_put_row_cell(server, "t", keyroute_string("a"), "f", "q", 6,
                           keyroute_string("a longer value"));
  read_of.max_result_len = 10;
  get(&one, 1);
  get(&many, ROWS);

  ck_assert_int_eq(one.failure.code, 0);
  ck_assert_int_eq(one.failures[0].code, KEYROUTE_E_TOO_LARGE);
  ck_assert_int_eq(many.failures[0].code, KEYROUTE_E_TOO_LARGE);
  expect_read(&many, 1, "b/f:q@5=v");
  release(&one);
  release(&many);
}
END_TEST

START_TEST(test_transport_reads__answer_over_the_limit_is_too_large_and_the_connection_stays)
{
  static const char value[3000];
  struct asked large, good;

  fake_server_put_row_cell(server, "t", keyroute_string("n"), "f", "q", 6,
                           kr_bytes(value, sizeof(value)));
  settings.max_frame_len = 2000;
  get(&large, ROWS);
  get(&good, 2);

  expect_failed(&large, KEYROUTE_E_TOO_LARGE, "over the limit of 2000 (keyroute.frame.max.bytes)");
  expect_read(&good, 1, "b/f:q@5=v");
  ck_assert_uint_eq(fake_server_counts(server).connects, 1);
  release(&good);
}
END_TEST

/* ---- Other methods --------------------------------------------------------------------------- */

static void replied(void *arg, const struct kr_failure *failure, struct keyroute_bytes message,
                    struct keyroute_bytes cells)
{
  struct asked *asked = arg;

  asked->answers++;
  asked->failure = *failure;
  snprintf(asked->message, sizeof(asked->message), "%.*s", (int)message.len,
           (const char *)message.data);
  snprintf(asked->cells, sizeof(asked->cells), "%.*s", (int)cells.len, (const char *)cells.data);
}

static void start_call(struct asked *asked)
{
  struct kr_method method = {.name = "Mutate",
                             .region = names[1],
                             .param = kr_bytes("\x12\x02hi", 4),
                             .cells = keyroute_string("block")};

  memset(asked, 0, sizeof(*asked));
  asked->request =
      transport->ops->call(transport, "rs1.example", 16020, &method, TIMEOUT_MS, replied, asked);
  memset(&method, 0, sizeof(method));
}

START_TEST(test_transport_reads__call_carries_region_message_and_cells_both_ways)
{
  struct asked asked;

  fake_server_answer_method(server, "Mutate", keyroute_string("done"), keyroute_string("cells"));
  start_call(&asked);
  fake_clock_pass_ms(0);
  struct fake_seen_call seen = fake_server_last_call(server);

  ck_assert_uint_eq(asked.answers, 1);
  ck_assert_int_eq(asked.failure.code, 0);
  ck_assert_str_eq(asked.message, "done");
  ck_assert_str_eq(asked.cells, "cells");
  ck_assert_str_eq(seen.method, "Mutate");
  ck_assert_uint_eq(seen.cells_len, 5);
  ck_assert_int_eq(memcmp(seen.cells, "block", 5), 0);
  ck_assert_uint_ge(seen.param_len, 4);
  ck_assert_int_eq(memcmp(seen.param + seen.param_len - 4, "\x12\x02hi", 4), 0);
  ck_assert_uint_eq(seen.priority, 0);
}
END_TEST

START_TEST(test_transport_reads__call_that_failed_says_whether_it_was_sent)
{
  struct asked asked;

  fault("Mutate", FAKE_APPLY_CLOSE);
  start_call(&asked);
  fake_clock_pass_ms(0);

  expect_failed(&asked, KEYROUTE_E_UNREACHABLE, "server");
  ck_assert(!asked.failure.refused);
  ck_assert_str_eq(asked.message, "");
}
END_TEST

/* ---- Leaving early --------------------------------------------------------------------------- */

START_TEST(test_transport_reads__cancelled_request_is_not_answered)
{
  struct asked one, many, call;

  start_get(&one, 1);
  start_get(&many, ROWS);
  start_call(&call);
  transport->ops->cancel(transport, one.request);
  fake_clock_pass_ms(0);
  ck_assert_uint_eq(many.answers, 1);
  fault("*", FAKE_NEVER);
  fault("*", FAKE_NEVER);
  release(&many);
  start_get(&many, ROWS);
  start_call(&call);
  fake_clock_pass_ms(0);
  transport->ops->cancel(transport, many.request);
  transport->ops->cancel(transport, call.request);
  fake_clock_pass_ms(0);

  ck_assert_uint_eq(one.answers + many.answers + call.answers, 0);
}
END_TEST

START_TEST(test_transport_reads__shutdown_ends_each_kind)
{
  struct asked one, many, call;

  start_get(&one, 1);
  start_get(&many, ROWS);
  start_call(&call);
  transport->ops->shutdown(transport);

  ck_assert_int_eq(one.failure.code, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(many.failure.code, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(call.failure.code, KEYROUTE_E_CLOSED);
  ck_assert(!one.failure.sent);
}
END_TEST

static void start_kind(struct asked *asked, int kind)
{
  if (kind == 2) {
    start_call(asked);
  } else {
    start_get(asked, kind == 0 ? 1 : ROWS);
  }
}

START_TEST(test_transport_reads__each_failed_allocation_is_survived)
{
  bool failed = true;

  fake_server_set_encoding(server, FAKE_INLINE);
  for (long n = 1; failed; n++) {
    struct asked asked;

    close_client();
    open_client();
    mem_fail(n);
    start_kind(&asked, _i);
    fake_clock_pass_ms(0);
    fake_clock_pass_ms(TIMEOUT_MS);
    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_uint_eq(asked.answers, asked.request != NULL ? 1 : 0);
    ck_assert(failed || asked.failure.code == 0);
    release(&asked);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("transport_reads");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_loop_test(tcase, test_transport_reads__one_row_is_a_get, 0, 3);
  tcase_add_loop_test(tcase, test_transport_reads__many_rows_are_one_multi, 0, 3);
  tcase_add_test(tcase, test_transport_reads__rows_outlive_the_transport);
  tcase_add_test(tcase, test_transport_reads__exception_fails_the_read_and_the_connection_stays);
  tcase_add_test(tcase, test_transport_reads__place_of_a_region_that_moved_is_in_the_failure);
  tcase_add_test(tcase, test_transport_reads__row_with_an_exception_fails_alone);
  tcase_add_loop_test(
      tcase, test_transport_reads__answer_not_believed_is_told_and_the_next_read_reconnects, 0,
      FAULTS);
  tcase_add_test(tcase, test_transport_reads__row_over_the_limit_fails_alone);
  tcase_add_test(tcase,
                 test_transport_reads__answer_over_the_limit_is_too_large_and_the_connection_stays);
  tcase_add_test(tcase, test_transport_reads__call_carries_region_message_and_cells_both_ways);
  tcase_add_test(tcase, test_transport_reads__call_that_failed_says_whether_it_was_sent);
  tcase_add_test(tcase, test_transport_reads__cancelled_request_is_not_answered);
  tcase_add_test(tcase, test_transport_reads__shutdown_ends_each_kind);
  tcase_add_loop_test(tcase, test_transport_reads__each_failed_allocation_is_survived, 0, 3);

  return run_suite(suite);
}
