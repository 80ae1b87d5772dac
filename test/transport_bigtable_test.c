/* The transport for range directories over a module whose calls a test answers by hand, in one
 * thread. Against a real gRPC client: range_hop_test.c. */
#include "lib/transport_bigtable.h"

#include "lib/proto/bigtable.pb-c.h"
#include "lib/proto_alloc.h"
#include "test/failing_mem.h"
#include "test/fake_module.h"
#include "test/fake_loop.h"
#include "test/made_chunks.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

#define INSTANCE "projects/p/instances/i"
#define READ_ROWS "/google.bigtable.v2.Bigtable/ReadRows"

enum { ROWS = 4, TIMEOUT_MS = 5000, UNAVAILABLE = 14, NOT_FOUND = 5 };

static struct kr_mem *mem, *other_mem;
static struct kr_loop *loop;
static struct kr_stats *stats;
static struct kr_settings settings;
static struct kr_transport *transport;
static struct kr_buf made;

/* ---- The client ------------------------------------------------------------------------------ */

/* One request and what came of it. */
struct asked {
  struct kr_request *request;
  unsigned answers;
  struct kr_failure failure;
  size_t row_count, len;
  char text[400]; /* rows and cells as "key/f:q@ts=v ..."; of a call, the message */
  struct kr_failure failures[ROWS];
  struct kr_cell_block *block;
};

static struct kr_read read_of;
static const struct kr_get_region regions[] = {
    {{"map,,7.r11.", 11}, 0, 2},
    {{"map,m,8.r12.", 12}, 2, 2},
};
static const struct keyroute_bytes rows[] = {{"a", 1}, {"b", 1}, {"n", 1}, {"o", 1}};

static void open_client(void)
{
  mem = failing_mem_new();
  settings.mem = mem;
  kr_buf_init(&made, other_mem);
  ck_assert_int_eq(kr_transport_bigtable_new(&transport, mem, loop, INSTANCE, &settings, stats,
                                             &fake_module, NULL),
                   0);
}

static void close_client(void)
{
  transport->ops->shutdown(transport);
  fake_loop_run();
  transport->ops->free(transport);
  kr_buf_clear(&made);
  failing_mem_done(mem);
}

static void setup(void)
{
  other_mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, other_mem), 0);
  stats = kr_stats_new(other_mem);
  settings.connect_timeout_ms = 4000;
  settings.connection_idle_ms = 60000;
  settings.grpc_keepalive_ms = 30000;
  settings.max_frame_len = 1 << 16;
  settings.max_queue_len = 1 << 16;
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 1000};
  open_client();
}

static void teardown(void)
{
  close_client();
  kr_loop_free(loop);
  kr_stats_free(stats);
  kr_mem_release(other_mem);
}

static void add_text(struct asked *asked, struct keyroute_bytes row, struct keyroute_bytes family,
                     struct keyroute_bytes qualifier, int64_t timestamp,
                     struct keyroute_bytes value)
{
  size_t len = strlen(asked->text);

  snprintf(asked->text + len, sizeof(asked->text) - len, "%s%.*s/%.*s:%.*s@%lld=%.*s",
           len > 0 ? " " : "", (int)row.len, (const char *)row.data, (int)family.len,
           (const char *)family.data, (int)qualifier.len, (const char *)qualifier.data,
           (long long)timestamp, (int)value.len, (const char *)value.data);
}

static void scanned(void *arg, const struct kr_failure *failure, const struct kr_rows *answer)
{
  struct asked *asked = arg;

  asked->answers++;
  asked->failure = *failure;
  asked->row_count = answer->count;
  for (size_t i = 0; i < answer->count; i++) {
    for (size_t k = 0; k < answer->rows[i].cell_count; k++) {
      const struct kr_cell *cell = &answer->rows[i].cells[k];

      ck_assert(kr_bytes_equal(cell->row, answer->rows[i].key));
      ck_assert_int_eq(cell->type, 4);
      add_text(asked, cell->row, cell->family, cell->qualifier, cell->timestamp, cell->value);
    }
  }
}

static void got(void *arg, const struct kr_failure *failure, struct kr_got *answer)
{
  struct asked *asked = arg;

  asked->answers++;
  asked->failure = *failure;
  ck_assert((failure->code != 0) == (answer == NULL));
  if (answer == NULL) {
    return;
  }
  asked->row_count = answer->row_count;
  asked->len = answer->len;
  asked->block = answer->block;
  for (size_t i = 0; i < answer->row_count; i++) {
    const struct kr_got_row *row = &answer->rows[i];

    if (row->failure != NULL) {
      asked->failures[i] = *row->failure;
    }
    for (size_t k = 0; k < row->cell_count; k++) {
      const struct keyroute_cell *cell = &row->cells[k];

      add_text(asked, cell->row, cell->family, cell->qualifier, cell->timestamp, cell->value);
    }
  }
}

static void replied(void *arg, const struct kr_failure *failure, struct keyroute_bytes message,
                    struct keyroute_bytes cells)
{
  struct asked *asked = arg;

  asked->answers++;
  asked->failure = *failure;
  ck_assert_uint_eq(cells.len, 0);
  snprintf(asked->text, sizeof(asked->text), "%.*s", (int)message.len, (const char *)message.data);
}

static struct kr_scan scan_of(const char *start, const char *stop)
{
  return (struct kr_scan){
      .region = keyroute_string("meta2,,3.r2."),
      .start_row = keyroute_string(start),
      .stop_row = keyroute_string(stop),
      .include_start = true,
      .include_stop = true,
      .reversed = true,
      .limit = 3,
      .family = "r",
  };
}

static void scan_rows(struct asked *asked, const struct kr_scan *scan)
{
  memset(asked, 0, sizeof(*asked));
  asked->request = transport->ops->scan(transport, "n1", 7000, scan, TIMEOUT_MS, scanned, asked);
}

static void scan(struct asked *asked)
{
  struct kr_scan rows_of = scan_of("\x02k", "\x02");

  scan_rows(asked, &rows_of);
}

/* The rows of the first regions. */
static void get(struct asked *asked, size_t region_count)
{
  struct kr_gets gets = {
      .read = &read_of,
      .regions = regions,
      .region_count = region_count,
      .rows = rows,
      .row_count = 2 * region_count,
  };

  memset(asked, 0, sizeof(*asked));
  asked->request = transport->ops->get(transport, "n1", 7000, &gets, TIMEOUT_MS, got, asked);
}

static void call(struct asked *asked, const char *name, const char *region)
{
  struct kr_method method = {
      .name = name, .region = keyroute_string(region), .param = keyroute_string("\x12\x01x")};

  memset(asked, 0, sizeof(*asked));
  asked->request = transport->ops->call(transport, "n1", 7000, &method, TIMEOUT_MS, replied, asked);
}

/* Send what was made as an answer. */
static void send_made(size_t index)
{
  fake_module_send(index, kr_buf_view(&made));
  made.len = 0;
}

static void answer_row(size_t index, const char *key, const char *value)
{
  made_row(&made, key, "f", "q", 5000, value);
  send_made(index);
  fake_module_end_code(index, 0, "");
}

static void expect_failed(const struct asked *asked, int code, const char *message)
{
  ck_assert_uint_eq(asked->answers, 1);
  ck_assert_int_eq(asked->failure.code, code);
  ck_assert_str_eq(asked->failure.message, message);
}

static void expect_rows(const struct asked *asked, const char *text)
{
  ck_assert_uint_eq(asked->answers, 1);
  ck_assert_int_eq(asked->failure.code, 0);
  ck_assert_str_eq(asked->text, text);
}

/* ---- Scans ----------------------------------------------------------------------------------- */

START_TEST(test_transport_bigtable__scan_is_one_read_of_the_regions_table)
{
  struct asked asked;

  scan(&asked);
  const struct fake_module_call *seen = fake_module_call(0);
  Kr__Bigtable__ReadRowsRequest *request =
      kr__bigtable__read_rows_request__unpack(NULL, seen->message.len, seen->message.data);

  ck_assert_uint_eq(fake_module_count(), 1);
  ck_assert_str_eq(seen->host, "n1");
  ck_assert_int_eq(seen->port, 7000);
  ck_assert_str_eq(seen->method, READ_ROWS);
  ck_assert_str_eq(seen->features, "CAE=");
  ck_assert_str_eq(seen->params, "table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fr2");
  ck_assert_int_eq(seen->timeout_ms, TIMEOUT_MS);
  ck_assert(
      kr_bytes_equal(kr_proto_bytes(request->table_name), keyroute_string(INSTANCE "/tables/r2")));
  kr__bigtable__read_rows_request__free_unpacked(request, NULL);
  ck_assert_uint_eq(asked.answers, 0);
}
END_TEST

START_TEST(test_transport_bigtable__rows_of_a_scan_come_when_it_ends)
{
  struct asked asked;

  scan(&asked);
  made_row(&made, "\x02k", "r", "d", 12000, "one");
  send_made(0);
  made_row(&made,
           "\x02"
           "c",
           "r", "d", 13999, "two");
  send_made(0);
  fake_loop_run();
  ck_assert_uint_eq(asked.answers, 0);
  fake_module_end_code(0, 0, "");
  ck_assert_uint_eq(asked.answers, 0);
  fake_loop_run();

  expect_rows(&asked, "\x02k/r:d@12=one \x02"
                      "c/r:d@13=two");
  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_RPCS), 1);
  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_CONNECTS), 1);
}
END_TEST

START_TEST(test_transport_bigtable__more_rows_than_asked_for_are_cut_off)
{
  struct asked asked;

  scan(&asked);
  made_row(&made, "d", "r", "d", 0, "");
  made_row(&made, "c", "r", "d", 0, "");
  made_row(&made, "b", "r", "d", 0, "");
  made_row(&made, "a", "r", "d", 0, "");
  send_made(0);
  fake_module_end_code(0, 0, "");
  fake_loop_run();

  expect_rows(&asked, "d/r:d@0= c/r:d@0= b/r:d@0=");
}
END_TEST

START_TEST(test_transport_bigtable__scan_of_nothing_asks_nobody)
{
  struct asked asked;
  struct kr_scan nothing = scan_of("\x02", "\x02");

  nothing.include_start = false;
  scan_rows(&asked, &nothing);

  ck_assert_uint_eq(asked.answers, 0);
  fake_loop_run();
  expect_rows(&asked, "");
  ck_assert_uint_eq(fake_module_count(), 0);
}
END_TEST

START_TEST(test_transport_bigtable__status_is_the_scans_failure)
{
  struct asked asked;

  scan(&asked);
  fake_module_end_code(0, NOT_FOUND, "table r2 not found");
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_REMOTE, "server n1:7000: NOT_FOUND: table r2 not found");
  ck_assert_str_eq(asked.failure.server, "n1:7000");
  ck_assert_int_eq(asked.failure.kind, KEYROUTE_KIND_REFRESH);
  ck_assert_int_eq(asked.failure.fault, KEYROUTE_FAULT_NOT_SERVING);
}
END_TEST

START_TEST(test_transport_bigtable__nonsense_ends_the_call_at_once)
{
  struct asked asked;

  scan(&asked);
  made_row(&made, "a", "r", "d", 0, "");
  made_row(&made, "b", "r", "d", 0, "");
  send_made(0);
  ck_assert(fake_module_call(0)->cancelled);
  answer_row(0, "c", "more of it");
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_PROTOCOL,
                "server n1:7000: answer to ReadRows: rows that are not in order");
  ck_assert(asked.failure.sent);
}
END_TEST

START_TEST(test_transport_bigtable__answer_that_ends_within_a_row_is_nonsense)
{
  struct asked asked;

  scan(&asked);
  made_chunk(&made,
             &(struct made_chunk){.key = "a", .family = "r", .qualifier = "d", .value = "v"});
  send_made(0);
  fake_module_end_code(0, 0, "");
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_PROTOCOL,
                "server n1:7000: answer to ReadRows: an answer that ends within a row");
}
END_TEST

/* An answer longer than may be kept, in messages none of which is too long. */
static void answer_too_much(size_t index)
{
  static char value[20001];

  memset(value, 'v', sizeof(value) - 1);
  for (char key[] = "e"; !fake_module_call(index)->cancelled; key[0]--) {
    made_row(&made, key, "f", "q", 0, value);
    send_made(index);
  }
  fake_module_end_code(index, 1, "cancelled");
}

START_TEST(test_transport_bigtable__scan_that_is_too_large_is_nonsense)
{
  struct asked asked;

  scan(&asked);
  answer_too_much(0);
  fake_loop_run();

  ck_assert_int_eq(asked.failure.code, KEYROUTE_E_PROTOCOL);
  ck_assert_int_eq(asked.failure.kind, KEYROUTE_KIND_DROP_SERVER);
}
END_TEST

/* ---- Gets ------------------------------------------------------------------------------------ */

START_TEST(test_transport_bigtable__rows_of_each_region_are_a_read_of_its_table)
{
  struct asked asked;

  get(&asked, 2);
  ck_assert_uint_eq(fake_module_count(), 2);
  ck_assert_str_eq(fake_module_call(1)->params,
                   "table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fr12");
  answer_row(1, "o", "4");
  fake_loop_run();
  ck_assert_uint_eq(asked.answers, 0);
  made_row(&made, "a", "f", "q", 5000, "1");
  made_row(&made, "b", "f", "q", 5000, "2");
  size_t len = made.len;

  send_made(0);
  fake_module_end_code(0, 0, "");
  fake_loop_run();

  expect_rows(&asked, "a/f:q@5=1 b/f:q@5=2 o/f:q@5=4");
  ck_assert_uint_eq(asked.row_count, 4);
  ck_assert_uint_gt(asked.len, len);
  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_RPCS), 2);
  kr_free(mem, asked.block);
}
END_TEST

START_TEST(test_transport_bigtable__failure_of_one_region_is_its_rows)
{
  struct asked asked;

  get(&asked, 2);
  fake_module_end_code(0, NOT_FOUND, "no r11");
  answer_row(1, "n", "3");
  fake_loop_run();

  expect_rows(&asked, "n/f:q@5=3");
  ck_assert_int_eq(asked.failures[0].code, KEYROUTE_E_REMOTE);
  ck_assert_str_eq(asked.failures[1].message, "server n1:7000: NOT_FOUND: no r11");
  ck_assert_int_eq(asked.failures[2].code, 0);
  kr_free(mem, asked.block);
}
END_TEST

START_TEST(test_transport_bigtable__failure_of_the_only_region_is_the_requests)
{
  struct asked asked;

  get(&asked, 1);
  fake_module_end_code(0, NOT_FOUND, "no r11");
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_REMOTE, "server n1:7000: NOT_FOUND: no r11");
}
END_TEST

START_TEST(test_transport_bigtable__server_out_of_reach_is_the_requests_failure)
{
  struct kr_grpc_status status = {
      .code = UNAVAILABLE, .message = {"refused", 7}, .pushback_ms = -1, .connecting = true};
  struct asked asked;

  get(&asked, 2);
  fake_module_end(0, &status);
  fake_module_end(1, &status);
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_UNREACHABLE, "server n1:7000: UNAVAILABLE: refused");
  ck_assert(asked.failure.connecting && !asked.failure.sent);
}
END_TEST

START_TEST(test_transport_bigtable__row_that_was_not_asked_for_is_nonsense)
{
  struct asked asked;

  get(&asked, 1);
  answer_row(0, "c", "");
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_PROTOCOL,
                "server n1:7000: answer to ReadRows: a row that was not asked for");
}
END_TEST

START_TEST(test_transport_bigtable__read_that_is_too_large_says_so)
{
  static char value[30001];
  struct asked asked;

  memset(value, 'v', sizeof(value) - 1);
  read_of.max_result_len = 1 << 20;
  get(&asked, 2);
  for (size_t i = 0; i < 2; i++) {
    made_row(&made, i == 0 ? "a" : "n", "f", "q", 0, value);
    made_row(&made, i == 0 ? "b" : "o", "f", "q", 0, value);
    send_made(i);
    fake_module_end_code(i, 0, "");
  }
  fake_loop_run();

  ck_assert_int_eq(asked.failure.code, KEYROUTE_E_TOO_LARGE);
  ck_assert_uint_gt(asked.failure.answer_len, 60000);
}
END_TEST

START_TEST(test_transport_bigtable__row_over_its_own_limit_fails_alone)
{
  struct asked asked;

  read_of.max_result_len = 20;
  get(&asked, 1);
  made_row(&made, "a", "f", "q", 0, "a value of more than that");
  made_row(&made, "b", "f", "q", 0, "v");
  send_made(0);
  fake_module_end_code(0, 0, "");
  fake_loop_run();

  expect_rows(&asked, "b/f:q@0=v");
  ck_assert_str_eq(asked.failures[0].message,
                   "server n1:7000: a row of 28 bytes, over the limit of 20 for one row");
  kr_free(mem, asked.block);
}
END_TEST

/* ---- Other methods --------------------------------------------------------------------------- */

START_TEST(test_transport_bigtable__first_field_of_a_method_is_the_table)
{
  struct asked asked;

  call(&asked, "MutateRow", "map,,7.r11.");
  ck_assert_str_eq(fake_module_call(0)->method, "/google.bigtable.v2.Bigtable/MutateRow");
  ck_assert(kr_bytes_equal(fake_module_call(0)->message,
                           keyroute_string("\x0a\x21" INSTANCE "/tables/r11\x12\x01x")));
  fake_module_send(0, keyroute_string("done"));
  fake_module_end_code(0, 0, "");
  fake_loop_run();

  expect_rows(&asked, "done");
}
END_TEST

START_TEST(test_transport_bigtable__path_is_taken_as_it_is)
{
  struct asked asked;

  call(&asked, "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable", "");

  ck_assert_str_eq(fake_module_call(0)->method,
                   "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable");
  ck_assert_str_eq(fake_module_call(0)->params, "");
  ck_assert(kr_bytes_equal(fake_module_call(0)->message,
                           keyroute_string("\x0a\x16" INSTANCE "\x12\x01x")));
}
END_TEST

START_TEST(test_transport_bigtable__method_has_one_answer)
{
  struct asked none, two;

  call(&none, "MutateRow", "map,,7.r11.");
  fake_module_end_code(0, 0, "");
  call(&two, "MutateRow", "map,,7.r11.");
  fake_module_send(1, keyroute_string("one"));
  fake_module_send(1, keyroute_string("two"));
  fake_module_end_code(1, 0, "");
  fake_loop_run();

  expect_failed(&none, KEYROUTE_E_PROTOCOL, "server n1:7000: no message where one was to come");
  expect_failed(&two, KEYROUTE_E_PROTOCOL, "server n1:7000: two messages where one was to come");
}
END_TEST

START_TEST(test_transport_bigtable__empty_answer_is_an_answer)
{
  struct asked asked;

  call(&asked, "MutateRow", "map,,7.r11.");
  fake_module_send(0, kr_bytes(NULL, 0));
  fake_module_end_code(0, 0, "");
  fake_loop_run();

  expect_rows(&asked, "");
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------ */

START_TEST(test_transport_bigtable__late_answer_of_a_cancelled_request_finds_nothing)
{
  struct asked asked;

  get(&asked, 2);
  answer_row(0, "a", "1");
  ck_assert(transport->ops->cancel(transport, asked.request));
  ck_assert(fake_module_call(1)->cancelled);
  answer_row(1, "n", "3");
  fake_loop_run();

  ck_assert_uint_eq(asked.answers, 0);
}
END_TEST

START_TEST(test_transport_bigtable__request_is_cancelled_between_its_end_and_its_callback)
{
  struct asked asked;

  scan(&asked);
  answer_row(0, "a", "1");
  ck_assert(transport->ops->cancel(transport, asked.request));
  fake_loop_run();

  ck_assert_uint_eq(asked.answers, 0);
}
END_TEST

START_TEST(test_transport_bigtable__what_was_never_sent_is_cancelled_as_such)
{
  struct asked asked;
  struct kr_scan nothing = scan_of("\x02", "\x02");

  nothing.include_start = false;
  scan_rows(&asked, &nothing);
  ck_assert(!transport->ops->cancel(transport, asked.request));
  fake_loop_run();

  ck_assert_uint_eq(asked.answers, 0);
}
END_TEST

START_TEST(test_transport_bigtable__shutdown_ends_all_and_takes_no_more)
{
  struct asked one, many, posted, late;

  scan(&one);
  get(&many, 2);
  scan(&posted);
  answer_row(3, "a", "1");
  transport->ops->shutdown(transport);
  scan(&late);
  fake_loop_run();

  expect_failed(&one, KEYROUTE_E_CLOSED, "server n1:7000: the connection is being closed");
  ck_assert_int_eq(many.failure.code, KEYROUTE_E_CLOSED);
  ck_assert_int_eq(posted.failure.code, KEYROUTE_E_CLOSED);
  ck_assert_uint_eq(posted.answers, 1);
  ck_assert_ptr_null(late.request);
  answer_row(0, "a", "1");
  fake_loop_run();
  ck_assert_uint_eq(one.answers, 1);
}
END_TEST

START_TEST(test_transport_bigtable__answer_may_come_before_start_returns)
{
  struct asked asked;

  made_row(&made, "a", "f", "q", 5000, "1");
  fake_module_hurry(kr_buf_view(&made), true);
  scan(&asked);
  ck_assert_uint_eq(asked.answers, 0);
  fake_loop_run();

  expect_rows(&asked, "a/f:q@5=1");
}
END_TEST

START_TEST(test_transport_bigtable__nonsense_that_comes_before_start_returns_ends_the_call)
{
  struct asked asked;

  made_row(&made, "", "f", "q", 5000, "1");
  fake_module_hurry(kr_buf_view(&made), false);
  scan(&asked);
  ck_assert(fake_module_call(0)->cancelled);
  fake_module_end_code(0, 1, "cancelled");
  fake_loop_run();

  expect_failed(&asked, KEYROUTE_E_PROTOCOL,
                "server n1:7000: answer to ReadRows: a row without a key");
}
END_TEST

START_TEST(test_transport_bigtable__call_that_cannot_start_takes_the_others_along)
{
  struct asked asked;

  fake_module_refuse_start(2);
  get(&asked, 2);

  ck_assert_ptr_null(asked.request);
  ck_assert_uint_eq(fake_module_count(), 1);
  ck_assert(fake_module_call(0)->cancelled);
  fake_module_end_code(0, 1, "cancelled");
  fake_loop_run();
  ck_assert_uint_eq(asked.answers, 0);
}
END_TEST

START_TEST(test_transport_bigtable__server_that_takes_nothing_in_is_given_no_more)
{
  struct asked first, second, other;

  settings.max_queue_len = 100;
  scan(&first);
  scan(&second);
  ck_assert_uint_eq(second.answers, 0);
  fake_loop_run();

  expect_failed(&second, KEYROUTE_E_OVERLOADED,
                "server n1:7000: more than 100 bytes wait to be sent "
                "(keyroute.server.queue.max.bytes)");
  ck_assert(!second.failure.sent);
  ck_assert_uint_eq(fake_module_count(), 1);
  answer_row(0, "a", "1");
  fake_loop_run();
  expect_rows(&first, "a/f:q@5=1");
  scan(&other);
  ck_assert_uint_eq(fake_module_count(), 2);
}
END_TEST

/* ---- Opening, memory ------------------------------------------------------------------------- */

START_TEST(test_transport_bigtable__module_gets_the_settings)
{
  const struct kr_grpc_settings *seen = fake_module_settings();

  ck_assert_uint_eq(seen->max_message_len, 1 << 16);
  ck_assert_int_eq(seen->connect_timeout_ms, 4000);
  ck_assert_int_eq(seen->idle_ms, 60000);
  ck_assert_int_eq(seen->keepalive_ms, 30000);
  ck_assert(!seen->tls);
}
END_TEST

START_TEST(test_transport_bigtable__what_the_module_refuses_is_told)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct kr_transport *none;

  fake_module_refuse_open(KEYROUTE_E_INVALID_ARGUMENT, "no certificate in it");

  ck_assert_int_eq(kr_transport_bigtable_new(&none, mem, loop, INSTANCE, &settings, stats,
                                             &fake_module, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "layout range: no certificate in it");
}
END_TEST

/* Ask for something, whatever memory there is; returns whether an allocation failed. */
static bool ask_short(int what, long n)
{
  struct asked asked;
  size_t first = fake_module_count();

  mem_fail(n);
  if (what == 0) {
    scan(&asked);
  } else if (what == 1) {
    get(&asked, 2);
  } else {
    call(&asked, "MutateRow", "map,,7.r11.");
  }
  for (size_t i = first; i < fake_module_count(); i++) {
    if (what < 2) {
      answer_row(i, i > first ? "n" : "a", "1");
    } else {
      fake_module_send(i, keyroute_string("done"));
      fake_module_end_code(i, 0, "");
    }
  }
  fake_loop_run();
  bool failed = mem_has_failed();

  mem_fail(0);
  if (asked.request == NULL) {
    ck_assert(failed && asked.answers == 0);
  } else {
    ck_assert_uint_eq(asked.answers, 1);
    ck_assert_int_eq(asked.failure.code, failed ? KEYROUTE_E_NO_MEMORY : 0);
    ck_assert_str_eq(asked.failure.server, failed ? "n1:7000" : "");
  }
  kr_free(mem, asked.block);
  return failed;
}

START_TEST(test_transport_bigtable__each_failed_allocation_is_told)
{
  long n = 1;

  while (ask_short(_i, n)) {
    n++;
  }
  ck_assert_int_gt(n, 4);
}
END_TEST

START_TEST(test_transport_bigtable__opening_fails_where_memory_is_short)
{
  struct kr_transport *opened = NULL;

  for (long n = 1; opened == NULL; n++) {
    mem_fail(n);
    int error = kr_transport_bigtable_new(&opened, mem, loop, INSTANCE, &settings, stats,
                                          &fake_module, NULL);

    ck_assert_int_eq(error, mem_has_failed() ? KEYROUTE_E_NO_MEMORY : 0);
  }
  mem_fail(0);
  opened->ops->shutdown(opened);
  opened->ops->free(opened);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("transport_bigtable");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_transport_bigtable__scan_is_one_read_of_the_regions_table);
  tcase_add_test(tcase, test_transport_bigtable__rows_of_a_scan_come_when_it_ends);
  tcase_add_test(tcase, test_transport_bigtable__more_rows_than_asked_for_are_cut_off);
  tcase_add_test(tcase, test_transport_bigtable__scan_of_nothing_asks_nobody);
  tcase_add_test(tcase, test_transport_bigtable__status_is_the_scans_failure);
  tcase_add_test(tcase, test_transport_bigtable__nonsense_ends_the_call_at_once);
  tcase_add_test(tcase, test_transport_bigtable__answer_that_ends_within_a_row_is_nonsense);
  tcase_add_test(tcase, test_transport_bigtable__scan_that_is_too_large_is_nonsense);
  tcase_add_test(tcase, test_transport_bigtable__rows_of_each_region_are_a_read_of_its_table);
  tcase_add_test(tcase, test_transport_bigtable__failure_of_one_region_is_its_rows);
  tcase_add_test(tcase, test_transport_bigtable__failure_of_the_only_region_is_the_requests);
  tcase_add_test(tcase, test_transport_bigtable__server_out_of_reach_is_the_requests_failure);
  tcase_add_test(tcase, test_transport_bigtable__row_that_was_not_asked_for_is_nonsense);
  tcase_add_test(tcase, test_transport_bigtable__read_that_is_too_large_says_so);
  tcase_add_test(tcase, test_transport_bigtable__row_over_its_own_limit_fails_alone);
  tcase_add_test(tcase, test_transport_bigtable__first_field_of_a_method_is_the_table);
  tcase_add_test(tcase, test_transport_bigtable__path_is_taken_as_it_is);
  tcase_add_test(tcase, test_transport_bigtable__method_has_one_answer);
  tcase_add_test(tcase, test_transport_bigtable__empty_answer_is_an_answer);
  tcase_add_test(tcase, test_transport_bigtable__late_answer_of_a_cancelled_request_finds_nothing);
  tcase_add_test(tcase,
                 test_transport_bigtable__request_is_cancelled_between_its_end_and_its_callback);
  tcase_add_test(tcase, test_transport_bigtable__what_was_never_sent_is_cancelled_as_such);
  tcase_add_test(tcase, test_transport_bigtable__shutdown_ends_all_and_takes_no_more);
  tcase_add_test(tcase, test_transport_bigtable__answer_may_come_before_start_returns);
  tcase_add_test(tcase,
                 test_transport_bigtable__nonsense_that_comes_before_start_returns_ends_the_call);
  tcase_add_test(tcase, test_transport_bigtable__call_that_cannot_start_takes_the_others_along);
  tcase_add_test(tcase, test_transport_bigtable__server_that_takes_nothing_in_is_given_no_more);
  tcase_add_test(tcase, test_transport_bigtable__module_gets_the_settings);
  tcase_add_test(tcase, test_transport_bigtable__what_the_module_refuses_is_told);
  tcase_add_loop_test(tcase, test_transport_bigtable__each_failed_allocation_is_told, 0, 3);
  tcase_add_test(tcase, test_transport_bigtable__opening_fails_where_memory_is_short);

  return run_suite(suite);
}
