/* One test for each file of test/scenarios; with arguments, for the files named. Those whose names
 * end with _in_a_directory take gRPC. */
#include "test/scenario.h"
#ifdef WITH_DIRECTORY
#include "test/run_suite.h"
#include "test/scenario_directory.h"
#endif

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds for one scenario; those that wait need two or three. */
enum { TIMEOUT_S = 60 };

static char **paths;
static char **names; /* of the cases: Check does not copy them */

START_TEST(test_scenario__plays_as_written)
{
  scenario_play(paths[_i]);
}
END_TEST

/* Where the files are: beside this file, wherever it was built. */
static int find_files(glob_t *found)
{
  const char *source = getenv("srcdir");
  char pattern[1024];

  snprintf(pattern, sizeof(pattern), "%s/test/scenarios/*.scn", source != NULL ? source : ".");
  return glob(pattern, 0, NULL, found);
}

/* The file's name without folder and ending: what a failure is reported under. */
static char *case_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  char *name = strdup(slash != NULL ? slash + 1 : path);

  if (name == NULL) {
    abort();
  }
  if (strrchr(name, '.') != NULL) {
    *strrchr(name, '.') = '\0';
  }
  return name;
}

/* Can this program play it? */
static bool is_playable(const char *name)
{
#ifdef WITH_DIRECTORY
  (void)name;
  return true;
#else
  return strstr(name, "_in_a_directory") == NULL;
#endif
}

static void add_file(Suite *suite, int number)
{
  names[number] = case_name(paths[number]);
  if (!is_playable(names[number])) {
    return;
  }
  TCase *one = tcase_create(names[number]);

  tcase_set_timeout(one, TIMEOUT_S);
  tcase_add_loop_test(one, test_scenario__plays_as_written, number, number + 1);
  suite_add_tcase(suite, one);
}

int main(int argc, char **argv)
{
  Suite *suite = suite_create("scenario");
  SRunner *runner = srunner_create(suite);
  glob_t found = {0};
  int count = argc - 1;

#ifdef WITH_DIRECTORY
  scenario_world_extend(&scenario_directory);
  use_built_modules();
#endif
  paths = argv + 1;
  if (count == 0) {
    if (find_files(&found) != 0) {
      fprintf(stderr, "no scenarios; set srcdir to the top of the source tree\n");
      return EXIT_FAILURE;
    }
    paths = found.gl_pathv;
    count = (int)found.gl_pathc;
  }
  names = calloc((size_t)count, sizeof(*names));
  if (names == NULL) {
    abort();
  }
  for (int i = 0; i < count; i++) {
    add_file(suite, i);
  }
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  for (int i = 0; i < count; i++) {
    free(names[i]);
  }
  free(names);
  globfree(&found);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
