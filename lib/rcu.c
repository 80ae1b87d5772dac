/*
 * Read-copy-update: when may memory be freed that readers, who take no lock, may still look at?
 *
 * Once every read section that was open when the memory was unlinked has ended. liburcu keeps the
 * books; its flavour "bp" registers a thread by itself when it opens its first section, which suits
 * a library that does not own its callers' threads. Only this file and rcu_read.h include liburcu.
 *
 *  1. What is deferred runs once, after all sections that were open when it was deferred have
 *     ended: on liburcu's own thread, or on one that is in kr_rcu_barrier.
 *  2. liburcu's thread runs with all signals blocked: it is born inside kr_rcu_enqueue, in whatever
 *     thread comes first, and a new thread inherits its maker's mask.
 *  3. Deferring never waits for readers.
 *  4. While the process forks, liburcu's thread stands still, nothing is being freed, and nobody
 *     holds the locks of liburcu or of this file, so that the books are whole in the child. There
 *     the thread is started anew by the first who defers or waits, not before: most children only
 *     execute something.
 *  5. A fork inside a read section cannot wait for that, for liburcu's thread may be waiting for
 *     the very section. It goes by without, and its child may end the section but do no more.
 *  6. Things are deferred by the million, so each has a pointer's room only, and liburcu knows one
 *     head that stands for all. The head is away for the things that are passing, while others
 *     wait. Each time it comes back those that have passed are freed, and those that wait pass
 *     next. It is away from the first thing put in until nothing waits any more.
 *  7. Who cannot go on until things are freed does not wait for the head, since liburcu's thread
 *     sleeps for 10 ms between two looks. He waits for the readers himself, once, and frees what
 *     passed and what waited when he began, whosever it is. What others had taken out by then is
 *     freed too, for whoever takes something out holds `freeing` until he has freed it.
 *
 * Threads: any. The thread sanitizer sees neither liburcu's barriers (it is not built with it) nor
 * the idea of a grace period, so a sanitized build tells it the one fact it lacks: what a reader
 * did in its section is over before anything deferred runs (rcu_order.h). It is told no more than
 * that: memory freed without deferring is still reported. All else is ordered by locks.
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
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <urcu-bp.h>

/* Only its address means something: the order "section ended -> what was deferred runs". */
static char sections_ended;

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

/* The same: held by who frees, from before he takes something out until it is freed (invariant 7).
 * Whoever holds it may wait for readers, and so may liburcu's thread for it: a fork takes it once
 * that thread stands still. */
static pthread_mutex_t freeing = PTHREAD_MUTEX_INITIALIZER;

/* The same: for the lists of the queues and for whether the head is away, so that a child does not
 * find the half of a step. It may be wanted inside a read section, and by who frees, so whoever
 * holds it waits for nobody. */
static pthread_mutex_t enqueueing = PTHREAD_MUTEX_INITIALIZER;

/* In a child whose copy of liburcu's thread is not there: call_rcu's lock is still held then.
 * Relaxed under `reviving`, without which it is not changed. */
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
  pthread_mutex_lock(&freeing);
  pthread_mutex_lock(&enqueueing);
  /* Behind all: liburcu's thread needs these locks in order to come to a stand, and so do who waits
   * for readers while he is freeing, and who puts something into a queue. */
  urcu_bp_before_fork();
}

void kr_rcu_after_fork_in_parent(void)
{
  if (unprepared) {
    return;
  }
  urcu_bp_after_fork_parent();
  pthread_mutex_unlock(&enqueueing);
  pthread_mutex_unlock(&freeing);
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
  pthread_mutex_unlock(&freeing);
  atomic_store_explicit(&orphaned, true, memory_order_relaxed);
  pthread_mutex_unlock(&reviving);
}

static void revive(void)
{
  sigset_t saved;

  kr_signals_block(&saved);
  urcu_bp_call_rcu_after_fork_child();
  kr_signals_restore(&saved);
}

/* Before anything is asked of liburcu's thread. Whoever is in a read section must not wait for the
 * lock: a fork holds it while it waits for who frees, and he may be waiting for the section. But he
 * began when the thread had been revived, and that is looked at again each time. */
static void revive_if_orphaned(void)
{
  /* Acquire, with the release: who finds it done finds liburcu's books in order. */
  while (atomic_load_explicit(&orphaned, memory_order_acquire)) {
    if (pthread_mutex_trylock(&reviving) != 0) {
      sched_yield();
      continue;
    }
    if (atomic_load_explicit(&orphaned, memory_order_relaxed)) {
      revive();
      atomic_store_explicit(&orphaned, false, memory_order_release);
    }
    pthread_mutex_unlock(&reviving);
  }
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

/* ---- Queues (invariants 6 and 7) ---- */

/* All that were ever used; grows at this end. */
static _Atomic(struct kr_rcu_queue *) queues;

/* Under `enqueueing`, as are the lists of the queues; but what is leaving is under `freeing`. While
 * the head is not away nothing waits and nothing passes. */
static bool head_is_away;

static struct kr_rcu_queue *first_queue(void)
{
  /* Acquire, with list_queue: who finds a queue finds which come behind it. */
  return atomic_load_explicit(&queues, memory_order_acquire);
}

static void list_queue(struct kr_rcu_queue *queue)
{
  queue->known = true;
  queue->others = atomic_load_explicit(&queues, memory_order_relaxed); /* changed under the lock */
  atomic_store_explicit(&queues, queue, memory_order_release);
}

/* Have what waits in a queue pass, in front of what does already. */
static void pass(struct kr_rcu_queue *queue)
{
  if (queue->waiting != NULL) {
    queue->oldest->next = queue->passing;
    queue->passing = queue->waiting;
    queue->waiting = NULL;
  }
}

static void take_passing(struct kr_rcu_queue *queue)
{
  queue->leaving = queue->passing;
  queue->passing = NULL;
}

static void free_leaving(struct kr_rcu_queue *queue)
{
  struct kr_rcu_link *link = queue->leaving;

  queue->leaving = NULL;
  while (link != NULL) {
    struct kr_rcu_link *next = link->next;

    queue->free(link);
    link = next;
  }
}

/* What is leaving has passed. */
static void free_all(void)
{
  kr_order_sections_ended(&sections_ended);
  for (struct kr_rcu_queue *queue = first_queue(); queue != NULL; queue = queue->others) {
    free_leaving(queue);
  }
}

static void head_came_back(struct rcu_head *head);

/* Have all that waits pass, and hand the head to liburcu if that is anything. */
static void send(struct rcu_head *head)
{
  head_is_away = false;
  for (struct kr_rcu_queue *queue = first_queue(); queue != NULL; queue = queue->others) {
    pass(queue);
    head_is_away = head_is_away || queue->passing != NULL;
  }
  if (head_is_away) {
    urcu_bp_call_rcu(head, head_came_back);
  }
}

/* On liburcu's thread. */
static void head_came_back(struct rcu_head *head)
{
  pthread_mutex_lock(&freeing);
  pthread_mutex_lock(&enqueueing);
  for (struct kr_rcu_queue *queue = first_queue(); queue != NULL; queue = queue->others) {
    take_passing(queue);
  }
  send(head);
  pthread_mutex_unlock(&enqueueing);
  free_all();
  pthread_mutex_unlock(&freeing);
}

void kr_rcu_enqueue(struct kr_rcu_queue *queue, struct kr_rcu_link *link)
{
  static struct rcu_head head;

  if (!prepare()) {
    return;
  }
  pthread_mutex_lock(&enqueueing);
  if (!queue->known) {
    list_queue(queue);
  }
  if (queue->waiting == NULL) {
    queue->oldest = link;
  }
  link->next = queue->waiting;
  queue->waiting = link;
  if (!head_is_away) {
    send(&head);
  }
  pthread_mutex_unlock(&enqueueing);
}

static void run_deferred(struct kr_rcu_link *link)
{
  struct kr_rcu_head *head = (struct kr_rcu_head *)(void *)link; /* its first field */

  head->fn(head);
}

void kr_rcu_defer(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head))
{
  static struct kr_rcu_queue deferred = {.free = run_deferred};

  head->fn = fn;
  kr_rcu_enqueue(&deferred, &head->link);
}

/* Take out all that waits or passes. The head comes back all the same. False = there is nothing. */
static bool take_all(void)
{
  bool any = false;

  pthread_mutex_lock(&enqueueing);
  for (struct kr_rcu_queue *queue = first_queue(); queue != NULL; queue = queue->others) {
    pass(queue);
    take_passing(queue);
    any = any || queue->leaving != NULL;
  }
  pthread_mutex_unlock(&enqueueing);
  return any;
}

void kr_rcu_barrier(void)
{
  assert(!kr_rcu_reading());
  if (!kr_rcu_usable()) {
    return;
  }
  /* What is freed may defer in its turn, and must not find the thread missing while a fork, which
   * has `reviving`, waits for `freeing`. */
  revive_if_orphaned();
  pthread_mutex_lock(&freeing);
  if (take_all()) {
    urcu_bp_synchronize_rcu();
    free_all();
  }
  pthread_mutex_unlock(&freeing);
}
