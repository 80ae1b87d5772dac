/*
 * Runs of bytes: order, and the text that people see.
 */
#include "lib/bytes.h"

#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(test_bytes__order_is_that_of_unsigned_bytes)
{
  static const char *const sorted[] = {"", "!", "+", ",", "a", "aa", "b", "\x7f", "\x80", "\xff"};
  const int count = (int)(sizeof(sorted) / sizeof(sorted[0]));

  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) {
      int order = kr_bytes_compare(keyroute_string(sorted[i]), keyroute_string(sorted[j]));

      ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
      ck_assert(kr_bytes_equal(keyroute_string(sorted[i]), keyroute_string(sorted[j])) == (i == j));
    }
  }
}
END_TEST

/* Two keys of all lengths around the eight bytes that are compared at once, alike but for one byte,
 * each in memory of its own, so that a sanitizer sees who reads behind it. */
START_TEST(test_bytes__below_is_what_compare_says)
{
  static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};

  for (size_t a_len = 0; a_len < 20; a_len++) {
    for (size_t b_len = 0; b_len < 20; b_len++) {
      for (size_t at = 0; at < a_len; at++) {
        uint8_t *a = malloc(a_len), *b = malloc(b_len > 0 ? b_len : 1);

        memset(a, 0x80, a_len);
        memset(b, 0x80, b_len);
        for (size_t i = 0; i < sizeof(values); i++) {
          a[at] = values[i];
          struct keyroute_bytes left = kr_bytes(a, a_len), right = kr_bytes(b, b_len);

          ck_assert(kr_bytes_below(left, right) == (kr_bytes_compare(left, right) < 0));
          ck_assert(kr_bytes_below(right, left) == (kr_bytes_compare(right, left) < 0));
        }
        free(a);
        free(b);
      }
    }
  }
  ck_assert(!kr_bytes_below(kr_bytes(NULL, 0), kr_bytes(NULL, 0)));
  ck_assert(kr_bytes_below(kr_bytes(NULL, 0), kr_bytes("a", 1)));
}
END_TEST

/* One byte differs, or none does, and what is behind may. */
START_TEST(test_bytes__same_sees_each_byte_and_no_more)
{
  for (size_t len = 0; len < 40; len++) {
    uint8_t *a = malloc(len + 1), *b = malloc(len > 0 ? len : 1);

    memset(a, 0x55, len + 1);
    memset(b, 0x55, len);
    ck_assert(kr_bytes_same(a, b, len));
    ck_assert(kr_bytes_same(b, a, len));
    for (size_t at = 0; at < len; at++) {
      b[at] ^= (uint8_t)(1 << at % 8);
      ck_assert(!kr_bytes_same(a, b, len));
      ck_assert(kr_bytes_same(a, b, at));
      b[at] = 0x55;
    }
    free(a);
    free(b);
  }
}
END_TEST

START_TEST(test_bytes__zero_bytes_count)
{
  ck_assert_int_lt(kr_bytes_compare(kr_bytes("a", 1), kr_bytes("a\0", 2)), 0);
  ck_assert(!kr_bytes_equal(kr_bytes("a\0b", 3), kr_bytes("a\0c", 3)));
  ck_assert_int_eq(kr_bytes_compare(kr_bytes(NULL, 0), kr_bytes("", 0)), 0);
  ck_assert(kr_bytes_equal(kr_bytes(NULL, 0), kr_bytes("", 0)));
}
END_TEST

START_TEST(test_bytes__string_of_null_is_empty)
{
  ck_assert_uint_eq(keyroute_string(NULL).len, 0);
  ck_assert_uint_eq(keyroute_string("abc").len, 3);
}
END_TEST

START_TEST(test_bytes__all_256_bytes_come_back_from_their_text)
{
  uint8_t bytes[256], back[4 * 256 + 1];
  char text[4 * 256 + 1];
  size_t len = 0;

  for (int i = 0; i < 256; i++) {
    bytes[i] = (uint8_t)i;
  }
  size_t text_len = keyroute_escape(text, sizeof(text), kr_bytes(bytes, 256));

  ck_assert_uint_eq(text_len, strlen(text));
  ck_assert_uint_eq(text_len, 94 + 162 * 4);
  for (size_t i = 0; i < text_len; i++) {
    ck_assert(text[i] >= ' ' && text[i] <= '~');
  }
  ck_assert_int_eq(keyroute_unescape(back, &len, text), 0);
  ck_assert(kr_bytes_equal(kr_bytes(back, len), kr_bytes(bytes, 256)));
}
END_TEST

START_TEST(test_s013_control_bytes_never_reach_a_terminal)
{
  char text[64];

  keyroute_escape(text, sizeof(text), kr_bytes("\x00\x1b[31m\xff\x0a", 8));

  ck_assert_str_eq(text, "\\x00\\x1B[31m\\xFF\\x0A");
}
END_TEST

START_TEST(test_bytes__size_zero_only_measures)
{
  char untouched = 'u';

  ck_assert_uint_eq(keyroute_escape(NULL, 0, kr_bytes("a\x01", 2)), 5);
  ck_assert_uint_eq(keyroute_escape(&untouched, 0, kr_bytes("abc", 3)), 3);
  ck_assert_int_eq(untouched, 'u');
  ck_assert_uint_eq(keyroute_escape(NULL, 0, kr_bytes(NULL, 0)), 0);
}
END_TEST

START_TEST(test_bytes__cut_text_ends_with_a_nul_and_holds_whole_escapes)
{
  char text[8];

  for (size_t size = 1; size <= sizeof(text); size++) {
    memset(text, 'u', sizeof(text));

    ck_assert_uint_eq(keyroute_escape(text, size, kr_bytes("a\x01z", 3)), 6);

    ck_assert_str_eq(text, size < 2 ? "" : size < 6 ? "a" : size < 7 ? "a\\x01" : "a\\x01z");
  }
}
END_TEST

START_TEST(test_bytes__both_cases_of_hex_are_read)
{
  uint8_t back[16];
  size_t len = 0;

  ck_assert_int_eq(keyroute_unescape(back, &len, "a\\xfF\\x0a\\x5C"), 0);

  ck_assert(kr_bytes_equal(kr_bytes(back, len), kr_bytes("a\xff\x0a\\", 4)));
}
END_TEST

static const char *const broken[] = {"\\",    "\\x", "\\x1", "a\\",   "\\xg0",  "\\x0g",
                                     "\\X00", "\\n", "\\\\", "\\x 1", "\\u0041"};

START_TEST(test_bytes__broken_escapes_are_refused_and_touch_no_length)
{
  uint8_t back[16];
  size_t len = 77;

  ck_assert_int_eq(keyroute_unescape(back, &len, broken[_i]), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_uint_eq(len, 77);
}
END_TEST

START_TEST(test_bytes__unescape_checks_its_arguments)
{
  uint8_t back[4];
  size_t len;

  ck_assert_int_eq(keyroute_unescape(NULL, &len, "a"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_unescape(back, NULL, "a"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_unescape(back, &len, NULL), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_bytes__print_says_where_it_cut)
{
  char text[12];

  ck_assert_str_eq(kr_bytes_print(text, sizeof(text), kr_bytes("12345678901", 11)), "12345678901");
  ck_assert_str_eq(kr_bytes_print(text, sizeof(text), kr_bytes("123456789012", 12)), "12345678...");
  ck_assert_str_eq(kr_bytes_print(text, sizeof(text), kr_bytes("1234567\x01zzz", 11)),
                   "1234567...");
  ck_assert_str_eq(kr_bytes_print(text, sizeof(text), kr_bytes(NULL, 0)), "");
}
END_TEST

START_TEST(test_bytes__print_fits_the_smallest_room)
{
  char text[8];

  ck_assert_str_eq(kr_bytes_print(text, sizeof(text), kr_bytes("\x01\x02", 2)), "\\x01...");
  ck_assert_str_eq(kr_bytes_print(text, sizeof(text), kr_bytes("12345678", 8)), "1234...");
}
END_TEST

START_TEST(test_bytes__number_is_read_up_to_the_first_other_byte)
{
  int64_t number = -1;

  ck_assert_uint_eq(kr_bytes_number(&number, keyroute_string("0"), 9), 1);
  ck_assert_int_eq(number, 0);
  ck_assert_uint_eq(kr_bytes_number(&number, keyroute_string("1796.x"), INT64_MAX), 4);
  ck_assert_int_eq(number, 1796);
  ck_assert_uint_eq(kr_bytes_number(&number, keyroute_string("9223372036854775807"), INT64_MAX),
                    19);
  ck_assert_int_eq(number, INT64_MAX);
}
END_TEST

START_TEST(test_bytes__number_that_is_none_or_too_large_is_refused)
{
  int64_t number;

  ck_assert_uint_eq(kr_bytes_number(&number, kr_bytes(NULL, 0), 9), 0);
  ck_assert_uint_eq(kr_bytes_number(&number, keyroute_string("-1"), 9), 0);
  ck_assert_uint_eq(kr_bytes_number(&number, keyroute_string("65536"), 65535), 0);
  ck_assert_uint_eq(kr_bytes_number(&number, keyroute_string("9223372036854775808"), INT64_MAX), 0);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("bytes");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_bytes__order_is_that_of_unsigned_bytes);
  tcase_add_test(tests, test_bytes__below_is_what_compare_says);
  tcase_add_test(tests, test_bytes__same_sees_each_byte_and_no_more);
  tcase_add_test(tests, test_bytes__zero_bytes_count);
  tcase_add_test(tests, test_bytes__string_of_null_is_empty);
  tcase_add_test(tests, test_bytes__all_256_bytes_come_back_from_their_text);
  tcase_add_test(tests, test_s013_control_bytes_never_reach_a_terminal);
  tcase_add_test(tests, test_bytes__size_zero_only_measures);
  tcase_add_test(tests, test_bytes__cut_text_ends_with_a_nul_and_holds_whole_escapes);
  tcase_add_test(tests, test_bytes__both_cases_of_hex_are_read);
  tcase_add_loop_test(tests, test_bytes__broken_escapes_are_refused_and_touch_no_length, 0,
                      (int)(sizeof(broken) / sizeof(broken[0])));
  tcase_add_test(tests, test_bytes__unescape_checks_its_arguments);
  tcase_add_test(tests, test_bytes__print_says_where_it_cut);
  tcase_add_test(tests, test_bytes__print_fits_the_smallest_room);
  tcase_add_test(tests, test_bytes__number_is_read_up_to_the_first_other_byte);
  tcase_add_test(tests, test_bytes__number_that_is_none_or_too_large_is_refused);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
