/*
 * The record of a call's steps.
 */
#include "lib/trace.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static struct keyroute_step step_of(const struct keyroute_trace *trace, size_t index)
{
  struct keyroute_step step = {.size = sizeof(step)};

  ck_assert_int_eq(keyroute_trace_step(trace, index, &step), 0);
  return step;
}

START_TEST(test_trace__steps_come_back_in_order)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);

  for (int i = 0; i < 100; i++) {
    kr_trace_add(trace, i % 2 == 0 ? "scan" : "wait", i, 2 * i, i % 2 == 0 ? "h:1" : NULL,
                 "step %d", i);
  }

  ck_assert_uint_eq(keyroute_trace_count(trace), 100);
  struct keyroute_step step = step_of(trace, 98);

  ck_assert_str_eq(step.name, "scan");
  ck_assert_int_eq(step.at_us, 98);
  ck_assert_int_eq(step.took_us, 196);
  ck_assert_str_eq(step.server, "h:1");
  ck_assert_str_eq(step.detail, "step 98");
  ck_assert_str_eq(step_of(trace, 99).server, "");
  kr_trace_free(trace);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_trace__of_very_many_steps_the_first_are_kept_and_that_is_said)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);

  for (int i = 0; i < 5000; i++) {
    kr_trace_add(trace, "multi", i, 0, "h:1", "step %d", i);
  }

  ck_assert_uint_eq(keyroute_trace_count(trace), 1000);
  ck_assert_str_eq(step_of(trace, 998).detail, "step 998");
  ck_assert_str_eq(step_of(trace, 999).name, "...");
  ck_assert_str_eq(step_of(trace, 999).server, "");
  kr_trace_free(trace);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_trace__long_texts_are_cut)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);
  char text[1000];

  memset(text, 'x', sizeof(text));
  text[sizeof(text) - 1] = '\0';
  kr_trace_add(trace, "scan", 0, 0, text, "%s", text);

  ck_assert_uint_lt(strlen(step_of(trace, 0).server), 300);
  ck_assert_uint_lt(strlen(step_of(trace, 0).detail), 300);
  kr_trace_free(trace);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_trace__null_is_an_empty_trace)
{
  struct keyroute_step step = {.size = sizeof(step)};

  kr_trace_add(NULL, "scan", 0, 0, NULL, "x");
  kr_trace_free(NULL);

  ck_assert_uint_eq(keyroute_trace_count(NULL), 0);
  ck_assert_int_eq(keyroute_trace_step(NULL, 0, &step), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_trace__reading_checks_its_arguments)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);
  struct keyroute_step step = {.size = 0};

  kr_trace_add(trace, "scan", 0, 0, NULL, "x");

  ck_assert_int_eq(keyroute_trace_step(trace, 0, &step), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_trace_step(trace, 0, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  step.size = sizeof(step);
  ck_assert_int_eq(keyroute_trace_step(trace, 1, &step), KEYROUTE_E_INVALID_ARGUMENT);
  kr_trace_free(trace);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_trace__smaller_step_of_an_older_caller_is_not_written_past)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);
  struct keyroute_step step = {.size = offsetof(struct keyroute_step, took_us), .took_us = 77};

  kr_trace_add(trace, "scan", 5, 6, NULL, "x");

  ck_assert_int_eq(keyroute_trace_step(trace, 0, &step), 0);
  ck_assert_int_eq(step.at_us, 5);
  ck_assert_int_eq(step.took_us, 77);
  ck_assert_uint_eq(step.size, offsetof(struct keyroute_step, took_us));
  kr_trace_free(trace);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_trace__step_without_memory_is_left_out)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);

  mem_fail(1);
  kr_trace_add(trace, "lost", 0, 0, NULL, "x");
  mem_fail(0);
  kr_trace_add(trace, "kept", 0, 0, NULL, "x");

  ck_assert_uint_eq(keyroute_trace_count(trace), 1);
  ck_assert_str_eq(step_of(trace, 0).name, "kept");
  kr_trace_free(trace);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_trace__outlives_the_one_who_made_its_allocator)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_trace *trace = kr_trace_new(mem);

  kr_mem_release(mem);
  kr_trace_add(trace, "scan", 0, 0, NULL, "x");
  kr_trace_free(trace);

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("trace");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_trace__steps_come_back_in_order);
  tcase_add_test(tests, test_trace__of_very_many_steps_the_first_are_kept_and_that_is_said);
  tcase_add_test(tests, test_trace__long_texts_are_cut);
  tcase_add_test(tests, test_trace__null_is_an_empty_trace);
  tcase_add_test(tests, test_trace__reading_checks_its_arguments);
  tcase_add_test(tests, test_trace__smaller_step_of_an_older_caller_is_not_written_past);
  tcase_add_test(tests, test_trace__step_without_memory_is_left_out);
  tcase_add_test(tests, test_trace__outlives_the_one_who_made_its_allocator);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
