/*
 * How long is a turn of the loop? libuv calls a prepare handle before each wait for events: between
 * two calls lies one wait and one turn. It also tells how long it has waited in all, and what is
 * left is the turn: tasks, sockets and timers together.
 *
 *  1. The time on the wall has in it that the processor was given to another thread. The processor
 *     time of the thread has not, but what a virtual machine's host took away may be in both.
 *  2. Everything here belongs to the loop, of which there is one.
 *
 * Source: libuv's uv_prepare_t, and uv_metrics_idle_time.
 */
#include "test/bench/turns.h"

#include <time.h>
#include <uv.h>

static uv_prepare_t before_wait;
static uint64_t last_ns, last_idle_ns;
static int64_t last_cpu_ns;
static struct bench_turns turns;

static int64_t cpu_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void note_turn(uv_prepare_t *handle)
{
  uint64_t now_ns = uv_hrtime(), idle_ns = uv_metrics_idle_time(handle->loop);
  int64_t worked_ns = cpu_ns();
  double us = (double)(now_ns - last_ns - (idle_ns - last_idle_ns)) / 1e3;
  double worked_us = (double)(worked_ns - last_cpu_ns) / 1e3;

  turns.count++;
  turns.longest_us = us > turns.longest_us ? us : turns.longest_us;
  turns.longest_cpu_us = worked_us > turns.longest_cpu_us ? worked_us : turns.longest_cpu_us;
  last_ns = now_ns;
  last_idle_ns = idle_ns;
  last_cpu_ns = worked_ns;
}

void bench_turns_start(struct kr_loop *loop)
{
  uv_loop_configure(kr_loop_uv(loop), UV_METRICS_IDLE_TIME);
  uv_prepare_init(kr_loop_uv(loop), &before_wait);
  uv_prepare_start(&before_wait, note_turn);
  last_ns = uv_hrtime();
  last_idle_ns = uv_metrics_idle_time(before_wait.loop);
  last_cpu_ns = cpu_ns();
  turns = (struct bench_turns){0};
}

struct bench_turns bench_turns_stop(void)
{
  uv_close((uv_handle_t *)&before_wait, NULL);
  return turns;
}
