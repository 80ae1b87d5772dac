/*
 * A connection in one thread.
 *
 *  1. Whoever waits for a latch runs the loop meanwhile, the clock going from timer to timer, until
 *     it opens. A latch that nothing is left to open is a call that hangs.
 *  2. What is deferred until readers have gone runs at the first moment at which it may: at once
 *     where nobody reads, else at the end of the section. Whoever looks at it later looks at freed
 *     memory.
 *  3. Nothing here resolves names, so a worker has no work.
 */
#include "test/fake_loop.h"

#include "lib/latch.h"
#include "lib/rcu.h"
#include "lib/worker.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/one_thread.h"

#include <stdlib.h>

/* By the clock that stands still. */
enum { PATIENCE_MS = 100000 };

/* ---- Latches -------------------------------------------------------------------------------- */

void one_thread_pass_ms(int64_t ms)
{
  fake_loop_set_inside(true);
  fake_clock_pass_ms(ms);
  fake_loop_set_inside(false);
}

static struct kr_latch *awaited;

static bool is_open(struct kr_latch *latch)
{
  int value = 0;

  sem_getvalue(&latch->opened, &value);
  return value > 0;
}

static bool awaited_is_open(void)
{
  return is_open(awaited);
}

void kr_latch_init(struct kr_latch *latch)
{
  sem_init(&latch->opened, 0, 0);
}

void kr_latch_open(struct kr_latch *latch)
{
  FUZZ_CHECK(!is_open(latch));
  sem_post(&latch->opened);
}

void one_thread_run_until(bool (*is_so)(void))
{
  int64_t waited_ms = 0;

  one_thread_pass_ms(0);
  while (!is_so()) {
    int64_t next_ms = fake_timer_next_ms();

    FUZZ_CHECK(next_ms >= 0);
    waited_ms += next_ms;
    FUZZ_CHECK(waited_ms < PATIENCE_MS);
    one_thread_pass_ms(next_ms);
  }
}

void kr_latch_await(struct kr_latch *latch)
{
  awaited = latch;
  one_thread_run_until(awaited_is_open);
}

/* ---- Readers -------------------------------------------------------------------------------- */

static unsigned readers;
static struct kr_rcu_queue *queues;

static void run_queue(struct kr_rcu_queue *queue)
{
  while (queue->waiting != NULL) {
    struct kr_rcu_link *link = queue->waiting;

    queue->waiting = link->next;
    queue->free(link);
  }
}

static void run_deferred(void)
{
  for (struct kr_rcu_queue *queue = queues; queue != NULL; queue = queue->others) {
    run_queue(queue);
  }
}

void kr_rcu_read_begin(void)
{
  readers++;
}

void kr_rcu_read_end(void)
{
  FUZZ_CHECK(readers > 0);
  if (--readers == 0) {
    run_deferred();
  }
}

bool kr_rcu_reading(void)
{
  return readers > 0;
}

void kr_rcu_enqueue(struct kr_rcu_queue *queue, struct kr_rcu_link *link)
{
  if (readers == 0) {
    queue->free(link);
    return;
  }
  if (!queue->known) {
    queue->known = true;
    queue->others = queues;
    queues = queue;
  }
  link->next = queue->waiting;
  queue->waiting = link;
}

static void run_head(struct kr_rcu_link *link)
{
  struct kr_rcu_head *head = (struct kr_rcu_head *)(void *)link; /* its first field */

  head->fn(head);
}

void kr_rcu_defer(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head))
{
  static struct kr_rcu_queue heads = {.free = run_head};

  head->fn = fn;
  kr_rcu_enqueue(&heads, &head->link);
}

void kr_rcu_barrier(void)
{
  FUZZ_CHECK(readers == 0);
}

bool kr_rcu_usable(void)
{
  return true;
}

/* Nobody forks here. */
void kr_rcu_before_fork(void)
{
}

void kr_rcu_after_fork_in_parent(void)
{
}

void kr_rcu_after_fork_in_child(void)
{
}

/* ---- Workers -------------------------------------------------------------------------------- */

struct kr_worker {
  struct kr_loop *loop;
};

int kr_worker_new(struct kr_worker **out, struct kr_loop *loop)
{
  struct kr_worker *worker = malloc(sizeof(*worker));

  FUZZ_CHECK(worker != NULL);
  worker->loop = loop;
  *out = worker;
  return 0;
}

void kr_worker_submit(struct kr_worker *worker, struct kr_job *job)
{
  (void)worker;
  FUZZ_CHECK(job == NULL);
}

bool kr_worker_close(struct kr_worker *worker, int64_t bound_ms)
{
  (void)bound_ms;
  free(worker);
  return true;
}
