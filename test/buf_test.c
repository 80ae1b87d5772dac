/*
 * Reading what others sent, byte for byte at its end, and writing with and without memory.
 */
#include "lib/buf.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* A reader of a copy of exactly len bytes, so that the sanitizer sees a read behind them. */
static struct kr_reader reader_of(uint8_t **copy, const void *data, size_t len)
{
  *copy = malloc(len > 0 ? len : 1);
  ck_assert_ptr_nonnull(*copy);
  memcpy(*copy, data, len);
  return kr_reader(kr_bytes(*copy, len));
}

START_TEST(test_buf__numbers_are_big_endian)
{
  uint8_t *copy;
  struct kr_reader reader =
      reader_of(&copy, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", 15);

  ck_assert_uint_eq(kr_read_u8(&reader), 1);
  ck_assert_uint_eq(kr_read_u16(&reader), 0x0203);
  ck_assert_uint_eq(kr_read_u32(&reader), 0x04050607);
  ck_assert_uint_eq(kr_read_u64(&reader), 0x08090a0b0c0d0e0f);

  ck_assert(!reader.bad);
  ck_assert_uint_eq(kr_reader_left(&reader), 0);
  free(copy);
}
END_TEST

static void read_one(struct kr_reader *reader, int what)
{
  switch (what) {
  case 0:
    kr_read_u8(reader);
    break;
  case 1:
    kr_read_u16(reader);
    break;
  case 2:
    kr_read_u32(reader);
    break;
  case 3:
    kr_read_u64(reader);
    break;
  default:
    kr_read_bytes(reader, 5);
  }
}

START_TEST(test_buf__every_read_past_the_end_is_bad_and_stays_bad)
{
  static const size_t widths[] = {1, 2, 4, 8, 5};

  for (size_t len = 0; len <= widths[_i]; len++) {
    uint8_t *copy;
    struct kr_reader reader = reader_of(&copy, "\xff\xff\xff\xff\xff\xff\xff\xff", len);

    read_one(&reader, _i);
    ck_assert(reader.bad == (len < widths[_i]));
    if (reader.bad) {
      ck_assert_uint_eq(kr_reader_left(&reader), 0);
      ck_assert_uint_eq(kr_read_u8(&reader), 0);
      ck_assert_uint_eq(kr_read_u64(&reader), 0);
      ck_assert_uint_eq(kr_read_varint(&reader), 0);
      ck_assert_uint_eq(kr_read_bytes(&reader, 0).len, 0);
      ck_assert(reader.bad);
    }
    free(copy);
  }
}
END_TEST

START_TEST(test_buf__lengths_that_lie_are_bad)
{
  static const uint64_t lengths[] = {5, 1u << 31, UINT32_MAX, (uint64_t)1 << 32, UINT64_MAX};

  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    uint8_t *copy;
    struct kr_reader reader = reader_of(&copy, "abcd", 4);
    struct keyroute_bytes got = kr_read_bytes(&reader, lengths[i]);

    ck_assert(reader.bad);
    ck_assert_uint_eq(got.len, 0);
    ck_assert_ptr_null(got.data);
    free(copy);
  }
}
END_TEST

START_TEST(test_buf__empty_bytes_are_read_at_the_end)
{
  struct kr_reader reader = kr_reader(kr_bytes(NULL, 0));

  ck_assert_uint_eq(kr_read_bytes(&reader, 0).len, 0);

  ck_assert(!reader.bad);
}
END_TEST

static const struct {
  const char *bytes;
  size_t len;
  bool good;
  uint64_t value;
} varints[] = {
    {"\x00", 1, true, 0},
    {"\x7f", 1, true, 127},
    {"\x80\x01", 2, true, 128},
    {"\xff\xff\xff\xff\x0f", 5, true, UINT32_MAX},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, true, 0},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false, 0},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, false, 0},
    {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, false, 0},
    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, false, 0},
    {"\x80", 1, false, 0},
    {"\xff\xff", 2, false, 0},
    {"", 0, false, 0},
};

START_TEST(test_buf__varints_have_at_most_64_bits_and_ten_bytes)
{
  uint8_t *copy;
  struct kr_reader reader = reader_of(&copy, varints[_i].bytes, varints[_i].len);
  uint64_t value = kr_read_varint(&reader);

  ck_assert(reader.bad == !varints[_i].good);
  ck_assert_uint_eq(value, varints[_i].value);
  free(copy);
}
END_TEST

START_TEST(test_buf__what_is_written_is_read_back)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_buf buf;

  kr_buf_init(&buf, mem);
  kr_buf_u8(&buf, 0xfe);
  kr_buf_u32(&buf, 0x12345678);
  kr_buf_varint(&buf, 300);
  kr_buf_varint(&buf, UINT64_MAX);
  kr_buf_text(&buf, "text");
  kr_buf_bytes(&buf, kr_bytes(NULL, 0));
  struct kr_reader reader = kr_reader(kr_buf_view(&buf));

  ck_assert(!buf.failed);
  ck_assert_uint_eq(kr_read_u8(&reader), 0xfe);
  ck_assert_uint_eq(kr_read_u32(&reader), 0x12345678);
  ck_assert_uint_eq(kr_read_varint(&reader), 300);
  ck_assert_uint_eq(kr_read_varint(&reader), UINT64_MAX);
  ck_assert(kr_bytes_equal(kr_read_bytes(&reader, 4), keyroute_string("text")));
  ck_assert_uint_eq(kr_reader_left(&reader), 0);
  kr_buf_clear(&buf);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_buf__writer_grows_and_keeps_what_it_had)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_buf buf;

  kr_buf_init(&buf, mem);
  for (uint32_t i = 0; i < 10000; i++) {
    kr_buf_u32(&buf, i);
  }
  struct kr_reader reader = kr_reader(kr_buf_view(&buf));

  ck_assert_uint_eq(buf.len, 40000);
  for (uint32_t i = 0; i < 10000; i++) {
    ck_assert_uint_eq(kr_read_u32(&reader), i);
  }
  kr_buf_clear(&buf);
  ck_assert_uint_eq(buf.len, 0);
  ck_assert_uint_eq(kr_buf_view(&buf).len, 0);
  kr_buf_u8(&buf, 1);
  ck_assert_uint_eq(buf.len, 1);
  kr_buf_clear(&buf);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_buf__nothing_is_written_without_memory)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_buf buf;

  kr_buf_init(&buf, mem);
  mem_fail_from(1);
  kr_buf_bytes(&buf, kr_bytes(NULL, 0));
  kr_buf_text(&buf, "");
  ck_assert(!buf.failed);
  ck_assert_uint_eq(kr_buf_view(&buf).len, 0);
  mem_fail(0);
  kr_buf_u8(&buf, 7);
  kr_buf_bytes(&buf, kr_bytes(NULL, 0));
  ck_assert_uint_eq(kr_buf_view(&buf).len, 1);
  kr_buf_clear(&buf);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_buf__writer_without_memory_fails_once_and_for_all)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_buf buf;

  kr_buf_init(&buf, mem);
  if (_i == 1) {
    kr_buf_text(&buf, "before");
  }
  size_t len = buf.len;

  mem_fail(1);
  ck_assert_ptr_null(kr_buf_extend(&buf, 100));
  mem_fail(0);
  kr_buf_text(&buf, "later");
  kr_buf_varint(&buf, 1000);

  ck_assert(buf.failed);
  ck_assert_uint_eq(buf.len, len);
  ck_assert(kr_bytes_equal(kr_buf_view(&buf), keyroute_string(_i == 1 ? "before" : "")));
  kr_buf_clear(&buf);
  ck_assert(!buf.failed);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_buf__absurd_length_fails_without_asking_for_memory)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_buf buf;

  kr_buf_init(&buf, mem);

  ck_assert_ptr_null(kr_buf_extend(&buf, SIZE_MAX));
  ck_assert(buf.failed);
  kr_buf_clear(&buf);
  failing_mem_done(mem);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("buf");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_buf__numbers_are_big_endian);
  tcase_add_loop_test(tests, test_buf__every_read_past_the_end_is_bad_and_stays_bad, 0, 5);
  tcase_add_test(tests, test_buf__lengths_that_lie_are_bad);
  tcase_add_test(tests, test_buf__empty_bytes_are_read_at_the_end);
  tcase_add_loop_test(tests, test_buf__varints_have_at_most_64_bits_and_ten_bytes, 0,
                      (int)(sizeof(varints) / sizeof(varints[0])));
  tcase_add_test(tests, test_buf__what_is_written_is_read_back);
  tcase_add_test(tests, test_buf__writer_grows_and_keeps_what_it_had);
  tcase_add_loop_test(tests, test_buf__writer_without_memory_fails_once_and_for_all, 0, 2);
  tcase_add_test(tests, test_buf__absurd_length_fails_without_asking_for_memory);
  tcase_add_test(tests, test_buf__nothing_is_written_without_memory);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
