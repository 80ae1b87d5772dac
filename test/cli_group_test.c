/*
 * keyroute group, run as a script would, against scripted region servers: the first holds meta and
 * a region of the table "t" up to "g", the second those from there to "p" and on.
 */
#include "test/fake_server.h"
#include "test/program.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_server *first, *second;

static void place(struct fake_server *on, const char *start, const char *end, int64_t id)
{
  fake_server_place_region(first, on,
                           &(struct fake_region){.table = "t",
                                                 .start = keyroute_string(start),
                                                 .end = keyroute_string(end),
                                                 .id = id,
                                                 .seqnum = id});
}

static void set_up(void)
{
  program_set_up();
  first = fake_server_start(0);
  second = fake_server_start(0);
  place(first, "", "g", 1);
  place(second, "g", "p", 2);
  place(second, "p", "", 3);
  program_configure(fake_server_port(first));
}

static void tear_down(void)
{
  fake_server_free(first);
  fake_server_free(second);
  program_tear_down();
}

/* Is there a line of the table for this server, with these figures? A bar behind it, too. */
static void assert_server(const struct fake_server *server, const char *regions, const char *rows,
                          const char *share)
{
  char name[32] = "-";
  char words[5][128];

  if (server != NULL) {
    snprintf(name, sizeof(name), "127.0.0.1:%d", fake_server_port(server));
  }
  const char *line = strstr(program_out, name);
  ck_assert_msg(line != NULL, "%s is not in %.1000s", name, program_out);
  int count = sscanf(line, "%127s %127s %127s %127s %127s", words[0], words[1], words[2], words[3],
                     words[4]);
  ck_assert_int_eq(count, 5);
  ck_assert_str_eq(words[1], regions);
  ck_assert_str_eq(words[2], rows);
  ck_assert_str_eq(words[3], share);
  ck_assert_uint_eq(strspn(words[4], "#"), strlen(words[4]));
}

START_TEST(test_cli_group__wrong_usage_is_told_before_anything_is_asked)
{
  program_assert_usage(program_run("group", NULL), "no TABLE is given");
  program_assert_usage(program_run("group", "t", NULL), "no ROW is given");
  program_assert_usage(program_run("group", "--trace", "t", "a", NULL), "no such option: --trace");
  program_assert_usage(program_run("group", "t", "a", "\\x", NULL), "row \\x: INVALID_ARGUMENT");
  program_assert_usage(program_run("group", "--replica", "all", "t", "a", NULL), "or any, not all");
  ck_assert_uint_eq(fake_server_counts(first).connects, 0);
}
END_TEST

START_TEST(test_cli_group__table_has_a_line_for_each_server)
{
  ck_assert_int_eq(program_run("group", "t", "", "a", "h", "z", "h", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 2);
  assert_server(first, "1", "2", "40.00%");
  assert_server(second, "2", "3", "60.00%");
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli_group__json_has_a_line_for_each_region_with_its_rows)
{
  char place[128];

  ck_assert_int_eq(program_run("group", "-ojson", "t", "h", "z", "k", "h", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 2);
  program_assert_begins(program_out, "{\"table\":\"t\",\"region\":{\"name\":\"t,g,2.");
  snprintf(place, sizeof(place),
           "\"server\":{\"host\":\"127.0.0.1\",\"port\":%d,\"start_code\":77},\"seqnum\":2,",
           fake_server_port(second));
  program_assert_has(program_out, place);
  program_assert_has(program_out, "\"row_count\":3,\"rows\":[\"h\",\"h\",\"k\"]}\n");
  program_assert_has(program_out, "\"row_count\":1,\"rows\":[\"z\"]}\n");
}
END_TEST

START_TEST(test_cli_group__rows_on_no_server_are_told_and_counted)
{
  fake_server_delete_region(first, &(struct fake_region){.table = "t",
                                                         .start = keyroute_string("g"),
                                                         .end = keyroute_string("p"),
                                                         .id = 2});

  ck_assert_int_eq(program_run("group", "t", "a", "h", NULL), 1);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  assert_server(first, "1", "1", "50.00%");
  program_assert_begins(strchr(program_out, '\n') + 1, "-  ");
  program_assert_begins(program_err, "keyroute: t row h: HOLE: ");

  ck_assert_int_eq(program_run("group", "-q", "-ojson", "t", "a", "h", NULL), 1);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  program_assert_begins(program_out,
                        "{\"table\":\"t\",\"row\":\"h\",\"error\":{\"code\":\"HOLE\",\"message\":");
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli_group__table_that_does_not_exist_fails_each_row)
{
  ck_assert_int_eq(program_run("group", "nosuch", "a", "b", NULL), 1);

  ck_assert_uint_eq(program_count_lines(program_err), 2);
  program_assert_begins(program_err, "keyroute: nosuch row a: TABLE_NOT_FOUND: ");
  program_assert_has(program_out, "100%");
}
END_TEST

START_TEST(test_cli_group__unreachable_cluster_is_exit_3)
{
  fake_server_stop(first);

  ck_assert_int_eq(program_run("group", "-q", "t", "a", "b", NULL), 3);
}
END_TEST

START_TEST(test_cli_group__rows_of_many_batches_add_up)
{
  enum { ROWS = 25000 };
  size_t room = ROWS * 8 + 1;
  char *text = malloc(room);
  size_t len = 0;

  ck_assert_ptr_nonnull(text);
  for (int i = 0; i < ROWS; i++) {
    len += (size_t)snprintf(text + len, room - len, "%c%05d\n", "ahz"[i % 3], i);
  }
  program_write_file("in", text, len);
  free(text);
  ck_assert_int_eq(program_run("group", "--rows-from", "-", "t", NULL), 0);

  assert_server(first, "1", "8334", "33.33%");
  assert_server(second, "2", "16666", "66.66%");
  ck_assert_uint_lt(fake_server_counts(first).scans, 10);
}
END_TEST

START_TEST(test_cli_group__file_without_rows_prints_nothing)
{
  ck_assert_int_eq(program_run("group", "--rows-from", "/dev/null", "t", NULL), 0);

  ck_assert_str_eq(program_out, "");
  ck_assert_uint_eq(fake_server_counts(first).connects, 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cli_group");
  TCase *tests = tcase_create("cli_group");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cli_group__wrong_usage_is_told_before_anything_is_asked);
  tcase_add_test(tests, test_cli_group__table_has_a_line_for_each_server);
  tcase_add_test(tests, test_cli_group__json_has_a_line_for_each_region_with_its_rows);
  tcase_add_test(tests, test_cli_group__rows_on_no_server_are_told_and_counted);
  tcase_add_test(tests, test_cli_group__table_that_does_not_exist_fails_each_row);
  tcase_add_test(tests, test_cli_group__unreachable_cluster_is_exit_3);
  tcase_add_test(tests, test_cli_group__rows_of_many_batches_add_up);
  tcase_add_test(tests, test_cli_group__file_without_rows_prints_nothing);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
