/* The registry that answers what it was told. */
#include "lib/registry_static.h"

#include "test/registry_harness.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>

static struct kr_mem *mem;
static struct kr_loop *loop;
static struct kr_registry *registry;

static void setup(void)
{
  mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  ck_assert_int_eq(kr_registry_static_new(&registry, mem, loop, "h1:16000:7"), 0);
}

static void teardown(void)
{
  harness_close(loop, registry, 100);
  kr_loop_free(loop);
  registry->ops->free(registry);
  kr_mem_release(mem);
}

static void set_root(void *arg)
{
  ck_assert_int_eq(kr_registry_static_set(registry, arg), 0);
}

START_TEST(test_registry_static__answers_the_text_later_and_on_the_loop)
{
  struct answer answer = harness_read(loop, registry, 1000);

  ck_assert_int_eq(answer.failure.code, 0);
  ck_assert_uint_eq(answer.count, 1);
  ck_assert_int_eq(answer.replicas[0], 0);
  ck_assert_str_eq(answer.data[0], "h1:16000:7");
  ck_assert(answer.on_loop);
  ck_assert(!answer.inside_call);
}
END_TEST

START_TEST(test_registry_static__a_root_set_later_is_answered)
{
  char root[] = "h2:1";
  harness_on_loop(loop, set_root, root);

  struct answer answer = harness_read(loop, registry, 1000);

  ck_assert_str_eq(answer.data[0], "h2:1");
}
END_TEST

START_TEST(test_registry_static__no_root_is_bootstrap)
{
  harness_on_loop(loop, set_root, NULL);

  struct answer answer = harness_read(loop, registry, 1000);

  ck_assert_int_eq(answer.failure.code, KEYROUTE_E_BOOTSTRAP);
  ck_assert_uint_eq(answer.count, 0);
}
END_TEST

static int called;

static void note_call(void *arg, const struct kr_root *root)
{
  (void)arg;
  (void)root;
  called++;
}

static void start_two_and_cancel_one(void *arg)
{
  (void)arg;
  struct kr_root_read *first = registry->ops->read_root(registry, 1, note_call, NULL);
  struct kr_root_read *second = registry->ops->read_root(registry, 1, note_call, NULL);

  ck_assert_ptr_nonnull(second);
  registry->ops->cancel(registry, first);
}

static void start_and_shut_down(void *arg)
{
  (void)arg;
  ck_assert_ptr_nonnull(registry->ops->read_root(registry, 1, note_call, NULL));
  registry->ops->shutdown(registry);
}

static void nothing(void *arg)
{
  (void)arg;
}

START_TEST(test_registry_static__a_cancelled_read_is_silent_and_disturbs_no_other)
{
  harness_on_loop(loop, start_two_and_cancel_one, NULL);

  harness_on_loop(loop, nothing, NULL);

  ck_assert_int_eq(called, 1);
}
END_TEST

START_TEST(test_registry_static__shutdown_silences_reads_under_way)
{
  harness_on_loop(loop, start_and_shut_down, NULL);

  harness_on_loop(loop, nothing, NULL);

  ck_assert_int_eq(called, 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("registry_static");
  TCase *all = tcase_create("registry_static");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, test_registry_static__answers_the_text_later_and_on_the_loop);
  tcase_add_test(all, test_registry_static__a_root_set_later_is_answered);
  tcase_add_test(all, test_registry_static__no_root_is_bootstrap);
  tcase_add_test(all, test_registry_static__a_cancelled_read_is_silent_and_disturbs_no_other);
  tcase_add_test(all, test_registry_static__shutdown_silences_reads_under_way);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
