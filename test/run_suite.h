#ifndef RUN_SUITE_H
#define RUN_SUITE_H

/* How test programs end. */

#include <check.h>
#include <stdlib.h>

/* How long a test may take where its case does not say: Check's own 4 s are not enough under a
 * sanitizer on a machine that does other things, too. Before any test case is made. */
__attribute__((constructor)) static void be_patient(void)
{
  setenv("CK_DEFAULT_TIMEOUT", "300", 0);
}

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
