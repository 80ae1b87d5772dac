#ifndef RUN_SUITE_H
#define RUN_SUITE_H

/* How test programs end. */

#include <check.h>
#include <stdlib.h>

/* Have the modules of this build loaded, unless the environment names others. */
static inline void use_built_modules(void)
{
  setenv("KEYROUTE_MODULE_DIR", BUILT_MODULE_DIR, 0);
}

/* Run a suite and release it, with the modules of this build. Returns the program's exit status. */
static inline int run_suite(Suite *suite)
{
  SRunner *runner = srunner_create(suite);

  use_built_modules();
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);

  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
