/*
 * Runs calls that may block for seconds, one after another, so that nobody else has to.
 *
 * The difficulty is the end. Name resolution and zookeeper_close cannot be interrupted, yet closing
 * a connection is bounded. So the thread can be left behind, and from that moment on it may touch
 * nothing that belongs to the connection. Hence:
 *
 *  1. A worker is malloc'ed and counted: one count for the owner, one for the thread, one for each
 *     job whose done is on its way to the loop. The last to leave frees it.
 *  2. A job that has run goes either to the loop (done) or to drop, decided under the lock against
 *     `abandoned`. Close sets that flag under the same lock and then waits until no done is on its
 *     way any more. So after close no done runs, and none is lost.
 *  3. The thread ends when it was told to, has nothing left to run, and no done is on its way: a
 *     done may still hand in the job that gives back what the first one got.
 *  4. The loop is touched only by posting to it, under the lock, while `abandoned` is false.
 *
 * Threads: submit on the loop, close on any other thread. The lock is held for a few instructions
 * and never while a job, a done or a drop runs.
 */
#include "lib/worker.h"

#include "lib/signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct kr_worker {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* anything below changed; CLOCK_MONOTONIC */
  pthread_t thread;       /* the owner's */
  struct kr_loop *loop;   /* set before the thread starts; not used once abandoned */
  struct kr_job *first;   /* all below: under the lock */
  struct kr_job **last;
  size_t done_count; /* dones on their way to the loop */
  unsigned refs;
  bool closing;
  bool abandoned;
  bool ended;
};

static void worker_release(struct kr_worker *worker)
{
  pthread_mutex_lock(&worker->lock);
  unsigned left = --worker->refs;
  pthread_mutex_unlock(&worker->lock);
  if (left > 0) {
    return;
  }
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  free(worker);
}

static void append_locked(struct kr_worker *worker, struct kr_job *job)
{
  job->next = NULL;
  *worker->last = job;
  worker->last = &job->next;
}

static struct kr_job *take_locked(struct kr_worker *worker)
{
  struct kr_job *job = worker->first;
  if (job != NULL) {
    worker->first = job->next;
    if (worker->first == NULL) {
      worker->last = &worker->first;
    }
  }
  return job;
}

/* On the loop: the second half of a job. */
static void run_done(struct kr_task *task)
{
  struct kr_job *job = (struct kr_job *)((char *)task - offsetof(struct kr_job, task));
  struct kr_worker *worker = job->worker;

  job->done(job);

  pthread_mutex_lock(&worker->lock);
  worker->done_count--;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  worker_release(worker);
}

/* What becomes of a job that has run. Entered and left without the lock. */
static void hand_back(struct kr_worker *worker, struct kr_job *job)
{
  pthread_mutex_lock(&worker->lock);
  bool abandoned = worker->abandoned;
  if (!abandoned) {
    worker->done_count++;
    worker->refs++;
    kr_loop_post(worker->loop, &job->task);
  }
  pthread_mutex_unlock(&worker->lock);
  if (abandoned) {
    job->drop(job);
  }
}

/* The next job, or NULL when the thread has nothing to wait for any more. */
static struct kr_job *next_job(struct kr_worker *worker)
{
  pthread_mutex_lock(&worker->lock);
  while (worker->first == NULL && !(worker->closing && worker->done_count == 0)) {
    pthread_cond_wait(&worker->changed, &worker->lock);
  }
  struct kr_job *job = take_locked(worker);
  if (job == NULL) {
    worker->ended = true;
    pthread_cond_broadcast(&worker->changed);
  }
  pthread_mutex_unlock(&worker->lock);
  return job;
}

static void *work(void *arg)
{
  struct kr_worker *worker = arg;
  struct kr_job *job;

  while ((job = next_job(worker)) != NULL) {
    job->run(job);
    hand_back(worker, job);
  }
  worker_release(worker);
  return NULL;
}

static int init_locks(struct kr_worker *worker)
{
  pthread_condattr_t attr;
  int error = pthread_condattr_init(&attr);
  if (error != 0) {
    return error;
  }
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  error = pthread_cond_init(&worker->changed, &attr);
  pthread_condattr_destroy(&attr);
  if (error != 0) {
    return error;
  }
  error = pthread_mutex_init(&worker->lock, NULL);
  if (error != 0) {
    pthread_cond_destroy(&worker->changed);
  }
  return error;
}

int kr_worker_new(struct kr_worker **out, struct kr_loop *loop)
{
  struct kr_worker *worker = calloc(1, sizeof(*worker));
  if (worker == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  if (init_locks(worker) != 0) {
    free(worker);
    return KEYROUTE_E_NO_MEMORY;
  }
  worker->loop = loop;
  worker->last = &worker->first;
  worker->refs = 2;

  sigset_t saved;
  kr_signals_block(&saved);
  int error = pthread_create(&worker->thread, NULL, work, worker);
  kr_signals_restore(&saved);
  if (error != 0) {
    worker->refs = 1;
    worker_release(worker);
    return KEYROUTE_E_NO_MEMORY;
  }
  *out = worker;
  return 0;
}

void kr_worker_submit(struct kr_worker *worker, struct kr_job *job)
{
  job->worker = worker;
  job->task.run = run_done;

  pthread_mutex_lock(&worker->lock);
  bool late = worker->closing && !job->always;
  if (!late) {
    append_locked(worker, job);
    pthread_cond_broadcast(&worker->changed);
  }
  pthread_mutex_unlock(&worker->lock);
  if (late) {
    job->drop(job);
  }
}

/* Take out the jobs that need not run; the others stay in their order. */
static struct kr_job *begin_close(struct kr_worker *worker)
{
  struct kr_job *dropped = NULL;

  pthread_mutex_lock(&worker->lock);
  worker->closing = true;
  struct kr_job *job = worker->first;
  worker->first = NULL;
  worker->last = &worker->first;
  while (job != NULL) {
    struct kr_job *next = job->next;
    if (job->always) {
      append_locked(worker, job);
    } else {
      job->next = dropped;
      dropped = job;
    }
    job = next;
  }
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  return dropped;
}

/* Wait for the thread's end; past the bound, abandon it. Returns whether it ended. */
static bool await_end(struct kr_worker *worker, int64_t bound_ms)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t ns = until.tv_nsec + bound_ms % 1000 * 1000000;
  until.tv_sec += (time_t)(bound_ms / 1000 + ns / 1000000000);
  until.tv_nsec = (long)(ns % 1000000000);

  pthread_mutex_lock(&worker->lock);
  int error = 0;
  while (!worker->ended && error != ETIMEDOUT) {
    error = pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
  }
  worker->abandoned = !worker->ended;
  /* What was posted before cannot be called back; the loop is running, so it is soon over. */
  while (worker->done_count > 0) {
    pthread_cond_wait(&worker->changed, &worker->lock);
  }
  bool ended = worker->ended;
  if (ended) {
    worker->abandoned = false;
  }
  pthread_mutex_unlock(&worker->lock);
  return ended;
}

bool kr_worker_close(struct kr_worker *worker, int64_t bound_ms)
{
  struct kr_job *dropped = begin_close(worker);
  while (dropped != NULL) {
    struct kr_job *next = dropped->next;
    dropped->drop(dropped);
    dropped = next;
  }

  bool ended = await_end(worker, bound_ms);
  if (ended) {
    pthread_join(worker->thread, NULL);
  } else {
    pthread_detach(worker->thread);
  }
  worker_release(worker);
  return ended;
}
