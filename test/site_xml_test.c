/*
 * Reading an hbase-site.xml: what is taken, and that what a file cannot do to us, it cannot.
 */
#include "lib/site_xml.h"

#include "lib/mem.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct kr_mem *mem;
static struct kr_site *site;
static struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
static char path[64];

static void set_up(void)
{
  mem = kr_mem_new(NULL);
  site = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  snprintf(path, sizeof(path), "/tmp/keyroute-site-XXXXXX");
  int fd = mkstemp(path);
  ck_assert_int_ge(fd, 0);
  close(fd);
}

static void tear_down(void)
{
  kr_site_free(site);
  unlink(path);
  kr_mem_release(mem);
}

static void write_file(const char *text)
{
  FILE *file = fopen(path, "w");

  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  fclose(file);
}

static int read_text(const char *text)
{
  write_file(text);
  return kr_site_xml_read(&site, mem, path, &detail);
}

static void assert_refused(const char *text, long line, const char *words)
{
  char place[128];

  int error = read_text(text);

  snprintf(place, sizeof(place), "%s:%ld: ", path, line);
  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_msg(strncmp(detail.message, place, strlen(place)) == 0, "%s", detail.message);
  ck_assert_msg(strstr(detail.message, words) != NULL, "%s", detail.message);
  ck_assert_ptr_null(strchr(detail.message, '\n'));
  ck_assert_ptr_null(site);
}

START_TEST(test_site_xml__properties_come_in_the_order_of_the_file)
{
  const char *text = "<?xml version=\"1.0\"?>\n"
                     "<!-- a comment -->\n"
                     "<configuration>\n"
                     "  <property>\n"
                     "    <name> a.b </name><value> 1 </value>\n"
                     "    <description>why <b>so</b></description>\n"
                     "  </property>\n"
                     "  <property name=\"c\" value=\"&lt;2&gt;\"><final>true</final></property>\n"
                     "</configuration>\n";

  int error = read_text(text);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(site->count, 2);
  ck_assert_str_eq(site->properties[0].name, "a.b");
  ck_assert_str_eq(site->properties[0].value, " 1 ");
  ck_assert_uint_eq(site->properties[0].line, 4);
  ck_assert(!site->properties[0].final);
  ck_assert_str_eq(site->properties[1].name, "c");
  ck_assert_str_eq(site->properties[1].value, "<2>");
  ck_assert(site->properties[1].final);
}
END_TEST

START_TEST(test_site_xml__empty_value_is_kept_and_missing_one_skipped)
{
  const char *text = "<configuration>"
                     "<property><name>a</name><value></value></property>"
                     "<property><name>b</name></property>"
                     "<property><name>c</name><value>x<!-- y -->z<![CDATA[<]]></value></property>"
                     "</configuration>";

  int error = read_text(text);

  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(site->count, 2);
  ck_assert_str_eq(site->properties[0].value, "");
  ck_assert_str_eq(site->properties[1].value, "xz<");
}
END_TEST

START_TEST(test_site_xml__bad_xml_is_told_with_its_line)
{
  assert_refused("<configuration>\n<property>\n</configuration>\n", 3, "mismatch");
  assert_refused("<configuration>\n&nope;</configuration>\n", 2, "nope");
  assert_refused("hello", 1, "");
  assert_refused("", 1, "empty");
}
END_TEST

START_TEST(test_site_xml__other_documents_are_refused)
{
  assert_refused("<html/>", 1, "<configuration>");
  assert_refused("<configuration>\n<property><value>1</value></property></configuration>", 2,
                 "without a name");
  assert_refused("<configuration>\n<property><name>a</name><value><b/></value></property>"
                 "</configuration>",
                 2, "element");
}
END_TEST

START_TEST(test_site_xml__entities_of_the_file_are_not_replaced)
{
  const char *secret = "<!DOCTYPE c [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n"
                       "<configuration>\n"
                       "<property><name>a</name><value>&x;</value></property></configuration>";
  const char *attribute = "<!DOCTYPE c [<!ENTITY x \"y\">]>\n"
                          "<configuration>\n"
                          "<property name=\"a\" value=\"&x;\"/></configuration>";
  const char *property = "<!DOCTYPE c [<!ENTITY x \"<name>a</name>\">]>\n"
                         "<configuration>\n"
                         "<property>&x;<value>1</value></property></configuration>";

  assert_refused(secret, 3, "entities are not replaced");
  assert_refused(attribute, 3, "entities are not replaced");
  assert_refused(property, 3, "entities are not replaced");
}
END_TEST

START_TEST(test_site_xml__billion_laughs_end_at_once)
{
  char text[4096] = "<!DOCTYPE c [<!ENTITY e0 \"ha\">";
  size_t len = strlen(text);

  for (int i = 1; i < 12; i++) {
    len += (size_t)snprintf(text + len, sizeof(text) - len, "<!ENTITY e%d \"", i);
    for (int copy = 0; copy < 10; copy++) {
      len += (size_t)snprintf(text + len, sizeof(text) - len, "&e%d;", i - 1);
    }
    len += (size_t)snprintf(text + len, sizeof(text) - len, "\">");
  }
  snprintf(text + len, sizeof(text) - len,
           "]>\n<configuration><property><name>a</name><value>&e11;</value></property>"
           "</configuration>");

  int error = read_text(text);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_site_xml__include_is_refused_in_words)
{
  assert_refused("<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n"
                 "<xi:include href=\"other.xml\"/></configuration>",
                 2, "XInclude is not followed");
}
END_TEST

START_TEST(test_site_xml__dtd_is_not_fetched)
{
  const char *text = "<!DOCTYPE configuration SYSTEM \"http://127.0.0.1:1/x.dtd\">\n"
                     "<configuration/>";

  int error = read_text(text);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(site->count, 0);
}
END_TEST

START_TEST(test_site_xml__missing_file_and_folder_are_named)
{
  int missing = kr_site_xml_read(&site, mem, "/nonexistent/site.xml", &detail);
  ck_assert_int_eq(missing, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "/nonexistent/site.xml: No such file or directory");

  int folder = kr_site_xml_read(&site, mem, "/tmp", &detail);
  ck_assert_int_eq(folder, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "/tmp: Is a directory");
}
END_TEST

START_TEST(test_site_xml__endless_file_is_refused)
{
  int error = kr_site_xml_read(&site, mem, "/dev/zero", &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "/dev/zero: larger than 16 MiB");
}
END_TEST

START_TEST(test_site_xml__many_properties_are_read_with_their_lines)
{
  enum { COUNT = 100000 };
  FILE *file = fopen(path, "w");

  fputs("<configuration>\n", file);
  for (int i = 0; i < COUNT; i++) {
    fprintf(file, "<property><name>p%d</name><value>%d</value></property>\n", i, i);
  }
  fputs("</configuration>\n", file);
  fclose(file);

  int error = kr_site_xml_read(&site, mem, path, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(site->count, COUNT);
  ck_assert_str_eq(site->properties[COUNT - 1].value, "99999");
  ck_assert_uint_eq(site->properties[COUNT - 1].line, COUNT + 1);
}
END_TEST

START_TEST(test_site_xml__every_failed_allocation_is_no_memory)
{
  int error = KEYROUTE_E_NO_MEMORY;

  write_file("<configuration><property><name>a</name><value>1</value></property>"
             "<property name='b' value='2' final='true'/></configuration>");
  struct kr_mem *scarce = failing_mem_new();
  long before = mem_live();

  for (long n = 1; error == KEYROUTE_E_NO_MEMORY; n++) {
    ck_assert_int_lt(n, 100);
    mem_fail_from(n);
    error = kr_site_xml_read(&site, scarce, path, &detail);
    ck_assert(error == 0 || mem_live() == before);
  }
  kr_mem_release(scarce);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(site->count, 2);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("site_xml");
  TCase *tests = tcase_create("site_xml");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_site_xml__properties_come_in_the_order_of_the_file);
  tcase_add_test(tests, test_site_xml__empty_value_is_kept_and_missing_one_skipped);
  tcase_add_test(tests, test_site_xml__bad_xml_is_told_with_its_line);
  tcase_add_test(tests, test_site_xml__other_documents_are_refused);
  tcase_add_test(tests, test_site_xml__entities_of_the_file_are_not_replaced);
  tcase_add_test(tests, test_site_xml__billion_laughs_end_at_once);
  tcase_add_test(tests, test_site_xml__include_is_refused_in_words);
  tcase_add_test(tests, test_site_xml__dtd_is_not_fetched);
  tcase_add_test(tests, test_site_xml__missing_file_and_folder_are_named);
  tcase_add_test(tests, test_site_xml__endless_file_is_refused);
  tcase_add_test(tests, test_site_xml__many_properties_are_read_with_their_lines);
  tcase_add_test(tests, test_site_xml__every_failed_allocation_is_no_memory);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
