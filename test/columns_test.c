#include "tools/columns.h"

#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static struct columns columns;

static void set_up(void)
{
  columns = (struct columns){NULL, 0};
}

static void tear_down(void)
{
  columns_free(&columns);
}

static void assert_bytes(struct keyroute_bytes bytes, const char *data, size_t len)
{
  ck_assert_ptr_nonnull(bytes.data);
  ck_assert_uint_eq(bytes.len, len);
  ck_assert_int_eq(memcmp(bytes.data, data, len), 0);
}

START_TEST(test_columns__family_alone_is_all_of_its_columns)
{
  ck_assert_ptr_null(columns_add(&columns, "f"));

  ck_assert_uint_eq(columns.count, 1);
  assert_bytes(columns.list[0].family, "f", 1);
  ck_assert_ptr_null(columns.list[0].qualifier.data);
}
END_TEST

START_TEST(test_columns__colon_at_the_end_is_the_empty_qualifier)
{
  ck_assert_ptr_null(columns_add(&columns, "f:"));

  assert_bytes(columns.list[0].qualifier, "", 0);
}
END_TEST

START_TEST(test_columns__commas_divide_and_calls_add_up)
{
  ck_assert_ptr_null(columns_add(&columns, "f:q,g"));
  ck_assert_ptr_null(columns_add(&columns, "h:a:b"));

  ck_assert_uint_eq(columns.count, 3);
  assert_bytes(columns.list[0].qualifier, "q", 1);
  assert_bytes(columns.list[1].family, "g", 1);
  assert_bytes(columns.list[2].qualifier, "a:b", 3);
}
END_TEST

START_TEST(test_columns__escapes_are_read_once_commas_are_found)
{
  ck_assert_ptr_null(columns_add(&columns, "f:\\x2C\\x00,g:\\x3A"));

  ck_assert_uint_eq(columns.count, 2);
  assert_bytes(columns.list[0].qualifier, ",\0", 2);
  assert_bytes(columns.list[1].qualifier, ":", 1);
}
END_TEST

START_TEST(test_columns__text_that_is_none_has_a_reason)
{
  static const char *const bad[] = {"", ",", "f,", ",f", ":q", "f:q,,g", "f\\", "f:\\x1"};

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    ck_assert_msg(columns_add(&columns, bad[i]) != NULL, "%s", bad[i]);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("columns");
  TCase *tests = tcase_create("columns");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_columns__family_alone_is_all_of_its_columns);
  tcase_add_test(tests, test_columns__colon_at_the_end_is_the_empty_qualifier);
  tcase_add_test(tests, test_columns__commas_divide_and_calls_add_up);
  tcase_add_test(tests, test_columns__escapes_are_read_once_commas_are_found);
  tcase_add_test(tests, test_columns__text_that_is_none_has_a_reason);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
