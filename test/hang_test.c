/* Hits do not wait for misses, not even for such as hang. */
#include "test/hang.h"

#include "test/run_suite.h"

#include <check.h>

enum { ROUNDS = 20 };

/* Generous: a hit takes well below a microsecond, a loaded machine takes the processor away for
 * milliseconds. A hit that waited for the loop or a miss would take longer. */
#define LIMIT_NS 10e6

START_TEST(test_hang__hits_are_fast_while_misses_hang)
{
  struct hang_figures quiet, hanging;

  hang_measure(&quiet, &hanging, ROUNDS);

  ck_assert_double_lt(hanging.locate.p99_ns, LIMIT_NS);
  ck_assert_double_lt(hanging.peek.p99_ns, LIMIT_NS);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hang");
  TCase *all = tcase_create("hang");

  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_hang__hits_are_fast_while_misses_hang);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
