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
 *
 * Threads: any. The thread sanitizer sees neither liburcu's barriers (it is not built with it) nor
 * the idea of a grace period, so a sanitized build tells it the two facts it lacks: what a reader
 * did in its section is over before anything deferred runs, and so is what was done before the
 * deferring. It is told no more than that: memory freed without deferring is still reported.
 *
 * liburcu ends the process if it finds no memory for a thread's entry or for its own thread; it has
 * no way to return that. liburcu must not be unloaded while threads live that have read: the shared
 * library is linked with -z nodelete.
 *
 * Source: liburcu's doc/rcu-api.md
 */
#include "lib/rcu.h"

#include "lib/signals.h"

#include <assert.h>
#include <pthread.h>
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

  pthread_once(&started, start_thread);
  head->fn = fn;
  tell_before(head);
  urcu_bp_call_rcu((struct rcu_head *)head, run_deferred);
}

void kr_rcu_barrier(void)
{
  assert(!kr_rcu_reading());
  barrier();
  tell_after(&deferred_ran);
}
