/*
 * Read-copy-update: when may memory be freed that readers, who take no lock, may still look at?
 *
 * Once every read section that was open when the memory was unlinked has ended. liburcu keeps the
 * books; its flavour "bp" registers a thread by itself when it opens its first section, which suits
 * a library that does not own its callers' threads. Only this file and rcu_read.h include liburcu.
 *
 *  1. A deferred function runs once, on liburcu's own thread, after all sections that were open
 *     when it was deferred have ended.
 *  2. That thread runs with all signals blocked: it is born inside kr_rcu_defer, in whatever thread
 *     comes first, and a new thread inherits its maker's mask.
 *  3. Deferring never waits for readers.
 *  4. While the process forks, liburcu's thread stands still and nobody holds liburcu's locks, so
 *     that its books are whole in the child. There the thread is started anew by the first who
 *     defers or waits, not before: most children only execute something.
 *  5. A fork inside a read section cannot wait for that, for liburcu's thread may be waiting for
 *     the very section. It goes by without, and its child may end the section but do no more.
 *  6. Things of a queue share the queue's head: it stands for those that are passing, while others
 *     wait. Each time it comes back those that have passed are freed, and those that wait pass
 *     next. It is with liburcu from the first thing put in until nothing waits any more.
 *
 * Threads: any. The thread sanitizer sees neither liburcu's barriers (it is not built with it) nor
 * the idea of a grace period, so a sanitized build tells it the two facts it lacks: what a reader
 * did in its section is over before anything deferred runs, and so is what was done before the
 * deferring (rcu_order.h). It is told no more than that: memory freed without deferring is still
 * reported.
 *
 * liburcu ends the process if it finds no memory for a thread's entry or for its own thread; it has
 * no way to return that. An application that prepares liburcu-bp for forks itself, in handlers of
 * its own, would lock the same locks twice. liburcu must not be unloaded while threads live that
 * have read: the shared library is linked with -z nodelete.
 *
 * Source: liburcu's doc/rcu-api.md, urcu-bp.h on forking
 */
#include "lib/rcu.h"

#include "lib/rcu_order.h"
#include "lib/signals.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <urcu-bp.h>

_Static_assert(sizeof(struct rcu_head) <= sizeof(((struct kr_rcu_head *)NULL)->room),
               "kr_rcu_head has room for liburcu's head");
_Static_assert(_Alignof(struct rcu_head) <= _Alignof(struct kr_rcu_head),
               "kr_rcu_head is aligned as liburcu's head");
_Static_assert(offsetof(struct kr_rcu_head, room) == 0, "one address is both heads");

/* Only their addresses mean something: the order "section ended -> deferred function runs", and
 * "deferred function ran -> barrier returns". */
static char sections_ended, deferred_ran;

void kr_rcu_read_begin(void)
{
  urcu_bp_read_lock();
  kr_order_section_begin();
}

void kr_rcu_read_end(void)
{
  kr_order_section_end(&sections_ended);
  urcu_bp_read_unlock();
}

bool kr_rcu_reading(void)
{
  return urcu_bp_read_ongoing() != 0;
}

/* Have liburcu start its thread now, while this thread blocks what that one shall never see. */
static void start_thread(void)
{
  sigset_t saved;

  kr_signals_block(&saved);
  urcu_bp_get_default_call_rcu_data();
  kr_signals_restore(&saved);
}

/* ---- Fork (invariants 4 and 5) ---- */

/* Held over a fork, as liburcu's locks are. */
static pthread_mutex_t reviving = PTHREAD_MUTEX_INITIALIZER;

/* The same: to put something into a queue and to hand its head to liburcu is one step, of which a
 * child must not find the half. It may be wanted inside a read section, so whoever holds it waits
 * for nobody, and a fork takes it once liburcu's thread, which waits for sections, stands still. */
static pthread_mutex_t enqueueing = PTHREAD_MUTEX_INITIALIZER;

/* In a child whose copy of liburcu's thread is not there: call_rcu's lock is still held then. */
static atomic_bool orphaned;

/* Relaxed: set while the process has one thread. */
static atomic_bool unusable;

/* This thread's fork goes by without preparation. */
static _Thread_local bool unprepared;

bool kr_rcu_usable(void)
{
  return !atomic_load_explicit(&unusable, memory_order_relaxed);
}

void kr_rcu_before_fork(void)
{
  unprepared = !kr_rcu_usable() || kr_rcu_reading();
  if (unprepared) {
    return;
  }
  pthread_mutex_lock(&reviving);
  if (!atomic_load_explicit(&orphaned, memory_order_relaxed)) {
    urcu_bp_call_rcu_before_fork();
  }
  pthread_mutex_lock(&enqueueing);
  /* Behind both, for liburcu's thread needs these locks in order to come to a stand, and who puts
   * something into a queue may need them too. */
  urcu_bp_before_fork();
}

void kr_rcu_after_fork_in_parent(void)
{
  if (unprepared) {
    return;
  }
  urcu_bp_after_fork_parent();
  pthread_mutex_unlock(&enqueueing);
  if (!atomic_load_explicit(&orphaned, memory_order_relaxed)) {
    urcu_bp_call_rcu_after_fork_parent();
  }
  pthread_mutex_unlock(&reviving);
}

void kr_rcu_after_fork_in_child(void)
{
  if (unprepared) {
    atomic_store_explicit(&unusable, true, memory_order_relaxed);
    return;
  }
  urcu_bp_after_fork_child();
  pthread_mutex_unlock(&enqueueing);
  atomic_store_explicit(&orphaned, true, memory_order_relaxed);
  pthread_mutex_unlock(&reviving);
}

static void revive(void)
{
  sigset_t saved;

  pthread_mutex_lock(&reviving);
  if (atomic_load_explicit(&orphaned, memory_order_relaxed)) {
    kr_signals_block(&saved);
    urcu_bp_call_rcu_after_fork_child();
    kr_signals_restore(&saved);
    /* Release, with the acquire below: who finds it done finds liburcu's books in order. */
    atomic_store_explicit(&orphaned, false, memory_order_release);
  }
  pthread_mutex_unlock(&reviving);
}

/* Before anything is asked of liburcu's thread. */
static void revive_if_orphaned(void)
{
  if (atomic_load_explicit(&orphaned, memory_order_acquire)) {
    revive();
  }
}

/* ---- Deferring ---- */

static void run_deferred(struct rcu_head *inner)
{
  struct kr_rcu_head *head = (struct kr_rcu_head *)inner;

  kr_order_acquire(head);
  kr_order_acquire(&sections_ended);
  head->fn(head);
  kr_order_release(&deferred_ran);
}

/* Hand a head to liburcu, whose thread was started. */
static void hand_over(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head))
{
  head->fn = fn;
  kr_order_release(head);
  urcu_bp_call_rcu((struct rcu_head *)head, run_deferred);
}

/* Before anything is deferred. False = never to be freed: there is nobody to do it. */
static bool prepare(void)
{
  static pthread_once_t started = PTHREAD_ONCE_INIT;

  if (!kr_rcu_usable()) {
    return false;
  }
  revive_if_orphaned();
  pthread_once(&started, start_thread);
  return true;
}

void kr_rcu_defer(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head))
{
  if (prepare()) {
    hand_over(head, fn);
  }
}

/* ---- Queues (invariant 6) ---- */

/* All that were ever used; grows at this end. */
static _Atomic(struct kr_rcu_queue *) queues;

/* A queue's `waiting` is NULL while its head is not with liburcu, else a list that ends with
 * `end`. */

static void free_all(struct kr_rcu_queue *queue)
{
  struct kr_rcu_link *link = queue->passing;

  while (link != &queue->end) {
    struct kr_rcu_link *next = link->next;

    queue->free(link);
    link = next;
  }
}

/* Those of the queue that were passing have passed. On liburcu's thread. */
static void queue_passed(struct kr_rcu_head *head)
{
  char *member = (char *)head;
  struct kr_rcu_queue *queue = (void *)(member - offsetof(struct kr_rcu_queue, head));
  struct kr_rcu_link *none = &queue->end;

  free_all(queue);
  /* Release, with is_idle: who finds the head back finds all freed. */
  if (!__atomic_compare_exchange_n(&queue->waiting, &none, NULL, false, __ATOMIC_RELEASE,
                                   __ATOMIC_RELAXED)) {
    /* Acquire: what was done before a thing was put in is seen by who frees it. */
    queue->passing = __atomic_exchange_n(&queue->waiting, &queue->end, __ATOMIC_ACQUIRE);
    hand_over(head, queue_passed);
  }
}

static void list_queue(struct kr_rcu_queue *queue)
{
  queue->known = true;
  queue->others = atomic_load_explicit(&queues, memory_order_relaxed);
  atomic_store_explicit(&queues, queue, memory_order_release); /* with all_idle's acquire */
}

/* Have a thing wait where others do already. False = none do, nor pass. Only the head's coming back
 * can be between the load and the exchange, for `enqueueing` is held. */
static bool wait_with_others(struct kr_rcu_queue *queue, struct kr_rcu_link *link)
{
  /* Acquire: where nothing passes any more, what is set next is not mixed up with what was. */
  link->next = __atomic_load_n(&queue->waiting, __ATOMIC_ACQUIRE);
  while (link->next != NULL) {
    if (__atomic_compare_exchange_n(&queue->waiting, &link->next, link, false, __ATOMIC_RELEASE,
                                    __ATOMIC_ACQUIRE)) {
      return true;
    }
  }
  return false;
}

void kr_rcu_enqueue(struct kr_rcu_queue *queue, struct kr_rcu_link *link)
{
  if (!prepare()) {
    return;
  }
  pthread_mutex_lock(&enqueueing);
  if (!queue->known) {
    list_queue(queue);
  }
  if (!wait_with_others(queue, link)) {
    link->next = &queue->end;
    queue->passing = link;
    /* Relaxed: nobody but who holds the lock looks before the head comes back. */
    __atomic_store_n(&queue->waiting, &queue->end, __ATOMIC_RELAXED);
    hand_over(&queue->head, queue_passed);
  }
  pthread_mutex_unlock(&enqueueing);
}

static bool all_idle(void)
{
  const struct kr_rcu_queue *queue = atomic_load_explicit(&queues, memory_order_acquire);

  while (queue != NULL && __atomic_load_n(&queue->waiting, __ATOMIC_ACQUIRE) == NULL) {
    queue = queue->others;
  }
  return queue == NULL;
}

/* What liburcu allocates for it its own thread frees, in an order of its own making. */
static void barrier(void)
{
  kr_order_ignore_begin();
  urcu_bp_barrier();
  kr_order_ignore_end();
}

/* What waits in a queue now is freed when its head comes back for the third time at the latest: it
 * may just be coming back, with others passing next. Each round waits for one coming. */
void kr_rcu_barrier(void)
{
  assert(!kr_rcu_reading());
  if (!kr_rcu_usable()) {
    return;
  }
  revive_if_orphaned();
  barrier();
  for (int round = 1; round < 3 && !all_idle(); round++) {
    barrier();
  }
  kr_order_acquire(&deferred_ran);
}
