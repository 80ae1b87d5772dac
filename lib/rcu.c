/*
 * Read-copy-update: when may memory be freed that readers, who take no lock, may still look at?
 *
 * Once every read section that was open when the memory was unlinked has ended. liburcu keeps the
 * books; its flavour "bp" registers a thread by itself when it opens its first section, which suits
 * a library that does not own its callers' threads. This is the only file that includes liburcu.
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
 *
 * Threads: any. The thread sanitizer sees neither liburcu's barriers (it is not built with it) nor
 * the idea of a grace period, so a sanitized build tells it the two facts it lacks: what a reader
 * did in its section is over before anything deferred runs, and so is what was done before the
 * deferring. It is told no more than that: memory freed without deferring is still reported.
 *
 * liburcu ends the process if it finds no memory for a thread's entry or for its own thread; it has
 * no way to return that. An application that prepares liburcu-bp for forks itself, in handlers of
 * its own, would lock the same locks twice. liburcu must not be unloaded while threads live that
 * have read: the shared library is linked with -z nodelete.
 *
 * Source: liburcu's doc/rcu-api.md, urcu-bp.h on forking
 */
#include "lib/rcu.h"

#include "lib/signals.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <urcu-bp.h>

#if defined(__SANITIZE_THREAD__)
#define KR_RCU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KR_RCU_TSAN 1
#endif
#endif

_Static_assert(sizeof(struct rcu_head) <= sizeof(((struct kr_rcu_head *)NULL)->room),
               "kr_rcu_head has room for liburcu's head");
_Static_assert(_Alignof(struct rcu_head) <= _Alignof(struct kr_rcu_head),
               "kr_rcu_head is aligned as liburcu's head");
_Static_assert(offsetof(struct kr_rcu_head, room) == 0, "one address is both heads");

#ifdef KR_RCU_TSAN
#include <sanitizer/tsan_interface.h>

/* In the sanitizer's library, though not in its header: what this thread does between the two is
 * not taken down. */
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

/* Only their addresses mean something: the order "section ended -> deferred function runs", and
 * "deferred function ran -> barrier returns". */
static char sections_ended, deferred_ran;

/* How deep this thread's sections nest. Only the end of the outermost one is told: at an inner end
 * the reader still reads. */
static _Thread_local unsigned depth;

static void tell_begin(void)
{
  depth++;
}

static void tell_end(void)
{
  if (--depth == 0) {
    __tsan_release(&sections_ended);
  }
}

static void tell_before(void *order)
{
  __tsan_release(order);
}

static void tell_after(void *order)
{
  __tsan_acquire(order);
}

/* What liburcu allocates here its own thread frees, in an order of its own making. Only liburcu's
 * code runs meanwhile, none of ours. */
static void barrier(void)
{
  __tsan_ignore_thread_begin();
  urcu_bp_barrier();
  __tsan_ignore_thread_end();
}
#else
static char sections_ended, deferred_ran;

static void tell_begin(void)
{
}

static void tell_end(void)
{
}

static void tell_before(void *order)
{
  (void)order;
}

static void tell_after(void *order)
{
  (void)order;
}

static void barrier(void)
{
  urcu_bp_barrier();
}
#endif

void kr_rcu_read_begin(void)
{
  urcu_bp_read_lock();
  tell_begin();
}

void kr_rcu_read_end(void)
{
  tell_end();
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
  /* Behind it, for liburcu's thread needs these locks in order to come to a stand. */
  urcu_bp_before_fork();
}

void kr_rcu_after_fork_in_parent(void)
{
  if (unprepared) {
    return;
  }
  urcu_bp_after_fork_parent();
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

  tell_after(head);
  tell_after(&sections_ended);
  head->fn(head);
  tell_before(&deferred_ran);
}

void kr_rcu_defer(struct kr_rcu_head *head, void (*fn)(struct kr_rcu_head *head))
{
  static pthread_once_t started = PTHREAD_ONCE_INIT;

  if (!kr_rcu_usable()) {
    return; /* never to be freed: there is nobody to do it */
  }
  revive_if_orphaned();
  pthread_once(&started, start_thread);
  head->fn = fn;
  tell_before(head);
  urcu_bp_call_rcu((struct rcu_head *)head, run_deferred);
}

void kr_rcu_barrier(void)
{
  assert(!kr_rcu_reading());
  if (!kr_rcu_usable()) {
    return;
  }
  revive_if_orphaned();
  barrier();
  tell_after(&deferred_ran);
}
