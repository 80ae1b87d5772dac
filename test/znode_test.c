/*
 * The payload of HBase's znodes, good and bad.
 */
#include "lib/znode.h"

#include "lib/bytes.h"
#include "test/damaged.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

/* As HBase 2.6.3 writes it: header with the writer's name and 8 bytes of salt, then
 * MetaRegionServer{server{"127.0.0.1", 38687, 1796001106352}, rpc_version 0, state OPEN}. */
#define HEADER                                                                                     \
  "\xff\x00\x00\x00\x14"                                                                           \
  "master:34739"                                                                                   \
  "\x01\x02\x03\x04\x05\x06\x07\x08"
#define SERVER                                                                                     \
  "\x0a\x16\x0a\x09"                                                                               \
  "127.0.0.1"                                                                                      \
  "\x10\x9f\xae\x02\x18\xb0\x93\x88\xd0\xa2\x34"
#define OPEN_STATE "\x10\x00\x18\x03"
#define MESSAGE "PBUF" SERVER OPEN_STATE

/* A string literal as bytes, NULs inside included. */
#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

/* ---- Doubles --------------------------------------------------------------------------------- */

static struct kr_mem *mem;

static void set_up(void)
{
  mem = failing_mem_new();
}

static void tear_down(void)
{
  failing_mem_done(mem);
}

static void assert_unwrapped(struct keyroute_bytes payload, struct keyroute_bytes want)
{
  struct keyroute_bytes got = {&mem, 99};

  ck_assert_int_eq(kr_znode_unwrap(&got, payload), 0);
  ck_assert(kr_bytes_equal(got, want));
}

static void assert_not_unwrapped(struct keyroute_bytes payload)
{
  struct keyroute_bytes untouched = {&mem, 99};

  ck_assert_int_eq(kr_znode_unwrap(&untouched, payload), KEYROUTE_E_CORRUPT);
  ck_assert_uint_eq(untouched.len, 99);
}

static struct kr_meta_region_server *parse(struct keyroute_bytes payload)
{
  struct kr_meta_region_server *meta = NULL;
  const char *reason = NULL;

  ck_assert_msg(kr_meta_region_server_parse(&meta, mem, payload, &reason) == 0, "%s", reason);
  ck_assert_ptr_null(reason);
  return meta;
}

static void assert_state(struct keyroute_bytes payload, enum kr_region_state want)
{
  struct kr_meta_region_server *meta = parse(payload);

  ck_assert_int_eq(meta->state, want);
  kr_free(mem, meta);
}

static void assert_corrupt(struct keyroute_bytes payload, const char *want)
{
  struct kr_meta_region_server *meta = NULL;
  const char *reason = NULL;

  ck_assert_int_eq(kr_meta_region_server_parse(&meta, mem, payload, &reason), KEYROUTE_E_CORRUPT);
  ck_assert_ptr_null(meta);
  ck_assert_str_eq(reason, want);
}

/* ---- The header ------------------------------------------------------------------------------ */

START_TEST(test_znode__header_is_taken_off)
{
  assert_unwrapped(BYTES(HEADER MESSAGE), BYTES(MESSAGE));
  assert_unwrapped(BYTES("\xff\x00\x00\x00\x00"
                         "data"),
                   BYTES("data"));
  assert_unwrapped(BYTES("\xff\x00\x00\x00\x02"
                         "id"),
                   BYTES(""));
}
END_TEST

START_TEST(test_znode__payload_without_header_is_data)
{
  assert_unwrapped(BYTES(MESSAGE), BYTES(MESSAGE));
  assert_unwrapped(BYTES("host,60020,1289497600452"), BYTES("host,60020,1289497600452"));
  assert_unwrapped(BYTES("\x00"), BYTES("\x00"));
}
END_TEST

START_TEST(test_znode__s063_short_or_lying_headers_are_corrupt)
{
  assert_not_unwrapped(kr_bytes(NULL, 0));
  assert_not_unwrapped(BYTES("\xff"));
  assert_not_unwrapped(BYTES("\xff\x00\x00\x00"));
  assert_not_unwrapped(BYTES("\xff\x00\x00\x00\x05"
                             "four"));
  assert_not_unwrapped(BYTES("\xff\x7f\xff\xff\xff"
                             "four"));
  assert_not_unwrapped(BYTES("\xff\xff\xff\xff\xff"
                             "four"));
}
END_TEST

/* ---- The place of meta ----------------------------------------------------------------------- */

START_TEST(test_znode__place_of_meta_is_read_in_full)
{
  struct kr_meta_region_server *meta = parse(BYTES(HEADER MESSAGE));

  ck_assert(kr_bytes_equal(meta->host, BYTES("127.0.0.1")));
  ck_assert_str_eq(meta->host.data, "127.0.0.1");
  ck_assert_int_eq(meta->port, 38687);
  ck_assert_int_eq(meta->start_code, 1796001106352);
  ck_assert_int_eq(meta->state, KR_STATE_OPEN);
  kr_free(mem, meta);
}
END_TEST

START_TEST(test_znode__absent_state_is_open)
{
  assert_state(BYTES("PBUF" SERVER), KR_STATE_OPEN);
}
END_TEST

START_TEST(test_znode__s082_state_other_than_open_is_told)
{
  assert_state(BYTES("PBUF" SERVER "\x18\x00"), KR_STATE_OFFLINE);
  assert_state(BYTES("PBUF" SERVER "\x18\x01"), KR_STATE_OPENING);
  assert_state(BYTES("PBUF" SERVER "\x18\x02"), KR_STATE_OPENING);
  assert_state(BYTES("PBUF" SERVER "\x18\x06"), KR_STATE_CLOSED);
  assert_state(BYTES("PBUF" SERVER "\x18\x0f"), KR_STATE_ABNORMALLY_CLOSED);
}
END_TEST

START_TEST(test_znode__state_without_a_name_is_other)
{
  assert_state(BYTES("PBUF" SERVER "\x18\x10"), KR_STATE_OTHER);
  assert_state(BYTES("PBUF" SERVER "\x18\xff\xff\xff\xff\x07"), KR_STATE_OTHER);
  assert_state(BYTES("PBUF" SERVER "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), KR_STATE_OTHER);
}
END_TEST

START_TEST(test_znode__absent_start_code_is_zero)
{
  struct kr_meta_region_server *meta = parse(BYTES("PBUF\x0a\x05\x0a\x01h\x10\x01"));

  ck_assert_int_eq(meta->start_code, 0);
  ck_assert_int_eq(meta->port, 1);
  kr_free(mem, meta);
}
END_TEST

START_TEST(test_znode__s063_bad_payload_is_corrupt_with_its_reason)
{
  assert_corrupt(kr_bytes(NULL, 0), "it is empty");
  assert_corrupt(BYTES("\xff"), "it ends inside its header");
  assert_corrupt(BYTES("\xff\x7f\xff\xff\xff" MESSAGE), "it ends inside its header");
  assert_corrupt(BYTES(HEADER), "it holds no PBUF message");
  assert_corrupt(BYTES("x"), "it holds no PBUF message");
  assert_corrupt(BYTES(HEADER "PBU"), "it holds no PBUF message");
  assert_corrupt(BYTES("host,60020,1289497600452"), "it holds no PBUF message");
  assert_corrupt(BYTES(HEADER "PBUF"), "it names no server");
  assert_corrupt(BYTES("PBUF\x18\x03"), "it names no server");
  assert_corrupt(BYTES("PBUF\x0a\x16\x0a"), "its message cannot be read");
  assert_corrupt(BYTES("PBUF\x0a\xff\xff\xff\xff\x0f\x0a"), "its message cannot be read");
}
END_TEST

START_TEST(test_znode__unusable_server_is_corrupt_with_its_reason)
{
  assert_corrupt(BYTES("PBUF\x0a\x00"), "its server has no proper host name");
  assert_corrupt(BYTES("PBUF\x0a\x04\x0a\x00\x10\x01"), "its server has no proper host name");
  assert_corrupt(BYTES("PBUF\x0a\x05\x0a\x01\n\x10\x01"), "its server has no proper host name");
  assert_corrupt(BYTES("PBUF\x0a\x06\x0a\x02h \x10\x01"), "its server has no proper host name");
  assert_corrupt(BYTES("PBUF\x0a\x06\x0a\x02\xc3\xa4\x10\x01"),
                 "its server has no proper host name");
  assert_corrupt(BYTES("PBUF\x0a\x03\x0a\x01h"), "its server has no proper port");
  assert_corrupt(BYTES("PBUF\x0a\x05\x0a\x01h\x10\x00"), "its server has no proper port");
  assert_corrupt(BYTES("PBUF\x0a\x07\x0a\x01h\x10\x80\x80\x04"), "its server has no proper port");
  assert_corrupt(BYTES("PBUF\x0a\x10\x0a\x01h\x10\x01\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                 "its server's start code is out of range");
}
END_TEST

START_TEST(test_znode__host_longer_than_names_can_be_is_corrupt)
{
  char payload[4 + 3 + 3 + 256 + 2] = "PBUF\x0a\x85\x02\x0a\x80\x02";
  memset(payload + 10, 'h', 256);
  memcpy(payload + 266, "\x10\x01", 2);

  assert_corrupt(kr_bytes(payload, sizeof(payload)), "its server has no proper host name");
}
END_TEST

static void parse_damaged(struct keyroute_bytes payload)
{
  struct kr_meta_region_server *meta = NULL;
  const char *reason;

  kr_meta_region_server_parse(&meta, mem, payload, &reason);
  kr_free(mem, meta);
}

START_TEST(test_znode__every_piece_and_every_flipped_byte_is_safe_to_read)
{
  damaged_each(BYTES(HEADER MESSAGE), parse_damaged);
}
END_TEST

static int parse_whole(void **out)
{
  struct kr_meta_region_server *meta = NULL;
  const char *reason;
  int error = kr_meta_region_server_parse(&meta, mem, BYTES(HEADER MESSAGE), &reason);

  *out = meta;
  return error;
}

START_TEST(test_znode__parse_fails_cleanly_at_each_allocation)
{
  ck_assert_int_gt(mem_fail_each(mem, parse_whole), 2);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("znode");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_znode__header_is_taken_off);
  tcase_add_test(tests, test_znode__payload_without_header_is_data);
  tcase_add_test(tests, test_znode__s063_short_or_lying_headers_are_corrupt);
  tcase_add_test(tests, test_znode__place_of_meta_is_read_in_full);
  tcase_add_test(tests, test_znode__absent_state_is_open);
  tcase_add_test(tests, test_znode__s082_state_other_than_open_is_told);
  tcase_add_test(tests, test_znode__state_without_a_name_is_other);
  tcase_add_test(tests, test_znode__absent_start_code_is_zero);
  tcase_add_test(tests, test_znode__s063_bad_payload_is_corrupt_with_its_reason);
  tcase_add_test(tests, test_znode__unusable_server_is_corrupt_with_its_reason);
  tcase_add_test(tests, test_znode__host_longer_than_names_can_be_is_corrupt);
  tcase_add_test(tests, test_znode__every_piece_and_every_flipped_byte_is_safe_to_read);
  tcase_add_test(tests, test_znode__parse_fails_cleanly_at_each_allocation);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
