#include "tools/share.h"

#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static double share(const char *start, size_t start_len, const char *end, size_t end_len)
{
  return share_of_keys((struct keyroute_bytes){start, start_len},
                       (struct keyroute_bytes){end, end_len});
}

static const char *text(double part)
{
  static char out[SHARE_TEXT];

  share_text(out, part);
  return out;
}

static size_t bar(size_t width, double part)
{
  char out[SHARE_BAR_MAX + 1];

  share_bar(out, width, part);
  return strspn(out, "#");
}

START_TEST(test_share__unbounded_keys_are_the_whole)
{
  ck_assert_double_eq(share("", 0, "", 0), 1.0);
  ck_assert_double_eq(share("", 0, "\x40", 1), 0.25);
  ck_assert_double_eq(share("\x40", 1, "", 0), 0.75);
  ck_assert_double_eq(share("\0", 1, "", 0), 1.0);
}
END_TEST

START_TEST(test_share__eight_bytes_count_and_no_more)
{
  ck_assert_double_gt(share("aaaaaaaa", 8, "aaaaaaab", 8), 0.0);
  ck_assert_double_eq(share("aaaaaaaaa", 9, "aaaaaaaab", 9), 0.0);
  ck_assert_double_eq(share("\x80", 1, "\x80\0\0", 3), 0.0);
}
END_TEST

START_TEST(test_share__parts_of_a_chain_add_up)
{
  double sum = share("", 0, "g", 1) + share("g", 1, "p", 1) + share("p", 1, "", 0);

  ck_assert_double_eq_tol(sum, 1.0, 1e-12);
}
END_TEST

START_TEST(test_share__text_is_cut_and_never_nothing)
{
  ck_assert_str_eq(text(1.0), "100%");
  ck_assert_str_eq(text(0.99999), "99.99%");
  ck_assert_str_eq(text(0.25), "25.00%");
  ck_assert_str_eq(text(0.0001), "0.01%");
  ck_assert_str_eq(text(0.00001), "<0.01%");
  ck_assert_str_eq(text(0.0), "<0.01%");
}
END_TEST

START_TEST(test_share__bar_fits_its_width_and_has_one_column_at_least)
{
  ck_assert_uint_eq(bar(40, 1.0), 40);
  ck_assert_uint_eq(bar(40, 0.5), 20);
  ck_assert_uint_eq(bar(40, 0.0), 1);
  ck_assert_uint_eq(bar(100000, 1.0), SHARE_BAR_MAX);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("share");
  TCase *tests = tcase_create("share");

  tcase_add_test(tests, test_share__unbounded_keys_are_the_whole);
  tcase_add_test(tests, test_share__eight_bytes_count_and_no_more);
  tcase_add_test(tests, test_share__parts_of_a_chain_add_up);
  tcase_add_test(tests, test_share__text_is_cut_and_never_nothing);
  tcase_add_test(tests, test_share__bar_fits_its_width_and_has_one_column_at_least);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
