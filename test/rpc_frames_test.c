#include "lib/rpc_frames.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <string.h>

/* ---- A protocol ------------------------------------------------------------------------------ */

/* A frame is its own length, a byte, and a number, a byte, which is its header; a body behind it.
 * Numbers from 200 on are no good: */
enum { HEAD_LEN = 2, BAD_FRAME = 200, BAD_REPLY, ENDLESS_HEAD, MAX_LEN = 20 };

static int toy_frame(size_t *len, struct keyroute_bytes in, struct kr_failure *failure)
{
  const uint8_t *data = in.data;

  *len = data[0];
  if (in.len > 1 && data[1] == BAD_FRAME) {
    kr_fail(failure, KEYROUTE_E_PROTOCOL, "bad frame");
    return KEYROUTE_E_PROTOCOL;
  }
  return 0;
}

static int toy_head(struct kr_rpc_reply *out, size_t *len, struct kr_mem *mem,
                    struct keyroute_bytes in, struct kr_failure *failure)
{
  const uint8_t *data = in.data;

  (void)mem;
  (void)failure;
  memset(out, 0, sizeof(*out));
  *len = in.len >= HEAD_LEN && data[1] != ENDLESS_HEAD ? HEAD_LEN : 0;
  if (*len > 0) {
    out->id = data[1];
  }
  return 0;
}

static int toy_reply(struct kr_rpc_reply *out, struct kr_mem *mem, struct keyroute_bytes frame,
                     struct kr_failure *failure)
{
  const uint8_t *data = frame.data;

  (void)mem;
  memset(out, 0, sizeof(*out));
  out->id = data[1];
  out->body = kr_bytes(data + HEAD_LEN, frame.len - HEAD_LEN);
  if (out->id == BAD_REPLY) {
    kr_fail(failure, KEYROUTE_E_PROTOCOL, "bad reply");
    return KEYROUTE_E_PROTOCOL;
  }
  return 0;
}

static const struct kr_rpc_codec toy = {.frame = toy_frame, .head = toy_head, .reply = toy_reply};

/* ---- What is asked of the frames ------------------------------------------------------------- */

static struct kr_mem *mem;
static struct kr_settings settings;
static struct kr_rpc_frames frames;

static void setup(void)
{
  mem = failing_mem_new();
  settings.max_frame_len = MAX_LEN;
  kr_rpc_frames_init(&frames, mem, &settings, &toy);
}

static void teardown(void)
{
  kr_rpc_frames_clear(&frames);
  failing_mem_done(mem);
}

static void add(const void *data, size_t len)
{
  ck_assert_int_eq(kr_rpc_frames_add(&frames, kr_bytes(data, len)), 0);
}

/* Expects that there is one. */
static struct kr_rpc_reply next(void)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  bool found = false;

  ck_assert_int_eq(kr_rpc_frames_next(&found, &reply, &frames, &failure), 0);
  ck_assert(found);
  return reply;
}

static void expect_none(void)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  bool found = true;

  ck_assert_int_eq(kr_rpc_frames_next(&found, &reply, &frames, &failure), 0);
  ck_assert(!found);
}

static void expect_error(const char *message)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  bool found;

  ck_assert_int_eq(kr_rpc_frames_next(&found, &reply, &frames, &failure), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, message);
}

/* Add bytes in pieces of so many, and note the numbers and codes of what is found. */
static size_t add_in_pieces(struct kr_rpc_reply *out, const uint8_t *data, size_t len, size_t piece)
{
  struct kr_failure failure;
  size_t count = 0;

  for (size_t at = 0; at < len; at += piece) {
    bool found = true;

    add(data + at, len - at < piece ? len - at : piece);
    while (found) {
      ck_assert_int_eq(kr_rpc_frames_next(&found, &out[count], &frames, &failure), 0);
      count += found;
    }
  }
  return count;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(test_rpc_frames__are_the_same_however_the_bytes_are_cut)
{
  static const uint8_t three[] = "\x04\x01"
                                 "ab"
                                 "\x02\x02"
                                 "\x05\x03"
                                 "cde";
  struct kr_rpc_reply replies[8];

  for (size_t piece = 1; piece < sizeof(three); piece++) {
    size_t count = add_in_pieces(replies, three, sizeof(three) - 1, piece);

    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(replies[0].id, 1);
    ck_assert_uint_eq(replies[0].body.len, 2);
    ck_assert_uint_eq(replies[1].id, 2);
    ck_assert_uint_eq(replies[2].id, 3);
    ck_assert_uint_eq(replies[2].body.len, 3);
  }
}
END_TEST

START_TEST(test_rpc_frames__one_stays_in_place_until_the_next_is_asked_for)
{
  add("\x04\x01"
      "ab"
      "\x04\x02"
      "cd"
      "\x09\x03",
      10);

  struct kr_rpc_reply first = next();
  ck_assert_int_eq(memcmp(first.body.data, "ab", 2), 0);
  struct kr_rpc_reply second = next();
  ck_assert_int_eq(memcmp(second.body.data, "cd", 2), 0);
  expect_none();
  add("efghijk", 7);
  struct kr_rpc_reply third = next();

  ck_assert_uint_eq(third.id, 3);
  ck_assert_int_eq(memcmp(third.body.data, "efghijk", 7), 0);
}
END_TEST

START_TEST(test_rpc_frames__a_long_one_is_too_large_and_skipped)
{
  uint8_t bytes[108] = {2, 1, 100, 7};
  struct kr_rpc_reply replies[8];
  memcpy(bytes + 102, "\x02\x03\x04\x04xy", 6);

  for (size_t piece = 1; piece <= sizeof(bytes); piece++) {
    size_t count = add_in_pieces(replies, bytes, sizeof(bytes), piece);

    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(replies[0].id, 1);
    ck_assert_uint_eq(replies[1].id, 7);
    ck_assert_int_eq(replies[1].failure.code, KEYROUTE_E_TOO_LARGE);
    ck_assert_uint_eq(replies[1].failure.answer_len, 100);
    ck_assert_uint_eq(replies[2].id, 3);
    ck_assert_int_eq(replies[2].failure.code, 0);
    ck_assert_uint_eq(replies[3].id, 4);
  }
}
END_TEST

START_TEST(test_rpc_frames__a_long_one_is_not_kept)
{
  uint8_t part[50] = {255, 7};

  add(part, 2);
  struct kr_rpc_reply reply = next();
  expect_none();
  memset(part, 'x', sizeof(part));
  for (int i = 0; i < 5; i++) {
    add(part, sizeof(part));
    expect_none();
    ck_assert_uint_eq(frames.in.len, 0);
  }
  add("xxx\x02\x08", 5);
  struct kr_rpc_reply behind = next();

  ck_assert_uint_eq(reply.id, 7);
  ck_assert_uint_eq(behind.id, 8);
}
END_TEST

START_TEST(test_rpc_frames__a_header_over_the_limit_is_an_error)
{
  uint8_t bytes[MAX_LEN] = {100, ENDLESS_HEAD};

  add(bytes, MAX_LEN - 1);
  expect_none();
  add(bytes, 1);

  expect_error("a reply of 100 bytes, over the limit of 20: its header alone is too long");
}
END_TEST

START_TEST(test_rpc_frames__those_before_a_bad_one_are_handed_out)
{
  static const uint8_t bytes[] = {2, 1, 2, BAD_REPLY};

  add(bytes, sizeof(bytes));
  struct kr_rpc_reply reply = next();

  ck_assert_uint_eq(reply.id, 1);
  expect_error("bad reply");
}
END_TEST

START_TEST(test_rpc_frames__what_is_no_frame_is_an_error)
{
  static const uint8_t bytes[] = {2, BAD_FRAME};

  add(bytes, sizeof(bytes));

  expect_error("bad frame");
}
END_TEST

START_TEST(test_rpc_frames__an_emptied_buffer_gives_much_memory_back)
{
  static uint8_t much[200 * 1024];
  for (size_t at = 0; at < sizeof(much); at += 16) {
    much[at] = 16;
  }

  add(much, sizeof(much));
  for (size_t at = 0; at < sizeof(much); at += 16) {
    next();
  }
  size_t before = frames.in.cap;
  expect_none();

  ck_assert_uint_ge(before, sizeof(much));
  ck_assert_uint_eq(frames.in.cap, 0);
}
END_TEST

START_TEST(test_rpc_frames__without_memory_adding_says_so)
{
  mem_fail_from(1);

  int error = kr_rpc_frames_add(&frames, kr_bytes("\x02\x01", 2));

  mem_fail_from(0);
  ck_assert_int_eq(error, KEYROUTE_E_NO_MEMORY);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("rpc_frames");
  TCase *tcase = tcase_create("all");

  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, test_rpc_frames__are_the_same_however_the_bytes_are_cut);
  tcase_add_test(tcase, test_rpc_frames__one_stays_in_place_until_the_next_is_asked_for);
  tcase_add_test(tcase, test_rpc_frames__a_long_one_is_too_large_and_skipped);
  tcase_add_test(tcase, test_rpc_frames__a_long_one_is_not_kept);
  tcase_add_test(tcase, test_rpc_frames__a_header_over_the_limit_is_an_error);
  tcase_add_test(tcase, test_rpc_frames__those_before_a_bad_one_are_handed_out);
  tcase_add_test(tcase, test_rpc_frames__what_is_no_frame_is_an_error);
  tcase_add_test(tcase, test_rpc_frames__an_emptied_buffer_gives_much_memory_back);
  tcase_add_test(tcase, test_rpc_frames__without_memory_adding_says_so);
  suite_add_tcase(suite, tcase);
  return run_suite(suite);
}
