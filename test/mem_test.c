/*
 * The allocator of a connection: whose functions it calls, and when it goes.
 */
#include "lib/mem.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

START_TEST(test_mem__all_memory_comes_from_the_application)
{
  struct kr_mem *mem = failing_mem_new();

  ck_assert_int_eq(mem_live(), 1);
  void *one = kr_alloc(mem, 10);
  void *two = kr_calloc(mem, 10);
  void *three = kr_realloc(mem, NULL, 10);

  ck_assert_int_eq(mem_live(), 4);
  three = kr_realloc(mem, three, 20);
  ck_assert_int_eq(mem_live(), 4);
  kr_free(mem, one);
  kr_free(mem, two);
  kr_free(mem, three);
  kr_free(mem, NULL);
  ck_assert_int_eq(mem_live(), 1);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_mem__goes_with_its_last_count)
{
  struct kr_mem *mem = failing_mem_new();

  ck_assert_ptr_eq(kr_mem_ref(mem), mem);
  kr_mem_release(mem);
  ck_assert_int_eq(mem_live(), 1);
  kr_mem_release(mem);

  ck_assert_int_eq(mem_live(), 0);
  kr_mem_release(NULL);
}
END_TEST

START_TEST(test_mem__none_given_means_the_c_library)
{
  struct kr_mem *mem = kr_mem_new(NULL);

  ck_assert_ptr_nonnull(mem);
  char *text = kr_alloc(mem, 4);

  memcpy(text, "abc", 4);
  text = kr_realloc(mem, text, 4000);
  ck_assert_str_eq(text, "abc");
  kr_free(mem, text);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_mem__cleared_memory_is_clear)
{
  struct kr_mem *mem = failing_mem_new();
  uint8_t *made = kr_calloc(mem, 1000);

  for (int i = 0; i < 1000; i++) {
    ck_assert_uint_eq(made[i], 0);
  }
  kr_free(mem, made);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_mem__size_zero_gives_memory)
{
  struct kr_mem *mem = failing_mem_new();
  void *made[] = {kr_alloc(mem, 0), kr_calloc(mem, 0), kr_realloc(mem, NULL, 0)};

  for (int i = 0; i < 3; i++) {
    ck_assert_ptr_nonnull(made[i]);
    made[i] = kr_realloc(mem, made[i], 0);
    ck_assert_ptr_nonnull(made[i]);
    kr_free(mem, made[i]);
  }
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_mem__copy_has_a_nul_behind_it)
{
  struct kr_mem *mem = failing_mem_new();
  char *copy = kr_copy(mem, kr_bytes("a\0b", 3));
  char *empty = kr_copy(mem, kr_bytes(NULL, 0));

  ck_assert_int_eq(memcmp(copy, "a\0b", 4), 0);
  ck_assert_str_eq(empty, "");
  kr_free(mem, copy);
  kr_free(mem, empty);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_mem__short_memory_is_null_everywhere)
{
  struct kr_mem *mem = failing_mem_new();
  void *old = kr_alloc(mem, 8);

  mem_fail_from(1);

  ck_assert_ptr_null(kr_mem_new(&failing_allocator));
  ck_assert_ptr_null(kr_alloc(mem, 1));
  ck_assert_ptr_null(kr_calloc(mem, 1));
  ck_assert_ptr_null(kr_realloc(mem, NULL, 1));
  ck_assert_ptr_null(kr_realloc(mem, old, 100));
  ck_assert_ptr_null(kr_copy(mem, kr_bytes("a", 1)));
  mem_fail(0);
  kr_free(mem, old);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_mem__what_an_allocation_takes_is_what_glibc_makes_of_it)
{
  static const size_t sizes[][2] = {{0, 32}, {24, 32}, {25, 48}, {40, 48}, {41, 64}, {1000, 1008}};

  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    ck_assert_uint_eq(kr_mem_taken(sizes[i][0]), sizes[i][1]);
  }
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("mem");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_mem__all_memory_comes_from_the_application);
  tcase_add_test(tests, test_mem__goes_with_its_last_count);
  tcase_add_test(tests, test_mem__none_given_means_the_c_library);
  tcase_add_test(tests, test_mem__cleared_memory_is_clear);
  tcase_add_test(tests, test_mem__size_zero_gives_memory);
  tcase_add_test(tests, test_mem__copy_has_a_nul_behind_it);
  tcase_add_test(tests, test_mem__short_memory_is_null_everywhere);
  tcase_add_test(tests, test_mem__what_an_allocation_takes_is_what_glibc_makes_of_it);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
