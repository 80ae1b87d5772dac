#include "test/dispatcher_harness.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

bool is_readable(int fd, int timeout_ms)
{
  struct pollfd one = {.fd = fd, .events = POLLIN};

  return poll(&one, 1, timeout_ms) == 1;
}

struct posted {
  void (*run)(void *arg);
  void *arg;
};

static pthread_mutex_t post_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t post_kept = PTHREAD_COND_INITIALIZER;
static struct posted posts[DEPTH + 10]; /* post_lock, as the next two */
size_t post_count;
static size_t posts_run;

void keep_post(void *payload, void (*run)(void *arg), void *arg)
{
  (void)payload;
  pthread_mutex_lock(&post_lock);
  posts[post_count++] = (struct posted){run, arg};
  pthread_cond_signal(&post_kept);
  pthread_mutex_unlock(&post_lock);
}

void await_post(void)
{
  struct timespec until;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_MS / 1000;
  pthread_mutex_lock(&post_lock);
  while (posts_run == post_count) {
    ck_assert_int_eq(pthread_cond_timedwait(&post_kept, &post_lock, &until), 0);
  }
  pthread_mutex_unlock(&post_lock);
}

bool run_post(void)
{
  struct posted post = {0};

  pthread_mutex_lock(&post_lock);
  bool has_one = posts_run < post_count;

  if (has_one) {
    post = posts[posts_run++];
  }
  pthread_mutex_unlock(&post_lock);
  if (has_one) {
    post.run(post.arg);
  }
  return has_one;
}
