/*
 * The loop thread: libuv's loop, a queue of tasks that other threads post to it, and timers.
 *
 *  1. Tasks run in the order posted, none inside kr_loop_post, none under a lock.
 *  2. A task is linked through memory its owner provides: posting cannot fail.
 *  3. The thread, and so whatever libraries start on it, has all signals blocked (signals.c).
 *  4. The loop ends when its owner says so and every socket and timer is gone; tasks posted until
 *     then are run.
 *
 * libuv's own allocations do not go through the connection's allocator: its hook is process-wide.
 */
#include "lib/loop.h"

#include "lib/signals.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <uv.h>

struct kr_loop {
  struct kr_mem *mem;
  uv_loop_t uv;
  uv_async_t wake;
  uv_thread_t thread;
  pthread_mutex_t lock;
  struct kr_task *first; /* lock */
  struct kr_task **end;  /* lock */
  bool ending;           /* lock */
  bool ended;            /* its owner's */
};

struct kr_timer {
  uv_timer_t uv;
  struct kr_mem *mem;
  kr_timer_cb fire;
  void *arg;
};

/* Run what is queued, in order. What a task posts meanwhile wakes the loop again, so that sockets
 * and timers get their turn in between. */
static void run_tasks(uv_async_t *wake)
{
  struct kr_loop *loop = wake->data;

  pthread_mutex_lock(&loop->lock);
  struct kr_task *task = loop->first;

  loop->first = NULL;
  loop->end = &loop->first;
  pthread_mutex_unlock(&loop->lock);
  while (task != NULL) {
    struct kr_task *next = task->next; /* the task may free itself */

    task->run(task);
    task = next;
  }
  pthread_mutex_lock(&loop->lock);
  bool finished = loop->ending && loop->first == NULL;

  pthread_mutex_unlock(&loop->lock);
  if (finished && !uv_is_closing((uv_handle_t *)wake)) {
    uv_close((uv_handle_t *)wake, NULL);
  }
}

static void thread_main(void *arg)
{
  struct kr_loop *loop = arg;

  uv_run(&loop->uv, UV_RUN_DEFAULT);
}

/* libuv ends the process if its first loop, with its epoll descriptor open, finds no two more for
 * the pipe that all loops share; every other one it asks for politely. So see that there are some:
 * two pipes are one descriptor more than that. (Another thread may take them in between; that is
 * left.) */
static bool descriptors_can_be_had(void)
{
  int first[2], second[2];

  if (pipe2(first, O_CLOEXEC) != 0) {
    return false;
  }
  bool had = pipe2(second, O_CLOEXEC) == 0;

  if (had) {
    close(second[0]);
    close(second[1]);
  }
  close(first[0]);
  close(first[1]);
  return had;
}

int kr_loop_new(struct kr_loop **out, struct kr_mem *mem)
{
  struct kr_loop *loop = kr_calloc(mem, sizeof(*loop));
  sigset_t saved;

  if (loop == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  loop->mem = kr_mem_ref(mem);
  loop->end = &loop->first;
  pthread_mutex_init(&loop->lock, NULL);
  if (!descriptors_can_be_had() || uv_loop_init(&loop->uv) != 0) {
    goto no_loop;
  }
  if (uv_async_init(&loop->uv, &loop->wake, run_tasks) != 0) {
    goto no_wake;
  }
  loop->wake.data = loop;
  kr_signals_block(&saved);
  int started = uv_thread_create(&loop->thread, thread_main, loop);

  kr_signals_restore(&saved);
  if (started != 0) {
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    goto no_wake;
  }
  *out = loop;
  return 0;

no_wake:
  uv_loop_close(&loop->uv);
no_loop:
  pthread_mutex_destroy(&loop->lock);
  kr_free(mem, loop);
  kr_mem_release(mem);
  return KEYROUTE_E_NO_MEMORY;
}

void kr_loop_end(struct kr_loop *loop)
{
  pthread_mutex_lock(&loop->lock);
  loop->ending = true;
  uv_async_send(&loop->wake);
  pthread_mutex_unlock(&loop->lock);
  uv_thread_join(&loop->thread);
  int closed = uv_loop_close(&loop->uv);

  assert(closed == 0);
  (void)closed;
  loop->ended = true;
}

void kr_loop_free(struct kr_loop *loop)
{
  struct kr_mem *mem = loop->mem;

  if (!loop->ended) {
    kr_loop_end(loop);
  }
  pthread_mutex_destroy(&loop->lock);
  kr_free(mem, loop);
  kr_mem_release(mem);
}

void kr_loop_post(struct kr_loop *loop, struct kr_task *task)
{
  pthread_mutex_lock(&loop->lock);
  bool was_empty = loop->first == NULL;

  task->next = NULL;
  *loop->end = task;
  loop->end = &task->next;
  /* Under the lock, so that the loop cannot have been closed in between. */
  if (was_empty) {
    uv_async_send(&loop->wake);
  }
  pthread_mutex_unlock(&loop->lock);
}

bool kr_loop_inside(const struct kr_loop *loop)
{
  /* A copy, so that it is this code that reads the loop: libuv is not built with sanitizers. */
  uv_thread_t thread = loop->thread, self = uv_thread_self();

  return uv_thread_equal(&thread, &self) != 0;
}

void *kr_loop_uv(struct kr_loop *loop)
{
  return &loop->uv;
}

static void timer_closed(uv_handle_t *handle)
{
  struct kr_timer *timer = handle->data;

  kr_free(timer->mem, timer);
}

static void timer_fired(uv_timer_t *uv)
{
  struct kr_timer *timer = uv->data;

  uv_close((uv_handle_t *)uv, timer_closed);
  timer->fire(timer->arg);
}

struct kr_timer *kr_timer_start(struct kr_loop *loop, int64_t delay_ms, kr_timer_cb fire, void *arg)
{
  struct kr_timer *timer = kr_alloc(loop->mem, sizeof(*timer));

  if (timer == NULL) {
    return NULL;
  }
  timer->mem = loop->mem;
  timer->fire = fire;
  timer->arg = arg;
  uv_timer_init(&loop->uv, &timer->uv);
  timer->uv.data = timer;
  /* The loop's own idea of now is as old as its last turn; a timer counts from the real one. */
  uv_update_time(&loop->uv);
  uv_timer_start(&timer->uv, timer_fired, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
  return timer;
}

void kr_timer_stop(struct kr_timer *timer)
{
  if (timer != NULL && !uv_is_closing((uv_handle_t *)&timer->uv)) {
    uv_close((uv_handle_t *)&timer->uv, timer_closed);
  }
}
