/* What servers of HBase 0.94 may send that no sound one does, byte for byte: the test is the
 * server, without threads or a network. */
#include "lib/transport_hbase094.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/fuzz/fake_socket.h"
#include "test/made094.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

enum { TIMEOUT_MS = 1000, MAX_FRAME_LEN = 4000, ASKED_MAX = 16, OPENING_LEN = 54 };

static struct kr_mem *mem;
static struct kr_loop *loop;
static struct kr_stats *stats;
static struct kr_settings settings;
static struct kr_transport *transport;

/* ---- The server ------------------------------------------------------------------------------ */

/* What it has been asked on the newest connection, in order. */
static struct {
  uint32_t id;
  char method[24];
} asked[ASKED_MAX];
static unsigned asked_count, connects;
static struct kr_socket *socket_of_peer;
static struct kr_buf in, wire;
static bool by_bytes; /* it sends each byte by itself */

static void peer_connects(struct kr_socket *socket, const char *host, int port)
{
  (void)host;
  (void)port;
  socket_of_peer = socket;
  connects++;
  asked_count = 0;
  in.len = 0;
  fake_socket_open_later(socket, 0);
}

static void take_request(struct keyroute_bytes frame)
{
  struct kr_reader reader = kr_reader(frame);

  ck_assert_uint_lt(asked_count, ASKED_MAX);
  asked[asked_count].id = kr_read_u32(&reader);
  kr_read_u8(&reader);
  struct keyroute_bytes method = kr_read_bytes(&reader, kr_read_u16(&reader));

  ck_assert_uint_lt(method.len, sizeof(asked[0].method));
  memset(asked[asked_count].method, 0, sizeof(asked[0].method));
  memcpy(asked[asked_count++].method, method.data, method.len);
}

/* All that has come is read again each time. */
static void peer_receives(struct kr_socket *socket, struct keyroute_bytes bytes)
{
  if (socket != socket_of_peer) {
    return;
  }
  kr_buf_bytes(&in, bytes);
  struct kr_reader reader = kr_reader(kr_buf_view(&in));

  kr_read_bytes(&reader, OPENING_LEN);
  asked_count = 0;
  while (!reader.bad && kr_reader_left(&reader) > 4) {
    take_request(kr_read_bytes(&reader, kr_read_u32(&reader)));
  }
}

static void peer_forgets(struct kr_socket *socket)
{
  if (socket == socket_of_peer) {
    socket_of_peer = NULL;
  }
}

static const struct fake_peer peer = {peer_connects, peer_receives, peer_forgets};

/* Send what was written, in one piece or byte by byte, and have it taken. */
static void deliver(void)
{
  struct keyroute_bytes all = kr_buf_view(&wire);
  size_t step = by_bytes ? 1 : all.len;

  for (size_t at = 0; at < all.len && socket_of_peer != NULL; at += step) {
    fake_socket_send_later(socket_of_peer, 0, kr_bytes((const uint8_t *)all.data + at, step));
    fake_clock_pass_ms(0);
  }
  wire.len = 0;
}

static void write_hex_reply(uint32_t id, const char *hex)
{
  struct kr_buf body;

  kr_buf_init(&body, mem);
  made094_hex(&body, hex);
  made094_reply(&wire, id, 0, kr_buf_view(&body));
  kr_buf_clear(&body);
}

/* A result of one cell: the answer to a get, and to getClosestRowBefore. */
static void write_row_reply(uint32_t id, const char *row)
{
  struct kr_buf body, cells;

  kr_buf_init(&body, mem);
  kr_buf_init(&cells, mem);
  made094_cell(&cells, keyroute_string(row), "info", keyroute_string("q"), 1, BYTES("v"));
  made094_hex(&body, "2525");
  kr_buf_u32(&body, (uint32_t)cells.len);
  kr_buf_bytes(&body, kr_buf_view(&cells));
  made094_reply(&wire, id, 0, kr_buf_view(&body));
  kr_buf_clear(&cells);
  kr_buf_clear(&body);
}

static void set_up(void)
{
  mem = failing_mem_new();
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  stats = kr_stats_new(mem);
  settings.connect_timeout_ms = 5000;
  settings.connection_idle_ms = 60000;
  settings.max_frame_len = MAX_FRAME_LEN;
  settings.max_queue_len = 4000;
  kr_buf_init(&in, mem);
  kr_buf_init(&wire, mem);
  fake_socket_set_peer(&peer);
  ck_assert_int_eq(kr_transport_hbase094_new(&transport, mem, loop, NULL, &settings, stats), 0);
}

static void tear_down(void)
{
  transport->ops->shutdown(transport);
  transport->ops->free(transport);
  kr_loop_free(loop);
  kr_stats_free(stats);
  kr_buf_clear(&in);
  kr_buf_clear(&wire);
  ck_assert_uint_eq(fake_socket_count(), 0);
  failing_mem_done(mem);
}

/* ---- The client ------------------------------------------------------------------------------ */

/* A scan or a read of rows, and what came of it. */
struct asker {
  struct kr_request *request;
  unsigned answers;
  struct kr_failure failure;
  size_t rows;
  size_t failed_rows;
};

static void scanned(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct asker *asker = arg;

  asker->answers++;
  asker->failure = *failure;
  asker->rows = rows->count;
}

static struct asker *start_scan(struct asker *asker, bool down)
{
  struct kr_scan scan = {.region = BYTES(".META.,,1"),
                         .start_row = BYTES("t,m,9"),
                         .stop_row = down ? BYTES("t,,") : BYTES("t ,,"),
                         .include_start = true,
                         .include_stop = true,
                         .reversed = down,
                         .limit = 3,
                         .family = "info"};

  memset(asker, 0, sizeof(*asker));
  asker->request = transport->ops->scan(transport, "rs", 60020, &scan, TIMEOUT_MS, scanned, asker);
  ck_assert_ptr_nonnull(asker->request);
  fake_clock_pass_ms(0);
  return asker;
}

static void got(void *arg, const struct kr_failure *failure, struct kr_got *answer)
{
  struct asker *asker = arg;

  asker->answers++;
  asker->failure = *failure;
  if (answer != NULL) {
    asker->rows = answer->row_count;
    for (size_t i = 0; i < answer->row_count; i++) {
      asker->failed_rows += answer->rows[i].failure != NULL;
    }
    kr_free(mem, answer->block);
  }
}

/* Rows a, b and c. */
static void start_gets(struct asker *asker)
{
  static const struct keyroute_bytes rows[] = {{"a", 1}, {"b", 1}, {"c", 1}};
  static const struct kr_read read = {.max_versions = 1, .max_result_len = 1000};
  struct kr_get_region region = {BYTES("t,,5"), 0, 3};
  struct kr_gets gets = {
      .read = &read, .regions = &region, .region_count = 1, .rows = rows, .row_count = 3};

  memset(asker, 0, sizeof(*asker));
  asker->request = transport->ops->get(transport, "rs", 60020, &gets, TIMEOUT_MS, got, asker);
  ck_assert_ptr_nonnull(asker->request);
  fake_clock_pass_ms(0);
}

static void expect_rows(const struct asker *asker, size_t rows)
{
  ck_assert_uint_eq(asker->answers, 1);
  ck_assert_msg(asker->failure.code == 0, "%s", asker->failure.message);
  ck_assert_uint_eq(asker->rows, rows);
}

static void expect_failed(const struct asker *asker, int code)
{
  ck_assert_uint_eq(asker->answers, 1);
  ck_assert_msg(asker->failure.code == code, "%d: %s", asker->failure.code, asker->failure.message);
  ck_assert_str_eq(asker->failure.server, "rs:60020");
}

static uint32_t last_id(void)
{
  ck_assert_uint_gt(asked_count, 0);
  return asked[asked_count - 1].id;
}

/* Is this connection used further, or another one? */
static void expect_next_scan(unsigned on_connection)
{
  struct asker next;

  start_scan(&next, true);
  ck_assert_uint_eq(connects, on_connection);
  write_row_reply(last_id(), "t,a,5");
  deliver();
  expect_rows(&next, 1);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

START_TEST(test_hostile094__replies_in_any_order_and_any_pieces_are_taken)
{
  struct asker gets, scan;

  by_bytes = _i == 1;
  start_gets(&gets);
  start_scan(&scan, true);
  ck_assert_uint_eq(asked_count, 4);
  write_row_reply(asked[3].id, "t,a,5");
  write_row_reply(asked[2].id, "c");
  write_hex_reply(asked[1].id, "0e1125");
  write_row_reply(asked[0].id, "a");
  deliver();

  expect_rows(&gets, 3);
  ck_assert_uint_eq(gets.failed_rows, 0);
  expect_rows(&scan, 1);
  expect_next_scan(1);
}
END_TEST

START_TEST(test_hostile094__late_replies_are_skipped)
{
  struct asker answered, cancelled;

  by_bytes = _i == 1;
  start_scan(&answered, true);
  start_scan(&cancelled, true);
  transport->ops->cancel(transport, cancelled.request);
  write_row_reply(asked[1].id, "t,a,5");
  write_row_reply(asked[0].id, "t,a,5");
  write_row_reply(asked[0].id, "t,b,5");
  made094_exception(&wire, asked[0].id, 1, "java.io.IOException", "x");
  made094_exception(&wire, 0, 1, "java.io.IOException", "x");
  deliver();

  expect_rows(&answered, 1);
  ck_assert_uint_eq(cancelled.answers, 0);
  expect_next_scan(1);
}
END_TEST

static const uint32_t never_made[] = {3, 0x7fffffff, 0x80000000, 0xffffffff};

START_TEST(test_hostile094__reply_to_a_call_never_made_ends_the_connection)
{
  struct asker first, second;

  start_scan(&first, true);
  start_scan(&second, false);
  write_row_reply(never_made[_i], "t,a,5");
  write_row_reply(asked[0].id, "t,a,5");
  deliver();

  expect_failed(&first, KEYROUTE_E_PROTOCOL);
  expect_failed(&second, KEYROUTE_E_PROTOCOL);
  expect_next_scan(2);
}
END_TEST

START_TEST(test_hostile094__answers_of_two_calls_that_change_places_are_not_believed)
{
  struct asker gets;

  start_gets(&gets);
  write_row_reply(asked[0].id, "b");
  write_row_reply(asked[1].id, "a");
  write_row_reply(asked[2].id, "c");
  deliver();

  expect_failed(&gets, KEYROUTE_E_PROTOCOL);
}
END_TEST

START_TEST(test_hostile094__row_of_another_table_is_no_row)
{
  struct asker scan;

  start_scan(&scan, true);
  write_row_reply(last_id(), "s,z,5");
  deliver();

  expect_rows(&scan, 0);
  expect_next_scan(1);
}
END_TEST

/* ---- States ---------------------------------------------------------------------------------- */

static const int32_t states[] = {1, 2, -2, INT32_MAX, INT32_MIN};

START_TEST(test_hostile094__any_state_but_good_and_fatal_is_its_calls_own)
{
  struct asker first, second;

  start_scan(&first, true);
  start_scan(&second, true);
  made094_exception(&wire, asked[0].id, states[_i], "", "");
  write_row_reply(asked[1].id, "t,a,5");
  deliver();

  expect_failed(&first, KEYROUTE_E_REMOTE);
  expect_rows(&second, 1);
  expect_next_scan(1);
}
END_TEST

START_TEST(test_hostile094__fatal_reply_ends_all_calls_whichever_it_answers)
{
  static const uint32_t ids[] = {0, 1, 99};
  struct asker gets, scan;

  by_bytes = true;
  start_gets(&gets);
  start_scan(&scan, false);
  made094_exception(&wire, ids[_i], -1, "", "");
  deliver();

  expect_rows(&gets, 3);
  ck_assert_uint_eq(gets.failed_rows, 3);
  expect_failed(&scan, KEYROUTE_E_REMOTE);
  expect_next_scan(2);
}
END_TEST

/* ---- Lengths and counts ---------------------------------------------------------------------- */

static const struct {
  const char *method;
  const char *body;
} bodies[] = {
    {"getClosestRowBefore", ""},
    {"getClosestRowBefore", "25"},
    {"getClosestRowBefore", "2525"},
    {"getClosestRowBefore", "2525 ffffffff"},
    {"getClosestRowBefore", "2525 7fffffff 00"},
    {"getClosestRowBefore", "2525 00000008 7fffffff 7fffffff"},
    {"getClosestRowBefore", "2525 00000008 ffffffff 00000000"},
    {"getClosestRowBefore", "2525 00000000 00"},
    {"getClosestRowBefore", "0e1126"},
    {"getClosestRowBefore", "0e112500"},
    {"getClosestRowBefore", "06 0000000000000001"},
    {"openScanner", ""},
    {"openScanner", "0e1106"},
    {"openScanner", "06 00000000000000"},
    {"openScanner", "06 0000000000000001 00"},
    {"openScanner", "05 00000001"},
    {"next", ""},
    {"next", "2601"},
    {"next", "2601 ffffffff"},
    {"next", "2601 7fffffff 00000000"},
    {"next", "2601 7fffffff 00000004 00000000"},
    {"next", "2601 40000000 00000008 00000001 00000000"},
    {"next", "2601 00000001 00000004 ffffffff"},
    {"next", "2601 00000001 00000004 00000000"},
    {"next", "2601 00000001 ffffffff 00000001"},
    {"next", "2601 00000000 00"},
    {"next", "2602 00000000"},
    {"next", "2525 00000000"},
    {"get", "2525 ffffffff"},
    {"get", "2525 00000008 7fffffff 7fffffff"},
    {"get", "2601 00000000"},
};
enum { BODIES = sizeof(bodies) / sizeof(bodies[0]) };

START_TEST(test_hostile094__body_that_cannot_be_read_fails_its_call_and_takes_nothing)
{
  struct asker asker;

  if (strcmp(bodies[_i].method, "get") == 0) {
    start_gets(&asker);
  } else {
    start_scan(&asker, strcmp(bodies[_i].method, "getClosestRowBefore") == 0);
  }
  if (strcmp(bodies[_i].method, "next") == 0) {
    write_hex_reply(last_id(), "06 8000000000000000");
    deliver();
  }
  ck_assert_str_eq(asked[asked_count - 1].method, bodies[_i].method);
  write_hex_reply(last_id(), bodies[_i].body);
  deliver();

  expect_failed(&asker, KEYROUTE_E_PROTOCOL);
  expect_next_scan(2);
}
END_TEST

/* A reply whose body, or whose exception's text, is so long. */
static void write_long(uint32_t id, int32_t state, uint32_t text_len)
{
  kr_buf_u32(&wire, id);
  kr_buf_u8(&wire, 2);
  kr_buf_u32(&wire, 13 + (state != 0 ? 8u : 0u) + text_len);
  kr_buf_u32(&wire, (uint32_t)state);
  if (state != 0) {
    kr_buf_u32(&wire, 0);
    kr_buf_u32(&wire, text_len);
  }
  memset(kr_buf_extend(&wire, text_len), 'x', text_len);
}

START_TEST(test_hostile094__long_answer_fails_its_scan_and_those_around_it_go_on)
{
  struct asker first, second;

  by_bytes = _i == 1;
  start_scan(&first, true);
  start_scan(&second, true);
  write_long(asked[0].id, 0, 2 * MAX_FRAME_LEN);
  write_row_reply(asked[1].id, "t,a,5");
  deliver();

  expect_failed(&first, KEYROUTE_E_PROTOCOL);
  expect_rows(&second, 1);
  expect_next_scan(2);
}
END_TEST

START_TEST(test_hostile094__exception_without_an_end_ends_the_connection)
{
  static const int32_t kinds[] = {1, -1};
  struct asker first, second;

  by_bytes = true;
  start_scan(&first, true);
  start_scan(&second, true);
  write_long(asked[0].id, kinds[_i], 2 * MAX_FRAME_LEN);
  deliver();

  expect_failed(&first, KEYROUTE_E_PROTOCOL);
  expect_failed(&second, KEYROUTE_E_PROTOCOL);
  expect_next_scan(2);
}
END_TEST

/* ---- Scanners -------------------------------------------------------------------------------- */

START_TEST(test_hostile094__scan_given_up_on_a_connection_that_ended_makes_no_other)
{
  struct asker up, down;

  start_scan(&up, false);
  write_hex_reply(last_id(), "06 0000000000000001");
  deliver();
  start_scan(&down, true);
  write_hex_reply(last_id(), "");
  deliver();
  expect_failed(&down, KEYROUTE_E_PROTOCOL);
  ck_assert(transport->ops->cancel(transport, up.request));
  fake_clock_pass_ms(TIMEOUT_MS);

  ck_assert_uint_eq(connects, 1);
  ck_assert_uint_eq(up.answers, 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("hostile094");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_loop_test(tests, test_hostile094__replies_in_any_order_and_any_pieces_are_taken, 0, 2);
  tcase_add_loop_test(tests, test_hostile094__late_replies_are_skipped, 0, 2);
  tcase_add_loop_test(tests, test_hostile094__reply_to_a_call_never_made_ends_the_connection, 0, 4);
  tcase_add_test(tests, test_hostile094__answers_of_two_calls_that_change_places_are_not_believed);
  tcase_add_test(tests, test_hostile094__row_of_another_table_is_no_row);
  tcase_add_loop_test(tests, test_hostile094__any_state_but_good_and_fatal_is_its_calls_own, 0, 5);
  tcase_add_loop_test(tests, test_hostile094__fatal_reply_ends_all_calls_whichever_it_answers, 0,
                      3);
  tcase_add_loop_test(
      tests, test_hostile094__body_that_cannot_be_read_fails_its_call_and_takes_nothing, 0, BODIES);
  tcase_add_loop_test(tests, test_hostile094__long_answer_fails_its_scan_and_those_around_it_go_on,
                      0, 2);
  tcase_add_loop_test(tests, test_hostile094__exception_without_an_end_ends_the_connection, 0, 2);
  tcase_add_test(tests, test_hostile094__scan_given_up_on_a_connection_that_ended_makes_no_other);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
