/* Drives a registry from a test's own thread. */
#include "test/registry_harness.h"

#include "lib/clock.h"
#include "lib/latch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct call {
  struct kr_task task;
  void (*fn)(void *arg);
  void *arg;
  struct kr_latch ran;
};

static void run_call(struct kr_task *task)
{
  struct call *call = (struct call *)task;

  call->fn(call->arg);
  kr_latch_open(&call->ran);
}

void harness_on_loop(struct kr_loop *loop, void (*fn)(void *arg), void *arg)
{
  struct call call = {.task.run = run_call, .fn = fn, .arg = arg};

  kr_latch_init(&call.ran);
  kr_loop_post(loop, &call.task);
  kr_latch_await(&call.ran);
}

struct read_handle {
  struct kr_loop *loop;
  struct kr_registry *registry;
  struct kr_root_read *read; /* the loop's */
  bool starting;             /* the loop's */
  int64_t timeout_ms;
  int64_t start_us;
  pthread_mutex_t lock;
  pthread_cond_t answered;
  struct answer answer; /* under the lock */
};

static void got_root(void *arg, const struct kr_root *root)
{
  struct read_handle *handle = arg;
  struct answer *answer = &handle->answer;

  pthread_mutex_lock(&handle->lock);
  handle->read = NULL;
  answer->done = true;
  answer->calls++;
  answer->on_loop = kr_loop_inside(handle->loop);
  answer->inside_call = handle->starting;
  answer->took_us = kr_clock_us() - handle->start_us;
  answer->failure = root->failure;
  snprintf(answer->place, sizeof(answer->place), "%s", root->place);
  answer->tiers = root->tiers;
  answer->count = root->count;
  for (size_t i = 0; i < root->count && i < 8; i++) {
    size_t len = root->values[i].data.len;
    answer->replicas[i] = root->values[i].replica;
    answer->len[i] = len;
    memcpy(answer->data[i], root->values[i].data.data,
           len < sizeof(answer->data[i]) ? len : sizeof(answer->data[i]) - 1);
  }
  pthread_cond_broadcast(&handle->answered);
  pthread_mutex_unlock(&handle->lock);
}

static void start(void *arg)
{
  struct read_handle *handle = arg;

  handle->starting = true;
  handle->start_us = kr_clock_us();
  handle->read =
      handle->registry->ops->read_root(handle->registry, handle->timeout_ms, got_root, handle);
  handle->starting = false;
}

struct read_handle *harness_start(struct kr_loop *loop, struct kr_registry *registry,
                                  int64_t timeout_ms)
{
  struct read_handle *handle = calloc(1, sizeof(*handle));
  pthread_condattr_t attr;

  if (handle == NULL) {
    abort();
  }
  handle->loop = loop;
  handle->registry = registry;
  handle->timeout_ms = timeout_ms;
  pthread_mutex_init(&handle->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&handle->answered, &attr);
  pthread_condattr_destroy(&attr);
  harness_on_loop(loop, start, handle);
  return handle;
}

struct answer harness_await(struct read_handle *handle, int64_t bound_ms)
{
  struct timespec until;
  int error = 0;

  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)(bound_ms / 1000);
  until.tv_nsec += (long)(bound_ms % 1000 * 1000000);
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&handle->lock);
  while (!handle->answer.done && error != ETIMEDOUT) {
    error = pthread_cond_timedwait(&handle->answered, &handle->lock, &until);
  }
  struct answer answer = handle->answer;
  pthread_mutex_unlock(&handle->lock);
  return answer;
}

static void cancel(void *arg)
{
  struct read_handle *handle = arg;

  if (handle->read != NULL) {
    handle->registry->ops->cancel(handle->registry, handle->read);
    handle->read = NULL;
  }
}

void harness_cancel(struct read_handle *handle)
{
  harness_on_loop(handle->loop, cancel, handle);
}

void harness_forget(struct read_handle *handle)
{
  pthread_cond_destroy(&handle->answered);
  pthread_mutex_destroy(&handle->lock);
  free(handle);
}

struct answer harness_read(struct kr_loop *loop, struct kr_registry *registry, int64_t timeout_ms)
{
  struct read_handle *handle = harness_start(loop, registry, timeout_ms);
  struct answer answer = harness_await(handle, timeout_ms + 5000);

  harness_cancel(handle);
  harness_forget(handle);
  return answer;
}

static void shut_down(void *arg)
{
  struct kr_registry *registry = arg;

  registry->ops->shutdown(registry);
}

int64_t harness_close(struct kr_loop *loop, struct kr_registry *registry, int64_t bound_ms)
{
  int64_t start_us = kr_clock_us();

  harness_on_loop(loop, shut_down, registry);
  registry->ops->close(registry, bound_ms);
  return (kr_clock_us() - start_us) / 1000;
}
