/*
 * The mask of threads that are started while signals are blocked.
 */
#include "lib/signals.h"

#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>

static void *read_mask(void *arg)
{
  pthread_sigmask(SIG_SETMASK, NULL, arg);
  return NULL;
}

START_TEST(test_signals__threads_started_meanwhile_have_all_blocked)
{
  sigset_t saved, inherited;
  pthread_t thread;

  kr_signals_block(&saved);
  ck_assert_int_eq(pthread_create(&thread, NULL, read_mask, &inherited), 0);
  kr_signals_restore(&saved);
  pthread_join(thread, NULL);

  ck_assert_int_eq(sigismember(&inherited, SIGPIPE), 1);
  ck_assert_int_eq(sigismember(&inherited, SIGTERM), 1);
}
END_TEST

START_TEST(test_signals__own_mask_comes_back)
{
  sigset_t before, after, saved;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, NULL);

  kr_signals_block(&saved);
  kr_signals_restore(&saved);

  pthread_sigmask(SIG_SETMASK, NULL, &after);
  ck_assert_int_eq(sigismember(&after, SIGUSR1), 1);
  ck_assert_int_eq(sigismember(&after, SIGUSR2), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("signals");
  TCase *tests = tcase_create("signals");

  tcase_add_test(tests, test_signals__threads_started_meanwhile_have_all_blocked);
  tcase_add_test(tests, test_signals__own_mask_comes_back);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
