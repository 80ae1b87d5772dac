/*
 * Callbacks on the application's own thread: a queue between the loop, which adds answers, and
 * whoever runs them.
 *
 * There are two ways to learn that answers wait. Either the application gave a function to which
 * work can be posted, and gets one piece of work for all that wait; or it watches a descriptor and
 * drains the queue when that is readable.
 *
 *  1. Answers run once, in the order in which they were added, one at a time, under no lock.
 *  2. Whoever runs them takes all that wait, and no more: an answer that makes further ones cannot
 *     keep the application's loop for itself.
 *  3. The application is told once for all that wait (`told`), and anew after they were taken. The
 *     descriptor is readable just as long as `told` is set.
 *  4. Work that comes while answers run, on another thread or because an answer runs a loop of its
 *     own, is left to the one who runs them (`again`). So answers do not nest.
 *  5. Each piece of work that was posted holds a count: it may be called when the connection is
 *     long gone, and then does nothing but give the count back.
 *  6. In a forked child nothing runs: the answers are the parent's, and the lock may be held by a
 *     thread that is not there.
 *
 * Threads: add on the loop, the rest anywhere. The descriptor is written and read under the lock;
 * neither blocks.
 */
#include "lib/dispatcher.h"

#include "lib/fork.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct kr_dispatcher {
  struct kr_mem *mem;    /* counted */
  keyroute_post_cb post; /* NULL = drained */
  void *payload;
  int fd;        /* -1 = posted */
  unsigned born; /* the generation of the process that made it */
  pthread_mutex_t lock;
  pthread_cond_t idle;     /* running has become false */
  struct kr_answer *first; /* all below: under the lock */
  struct kr_answer **end;
  unsigned refs;
  pthread_t runner; /* while running */
  bool running;
  bool again;
  bool told;
  bool shut;
};

int kr_dispatcher_new(struct kr_dispatcher **out, struct kr_mem *mem, keyroute_post_cb post,
                      void *payload)
{
  struct kr_dispatcher *dispatcher = kr_calloc(mem, sizeof(*dispatcher));
  int fd = post == NULL ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;

  if (dispatcher == NULL || (post == NULL && fd < 0)) {
    if (fd >= 0) {
      close(fd);
    }
    kr_free(mem, dispatcher);
    return KEYROUTE_E_NO_MEMORY;
  }
  dispatcher->mem = kr_mem_ref(mem);
  dispatcher->post = post;
  dispatcher->payload = payload;
  dispatcher->fd = fd;
  dispatcher->born = kr_fork_generation();
  dispatcher->end = &dispatcher->first;
  dispatcher->refs = 1;
  pthread_mutex_init(&dispatcher->lock, NULL);
  pthread_cond_init(&dispatcher->idle, NULL);
  *out = dispatcher;
  return 0;
}

/* Give a count back and the lock. */
static void release_locked(struct kr_dispatcher *dispatcher)
{
  unsigned left = --dispatcher->refs;

  pthread_mutex_unlock(&dispatcher->lock);
  if (left == 0) {
    struct kr_mem *mem = dispatcher->mem;

    pthread_cond_destroy(&dispatcher->idle);
    pthread_mutex_destroy(&dispatcher->lock);
    kr_free(mem, dispatcher);
    kr_mem_release(mem);
  }
}

/* ---- The descriptor. It counts no further than one, so neither call can fail. ---- */

static void set_readable(const struct kr_dispatcher *dispatcher)
{
  if (dispatcher->fd >= 0) {
    eventfd_write(dispatcher->fd, 1);
  }
}

static void clear_readable(const struct kr_dispatcher *dispatcher)
{
  eventfd_t count;

  if (dispatcher->fd >= 0) {
    eventfd_read(dispatcher->fd, &count);
  }
}

/* ---- Running ---- */

static struct kr_answer *take_locked(struct kr_dispatcher *dispatcher)
{
  struct kr_answer *taken = dispatcher->first;

  dispatcher->first = NULL;
  dispatcher->end = &dispatcher->first;
  if (dispatcher->told) {
    dispatcher->told = false;
    clear_readable(dispatcher);
  }
  return taken;
}

static int run_all(struct kr_answer *answer)
{
  int count = 0;

  while (answer != NULL) {
    struct kr_answer *next = answer->next;

    answer->run(answer);
    answer = next;
    count++;
  }
  return count;
}

/* Entered and left with the lock, without it while answers run. */
static int run_locked(struct kr_dispatcher *dispatcher)
{
  int count = 0;

  dispatcher->running = true;
  dispatcher->runner = pthread_self();
  do {
    struct kr_answer *taken = take_locked(dispatcher);

    dispatcher->again = false;
    pthread_mutex_unlock(&dispatcher->lock);
    count += run_all(taken);
    pthread_mutex_lock(&dispatcher->lock);
  } while (dispatcher->again);
  dispatcher->running = false;
  pthread_cond_broadcast(&dispatcher->idle);
  return count;
}

/* The work that the application is handed. */
static void run_posted(void *arg)
{
  struct kr_dispatcher *dispatcher = arg;

  if (dispatcher->born != kr_fork_generation()) {
    return;
  }
  pthread_mutex_lock(&dispatcher->lock);
  if (dispatcher->running) {
    dispatcher->again = true;
  } else if (!dispatcher->shut) {
    run_locked(dispatcher);
  }
  release_locked(dispatcher);
}

void kr_dispatcher_add(struct kr_dispatcher *dispatcher, struct kr_answer *answer)
{
  answer->next = NULL;
  pthread_mutex_lock(&dispatcher->lock);
  *dispatcher->end = answer;
  dispatcher->end = &answer->next;
  bool tell = !dispatcher->told && !dispatcher->shut;
  bool hand_over = tell && dispatcher->post != NULL;

  if (tell) {
    dispatcher->told = true;
    set_readable(dispatcher);
  }
  dispatcher->refs += hand_over;
  pthread_mutex_unlock(&dispatcher->lock);
  if (hand_over) {
    dispatcher->post(dispatcher->payload, run_posted, dispatcher);
  }
}

int kr_dispatcher_fd(const struct kr_dispatcher *dispatcher)
{
  return dispatcher->fd;
}

int kr_dispatcher_drain(struct kr_dispatcher *dispatcher)
{
  int count = 0;

  pthread_mutex_lock(&dispatcher->lock);
  if (!dispatcher->running && !dispatcher->shut) {
    count = run_locked(dispatcher);
  }
  pthread_mutex_unlock(&dispatcher->lock);
  return count;
}

bool kr_dispatcher_inside(struct kr_dispatcher *dispatcher)
{
  pthread_mutex_lock(&dispatcher->lock);
  bool inside = dispatcher->running && pthread_equal(dispatcher->runner, pthread_self());

  pthread_mutex_unlock(&dispatcher->lock);
  return inside;
}

/* ---- The end ---- */

void kr_dispatcher_shut(struct kr_dispatcher *dispatcher)
{
  pthread_mutex_lock(&dispatcher->lock);
  dispatcher->shut = true;
  pthread_mutex_unlock(&dispatcher->lock);
}

void kr_dispatcher_close(struct kr_dispatcher *dispatcher)
{
  pthread_mutex_lock(&dispatcher->lock);
  dispatcher->shut = true;
  while (dispatcher->running) {
    pthread_cond_wait(&dispatcher->idle, &dispatcher->lock);
  }
  run_locked(dispatcher);
  if (dispatcher->fd >= 0) {
    close(dispatcher->fd);
    dispatcher->fd = -1;
  }
  release_locked(dispatcher);
}
