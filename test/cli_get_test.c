/*
 * keyroute get, run as a script would, against scripted region servers: the first holds meta, and
 * both hold a region of the table "t", cut at "m".
 */
#include "test/fake_server.h"
#include "test/program.h"
#include "test/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fake_server *first, *second;

static struct fake_region low(void)
{
  return (struct fake_region){.table = "t", .end = keyroute_string("m"), .id = 1, .seqnum = 2};
}

static struct fake_region high(void)
{
  return (struct fake_region){.table = "t", .start = keyroute_string("m"), .id = 2, .seqnum = 3};
}

static void put(const char *row, const char *family, const char *qualifier, int64_t timestamp,
                const char *value)
{
  fake_server_put_row_cell(first, "t", keyroute_string(row), family, qualifier, timestamp,
                           keyroute_string(value));
}

static void set_up(void)
{
  struct fake_region regions[] = {low(), high()};

  program_set_up();
  first = fake_server_start(0);
  second = fake_server_start(0);
  fake_server_set_rows(second, fake_server_rows(first));
  fake_server_place_region(first, first, &regions[0]);
  fake_server_place_region(first, second, &regions[1]);
  put("a", "f", "q", 5, "apple");
  put("z", "f", "q", 7, "zebra");
  program_configure(fake_server_port(first));
}

static void tear_down(void)
{
  fake_server_free(first);
  fake_server_free(second);
  program_tear_down();
}

/* Does a line of the table have these words? The last one goes to the line's end. */
static void assert_line(const char *line, const char *row, const char *column,
                        const char *timestamp, const char *value)
{
  char words[3][128];
  char rest[512] = "";

  int count = sscanf(line, "%127s %127s %127s %511[^\n]", words[0], words[1], words[2], rest);
  ck_assert_msg(count == 4, "%.1000s", line);
  ck_assert_str_eq(words[0], row);
  ck_assert_str_eq(words[1], column);
  ck_assert_str_eq(words[2], timestamp);
  ck_assert_str_eq(rest, value);
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

/* ---- The command line ----------------------------------------------------------------------- */

START_TEST(test_cli_get__wrong_usage_is_told_before_anything_is_asked)
{
  program_assert_usage(program_run("get", NULL), "no TABLE is given");
  program_assert_usage(program_run("get", "t", NULL), "no ROW is given");
  program_assert_usage(program_run("get", "t", "", NULL), "row \"\": INVALID_ARGUMENT: an empty");
  program_assert_usage(program_run("get", "a b", "a", NULL), "INVALID_ARGUMENT");
  program_assert_usage(program_run("get", "--before", "t", "a", NULL), "no such option: --before");
  program_assert_usage(program_run("get", "--versions", "0", "t", "a", NULL), "--versions takes 1");
  program_assert_usage(program_run("get", "--from", "-1", "t", "a", NULL), "--from takes ms");
  program_assert_usage(program_run("get", "--to", "0", "t", "a", NULL), "--to takes ms from 1");
  program_assert_usage(program_run("get", "--from", "5", "--to", "5", "t", "a", NULL),
                       "--from is not below --to. Try 'keyroute get --help'");
  program_assert_usage(program_run("get", "--max-bytes", "x", "t", "a", NULL), "not x");
  program_assert_usage(program_run("get", "--replica", "all", "t", "a", NULL), "0 to 254 or any");
  program_assert_usage(program_run("get", "-C", ":q", "t", "a", NULL),
                       "-C :q: a column without a family");
  program_assert_usage(program_run("get", "-C", "f:\\x", "t", "a", NULL), "does not begin \\xHH");
  program_write_file("in", "a\n\nb\n", 5);
  program_assert_usage(program_run("get", "--rows-from", "-", "t", NULL),
                       "standard input:2: INVALID_ARGUMENT: an empty row cannot be read");

  ck_assert_uint_eq(fake_server_counts(first).connects, 0);
}
END_TEST

START_TEST(test_cli_get__help_lists_its_own_options)
{
  ck_assert_int_eq(program_run("get", "--help", NULL), 0);

  program_assert_begins(program_out, "Usage: keyroute get [OPTION]... TABLE ROW...\n");
  program_assert_has(program_out, "-C, --columns F[:Q][,...]");
  ck_assert_ptr_null(strstr(program_out, "--before"));
}
END_TEST

/* ---- What is read --------------------------------------------------------------------------- */

START_TEST(test_cli_get__each_cell_is_a_line)
{
  put("a", "f", "r", 6, "avocado");

  ck_assert_int_eq(program_run("get", "t", "z", "a", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 3);
  assert_line(line_of(0), "z", "f:q", "7", "zebra");
  assert_line(line_of(1), "a", "f:q", "5", "apple");
  assert_line(line_of(2), "a", "f:r", "6", "avocado");
  ck_assert_str_eq(program_err, "");
  ck_assert_uint_eq(fake_server_counts(second).gets, 1);
}
END_TEST

START_TEST(test_cli_get__json_is_one_object_a_row)
{
  char place[256];

  ck_assert_int_eq(program_run("get", "-ojson", "default:t", "z", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 1);
  program_assert_begins(program_out, "{\"table\":\"t\",\"row\":\"z\",\"cells\":[{\"family\":\"f\","
                                     "\"qualifier\":\"q\",\"timestamp\":7,\"value\":\"zebra\"}],"
                                     "\"region\":{\"name\":\"t,m,2.");
  snprintf(place, sizeof(place),
           "\"start\":\"m\",\"end\":\"\",\"replica\":0},\"server\":{\"host\":\"127.0.0.1\","
           "\"port\":%d,\"start_code\":77},\"seqnum\":3,\"source\":\"catalog\",\"attempts\":1,"
           "\"rpcs\":2,\"elapsed_us\":",
           fake_server_port(second));
  program_assert_has(program_out, place);
}
END_TEST

START_TEST(test_cli_get__row_without_cells_is_exit_1_and_no_trouble)
{
  ck_assert_int_eq(program_run("get", "t", "none", "a", NULL), 1);
  assert_line(line_of(0), "none", "-", "-", "-");
  assert_line(line_of(1), "a", "f:q", "5", "apple");
  ck_assert_str_eq(program_err, "");

  ck_assert_int_eq(program_run("get", "-ojson", "t", "none", NULL), 1);
  program_assert_begins(program_out, "{\"table\":\"t\",\"row\":\"none\",\"cells\":[],\"region\":");
}
END_TEST

START_TEST(test_cli_get__row_that_fails_has_its_code_for_a_value)
{
  ck_assert_int_eq(program_run("get", "-C", "nosuch", "t", "a", NULL), 1);
  assert_line(line_of(0), "a", "-", "-", "REMOTE");
  program_assert_begins(program_err, "keyroute: t row a: REMOTE: ");
  program_assert_has(program_err, "NoSuchColumnFamilyException");

  ck_assert_int_eq(program_run("get", "-q", "-ojson", "nosuch", "a", NULL), 1);
  program_assert_begins(program_out, "{\"table\":\"nosuch\",\"row\":\"a\",\"error\":{\"code\":"
                                     "\"TABLE_NOT_FOUND\",\"message\":\"");
  ck_assert_str_eq(program_err, "");
}
END_TEST

START_TEST(test_cli_get__what_to_read_reaches_the_server)
{
  put("a", "g", "q", 6, "grape");
  fake_server_put_row_cell(first, "t", keyroute_string("a"), "h", "a,b", 9, keyroute_string("v"));
  int status = program_run("get", "-C", "f:q,g", "--columns", "h:a\\x2Cb,f:", "--versions", "3",
                           "--from", "4", "--to", "8", "t", "a", NULL);
  struct fake_seen_get seen = fake_server_last_get(first);

  ck_assert_int_eq(status, 0);
  program_assert_has(seen.columns, "f:q");
  program_assert_has(seen.columns, "h:a,b");
  ck_assert_uint_eq(seen.max_versions, 3);
  ck_assert(seen.has_time_range);
  ck_assert_int_eq(seen.from, 4);
  ck_assert_int_eq(seen.to, 8);
}
END_TEST

START_TEST(test_cli_get__versions_come_newest_first)
{
  put("a", "f", "q", 6, "avocado");

  ck_assert_int_eq(program_run("get", "--versions", "2", "t", "a", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), 2);
  assert_line(line_of(0), "a", "f:q", "6", "avocado");
  assert_line(line_of(1), "a", "f:q", "5", "apple");
}
END_TEST

START_TEST(test_cli_get__values_are_bytes_that_end_a_line)
{
  put("b", "f", "", 1, "");
  put("b", "f", "a b", 1, " two  words ");
  put("b", "f", "c", 1, "\"\"");
  put("b", "f", "d", 1, "\x01\xff\\");

  ck_assert_int_eq(program_run("get", "t", "b", NULL), 0);

  assert_line(line_of(0), "b", "f:", "1", "\"\"");
  assert_line(line_of(1), "b", "f:a\\x20b", "1", "\\x20two  words\\x20");
  assert_line(line_of(2), "b", "f:c", "1", "\\x22\\x22");
  assert_line(line_of(3), "b", "f:d", "1", "\\x01\\xFF\\x5C");
}
END_TEST

START_TEST(test_cli_get__hexadecimal_is_for_rows_keys_and_values)
{
  ck_assert_int_eq(program_run("get", "--hex", "t", "7A", NULL), 0);
  assert_line(line_of(0), "7a", "f:q", "7", "7a65627261");

  ck_assert_int_eq(program_run("get", "--hex", "-ojson", "t", "7a", NULL), 0);
  program_assert_has(program_out, "\"value\":\"7a65627261\"");
  program_assert_has(program_out, "\"start\":\"6d\"");
}
END_TEST

START_TEST(test_cli_get__replica_that_may_lag_is_stale)
{
  struct fake_region region = high();
  struct fake_server *both[] = {second, first};

  region.replicas = 2;
  fake_server_place_replicas(first, both, 2, &region);

  ck_assert_int_eq(program_run("get", "-ojson", "--replica", "1", "t", "z", NULL), 0);
  program_assert_has(program_out, "}],\"stale\":true,\"region\":");
  program_assert_has(program_out, "\"replica\":1}");

  ck_assert_int_eq(program_run("get", "-ojson", "--replica", "any", "t", "z", NULL), 0);
  ck_assert_ptr_null(strstr(program_out, "stale"));
}
END_TEST

START_TEST(test_cli_get__row_above_the_bound_is_too_large)
{
  ck_assert_int_eq(program_run("get", "--max-bytes", "3", "t", "a", NULL), 1);

  assert_line(line_of(0), "a", "-", "-", "TOO_LARGE");
}
END_TEST

START_TEST(test_cli_get__steps_follow_with_trace)
{
  ck_assert_int_eq(program_run("get", "--trace", "t", "a", NULL), 0);
  ck_assert_uint_gt(program_count_lines(program_out), 1);
  program_assert_has(program_out, "  get ");

  ck_assert_int_eq(program_run("get", "--trace", "-ojson", "t", "a", NULL), 0);
  program_assert_has(program_out, ",\"trace\":[{\"step\":\"");
}
END_TEST

START_TEST(test_cli_get__unreachable_cluster_is_exit_3)
{
  fake_server_stop(first);

  ck_assert_int_eq(program_run("get", "t", "a", "z", NULL), 3);
  ck_assert_uint_eq(program_count_lines(program_out), 2);
  ck_assert_uint_eq(program_count_lines(program_err), 2);
}
END_TEST

START_TEST(test_cli_get__dead_server_fails_its_rows_only)
{
  fake_server_stop(second);

  ck_assert_int_eq(program_run("get", "t", "a", "z", NULL), 1);
  assert_line(line_of(0), "a", "f:q", "5", "apple");
  program_assert_begins(line_of(1), "z  ");
  program_assert_begins(program_err, "keyroute: t row z: ");
}
END_TEST

/* ---- Rows of files and pipes ---------------------------------------------------------------- */

/* The bytes of a file with the rows from 0 to count - 1, "000000" on. */
static void write_rows(const char *prefix, int count)
{
  size_t len = 0;
  size_t room = (size_t)count * (strlen(prefix) + 8) + 1;
  char *text = malloc(room);

  ck_assert_ptr_nonnull(text);
  for (int i = 0; i < count; i++) {
    len += (size_t)snprintf(text + len, room - len, "%s%06d\n", prefix, i);
  }
  program_write_file("in", text, len);
  free(text);
}

START_TEST(test_cli_get__rows_of_a_file_are_read_in_batches_and_print_in_order)
{
  enum { ROWS = 5000 };
  char row[16];
  const char *line = program_out;

  fake_rows_generate(fake_server_rows(first), "t", "r", ROWS, 0);
  write_rows("r", ROWS);
  ck_assert_int_eq(program_run("get", "--rows-from", program_file("in"), "t", NULL), 0);

  ck_assert_uint_eq(program_count_lines(program_out), ROWS);
  for (int i = 0; i < ROWS; i++) {
    snprintf(row, sizeof(row), "r%06d", i);
    assert_line(line, row, "f:q", "1", row);
    line = strchr(line, '\n') + 1;
  }
  ck_assert_uint_eq(fake_server_counts(second).rows_read, ROWS);
  ck_assert_uint_lt(fake_server_counts(second).rpcs, ROWS / 20);
}
END_TEST

START_TEST(test_cli_get__batch_tells_each_row_its_own_end)
{
  program_write_file("in", "a\nnone\nz\n", 9);
  fake_server_stop(second);

  ck_assert_int_eq(program_run("get", "-ojson", "--rows-from", "-", "t", NULL), 1);

  ck_assert_uint_eq(program_count_lines(program_out), 3);
  program_assert_begins(line_of(0), "{\"table\":\"t\",\"row\":\"a\",\"cells\":[{");
  program_assert_begins(line_of(1), "{\"table\":\"t\",\"row\":\"none\",\"error\":{\"code\":\"");
  program_assert_begins(line_of(2), "{\"table\":\"t\",\"row\":\"z\",\"error\":{\"code\":\"");
  ck_assert_ptr_null(strstr(program_out, "elapsed_us"));
  ck_assert_uint_eq(program_count_lines(program_err), 2);
}
END_TEST

START_TEST(test_cli_get__pipe_is_answered_without_waiting_for_more_rows)
{
  char *arguments[] = {(char *)"keyroute", (char *)"get", (char *)"--rows-from",
                       (char *)"-",        (char *)"t",   NULL};
  int in[2], to[2];
  char line[128] = "";

  ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
  ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
  pid_t pid = program_start(in[0], to[1], -1, arguments);
  ck_assert_int_eq(write(in[1], "a\n", 2), 2);
  FILE *answers = fdopen(to[0], "r");
  ck_assert_ptr_nonnull(fgets(line, sizeof(line), answers));
  assert_line(line, "a", "f:q", "5", "apple");
  ck_assert_int_eq(write(in[1], "\\\nz", 3), 3);
  close(in[1]);
  ck_assert_ptr_nonnull(fgets(line, sizeof(line), answers));
  assert_line(line, "\\x5C", "-", "-", "INVALID_ARGUMENT");
  ck_assert_ptr_nonnull(fgets(line, sizeof(line), answers));
  assert_line(line, "z", "f:q", "7", "zebra");
  fclose(answers);

  ck_assert_int_eq(program_finish(pid), 2);
  program_assert_has(program_err, "line 2: ");
}
END_TEST

START_TEST(test_cli_get__large_rows_of_a_file_are_all_read)
{
  enum { ROWS = 400, VALUE = 256 * 1024 };

  fake_rows_generate(fake_server_rows(first), "t", "a", ROWS, VALUE);
  write_rows("a", ROWS);
  program_configure(fake_server_port(first));
  int status = program_finish(program_start(
      open(program_file("in"), O_RDONLY | O_CLOEXEC), open("/dev/null", O_WRONLY | O_CLOEXEC), -1,
      (char *[]){(char *)"keyroute", (char *)"get", (char *)"--rows-from", (char *)"-", (char *)"t",
                 NULL}));

  ck_assert_msg(status == 0, "exit %d: %.1000s", status, program_err);
  /* More, if the machine was so slow that some were asked for again. */
  ck_assert_uint_ge(fake_server_counts(first).rows_read, ROWS);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cli_get");
  TCase *tests = tcase_create("cli_get");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cli_get__wrong_usage_is_told_before_anything_is_asked);
  tcase_add_test(tests, test_cli_get__help_lists_its_own_options);
  tcase_add_test(tests, test_cli_get__each_cell_is_a_line);
  tcase_add_test(tests, test_cli_get__json_is_one_object_a_row);
  tcase_add_test(tests, test_cli_get__row_without_cells_is_exit_1_and_no_trouble);
  tcase_add_test(tests, test_cli_get__row_that_fails_has_its_code_for_a_value);
  tcase_add_test(tests, test_cli_get__what_to_read_reaches_the_server);
  tcase_add_test(tests, test_cli_get__versions_come_newest_first);
  tcase_add_test(tests, test_cli_get__values_are_bytes_that_end_a_line);
  tcase_add_test(tests, test_cli_get__hexadecimal_is_for_rows_keys_and_values);
  tcase_add_test(tests, test_cli_get__replica_that_may_lag_is_stale);
  tcase_add_test(tests, test_cli_get__row_above_the_bound_is_too_large);
  tcase_add_test(tests, test_cli_get__steps_follow_with_trace);
  tcase_add_test(tests, test_cli_get__unreachable_cluster_is_exit_3);
  tcase_add_test(tests, test_cli_get__dead_server_fails_its_rows_only);
  tcase_add_test(tests, test_cli_get__rows_of_a_file_are_read_in_batches_and_print_in_order);
  tcase_add_test(tests, test_cli_get__batch_tells_each_row_its_own_end);
  tcase_add_test(tests, test_cli_get__pipe_is_answered_without_waiting_for_more_rows);
  tcase_add_test(tests, test_cli_get__large_rows_of_a_file_are_all_read);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
