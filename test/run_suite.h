#ifndef RUN_SUITE_H
#define RUN_SUITE_H

/* How test programs end. */

#include <check.h>
#include <stdlib.h>

/* Run a suite and release it. Returns the program's exit status. */
static inline int run_suite(Suite *suite)
{
  SRunner *runner = srunner_create(suite);

  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);

  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
