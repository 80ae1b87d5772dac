/*
 * gRPC as a thing that the process has once: started, silenced, stopped.
 *
 *  1. gRPC counts who uses it. Only the first of ours finds out whether others do, and the last
 *     waits until it has stopped only if none did: with others it would wait for them.
 *  2. It stops in its own time, perhaps on a thread of its own. The wait has a bound.
 *  3. It does not live through a fork: the child has its state without its threads, and would wait
 *     for them for ever. So the child is told, and may execute something else.
 *  4. It prints errors on stderr, which is not ours to write to. While nobody else uses it and
 *     GRPC_VERBOSITY is not set, they go nowhere: what is wrong is in the status of the call.
 *
 * Any thread.
 * Source: gRPC core's grpc.h, its doc/environment_variables.md and doc/fork_support.md
 */
#include "module/grpc_library.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STOP_MS 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;        /* lock; of ours */
static bool has_others;       /* lock; as it was when the first of ours came */
static _Atomic pid_t process; /* that has them; 0 = none has. Read before the lock is taken: in a
                               * child it may be held by a thread that is not there. */

static void drop_log(gpr_log_func_args *args)
{
  (void)args;
}

static void start_locked(void)
{
  has_others = grpc_is_initialized() != 0;
  atomic_store(&process, getpid());
  if (!has_others && getenv("GRPC_VERBOSITY") == NULL) {
    gpr_set_log_function(drop_log);
  }
}

bool kr_grpc_library_enter(void)
{
  pid_t owner = atomic_load(&process);

  if (owner != 0 && owner != getpid()) {
    return false;
  }
  pthread_mutex_lock(&lock);
  if (users++ == 0) {
    start_locked();
  }
  grpc_init();
  pthread_mutex_unlock(&lock);
  return true;
}

static void await_stop(void)
{
  const struct timespec a_millisecond = {0, 1000000};

  for (int i = 0; i < STOP_MS && grpc_is_initialized(); i++) {
    nanosleep(&a_millisecond, NULL);
  }
}

static void stop_locked(void)
{
  if (!has_others) {
    await_stop();
    gpr_set_log_function(NULL);
  }
  atomic_store(&process, 0);
}

void kr_grpc_library_leave(void)
{
  pthread_mutex_lock(&lock);
  grpc_shutdown();
  if (--users == 0) {
    stop_locked();
  }
  pthread_mutex_unlock(&lock);
}
