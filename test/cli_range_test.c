/*
 * keyroute range, run as a script would, against scripted nodes that take what it writes. meta1 is
 * written down: no ZooKeeper, so no lock.
 */
#include "test/fake_bigtable_writes.h"
#include "test/made_chunks.h"
#include "test/program.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 3 };

#define FORGIVEN "grpc.supp"

/* grpc_supp.c */
const char *__tsan_default_options(void);
const char *__tsan_default_suppressions(void);

static struct fake_bigtable *bigtable;
static struct fake_bigtable_writes *writes;
static char nodes[NODES][64]; /* "1=127.0.0.1:PORT" */

static void configure(int port)
{
  char text[1024];
  int len = snprintf(text, sizeof(text),
                     "<configuration>"
                     "<property><name>keyroute.registry</name><value>static</value></property>"
                     "<property><name>keyroute.registry.static.root</name>"
                     "<value>127.0.0.1:%d</value></property>"
                     "<property><name>hbase.client.pause</name><value>1</value></property>"
                     "<property><name>hbase.client.retries.number</name><value>2</value></property>"
                     "</configuration>",
                     port);

  program_write_file("hbase-site.xml", text, (size_t)len);
  setenv("HBASE_CONF_DIR", program_folder(), 1);
}

/* The program is not linked with grpc_supp.c, as this is, so it is told what that says to the
 * thread sanitizer, if it has that. */
static void forgive_grpc(void)
{
  const char *options = getenv("TSAN_OPTIONS"), *forgiven = __tsan_default_suppressions();
  char text[1024];

  program_write_file(FORGIVEN, forgiven, strlen(forgiven));
  snprintf(text, sizeof(text), "%s %s suppressions=%s", options != NULL ? options : "",
           __tsan_default_options(), program_file(FORGIVEN));
  setenv("TSAN_OPTIONS", text, 1);
}

static void set_up(void)
{
  program_set_up();
  forgive_grpc();
  bigtable = fake_bigtable_start(NODES);
  writes = fake_bigtable_writes_start(bigtable, NODES);
  for (int i = 0; i < NODES; i++) {
    snprintf(nodes[i], sizeof(nodes[i]), "%d=127.0.0.1:%d", i + 1, fake_bigtable_port(bigtable, i));
  }
  configure(fake_bigtable_port(bigtable, 0));
}

static void tear_down(void)
{
  fake_bigtable_stop(bigtable);
  fake_bigtable_writes_free(writes);
  unlink(program_file(FORGIVEN));
  program_tear_down();
}

/* Make the directory, and cut map at m: r3 on the second node, r4 on the third. */
static void begin(void)
{
  ck_assert_int_eq(program_run("range", "init", "--node", nodes[0], "--family", "f", NULL), 0);
  fake_bigtable_make(bigtable, 1, 3);
  fake_bigtable_make(bigtable, 2, 4);
  fake_bigtable_put(bigtable, 1, 3, keyroute_string("apple"), "f", "q", keyroute_string("red"));
  fake_bigtable_put(bigtable, 2, 4, keyroute_string("pear"), "f", "q", keyroute_string("green"));
}

static int split(const char *more)
{
  return program_run("range", "split", "--id", "3,4", "--node", nodes[1], "--right-node", nodes[2],
                     "map", "m", more, NULL);
}

/* The same, but nodes refuse what comes after so many writes. */
static int split_in_part(int most)
{
  fake_bigtable_writes_limit(writes, most);
  int status = split(NULL);

  fake_bigtable_writes_limit(writes, -1);
  return status;
}

/* The words of a line, each by a blank from the next, however many there are between. */
static void assert_line(int index, const char *wanted)
{
  const char *line = program_out;
  char words[512] = "";
  size_t len = 0;

  for (; index > 0; index--) {
    line = strchr(line, '\n');
    ck_assert_msg(line != NULL, "no such line: %.1000s", program_out);
    line++;
  }
  for (; *line != '\n' && *line != '\0' && len + 1 < sizeof(words); line++) {
    if (*line != ' ' || (len > 0 && words[len - 1] != ' ')) {
      words[len++] = *line;
    }
  }
  words[len] = '\0';
  ck_assert_str_eq(words, wanted);
}

static void assert_range(int index, const char *begins, int node)
{
  char wanted[256];

  snprintf(wanted, sizeof(wanted), "%s %s", begins, nodes[node]);
  assert_line(index, wanted);
}

/* ---- Usage ----------------------------------------------------------------------------------- */

START_TEST(test_cli_range__wrong_usage_is_told_before_anything_is_asked)
{
  program_assert_usage(program_run("range", NULL), "range: which action?");
  program_assert_usage(program_run("range", "melt", NULL), "range: no such action: melt");
  program_assert_usage(program_run("range", "init", NULL), "no --node is given");
  program_assert_usage(program_run("range", "init", "map", NULL), "one word too many: map");
  program_assert_usage(program_run("range", "init", "--node", "1", NULL), "ID=HOST:PORT");
  program_assert_usage(program_run("range", "init", "--node", "x=h:1", NULL), "is a number");
  program_assert_usage(program_run("range", "init", "--node", "1=h:0", NULL), "1 to 65535");
  program_assert_usage(program_run("range", "init", "--node", "1=::1:9", NULL), "in brackets");
  program_assert_usage(program_run("range", "split", NULL), "no TABLE is given");
  program_assert_usage(program_run("range", "split", "map", NULL), "no KEY is given");
  program_assert_usage(program_run("range", "split", "users", "m", NULL),
                       "TABLE is map, meta2 or meta1, not users");
  program_assert_usage(program_run("range", "split", "map", "m", NULL), "no --id is given");
  program_assert_usage(program_run("range", "split", "--id", "3", "map", "m", NULL),
                       "--id takes two numbers");
  program_assert_usage(program_run("range", "merge", "--id", "3,4", "map", "m", NULL),
                       "--id takes a number");
  program_assert_usage(program_run("range", "merge", "--id", "1", "map", "m", NULL),
                       "--id takes a number");
  program_assert_usage(program_run("range", "move", "map", "m", NULL), "no --node is given");
  program_assert_usage(program_run("range", "move", "-n", "1", "map", "\\x", NULL), "KEY \\x");
  program_assert_usage(program_run("range", "show", "map", "m", NULL), "one word too many: m");
  program_assert_usage(program_run("range", "show", "--id", "3", NULL), "no such option: --id");
  program_assert_usage(program_run("range", "show", "-l", "meta", NULL),
                       "range show: layout meta has no ranges");
  program_assert_usage(program_run("range", "show", "-D", "keyroute.layout=auto", NULL),
                       "range show: layout auto has no ranges");
}
END_TEST

START_TEST(test_cli_range__help_lists_the_actions)
{
  ck_assert_int_eq(program_run("range", "--help", NULL), 0);
  program_assert_has(program_out, "split       split a range in two");
  ck_assert_int_eq(program_run("range", "split", "--help", NULL), 0);
  program_assert_begins(program_out, "Usage: keyroute range split [OPTION]... TABLE KEY\n");
}
END_TEST

/* ---- Changes --------------------------------------------------------------------------------- */

START_TEST(test_cli_range__init_makes_three_ranges)
{
  ck_assert_int_eq(
      program_run("range", "init", "--node", nodes[0], "--meta2", nodes[1], "--family", "f", NULL),
      0);

  assert_range(0, "meta1 range \"\" \"\" r1 1", 0);
  assert_range(1, "meta2 range \"\" \"\" r1000000000000 1", 1);
  assert_range(2, "map range \"\" \"\" r2 1", 0);
  ck_assert(fake_bigtable_stands(bigtable, 0, 2));
}
END_TEST

START_TEST(test_cli_range__what_is_split_can_be_read_and_the_old_table_is_gone)
{
  begin();

  ck_assert_int_eq(split(NULL), 0);

  assert_range(0, "map range \"\" m r3 2", 1);
  assert_range(1, "map range m \"\" r4 2", 2);
  ck_assert(!fake_bigtable_stands(bigtable, 0, 2));
  ck_assert_int_eq(program_run("get", "-l", "range", "map", "apple", "pear", NULL), 0);
  program_assert_has(program_out, "red\n");
  program_assert_has(program_out, "green\n");
}
END_TEST

START_TEST(test_cli_range__same_command_again_changes_nothing)
{
  begin();
  ck_assert_int_eq(split(NULL), 0);

  ck_assert_int_eq(split(NULL), 0);

  assert_range(1, "map range m \"\" r4 2", 2);
}
END_TEST

START_TEST(test_cli_range__index_is_split_moved_and_merged_under_readers)
{
  begin();
  ck_assert_int_eq(split(NULL), 0);

  ck_assert_int_eq(program_run("range", "split", "--right-node", "3", "meta2", "\\x02k", NULL), 0);
  assert_range(0, "meta2 range \"\" \\x02k r1000000000001 2", 0);
  assert_range(1, "meta2 range \\x02k \"\" r1000000000002 2", 2);
  ck_assert_int_eq(program_run("range", "move", "--node", "2", "meta2", "", NULL), 0);
  assert_range(0, "meta2 range \"\" \\x02k r1000000000003 3", 1);
  ck_assert_int_eq(program_run("locate", "-l", "range", "map", "apple", "pear", NULL), 0);
  ck_assert_int_eq(program_run("range", "merge", "meta2", "", NULL), 0);
  assert_range(0, "meta2 range \"\" \"\" r1000000000004 4", 1);
  ck_assert_int_eq(program_run("get", "-l", "range", "map", "apple", "pear", NULL), 0);
  ck_assert_int_eq(program_run("range", "show", NULL), 0);
  ck_assert_uint_eq(program_count_lines(program_out), 4);
}
END_TEST

START_TEST(test_cli_range__json_has_one_object_a_range)
{
  char wanted[256];

  begin();

  ck_assert_int_eq(split("-ojson"), 0);

  snprintf(wanted, sizeof(wanted),
           "{\"table\":\"map\",\"kind\":\"range\",\"start\":\"\",\"end\":\"m\",\"id\":3,"
           "\"generation\":2,\"nodes\":[{\"id\":2,\"host\":\"127.0.0.1\",\"port\":%d}]}\n",
           fake_bigtable_port(bigtable, 1));
  program_assert_begins(program_out, wanted);
}
END_TEST

START_TEST(test_cli_range__refusals_are_exit_status_1_with_the_reason)
{
  begin();

  ck_assert_int_eq(program_run("range", "split", "--id", "2,4", "map", "m", NULL), 1);
  program_assert_has(program_err, "INVALID_ARGUMENT: the id 2 is in use: a range of map has it");
  ck_assert_int_eq(program_run("range", "split", "-ojson", "--id", "7,8", "map", "m", NULL), 1);
  program_assert_begins(program_out, "{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"message\":"
                                     "\"there is no table r7 on ");
  ck_assert_int_eq(program_run("range", "move", "-n", "9", "map", "m", NULL), 1);
  program_assert_has(program_err, "no range is on a node 9");
  ck_assert_int_eq(program_run("range", "move", "-n", nodes[1], "meta1", "", NULL), 1);
  program_assert_has(program_err, "with registry static");
}
END_TEST

START_TEST(test_cli_range__without_an_answer_exit_status_is_3)
{
  begin();
  fake_grpc_server_stop(fake_bigtable_server(bigtable, 0));

  ck_assert_int_eq(program_run("range", "show", NULL), 3);

  program_assert_has(program_err, "UNREACHABLE");
}
END_TEST

START_TEST(test_cli_range__after_any_refused_write_the_same_again_makes_it_good)
{
  int status = 1;

  for (int most = 0; status != 0; most++) {
    tear_down();
    set_up();
    begin();

    status = split_in_part(most);

    if (status != 0) {
      ck_assert_int_eq(status, 1);
      program_assert_has(program_err, "nothing more is written");
      /* map says what is there at any time. */
      ck_assert_int_eq(program_run("locate", "-l", "range", "map", "apple", "pear", NULL), 0);
      ck_assert_int_eq(split(NULL), 0);
    }
    ck_assert_int_eq(program_run("range", "show", NULL), 0);
    ck_assert_uint_eq(program_count_lines(program_out), 4);
  }
}
END_TEST

/* ---- Showing --------------------------------------------------------------------------------- */

START_TEST(test_cli_range__show_tells_of_an_interrupted_change_and_its_overlap)
{
  begin();
  ck_assert_int_eq(split_in_part(2), 1);

  ck_assert_int_eq(program_run("range", "show", "map", NULL), 1);

  assert_range(0, "map range \"\" \"\" r2 1", 0);
  assert_line(1, "map overlap m \"\" - - -");
  assert_range(2, "map range m \"\" r4 2", 2);
  assert_range(3, "map old \"\" \"\" r2 1", 0);
  assert_range(4, "map new \"\" m r3 2", 1);
  assert_range(5, "map new m \"\" r4 2", 2);
  program_assert_has(program_err, "map: overlap from m to \"\"");
  program_assert_has(program_err, "a change was interrupted");
}
END_TEST

START_TEST(test_cli_range__show_tells_of_holes)
{
  begin();
  ck_assert_int_eq(split(NULL), 0);
  fake_bigtable_remove(bigtable, 0, 1000000000000, keyroute_string("\002"));

  ck_assert_int_eq(program_run("range", "show", "map", NULL), 1);

  assert_line(0, "map hole \"\" m - - -");
  assert_range(1, "map range m \"\" r4 2", 2);
  ck_assert_int_eq(program_run("range", "show", "--start", "b", "map", NULL), 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("cli_range");
  TCase *tests = tcase_create("cli_range");

  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_cli_range__wrong_usage_is_told_before_anything_is_asked);
  tcase_add_test(tests, test_cli_range__help_lists_the_actions);
  tcase_add_test(tests, test_cli_range__init_makes_three_ranges);
  tcase_add_test(tests, test_cli_range__what_is_split_can_be_read_and_the_old_table_is_gone);
  tcase_add_test(tests, test_cli_range__same_command_again_changes_nothing);
  tcase_add_test(tests, test_cli_range__index_is_split_moved_and_merged_under_readers);
  tcase_add_test(tests, test_cli_range__json_has_one_object_a_range);
  tcase_add_test(tests, test_cli_range__refusals_are_exit_status_1_with_the_reason);
  tcase_add_test(tests, test_cli_range__without_an_answer_exit_status_is_3);
  tcase_add_test(tests, test_cli_range__after_any_refused_write_the_same_again_makes_it_good);
  tcase_add_test(tests, test_cli_range__show_tells_of_an_interrupted_change_and_its_overlap);
  tcase_add_test(tests, test_cli_range__show_tells_of_holes);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
