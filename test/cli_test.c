/*
 * The program keyroute as scripts see it: arguments, streams and exit statuses. Runs the binary
 * that the environment variable KEYROUTE names (default ./keyroute). No cluster is needed: what is
 * sent goes to port 1 of the loopback, where nobody listens.
 */
#include "test/run_suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ARGUMENTS = 32, MAX_OUTPUT = 1024 * 1024 };

/* Words that make every lookup end at once: nobody listens at port 1. */
#define NOBODY "-z", "127.0.0.1:1", "-D", "hbase.client.retries.number=0"

static char out[MAX_OUTPUT];
static char err[MAX_OUTPUT];
static char folder[64];

static void set_up(void)
{
  snprintf(folder, sizeof(folder), "/tmp/keyroute-cli-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  unsetenv("HBASE_CONF_DIR");
  unsetenv("HADOOP_USER_NAME");
}

/* "FOLDER/NAME"; one of a few static buffers. */
static const char *file(const char *name)
{
  static char paths[4][128];
  static int next;
  char *path = paths[next++ % 4];

  snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
  return path;
}

static void tear_down(void)
{
  unlink(file("in"));
  unlink(file("out"));
  unlink(file("err"));
  unlink(file("hbase-site.xml"));
  rmdir(folder);
}

static void write_file(const char *name, const char *data, size_t len)
{
  FILE *to = fopen(file(name), "w");

  ck_assert_ptr_nonnull(to);
  ck_assert_uint_eq(fwrite(data, 1, len, to), len);
  fclose(to);
}

static void read_file(const char *name, char text[MAX_OUTPUT])
{
  FILE *from = fopen(file(name), "r");

  ck_assert_ptr_nonnull(from);
  text[fread(text, 1, MAX_OUTPUT - 1, from)] = '\0';
  fclose(from);
}

static const char *program(void)
{
  const char *named = getenv("KEYROUTE");

  return named != NULL ? named : "./keyroute";
}

/* Start the program. in and to are descriptors, closed here; to -1 = the file "out". */
static pid_t start(int in, int to, char *const *arguments)
{
  posix_spawn_file_actions_t actions;
  pid_t pid;

  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  if (to >= 0) {
    posix_spawn_file_actions_adddup2(&actions, to, 1);
  } else {
    posix_spawn_file_actions_addopen(&actions, 1, file("out"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  }
  posix_spawn_file_actions_addopen(&actions, 2, file("err"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  int error = posix_spawn(&pid, program(), &actions, NULL, arguments, environ);
  ck_assert_msg(error == 0, "%s: %s", program(), strerror(error));
  posix_spawn_file_actions_destroy(&actions);
  close(in);
  if (to >= 0) {
    close(to);
  }
  return pid;
}

/* Wait for the program; its exit status, or minus the signal that ended it. */
static int finish(pid_t pid)
{
  int status = 0;

  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  read_file("err", err);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Run the program on the words up to NULL, stdin from the file "in" or else empty. */
static int run(const char *word, ...)
{
  char *arguments[MAX_ARGUMENTS] = {(char *)"keyroute"};
  va_list words;
  int count = 1;
  int in = open(file("in"), O_RDONLY | O_CLOEXEC);

  va_start(words, word);
  for (; word != NULL && count < MAX_ARGUMENTS - 1; word = va_arg(words, const char *)) {
    arguments[count++] = (char *)(size_t)word;
  }
  va_end(words);
  if (in < 0) {
    in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  int status = finish(start(in, -1, arguments));
  read_file("out", out);
  return status;
}

static void assert_begins(const char *text, const char *words)
{
  ck_assert_msg(strncmp(text, words, strlen(words)) == 0, "%s", text);
}

static void assert_usage(int status, const char *words)
{
  ck_assert_msg(status == 2, "exit %d: %s", status, err);
  ck_assert_str_eq(out, "");
  assert_begins(err, "keyroute: ");
  ck_assert_msg(strstr(err, words) != NULL, "\"%s\" lacks \"%s\"", err, words);
  ck_assert_msg(strchr(err, '\n') == err + strlen(err) - 1, "more than one line: %s", err);
}

static size_t count_lines(const char *text)
{
  size_t lines = 0;

  for (; *text != '\0'; text++) {
    lines += *text == '\n';
  }
  return lines;
}

START_TEST(test_cli__help_and_version_work_everywhere)
{
  ck_assert_int_eq(run("--help", NULL), 0);
  ck_assert_ptr_nonnull(strstr(out, "Usage: keyroute COMMAND"));
  ck_assert_int_eq(run("locate", "--help", NULL), 0);
  ck_assert_ptr_nonnull(strstr(out, "Usage: keyroute locate"));
  ck_assert_int_eq(run("locate", "t", "a", "-h", NULL), 0);
  ck_assert_ptr_nonnull(strstr(out, "--rows-from FILE"));
  ck_assert_int_eq(run("--version", NULL), 0);
  assert_begins(out, "keyroute ");
  ck_assert_int_eq(run("locate", "--version", NULL), 0);
  assert_begins(out, "keyroute ");
  ck_assert_str_eq(err, "");
}
END_TEST

START_TEST(test_cli__missing_words_are_usage_errors)
{
  assert_usage(run(NULL), "which command?");
  assert_usage(run("lookup", NULL), "no such command: lookup");
  assert_usage(run("--frob", NULL), "no such option: --frob");
  assert_usage(run("locate", NULL), "no TABLE is given");
  assert_usage(run("locate", "t", NULL), "no ROW is given");
}
END_TEST

START_TEST(test_cli__unknown_options_and_missing_arguments_are_named)
{
  assert_usage(run("locate", "--frob", "t", "a", NULL), "no such option: --frob");
  assert_usage(run("locate", "-x", "t", "a", NULL), "no such option: -x");
  assert_usage(run("locate", "t", "a", "--jobs", NULL), "keyroute: --jobs needs an argument.");
  assert_usage(run("locate", "t", "a", "-z", NULL), "keyroute: -z needs an argument.");
}
END_TEST

START_TEST(test_cli__arguments_out_of_range_are_named)
{
  assert_usage(run("locate", "--jobs", "0", "t", "a", NULL), "--jobs takes 1 to 1024, not 0");
  assert_usage(run("locate", "--jobs", "x", "t", "a", NULL), "not x");
  assert_usage(run("locate", "--deadline", "0", "t", "a", NULL), "1 to 86400000 ms");
  assert_usage(run("locate", "--deadline", "1s", "t", "a", NULL), "not 1s");
  assert_usage(run("locate", "--replica", "-1", "t", "a", NULL), "0 to 254 or all");
  assert_usage(run("locate", "--replica", "255", "t", "a", NULL), "0 to 254 or all");
  assert_usage(run("locate", "-o", "xml", "t", "a", NULL), "table or json");
  assert_usage(run("locate", "-D", "x", "t", "a", NULL), "NAME=VALUE");
  assert_usage(run("locate", "-D", "=1", "t", "a", NULL), "NAME=VALUE");
}
END_TEST

START_TEST(test_cli__options_that_contradict_each_other_are_refused)
{
  assert_usage(run("locate", "--before", "--after", "t", "a", NULL), "exclude each other");
  assert_usage(run("locate", "--refresh", "--cache-only", "t", "a", NULL), "exclude each other");
  assert_usage(run("locate", "--rows-from", "-", "t", "a", NULL), "exclude each other");
  assert_usage(run("locate", "--rows-from", "-", "--rows-from", "-", "t", NULL), "given twice");
}
END_TEST

START_TEST(test_cli__bad_properties_are_refused_before_anything_is_asked)
{
  assert_usage(run("locate", "-D", "hbase.client.pause=0", "t", "a", NULL), "1 to 60000 ms");
  assert_usage(run("locate", "-l", "root", "t", "a", NULL),
               "keyroute: -l: \"root\": layout root is not built yet");
  assert_usage(run("locate", "-l", "flat", "t", "a", NULL), "no such layout");
  assert_usage(run("locate", "-z", "bad host", "t", "a", NULL),
               "keyroute: -z: not a host name: \"bad host\"\n");
  assert_usage(run("locate", "--zookeeper", "a:70000", "t", "a", NULL), "a:70000");
  assert_usage(run("locate", "-D", "hbase.zookeeper.quorum=bad host", "t", "a", NULL),
               "keyroute: -D hbase.zookeeper.quorum: not a host name: \"bad host\"\n");
  assert_usage(run("locate", "-D", "keyroute.deadline=1", "t", "a", NULL),
               "keyroute: -D keyroute.deadline: keyroute has no such property\n");
  assert_usage(run("locate", "-D", "hbase.security.authentication=kerberos", "t", "a", NULL),
               "hbase.security.authentication");
}
END_TEST

START_TEST(test_cli__bad_table_names_are_refused_with_the_reason)
{
  assert_usage(run("locate", NOBODY, "a.b:c", "a", NULL), "a namespace holds only");
  assert_usage(run("locate", NOBODY, "", "a", NULL), "name is empty");
  assert_usage(run("locate", NOBODY, "a b", "a", NULL), "INVALID_ARGUMENT");
}
END_TEST

START_TEST(test_cli__bad_row_arguments_are_refused_before_the_first_is_asked)
{
  assert_usage(run("locate", NOBODY, "t", "a", "b\\x0", NULL), "row b\\x0: INVALID_ARGUMENT");
  assert_usage(run("locate", NOBODY, "t", "\\", NULL), "does not begin \\xHH");
  assert_usage(run("locate", NOBODY, "--hex", "t", "abc", NULL), "hexadecimal");
  assert_usage(run("locate", NOBODY, "--hex", "t", "zz", NULL), "hexadecimal");
}
END_TEST

START_TEST(test_cli__bad_line_of_a_file_is_named_before_the_first_is_asked)
{
  write_file("in", "a\nb\\x0\n", 6);
  assert_usage(run("locate", NOBODY, "--rows-from", file("in"), "t", NULL), "/in:2: ");
  assert_usage(run("locate", NOBODY, "--rows-from", "-", "t", NULL), "standard input:2: ");
  write_file("in", "a\nb\0c\n", 6);
  assert_usage(run("locate", NOBODY, "--rows-from", file("in"), "t", NULL), "NUL");
  assert_usage(run("locate", "--rows-from", file("absent"), "t", NULL), "No such file");
}
END_TEST

START_TEST(test_cli__bad_line_of_a_pipe_gets_its_own_answer)
{
  int ends[2];
  char *arguments[] = {(char *)"keyroute",
                       (char *)"locate",
                       (char *)"--cache-only",
                       (char *)"-ojson",
                       (char *)"--rows-from",
                       (char *)"-",
                       (char *)"t",
                       NULL};

  ck_assert_int_eq(pipe(ends), 0);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  ck_assert_int_eq(write(ends[1], "a\n\\\nb", 5), 5);
  close(ends[1]);
  int status = finish(start(ends[0], -1, arguments));
  read_file("out", out);

  ck_assert_int_eq(status, 2);
  ck_assert_uint_eq(count_lines(out), 3);
  ck_assert_ptr_nonnull(strstr(err, "line 2"));
  ck_assert_ptr_nonnull(strstr(out, "\"code\":\"INVALID_ARGUMENT\",\"message\":\"line 2: "));
  ck_assert_ptr_nonnull(strstr(out, "\"row\":\"b\",\"error\":{\"code\":\"NOT_CACHED\""));
}
END_TEST

START_TEST(test_cli__file_without_rows_is_no_error)
{
  ck_assert_int_eq(run("locate", NOBODY, "--rows-from", "/dev/null", "t", NULL), 0);
  ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(test_cli__unreachable_cluster_is_exit_3_with_a_line_for_each_row)
{
  int status = run("locate", NOBODY, "-o", "json", "default:t", "a\\x00", "", NULL);

  ck_assert_int_eq(status, 3);
  ck_assert_uint_eq(count_lines(out), 2);
  assert_begins(out, "{\"table\":\"t\",\"row\":\"a\\\\x00\","
                     "\"error\":{\"code\":\"UNREACHABLE\",\"message\":\"");
  ck_assert_ptr_nonnull(strstr(out, "\"attempts\":"));
  ck_assert_ptr_nonnull(strstr(out, "\"rpcs\":"));
  ck_assert_ptr_nonnull(strstr(out, "\"elapsed_us\":"));
  ck_assert_ptr_null(strstr(out, "\"trace\""));
  ck_assert_uint_eq(count_lines(err), 2);
  assert_begins(err, "keyroute: t row a\\x00: UNREACHABLE: ");
  ck_assert_ptr_nonnull(strstr(err, "keyroute: t row \"\": UNREACHABLE: "));
}
END_TEST

START_TEST(test_cli__trace_adds_an_array_of_steps)
{
  ck_assert_int_eq(run("locate", NOBODY, "-o", "json", "--trace", "t", "a", NULL), 3);

  ck_assert_ptr_nonnull(strstr(out, ",\"trace\":[{\"step\":\""));
  ck_assert_ptr_nonnull(strstr(out, "\"took_us\":"));
  ck_assert_ptr_null(strstr(out, "\"server\":\"\""));
  ck_assert_ptr_null(strstr(out, "\"detail\":\"\""));
}
END_TEST

START_TEST(test_cli__quiet_leaves_only_the_answers)
{
  ck_assert_int_eq(run("locate", "-q", "--cache-only", "t", "a", NULL), 1);

  ck_assert_str_eq(err, "");
  ck_assert_ptr_nonnull(strstr(out, "NOT_CACHED"));
}
END_TEST

START_TEST(test_cli__table_has_seven_words_a_line_whatever_the_row)
{
  write_file("in", "a b\n\n\"\"\n-\n", 10);
  ck_assert_int_eq(run("locate", "-q", "--cache-only", "--rows-from", "-", "t", NULL), 1);

  ck_assert_uint_eq(count_lines(out), 4);
  for (char *line = strtok(out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char words[8][128];
    int count = sscanf(line, "%127s %127s %127s %127s %127s %127s %127s %127s", words[0], words[1],
                       words[2], words[3], words[4], words[5], words[6], words[7]);

    ck_assert_msg(count == 7, "%s", line);
    ck_assert_str_eq(words[6], "NOT_CACHED");
  }
}
END_TEST

START_TEST(test_cli__hexadecimal_is_read_and_written)
{
  int status = run("locate", "-q", "--cache-only", "--hex", "-o", "json", "t", "00fF", "", NULL);

  ck_assert_int_eq(status, 1);
  ck_assert_ptr_nonnull(strstr(out, "\"row\":\"00ff\""));
  ck_assert_ptr_nonnull(strstr(out, "\"row\":\"\""));
}
END_TEST

START_TEST(test_cli__double_dash_ends_the_options)
{
  int status = run("locate", "-q", "--cache-only", "-ojson", "--", "t", "--help", "-x", NULL);

  ck_assert_int_eq(status, 1);
  ck_assert_ptr_nonnull(strstr(out, "\"row\":\"--help\""));
  ck_assert_ptr_nonnull(strstr(out, "\"row\":\"-x\""));
}
END_TEST

START_TEST(test_cli__many_jobs_print_in_the_order_asked)
{
  enum { ROWS = 500 };
  char text[ROWS * 8] = "";
  size_t len = 0;
  char *at = out;

  for (int i = 0; i < ROWS; i++) {
    len += (size_t)snprintf(text + len, sizeof(text) - len, "%d\n", i);
  }
  write_file("in", text, len);
  ck_assert_int_eq(
      run("locate", "-q", "--cache-only", "--jobs", "64", "--rows-from", "-", "t", NULL), 1);

  for (int i = 0; i < ROWS; i++) {
    ck_assert_int_eq(strtol(at, NULL, 10), i);
    at = strchr(at, '\n') + 1;
  }
  ck_assert_str_eq(at, "");
}
END_TEST

START_TEST(test_cli__configuration_comes_from_the_environment_or_the_option)
{
  const char *site = "<configuration><property><name>hbase.client.pause</name>"
                     "<value>soon</value></property></configuration>";

  write_file("hbase-site.xml", site, strlen(site));
  assert_usage(run("locate", "-c", file("hbase-site.xml"), "t", "a", NULL), "hbase-site.xml:1: ");
  setenv("HBASE_CONF_DIR", folder, 1);
  assert_usage(run("locate", "t", "a", NULL), "property hbase.client.pause is \"soon\"");
  write_file("in", "<configuration/>", 16);
  ck_assert_int_eq(run("locate", "-c", file("in"), "--cache-only", "-v", "t", "a", NULL), 1);
  assert_begins(err, "keyroute: info: read /");
  ck_assert_ptr_nonnull(strstr(err, file("in")));
  write_file("hbase-site.xml", "<configuration/>", 16);
  ck_assert_int_eq(run("locate", "--cache-only", "-v", "t", "a", NULL), 1);
  ck_assert_ptr_nonnull(strstr(err, file("hbase-site.xml")));
  assert_usage(run("locate", "-c", file("absent"), "t", "a", NULL), "No such file");
}
END_TEST

START_TEST(test_cli__verbose_sends_the_log_to_stderr)
{
  ck_assert_int_eq(run("locate", NOBODY, "-vv", "-q", "t", "a", NULL), 3);

  assert_begins(err, "keyroute: ");
}
END_TEST

START_TEST(test_cli__full_stdout_is_told_and_a_reader_who_left_is_not)
{
  char *arguments[] = {(char *)"keyroute",
                       (char *)"locate",
                       (char *)"--cache-only",
                       (char *)"-q",
                       (char *)"t",
                       (char *)"a",
                       NULL};
  int ends[2];

  int full = finish(start(open("/dev/null", O_RDONLY | O_CLOEXEC),
                          open("/dev/full", O_WRONLY | O_CLOEXEC), arguments));
  ck_assert_int_eq(full, 3);
  ck_assert_str_eq(err, "keyroute: cannot write the answers: No space left on device\n");

  /* So much that the buffer is full before anything is flushed. */
  char *many[1000] = {(char *)"keyroute", (char *)"locate", (char *)"--cache-only", (char *)"-q"};
  for (int i = 4; i < 999; i++) {
    many[i] = (char *)"t";
  }
  full = finish(start(open("/dev/null", O_RDONLY | O_CLOEXEC),
                      open("/dev/full", O_WRONLY | O_CLOEXEC), many));
  ck_assert_int_eq(full, 3);
  ck_assert_str_eq(err, "keyroute: cannot write the answers: No space left on device\n");

  ck_assert_int_eq(pipe(ends), 0);
  close(ends[0]);
  int closed = finish(start(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], arguments));
  ck_assert_int_eq(closed, 3);
  ck_assert_str_eq(err, "");

  ck_assert_int_eq(pipe(ends), 0);
  close(ends[0]);
  closed = finish(start(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], many));
  ck_assert_int_eq(closed, 3);
  ck_assert_str_eq(err, "");
}
END_TEST

START_TEST(test_cli__interrupt_ends_it_at_once_and_loses_no_answer)
{
  char *arguments[] = {(char *)"keyroute",
                       (char *)"locate",
                       (char *)"--cache-only",
                       (char *)"-q",
                       (char *)"--rows-from",
                       (char *)"-",
                       (char *)"t",
                       NULL};
  int ends[2];
  struct stat about = {.st_size = 0};

  ck_assert_int_eq(pipe(ends), 0);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  ck_assert_int_eq(write(ends[1], "a\n", 2), 2);
  pid_t pid = start(ends[0], -1, arguments);
  for (int i = 0; i < 1000 && about.st_size == 0; i++) {
    usleep(10000);
    stat(file("out"), &about);
  }
  kill(pid, SIGINT);
  int status = finish(pid);
  read_file("out", out);

  ck_assert_int_eq(status, -SIGINT);
  ck_assert_uint_eq(count_lines(out), 1);
  close(ends[1]);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cli");
  TCase *tests = tcase_create("cli");

  signal(SIGINT, SIG_DFL);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cli__help_and_version_work_everywhere);
  tcase_add_test(tests, test_cli__missing_words_are_usage_errors);
  tcase_add_test(tests, test_cli__unknown_options_and_missing_arguments_are_named);
  tcase_add_test(tests, test_cli__arguments_out_of_range_are_named);
  tcase_add_test(tests, test_cli__options_that_contradict_each_other_are_refused);
  tcase_add_test(tests, test_cli__bad_properties_are_refused_before_anything_is_asked);
  tcase_add_test(tests, test_cli__bad_table_names_are_refused_with_the_reason);
  tcase_add_test(tests, test_cli__bad_row_arguments_are_refused_before_the_first_is_asked);
  tcase_add_test(tests, test_cli__bad_line_of_a_file_is_named_before_the_first_is_asked);
  tcase_add_test(tests, test_cli__bad_line_of_a_pipe_gets_its_own_answer);
  tcase_add_test(tests, test_cli__file_without_rows_is_no_error);
  tcase_add_test(tests, test_cli__unreachable_cluster_is_exit_3_with_a_line_for_each_row);
  tcase_add_test(tests, test_cli__trace_adds_an_array_of_steps);
  tcase_add_test(tests, test_cli__quiet_leaves_only_the_answers);
  tcase_add_test(tests, test_cli__table_has_seven_words_a_line_whatever_the_row);
  tcase_add_test(tests, test_cli__hexadecimal_is_read_and_written);
  tcase_add_test(tests, test_cli__double_dash_ends_the_options);
  tcase_add_test(tests, test_cli__many_jobs_print_in_the_order_asked);
  tcase_add_test(tests, test_cli__configuration_comes_from_the_environment_or_the_option);
  tcase_add_test(tests, test_cli__verbose_sends_the_log_to_stderr);
  tcase_add_test(tests, test_cli__full_stdout_is_told_and_a_reader_who_left_is_not);
  tcase_add_test(tests, test_cli__interrupt_ends_it_at_once_and_loses_no_answer);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
