/*
 * Every subject of the fuzzers with every file of its corpus, without libFuzzer: what was found
 * once is not met again, with any compiler and under any sanitizer.
 *
 * Each file is run as it is, cut off everywhere, and with its first byte, which mostly says which
 * allocation fails, taking all the lower values. With arguments "NAME FILE..." those files are run
 * by that subject, as they are: for a debugger.
 */
#include "test/fuzz/fuzz.h"
#include "test/fuzz/subjects.h"
#include "test/run_suite.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

/* How many values the first byte takes. */
enum { FIRST_BYTES = 48 };

#define DECLARE(name) int fuzz_##name(const uint8_t *data, size_t len);
FUZZ_SUBJECTS(DECLARE)
#undef DECLARE

struct subject {
  const char *name;
  int (*run)(const uint8_t *data, size_t len);
};

#define ROW(name) {#name, fuzz_##name},
static const struct subject subjects[] = {FUZZ_SUBJECTS(ROW)};
#undef ROW
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

/* In memory of just that length, so that a sanitizer sees what reads behind it. */
static void run_bytes(const struct subject *subject, const uint8_t *data, size_t len)
{
  uint8_t *copy = malloc(len);

  FUZZ_CHECK(copy != NULL || len == 0);
  if (len > 0) {
    memcpy(copy, data, len);
  }
  subject->run(copy, len);
  free(copy);
}

/* The file's bytes; the memory is the caller's. */
static uint8_t *read_file(const char *path, size_t *len)
{
  FILE *file = fopen(path, "rb");

  FUZZ_CHECK(file != NULL);
  FUZZ_CHECK(fseek(file, 0, SEEK_END) == 0);
  *len = (size_t)ftell(file);
  rewind(file);
  uint8_t *data = malloc(*len + 1);

  FUZZ_CHECK(data != NULL && fread(data, 1, *len, file) == *len);
  fclose(file);
  return data;
}

static void run_file(const struct subject *subject, const char *path)
{
  size_t len;
  uint8_t *data = read_file(path, &len);

  fprintf(stderr, "%s\n", path); /* the last one is the one that ended the process */
  run_bytes(subject, data, len);
  for (size_t cut = 0; cut < len; cut++) {
    run_bytes(subject, data, cut);
  }
  for (unsigned first = 0; len > 0 && first < FIRST_BYTES; first++) {
    data[0] = (uint8_t)first;
    run_bytes(subject, data, len);
  }
  free(data);
}

START_TEST(test_fuzz__corpus_holds_no_finding)
{
  const struct subject *subject = &subjects[_i];
  const char *source = getenv("srcdir");
  char pattern[1024];
  glob_t found;

  snprintf(pattern, sizeof(pattern), "%s/test/fuzz/corpus/%s/*", source != NULL ? source : ".",
           subject->name);
  ck_assert_msg(glob(pattern, 0, NULL, &found) == 0, "no file is %s", pattern);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    run_file(subject, found.gl_pathv[i]);
  }
  globfree(&found);
}
END_TEST

static int run_files(const char *name, char **paths)
{
  for (size_t i = 0; i < SUBJECTS; i++) {
    for (char **path = paths; strcmp(subjects[i].name, name) == 0 && *path != NULL; path++) {
      size_t len;
      uint8_t *data = read_file(*path, &len);

      run_bytes(&subjects[i], data, len);
      free(data);
    }
  }
  return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
  Suite *suite = suite_create("fuzz corpus");

  if (argc > 2) {
    return run_files(argv[1], argv + 2);
  }
  for (int i = 0; i < SUBJECTS; i++) {
    TCase *one = tcase_create(subjects[i].name);

    tcase_set_timeout(one, 300);
    tcase_add_loop_test(one, test_fuzz__corpus_holds_no_finding, i, i + 1);
    suite_add_tcase(suite, one);
  }
  return run_suite(suite);
}
