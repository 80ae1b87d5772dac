/*
 * What a forked child finds of the library, and how it is told from its parent.
 *
 * A child has a copy of everything but of the threads: only the one that forked goes on. So a
 * connection that the parent opened has no loop in the child, its locks may be held by threads that
 * are not there, and its descriptors are the parent's too. What the child may still do with it is
 * look at the cache, which takes no lock; everything else asks for the generation first.
 *
 *  1. The generation grows in the child, before fork returns there. Who keeps the generation of its
 *     making next to an object knows with one load whether the object is its own.
 *  2. What belongs to the process rather than to a connection (liburcu's books, the slots of
 *     zk_log.c) is held still while the process forks, so that the child finds it whole and may
 *     open connections of its own.
 *  3. Locks of a connection are not taken for a fork: the child never touches them.
 *  4. liburcu comes first, since it waits for read sections and whoever waits in one for a lock
 *     taken here would wait for ever.
 *
 * Programs that fork in order to execute something need none of this, and get none with posix_spawn
 * or vfork: those run no handlers.
 *
 * Source: POSIX pthread_atfork
 */
#include "lib/fork.h"

#include "keyroute/keyroute.h"

#include "lib/rcu.h"
#include "lib/zk_log.h"

#include <pthread.h>
#include <stdatomic.h>

/* Relaxed: it changes while the process has one thread. */
static atomic_uint generation;

static int watching; /* what pthread_atfork returned */

static void before_fork(void)
{
  kr_rcu_before_fork();
  kr_zk_log_before_fork();
}

static void after_fork_in_parent(void)
{
  kr_zk_log_after_fork(false);
  kr_rcu_after_fork_in_parent();
}

static void after_fork_in_child(void)
{
  atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
  kr_zk_log_after_fork(true);
  kr_rcu_after_fork_in_child();
}

static void watch(void)
{
  watching = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int kr_fork_watch(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once(&once, watch);
  return watching == 0 ? 0 : KEYROUTE_E_NO_MEMORY;
}

unsigned kr_fork_generation(void)
{
  return atomic_load_explicit(&generation, memory_order_relaxed);
}
