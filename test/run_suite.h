#ifndef RUN_SUITE_H
#define RUN_SUITE_H

/* How test programs end. */

#include <check.h>
#include <stdlib.h>

/* Run a suite and release it, with the modules of this build, unless the environment names others.
 * Returns the program's exit status. */
static inline int run_suite(Suite *suite)
{
  SRunner *runner = srunner_create(suite);

  setenv("KEYROUTE_MODULE_DIR", BUILT_MODULE_DIR, 0);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);

  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
