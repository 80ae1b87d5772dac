/*
 * Do hits feel it when misses hang? Hits through a table handle and peeks, one at a time with a
 * look at the clock around each, in rounds: nothing under way, then 64 asynchronous lookups that
 * wait for a black-holed meta server. Prints p50 and p99 of both sides and the ratio of the p99s.
 *
 *   hang_bench [ROUNDS]
 */
#include "test/hang.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned rounds;

static void print(const char *name, struct hang_quantiles quiet, struct hang_quantiles hanging)
{
  printf("%-7s quiet p50 %6.0f ns, p99 %6.0f ns; %d misses hanging p50 %6.0f ns, p99 %6.0f ns; "
         "p99 hanging / quiet %.2f\n",
         name, quiet.p50_ns, quiet.p99_ns, HANG_MISSES, hanging.p50_ns, hanging.p99_ns,
         hanging.p99_ns / quiet.p99_ns);
}

/* The doubles want to run within a test. */
START_TEST(measure)
{
  struct hang_figures quiet, hanging;

  hang_measure(&quiet, &hanging, rounds);
  print("locate", quiet.locate, hanging.locate);
  print("peek", quiet.peek, hanging.peek);
}
END_TEST

int main(int argc, char **argv)
{
  Suite *suite = suite_create("hang");
  TCase *all = tcase_create("hang");
  int wanted = argc > 1 ? atoi(argv[1]) : 200;

  if (wanted < 1) {
    fprintf(stderr, "usage: hang_bench [ROUNDS]\n");
    return 2;
  }
  rounds = (unsigned)wanted;
  tcase_set_timeout(all, 0);
  tcase_add_test(all, measure);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
