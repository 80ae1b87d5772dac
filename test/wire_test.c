/*
 * Fields of Protocol Buffers, written and read one by one: against bytes from its documentation.
 */
#include "lib/wire.h"

#include "lib/bytes.h"
#include "test/run_suite.h"

#include <check.h>

static struct kr_mem *mem;
static struct kr_buf out;

static void set_up(void)
{
  mem = kr_mem_new(NULL);
  kr_buf_init(&out, mem);
}

static void tear_down(void)
{
  kr_buf_clear(&out);
  kr_mem_release(mem);
}

static struct kr_reader reader_of(const char *data, size_t len)
{
  return kr_reader(kr_bytes(data, len));
}

START_TEST(test_wire__fields_are_written_as_the_documentation_has_them)
{
  struct kr_buf inner;

  kr_buf_init(&inner, mem);
  kr_wire_put_number(&inner, 1, 150);
  kr_wire_put_message(&out, 3, &inner);
  kr_wire_put_bytes(&out, 2, keyroute_string("testing"));

  ck_assert(kr_bytes_equal(kr_buf_view(&out), kr_bytes("\x1a\x03\x08\x96\x01"
                                                       "\x12\x07testing",
                                                       14)));
  ck_assert_uint_eq(inner.len, 0);
}
END_TEST

START_TEST(test_wire__inner_message_without_memory_spoils_the_outer_one)
{
  struct kr_buf inner;

  kr_buf_init(&inner, mem);
  inner.failed = true;
  kr_wire_put_message(&out, 3, &inner);

  ck_assert(out.failed);
}
END_TEST

START_TEST(test_wire__fields_of_fixed_width_are_stepped_over)
{
  struct kr_reader reader = reader_of("\x09"
                                      "12345678"
                                      "\x0d"
                                      "1234"
                                      "\x10\x07\x1a\x01z",
                                      19);

  kr_wire_read(&reader);
  kr_wire_read(&reader);
  struct kr_wire_field number = kr_wire_read(&reader);
  struct kr_wire_field bytes = kr_wire_read(&reader);

  ck_assert(!reader.bad);
  ck_assert_uint_eq(kr_reader_left(&reader), 0);
  ck_assert_uint_eq(number.tag, KR_WIRE_NUMBER(2));
  ck_assert_uint_eq(number.number, 7);
  ck_assert_uint_eq(bytes.tag, KR_WIRE_BYTES(3));
  ck_assert(kr_bytes_equal(bytes.bytes, keyroute_string("z")));
}
END_TEST

START_TEST(test_wire__what_is_no_field_is_bad)
{
  static const struct {
    const char *data;
    size_t len;
  } bad[] = {{"\x0b", 1}, {"\x0c", 1}, {"\x0e", 1}, {"\x0f", 1}, {"\x0a\x02z", 3}, {"\x09zzz", 4}};

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    struct kr_reader reader = reader_of(bad[i].data, bad[i].len);

    kr_wire_read(&reader);

    ck_assert(reader.bad);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("wire");
  TCase *tests = tcase_create("wire");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_wire__fields_are_written_as_the_documentation_has_them);
  tcase_add_test(tests, test_wire__inner_message_without_memory_spoils_the_outer_one);
  tcase_add_test(tests, test_wire__fields_of_fixed_width_are_stepped_over);
  tcase_add_test(tests, test_wire__what_is_no_field_is_bad);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
