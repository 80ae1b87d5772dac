/*
 * Heads of keys: are they in the order of the keys, and are they counted alike by SSE2, plainly and
 * one by one?
 */
#include "lib/heads.h"

#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>

static int32_t head(const char *key, size_t len, size_t cut_len)
{
  return kr_head_of(kr_bytes(key, len), cut_len);
}

START_TEST(test_heads__are_in_the_order_of_unsigned_bytes)
{
  ck_assert_int_lt(head("\x7f\xff\xff\xff", 4, 0), head("\x80\x00\x00\x00", 4, 0));
  ck_assert_int_lt(head("\x00\x00\x00\x01", 4, 0), head("\x00\x00\x01\x00", 4, 0));
  ck_assert_int_eq(head("\x00\x00\x00\x00", 4, 0), INT32_MIN);
  ck_assert_int_eq(head("\xff\xff\xff\xff", 4, 0), INT32_MAX);
}
END_TEST

START_TEST(test_heads__are_what_stands_behind_the_cut)
{
  ck_assert_int_eq(head("prefixabcdef", 12, 6), head("abcd", 4, 0));
  ck_assert_int_eq(head("prefixabcd", 10, 6), head("abcd", 4, 0));
}
END_TEST

START_TEST(test_heads__short_keys_have_zeros_behind_them)
{
  ck_assert_int_eq(head("", 0, 0), INT32_MIN);
  ck_assert_int_eq(kr_head_of(kr_bytes(NULL, 0), 0), INT32_MIN);
  ck_assert_int_eq(head("abc", 3, 3), INT32_MIN);
  ck_assert_int_eq(head("abc", 3, 9), INT32_MIN);
  ck_assert_int_eq(head("ab", 2, 0), head("ab\x00\x00", 4, 0));
  ck_assert_int_lt(head("ab", 2, 0), head("ab\x00\x01", 4, 0));
}
END_TEST

/* ---- Counting ---- */

static int compare_heads(const void *a, const void *b)
{
  int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;

  return (left > right) - (left < right);
}

/* Few different heads, the extreme ones among them. */
static int32_t draw(void)
{
  static const int32_t some[] = {INT32_MIN, INT32_MIN + 1, -1,       0, 1, 2, 3,
                                 77,        INT32_MAX - 1, INT32_MAX};

  return some[(size_t)rand() % (sizeof(some) / sizeof(some[0]))];
}

static void fill(int32_t heads[KR_HEADS_MAX], size_t count)
{
  for (size_t i = 0; i < KR_HEADS_MAX; i++) {
    heads[i] = i < count ? draw() : KR_HEADS_PAD;
  }
  qsort(heads, count, sizeof(heads[0]), compare_heads);
}

START_TEST(test_heads__not_above_counts_as_one_by_one)
{
  size_t count = (size_t)_i;
  int32_t heads[KR_HEADS_MAX];
  srand((unsigned)_i);

  for (int round = 0; round < 2000; round++) {
    int32_t than = draw();
    size_t expected = 0;
    fill(heads, count);
    while (expected < count && heads[expected] <= than) {
      expected++;
    }

    ck_assert_uint_eq(kr_heads_not_above(heads, count, than), expected);
  }
}
END_TEST

START_TEST(test_heads__both_ways_of_comparing_a_group_are_alike)
{
  int32_t heads[KR_HEADS_MAX];
  srand(1);

  for (int round = 0; round < 20000; round++) {
    int32_t than = draw();
    for (int i = 0; i < KR_HEADS_MAX; i++) {
      heads[i] = draw(); /* in no order, and from every alignment */
    }
    const int32_t *from = heads + round % KR_HEADS_GROUP;

    ck_assert_uint_eq(kr_heads_above(from, than), kr_heads_above_plain(from, than));
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("heads");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_heads__are_in_the_order_of_unsigned_bytes);
  tcase_add_test(tests, test_heads__are_what_stands_behind_the_cut);
  tcase_add_test(tests, test_heads__short_keys_have_zeros_behind_them);
  tcase_add_loop_test(tests, test_heads__not_above_counts_as_one_by_one, 0, KR_HEADS_MAX + 1);
  tcase_add_test(tests, test_heads__both_ways_of_comparing_a_group_are_alike);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
