/*
 * The program keyroute as scripts see it: arguments, streams and exit statuses. No cluster is
 * needed: what is sent goes to port 1 of the loopback, where nobody listens.
 */
#include "test/program.h"
#include "test/run_suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Words that make every lookup end at once: nobody listens at port 1. */
#define NOBODY "-z", "127.0.0.1:1", "-D", "hbase.client.retries.number=0"

START_TEST(test_cli__help_and_version_work_everywhere)
{
  ck_assert_int_eq(program_run("--help", NULL), 0);
  ck_assert_ptr_nonnull(strstr(program_out, "Usage: keyroute COMMAND"));
  ck_assert_int_eq(program_run("locate", "--help", NULL), 0);
  ck_assert_ptr_nonnull(strstr(program_out, "Usage: keyroute locate"));
  ck_assert_int_eq(program_run("locate", "t", "a", "-h", NULL), 0);
  ck_assert_ptr_nonnull(strstr(program_out, "--rows-from FILE"));
  ck_assert_int_eq(program_run("--version", NULL), 0);
  program_assert_begins(program_out, "keyroute ");
  ck_assert_int_eq(program_run("locate", "--version", NULL), 0);
  program_assert_begins(program_out, "keyroute ");
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli__missing_words_are_usage_errors)
{
  program_assert_usage(program_run(NULL), "which command?");
  program_assert_usage(program_run("lookup", NULL), "no such command: lookup");
  program_assert_usage(program_run("--frob", NULL), "no such option: --frob");
  program_assert_usage(program_run("locate", NULL), "no TABLE is given");
  program_assert_usage(program_run("locate", "t", NULL), "no ROW is given");
}
END_TEST

START_TEST(test_cli__unknown_options_and_missing_arguments_are_named)
{
  program_assert_usage(program_run("locate", "--frob", "t", "a", NULL), "no such option: --frob");
  program_assert_usage(program_run("locate", "-x", "t", "a", NULL), "no such option: -x");
  program_assert_usage(program_run("locate", "t", "a", "--jobs", NULL),
                       "keyroute: --jobs needs an argument.");
  program_assert_usage(program_run("locate", "t", "a", "-z", NULL),
                       "keyroute: -z needs an argument.");
}
END_TEST

START_TEST(test_cli__arguments_out_of_range_are_named)
{
  program_assert_usage(program_run("locate", "--jobs", "0", "t", "a", NULL),
                       "--jobs takes 1 to 1024, not 0");
  program_assert_usage(program_run("locate", "--jobs", "x", "t", "a", NULL), "not x");
  program_assert_usage(program_run("locate", "--deadline", "0", "t", "a", NULL),
                       "1 to 86400000 ms");
  program_assert_usage(program_run("locate", "--deadline", "1s", "t", "a", NULL), "not 1s");
  program_assert_usage(program_run("locate", "--replica", "-1", "t", "a", NULL), "0 to 254 or all");
  program_assert_usage(program_run("locate", "--replica", "255", "t", "a", NULL),
                       "0 to 254 or all");
  program_assert_usage(program_run("locate", "-o", "xml", "t", "a", NULL), "table or json");
  program_assert_usage(program_run("locate", "-D", "x", "t", "a", NULL), "NAME=VALUE");
  program_assert_usage(program_run("locate", "-D", "=1", "t", "a", NULL), "NAME=VALUE");
}
END_TEST

START_TEST(test_cli__options_that_contradict_each_other_are_refused)
{
  program_assert_usage(program_run("locate", "--before", "--after", "t", "a", NULL),
                       "exclude each other");
  program_assert_usage(program_run("locate", "--refresh", "--cache-only", "t", "a", NULL),
                       "exclude each other");
  program_assert_usage(program_run("locate", "--rows-from", "-", "t", "a", NULL),
                       "exclude each other");
  program_assert_usage(program_run("locate", "--rows-from", "-", "--rows-from", "-", "t", NULL),
                       "given twice");
}
END_TEST

START_TEST(test_cli__bad_properties_are_refused_before_anything_is_asked)
{
  program_assert_usage(program_run("locate", "-D", "hbase.client.pause=0", "t", "a", NULL),
                       "1 to 60000 ms");
  program_assert_usage(program_run("locate", "-l", "flat", "t", "a", NULL), "no such layout");
  program_assert_usage(program_run("locate", "-z", "bad host", "t", "a", NULL),
                       "keyroute: -z: not a host name: \"bad host\"\n");
  program_assert_usage(program_run("locate", "--zookeeper", "a:70000", "t", "a", NULL), "a:70000");
  program_assert_usage(
      program_run("locate", "-D", "hbase.zookeeper.quorum=bad host", "t", "a", NULL),
      "keyroute: -D hbase.zookeeper.quorum: not a host name: \"bad host\"\n");
  program_assert_usage(program_run("locate", "-D", "keyroute.deadline=1", "t", "a", NULL),
                       "keyroute: -D keyroute.deadline: keyroute has no such property\n");
  program_assert_usage(
      program_run("locate", "-D", "hbase.security.authentication=kerberos", "t", "a", NULL),
      "hbase.security.authentication");
}
END_TEST

START_TEST(test_cli__bad_table_names_are_refused_with_the_reason)
{
  program_assert_usage(program_run("locate", NOBODY, "a.b:c", "a", NULL), "a namespace holds only");
  program_assert_usage(program_run("locate", NOBODY, "", "a", NULL), "name is empty");
  program_assert_usage(program_run("locate", NOBODY, "a b", "a", NULL), "INVALID_ARGUMENT");
}
END_TEST

START_TEST(test_cli__bad_row_arguments_are_refused_before_the_first_is_asked)
{
  program_assert_usage(program_run("locate", NOBODY, "t", "a", "b\\x0", NULL),
                       "row b\\x0: INVALID_ARGUMENT");
  program_assert_usage(program_run("locate", NOBODY, "t", "\\", NULL), "does not begin \\xHH");
  program_assert_usage(program_run("locate", NOBODY, "--hex", "t", "abc", NULL), "hexadecimal");
  program_assert_usage(program_run("locate", NOBODY, "--hex", "t", "zz", NULL), "hexadecimal");
}
END_TEST

START_TEST(test_cli__bad_line_of_a_file_is_named_before_the_first_is_asked)
{
  program_write_file("in", "a\nb\\x0\n", 6);
  program_assert_usage(program_run("locate", NOBODY, "--rows-from", program_file("in"), "t", NULL),
                       "/in:2: ");
  program_assert_usage(program_run("locate", NOBODY, "--rows-from", "-", "t", NULL),
                       "standard input:2: ");
  program_write_file("in", "a\nb\0c\n", 6);
  program_assert_usage(program_run("locate", NOBODY, "--rows-from", program_file("in"), "t", NULL),
                       "NUL");
  program_assert_usage(program_run("locate", "--rows-from", program_file("absent"), "t", NULL),
                       "No such file");
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
  int status = program_finish(program_start(ends[0], -1, -1, arguments));

  ck_assert_int_eq(status, 2);
  ck_assert_uint_eq(program_count_lines(program_out), 3);
  ck_assert_ptr_nonnull(strstr(program_err, "line 2"));
  ck_assert_ptr_nonnull(
      strstr(program_out, "\"code\":\"INVALID_ARGUMENT\",\"message\":\"line 2: "));
  ck_assert_ptr_nonnull(strstr(program_out, "\"row\":\"b\",\"error\":{\"code\":\"NOT_CACHED\""));
}
END_TEST

START_TEST(test_cli__file_without_rows_is_no_error)
{
  ck_assert_int_eq(program_run("locate", NOBODY, "--rows-from", "/dev/null", "t", NULL), 0);
  ck_assert_str_eq(program_out, "");
}
END_TEST

START_TEST(test_cli__unreachable_cluster_is_exit_3_with_a_line_for_each_row)
{
  int status = program_run("locate", NOBODY, "-o", "json", "default:t", "a\\x00", "", NULL);

  ck_assert_int_eq(status, 3);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  program_assert_begins(program_out, "{\"table\":\"t\",\"row\":\"a\\\\x00\","
                                     "\"error\":{\"code\":\"UNREACHABLE\",\"message\":\"");
  ck_assert_ptr_nonnull(strstr(program_out, "\"attempts\":"));
  ck_assert_ptr_nonnull(strstr(program_out, "\"rpcs\":"));
  ck_assert_ptr_nonnull(strstr(program_out, "\"elapsed_us\":"));
  ck_assert_ptr_null(strstr(program_out, "\"trace\""));
  ck_assert_uint_eq(program_count_lines(program_err), 2);
  program_assert_begins(program_err, "keyroute: t row a\\x00: UNREACHABLE: ");
  ck_assert_ptr_nonnull(strstr(program_err, "keyroute: t row \"\": UNREACHABLE: "));
}
END_TEST

START_TEST(test_cli__trace_adds_an_array_of_steps)
{
  ck_assert_int_eq(program_run("locate", NOBODY, "-o", "json", "--trace", "t", "a", NULL), 3);

  ck_assert_ptr_nonnull(strstr(program_out, ",\"trace\":[{\"step\":\""));
  ck_assert_ptr_nonnull(strstr(program_out, "\"took_us\":"));
  ck_assert_ptr_null(strstr(program_out, "\"server\":\"\""));
  ck_assert_ptr_null(strstr(program_out, "\"detail\":\"\""));
}
END_TEST

START_TEST(test_cli__quiet_leaves_only_the_answers)
{
  ck_assert_int_eq(program_run("locate", "-q", "--cache-only", "t", "a", NULL), 1);

  ck_assert_str_eq(program_err, "");
  ck_assert_ptr_nonnull(strstr(program_out, "NOT_CACHED"));
}
END_TEST

START_TEST(test_cli__table_has_seven_words_a_line_whatever_the_row)
{
  program_write_file("in", "a b\n\n\"\"\n-\n", 10);
  ck_assert_int_eq(program_run("locate", "-q", "--cache-only", "--rows-from", "-", "t", NULL), 1);

  ck_assert_uint_eq(program_count_lines(program_out), 4);
  for (char *line = strtok(program_out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
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
  int status =
      program_run("locate", "-q", "--cache-only", "--hex", "-o", "json", "t", "00fF", "", NULL);

  ck_assert_int_eq(status, 1);
  ck_assert_ptr_nonnull(strstr(program_out, "\"row\":\"00ff\""));
  ck_assert_ptr_nonnull(strstr(program_out, "\"row\":\"\""));
}
END_TEST

START_TEST(test_cli__double_dash_ends_the_options)
{
  int status =
      program_run("locate", "-q", "--cache-only", "-ojson", "--", "t", "--help", "-x", NULL);

  ck_assert_int_eq(status, 1);
  ck_assert_ptr_nonnull(strstr(program_out, "\"row\":\"--help\""));
  ck_assert_ptr_nonnull(strstr(program_out, "\"row\":\"-x\""));
}
END_TEST

START_TEST(test_cli__many_jobs_print_in_the_order_asked)
{
  enum { ROWS = 500 };
  char text[ROWS * 8] = "";
  size_t len = 0;
  char *at = program_out;

  for (int i = 0; i < ROWS; i++) {
    len += (size_t)snprintf(text + len, sizeof(text) - len, "%d\n", i);
  }
  program_write_file("in", text, len);
  ck_assert_int_eq(
      program_run("locate", "-q", "--cache-only", "--jobs", "64", "--rows-from", "-", "t", NULL),
      1);

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

  program_write_file("hbase-site.xml", site, strlen(site));
  program_assert_usage(program_run("locate", "-c", program_file("hbase-site.xml"), "t", "a", NULL),
                       "hbase-site.xml:1: ");
  setenv("HBASE_CONF_DIR", program_folder(), 1);
  program_assert_usage(program_run("locate", "t", "a", NULL),
                       "property hbase.client.pause is \"soon\"");
  program_write_file("in", "<configuration/>", 16);
  ck_assert_int_eq(
      program_run("locate", "-c", program_file("in"), "--cache-only", "-v", "t", "a", NULL), 1);
  program_assert_begins(program_err, "keyroute: info: read /");
  ck_assert_ptr_nonnull(strstr(program_err, program_file("in")));
  program_write_file("hbase-site.xml", "<configuration/>", 16);
  ck_assert_int_eq(program_run("locate", "--cache-only", "-v", "t", "a", NULL), 1);
  ck_assert_ptr_nonnull(strstr(program_err, program_file("hbase-site.xml")));
  program_assert_usage(program_run("locate", "-c", program_file("absent"), "t", "a", NULL),
                       "No such file");
}
END_TEST

START_TEST(test_cli__verbose_sends_the_log_to_stderr)
{
  ck_assert_int_eq(program_run("locate", NOBODY, "-vv", "-q", "t", "a", NULL), 3);

  program_assert_begins(program_err, "keyroute: ");
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

  int full = program_finish(program_start(open("/dev/null", O_RDONLY | O_CLOEXEC),
                                          open("/dev/full", O_WRONLY | O_CLOEXEC), -1, arguments));
  ck_assert_int_eq(full, 3);
  ck_assert_str_eq(program_err, "keyroute: cannot write the answers: No space left on device\n");

  /* So much that the buffer is full before anything is flushed. */
  char *many[1000] = {(char *)"keyroute", (char *)"locate", (char *)"--cache-only", (char *)"-q"};
  for (int i = 4; i < 999; i++) {
    many[i] = (char *)"t";
  }
  full = program_finish(program_start(open("/dev/null", O_RDONLY | O_CLOEXEC),
                                      open("/dev/full", O_WRONLY | O_CLOEXEC), -1, many));
  ck_assert_int_eq(full, 3);
  ck_assert_str_eq(program_err, "keyroute: cannot write the answers: No space left on device\n");

  ck_assert_int_eq(pipe(ends), 0);
  close(ends[0]);
  int closed = program_finish(
      program_start(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], -1, arguments));
  ck_assert_int_eq(closed, 3);
  ck_assert_str_eq(program_err, "");

  ck_assert_int_eq(pipe(ends), 0);
  close(ends[0]);
  closed =
      program_finish(program_start(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], -1, many));
  ck_assert_int_eq(closed, 3);
  ck_assert_str_eq(program_err, "");
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
  pid_t pid = program_start(ends[0], -1, -1, arguments);
  for (int i = 0; i < 1000 && about.st_size == 0; i++) {
    usleep(10000);
    stat(program_file("out"), &about);
  }
  kill(pid, SIGINT);
  int status = program_finish(pid);

  ck_assert_int_eq(status, -SIGINT);
  ck_assert_uint_eq(program_count_lines(program_out), 1);
  close(ends[1]);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cli");
  TCase *tests = tcase_create("cli");

  signal(SIGINT, SIG_DFL);
  tcase_add_checked_fixture(tests, program_set_up, program_tear_down);
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
