/* ZooKeeper connect strings. */
#include "lib/connect_string.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_connect_string *parsed;
static char reason[256];

static void setup(void)
{
  mem = kr_mem_new(NULL);
  parsed = NULL;
  reason[0] = '\0';
}

static void teardown(void)
{
  kr_connect_string_free(parsed);
  kr_mem_release(mem);
}

static int parse(const char *text)
{
  return kr_connect_string_parse(&parsed, mem, text, 2181, reason, sizeof(reason));
}

static void expect_host(size_t index, const char *host, int port)
{
  ck_assert_uint_lt(index, parsed->count);
  ck_assert_str_eq(parsed->hosts[index].host, host);
  ck_assert_int_eq(parsed->hosts[index].port, port);
}

static void expect_refused(const char *text, const char *why, const char *part)
{
  int error = parse(text);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_null(parsed);
  ck_assert_msg(strstr(reason, why) != NULL, "%s: %s", text, reason);
  ck_assert_msg(strstr(reason, part) != NULL, "%s: %s", text, reason);
}

START_TEST(test_connect_string__hosts_ports_and_chroot_are_taken_apart)
{
  int error = parse("a.example:2182,b,[::1]:2183,[fe80::1%eth0]/prod/hbase");

  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(parsed->count, 4);
  expect_host(0, "a.example", 2182);
  expect_host(1, "b", 2181);
  expect_host(2, "::1", 2183);
  expect_host(3, "fe80::1%eth0", 2181);
  ck_assert_str_eq(parsed->chroot, "/prod/hbase");
}
END_TEST

START_TEST(test_connect_string__a_quorum_list_without_ports_gets_the_default)
{
  int error = parse(" zk1.example, zk2.example ,\n\tzk3.example ");

  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(parsed->count, 3);
  expect_host(0, "zk1.example", 2181);
  expect_host(1, "zk2.example", 2181);
  expect_host(2, "zk3.example", 2181);
  ck_assert_str_eq(parsed->chroot, "");
}
END_TEST

START_TEST(test_connect_string__a_slash_alone_is_no_chroot)
{
  int error = parse("a:1/");

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(parsed->chroot, "");
}
END_TEST

START_TEST(test_connect_string__a_trailing_slash_is_cut)
{
  int error = parse("a:1/prod/");

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(parsed->chroot, "/prod");
}
END_TEST

START_TEST(test_connect_string__what_is_formatted_parses_back)
{
  ck_assert_int_eq(parse("a,[::1]:7, b:65535/x"), 0);

  char *text = kr_connect_string_format(parsed);

  ck_assert_str_eq(text, "a:2181,[::1]:7,b:65535");
  kr_free(mem, text);
}
END_TEST

static const struct {
  const char *text, *why, *part;
} refused[] = {
    {"", "no host", "\"\""},
    {"   ", "no host", "\"\""},
    {"/prod", "no host in front of the chroot", "/prod"},
    {"a,,b", "empty host", "a,,b"},
    {"a,", "empty host", "a,"},
    {",a", "empty host", ",a"},
    {":2181", "no host in front of the port", ":2181"},
    {"a:0", "port", "a:0"},
    {"x,a:70000", "port", "\"a:70000\""},
    {"a:abc", "port", "a:abc"},
    {"a:", "port", "a:"},
    {"a:-1", "port", "a:-1"},
    {"a:000021", "port", "a:000021"},
    {"::1", "brackets", "::1"},
    {"[::1", "without", "[::1"},
    {"[::1]x", "port", "[::1]x"},
    {"[::1]:0", "port", "[::1]:0"},
    {"[host]:1", "IPv6", "[host]:1"},
    {"a b:1", "not a host name", "a b:1"},
    {"a;b", "not a host name", "a;b"},
    {"a\x1b[31m", "not a host name", "\\x1B"},
    {"a//b", "chroot", "//b"},
    {"a/b//c", "chroot", "/b//c"},
    {"a/./b", "chroot", "/./b"},
    {"a/..", "chroot", "/.."},
    {"a/b\x01", "control", "/b\\x01"},
};

START_TEST(test_connect_string__an_error_names_the_part)
{
  expect_refused(refused[_i].text, refused[_i].why, refused[_i].part);
}
END_TEST

START_TEST(test_connect_string__a_host_has_at_most_253_characters)
{
  char text[300];
  memset(text, 'a', sizeof(text));
  text[254] = '\0';

  int too_long = parse(text);
  text[253] = '\0';
  int longest = parse(text);

  ck_assert_int_eq(too_long, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(longest, 0);
}
END_TEST

START_TEST(test_connect_string__each_failed_allocation_is_no_memory_and_leaks_nothing)
{
  struct kr_mem *counted = failing_mem_new();
  long before = mem_live();
  int error = KEYROUTE_E_NO_MEMORY;
  long allowed = 0;

  for (; error == KEYROUTE_E_NO_MEMORY; allowed++) {
    mem_fail_from(allowed + 1);
    error = kr_connect_string_parse(&parsed, counted, "a,b:1,[::1]:2/c", 2181, NULL, 0);
    ck_assert(error == 0 || mem_live() == before);
  }

  ck_assert_int_eq(error, 0);
  ck_assert_int_gt(allowed, 4);
  kr_connect_string_free(parsed);
  parsed = NULL;
  failing_mem_done(counted);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("connect_string");
  TCase *all = tcase_create("connect_string");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, test_connect_string__hosts_ports_and_chroot_are_taken_apart);
  tcase_add_test(all, test_connect_string__a_quorum_list_without_ports_gets_the_default);
  tcase_add_test(all, test_connect_string__a_slash_alone_is_no_chroot);
  tcase_add_test(all, test_connect_string__a_trailing_slash_is_cut);
  tcase_add_test(all, test_connect_string__what_is_formatted_parses_back);
  tcase_add_loop_test(all, test_connect_string__an_error_names_the_part, 0,
                      (int)(sizeof(refused) / sizeof(refused[0])));
  tcase_add_test(all, test_connect_string__a_host_has_at_most_253_characters);
  tcase_add_test(all, test_connect_string__each_failed_allocation_is_no_memory_and_leaks_nothing);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
