/*
 * The manual against what it describes: properties, errors, calls, structures, options, examples.
 * Pages are found below the environment variable srcdir (default "."), the program is KEYROUTE
 * (default ./keyroute). Blanks and line ends count as one blank, so that a page may be filled anew.
 */
#include "keyroute/keyroute.h"

#include "lib/property.h"
#include "test/run_suite.h"

#include <check.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAGE = 256 * 1024 };

static char page[MAX_PAGE];
static char other[MAX_PAGE];

static const char *const headers[] = {"include/keyroute/keyroute.h", "include/keyroute/range.h"};
enum { HEADERS = sizeof(headers) / sizeof(headers[0]) };

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
             row->other != NULL ? ", Va " : "", row->other != NULL ? row->other : "",
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

/* The fields of a message as range.proto has them, without what is said about them. */
START_TEST(test_man__descriptor_in_keyroute_range_7_is_that_of_range_proto)
{
  int fields = 0;

  read_file(page, "doc/man/keyroute_range.7");
  read_file(other, "lib/proto/range.proto");
  for (char *line = strtok(other, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char *end = strchr(line, ';');

    if (strncmp(line, "  optional ", 11) == 0 || strncmp(line, "  repeated ", 11) == 0) {
      end[1] = '\0';
      assert_page_has(line);
      fields++;
    }
  }
  ck_assert_int_eq(fields, 8);
}
END_TEST

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

static void assert_fault_is_listed(const char *name, const char *text, const char *kind)
{
  char entry[512];

  snprintf(entry, sizeof(entry), ".It Dv KEYROUTE_FAULT_%s %c%s. Kind %s. ", name,
           toupper((unsigned char)text[0]), text + 1, kind);
  assert_page_has(entry);
}

START_TEST(test_man__every_fault_stands_in_libkeyroute_3)
{
  read_file(page, "doc/man/libkeyroute.3");
  fill(page);

#define ASSERT_LISTED(name, kind, text) assert_fault_is_listed(#name, text, #kind);
  KEYROUTE_FAULTS(ASSERT_LISTED)
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

/* The page of each call that a header declares; how many calls there are. */
static int check_calls(const char *header)
{
  int calls = 0;

  read_file(other, header);
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
  return calls;
}

START_TEST(test_man__every_public_call_has_a_page_that_shows_it)
{
  ck_assert_int_gt(check_calls(headers[0]), 40);
  ck_assert_int_gt(check_calls(headers[1]), 10);
}
END_TEST

/* Read all pages that are not a mere `.so`, one behind the other. */
static void read_all_pages(void)
{
  static const char *const names[] = {
      "libkeyroute",      "keyroute_open",        "keyroute_options",  "keyroute_peek",
      "keyroute_locate",  "keyroute_bytes",       "keyroute_report",   "keyroute_drain",
      "keyroute_get",     "keyroute_call",        "keyroute_get_many", "keyroute_group",
      "keyroute_regions", "keyroute_range_split",
  };
  size_t len = 0;

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    char path[128];

    snprintf(path, sizeof(path), "doc/man/%s.3", names[i]);
    read_file(other, path);
    ck_assert_uint_lt(len + strlen(other), MAX_PAGE);
    strcpy(page + len, other);
    len += strlen(other);
  }
}

static bool is_word_byte(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

/* Does a page show this name, marked as what it is, or in a structure that is shown whole? */
static void assert_pages_name(const char *name)
{
  size_t len = strlen(name);

  for (const char *at = strstr(page, name); at != NULL; at = strstr(at + 1, name)) {
    bool marked =
        at - page > 3 && (strncmp(at - 3, "Fa ", 3) == 0 || strncmp(at - 3, "Dv ", 3) == 0);
    bool shown = at > page && strchr(" *", at[-1]) != NULL && strchr(";)", at[len]) != NULL;

    if (shown || (marked && !is_word_byte(at[len]))) {
      return;
    }
  }
  ck_abort_msg("no page names %s", name);
}

/* The name that a declarator ends in: of "char server[272]", "void (*release)(...)", "A = 1". */
static int assert_declared_name_is_listed(char *text)
{
  char *function = strstr(text, "(*");
  char *end = function != NULL ? function + 2 + strcspn(function + 2, ")") : text;
  char name[96];

  if (function == NULL) {
    end = text + strcspn(text, "[=");
    while (end > text && !is_word_byte(end[-1])) {
      end--;
    }
  }
  char *begin = end;
  while (begin > text && is_word_byte(begin[-1])) {
    begin--;
  }
  if (begin == end) {
    return 0;
  }
  snprintf(name, sizeof(name), "%.*s", (int)(end - begin), begin);
  assert_pages_name(name);
  return 1;
}

/* Blank out the comments of the header. */
static void drop_comments(char *text)
{
  for (char *at = strstr(text, "/*"); at != NULL; at = strstr(at, "/*")) {
    char *end = strstr(at + 2, "*/");

    ck_assert_ptr_nonnull(end);
    memset(at, ' ', (size_t)(end + 2 - at));
  }
}

/* Of every "\nKIND name {...}" of a header, what stands between these separators must be listed. */
static int check_braces(const char *path, const char *kind, const char *separators)
{
  static char header[MAX_PAGE];
  int names = 0;

  read_file(header, path);
  drop_comments(header);
  for (char *at = strstr(header, kind); at != NULL; at = strstr(at + 1, kind)) {
    char *open = at + strcspn(at, "{;");
    char *next = NULL;
    char *end = open + strcspn(open, "}");

    if (*open != '{') {
      continue;
    }
    *end = '\0';
    for (char *part = strtok_r(open + 1, separators, &next); part != NULL;
         part = strtok_r(NULL, separators, &next)) {
      /* The errors' enumerators are a macro's, and have a test of their own. */
      if (strchr(part, '(') == NULL || strstr(part, "(*") != NULL) {
        names += assert_declared_name_is_listed(part);
      }
    }
    at = end;
  }
  return names;
}

START_TEST(test_man__every_member_and_enumerator_is_named_in_a_page)
{
  read_all_pages();

  int members = 0, enumerators = 0;

  for (int i = 0; i < HEADERS; i++) {
    members += check_braces(headers[i], "\nstruct ", ";");
    enumerators += check_braces(headers[i], "\nenum ", ",");
  }
  ck_assert_int_ge(members, 60);
  ck_assert_int_ge(enumerators, 15);
}
END_TEST

/* The first literal display behind a heading, mdoc's escapes undone; it moves to the front of page.
 */
static void cut_display(const char *heading, const char *display)
{
  char *from = strstr(page, heading);
  char *to = page;

  ck_assert_ptr_nonnull(from);
  from = strstr(from, display);
  ck_assert_ptr_nonnull(from);
  from += strlen(display);
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
      {"libkeyroute", "blocking"},       {"keyroute_open", "stats"},
      {"keyroute_options", "options"},   {"keyroute_locate", "async"},
      {"keyroute_peek", "peek"},         {"keyroute_bytes", "bytes"},
      {"keyroute_report", "report"},     {"keyroute_drain", "epoll"},
      {"keyroute_get", "get"},           {"keyroute_call", "call"},
      {"keyroute_get_many", "get_many"}, {"keyroute_group", "group"},
      {"keyroute_regions", "regions"},   {"keyroute_range_split", "range"},
  };

  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
    char path[128];

    snprintf(path, sizeof(path), "doc/man/%s.3", pairs[i][0]);
    read_file(page, path);
    snprintf(path, sizeof(path), "doc/examples/%s.c", pairs[i][1]);
    read_file(other, path);
    cut_display(".Sh EXAMPLES", ".Bd -literal\n");
    ck_assert_msg(strcmp(page, other) == 0, "%s.3 does not show %s", pairs[i][0], path);
  }
}
END_TEST

START_TEST(test_man__shown_json_has_balanced_braces_and_escapes_that_json_knows)
{
  int depth = 0;

  read_file(page, "doc/man/keyroute.1");
  cut_display(".Ss JSON", ".Bd -literal -offset indent\n");

  ck_assert_msg(strstr(page, "\"row\":\"a\\\\x00\"") != NULL, "%s", page);
  for (const char *at = page; *at != '\0'; at++) {
    depth += (*at == '{') - (*at == '}');
    ck_assert_int_ge(depth, 0);
    if (*at == '\\') {
      at++;
      ck_assert_msg(*at != '\0' && strchr("\"\\/bfnrtu", *at) != NULL, "\\%c in JSON", *at);
    }
  }
  ck_assert_int_eq(depth, 0);
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

/* The options that a command's --help names; returns how many. */
static int check_help(const char *words)
{
  int options = 0;

  read_help(words);
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
  return options;
}

START_TEST(test_man__every_option_of_help_stands_in_keyroute_1)
{
  read_file(page, "doc/man/keyroute.1");
  fill(page);

  ck_assert_int_gt(check_help("locate --help"), 15);
  ck_assert_int_gt(check_help("get --help"), 15);
  ck_assert_int_gt(check_help("group --help"), 10);
  ck_assert_int_gt(check_help("regions --help"), 10);
  ck_assert_int_gt(check_help("range init --help"), 14);
  ck_assert_int_gt(check_help("range split --help"), 13);
  ck_assert_int_gt(check_help("range merge --help"), 12);
  ck_assert_int_gt(check_help("range move --help"), 12);
  ck_assert_int_gt(check_help("range show --help"), 10);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("man");
  TCase *tests = tcase_create("man");

  tcase_add_test(tests, test_man__every_property_stands_in_libkeyroute_3);
  tcase_add_test(tests, test_man__descriptor_in_keyroute_range_7_is_that_of_range_proto);
  tcase_add_test(tests, test_man__every_error_stands_in_libkeyroute_3);
  tcase_add_test(tests, test_man__every_fault_stands_in_libkeyroute_3);
  tcase_add_test(tests, test_man__every_public_call_has_a_page_that_shows_it);
  tcase_add_test(tests, test_man__every_member_and_enumerator_is_named_in_a_page);
  tcase_add_test(tests, test_man__shown_json_has_balanced_braces_and_escapes_that_json_knows);
  tcase_add_test(tests, test_man__examples_are_those_that_are_compiled);
  tcase_add_test(tests, test_man__every_option_of_help_stands_in_keyroute_1);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
