/*
 * Descriptors of ranges, good and bad.
 */
#include "lib/descriptor.h"

#include "lib/bytes.h"
#include "test/damaged.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A string literal as bytes, NULs inside included. */
#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

/* Pieces of a message: RangeDescriptor{id 17, generation 300, ["b", "m"), one replica}. */
#define ID "\x08\x11"
#define GENERATION "\x10\xac\x02"
#define BOUNDS                                                                                     \
  "\x1a\x01"                                                                                       \
  "b\x22\x01m"
#define REPLICA                                                                                    \
  "\x2a\x10\x08\x03\x12\x09"                                                                       \
  "127.0.0.1\x18\x87\x46"
#define MESSAGE ID GENERATION BOUNDS REPLICA
#define HEAD "KRD\x01"

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

static struct kr_descriptor *read_good(struct keyroute_bytes value)
{
  struct kr_descriptor *read = NULL;
  const char *reason = NULL;

  ck_assert_msg(kr_descriptor_read(&read, mem, value, &reason) == 0, "%s", reason);
  ck_assert_ptr_null(reason);
  return read;
}

static void assert_corrupt(struct keyroute_bytes value, const char *want)
{
  struct kr_descriptor *read = NULL;
  const char *reason = NULL;

  ck_assert_int_eq(kr_descriptor_read(&read, mem, value, &reason), KEYROUTE_E_CORRUPT);
  ck_assert_ptr_null(read);
  ck_assert_str_eq(reason, want);
}

/* One that nothing is wrong with; what a test spoils is its own. */
static const struct kr_descriptor_replica replicas[] = {
    {.node_id = 3, .host = {"127.0.0.1", 9}, .port = 8967},
    {.node_id = 1, .host = {"2001:db8::1", 11}, .port = 65535},
};
static const struct kr_descriptor good = {
    .id = 17,
    .generation = 300,
    .start_key = {"b", 1},
    .end_key = {"m", 1},
    .replicas = replicas,
    .replica_count = 1,
};

static void write_good(struct kr_buf *out, const struct kr_descriptor *descriptor)
{
  kr_buf_init(out, mem);
  kr_descriptor_write(out, descriptor);
  ck_assert(!out->failed);
}

/* A descriptor that is written is corrupt for that reason. */
static void assert_refused(const struct kr_descriptor *descriptor, const char *want)
{
  struct kr_buf value;

  write_good(&value, descriptor);
  assert_corrupt(kr_buf_view(&value), want);
  kr_buf_clear(&value);
}

static void assert_host_refused(struct keyroute_bytes host, const char *want)
{
  struct kr_descriptor_replica spoilt[] = {replicas[0], {.host = host, .port = 1}};
  struct kr_descriptor descriptor = good;

  descriptor.replicas = spoilt;
  descriptor.replica_count = 2;
  assert_refused(&descriptor, want);
}

static void assert_bounds_refused(struct keyroute_bytes start, struct keyroute_bytes end,
                                  const char *want)
{
  struct kr_descriptor descriptor = good;

  descriptor.start_key = start;
  descriptor.end_key = end;
  assert_refused(&descriptor, want);
}

static void assert_same(const struct kr_descriptor *got, const struct kr_descriptor *want)
{
  ck_assert_uint_eq(got->id, want->id);
  ck_assert_uint_eq(got->generation, want->generation);
  ck_assert(kr_bytes_equal(got->start_key, want->start_key));
  ck_assert(kr_bytes_equal(got->end_key, want->end_key));
  ck_assert_uint_eq(got->replica_count, want->replica_count);
  for (size_t i = 0; i < want->replica_count; i++) {
    ck_assert_uint_eq(got->replicas[i].node_id, want->replicas[i].node_id);
    ck_assert(kr_bytes_equal(got->replicas[i].host, want->replicas[i].host));
    ck_assert_uint_eq(got->replicas[i].port, want->replicas[i].port);
  }
}

static void assert_round_trip(const struct kr_descriptor *descriptor)
{
  struct kr_buf value;

  write_good(&value, descriptor);
  struct kr_descriptor *read = read_good(kr_buf_view(&value));

  kr_buf_clear(&value); /* it owns all of it */
  assert_same(read, descriptor);
  kr_free(mem, read);
}

/* ---- Good ones ------------------------------------------------------------------------------- */

START_TEST(test_descriptor__bytes_on_the_wire_are_those_of_the_manual)
{
  struct kr_buf value;

  write_good(&value, &good);
  ck_assert(kr_bytes_equal(kr_buf_view(&value), BYTES(HEAD MESSAGE)));
  kr_buf_clear(&value);
}
END_TEST

START_TEST(test_descriptor__what_is_written_is_read)
{
  struct kr_descriptor descriptor = good;

  assert_round_trip(&descriptor);
  descriptor.replica_count = 2;
  assert_round_trip(&descriptor);
  descriptor.start_key = descriptor.end_key = kr_bytes(NULL, 0);
  assert_round_trip(&descriptor);
  descriptor.start_key = BYTES("a\0,\xff\n");
  descriptor.end_key = BYTES("a\0,\xff\n\0");
  assert_round_trip(&descriptor);
  descriptor.id = UINT64_MAX;
  descriptor.generation = INT64_MAX;
  assert_round_trip(&descriptor);
}
END_TEST

START_TEST(test_descriptor__keys_and_replicas_may_be_as_many_as_is_said)
{
  static char key[KR_DESCRIPTOR_KEY_MAX];
  struct kr_descriptor_replica many[KR_DESCRIPTOR_REPLICAS_MAX];
  struct kr_descriptor descriptor = good;

  descriptor.end_key = kr_bytes(memset(key, 'k', sizeof(key)), sizeof(key));
  descriptor.replicas = many;
  descriptor.replica_count = KR_DESCRIPTOR_REPLICAS_MAX;
  for (size_t i = 0; i < KR_DESCRIPTOR_REPLICAS_MAX; i++) {
    many[i] = (struct kr_descriptor_replica){
        .node_id = UINT64_MAX, .host = {key, 255}, .port = (uint16_t)(i + 1)};
  }
  assert_round_trip(&descriptor);
}
END_TEST

START_TEST(test_descriptor__what_is_absent_is_zero_or_empty)
{
  struct kr_descriptor *read = read_good(BYTES(HEAD ID REPLICA));

  ck_assert_uint_eq(read->generation, 0);
  ck_assert_uint_eq(read->start_key.len, 0);
  ck_assert_uint_eq(read->end_key.len, 0);
  kr_free(mem, read);
}
END_TEST

START_TEST(test_descriptor__fields_of_later_times_are_stepped_over)
{
  struct kr_descriptor *read = read_good(BYTES(HEAD MESSAGE "\x32\x03new\x38\x01"));

  assert_same(read, &good);
  kr_free(mem, read);
}
END_TEST

START_TEST(test_descriptor__message_alone_is_read_too)
{
  struct kr_descriptor *read = NULL;
  const char *reason = NULL;

  ck_assert_int_eq(kr_descriptor_read_message(&read, mem, BYTES(MESSAGE), &reason), 0);
  assert_same(read, &good);
  kr_free(mem, read);
  read = NULL;
  ck_assert_int_eq(kr_descriptor_read_message(&read, mem, BYTES(""), &reason), KEYROUTE_E_CORRUPT);
  ck_assert_ptr_null(read);
  ck_assert_str_eq(reason, "its descriptor has no id");
}
END_TEST

/* ---- Bad ones -------------------------------------------------------------------------------- */

START_TEST(test_descriptor__other_bytes_are_corrupt_with_their_reason)
{
  assert_corrupt(kr_bytes(NULL, 0), "it is empty");
  assert_corrupt(BYTES("K"), "it holds no descriptor");
  assert_corrupt(BYTES("KRD"), "it holds no descriptor");
  assert_corrupt(BYTES("localhost:8086"), "it holds no descriptor");
  assert_corrupt(BYTES("PBUF" MESSAGE), "it holds no descriptor");
  assert_corrupt(BYTES("KRD\x00" MESSAGE), "its descriptor is of no version");
  assert_corrupt(BYTES("KRD\x02" MESSAGE), "its descriptor is of a newer version");
  assert_corrupt(BYTES("KRD\xff" MESSAGE), "its descriptor is of a newer version");
  assert_corrupt(BYTES(HEAD MESSAGE "\x2a"), "its descriptor cannot be read");
  assert_corrupt(BYTES(HEAD MESSAGE "\x2a\xff\xff\xff\xff\x0f\x0a"),
                 "its descriptor cannot be read");
}
END_TEST

START_TEST(test_descriptor__numbers_that_cannot_be_are_corrupt_with_their_reason)
{
  struct kr_descriptor descriptor = good;

  assert_corrupt(BYTES(HEAD), "its descriptor has no id");
  assert_corrupt(BYTES(HEAD "\x08\x00" REPLICA), "its descriptor has no id");
  descriptor.generation = (uint64_t)INT64_MAX + 1;
  assert_refused(&descriptor, "its descriptor has too large a generation");
  assert_corrupt(BYTES(HEAD ID "\x2a\x03\x12\x01h"),
                 "a replica of its descriptor has no proper port");
  assert_corrupt(BYTES(HEAD ID "\x2a\x05\x12\x01h\x18\x00"),
                 "a replica of its descriptor has no proper port");
  assert_corrupt(BYTES(HEAD ID "\x2a\x07\x12\x01h\x18\x80\x80\x04"),
                 "a replica of its descriptor has no proper port");
}
END_TEST

START_TEST(test_descriptor__bounds_that_cannot_be_are_corrupt_with_their_reason)
{
  static char key[KR_DESCRIPTOR_KEY_MAX + 1];

  assert_bounds_refused(BYTES("m"), BYTES("m"), "its descriptor ends at or below its start key");
  assert_bounds_refused(BYTES("m"), BYTES("b"), "its descriptor ends at or below its start key");
  assert_bounds_refused(BYTES("m\0"), BYTES("m"), "its descriptor ends at or below its start key");
  assert_bounds_refused(kr_bytes(key, sizeof(key)), BYTES(""),
                        "its descriptor has too long a start key");
  assert_bounds_refused(BYTES(""), kr_bytes(key, sizeof(key)),
                        "its descriptor has too long an end key");
}
END_TEST

START_TEST(test_descriptor__replicas_that_cannot_be_are_corrupt_with_their_reason)
{
  static struct kr_descriptor_replica many[KR_DESCRIPTOR_REPLICAS_MAX + 1];
  struct kr_descriptor descriptor = good;

  assert_corrupt(BYTES(HEAD ID BOUNDS), "its descriptor names no replica");
  descriptor.replicas = many;
  descriptor.replica_count = KR_DESCRIPTOR_REPLICAS_MAX + 1;
  assert_refused(&descriptor, "its descriptor names too many replicas");
}
END_TEST

START_TEST(test_descriptor__hosts_that_cannot_be_are_corrupt_with_their_reason)
{
  char host[256];

  memset(host, 'h', sizeof(host));
  assert_host_refused(BYTES(""), "a replica of its descriptor has no host");
  assert_host_refused(kr_bytes(host, sizeof(host)),
                      "a replica of its descriptor has too long a host name");
  assert_host_refused(BYTES("a\nb"),
                      "a replica of its descriptor has strange bytes in its host name");
  assert_host_refused(BYTES("a b"),
                      "a replica of its descriptor has strange bytes in its host name");
  assert_host_refused(BYTES("a\0b"),
                      "a replica of its descriptor has strange bytes in its host name");
  assert_host_refused(BYTES("\xc3\xa4"),
                      "a replica of its descriptor has strange bytes in its host name");
}
END_TEST

START_TEST(test_descriptor__value_without_end_is_not_unpacked)
{
  size_t len = (size_t)1 << 20;
  char *value = malloc(len);

  memset(value, 0x2a, len);
  memcpy(value, HEAD, 4);
  assert_corrupt(kr_bytes(value, len), "its descriptor is too long");
  free(value);
}
END_TEST

static void read_damaged(struct keyroute_bytes value)
{
  struct kr_descriptor *read = NULL;
  const char *reason;

  kr_descriptor_read(&read, mem, value, &reason);
  kr_free(mem, read);
}

START_TEST(test_descriptor__every_piece_and_every_flipped_byte_is_safe_to_read)
{
  damaged_each(BYTES(HEAD MESSAGE), read_damaged);
}
END_TEST

static int read_whole(void **out)
{
  struct kr_descriptor *read = NULL;
  const char *reason;
  int error = kr_descriptor_read(&read, mem, BYTES(HEAD MESSAGE), &reason);

  *out = read;
  return error;
}

START_TEST(test_descriptor__reading_fails_cleanly_at_each_allocation)
{
  ck_assert_int_gt(mem_fail_each(mem, read_whole), 2);
}
END_TEST

static void write_whole(struct kr_buf *out)
{
  kr_descriptor_write(out, &good);
}

START_TEST(test_descriptor__writing_fails_cleanly_at_each_allocation)
{
  ck_assert_int_gt(mem_fail_each_write(mem, write_whole), 1);
}
END_TEST

/* ---- Bounds ---------------------------------------------------------------------------------- */

START_TEST(test_descriptor__range_holds_its_start_key_and_not_its_end_key)
{
  struct kr_descriptor inner = {.start_key = keyroute_string("b"), .end_key = keyroute_string("d")};
  struct kr_descriptor whole = {.id = 0};

  ck_assert(!kr_descriptor_holds(&inner, keyroute_string("a")));
  ck_assert(kr_descriptor_holds(&inner, keyroute_string("b")));
  ck_assert(kr_descriptor_holds(&inner, keyroute_string("czz")));
  ck_assert(!kr_descriptor_holds(&inner, keyroute_string("d")));
  ck_assert(kr_descriptor_holds(&whole, keyroute_string("")));
  ck_assert(kr_descriptor_holds(&whole, keyroute_string("\xff")));
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("descriptor");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_descriptor__bytes_on_the_wire_are_those_of_the_manual);
  tcase_add_test(tests, test_descriptor__what_is_written_is_read);
  tcase_add_test(tests, test_descriptor__keys_and_replicas_may_be_as_many_as_is_said);
  tcase_add_test(tests, test_descriptor__what_is_absent_is_zero_or_empty);
  tcase_add_test(tests, test_descriptor__fields_of_later_times_are_stepped_over);
  tcase_add_test(tests, test_descriptor__message_alone_is_read_too);
  tcase_add_test(tests, test_descriptor__other_bytes_are_corrupt_with_their_reason);
  tcase_add_test(tests, test_descriptor__numbers_that_cannot_be_are_corrupt_with_their_reason);
  tcase_add_test(tests, test_descriptor__bounds_that_cannot_be_are_corrupt_with_their_reason);
  tcase_add_test(tests, test_descriptor__replicas_that_cannot_be_are_corrupt_with_their_reason);
  tcase_add_test(tests, test_descriptor__hosts_that_cannot_be_are_corrupt_with_their_reason);
  tcase_add_test(tests, test_descriptor__value_without_end_is_not_unpacked);
  tcase_add_test(tests, test_descriptor__every_piece_and_every_flipped_byte_is_safe_to_read);
  tcase_add_test(tests, test_descriptor__reading_fails_cleanly_at_each_allocation);
  tcase_add_test(tests, test_descriptor__writing_fails_cleanly_at_each_allocation);
  tcase_add_test(tests, test_descriptor__range_holds_its_start_key_and_not_its_end_key);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
