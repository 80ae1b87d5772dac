/*
 * The queue of callbacks that wait for the application's own thread, by itself.
 */
#include "lib/dispatcher.h"

#include "test/blocking.h"
#include "test/dispatcher_harness.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdatomic.h>

struct item {
  struct kr_answer answer;
  struct kr_dispatcher *dispatcher;
  int number;
  void (*then)(struct item *item);
};

static int seen[16];
static int seen_count;
static atomic_int gate;

static void run_item(struct kr_answer *answer)
{
  struct item *item = (struct item *)(void *)answer; /* its first field */

  seen[seen_count++] = item->number;
  if (item->then != NULL) {
    item->then(item);
  }
}

static void add(struct kr_dispatcher *dispatcher, struct item *item, int number)
{
  item->answer.run = run_item;
  item->dispatcher = dispatcher;
  item->number = number;
  kr_dispatcher_add(dispatcher, &item->answer);
}

static void expect_seen(int count)
{
  ck_assert_int_eq(seen_count, count);
  for (int i = 0; i < count; i++) {
    ck_assert_int_eq(seen[i], i + 1);
  }
}

static struct kr_mem *mem;
static struct kr_dispatcher *dispatcher;

static void open_dispatcher(keyroute_post_cb post)
{
  mem = failing_mem_new();
  ck_assert_int_eq(kr_dispatcher_new(&dispatcher, mem, post, NULL), 0);
}

START_TEST(test_dispatcher__what_waits_runs_once_and_in_order)
{
  struct item items[3] = {0};

  open_dispatcher(NULL);
  for (int i = 0; i < 3; i++) {
    add(dispatcher, &items[i], i + 1);
  }

  ck_assert_int_eq(kr_dispatcher_drain(dispatcher), 3);
  ck_assert_int_eq(kr_dispatcher_drain(dispatcher), 0);

  expect_seen(3);
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_dispatcher__descriptor_is_readable_just_while_some_wait)
{
  struct item items[2] = {0};

  open_dispatcher(NULL);
  int fd = kr_dispatcher_fd(dispatcher);
  ck_assert(!is_readable(fd, 0));
  for (int i = 0; i < 2; i++) {
    add(dispatcher, &items[i], i + 1);
    ck_assert(is_readable(fd, 0));
  }

  kr_dispatcher_drain(dispatcher);

  ck_assert(!is_readable(fd, 0));
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

static struct item later;

static void add_later(struct item *item)
{
  add(item->dispatcher, &later, item->number + 1);
}

START_TEST(test_dispatcher__what_comes_meanwhile_waits_for_the_next_time)
{
  struct item item = {.then = add_later};

  open_dispatcher(NULL);
  add(dispatcher, &item, 1);

  ck_assert_int_eq(kr_dispatcher_drain(dispatcher), 1);
  ck_assert(is_readable(kr_dispatcher_fd(dispatcher), 0));
  ck_assert_int_eq(kr_dispatcher_drain(dispatcher), 1);

  expect_seen(2);
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

static void drain_inside(struct item *item)
{
  ck_assert(kr_dispatcher_inside(item->dispatcher));
  ck_assert_int_eq(kr_dispatcher_drain(item->dispatcher), 0);
}

START_TEST(test_dispatcher__answers_do_not_nest)
{
  struct item items[2] = {{.then = drain_inside}, {.then = drain_inside}};

  open_dispatcher(NULL);
  add(dispatcher, &items[0], 1);
  add(dispatcher, &items[1], 2);
  ck_assert(!kr_dispatcher_inside(dispatcher));

  ck_assert_int_eq(kr_dispatcher_drain(dispatcher), 2);

  ck_assert(!kr_dispatcher_inside(dispatcher));
  expect_seen(2);
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_dispatcher__one_piece_of_work_is_posted_for_all_that_wait)
{
  struct item items[3] = {0};

  open_dispatcher(keep_post);
  add(dispatcher, &items[0], 1);
  add(dispatcher, &items[1], 2);
  ck_assert_uint_eq(post_count, 1);
  ck_assert_int_eq(seen_count, 0);

  ck_assert(run_post());
  add(dispatcher, &items[2], 3);
  ck_assert_uint_eq(post_count, 2);
  ck_assert(run_post());

  expect_seen(3);
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

static void post_inside(struct item *item)
{
  add(item->dispatcher, &later, item->number + 1);
  ck_assert(run_post());
  ck_assert_int_eq(seen_count, item->number); /* it has not run yet */
}

START_TEST(test_dispatcher__work_inside_an_answer_is_done_after_it)
{
  struct item item = {.then = post_inside};

  open_dispatcher(keep_post);
  add(dispatcher, &item, 1);

  ck_assert(run_post());

  expect_seen(2);
  ck_assert(!run_post());
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_dispatcher__close_runs_what_waits_and_work_that_comes_later_is_harmless)
{
  struct item items[2] = {0};

  open_dispatcher(keep_post);
  add(dispatcher, &items[0], 1);
  kr_dispatcher_shut(dispatcher);
  add(dispatcher, &items[1], 2);
  ck_assert_uint_eq(post_count, 1);
  kr_dispatcher_close(dispatcher);
  expect_seen(2);

  ck_assert(run_post());

  expect_seen(2);
  failing_mem_done(mem);
}
END_TEST

static void wait_for_gate(struct item *item)
{
  (void)item;
  atomic_store(&gate, 1);
  while (atomic_load(&gate) != 2) {
    pause_ms(1);
  }
}

static void *run_one_post(void *arg)
{
  (void)arg;
  run_post();
  return NULL;
}

static void await_gate(int value)
{
  while (atomic_load(&gate) != value) {
    pause_ms(1);
  }
}

START_TEST(test_dispatcher__work_on_two_threads_runs_one_answer_at_a_time)
{
  struct item items[2] = {{.then = wait_for_gate}};
  pthread_t thread;

  open_dispatcher(keep_post);
  add(dispatcher, &items[0], 1);
  ck_assert_int_eq(pthread_create(&thread, NULL, run_one_post, NULL), 0);
  await_gate(1);
  add(dispatcher, &items[1], 2);
  ck_assert(run_post());
  ck_assert_int_eq(seen_count, 1);
  ck_assert(!kr_dispatcher_inside(dispatcher));
  atomic_store(&gate, 2);
  pthread_join(thread, NULL);

  expect_seen(2);
  kr_dispatcher_close(dispatcher);
  failing_mem_done(mem);
}
END_TEST

static void *open_gate_later(void *arg)
{
  (void)arg;
  pause_ms(20);
  atomic_store(&gate, 2);
  return NULL;
}

START_TEST(test_dispatcher__close_waits_for_the_answer_under_way)
{
  struct item items[2] = {{.then = wait_for_gate}};
  pthread_t runner, opener;

  open_dispatcher(keep_post);
  add(dispatcher, &items[0], 1);
  ck_assert_int_eq(pthread_create(&runner, NULL, run_one_post, NULL), 0);
  await_gate(1);
  add(dispatcher, &items[1], 2);
  ck_assert_int_eq(pthread_create(&opener, NULL, open_gate_later, NULL), 0);

  kr_dispatcher_close(dispatcher);

  ck_assert_int_eq(atomic_load(&gate), 2);
  expect_seen(2);
  pthread_join(runner, NULL);
  pthread_join(opener, NULL);
  ck_assert(run_post());
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_dispatcher__no_memory_leaves_nothing_behind)
{
  mem = failing_mem_new();
  mem_fail(1);

  ck_assert_int_eq(kr_dispatcher_new(&dispatcher, mem, NULL, NULL), KEYROUTE_E_NO_MEMORY);

  mem_fail(0);
  failing_mem_done(mem);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("dispatcher");
  TCase *all = tcase_create("all");

  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_dispatcher__what_waits_runs_once_and_in_order);
  tcase_add_test(all, test_dispatcher__descriptor_is_readable_just_while_some_wait);
  tcase_add_test(all, test_dispatcher__what_comes_meanwhile_waits_for_the_next_time);
  tcase_add_test(all, test_dispatcher__answers_do_not_nest);
  tcase_add_test(all, test_dispatcher__one_piece_of_work_is_posted_for_all_that_wait);
  tcase_add_test(all, test_dispatcher__work_inside_an_answer_is_done_after_it);
  tcase_add_test(all, test_dispatcher__close_runs_what_waits_and_work_that_comes_later_is_harmless);
  tcase_add_test(all, test_dispatcher__work_on_two_threads_runs_one_answer_at_a_time);
  tcase_add_test(all, test_dispatcher__close_waits_for_the_answer_under_way);
  tcase_add_test(all, test_dispatcher__no_memory_leaves_nothing_behind);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
