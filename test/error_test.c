/*
 * Errors: every code of the public table has its name, text and kind, and messages fit.
 */
#include "lib/error.h"

#include "test/run_suite.h"

#include <check.h>
#include <string.h>

#define ROW(name, number, text, kind, retried)                                                     \
  {number, KEYROUTE_E_##name, #name, text, KEYROUTE_KIND_##kind, retried},
static const struct {
  int number, code;
  const char *name, *text;
  enum keyroute_kind kind;
  bool retried;
} rows[] = {KEYROUTE_ERRORS(ROW)};
#undef ROW

enum { ROWS = (int)(sizeof(rows) / sizeof(rows[0])) };

START_TEST(test_error__each_code_has_name_text_and_kind)
{
  int code = rows[_i].code;

  ck_assert_int_eq(code, rows[_i].number);
  ck_assert_int_lt(code, 0);
  ck_assert_str_eq(keyroute_errname(code), rows[_i].name);
  ck_assert_str_eq(keyroute_strerror(code), rows[_i].text);
  ck_assert_str_ne(keyroute_strerror(code), "");
  ck_assert(keyroute_is_retriable(code) == rows[_i].retried);
  ck_assert_int_eq(keyroute_error_kind(code), rows[_i].kind);
}
END_TEST

START_TEST(test_error__no_two_codes_are_alike)
{
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < i; j++) {
      ck_assert_int_ne(rows[i].code, rows[j].code);
      ck_assert_str_ne(rows[i].text, rows[j].text);
    }
  }
}
END_TEST

START_TEST(test_error__fatal_ones_are_not_tried_again)
{
  for (int i = 0; i < ROWS; i++) {
    ck_assert(rows[i].retried == (rows[i].kind != KEYROUTE_KIND_FATAL));
  }
}
END_TEST

START_TEST(test_error__success_and_unknown_codes_have_texts)
{
  static const int unknown[] = {1, -ROWS - 1, -100, 2147483647, -2147483647 - 1};

  ck_assert_str_eq(keyroute_errname(0), "OK");
  ck_assert_str_eq(keyroute_strerror(0), "success");
  ck_assert_int_eq(keyroute_error_kind(0), KEYROUTE_KIND_NONE);
  for (int i = 0; i < 5; i++) {
    ck_assert_str_eq(keyroute_errname(unknown[i]), "UNKNOWN");
    ck_assert_str_eq(keyroute_strerror(unknown[i]), "unknown error");
    ck_assert(!keyroute_is_retriable(unknown[i]));
    ck_assert_int_eq(keyroute_error_kind(unknown[i]), KEYROUTE_KIND_NONE);
  }
}
END_TEST

START_TEST(test_error__failure_starts_clean_and_is_cut_to_fit)
{
  struct kr_failure failure;
  char long_text[2000];

  memset(&failure, 0xff, sizeof(failure));
  memset(long_text, 'x', sizeof(long_text));
  long_text[sizeof(long_text) - 1] = '\0';
  kr_fail(&failure, KEYROUTE_E_HOLE, "%s", long_text);

  ck_assert_int_eq(failure.code, KEYROUTE_E_HOLE);
  ck_assert_int_eq(failure.kind, KEYROUTE_KIND_REFRESH);
  ck_assert(!failure.final && !failure.connecting);
  ck_assert_int_eq(failure.wait_ms, 0);
  ck_assert_str_eq(failure.server, "");
  ck_assert_uint_eq(strlen(failure.message), sizeof(failure.message) - 1);
}
END_TEST

START_TEST(test_error__server_is_named_in_front_and_the_rest_is_cut)
{
  struct kr_failure failure;
  char long_text[1000], long_name[1000];

  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "no answer");
  kr_fail_name_server(&failure, "h:1");
  ck_assert_str_eq(failure.server, "h:1");
  ck_assert_str_eq(failure.message, "server h:1: no answer");
  ck_assert_int_eq(failure.code, KEYROUTE_E_TIMEOUT);

  memset(long_text, 'x', sizeof(long_text));
  long_text[sizeof(long_text) - 1] = '\0';
  memset(long_name, 'h', sizeof(long_name));
  long_name[sizeof(long_name) - 1] = '\0';
  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "%s", long_text);
  kr_fail_name_server(&failure, long_name);
  ck_assert_uint_eq(strlen(failure.server), sizeof(failure.server) - 1);
  ck_assert_uint_eq(strlen(failure.message), sizeof(failure.message) - 1);
}
END_TEST

START_TEST(test_error__too_large_an_answer_to_a_scan_is_against_the_protocol)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_TOO_LARGE, "an answer of 9 bytes");
  ck_assert(kr_fail_scan(&failure));
  ck_assert_int_eq(failure.code, KEYROUTE_E_PROTOCOL);
  ck_assert_int_eq(failure.kind, keyroute_error_kind(KEYROUTE_E_PROTOCOL));
  ck_assert_str_eq(failure.message, "an answer of 9 bytes");

  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "no answer");
  ck_assert(!kr_fail_scan(&failure));
  ck_assert_int_eq(failure.code, KEYROUTE_E_TIMEOUT);
}
END_TEST

START_TEST(test_error__detail_may_be_null)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(kr_detail_fail(NULL, KEYROUTE_E_CLOSED, "x"), KEYROUTE_E_CLOSED);
  ck_assert_int_eq(kr_detail_fail(&detail, KEYROUTE_E_CLOSED, "row %d", 5), KEYROUTE_E_CLOSED);

  ck_assert_int_eq(detail.error, KEYROUTE_E_CLOSED);
  ck_assert_str_eq(detail.message, "row 5");
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("error");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests, test_error__each_code_has_name_text_and_kind, 0, ROWS);
  tcase_add_test(tests, test_error__no_two_codes_are_alike);
  tcase_add_test(tests, test_error__fatal_ones_are_not_tried_again);
  tcase_add_test(tests, test_error__success_and_unknown_codes_have_texts);
  tcase_add_test(tests, test_error__failure_starts_clean_and_is_cut_to_fit);
  tcase_add_test(tests, test_error__server_is_named_in_front_and_the_rest_is_cut);
  tcase_add_test(tests, test_error__too_large_an_answer_to_a_scan_is_against_the_protocol);
  tcase_add_test(tests, test_error__detail_may_be_null);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
