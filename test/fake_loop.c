/*
 * A loop and a clock driven by hand, so that no test sleeps and every order of events can be had.
 *
 *  1. Timers fire in the order of their times, those of one time in the order they were started.
 *  2. While a timer fires the clock shows the timer's own time.
 *  3. Memory comes from the loop's allocator as in lib/loop.c, so that tests that fail allocations
 *     meet it here too.
 */
#include "test/fake_loop.h"

#include <utlist.h>

struct kr_loop {
  struct kr_mem *mem;
};

struct kr_timer {
  struct kr_mem *mem;
  struct kr_timer *prev, *next;
  int64_t due_us;
  kr_timer_cb fire;
  void *arg;
};

static int64_t now_us = 1000000000;
static bool loop_inside = true;
static struct kr_task *first_task;
static struct kr_timer *timers; /* by time */

int64_t kr_clock_us(void)
{
  return now_us;
}

int kr_loop_new(struct kr_loop **out, struct kr_mem *mem)
{
  struct kr_loop *loop = kr_calloc(mem, sizeof(*loop));

  if (loop == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  loop->mem = mem;
  *out = loop;
  return 0;
}

void kr_loop_end(struct kr_loop *loop)
{
  (void)loop;
  fake_loop_run();
}

void kr_loop_free(struct kr_loop *loop)
{
  kr_loop_end(loop);
  kr_free(loop->mem, loop);
}

void kr_loop_post(struct kr_loop *loop, struct kr_task *task)
{
  (void)loop;
  LL_APPEND(first_task, task);
}

bool kr_loop_inside(const struct kr_loop *loop)
{
  (void)loop;
  return loop_inside;
}

void fake_loop_set_inside(bool inside)
{
  loop_inside = inside;
}

void fake_loop_run(void)
{
  while (first_task != NULL) {
    struct kr_task *task = first_task;

    LL_DELETE(first_task, task);
    task->run(task);
  }
}

size_t fake_task_count(void)
{
  struct kr_task *task;
  size_t count;

  LL_COUNT(first_task, task, count);
  return count;
}

static int later(const struct kr_timer *a, const struct kr_timer *b)
{
  return (a->due_us > b->due_us) - (a->due_us < b->due_us);
}

struct kr_timer *kr_timer_start(struct kr_loop *loop, int64_t delay_ms, kr_timer_cb fire, void *arg)
{
  struct kr_timer *timer = kr_calloc(loop->mem, sizeof(*timer));
  struct kr_timer *at;

  if (timer == NULL) {
    return NULL;
  }
  timer->mem = loop->mem;
  timer->due_us = now_us + (delay_ms > 0 ? delay_ms : 0) * 1000;
  timer->fire = fire;
  timer->arg = arg;
  /* From the end: most timers are later than those that run already. */
  at = timers != NULL ? timers->prev : NULL;
  while (at != NULL && at != timers && later(at, timer) > 0) {
    at = at->prev;
  }
  if (at == NULL) {
    DL_APPEND(timers, timer);
  } else if (later(at, timer) > 0) {
    DL_PREPEND(timers, timer);
  } else {
    DL_APPEND_ELEM(timers, at, timer);
  }
  return timer;
}

void kr_timer_stop(struct kr_timer *timer)
{
  if (timer != NULL) {
    DL_DELETE(timers, timer);
    kr_free(timer->mem, timer);
  }
}

void fake_clock_pass_ms(int64_t ms)
{
  int64_t end_us = now_us + ms * 1000;

  fake_loop_run();
  while (timers != NULL && timers->due_us <= end_us) {
    struct kr_timer *timer = timers;
    kr_timer_cb fire = timer->fire;
    void *arg = timer->arg;

    now_us = timer->due_us > now_us ? timer->due_us : now_us;
    kr_timer_stop(timer);
    fire(arg);
    fake_loop_run();
  }
  now_us = end_us;
}

int64_t fake_timer_next_ms(void)
{
  if (timers == NULL) {
    return -1;
  }
  return timers->due_us > now_us ? (timers->due_us - now_us + 999) / 1000 : 0;
}

size_t fake_timer_count(void)
{
  struct kr_timer *timer;
  size_t count;

  DL_COUNT(timers, timer, count);
  return count;
}

void *kr_loop_uv(struct kr_loop *loop)
{
  (void)loop;
  return NULL;
}
