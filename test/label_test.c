/*
 * Labels: what they say, and who keeps them alive.
 */
#include "lib/label.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

START_TEST(test_label__name_is_a_copy)
{
  struct kr_mem *mem = failing_mem_new();
  char name[] = "ns:t";
  struct kr_label *label = kr_label_new(mem, keyroute_string(name));

  name[0] = 'x';

  ck_assert(kr_bytes_equal(kr_label_table(label), keyroute_string("ns:t")));
  ck_assert_ptr_eq(kr_label_mem(label), mem);
  ck_assert_uint_ge(kr_label_size(label), 4 + 8);
  kr_label_release(label);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_label__last_count_frees_it)
{
  struct kr_mem *mem = failing_mem_new();
  long before = mem_live();
  struct kr_label *label = kr_label_new(mem, keyroute_string("t"));

  ck_assert_ptr_eq(kr_label_ref(label), label);
  kr_label_release(label);
  ck_assert(kr_bytes_equal(kr_label_table(label), keyroute_string("t")));
  kr_label_release(label);

  ck_assert_int_eq(mem_live(), before);
  kr_label_release(NULL);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_label__outlives_the_allocators_other_counts)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_label *label = kr_label_new(mem, keyroute_string("t"));

  kr_mem_release(mem);

  ck_assert(kr_bytes_equal(kr_label_table(label), keyroute_string("t")));
  kr_label_release(label);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_label__without_memory_there_is_none)
{
  struct kr_mem *mem = failing_mem_new();

  mem_fail(1);
  ck_assert_ptr_null(kr_label_new(mem, keyroute_string("t")));

  mem_fail(0);
  failing_mem_done(mem);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("label");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_label__name_is_a_copy);
  tcase_add_test(tests, test_label__last_count_frees_it);
  tcase_add_test(tests, test_label__outlives_the_allocators_other_counts);
  tcase_add_test(tests, test_label__without_memory_there_is_none);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
