/* Frames of HBase 0.94's Writable RPC: those that a real server read and wrote, and spoilt ones. */
#include "lib/hbase094_rpc.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/made094.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_buf out, want;

static void set_up(void)
{
  mem = failing_mem_new();
  kr_buf_init(&out, mem);
  kr_buf_init(&want, mem);
}

static void tear_down(void)
{
  kr_buf_clear(&out);
  kr_buf_clear(&want);
  failing_mem_done(mem);
}

/* ---- Writing ---- */

START_TEST(test_hbase094_rpc__connection_opens_as_javas_client_does)
{
  made094_hex(&want, "68727063 03 0000002d 2c");
  kr_buf_text(&want, "org.apache.hadoop.hbase.ipc.HRegionInterface");

  kr_hbase094_codec.hello(&out, NULL);

  ck_assert(kr_bytes_equal(kr_buf_view(&out), kr_buf_view(&want)));
}
END_TEST

START_TEST(test_hbase094_rpc__request_is_framed_as_javas_client_does)
{
  struct kr_rpc_call call = {.method = "close", .timeout_ms = 1000};
  struct kr_buf param;

  kr_buf_init(&param, mem);
  made094_hex(&param, "00000001 06 7f0ad0435fe7d508");
  call.param = kr_buf_view(&param);
  made094_hex(&want, "00000025 00000010 01 0005 636c6f7365 000000000000001d 00000000"
                     "00000001 06 7f0ad0435fe7d508");

  kr_hbase094_codec.request(&out, 16, &call);

  ck_assert(kr_bytes_equal(kr_buf_view(&out), kr_buf_view(&want)));
  kr_buf_clear(&param);
}
END_TEST

START_TEST(test_hbase094_rpc__request_without_memory_says_so)
{
  struct kr_rpc_call call = {.method = "close"};

  mem_fail(1);
  kr_hbase094_codec.request(&out, 16, &call);

  ck_assert(out.failed);
}
END_TEST

/* ---- Reading ---- */

/* What a connection does with bytes; in a copy of exactly their size, for the sanitizer. Returns 1
 * if the frame is not whole. Views into the copy end with it: body_len is what is left of them. */
static int read_frame(struct kr_rpc_reply *reply, size_t *body_len, struct keyroute_bytes bytes,
                      struct kr_failure *failure)
{
  uint8_t *copy = malloc(bytes.len > 0 ? bytes.len : 1);
  size_t len;

  if (bytes.len > 0) {
    memcpy(copy, bytes.data, bytes.len);
  }
  int error = kr_hbase094_codec.frame(&len, kr_bytes(copy, bytes.len), failure);

  if (error == 0 && (len == 0 || len > bytes.len)) {
    error = 1;
  }
  if (error == 0) {
    error = kr_hbase094_codec.reply(reply, mem, kr_bytes(copy, len), failure);
    *body_len = reply->body.len;
    reply->body = kr_bytes(NULL, 0);
  }
  free(copy);
  return error;
}

/* Read what stands in `out`. */
static struct kr_rpc_reply good_reply(size_t *body_len)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;

  ck_assert_int_eq(read_frame(&reply, body_len, kr_buf_view(&out), &failure), 0);
  return reply;
}

static void expect_protocol(const char *message)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  size_t body_len;

  ck_assert_int_eq(read_frame(&reply, &body_len, kr_buf_view(&out), &failure), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, message);
}

START_TEST(test_hbase094_rpc__good_reply_is_read)
{
  size_t body_len;

  made094_hex(&out, "00000010 02 00000010 00000000 0e1109");
  struct kr_rpc_reply reply = good_reply(&body_len);

  ck_assert_uint_eq(reply.id, 16);
  ck_assert(!reply.for_all);
  ck_assert_int_eq(reply.failure.code, 0);
  ck_assert_uint_eq(body_len, 3);
}
END_TEST

START_TEST(test_hbase094_rpc__frame_is_awaited_until_it_is_whole)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  size_t body_len;

  made094_exception(&out, 7, 1, "java.io.IOException", "java.io.IOException: x");
  for (size_t len = 0; len < out.len; len++) {
    ck_assert_int_eq(read_frame(&reply, &body_len, kr_bytes(out.data, len), &failure), 1);
  }
}
END_TEST

START_TEST(test_hbase094_rpc__exception_is_its_requests_own)
{
  size_t body_len;

  made094_exception(&out, 7, 1, "org.apache.hadoop.hbase.NotServingRegionException",
                    "org.apache.hadoop.hbase.NotServingRegionException: Region is not online: "
                    "t,,1.x.\n\tat org.apache.hadoop.hbase.regionserver.HRegionServer.getRegion");
  struct kr_rpc_reply reply = good_reply(&body_len);

  ck_assert_uint_eq(reply.id, 7);
  ck_assert(!reply.for_all);
  ck_assert_int_eq(reply.failure.code, KEYROUTE_E_REMOTE);
  ck_assert_int_eq(reply.failure.kind, KEYROUTE_KIND_REFRESH);
  ck_assert_str_eq(reply.failure.message,
                   "NotServingRegionException: Region is not online: t,,1.x.");
  ck_assert_uint_eq(body_len, 0);
}
END_TEST

START_TEST(test_hbase094_rpc__fatal_reply_is_about_the_connection)
{
  size_t body_len;

  made094_hex(&out, "0000000b 03 00000066 ffffffff 00000013");
  kr_buf_text(&out, "java.io.IOException");
  kr_buf_u32(&out, 0x3e);
  kr_buf_text(&out, "IPC server unable to read call parameters: Error in readFields");
  struct kr_rpc_reply reply = good_reply(&body_len);

  ck_assert(reply.for_all);
  ck_assert_int_eq(reply.failure.code, KEYROUTE_E_REMOTE);
  ck_assert_ptr_nonnull(strstr(reply.failure.message, "unable to read call parameters"));
}
END_TEST

START_TEST(test_hbase094_rpc__refused_version_is_final)
{
  size_t body_len;

  made094_exception(&out, 0, -1, "org.apache.hadoop.ipc.RPC$VersionMismatch",
                    "Server IPC version 3 cannot communicate with client version 4");
  struct kr_rpc_reply reply = good_reply(&body_len);

  ck_assert(reply.for_all);
  ck_assert(reply.failure.final);
}
END_TEST

START_TEST(test_hbase094_rpc__exception_without_text_is_read)
{
  size_t body_len;

  made094_hex(&out, "00000001 03 00000019 00000001 00000004 6a2e4578 ffffffff");
  struct kr_rpc_reply reply = good_reply(&body_len);

  ck_assert_str_eq(reply.failure.message, "j.Ex");
}
END_TEST

START_TEST(test_hbase094_rpc__long_texts_are_cut)
{
  enum { LONG = 100000 };
  char *text = malloc(LONG + 1);
  size_t body_len;

  memset(text, 'x', LONG);
  text[LONG] = '\0';
  made094_exception(&out, 7, 1, text, text);
  struct kr_rpc_reply reply = good_reply(&body_len);

  ck_assert_int_eq(reply.failure.code, KEYROUTE_E_REMOTE);
  free(text);
}
END_TEST

START_TEST(test_hbase094_rpc__what_is_no_frame_is_refused)
{
  made094_hex(&out, "00000001 00 00000010");
  expect_protocol("a reply that does not say how long it is");
  out.len = 0;
  made094_hex(&out, "00000001 02 0000000c 00000000");
  expect_protocol("a reply of 12 bytes");
  out.len = 0;
  made094_hex(&out, "00000001 02 ffffffff 00000000");
  expect_protocol("a reply of -1 bytes");
}
END_TEST

START_TEST(test_hbase094_rpc__exception_cut_short_is_refused)
{
  made094_exception(&out, 7, 1, "a.B", "text");
  size_t whole = out.len;

  for (size_t len = 13; len < whole; len++) {
    out.data[8] = (uint8_t)len;
    out.len = len;
    expect_protocol("a reply with an unreadable exception");
  }
}
END_TEST

START_TEST(test_hbase094_rpc__head_tells_whose_a_long_frame_is)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  size_t len;

  made094_hex(&out, "00000005 02 7fffffff 00000000 2525");
  ck_assert_int_eq(kr_hbase094_codec.head(&reply, &len, mem, kr_buf_view(&out), &failure), 0);
  ck_assert_uint_eq(len, 13);
  ck_assert_uint_eq(reply.id, 5);
  ck_assert_int_eq(reply.failure.code, 0);
  for (size_t cut = 0; cut < 13; cut++) {
    ck_assert_int_eq(kr_hbase094_codec.head(&reply, &len, mem, kr_bytes(out.data, cut), &failure),
                     0);
    ck_assert_uint_eq(len, 0);
  }
}
END_TEST

START_TEST(test_hbase094_rpc__head_of_an_exception_holds_all_of_it)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  size_t len;

  made094_exception(&out, 7, 1, "a.B", "text");
  ck_assert_int_eq(
      kr_hbase094_codec.head(&reply, &len, mem, kr_bytes(out.data, out.len - 1), &failure), 0);
  ck_assert_uint_eq(len, 0);
  ck_assert_int_eq(kr_hbase094_codec.head(&reply, &len, mem, kr_buf_view(&out), &failure), 0);
  ck_assert_uint_eq(len, out.len);
  ck_assert_int_eq(reply.failure.code, KEYROUTE_E_REMOTE);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("hbase094_rpc");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_hbase094_rpc__connection_opens_as_javas_client_does);
  tcase_add_test(tests, test_hbase094_rpc__request_is_framed_as_javas_client_does);
  tcase_add_test(tests, test_hbase094_rpc__request_without_memory_says_so);
  tcase_add_test(tests, test_hbase094_rpc__good_reply_is_read);
  tcase_add_test(tests, test_hbase094_rpc__frame_is_awaited_until_it_is_whole);
  tcase_add_test(tests, test_hbase094_rpc__exception_is_its_requests_own);
  tcase_add_test(tests, test_hbase094_rpc__fatal_reply_is_about_the_connection);
  tcase_add_test(tests, test_hbase094_rpc__refused_version_is_final);
  tcase_add_test(tests, test_hbase094_rpc__exception_without_text_is_read);
  tcase_add_test(tests, test_hbase094_rpc__long_texts_are_cut);
  tcase_add_test(tests, test_hbase094_rpc__what_is_no_frame_is_refused);
  tcase_add_test(tests, test_hbase094_rpc__exception_cut_short_is_refused);
  tcase_add_test(tests, test_hbase094_rpc__head_tells_whose_a_long_frame_is);
  tcase_add_test(tests, test_hbase094_rpc__head_of_an_exception_holds_all_of_it);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
