/*
 * Which names a table may have: every row was asked of TableName.valueOf of HBase 2.6.3.
 */
#include "lib/table_name.h"

#include "lib/bytes.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static void assert_canonical(const char *name, const char *canonical)
{
  struct keyroute_bytes out = {NULL, 0};
  const char *reason = "";

  int error = kr_table_name_check(&out, name, &reason);

  ck_assert_msg(error == 0, "%s: %s", name, reason);
  ck_assert_msg(kr_bytes_equal(out, keyroute_string(canonical)), "%s is not %s", name, canonical);
}

static void assert_refused(const char *name, const char *words)
{
  struct keyroute_bytes out = {"untouched", 9};
  const char *reason = NULL;

  int error = kr_table_name_check(&out, name, &reason);

  ck_assert_msg(error == KEYROUTE_E_INVALID_ARGUMENT, "%s was accepted", name);
  ck_assert_msg(strstr(reason, words) != NULL, "%s: \"%s\" lacks \"%s\"", name, reason, words);
  ck_assert_uint_eq(out.len, 9);
}

START_TEST(test_table_name__default_namespace_is_left_out)
{
  assert_canonical("t", "t");
  assert_canonical("default:t", "t");
  assert_canonical("ns:t", "ns:t");
  assert_canonical("hbase:meta", "hbase:meta");
}
END_TEST

START_TEST(test_table_name__qualifier_takes_dots_and_dashes_but_not_first)
{
  assert_canonical("_t.a-b_1", "_t.a-b_1");
  assert_refused(".t", "does not begin");
  assert_refused("-t", "does not begin");
  assert_refused("ns:.t", "does not begin");
  assert_refused(".META.", "does not begin");
  assert_refused("-ROOT-", "does not begin");
}
END_TEST

START_TEST(test_table_name__namespace_takes_no_dots_nor_dashes)
{
  assert_canonical("n_s:t", "n_s:t");
  assert_refused("n-s:t", "a namespace holds only");
  assert_refused("n.s:t", "a namespace holds only");
}
END_TEST

START_TEST(test_table_name__empty_parts_are_named)
{
  assert_refused("", "name is empty");
  assert_refused(NULL, "name is empty");
  assert_refused("ns:", "name is empty");
  assert_refused("default:", "name is empty");
  assert_refused(":t", "namespace is empty");
}
END_TEST

START_TEST(test_table_name__first_colon_ends_the_namespace)
{
  assert_refused("a:b:c", "a table's name holds only");
  assert_refused("default:default:t", "a table's name holds only");
}
END_TEST

START_TEST(test_table_name__blanks_commas_and_controls_are_refused)
{
  assert_refused("a b", "holds only");
  assert_refused("a,b", "holds only");
  assert_refused("a\nb", "holds only");
  assert_refused("a\x7f", "holds only");
  assert_refused("a/b", "holds only");
}
END_TEST

START_TEST(test_table_name__zookeeper_is_reserved)
{
  assert_refused("zookeeper", "reserves");
  assert_refused("ns:zookeeper", "reserves");
  assert_refused("zookeeper:t", "reserves");
  assert_canonical("zookeeper1", "zookeeper1");
}
END_TEST

START_TEST(test_table_name__letters_of_any_language_are_accepted)
{
  assert_canonical("t\xC3\xA4", "t\xC3\xA4");
  assert_canonical("\xC3\xA9:t", "\xC3\xA9:t");
  assert_canonical("\xE6\x97\xA5\xE6\x9C\xAC", "\xE6\x97\xA5\xE6\x9C\xAC");
}
END_TEST

START_TEST(test_table_name__what_is_not_strict_utf8_is_refused)
{
  assert_refused("\xFF", "UTF-8");
  assert_refused("a\xC3", "UTF-8");
  assert_refused("a\xC3(", "UTF-8");
  assert_refused("\xC0\xAF", "UTF-8");
  assert_refused("\xE0\x80\xAF", "UTF-8");
  assert_refused("\xED\xA0\x80", "UTF-8");
  assert_refused("\xF0\x9D\x90\x80", "UTF-8");
}
END_TEST

START_TEST(test_table_name__code_points_that_are_no_letters_anywhere_are_refused)
{
  assert_refused("a\xC2\x85", "holds only");
  assert_refused("a\xEE\x80\x80", "holds only");
  assert_refused("a\xEF\xBF\xBF", "holds only");
}
END_TEST

START_TEST(test_table_name__longest_name_is_accepted_and_one_more_is_not)
{
  char name[KR_TABLE_NAME_MAX + 2];

  memset(name, 'a', sizeof(name));
  name[KR_TABLE_NAME_MAX + 1] = '\0';
  assert_refused(name, "longer than");
  name[KR_TABLE_NAME_MAX] = '\0';
  assert_canonical(name, name);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("table_name");
  TCase *tests = tcase_create("table_name");

  tcase_add_test(tests, test_table_name__default_namespace_is_left_out);
  tcase_add_test(tests, test_table_name__qualifier_takes_dots_and_dashes_but_not_first);
  tcase_add_test(tests, test_table_name__namespace_takes_no_dots_nor_dashes);
  tcase_add_test(tests, test_table_name__empty_parts_are_named);
  tcase_add_test(tests, test_table_name__first_colon_ends_the_namespace);
  tcase_add_test(tests, test_table_name__blanks_commas_and_controls_are_refused);
  tcase_add_test(tests, test_table_name__zookeeper_is_reserved);
  tcase_add_test(tests, test_table_name__letters_of_any_language_are_accepted);
  tcase_add_test(tests, test_table_name__what_is_not_strict_utf8_is_refused);
  tcase_add_test(tests, test_table_name__code_points_that_are_no_letters_anywhere_are_refused);
  tcase_add_test(tests, test_table_name__longest_name_is_accepted_and_one_more_is_not);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
