/*
 * keyroute regions, run as a script would, against a scripted region server that holds meta.
 */
#include "test/fake_server.h"
#include "test/program.h"
#include "test/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fake_server *server;

static void put(const char *start, const char *end, int64_t id)
{
  fake_server_put_region(server, &(struct fake_region){.table = "t",
                                                       .start = keyroute_string(start),
                                                       .end = keyroute_string(end),
                                                       .id = id,
                                                       .host = "h",
                                                       .port = (int)id,
                                                       .start_code = 77,
                                                       .seqnum = 2});
}

static void set_up(void)
{
  program_set_up();
  server = fake_server_start(0);
  put("", "@", 1);
  put("@", "m", 2);
  put("m", "", 3);
  program_configure(fake_server_port(server));
}

static void tear_down(void)
{
  fake_server_free(server);
  program_tear_down();
}

static const char *line_of(int index)
{
  const char *line = program_out;

  for (; index > 0 && line != NULL; index--) {
    line = strchr(line, '\n');
    line = line != NULL ? line + 1 : NULL;
  }
  ck_assert_msg(line != NULL && *line != '\0', "no such line: %.1000s", program_out);
  return line;
}

/* Six words: start, end, server, state, region and share; region is not compared if it is NULL. */
static void assert_line(int index, const char *start, const char *end, const char *on,
                        const char *state, const char *region, const char *share)
{
  char words[6][128];
  const char *line = line_of(index);
  const char *wanted[] = {start, end, on, state, region, share};

  int count = sscanf(line, "%127s %127s %127s %127s %127s %127s", words[0], words[1], words[2],
                     words[3], words[4], words[5]);
  ck_assert_int_eq(count, 6);
  for (int i = 0; i < 6; i++) {
    ck_assert_msg(wanted[i] == NULL || strcmp(words[i], wanted[i]) == 0, "%s is not %s in %.300s",
                  words[i], wanted[i], line);
  }
}

START_TEST(test_cli_regions__wrong_usage_is_told_before_anything_is_asked)
{
  program_assert_usage(program_run("regions", NULL), "no TABLE is given");
  program_assert_usage(program_run("regions", "t", "a", NULL), "one word too many: a");
  program_assert_usage(program_run("regions", "a b", NULL), "INVALID_ARGUMENT");
  program_assert_usage(program_run("regions", "--limit", "0", "t", NULL), "--limit takes");
  program_assert_usage(program_run("regions", "--jobs", "2", "t", NULL), "no such option: --jobs");
  program_assert_usage(program_run("regions", "--start", "\\x", "t", NULL), "--start \\x: a \\");
  program_assert_usage(program_run("regions", "--hex", "--end", "0", "t", NULL), "hexadecimal");
  program_assert_usage(program_run("regions", "--start", "b", "--end", "b", "t", NULL),
                       "--start is not below --end");
  ck_assert_uint_eq(fake_server_counts(server).connects, 0);
}
END_TEST

START_TEST(test_cli_regions__each_region_is_a_line_in_the_order_of_keys)
{
  ck_assert_int_eq(program_run("regions", "t", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 3);
  assert_line(0, "\"\"", "@", "h:1", NULL, NULL, "25.00%");
  assert_line(1, "@", "m", "h:2", NULL, NULL, "17.57%");
  assert_line(2, "m", "\"\"", "h:3", NULL, NULL, "57.42%");
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli_regions__json_says_by_kind_what_it_is)
{
  ck_assert_int_eq(program_run("regions", "-ojson", "--end", "@", "default:t", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 1);
  program_assert_begins(program_out, "{\"table\":\"t\",\"kind\":\"region\",\"start\":\"\",\"end\":"
                                     "\"@\",\"share\":0.25,\"region\":{\"name\":\"t,,1.");
  program_assert_has(program_out, "\"replica\":0},\"server\":{\"host\":\"h\",\"port\":1,"
                                  "\"start_code\":77},\"seqnum\":2");
}
END_TEST

START_TEST(test_cli_regions__start_and_end_bound_the_listing)
{
  ck_assert_int_eq(program_run("regions", "--start", "b", "--end", "n", "t", NULL), 0);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  assert_line(0, "@", "m", "h:2", NULL, NULL, NULL);
  assert_line(1, "m", "\"\"", "h:3", NULL, NULL, NULL);

  ck_assert_int_eq(program_run("regions", "--hex", "--start", "40", "--end", "6d", "t", NULL), 0);
  ck_assert_uint_eq(program_count_lines(program_out), 1);
  assert_line(0, "40", "6d", "h:2", NULL, NULL, NULL);
}
END_TEST

START_TEST(test_cli_regions__limit_tells_where_to_go_on)
{
  ck_assert_int_eq(program_run("regions", "--limit", "2", "t", NULL), 0);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  ck_assert_str_eq(program_err, "keyroute: t: 2 regions so far; go on with --start 'm'\n");

  ck_assert_int_eq(program_run("regions", "--limit", "1", "t", NULL), 0);
  ck_assert_str_eq(program_err, "keyroute: t: 1 region so far; go on with --start '@'\n");

  ck_assert_int_eq(program_run("regions", "--limit", "2", "--start", "m", "t", NULL), 0);
  ck_assert_uint_eq(program_count_lines(program_out), 1);
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli_regions__holes_are_lines_of_their_own_and_exit_1)
{
  fake_server_delete_region(server, &(struct fake_region){.table = "t",
                                                          .start = keyroute_string("@"),
                                                          .end = keyroute_string("m"),
                                                          .id = 2});

  ck_assert_int_eq(program_run("regions", "t", NULL), 1);
  ck_assert_uint_eq(program_count_lines(program_out), 3);
  assert_line(1, "@", "m", "-", "HOLE", "-", "17.57%");
  program_assert_begins(program_err, "keyroute: t from '@' to 'm': HOLE: ");
  ck_assert_uint_eq(program_count_lines(program_err), 1);

  ck_assert_int_eq(program_run("regions", "-q", "-ojson", "t", NULL), 1);
  program_assert_begins(line_of(1), "{\"table\":\"t\",\"kind\":\"hole\",\"start\":\"@\",\"end\":"
                                    "\"m\",\"share\":0.17578");
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli_regions__overlaps_name_both_regions)
{
  put("k", "n", 9);

  ck_assert_int_eq(program_run("regions", "t", NULL), 1);
  program_assert_has(program_out, " OVERLAP ");
  program_assert_has(program_out, "+");
  program_assert_has(program_err, ": OVERLAP: ");

  ck_assert_int_eq(program_run("regions", "-q", "-ojson", "t", NULL), 1);
  program_assert_has(program_out, "\"kind\":\"overlap\"");
  program_assert_has(program_out, "\"regions\":[{\"name\":\"t,@,2.");
}
END_TEST

START_TEST(test_cli_regions__corrupt_rows_are_told)
{
  struct fake_region region = {
      .table = "t", .start = keyroute_string("@"), .end = keyroute_string("m"), .id = 2};
  struct keyroute_bytes name = fake_region_name(&region);

  fake_server_put_cell(server, name, "info", "regioninfo", keyroute_string("nonsense"));
  ck_assert_int_eq(program_run("regions", "t", NULL), 1);
  program_assert_has(program_out, " CORRUPT ");
  program_assert_has(program_err, "CORRUPT: ");

  ck_assert_int_eq(program_run("regions", "-q", "-ojson", "t", NULL), 1);
  program_assert_has(program_out, "\"kind\":\"corrupt\",\"start\":\"@\",\"message\":");
  free((void *)(size_t)name.data);
}
END_TEST

START_TEST(test_cli_regions__region_on_no_server_is_no_trouble)
{
  fake_server_put_region(server, &(struct fake_region){.table = "n", .id = 1, .offline = true});

  ck_assert_int_eq(program_run("regions", "n", NULL), 0);
  assert_line(0, "\"\"", "\"\"", "-", "OFFLINE", NULL, "100%");

  ck_assert_int_eq(program_run("regions", "-ojson", "n", NULL), 0);
  program_assert_has(program_out, "\"offline\":true,\"message\":\"");
}
END_TEST

START_TEST(test_cli_regions__missing_table_is_exit_1_and_the_last_line)
{
  ck_assert_int_eq(program_run("regions", "nosuch", NULL), 1);
  ck_assert_uint_eq(program_count_lines(program_out), 1);
  assert_line(0, "\"\"", "-", "-", "TABLE_NOT_FOUND", "-", "-");
  program_assert_begins(program_err, "keyroute: nosuch: TABLE_NOT_FOUND: ");

  ck_assert_int_eq(program_run("regions", "-q", "-ojson", "nosuch", NULL), 1);
  program_assert_begins(program_out, "{\"table\":\"nosuch\",\"start\":\"\",\"error\":{\"code\":"
                                     "\"TABLE_NOT_FOUND\",\"message\":\"");
}
END_TEST

START_TEST(test_cli_regions__unreachable_cluster_is_exit_3)
{
  fake_server_stop(server);

  ck_assert_int_eq(program_run("regions", "t", NULL), 3);
  ck_assert_uint_eq(program_count_lines(program_err), 1);
}
END_TEST

/* A table of regions that begin with r'00001 and so on, but for the first. */
static void put_many(int count)
{
  char start[16] = "";
  char end[16] = "";

  for (int i = 1; i <= count; i++) {
    if (i < count) {
      snprintf(end, sizeof(end), "r'%05d", i);
    } else {
      end[0] = '\0';
    }
    fake_server_put_region(server, &(struct fake_region){.table = "many",
                                                         .start = keyroute_string(start),
                                                         .end = keyroute_string(end),
                                                         .id = 1,
                                                         .host = "h",
                                                         .port = 1,
                                                         .start_code = 77});
    memcpy(start, end, sizeof(start));
  }
}

START_TEST(test_cli_regions__pages_follow_each_other_to_the_end)
{
  enum { REGIONS = 2500 };

  put_many(REGIONS);
  ck_assert_int_eq(program_run("regions", "many", NULL), 0);

  ck_assert_msg(program_count_lines(program_out) == REGIONS, "%s", program_err);
}
END_TEST

START_TEST(test_cli_regions__listing_that_breaks_off_tells_where_to_go_on)
{
  int ends[2];
  char *arguments[] = {(char *)"keyroute", (char *)"regions", (char *)"many", NULL};
  char line[256];
  size_t lines = 0;

  put_many(30000);
  ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
  pid_t pid = program_start(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], -1, arguments);
  FILE *answers = fdopen(ends[0], "r");
  ck_assert_ptr_nonnull(fgets(line, sizeof(line), answers));
  fake_server_stop(server);
  while (fgets(line, sizeof(line), answers) != NULL) {
    lines++;
  }
  fclose(answers);

  ck_assert_int_eq(program_finish(pid), 1);
  ck_assert_uint_gt(lines, 900);
  ck_assert_uint_lt(lines, 30000);
  program_assert_begins(line, "r'");
  program_assert_has(program_err, " regions so far; go on with --start 'r\\x27");
  ck_assert_uint_eq(program_count_lines(program_err), 2);
}
END_TEST

START_TEST(test_cli_regions__steps_follow_their_page_with_trace)
{
  ck_assert_int_eq(program_run("regions", "--trace", "t", NULL), 0);
  program_assert_has(line_of(3), " scan ");

  ck_assert_int_eq(program_run("regions", "--trace", "-ojson", "t", NULL), 0);
  program_assert_begins(line_of(3), "{\"table\":\"t\",\"start\":\"\",\"attempts\":");
}
END_TEST

START_TEST(test_cli_regions__full_stdout_is_told_and_a_reader_who_left_is_not)
{
  char *arguments[] = {(char *)"keyroute", (char *)"regions", (char *)"t", NULL};
  int ends[2];

  int full = program_finish(program_start(open("/dev/null", O_RDONLY | O_CLOEXEC),
                                          open("/dev/full", O_WRONLY | O_CLOEXEC), -1, arguments));
  ck_assert_int_eq(full, 3);
  ck_assert_str_eq(program_err, "keyroute: cannot write the answers: No space left on device\n");

  ck_assert_int_eq(pipe(ends), 0);
  close(ends[0]);
  int closed = program_finish(
      program_start(open("/dev/null", O_RDONLY | O_CLOEXEC), ends[1], -1, arguments));
  ck_assert_int_eq(closed, 3);
  ck_assert_str_eq(program_err, "");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cli_regions");
  TCase *tests = tcase_create("cli_regions");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cli_regions__wrong_usage_is_told_before_anything_is_asked);
  tcase_add_test(tests, test_cli_regions__each_region_is_a_line_in_the_order_of_keys);
  tcase_add_test(tests, test_cli_regions__json_says_by_kind_what_it_is);
  tcase_add_test(tests, test_cli_regions__start_and_end_bound_the_listing);
  tcase_add_test(tests, test_cli_regions__limit_tells_where_to_go_on);
  tcase_add_test(tests, test_cli_regions__holes_are_lines_of_their_own_and_exit_1);
  tcase_add_test(tests, test_cli_regions__overlaps_name_both_regions);
  tcase_add_test(tests, test_cli_regions__corrupt_rows_are_told);
  tcase_add_test(tests, test_cli_regions__region_on_no_server_is_no_trouble);
  tcase_add_test(tests, test_cli_regions__missing_table_is_exit_1_and_the_last_line);
  tcase_add_test(tests, test_cli_regions__unreachable_cluster_is_exit_3);
  tcase_add_test(tests, test_cli_regions__pages_follow_each_other_to_the_end);
  tcase_add_test(tests, test_cli_regions__listing_that_breaks_off_tells_where_to_go_on);
  tcase_add_test(tests, test_cli_regions__steps_follow_their_page_with_trace);
  tcase_add_test(tests, test_cli_regions__full_stdout_is_told_and_a_reader_who_left_is_not);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
