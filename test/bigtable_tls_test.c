/* The files that TLS with range nodes takes: what is read, and what is refused at open. */
#include "lib/bigtable_tls.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/bigtable_tls_testXXXXXX";
static char paths[3][64];
static struct kr_settings settings;
static struct kr_bigtable_tls tls;
static struct keyroute_detail detail;

static void write_file(int i, const char *name, const char *text, size_t len)
{
  snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, name);
  FILE *file = fopen(paths[i], "w");

  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(text, 1, len, file), len);
  ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
  ck_assert_ptr_nonnull(mkdtemp(folder));
  write_file(0, "roots", "roots\n", 6);
  write_file(1, "certificate", "certificate", 11);
  write_file(2, "key", "", 0);
  settings = (struct kr_settings){
      .mem = failing_mem_new(),
      .grpc_tls = true,
      .grpc_tls_roots = paths[0],
      .grpc_tls_certificate = paths[1],
      .grpc_tls_key = paths[2],
  };
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}

static void teardown(void)
{
  for (int i = 0; i < 3; i++) {
    unlink(paths[i]);
  }
  rmdir(folder);
  failing_mem_done(settings.mem);
}

static void expect_refused(const char *want)
{
  ck_assert_int_eq(kr_bigtable_tls_read(&tls, &settings, &detail), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, want);
}

START_TEST(test_bigtable_tls__files_are_read_as_they_are)
{
  ck_assert_int_eq(kr_bigtable_tls_read(&tls, &settings, &detail), 0);
  ck_assert_str_eq(tls.roots, "roots\n");
  ck_assert_str_eq(tls.certificate, "certificate");
  ck_assert_str_eq(tls.key, "");
  kr_bigtable_tls_clear(&tls, settings.mem);
}
END_TEST

START_TEST(test_bigtable_tls__what_is_not_named_is_not_read)
{
  settings = (struct kr_settings){.mem = settings.mem};

  ck_assert_int_eq(kr_bigtable_tls_read(&tls, &settings, &detail), 0);
  ck_assert(tls.roots == NULL && tls.certificate == NULL && tls.key == NULL);
}
END_TEST

START_TEST(test_bigtable_tls__file_that_is_not_there_is_named)
{
  char want[200];

  unlink(paths[1]);
  snprintf(want, sizeof(want),
           "property keyroute.grpc.tls.certificate is \"%s\": No such file or directory", paths[1]);
  expect_refused(want);
}
END_TEST

START_TEST(test_bigtable_tls__folder_is_no_file)
{
  char want[200];

  settings.grpc_tls_key = folder;
  snprintf(want, sizeof(want), "property keyroute.grpc.tls.key is \"%s\": Is a directory", folder);
  expect_refused(want);
}
END_TEST

START_TEST(test_bigtable_tls__file_with_a_nul_in_it_is_no_text)
{
  char want[200];

  write_file(0, "roots", "a\0b", 3);
  snprintf(want, sizeof(want), "property keyroute.grpc.tls.roots is \"%s\": it is no text",
           paths[0]);
  expect_refused(want);
}
END_TEST

START_TEST(test_bigtable_tls__file_of_more_than_one_piece_is_read)
{
  static char text[50000];

  memset(text, 'r', sizeof(text));
  write_file(0, "roots", text, sizeof(text));
  ck_assert_int_eq(kr_bigtable_tls_read(&tls, &settings, &detail), 0);
  ck_assert_uint_eq(strlen(tls.roots), sizeof(text));
  kr_bigtable_tls_clear(&tls, settings.mem);
}
END_TEST

START_TEST(test_bigtable_tls__endless_file_is_too_long)
{
  static char text[5 << 20];

  memset(text, 'r', sizeof(text));
  write_file(0, "roots", text, sizeof(text));
  ck_assert_int_eq(kr_bigtable_tls_read(&tls, &settings, &detail), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "it is too long"));
}
END_TEST

START_TEST(test_bigtable_tls__files_without_tls_are_refused)
{
  settings.grpc_tls = false;
  expect_refused("property keyroute.grpc.tls.roots is set, but keyroute.grpc.tls is not true");
  settings.grpc_tls_roots = settings.grpc_tls_certificate = settings.grpc_tls_key = NULL;
  settings.grpc_tls_server_name = (char *)"node.test";
  expect_refused("property keyroute.grpc.tls.server.name is set, but keyroute.grpc.tls is not "
                 "true");
}
END_TEST

START_TEST(test_bigtable_tls__certificate_and_key_go_together)
{
  settings.grpc_tls_key = NULL;
  expect_refused("property keyroute.grpc.tls.certificate is set, but keyroute.grpc.tls.key is not");
  settings.grpc_tls_key = paths[2];
  settings.grpc_tls_certificate = NULL;
  expect_refused("property keyroute.grpc.tls.key is set, but keyroute.grpc.tls.certificate is not");
}
END_TEST

START_TEST(test_bigtable_tls__each_failed_allocation_is_told)
{
  bool failed = true;

  for (long n = 1; failed; n++) {
    mem_fail(n);
    int error = kr_bigtable_tls_read(&tls, &settings, &detail);

    failed = mem_has_failed();
    ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
  }
  mem_fail(0);
  kr_bigtable_tls_clear(&tls, settings.mem);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("bigtable_tls");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, test_bigtable_tls__files_are_read_as_they_are);
  tcase_add_test(tcase, test_bigtable_tls__what_is_not_named_is_not_read);
  tcase_add_test(tcase, test_bigtable_tls__file_that_is_not_there_is_named);
  tcase_add_test(tcase, test_bigtable_tls__folder_is_no_file);
  tcase_add_test(tcase, test_bigtable_tls__file_with_a_nul_in_it_is_no_text);
  tcase_add_test(tcase, test_bigtable_tls__file_of_more_than_one_piece_is_read);
  tcase_add_test(tcase, test_bigtable_tls__endless_file_is_too_long);
  tcase_add_test(tcase, test_bigtable_tls__files_without_tls_are_refused);
  tcase_add_test(tcase, test_bigtable_tls__certificate_and_key_go_together);
  tcase_add_test(tcase, test_bigtable_tls__each_failed_allocation_is_told);

  return run_suite(suite);
}
