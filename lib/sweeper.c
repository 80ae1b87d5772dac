/*
 * The sweeper: when does the cache look through itself?
 *
 * At once, after somebody has retired something (a server that is gone, a call that clears): one
 * round over all that there is, so that memory and figures follow; and after a table was cleared on
 * the loop: until its regions are evicted. And, while something bounds the time of regions, every
 * now and then: each time the part that makes it one round in the time that the bounds ask for.
 *
 *  1. No turn of the loop visits, or evicts, more than CHUNK regions. What is left goes on in a
 *     task that is posted behind those that wait already, so that sockets and timers have their
 *     turn between.
 *  2. With nothing in the cache, and with nothing that bounds the time of what is, there is neither
 *     timer nor task: the loop sleeps.
 *  3. A hit knows nothing of all this.
 *  4. What was cleared is evicted first, and does not count as visited: a look, and above all a
 *     round, still meets all that it was to meet.
 *
 * If there is no memory for the timer, the next store tries again. Servers that nobody counts any
 * more are forgotten behind each look; those of what this very look took out, behind a later one.
 */
#include "lib/sweeper.h"

#include "lib/clock.h"

/* Taking a region out costs about a microsecond where a million are cached, and no turn of the loop
 * shall take a millisecond. */
enum { CHUNK = 250 };

struct kr_sweeper {
  struct kr_task task; /* first, so that its address is the sweeper's */
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_cache *cache;
  struct kr_servers *servers;
  int64_t every_ms;
  struct kr_timer *timer; /* until the next look; loop thread */
  size_t left;            /* visits of the look under way; loop thread */
  size_t part;            /* visits of a look of this round; loop thread */
  size_t looks_left;      /* of this round; loop thread */
  bool closed;            /* loop thread */
  bool posted;            /* atomic: the task is */
  bool woken;             /* atomic: a whole round is wanted */
};

static size_t region_count(const struct kr_sweeper *sweeper)
{
  return kr_cache_size(sweeper->cache).regions;
}

static void post(struct kr_sweeper *sweeper)
{
  /* One task serves all who ask before it runs. Acquire-release: pairs with run. */
  if (!__atomic_exchange_n(&sweeper->posted, true, __ATOMIC_ACQ_REL)) {
    kr_loop_post(sweeper->loop, &sweeper->task);
  }
}

void kr_sweeper_wake(struct kr_sweeper *sweeper)
{
  /* Relaxed: post's exchange brings it, and what was retired before, to who runs the task. */
  __atomic_store_n(&sweeper->woken, true, __ATOMIC_RELAXED);
  post(sweeper);
}

static void look(void *arg);

/* Wait for the next look, if there will be anything to see (invariant 2). */
static void rest(struct kr_sweeper *sweeper)
{
  if (!sweeper->closed && sweeper->left == 0 && sweeper->timer == NULL &&
      kr_cache_round_ms(sweeper->cache) > 0 && region_count(sweeper) > 0) {
    sweeper->timer = kr_timer_start(sweeper->loop, sweeper->every_ms, look, sweeper);
  }
}

/* Go on with the look under way, or end it. */
static void visit_chunk(struct kr_sweeper *sweeper)
{
  size_t room = CHUNK - kr_cache_drain(sweeper->cache, CHUNK);
  size_t count = sweeper->left < room ? sweeper->left : room;

  kr_cache_visit(sweeper->cache, count);
  sweeper->left = region_count(sweeper) > 0 ? sweeper->left - count : 0;
  if (sweeper->left > 0 || room == 0) { /* with no room there may be more to drain */
    post(sweeper);
  } else {
    kr_servers_purge(sweeper->servers, kr_clock_us());
    rest(sweeper);
  }
}

/* Looks in one round. */
static size_t look_count(const struct kr_sweeper *sweeper)
{
  int64_t looks = kr_cache_round_ms(sweeper->cache) / sweeper->every_ms;

  return looks > 0 ? (size_t)looks : 1;
}

/* A look's part of the regions of this moment. Within a round it only grows: those that leave
 * meanwhile must not make the later looks shorter. */
static size_t next_part(struct kr_sweeper *sweeper)
{
  size_t looks = look_count(sweeper);
  size_t part = (region_count(sweeper) + looks - 1) / looks;

  if (sweeper->looks_left == 0) {
    sweeper->looks_left = looks;
    sweeper->part = 0;
  }
  sweeper->looks_left--;
  sweeper->part = part > sweeper->part ? part : sweeper->part;
  return sweeper->part;
}

static void look(void *arg)
{
  struct kr_sweeper *sweeper = arg;

  sweeper->timer = NULL;
  sweeper->left = next_part(sweeper);
  visit_chunk(sweeper);
}

static void run(struct kr_task *task)
{
  struct kr_sweeper *sweeper = (struct kr_sweeper *)(void *)task;

  /* Before anything is looked at: what is retired from now on posts anew. Acquire-release, with
   * post: what was retired by those who found the task posted is seen. */
  (void)__atomic_exchange_n(&sweeper->posted, false, __ATOMIC_ACQ_REL);
  if (sweeper->closed) {
    return;
  }
  if (__atomic_exchange_n(&sweeper->woken, false, __ATOMIC_RELAXED)) {
    kr_timer_stop(sweeper->timer);
    sweeper->timer = NULL;
    sweeper->left = region_count(sweeper);
  }
  visit_chunk(sweeper);
}

static void stored(void *arg)
{
  rest(arg);
}

static void cleared(void *arg)
{
  struct kr_sweeper *sweeper = arg;

  if (!sweeper->closed) {
    post(sweeper);
  }
}

struct kr_sweeper *kr_sweeper_new(struct kr_mem *mem, struct kr_loop *loop, struct kr_cache *cache,
                                  struct kr_servers *servers, int64_t every_ms)
{
  struct kr_sweeper *sweeper = kr_calloc(mem, sizeof(*sweeper));

  if (sweeper == NULL) {
    return NULL;
  }
  sweeper->task.run = run;
  sweeper->mem = mem;
  sweeper->loop = loop;
  sweeper->cache = cache;
  sweeper->servers = servers;
  sweeper->every_ms = every_ms;
  kr_cache_set_watcher(cache, &(struct kr_cache_watcher){stored, cleared, sweeper});
  return sweeper;
}

void kr_sweeper_shutdown(struct kr_sweeper *sweeper)
{
  sweeper->closed = true;
  kr_timer_stop(sweeper->timer);
  sweeper->timer = NULL;
}

void kr_sweeper_free(struct kr_sweeper *sweeper)
{
  if (sweeper != NULL) {
    kr_free(sweeper->mem, sweeper);
  }
}
