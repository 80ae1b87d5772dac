/* The worker: order, the end, and what is left behind. */
#include "lib/worker.h"

#include "lib/clock.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct kr_mem *mem;
static struct kr_loop *loop;
static struct kr_worker *worker;

/* What the jobs of one test leave in it; it outlives the worker. */
static struct {
  pthread_mutex_t lock;
  char order[64];
  int ran, done, dropped;
  bool done_on_loop, run_on_loop, signals_open;
} seen;
static sem_t gate;    /* a stuck job waits here */
static sem_t entered; /* posted by a stuck job when it has begun */
static sem_t event;   /* posted at each done and each drop */

struct note {
  struct kr_job job;
  char letter;
  bool stuck;
  struct kr_job *follow; /* handed in by done */
};

static void run_note(struct kr_job *job)
{
  struct note *note = (struct note *)job;

  if (note->stuck) {
    sem_post(&entered);
    while (sem_wait(&gate) != 0) {
    }
  }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  pthread_mutex_lock(&seen.lock);
  seen.order[seen.ran++] = note->letter;
  seen.run_on_loop = kr_loop_inside(loop);
  seen.signals_open = !sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGPIPE);
  pthread_mutex_unlock(&seen.lock);
}

static void done_note(struct kr_job *job)
{
  struct note *note = (struct note *)job;

  pthread_mutex_lock(&seen.lock);
  seen.done++;
  seen.done_on_loop = kr_loop_inside(loop);
  pthread_mutex_unlock(&seen.lock);
  if (note->follow) {
    kr_worker_submit(job->worker, note->follow);
  }
  free(note);
  sem_post(&event);
}

static void drop_note(struct kr_job *job)
{
  pthread_mutex_lock(&seen.lock);
  seen.dropped++;
  pthread_mutex_unlock(&seen.lock);
  free(job);
  sem_post(&event);
}

static struct note *note_new(char letter)
{
  struct note *note = calloc(1, sizeof(*note));

  ck_assert_ptr_nonnull(note);
  note->job.run = run_note;
  note->job.done = done_note;
  note->job.drop = drop_note;
  note->letter = letter;
  return note;
}

/* Submitting happens on the loop: a task that carries the job there. */
struct carrier {
  struct kr_task task;
  struct kr_job *job;
};

static void submit_on_loop(struct kr_task *task)
{
  struct carrier *carrier = (struct carrier *)task;

  kr_worker_submit(worker, carrier->job);
  free(carrier);
}

static void submit(struct note *note)
{
  struct carrier *carrier = calloc(1, sizeof(*carrier));

  ck_assert_ptr_nonnull(carrier);
  carrier->task.run = submit_on_loop;
  carrier->job = &note->job;
  kr_loop_post(loop, &carrier->task);
}

static void pass_fence(struct kr_task *task)
{
  (void)task;
  sem_post(&event);
}

/* Everything posted to the loop so far has run. */
static void fence(void)
{
  struct kr_task task = {NULL, pass_fence};

  kr_loop_post(loop, &task);
  sem_wait(&event);
}

static void await(sem_t *sem, int count)
{
  for (int i = 0; i < count; i++) {
    sem_wait(sem);
  }
}

static void setup(void)
{
  memset(&seen, 0, sizeof(seen));
  pthread_mutex_init(&seen.lock, NULL);
  sem_init(&gate, 0, 0);
  sem_init(&entered, 0, 0);
  sem_init(&event, 0, 0);
  mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  ck_assert_int_eq(kr_worker_new(&worker, loop), 0);
}

static void teardown(void)
{
  kr_loop_free(loop);
  kr_mem_release(mem);
}

START_TEST(test_worker__runs_jobs_in_the_order_submitted)
{
  for (char letter = 'a'; letter <= 'z'; letter++) {
    submit(note_new(letter));
  }

  await(&event, 26);
  bool joined = kr_worker_close(worker, 1000);

  ck_assert(joined);
  ck_assert_str_eq(seen.order, "abcdefghijklmnopqrstuvwxyz");
  ck_assert_int_eq(seen.done, 26);
}
END_TEST

START_TEST(test_worker__runs_off_the_loop_with_signals_blocked_and_ends_on_the_loop)
{
  submit(note_new('a'));

  await(&event, 1);
  kr_worker_close(worker, 1000);

  ck_assert(!seen.run_on_loop);
  ck_assert(!seen.signals_open);
  ck_assert(seen.done_on_loop);
}
END_TEST

START_TEST(test_worker__close_without_jobs_joins_at_once)
{
  int64_t start = kr_clock_us();

  bool joined = kr_worker_close(worker, 120000);

  ck_assert(joined);
  ck_assert_int_lt(kr_clock_us() - start, 60000000);
}
END_TEST

START_TEST(test_worker__close_drops_what_waits_and_finishes_what_runs)
{
  struct note *stuck = note_new('a');
  stuck->stuck = true;
  submit(stuck);
  submit(note_new('b'));
  await(&entered, 1);
  fence();
  sem_post(&gate);

  bool joined = kr_worker_close(worker, 5000);

  ck_assert(joined);
  ck_assert_int_eq(seen.done + seen.dropped, 2);
  ck_assert_int_eq(seen.order[0], 'a');
}
END_TEST

START_TEST(test_worker__close_runs_waiting_jobs_marked_always)
{
  struct note *stuck = note_new('a');
  struct note *always = note_new('c');
  stuck->stuck = true;
  always->job.always = true;
  submit(stuck);
  submit(note_new('b'));
  submit(always);
  await(&entered, 1);
  fence();

  bool joined = kr_worker_close(worker, 50);
  sem_post(&gate);
  await(&event, 3);

  ck_assert(!joined);
  ck_assert_str_eq(seen.order, "ac");
  ck_assert_int_eq(seen.dropped, 3);
}
END_TEST

START_TEST(test_worker__a_done_may_hand_in_the_job_that_cleans_up_after_it)
{
  struct note *first = note_new('a');
  struct note *second = note_new('b');
  first->stuck = true;
  second->job.always = true;
  first->follow = &second->job;
  submit(first);
  await(&entered, 1);
  sem_post(&gate);

  bool joined = kr_worker_close(worker, 5000);

  ck_assert(joined);
  ck_assert_str_eq(seen.order, "ab");
  ck_assert_int_eq(seen.done, 2);
}
END_TEST

START_TEST(test_worker__close_leaves_a_stuck_job_behind_within_the_bound)
{
  struct note *stuck = note_new('a');
  stuck->stuck = true;
  submit(stuck);
  await(&entered, 1);
  int64_t start = kr_clock_us();

  bool joined = kr_worker_close(worker, 100);
  int64_t took_us = kr_clock_us() - start;
  sem_post(&gate);
  await(&event, 1);

  ck_assert(!joined);
  ck_assert_int_ge(took_us, 100000);
  ck_assert_int_lt(took_us, 60000000);
  ck_assert_int_eq(seen.done, 0);
  ck_assert_int_eq(seen.dropped, 1);
}
END_TEST

/* A job that ends at about the moment the bound passes: either way exactly once, and no done
 * after close returned. */
START_TEST(test_worker__a_job_that_ends_as_close_gives_up_is_handed_back_once)
{
  for (int round = 0; round < 200; round++) {
    if (round > 0) {
      ck_assert_int_eq(kr_worker_new(&worker, loop), 0);
    }
    int before = seen.done + seen.dropped;
    struct note *stuck = note_new('a');
    stuck->stuck = true;
    seen.ran = 0;
    submit(stuck);
    await(&entered, 1);
    sem_post(&gate);

    kr_worker_close(worker, round % 2);
    pthread_mutex_lock(&seen.lock);
    int done = seen.done;
    pthread_mutex_unlock(&seen.lock);
    await(&event, 1);

    pthread_mutex_lock(&seen.lock);
    ck_assert_int_eq(seen.done, done);
    ck_assert_int_eq(seen.done + seen.dropped, before + 1);
    pthread_mutex_unlock(&seen.lock);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("worker");
  TCase *all = tcase_create("worker");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_worker__runs_jobs_in_the_order_submitted);
  tcase_add_test(all, test_worker__runs_off_the_loop_with_signals_blocked_and_ends_on_the_loop);
  tcase_add_test(all, test_worker__close_without_jobs_joins_at_once);
  tcase_add_test(all, test_worker__close_drops_what_waits_and_finishes_what_runs);
  tcase_add_test(all, test_worker__close_runs_waiting_jobs_marked_always);
  tcase_add_test(all, test_worker__a_done_may_hand_in_the_job_that_cleans_up_after_it);
  tcase_add_test(all, test_worker__close_leaves_a_stuck_job_behind_within_the_bound);
  tcase_add_test(all, test_worker__a_job_that_ends_as_close_gives_up_is_handed_back_once);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
