/*
 * Is what was deferred run once, late enough, and does who waits for it wait for just that?
 *
 * Built with the thread sanitizer, the suite also shows that rcu.c tells it neither too little (a
 * reader, and a writer that frees by deferring, make no report) nor too much (the same without
 * deferring makes one, and the sanitizer then ends the process with 66).
 */
#include "lib/rcu.h"

#include "test/child.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct thing {
  struct kr_rcu_head rcu;
  struct kr_rcu_link later;
  atomic_int freed; /* how often */
  int value;
};

static atomic_int ran;
static sigset_t mask_of_deferred;

static void count_run(struct kr_rcu_head *head)
{
  (void)head;
  atomic_fetch_add(&ran, 1);
}

static void note_mask(struct kr_rcu_head *head)
{
  pthread_sigmask(SIG_SETMASK, NULL, &mask_of_deferred);
  count_run(head);
}

static pthread_t own_thread;
static atomic_bool ran_here;

static void note_thread(struct kr_rcu_head *head)
{
  (void)head;
  atomic_store(&ran_here, pthread_equal(pthread_self(), own_thread) != 0);
}

static void free_thing(struct kr_rcu_head *head)
{
  struct thing *thing = (struct thing *)((char *)head - offsetof(struct thing, rcu));

  thing->value = -1;
  free(thing);
}

/* Relaxed on purpose: handing the word over this way orders nothing else, so that only what rcu.c
 * says makes the order that the sanitizer sees. */
static void say(atomic_int *word, int value)
{
  atomic_store_explicit(word, value, memory_order_relaxed);
}

static void await(atomic_int *word, int value)
{
  while (atomic_load_explicit(word, memory_order_relaxed) != value) {
    sched_yield();
  }
}

/* Nobody may say another one yet. */
static void check_stays(atomic_int *word, int value)
{
  for (int i = 0; i < 1000; i++) {
    sched_yield();
    ck_assert_int_eq(atomic_load(word), value);
  }
}

static atomic_int running, may_finish;

static void run_slowly(struct kr_rcu_head *head)
{
  say(&running, 1);
  await(&may_finish, 1);
  count_run(head);
}

struct reader {
  _Atomic(struct thing *) shared;
  atomic_int may_end;
  atomic_int progress; /* 1 = in its section and has read, 2 = its section has ended */
  int seen;
};

static void *read_once(void *arg)
{
  struct reader *reader = arg;

  kr_rcu_read_begin();
  reader->seen = atomic_load_explicit(&reader->shared, memory_order_acquire)->value;
  say(&reader->progress, 1);
  await(&reader->may_end, 1);
  kr_rcu_read_end();
  say(&reader->progress, 2);
  return NULL;
}

static struct thing *new_thing(int value)
{
  struct thing *thing = calloc(1, sizeof(*thing));

  ck_assert_ptr_nonnull(thing);
  thing->value = value;
  return thing;
}

START_TEST(test_rcu__reading_is_told_by_thread_and_nests)
{
  ck_assert(!kr_rcu_reading());

  kr_rcu_read_begin();
  kr_rcu_read_begin();
  kr_rcu_read_end();
  ck_assert(kr_rcu_reading());
  kr_rcu_read_end();

  ck_assert(!kr_rcu_reading());
}
END_TEST

START_TEST(test_rcu__barrier_runs_what_was_deferred_before)
{
  enum { count = 100 };
  static struct kr_rcu_head heads[count];

  for (int i = 0; i < count; i++) {
    kr_rcu_defer(&heads[i], count_run);
  }
  kr_rcu_barrier();

  ck_assert_int_eq(atomic_load(&ran), count);
}
END_TEST

START_TEST(test_rcu__barrier_returns_when_nothing_was_deferred)
{
  kr_rcu_barrier();

  ck_assert_int_eq(atomic_load(&ran), 0);
}
END_TEST

START_TEST(test_rcu__deferred_function_waits_for_the_open_section)
{
  struct reader reader = {.shared = new_thing(7)};
  struct kr_rcu_head head;
  pthread_t thread;
  pthread_create(&thread, NULL, read_once, &reader);
  await(&reader.progress, 1);

  kr_rcu_defer(&head, count_run);
  check_stays(&ran, 0);
  say(&reader.may_end, 1);
  kr_rcu_barrier();

  ck_assert_int_eq(atomic_load(&ran), 1);
  pthread_join(thread, NULL);
  free(reader.shared);
}
END_TEST

START_TEST(test_rcu__barrier_runs_things_without_liburcus_thread)
{
  struct kr_rcu_head head;
  int tries = 0;

  /* liburcu's thread may be first, but it mostly sleeps. */
  while (!atomic_load(&ran_here) && tries++ < 1000) {
    own_thread = pthread_self();
    kr_rcu_defer(&head, note_thread);
    kr_rcu_barrier();
  }

  ck_assert(atomic_load(&ran_here));
}
END_TEST

START_TEST(test_rcu__liburcus_thread_runs_with_all_signals_blocked)
{
  sigset_t before, after;
  struct kr_rcu_head head;
  pthread_sigmask(SIG_SETMASK, NULL, &before);

  kr_rcu_defer(&head, note_mask);
  await(&ran, 1);

  ck_assert(sigismember(&mask_of_deferred, SIGTERM) && sigismember(&mask_of_deferred, SIGPIPE));
  ck_assert(sigismember(&mask_of_deferred, SIGUSR1) && sigismember(&mask_of_deferred, SIGALRM));
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  ck_assert_int_eq(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}
END_TEST

static void *wait_for_all(void *arg)
{
  kr_rcu_barrier();
  say(arg, 1);
  return NULL;
}

START_TEST(test_rcu__barrier_waits_for_the_open_section)
{
  struct reader reader = {.shared = new_thing(7)};
  struct kr_rcu_head head;
  atomic_int returned = 0;
  pthread_t reading, waiting;

  pthread_create(&reading, NULL, read_once, &reader);
  await(&reader.progress, 1);
  kr_rcu_defer(&head, count_run);
  pthread_create(&waiting, NULL, wait_for_all, &returned);
  check_stays(&ran, 0);
  ck_assert_int_eq(atomic_load(&returned), 0);
  say(&reader.may_end, 1);
  pthread_join(waiting, NULL);

  ck_assert_int_eq(atomic_load(&ran), 1);
  pthread_join(reading, NULL);
  free(reader.shared);
}
END_TEST

START_TEST(test_rcu__barrier_waits_for_what_another_thread_is_freeing)
{
  struct kr_rcu_head head;
  atomic_int returned = 0;
  pthread_t thread;

  kr_rcu_defer(&head, run_slowly);
  await(&running, 1); /* on liburcu's thread */
  pthread_create(&thread, NULL, wait_for_all, &returned);
  check_stays(&returned, 0);
  say(&may_finish, 1);
  pthread_join(thread, NULL);

  ck_assert_int_eq(atomic_load(&ran), 1);
}
END_TEST

/* The reader has ended its section, but nothing that the sanitizer knows of orders its read before
 * what the writer does next. */
static int race_with_reader(bool defer)
{
  struct thing *thing = new_thing(7);
  struct reader reader = {.shared = thing, .may_end = 1};
  pthread_t thread;

  pthread_create(&thread, NULL, read_once, &reader);
  await(&reader.progress, 2);
  if (defer) {
    kr_rcu_defer(&thing->rcu, free_thing);
    kr_rcu_barrier();
  } else {
    free_thing(&thing->rcu);
  }
  pthread_join(thread, NULL);
  return reader.seen;
}

START_TEST(test_rcu__deferred_free_is_clean_to_the_sanitizer)
{
  ck_assert_int_eq(race_with_reader(true), 7);
}
END_TEST

/* ---- Queues ---- */

static void free_queued(struct kr_rcu_link *link)
{
  struct thing *thing = (struct thing *)((char *)link - offsetof(struct thing, later));

  thing->value = -1;
  atomic_fetch_add(&thing->freed, 1);
}

static struct kr_rcu_queue queue = {.free = free_queued}, other_queue = {.free = free_queued};

enum { THINGS = 3000 };

static struct thing things[THINGS];

static int count_freed(int from, int to)
{
  int freed = 0;

  for (int i = from; i < to; i++) {
    freed += atomic_load(&things[i].freed);
  }
  return freed;
}

static void enqueue(int from, int to)
{
  for (int i = from; i < to; i++) {
    kr_rcu_enqueue(i % 3 == 0 ? &other_queue : &queue, &things[i].later);
  }
}

static void check_each_freed_once(void)
{
  for (int i = 0; i < THINGS; i++) {
    ck_assert_int_eq(atomic_load(&things[i].freed), 1);
  }
}

START_TEST(test_rcu__barrier_frees_once_what_was_put_into_queues_before)
{
  for (int i = 0; i < THINGS; i += 10) {
    enqueue(i, i + 10);
    if (i % 1000 == 500) {
      kr_rcu_barrier();
      ck_assert_int_eq(count_freed(0, THINGS), i + 10);
    }
  }
  kr_rcu_barrier();

  check_each_freed_once();
}
END_TEST

START_TEST(test_rcu__queued_things_wait_for_the_sections_open_when_they_came)
{
  struct reader first = {.shared = new_thing(7)}, second = {.shared = first.shared};
  pthread_t threads[2];

  pthread_create(&threads[0], NULL, read_once, &first);
  await(&first.progress, 1);
  enqueue(0, 10); /* pass once the first has gone */
  pthread_create(&threads[1], NULL, read_once, &second);
  await(&second.progress, 1);
  enqueue(10, 20);
  ck_assert_int_eq(count_freed(0, 20), 0);
  say(&first.may_end, 1);
  await(&first.progress, 2);
  for (int i = 0; i < 1000; i++) {
    sched_yield();
    ck_assert_int_eq(count_freed(10, 20), 0);
  }
  say(&second.may_end, 1);
  kr_rcu_barrier();

  ck_assert_int_eq(count_freed(0, 20), 20);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  free(first.shared);
}
END_TEST

static void *enqueue_half(void *arg)
{
  int from = *(const int *)arg;

  for (int i = from; i < from + THINGS / 2; i++) {
    kr_rcu_read_begin();
    enqueue(i, i + 1);
    kr_rcu_read_end();
  }
  return NULL;
}

START_TEST(test_rcu__many_threads_share_a_queue)
{
  int begins[2] = {0, THINGS / 2};
  pthread_t threads[2];

  for (int i = 0; i < 2; i++) {
    pthread_create(&threads[i], NULL, enqueue_half, &begins[i]);
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
  kr_rcu_barrier();

  check_each_freed_once();
}
END_TEST

/* As connections that come and go: what each has put in is freed when it has waited. */
static void *enqueue_and_wait(void *arg)
{
  int from = *(const int *)arg;

  for (int i = from; i < from + THINGS / 2; i += 10) {
    enqueue(i, i + 10);
    kr_rcu_barrier();
    ck_assert_int_eq(count_freed(i, i + 10), 10);
  }
  return NULL;
}

START_TEST(test_rcu__each_of_many_barriers_frees_what_its_thread_put_in)
{
  int begins[2] = {0, THINGS / 2};
  pthread_t threads[2];

  for (int i = 0; i < 2; i++) {
    pthread_create(&threads[i], NULL, enqueue_and_wait, &begins[i]);
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }

  check_each_freed_once();
}
END_TEST

static void *read_and_leave(void *arg)
{
  struct reader *reader = arg;

  kr_rcu_read_begin();
  reader->seen = atomic_load_explicit(&reader->shared, memory_order_acquire)->value;
  kr_rcu_read_end();
  say(&reader->progress, 1);
  return NULL;
}

START_TEST(test_rcu__queued_free_is_clean_to_the_sanitizer)
{
  struct thing *thing = new_thing(7);
  struct reader reader = {.shared = thing};
  pthread_t thread;

  pthread_create(&thread, NULL, read_and_leave, &reader);
  await(&reader.progress, 1);
  kr_rcu_enqueue(&queue, &thing->later); /* which writes its value */
  kr_rcu_barrier();
  free(thing);
  pthread_join(thread, NULL);

  ck_assert_int_eq(reader.seen, 7);
}
END_TEST

#if !defined(__SANITIZE_THREAD__) /* which ends a child that starts threads */
static atomic_bool at_work;
static atomic_int went_round;

/* Puts all things into queues and has them freed, again and again, so that a fork finds it at one
 * or the other; the former in read sections that a fork must not wait for. Once it has
 * gone round it allocates nothing: a child does, and the address sanitizer's allocator does not
 * care for forks. */
static void *enqueue_all(void *arg)
{
  (void)arg;
  while (atomic_load(&at_work)) {
    for (int i = 0; i < THINGS; i++) {
      atomic_store(&things[i].freed, 0);
    }
    enqueue_half(&(int){0});
    enqueue_half(&(int){THINGS / 2});
    kr_rcu_barrier();
    say(&went_round, 1);
  }
  return NULL;
}

/* The child does not know how far the other thread had come, but whatever is in a queue is freed,
 * and what was being freed is not freed again. */
static void check_queues_in_child(void)
{
  static struct thing first, second;

  kr_rcu_barrier();
  for (int i = 0; i < THINGS; i++) {
    EXPECT(atomic_load(&things[i].freed) <= 1);
  }
  EXPECT(queue.waiting == NULL && other_queue.waiting == NULL);
  EXPECT(queue.passing == NULL && other_queue.passing == NULL);
  kr_rcu_enqueue(&queue, &first.later);
  await(&first.freed, 1); /* by the child's own thread */
  kr_rcu_enqueue(&queue, &second.later);
  kr_rcu_barrier();
  EXPECT(atomic_load(&second.freed) == 1);
}

static void fork_and_check(void)
{
  kr_rcu_before_fork();
  pid_t child = fork();

  if (child == 0) {
    kr_rcu_after_fork_in_child();
    check_queues_in_child();
    _exit(0);
  }
  kr_rcu_after_fork_in_parent();
  child_await(child);
}

START_TEST(test_rcu__queues_are_whole_in_a_child_forked_while_they_are_used)
{
  pthread_t thread;

  atomic_store(&at_work, true);
  pthread_create(&thread, NULL, enqueue_all, NULL);
  await(&went_round, 1);
  for (int i = 0; i < 30; i++) {
    fork_and_check();
  }
  atomic_store(&at_work, false);
  pthread_join(thread, NULL);
  kr_rcu_barrier();

  check_each_freed_once();
}
END_TEST
#endif

#if defined(__SANITIZE_THREAD__)
START_TEST(test_rcu__free_without_deferring_is_reported_by_the_sanitizer)
{
  race_with_reader(false);
  exit(0); /* the sanitizer makes it 66 */
}
END_TEST
#endif

static Suite *suite(void)
{
  Suite *made = suite_create("rcu");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_rcu__reading_is_told_by_thread_and_nests);
  tcase_add_test(tests, test_rcu__barrier_runs_what_was_deferred_before);
  tcase_add_test(tests, test_rcu__barrier_returns_when_nothing_was_deferred);
  tcase_add_test(tests, test_rcu__deferred_function_waits_for_the_open_section);
  tcase_add_test(tests, test_rcu__barrier_runs_things_without_liburcus_thread);
  tcase_add_test(tests, test_rcu__liburcus_thread_runs_with_all_signals_blocked);
  tcase_add_test(tests, test_rcu__barrier_waits_for_the_open_section);
  tcase_add_test(tests, test_rcu__barrier_waits_for_what_another_thread_is_freeing);
  tcase_add_test(tests, test_rcu__deferred_free_is_clean_to_the_sanitizer);
  tcase_add_test(tests, test_rcu__barrier_frees_once_what_was_put_into_queues_before);
  tcase_add_test(tests, test_rcu__queued_things_wait_for_the_sections_open_when_they_came);
  tcase_add_test(tests, test_rcu__many_threads_share_a_queue);
  tcase_add_test(tests, test_rcu__each_of_many_barriers_frees_what_its_thread_put_in);
  tcase_add_test(tests, test_rcu__queued_free_is_clean_to_the_sanitizer);
#if !defined(__SANITIZE_THREAD__)
  tcase_add_test(tests, test_rcu__queues_are_whole_in_a_child_forked_while_they_are_used);
#endif
#if defined(__SANITIZE_THREAD__)
  tcase_add_exit_test(tests, test_rcu__free_without_deferring_is_reported_by_the_sanitizer, 66);
#endif
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
