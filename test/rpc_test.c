/* Requests over one connection by the hand of a peer, without threads or a network: what a failure
 * says of whether the request was sent, answers that are too long to be kept, and many at once. */
#include "lib/rpc.h"

#include "lib/bytes.h"
#include "lib/hbase_rpc.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/fuzz/fake_socket.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_MAX = 1000, QUEUE_MAX = 500, TIMEOUT_MS = 1000, MANY = 10000 };

#define BUSY "org.apache.hadoop.hbase.RegionTooBusyException"
#define DENIED "org.apache.hadoop.hbase.security.AccessDeniedException"

/* One request and what came of it. */
struct asked {
  struct kr_rpc_request *request; /* NULL = ended */
  unsigned answers;
  unsigned place; /* the how-manieth answer of all it was */
  struct kr_failure failure;
  size_t body_len;
  bool doubted; /* what the callback is to say of the reply */
};

static struct kr_mem *mem, *other_mem;
static struct kr_loop *loop;
static struct kr_stats *stats;
static struct kr_settings settings;
static struct kr_rpc *rpc;
static struct kr_socket *made; /* the connection made last; NULL = it has gone */
static unsigned connects, told;
static size_t heard_len;

/* ---- The peer -------------------------------------------------------------------------------- */

static void peer_connects(struct kr_socket *socket, const char *host, int port)
{
  (void)host;
  (void)port;
  made = socket;
  connects++;
}

static void peer_receives(struct kr_socket *socket, struct keyroute_bytes bytes)
{
  (void)socket;
  heard_len += bytes.len;
}

static void peer_forgets(struct kr_socket *socket)
{
  made = made == socket ? NULL : made;
}

static const struct fake_peer peer = {peer_connects, peer_receives, peer_forgets};

static void accept_it(void)
{
  fake_socket_open_later(made, 0);
  fake_clock_pass_ms(0);
}

static void send_bytes(const void *data, size_t len)
{
  fake_socket_send_later(made, 0, kr_bytes(data, len));
  fake_clock_pass_ms(0);
}

static void send_buf(struct kr_buf *buf)
{
  send_bytes(buf->data, buf->len);
  kr_buf_clear(buf);
}

static void write_delimited(struct kr_buf *out, const ProtobufCMessage *message)
{
  kr_buf_varint(out, protobuf_c_message_get_packed_size(message));
  kr_hbase_write_message(out, message);
}

/* Append a frame, its length in front. */
static void write_frame(struct kr_buf *out, const struct kr_buf *inner)
{
  kr_buf_u32(out, (uint32_t)inner->len);
  kr_buf_bytes(out, kr_buf_view(inner));
}

/* A reply with a body of so many bytes, or with an exception of that class. */
static void write_reply(struct kr_buf *out, uint32_t id, const char *exception, size_t body_len)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  Kr__Pb__ExceptionResponse response = KR__PB__EXCEPTION_RESPONSE__INIT;
  struct kr_buf inner;

  header.has_call_id = true;
  header.call_id = id;
  response.exception_class_name = (char *)(uintptr_t)exception;
  header.exception = exception != NULL ? &response : NULL;
  kr_buf_init(&inner, other_mem);
  write_delimited(&inner, &header.base);
  if (exception == NULL) {
    kr_buf_varint(&inner, body_len);
  }
  if (body_len > 0) {
    memset(kr_buf_extend(&inner, body_len), 'x', body_len);
  }
  write_frame(out, &inner);
  kr_buf_clear(&inner);
}

static void send_reply(uint32_t id, const char *exception, size_t body_len)
{
  struct kr_buf out;

  kr_buf_init(&out, other_mem);
  write_reply(&out, id, exception, body_len);
  send_buf(&out);
}

/* ---- The client ------------------------------------------------------------------------------ */

static void setup(void)
{
  mem = failing_mem_new();
  other_mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, other_mem), 0);
  stats = kr_stats_new(other_mem);
  settings.user = (char *)"tester";
  settings.connect_timeout_ms = 5000;
  settings.connection_idle_ms = 60000;
  settings.max_frame_len = FRAME_MAX;
  settings.max_queue_len = QUEUE_MAX;
  fake_socket_set_peer(&peer);
  rpc = kr_rpc_new(mem, loop, NULL, &settings, &kr_hbase_codec, stats);
}

static void teardown(void)
{
  kr_rpc_shutdown(rpc);
  kr_rpc_free(rpc);
  kr_loop_free(loop);
  kr_stats_free(stats);
  kr_mem_release(other_mem);
  ck_assert_uint_eq(fake_socket_count(), 0);
  failing_mem_done(mem);
}

static bool answered(void *arg, const struct kr_failure *failure, const struct kr_rpc_reply *reply)
{
  struct asked *asked = arg;

  ck_assert((reply != NULL) == (failure->code == 0));
  asked->request = NULL;
  asked->answers++;
  asked->place = told++;
  asked->failure = *failure;
  asked->body_len = reply != NULL ? reply->body.len : 0;
  return !asked->doubted;
}

static void ask_server(struct asked *asked, const char *host, int port)
{
  struct kr_rpc_call call = {.method = "Get", .timeout_ms = TIMEOUT_MS};

  memset(asked, 0, sizeof(*asked));
  asked->request = kr_rpc_start(rpc, host, port, &call, answered, asked);
  ck_assert_ptr_nonnull(asked->request);
}

static void ask_with(struct asked *asked, size_t param_len, int64_t timeout_ms)
{
  static const uint8_t zeros[QUEUE_MAX];
  struct kr_rpc_call call = {
      .method = "Get", .param = kr_bytes(zeros, param_len), .timeout_ms = timeout_ms};

  memset(asked, 0, sizeof(*asked));
  asked->request = kr_rpc_start(rpc, "rs1", 16020, &call, answered, asked);
}

static void ask(struct asked *asked)
{
  ask_with(asked, 10, TIMEOUT_MS);
  ck_assert_ptr_nonnull(asked->request);
}

static void expect_failed(const struct asked *asked, int code, bool sent)
{
  ck_assert_uint_eq(asked->answers, 1);
  ck_assert_int_eq(asked->failure.code, code);
  ck_assert(asked->failure.sent == sent);
  ck_assert_str_eq(asked->failure.server, "rs1:16020");
}

static void expect_good(const struct asked *asked, size_t body_len)
{
  ck_assert_uint_eq(asked->answers, 1);
  ck_assert_msg(asked->failure.code == 0, "%s", asked->failure.message);
  ck_assert_uint_eq(asked->body_len, body_len);
}

static void expect_says(const struct asked *asked, const char *what)
{
  ck_assert_msg(strstr(asked->failure.message, what) != NULL, "\"%s\" does not say \"%s\"",
                asked->failure.message, what);
}

/* ---- Was it sent? ---------------------------------------------------------------------------- */

START_TEST(test_rpc__request_without_a_connection_was_not_sent)
{
  struct asked refused, slow;

  ask(&refused);
  fake_socket_end_later(made, 0);
  fake_clock_pass_ms(0);
  ask(&slow);
  fake_clock_pass_ms(TIMEOUT_MS);

  expect_failed(&refused, KEYROUTE_E_UNREACHABLE, false);
  expect_failed(&slow, KEYROUTE_E_TIMEOUT, false);
  ck_assert_uint_eq(heard_len, 0);
}
END_TEST

START_TEST(test_rpc__request_beyond_the_queue_was_not_sent)
{
  struct asked first, beyond;

  ask_with(&first, QUEUE_MAX - 100, TIMEOUT_MS);
  ask_with(&beyond, QUEUE_MAX - 100, TIMEOUT_MS);
  fake_clock_pass_ms(0);

  expect_failed(&beyond, KEYROUTE_E_OVERLOADED, false);
  ck_assert_uint_eq(first.answers, 0);
  kr_rpc_cancel(first.request);
}
END_TEST

START_TEST(test_rpc__request_that_waits_for_its_answer_was_sent)
{
  struct asked slow, lost;

  ask(&slow);
  ask_with(&lost, 10, 2 * TIMEOUT_MS);
  accept_it();
  fake_clock_pass_ms(TIMEOUT_MS);
  fake_socket_end_later(made, 0);
  fake_clock_pass_ms(0);

  expect_failed(&slow, KEYROUTE_E_TIMEOUT, true);
  expect_failed(&lost, KEYROUTE_E_UNREACHABLE, true);
}
END_TEST

START_TEST(test_rpc__shutdown_tells_who_was_sent)
{
  struct asked sent, waiting;

  ask(&sent);
  accept_it();
  ask_server(&waiting, "rs2", 16020);
  kr_rpc_shutdown(rpc);

  expect_failed(&sent, KEYROUTE_E_CLOSED, true);
  ck_assert_int_eq(waiting.failure.code, KEYROUTE_E_CLOSED);
  ck_assert(!waiting.failure.sent);
}
END_TEST

START_TEST(test_rpc__exception_tells_that_it_was_sent_and_nothing_done)
{
  struct asked asked;

  ask(&asked);
  accept_it();
  send_reply(0, BUSY, 0);

  expect_failed(&asked, KEYROUTE_E_OVERLOADED, true);
  ck_assert(asked.failure.refused);
}
END_TEST

START_TEST(test_rpc__refused_connection_has_done_nothing_unless_it_answered)
{
  struct asked before, good, after;

  ask(&before);
  accept_it();
  send_reply(0xffffffff, DENIED, 0);
  ask(&good);
  ask(&after);
  accept_it();
  send_reply(0, NULL, 1);
  send_reply(0xffffffff, DENIED, 0);

  expect_failed(&before, KEYROUTE_E_AUTH, true);
  ck_assert(before.failure.refused);
  expect_good(&good, 1);
  expect_failed(&after, KEYROUTE_E_AUTH, true);
  ck_assert(!after.failure.refused);
}
END_TEST

/* ---- Answers that are too long --------------------------------------------------------------- */

START_TEST(test_rpc__long_answer_fails_its_request_and_no_other)
{
  struct asked asked[3];

  for (size_t i = 0; i < 3; i++) {
    ask(&asked[i]);
  }
  accept_it();
  send_reply(1, NULL, 100000);
  send_reply(2, NULL, 20);
  send_reply(0, NULL, FRAME_MAX - 20);

  expect_failed(&asked[1], KEYROUTE_E_TOO_LARGE, true);
  ck_assert_int_eq(asked[1].failure.kind, KEYROUTE_KIND_FATAL);
  ck_assert(!asked[1].failure.refused);
  ck_assert_str_eq(asked[1].failure.message,
                   "server rs1:16020: an answer of 100010 bytes, over the limit of 1000 "
                   "(keyroute.frame.max.bytes)");
  expect_good(&asked[2], 20);
  expect_good(&asked[0], FRAME_MAX - 20);
  ck_assert_uint_eq(connects, 1);
}
END_TEST

START_TEST(test_rpc__long_answer_fails_at_its_header_and_is_not_kept)
{
  struct asked large, next;
  struct kr_buf out;

  ask(&large);
  ask(&next);
  accept_it();
  kr_buf_init(&out, other_mem);
  write_reply(&out, 0, NULL, 50 * FRAME_MAX);
  send_bytes(out.data, 6);
  ck_assert_uint_eq(large.answers, 0);
  send_bytes(out.data + 6, 1);
  expect_failed(&large, KEYROUTE_E_TOO_LARGE, true);
  mem_fail(1);
  for (size_t at = 7; at < out.len; at += FRAME_MAX) {
    send_bytes(out.data + at, out.len - at < FRAME_MAX ? out.len - at : FRAME_MAX);
  }

  ck_assert(!mem_has_failed());
  mem_fail(0);
  kr_buf_clear(&out);
  send_reply(1, NULL, 5);
  expect_good(&next, 5);
}
END_TEST

/* Long and short ones in turn, cut into pieces of each size. */
START_TEST(test_rpc__long_answers_in_pieces_are_told_apart)
{
  struct asked asked[6];
  struct kr_buf out;

  kr_buf_init(&out, other_mem);
  for (uint32_t i = 0; i < 6; i++) {
    ask(&asked[i]);
    write_reply(&out, i, NULL, i % 2 == 0 ? FRAME_MAX + 20 * i : i);
  }
  accept_it();
  for (size_t at = 0; at < out.len; at += (size_t)_i) {
    send_bytes(out.data + at, out.len - at < (size_t)_i ? out.len - at : (size_t)_i);
  }

  for (size_t i = 0; i < 6; i++) {
    if (i % 2 == 0) {
      expect_failed(&asked[i], KEYROUTE_E_TOO_LARGE, true);
    } else {
      expect_good(&asked[i], i);
    }
  }
  kr_buf_clear(&out);
}
END_TEST

START_TEST(test_rpc__late_long_answer_is_skipped)
{
  struct asked gone, good;

  ask(&gone);
  ask(&good);
  accept_it();
  kr_rpc_cancel(gone.request);
  send_reply(0, NULL, 5 * FRAME_MAX);
  send_reply(1, NULL, 5);

  expect_good(&good, 5);
  ck_assert_uint_eq(gone.answers, 0);
}
END_TEST

START_TEST(test_rpc__long_exception_is_one_all_the_same)
{
  struct asked asked;

  ask(&asked);
  accept_it();
  send_reply(0, BUSY, 2 * FRAME_MAX);

  expect_failed(&asked, KEYROUTE_E_OVERLOADED, true);
  ck_assert_ptr_nonnull(made);
}
END_TEST

START_TEST(test_rpc__connection_whose_long_answer_is_doubted_takes_no_more)
{
  struct asked large, other, next;

  ask(&large);
  ask(&other);
  large.doubted = true;
  accept_it();
  send_reply(0, NULL, 2 * FRAME_MAX);
  send_reply(1, NULL, 5);
  ask(&next);

  expect_good(&other, 5);
  ck_assert_uint_eq(connects, 2);
  kr_rpc_cancel(next.request);
}
END_TEST

/* Bytes that end the connection with a PROTOCOL that says why. */
static void expect_broken(const uint8_t *data, size_t len, const char *why)
{
  struct asked asked;
  unsigned before = connects;

  ask(&asked);
  accept_it();
  send_bytes(data, len);

  expect_failed(&asked, KEYROUTE_E_PROTOCOL, true);
  expect_says(&asked, why);
  ck_assert_ptr_null(made);
  ck_assert_uint_eq(connects, before + 1);
}

START_TEST(test_rpc__long_answer_of_nobody_breaks_the_connection)
{
  static const uint8_t unknown_id[] = {0, 1, 0, 0, 2, 0x08, 9};
  static const uint8_t no_id[] = {0, 1, 0, 0, 0};
  static const uint8_t for_all[] = {0, 1, 0, 0, 6, 0x08, 0xff, 0xff, 0xff, 0xff, 0x0f};
  static const uint8_t no_message[] = {0, 1, 0, 0, 2, 0x0a, 0x7f};
  static const uint8_t no_varint[] = {0,    1,    0,    0,    0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

  expect_broken(unknown_id, sizeof(unknown_id), "call 9, which was never made");
  expect_broken(no_id, sizeof(no_id), "over the limit of 1000: a reply without a call id");
  expect_broken(for_all, sizeof(for_all), "without an exception");
  expect_broken(no_message, sizeof(no_message), "unreadable header");
  expect_broken(no_varint, sizeof(no_varint), "unreadable header");
}
END_TEST

START_TEST(test_rpc__header_that_is_too_long_breaks_the_connection)
{
  uint8_t data[FRAME_MAX] = {0, 1, 0, 0, 0xff, 0xff, 0x01};

  expect_broken(data, sizeof(data), "its header alone is too long");
}
END_TEST

START_TEST(test_rpc__header_does_not_end_behind_its_frame)
{
  uint8_t data[3 * FRAME_MAX] = {0, 0, FRAME_MAX / 256, FRAME_MAX % 256, 0xd0, 0x0f};

  expect_broken(data, sizeof(data), "its header alone is too long");
}
END_TEST

/* ---- Whose connection ------------------------------------------------------------------------ */

START_TEST(test_rpc__servers_are_told_apart_by_host_and_port)
{
  struct asked asked[5];

  ask_server(&asked[0], "rs1", 16020);
  ask_server(&asked[1], "rs1", 16021);
  ask_server(&asked[2], "rs12", 16020);
  ck_assert_uint_eq(connects, 3);
  ask_server(&asked[3], "rs1", 16021);
  ask_server(&asked[4], "rs12", 16020);
  ck_assert_uint_eq(connects, 3);
  kr_rpc_shutdown(rpc);
}
END_TEST

START_TEST(test_rpc__names_too_long_for_a_host_are_not_mixed_up)
{
  struct asked asked[2];
  char host[400];

  memset(host, 'h', sizeof(host));
  host[300] = '\0';
  ask_server(&asked[0], host, 16020);
  host[299] = 'i';
  ask_server(&asked[1], host, 16020);

  ck_assert_uint_eq(connects, 2);
  kr_rpc_shutdown(rpc);
}
END_TEST

/* ---- Many at once ---------------------------------------------------------------------------- */

START_TEST(test_rpc__answers_in_any_order_find_their_requests)
{
  struct asked *asked = malloc(MANY * sizeof(*asked));
  struct kr_buf out;

  settings.max_queue_len = SIZE_MAX;
  kr_buf_init(&out, other_mem);
  for (uint32_t i = 0; i < MANY; i++) {
    ask(&asked[i]);
    write_reply(&out, MANY - 1 - i, NULL, (MANY - 1 - i) % 100);
  }
  accept_it();
  send_buf(&out);

  for (size_t i = 0; i < MANY; i++) {
    expect_good(&asked[i], i % 100);
  }
  free(asked);
}
END_TEST

START_TEST(test_rpc__lost_requests_are_told_in_the_order_they_were_made)
{
  struct asked asked[4];

  for (size_t i = 0; i < 4; i++) {
    ask(&asked[i]);
  }
  accept_it();
  send_reply(1, NULL, 0);
  fake_socket_end_later(made, 0);
  fake_clock_pass_ms(0);

  static const unsigned places[] = {1, 0, 2, 3};

  for (size_t i = 0; i < 4; i++) {
    ck_assert_uint_eq(asked[i].answers, 1);
    ck_assert_uint_eq(asked[i].place, places[i]);
    ck_assert_int_eq(asked[i].failure.code, i == 1 ? 0 : KEYROUTE_E_UNREACHABLE);
  }
}
END_TEST

START_TEST(test_rpc__each_failed_allocation_starts_nothing)
{
  struct asked asked[40];
  size_t started = 0;

  ask(&asked[started++]);
  accept_it();
  while (started < 40) { /* enough for the table of requests to grow */
    bool failed = true;

    for (long n = 1; failed; n++) {
      mem_fail(n);
      ask_with(&asked[started], 10, TIMEOUT_MS);
      failed = asked[started].request == NULL;
      ck_assert(failed == mem_has_failed());
    }
    mem_fail(0);
    started++;
  }
  for (size_t i = 0; i < started; i++) {
    kr_rpc_cancel(asked[i].request);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("rpc");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_rpc__request_without_a_connection_was_not_sent);
  tcase_add_test(tcase, test_rpc__request_beyond_the_queue_was_not_sent);
  tcase_add_test(tcase, test_rpc__request_that_waits_for_its_answer_was_sent);
  tcase_add_test(tcase, test_rpc__shutdown_tells_who_was_sent);
  tcase_add_test(tcase, test_rpc__exception_tells_that_it_was_sent_and_nothing_done);
  tcase_add_test(tcase, test_rpc__refused_connection_has_done_nothing_unless_it_answered);
  tcase_add_test(tcase, test_rpc__long_answer_fails_its_request_and_no_other);
  tcase_add_test(tcase, test_rpc__long_answer_fails_at_its_header_and_is_not_kept);
  tcase_add_loop_test(tcase, test_rpc__long_answers_in_pieces_are_told_apart, 1, 40);
  tcase_add_test(tcase, test_rpc__late_long_answer_is_skipped);
  tcase_add_test(tcase, test_rpc__long_exception_is_one_all_the_same);
  tcase_add_test(tcase, test_rpc__connection_whose_long_answer_is_doubted_takes_no_more);
  tcase_add_test(tcase, test_rpc__long_answer_of_nobody_breaks_the_connection);
  tcase_add_test(tcase, test_rpc__header_that_is_too_long_breaks_the_connection);
  tcase_add_test(tcase, test_rpc__header_does_not_end_behind_its_frame);
  tcase_add_test(tcase, test_rpc__servers_are_told_apart_by_host_and_port);
  tcase_add_test(tcase, test_rpc__names_too_long_for_a_host_are_not_mixed_up);
  tcase_add_test(tcase, test_rpc__answers_in_any_order_find_their_requests);
  tcase_add_test(tcase, test_rpc__lost_requests_are_told_in_the_order_they_were_made);
  tcase_add_test(tcase, test_rpc__each_failed_allocation_starts_nothing);

  return run_suite(suite);
}
