/*
 * Finding and loading the gRPC module.
 */
#include "lib/grpc_load.h"

#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *load(void *arg)
{
  const struct kr_grpc_module **out = arg;
  const char *reason;

  return kr_grpc_load(out, &reason) == 0 ? arg : NULL;
}

START_TEST(test_grpc_load__module_of_this_build_is_loaded_once_for_all_threads)
{
  enum { THREADS = 8 };
  const struct kr_grpc_module *found[THREADS] = {NULL};
  pthread_t threads[THREADS];

  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, load, &found[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }

  for (int i = 0; i < THREADS; i++) {
    ck_assert_ptr_nonnull(found[i]);
    ck_assert_ptr_eq(found[i], found[0]);
    ck_assert_uint_eq(found[i]->version, KR_GRPC_MODULE_VERSION);
  }
}
END_TEST

static void check_missing(const char *directory, const char *words)
{
  const struct kr_grpc_module *found = NULL;
  const char *reason = NULL;

  setenv("KEYROUTE_MODULE_DIR", directory, 1);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(kr_grpc_load(&found, &reason), KEYROUTE_E_INVALID_ARGUMENT);
    ck_assert_ptr_null(found);
    ck_assert_msg(strstr(reason, words) != NULL, "%s", reason);
    ck_assert_ptr_null(strchr(reason, '\n'));
  }
}

START_TEST(test_grpc_load__missing_module_is_named)
{
  check_missing("/nowhere\n/at all", "/at all/keyroute-grpc.so");
  check_missing("/nowhere", "KEYROUTE_MODULE_DIR");
}
END_TEST

START_TEST(test_grpc_load__file_that_is_no_module_is_named)
{
  char folder[] = "/tmp/grpc_load_testXXXXXX", path[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof(path), "%s/keyroute-grpc.so", folder);
  FILE *file = fopen(path, "w");
  fputs("no module", file);
  fclose(file);

  check_missing(folder, path);

  remove(path);
  remove(folder);
}
END_TEST

START_TEST(test_grpc_load__module_of_another_version_is_refused)
{
  check_missing(BUILT_MODULE_DIR "/../test/other_version", "not of this version");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grpc_load");
  TCase *tests = tcase_create("load");

  tcase_add_test(tests, test_grpc_load__module_of_this_build_is_loaded_once_for_all_threads);
  tcase_add_test(tests, test_grpc_load__missing_module_is_named);
  tcase_add_test(tests, test_grpc_load__file_that_is_no_module_is_named);
  tcase_add_test(tests, test_grpc_load__module_of_another_version_is_refused);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
