/*
 * A latch opened before, and while, somebody waits.
 */
#include "lib/latch.h"

#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>

struct gate {
  struct kr_latch latch;
  int written;
};

static void *write_and_open(void *arg)
{
  struct gate *gate = arg;

  gate->written = 7;
  kr_latch_open(&gate->latch);
  return NULL;
}

START_TEST(test_latch__open_one_is_not_waited_for)
{
  struct kr_latch latch;

  kr_latch_init(&latch);
  kr_latch_open(&latch);

  kr_latch_await(&latch);
}
END_TEST

START_TEST(test_latch__waiter_sees_what_was_written_before_it_opened)
{
  for (int i = 0; i < 1000; i++) {
    struct gate gate = {.written = 0};
    pthread_t thread;

    kr_latch_init(&gate.latch);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_and_open, &gate), 0);

    kr_latch_await(&gate.latch);

    ck_assert_int_eq(gate.written, 7);
    pthread_join(thread, NULL);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("latch");
  TCase *tests = tcase_create("latch");

  tcase_add_test(tests, test_latch__open_one_is_not_waited_for);
  tcase_add_test(tests, test_latch__waiter_sees_what_was_written_before_it_opened);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
