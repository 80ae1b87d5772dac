/*
 * Progress as a terminal shows it: the program has a pseudo-terminal for stderr. No test depends on
 * how fast anything is, only on the line being there some time.
 */
#include "tools/progress.h"

#include "test/program.h"
#include "test/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(test_progress__line_tells_count_and_speed)
{
  char line[64];

  progress_format(line, sizeof(line), "rows", 3000, 0, 1500);

  ck_assert_str_eq(line, "3000 rows, 2000/s");
}
END_TEST

START_TEST(test_progress__failures_are_told_if_there_are_any)
{
  char line[64];

  progress_format(line, sizeof(line), "regions", 7, 2, 0);

  ck_assert_str_eq(line, "7 regions, 7000/s, 2 failed");
}
END_TEST

/* A pseudo-terminal: the end that tests read, and *terminal, the one the program writes to. */
static int open_terminal(int *terminal)
{
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

  ck_assert_int_ge(master, 0);
  ck_assert_int_eq(grantpt(master), 0);
  ck_assert_int_eq(unlockpt(master), 0);
  *terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ck_assert_int_ge(*terminal, 0);
  return master;
}

/* Read on until these words came; seen has all since the first time. */
static void await_words(int master, char seen[4096], const char *words)
{
  size_t len = strlen(seen);

  while (strstr(seen, words) == NULL) {
    struct pollfd descriptor = {.fd = master, .events = POLLIN};

    ck_assert_msg(poll(&descriptor, 1, 30000) == 1, "\"%s\" lacks \"%s\"", seen, words);
    ssize_t got = read(master, seen + len, 4095 - len);
    ck_assert_msg(got > 0, "\"%s\" lacks \"%s\"", seen, words);
    len += (size_t)got;
    seen[len] = '\0';
  }
}

static pid_t start_locate(int *rows, int to, int terminal, const char *option)
{
  int ends[2];
  char *arguments[] = {
      (char *)"keyroute", (char *)"locate", (char *)"--cache-only", (char *)"--rows-from",
      (char *)"-",        (char *)"t",      (char *)(size_t)option, NULL};

  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  *rows = ends[1];
  return program_start(ends[0], to, terminal, arguments);
}

START_TEST(test_progress__line_is_shown_on_a_terminal_and_taken_away)
{
  int terminal, rows;
  char seen[4096] = "";
  int master = open_terminal(&terminal);
  pid_t pid = start_locate(&rows, -1, terminal, NULL);

  ck_assert_int_eq(write(rows, "a\n", 2), 2);
  await_words(master, seen, "keyroute: t row a: NOT_CACHED");
  await_words(master, seen, "1 rows, ");
  await_words(master, seen, ", 1 failed");
  ck_assert_int_eq(write(rows, "b\n", 2), 2);
  await_words(master, seen, " \rkeyroute: t row b: NOT_CACHED");
  close(rows);

  ck_assert_int_eq(program_finish(pid), 1);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  close(master);
}
END_TEST

START_TEST(test_progress__quiet_shows_none)
{
  int terminal, rows;
  int master = open_terminal(&terminal);
  int kept = dup(terminal);
  pid_t pid = start_locate(&rows, -1, terminal, "-q");
  struct pollfd descriptor = {.fd = master, .events = POLLIN};

  sleep(2);
  close(rows);
  ck_assert_int_eq(program_finish(pid), 0);

  ck_assert_int_eq(poll(&descriptor, 1, 0), 0);
  close(kept);
  close(master);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("progress");
  TCase *tests = tcase_create("progress");

  tcase_add_checked_fixture(tests, program_set_up, program_tear_down);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_progress__line_tells_count_and_speed);
  tcase_add_test(tests, test_progress__failures_are_told_if_there_are_any);
  tcase_add_test(tests, test_progress__line_is_shown_on_a_terminal_and_taken_away);
  tcase_add_test(tests, test_progress__quiet_shows_none);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
