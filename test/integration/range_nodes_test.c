/*
 * The nodes that the tests of the range directory stand on: that a dead one is dead, that a
 * restarted one is the same, and that the oracle says what the directory says.
 */
#include "test/loopback.h"
#include "test/nodes.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct nodes *nodes;

__attribute__((format(printf, 1, 2))) static void command(const char *format, ...)
{
  char text[256];
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  ck_assert_msg(nodes_command(nodes, NULL, "%s", text) == 0, "%s: %s", text, nodes_answer(nodes));
}

static void assert_says(const char *text, const char *expected)
{
  char *lines;

  ck_assert_int_eq(nodes_command(nodes, &lines, "%s", text), 0);
  ck_assert_msg(strstr(lines, expected) != NULL, "%s: %s", text, lines);
  free(lines);
}

/* 0, or the errno with which a connection fails. */
static int connect_error(int node)
{
  int port = atoi(strchr(nodes_address(nodes, node), ':') + 1);
  struct sockaddr_in address = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int error = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;

  close(fd);
  return error;
}

START_TEST(test_nodes__killed_node_refuses_until_it_is_back_with_its_rows)
{
  command("create 1 kept");
  command("put 1 kept row\\x00\\xFF value");
  for (int i = 0; i < 3; i++) {
    command("kill 1");
    ck_assert_int_eq(connect_error(1), ECONNREFUSED);
    ck_assert_int_eq(connect_error(0), 0);
    command("restart 1");
    ck_assert_int_eq(connect_error(1), 0);
  }
  assert_says("rows 1 kept", "row\\x00\\xFF\tf:q\t");
}
END_TEST

START_TEST(test_nodes__copy_takes_a_span_with_its_cells)
{
  command("create 0 from f g");
  command("create 2 to f g");
  command("put 0 from a below");
  command("put 0 from b first g:");
  command("put 0 from c second f:x:y");
  command("put 0 from d above");

  command("copy 0 from b d 2 to");

  ck_assert_str_eq(nodes_answer(nodes), "2");
  assert_says("rows 2 to", "first\nc\tf:x:y\t");
}
END_TEST

START_TEST(test_nodes__oracle_believes_the_larger_generation)
{
  command("create 0 r1 r");
  command("create 1 r2 r");
  command("create 2 r10");
  command("create 0 r11");
  command("put-descriptor 0 r1 meta2 2 1 \"\" \"\" 1");
  command("put-descriptor 1 r2 map 10 1 \"\" \"\" 2");
  command("put-descriptor 1 r2 map 11 2 m \"\" 0");
  command("put 2 r10 apple red");
  command("put 2 r10 plum stale");
  command("put 0 r11 plum blue");
  assert_says("oracle 0 apple", "apple\tr10\t1\t\t\t127.0.0.1\t");
  assert_says("oracle 0 apple", "\tred\n");
  assert_says("oracle 0 plum", "plum\tr11\t2\tm\t\t127.0.0.1\t");
  assert_says("oracle 0 plum", "\tblue\n");
  assert_says("directory 0", "meta2\tr2\t1\t\t\t127.0.0.1\t");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("range_nodes");
  TCase *tests = tcase_create("nodes");
  SRunner *runner = srunner_create(suite);

  alarm(1200);
  enum fixture_result started = nodes_start(&nodes, 3);

  if (started != FIXTURE_OK) {
    srunner_free(runner);
    fprintf(stderr, "SKIPPED: %s\n", fixture_reason());
    return started == FIXTURE_UNAVAILABLE ? 77 : 1;
  }
  tcase_add_test(tests, test_nodes__killed_node_refuses_until_it_is_back_with_its_rows);
  tcase_add_test(tests, test_nodes__copy_takes_a_span_with_its_cells);
  tcase_add_test(tests, test_nodes__oracle_believes_the_larger_generation);
  suite_add_tcase(suite, tests);
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);

  srunner_free(runner);
  nodes_stop(nodes);
  return failed == 0 ? 0 : 1;
}
