/* The addresses behind an ensemble's hosts. */
#include "lib/ensemble.h"

#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_connect_string *ensemble;
static struct kr_endpoints endpoints;
static struct kr_failure failure;
static bool stopped;

static void setup(void)
{
  mem = kr_mem_new(NULL);
}

static void teardown(void)
{
  kr_endpoints_clear(&endpoints);
  kr_connect_string_free(ensemble);
  kr_mem_release(mem);
}

static bool is_stopped(void *arg)
{
  (void)arg;
  return stopped;
}

static int resolve(const char *hosts)
{
  ck_assert_int_eq(kr_connect_string_parse(&ensemble, mem, hosts, 2181, NULL, 0), 0);
  return kr_ensemble_resolve(&endpoints, ensemble, &failure, is_stopped, NULL);
}

START_TEST(test_ensemble__numbers_need_no_name_server)
{
  int error = resolve("127.0.0.1:7,[::1]:8");

  ck_assert_int_eq(error, 0);
  ck_assert_int_eq(failure.code, 0);
  ck_assert_uint_eq(endpoints.count, 2);
  char *text = kr_endpoints_format(&endpoints, KR_ENDPOINT_SILENT);
  ck_assert_str_eq(text, "127.0.0.1:7,[::1]:8");
  free(text);
}
END_TEST

START_TEST(test_ensemble__a_host_that_does_not_resolve_costs_only_itself)
{
  int error = resolve("a.invalid,127.0.0.1:7,b.invalid");

  ck_assert_int_eq(error, 0);
  ck_assert_uint_eq(endpoints.count, 1);
  ck_assert_int_eq(failure.code, KEYROUTE_E_RESOLVE);
  ck_assert_ptr_nonnull(strstr(failure.message, "a.invalid ("));
  ck_assert_ptr_nonnull(strstr(failure.message, "b.invalid ("));
}
END_TEST

START_TEST(test_ensemble__no_host_that_resolves_is_an_error)
{
  int error = resolve("a.invalid:1");

  ck_assert_int_eq(error, KEYROUTE_E_RESOLVE);
  ck_assert_str_eq(failure.server, "a.invalid:1");
}
END_TEST

START_TEST(test_ensemble__stops_when_nobody_waits)
{
  stopped = true;

  int error = resolve("127.0.0.1:7");

  ck_assert_int_eq(error, KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_ensemble__formats_only_those_in_the_state_asked_for)
{
  ck_assert_int_eq(resolve("127.0.0.1:7,127.0.0.2:8,127.0.0.3:9"), 0);
  endpoints.list[1].state = KR_ENDPOINT_ANSWERS;
  endpoints.list[2].state = KR_ENDPOINT_REFUSES;

  char *text = kr_endpoints_format(&endpoints, KR_ENDPOINT_ANSWERS);

  ck_assert_str_eq(text, "127.0.0.2:8");
  free(text);
}
END_TEST

START_TEST(test_ensemble__any_finds_a_state_that_one_is_in)
{
  ck_assert_int_eq(resolve("127.0.0.1:7,127.0.0.2:8"), 0);
  endpoints.list[1].state = KR_ENDPOINT_CLOSES;

  bool closes = kr_endpoints_any(&endpoints, KR_ENDPOINT_CLOSES);
  bool answers = kr_endpoints_any(&endpoints, KR_ENDPOINT_ANSWERS);

  ck_assert(closes);
  ck_assert(!answers);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("ensemble");
  TCase *all = tcase_create("ensemble");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_ensemble__numbers_need_no_name_server);
  tcase_add_test(all, test_ensemble__a_host_that_does_not_resolve_costs_only_itself);
  tcase_add_test(all, test_ensemble__no_host_that_resolves_is_an_error);
  tcase_add_test(all, test_ensemble__stops_when_nobody_waits);
  tcase_add_test(all, test_ensemble__formats_only_those_in_the_state_asked_for);
  tcase_add_test(all, test_ensemble__any_finds_a_state_that_one_is_in);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
