/*
 * The manual against what it describes: properties, errors, calls, options and examples. Pages are
 * found below the environment variable srcdir (default "."), the program is KEYROUTE (default
 * ./keyroute). Blanks and line ends count as one blank, so that a page may be filled anew.
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keyroute/keyroute.h"
#include "lib/property.h"

enum { MAX_PAGE = 256 * 1024 };

static char page[MAX_PAGE];
static char other[MAX_PAGE];

static void read_file(char text[MAX_PAGE], const char *path)
{
  const char *top = getenv("srcdir");
  char whole[512];

  snprintf(whole, sizeof(whole), "%s/%s", top != NULL ? top : ".", path);
  FILE *from = fopen(whole, "r");
  ck_assert_msg(from != NULL, "%s is missing", whole);
  text[fread(text, 1, MAX_PAGE - 1, from)] = '\0';
  fclose(from);
}

/* Make every run of blanks and line ends one blank. */
static void fill(char *text)
{
  char *to = text;

  for (const char *from = text; *from != '\0'; from++) {
    bool blank = *from == ' ' || *from == '\n';

    if (!blank) {
      *to++ = *from;
    } else if (to == text || to[-1] != ' ') {
      *to++ = ' ';
    }
  }
  *to = '\0';
}

static void assert_page_has(const char *text)
{
  ck_assert_msg(strstr(page, text) != NULL, "the page lacks: %s", text);
}

START_TEST(test_man__every_property_stands_in_libkeyroute_3)
{
  read_file(page, "doc/man/libkeyroute.3");
  fill(page);

  for (int id = 0; id < KR_PROPERTY_COUNT; id++) {
    const struct kr_property *row = kr_property_get((enum kr_property_id)id);
    const char *fallback = row->computed != NULL ? row->computed : row->fallback;
    char range[KR_PROPERTY_RANGE_MAX];
    char text[1024];

    kr_property_range(range, row);
    snprintf(text, sizeof(text), ".It Va %s %s%s%sMay be %s; default: %s. %s ", row->name,
             row->other != NULL ? ".It Va " : "", row->other != NULL ? row->other : "",
             row->other != NULL ? " " : "", range, fallback != NULL ? fallback : "none",
             row->reason);
    assert_page_has(text);
  }
}
END_TEST

static void assert_error_is_listed(const char *name, int number, const char *text, const char *kind,
                                   bool retried)
{
  char entry[512];

  snprintf(entry, sizeof(entry), ".It Dv KEYROUTE_E_%s Number %d: %s. Kind %s, %stried again. ",
           name, number, text, kind, retried ? "" : "not ");
  assert_page_has(entry);
}

START_TEST(test_man__every_error_stands_in_libkeyroute_3)
{
  read_file(page, "doc/man/libkeyroute.3");
  fill(page);

#define ASSERT_LISTED(name, number, text, kind, retried)                                           \
  assert_error_is_listed(#name, number, text, #kind, retried);
  KEYROUTE_ERRORS(ASSERT_LISTED)
#undef ASSERT_LISTED
}
END_TEST

/* Read the page of a call, through its `.so` line if it has one. */
static void read_page_of(const char *name)
{
  char path[256];

  snprintf(path, sizeof(path), "doc/man/%s.3", name);
  read_file(page, path);
  if (strncmp(page, ".so man3/", 9) == 0) {
    page[strcspn(page, "\n")] = '\0';
    snprintf(path, sizeof(path), "doc/man/%.200s", page + 9);
    read_file(page, path);
  }
}

START_TEST(test_man__every_public_call_has_a_page_that_shows_it)
{
  int calls = 0;

  read_file(other, "include/keyroute/keyroute.h");
  for (char *at = strstr(other, "\nKEYROUTE_EXTERN"); at != NULL;
       at = strstr(at + 1, "\nKEYROUTE_EXTERN")) {
    char *open = strchr(at, '(');
    char *name = open;
    char heading[128];

    while (name[-1] != ' ' && name[-1] != '*') {
      name--;
    }
    snprintf(heading, sizeof(heading), ".Fo %.*s\n", (int)(open - name), name);
    char call[96];
    snprintf(call, sizeof(call), "%.*s", (int)(open - name), name);
    read_page_of(call);
    assert_page_has(heading);
    calls++;
  }

  ck_assert_int_gt(calls, 40);
}
END_TEST

/* The literal display below EXAMPLES, mdoc's escapes undone; it moves to the front of page. */
static void cut_example(void)
{
  char *from = strstr(page, ".Sh EXAMPLES");
  char *to = page;

  ck_assert_ptr_nonnull(from);
  from = strstr(from, ".Bd -literal\n");
  ck_assert_ptr_nonnull(from);
  from += strlen(".Bd -literal\n");
  char *end = strstr(from, ".Ed\n");
  ck_assert_ptr_nonnull(end);
  while (from < end) {
    if (strncmp(from, "\\e", 2) == 0) {
      *to++ = '\\';
      from += 2;
    } else if (strncmp(from, "\\&", 2) == 0) {
      from += 2;
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
}

START_TEST(test_man__examples_are_those_that_are_compiled)
{
  static const char *const pairs[][2] = {
      {"libkeyroute", "blocking"},  {"keyroute_open", "stats"}, {"keyroute_options", "options"},
      {"keyroute_locate", "async"}, {"keyroute_peek", "peek"},  {"keyroute_bytes", "bytes"},
  };

  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
    char path[128];

    snprintf(path, sizeof(path), "doc/man/%s.3", pairs[i][0]);
    read_file(page, path);
    snprintf(path, sizeof(path), "doc/examples/%s.c", pairs[i][1]);
    read_file(other, path);
    cut_example();
    ck_assert_msg(strcmp(page, other) == 0, "%s.3 does not show %s", pairs[i][0], path);
  }
}
END_TEST

/* Run the program and keep what it prints. */
static void read_help(const char *words)
{
  const char *named = getenv("KEYROUTE");
  char command[512];

  snprintf(command, sizeof(command), "%s %s", named != NULL ? named : "./keyroute", words);
  FILE *from = popen(command, "r");
  ck_assert_ptr_nonnull(from);
  other[fread(other, 1, MAX_PAGE - 1, from)] = '\0';
  ck_assert_int_eq(pclose(from), 0);
}

/* Is the option that begins at `at` in keyroute(1)? Its argument, if it has one, too. */
static void assert_option_is_listed(const char *at)
{
  char entry[128];
  size_t dashes = strspn(at, "-");
  size_t len = strcspn(at + dashes, " ,\n");
  const char *argument = at + dashes + len;

  snprintf(entry, sizeof(entry), "Fl %s%.*s ", dashes == 2 ? "-" : "", (int)len, at + dashes);
  assert_page_has(entry);
  if (argument[0] == ' ' && argument[1] >= '-' && argument[1] != ' ') {
    snprintf(entry, sizeof(entry), "Fl %s%.*s Ar %.*s ", dashes == 2 ? "-" : "", (int)len,
             at + dashes, (int)strcspn(argument + 1, " \n"), argument + 1);
    assert_page_has(entry);
  }
}

START_TEST(test_man__every_option_of_help_stands_in_keyroute_1)
{
  int options = 0;

  read_file(page, "doc/man/keyroute.1");
  fill(page);
  read_help("locate --help");
  for (char *line = strtok(strstr(other, "\nOptions:"), "\n"); line != NULL;
       line = strtok(NULL, "\n")) {
    char *dash = line + strspn(line, " ");

    if (dash[0] != '-' || dash - line > 6) {
      continue;
    }
    options++;
    if (dash[1] != '-' && dash[2] == ',') {
      dash[2] = '\0';
      assert_option_is_listed(dash);
      dash += 4;
    }
    assert_option_is_listed(dash);
  }

  ck_assert_int_gt(options, 15);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("man");
  TCase *tests = tcase_create("man");

  tcase_add_test(tests, test_man__every_property_stands_in_libkeyroute_3);
  tcase_add_test(tests, test_man__every_error_stands_in_libkeyroute_3);
  tcase_add_test(tests, test_man__every_public_call_has_a_page_that_shows_it);
  tcase_add_test(tests, test_man__examples_are_those_that_are_compiled);
  tcase_add_test(tests, test_man__every_option_of_help_stands_in_keyroute_1);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
