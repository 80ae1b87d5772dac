/*
 * Hadoop's Writable encodings. The bytes are those of Hadoop's own WritableUtils, run on the
 * numbers.
 */
#include "lib/writable.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)
/* The same where a constant is needed. */
#define CONSTANT(literal)                                                                          \
  {                                                                                                \
    literal, sizeof(literal) - 1                                                                   \
  }

static struct kr_mem *mem;
static struct kr_buf out;

static void set_up(void)
{
  mem = failing_mem_new();
  kr_buf_init(&out, mem);
}

static void tear_down(void)
{
  kr_buf_clear(&out);
  failing_mem_done(mem);
}

static const struct {
  int64_t value;
  struct keyroute_bytes bytes;
} numbers[] = {
    {0, CONSTANT("\x00")},
    {127, CONSTANT("\x7f")},
    {-1, CONSTANT("\xff")},
    {-112, CONSTANT("\x90")},
    {128, CONSTANT("\x8f\x80")},
    {255, CONSTANT("\x8f\xff")},
    {256, CONSTANT("\x8e\x01\x00")},
    {65536, CONSTANT("\x8d\x01\x00\x00")},
    {INT32_MAX, CONSTANT("\x8c\x7f\xff\xff\xff")},
    {INT32_MIN, CONSTANT("\x84\x7f\xff\xff\xff")},
    {INT64_C(4294967296), CONSTANT("\x8b\x01\x00\x00\x00\x00")},
    {INT64_MAX, CONSTANT("\x88\x7f\xff\xff\xff\xff\xff\xff\xff")},
    {INT64_MIN, CONSTANT("\x80\x7f\xff\xff\xff\xff\xff\xff\xff")},
    {-113, CONSTANT("\x87\x70")},
    {-256, CONSTANT("\x87\xff")},
    {-257, CONSTANT("\x86\x01\x00")},
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

START_TEST(test_writable__numbers_are_written_as_hadoop_does)
{
  kr_write_vint(&out, numbers[_i].value);

  ck_assert(kr_bytes_equal(kr_buf_view(&out), numbers[_i].bytes));
}
END_TEST

START_TEST(test_writable__numbers_are_read_to_their_end)
{
  struct kr_reader reader = kr_reader(numbers[_i].bytes);

  ck_assert_int_eq(kr_read_vint(&reader), numbers[_i].value);
  ck_assert(!reader.bad);
  ck_assert_uint_eq(kr_reader_left(&reader), 0);
}
END_TEST

START_TEST(test_writable__number_cut_short_is_bad)
{
  struct keyroute_bytes bytes = numbers[_i].bytes;

  for (size_t len = 0; len < bytes.len; len++) {
    struct kr_reader reader = kr_reader(kr_bytes(bytes.data, len));

    ck_assert_int_eq(kr_read_vint(&reader), 0);
    ck_assert(reader.bad);
  }
}
END_TEST

START_TEST(test_writable__written_numbers_are_read_back)
{
  unsigned seed = (unsigned)_i + 1;

  for (int i = 0; i < 1000; i++) {
    uint64_t bits = 0;

    for (int at = 0; at < 5; at++) {
      bits = bits << 15 ^ (uint64_t)rand_r(&seed);
    }
    int64_t value = (int64_t)(bits >> (rand_r(&seed) % 64)) * (rand_r(&seed) % 2 == 0 ? 1 : -1);

    out.len = 0;
    kr_write_vint(&out, value);
    struct kr_reader reader = kr_reader(kr_buf_view(&out));

    ck_assert_int_eq(kr_read_vint(&reader), value);
    ck_assert(!reader.bad && kr_reader_left(&reader) == 0);
  }
}
END_TEST

START_TEST(test_writable__number_in_more_bytes_than_needed_is_read)
{
  struct kr_reader reader = kr_reader(BYTES("\x8d\x00\x00\x07"));

  ck_assert_int_eq(kr_read_vint(&reader), 7);
  ck_assert(!reader.bad);
}
END_TEST

START_TEST(test_writable__bytes_have_their_length_in_front)
{
  char name[130];

  memset(name, 'n', sizeof(name));
  kr_write_vbytes(&out, BYTES(""));
  kr_write_vbytes(&out, BYTES("a\0b"));
  kr_write_vbytes(&out, kr_bytes(name, sizeof(name)));

  ck_assert(kr_bytes_equal(kr_bytes(out.data, 7), BYTES("\x00\x03"
                                                        "a\0b\x8f\x82")));
  ck_assert_uint_eq(out.len, 7 + sizeof(name));
  struct kr_reader reader = kr_reader(kr_buf_view(&out));

  ck_assert_uint_eq(kr_read_vbytes(&reader).len, 0);
  ck_assert(kr_bytes_equal(kr_read_vbytes(&reader), BYTES("a\0b")));
  ck_assert(kr_bytes_equal(kr_read_vbytes(&reader), kr_bytes(name, sizeof(name))));
  ck_assert(!reader.bad);
}
END_TEST

START_TEST(test_writable__length_that_is_negative_or_too_long_is_bad)
{
  static const struct keyroute_bytes spoilt[] = {CONSTANT("\x04"
                                                          "abc"),
                                                 CONSTANT("\xff"
                                                          "abc"),
                                                 CONSTANT("\x80\x7f\xff\xff\xff\xff\xff\xff\xff"),
                                                 CONSTANT("\x88\x7f\xff\xff\xff\xff\xff\xff\xff")};
  struct kr_reader reader = kr_reader(spoilt[_i]);

  ck_assert_uint_eq(kr_read_vbytes(&reader).len, 0);
  ck_assert(reader.bad);
}
END_TEST

START_TEST(test_writable__strings_of_exceptions_may_be_null)
{
  struct kr_reader reader = kr_reader(BYTES("\0\0\0\x02"
                                            "ab\xff\xff\xff\xff\0\0\0\0\0\0\0\x09x"));

  ck_assert(kr_bytes_equal(kr_read_string(&reader), BYTES("ab")));
  ck_assert_uint_eq(kr_read_string(&reader).len, 0);
  ck_assert_uint_eq(kr_read_string(&reader).len, 0);
  ck_assert(!reader.bad);
  ck_assert_uint_eq(kr_read_string(&reader).len, 0);
  ck_assert(reader.bad);
}
END_TEST

START_TEST(test_writable__bool_is_zero_or_one)
{
  struct kr_reader reader = kr_reader(BYTES("\0\1\2\1"));

  ck_assert(!kr_read_bool(&reader));
  ck_assert(kr_read_bool(&reader));
  ck_assert(!reader.bad);
  ck_assert(!kr_read_bool(&reader));
  ck_assert(reader.bad);
  ck_assert(!kr_read_bool(&reader));
}
END_TEST

START_TEST(test_writable__parameters_begin_with_their_class)
{
  kr_write_bytes_param(&out, BYTES("ab"));
  kr_write_int_param(&out, -2);
  kr_write_long_param(&out, 258);

  ck_assert(
      kr_bytes_equal(kr_buf_view(&out), BYTES("\x0b\x02"
                                              "ab\x05\xff\xff\xff\xfe\x06\0\0\0\0\0\0\x01\x02")));
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("writable");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_loop_test(tests, test_writable__numbers_are_written_as_hadoop_does, 0, NUMBERS);
  tcase_add_loop_test(tests, test_writable__numbers_are_read_to_their_end, 0, NUMBERS);
  tcase_add_loop_test(tests, test_writable__number_cut_short_is_bad, 0, NUMBERS);
  tcase_add_loop_test(tests, test_writable__written_numbers_are_read_back, 0, 3);
  tcase_add_test(tests, test_writable__number_in_more_bytes_than_needed_is_read);
  tcase_add_test(tests, test_writable__bytes_have_their_length_in_front);
  tcase_add_loop_test(tests, test_writable__length_that_is_negative_or_too_long_is_bad, 0, 4);
  tcase_add_test(tests, test_writable__strings_of_exceptions_may_be_null);
  tcase_add_test(tests, test_writable__bool_is_zero_or_one);
  tcase_add_test(tests, test_writable__parameters_begin_with_their_class);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
