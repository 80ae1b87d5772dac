/*
 * Sees that there is a session with ZooKeeper while somebody has use for one.
 *
 * ZooKeeper's client connects again by itself, but to the addresses it was given, one after
 * another, and never says why it cannot. So a session that does not do its work is looked at, and
 * replaced by one made for the addresses that answer.
 *
 *  1. At most one session is in use and at most one is being opened, which looks up the names anew.
 *     What the one replaces is closed on the worker. Events carry the number of their session, and
 *     those of another are dropped.
 *  2. When it is not connected for 200 ms, the addresses are tried (a careful opening). Some
 *     answer: a new session with these takes over. All refuse or close: it goes, and those who wait
 *     hear the reason. They are silent: it stays, and is tried again later and later.
 *  3. After a failure there is a pause before the next opening, with jitter, up to 2 s while
 *     somebody waits and up to 10 s else: no hot loop, whatever is wrong.
 *  4. Silence on a connected session makes it suspect: the client itself notices a server that
 *     hangs only after two thirds of the session timeout.
 *  5. A session that watched a znode and is replaced owes a `changed` (nobody knows what happened
 *     meanwhile), which comes when its successor is connected. Until then a session is wanted even
 *     if nobody waits.
 *  6. One that nobody has used for session_idle_ms is ended on purpose; then nothing is owed.
 *
 * All on the loop but for close. Nothing here blocks: zk_open.c, zk_session.c and the worker do.
 */
#include "lib/zk_keeper.h"

#include "lib/clock.h"
#include "lib/zk_open.h"

#include <limits.h>

#define CHECK_FIRST_MS 200
#define CHECK_MAX_MS 5000
#define PAUSE_FIRST_MS 250
#define PAUSE_WAITING_MS 2000
#define PAUSE_MAX_MS 10000
#define PACE_MS 100
/* The session goes after so many connections in a row, each shorter than this and without a
 * reply. */
#define FLAPS_MAX 3
#define FLAP_MS 2000
/* The addresses are not tried again on suspicion so soon after the last opening. */
#define SUSPECT_MS 1000

struct kr_zk_keeper {
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  const struct kr_settings *settings;
  const struct kr_zk_keeper_events *events;
  void *owner;
  struct kr_stats *stats;
  struct kr_worker *worker;
  struct kr_zk_gate *gate;
  bool wanted; /* somebody waits */
  struct kr_timer *idle;
  struct kr_timer *wake;
  int64_t wake_at_us;
  uint32_t dice;

  struct kr_zk_session *session;
  uint64_t number; /* of the session */
  bool connected;
  bool suspect;
  bool watched;   /* this session has a watch set */
  bool owing;     /* an earlier one had */
  unsigned flaps; /* short connections in a row that brought no reply */
  int64_t connected_at_us;
  bool opening;
  uint64_t opening_number; /* of the one being opened, or of the last */
  int64_t opened_at_us;    /* when the last opening ended */
  int64_t pause_ms;        /* 0 = the last opening went well */
  int64_t check_ms;        /* until the next look at a session that is not connected */
  struct kr_failure last;  /* what is known while not connected, code 0 = nothing */
};

static void wake_up(void *arg);
static void begin_opening(struct kr_zk_keeper *keeper);

/* ---- Time ----------------------------------------------------------------------------------- */

/* Between half of it and all of it. */
static int64_t jitter(struct kr_zk_keeper *keeper, int64_t ms)
{
  keeper->dice = keeper->dice * 1664525u + 1013904223u;
  return ms / 2 + (int64_t)(keeper->dice >> 8) % (ms / 2 + 1);
}

/* Wake up after so long, or when it was planned if that is sooner. */
static void plan_wake(struct kr_zk_keeper *keeper, int64_t delay_ms)
{
  int64_t at_us = kr_clock_us() + delay_ms * 1000;

  if (keeper->wake != NULL) {
    if (keeper->wake_at_us <= at_us) {
      return;
    }
    kr_timer_stop(keeper->wake);
  }
  keeper->wake = kr_timer_start(keeper->loop, delay_ms, wake_up, keeper);
  keeper->wake_at_us = at_us;
}

static void stop_wake(struct kr_zk_keeper *keeper)
{
  kr_timer_stop(keeper->wake);
  keeper->wake = NULL;
}

static int64_t pause_left(const struct kr_zk_keeper *keeper)
{
  int64_t pause_ms = keeper->pause_ms;

  if (keeper->wanted && pause_ms > PAUSE_WAITING_MS) {
    pause_ms = PAUSE_WAITING_MS;
  }
  int64_t left_ms = pause_ms - (kr_clock_us() - keeper->opened_at_us) / 1000;
  return left_ms > 0 ? left_ms : 0;
}

static void lengthen_pause(struct kr_zk_keeper *keeper)
{
  int64_t pause_ms = keeper->pause_ms * 2;

  pause_ms = pause_ms < PAUSE_FIRST_MS ? PAUSE_FIRST_MS : pause_ms;
  pause_ms = pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms;
  keeper->pause_ms = jitter(keeper, pause_ms);
}

/* The next look at a session that is not connected. */
static void plan_check(struct kr_zk_keeper *keeper)
{
  plan_wake(keeper, jitter(keeper, keeper->check_ms));
  keeper->check_ms *= 2;
  if (keeper->check_ms > CHECK_MAX_MS) {
    keeper->check_ms = CHECK_MAX_MS;
  }
}

/* ---- Having a session ----------------------------------------------------------------------- */

static void lose_session(struct kr_zk_keeper *keeper)
{
  if (keeper->session == NULL) {
    return;
  }
  kr_zk_session_close(keeper->worker, keeper->session);
  keeper->session = NULL;
  keeper->connected = false;
  keeper->suspect = false;
  keeper->owing = keeper->owing || keeper->watched;
  keeper->watched = false;
  keeper->events->lost(keeper->owner);
}

/* See that there will be a session, if anybody has use for one. */
static void want_session(struct kr_zk_keeper *keeper)
{
  if (keeper->connected || keeper->opening || !(keeper->wanted || keeper->owing)) {
    return;
  }
  if (keeper->session != NULL) {
    plan_wake(keeper, CHECK_FIRST_MS);
    return;
  }
  int64_t left_ms = pause_left(keeper);
  if (left_ms > 0) {
    plan_wake(keeper, left_ms);
  } else {
    begin_opening(keeper);
  }
}

static void give_up_session(struct kr_zk_keeper *keeper, const struct kr_failure *failure)
{
  lose_session(keeper);
  keeper->last = *failure;
  keeper->opened_at_us = kr_clock_us();
  lengthen_pause(keeper);
  kr_log_line(&keeper->settings->log, KEYROUTE_LOG_INFO, "%s", failure->message);
  keeper->events->failed(keeper->owner, failure);
  want_session(keeper);
}

/* ---- What becomes of it --------------------------------------------------------------------- */

static void session_up(struct kr_zk_keeper *keeper)
{
  keeper->connected = true;
  keeper->connected_at_us = kr_clock_us();
  keeper->last.code = 0;
  keeper->check_ms = CHECK_FIRST_MS;
  stop_wake(keeper);
  kr_stats_add(keeper->stats, KR_COUNT_SESSIONS, 1);
  keeper->events->ready(keeper->owner);
  if (keeper->owing) {
    keeper->owing = false;
    keeper->events->changed(keeper->owner, true);
  }
}

/* The client connects again by itself, and at once. A server that gives sessions and then closes
 * them, each time, would keep it busy for ever. */
static void session_down(struct kr_zk_keeper *keeper)
{
  struct kr_failure failure;

  keeper->connected = false;
  keeper->suspect = false;
  if (kr_clock_us() - keeper->connected_at_us < FLAP_MS * 1000) {
    keeper->flaps++;
  }
  if (keeper->flaps < FLAPS_MAX) {
    plan_check(keeper);
    return;
  }
  keeper->flaps = 0;
  kr_fail(&failure, KEYROUTE_E_BOOTSTRAP,
          "ZooKeeper at %.500s gives a session and closes the connection before it answers",
          keeper->settings->zookeeper);
  give_up_session(keeper, &failure);
}

static void session_expired(struct kr_zk_keeper *keeper)
{
  lose_session(keeper);
  keeper->opened_at_us = kr_clock_us();
  want_session(keeper);
  /* A server that expires each session at once must not be asked in a loop. */
  lengthen_pause(keeper);
}

static void session_refused(struct kr_zk_keeper *keeper)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_AUTH, "ZooKeeper at %.500s does not accept who we are",
          keeper->settings->zookeeper);
  give_up_session(keeper, &failure);
}

static void session_state(void *owner, uint64_t number, enum kr_zk_state state)
{
  struct kr_zk_keeper *keeper = owner;

  if (keeper->session == NULL || number != keeper->number) {
    return;
  }
  switch (state) {
  case KR_ZK_CONNECTED:
    if (!keeper->connected) {
      session_up(keeper);
    }
    break;
  case KR_ZK_CONNECTING:
    if (keeper->connected) {
      session_down(keeper);
    }
    break;
  case KR_ZK_EXPIRED:
    session_expired(keeper);
    break;
  case KR_ZK_AUTH_FAILED:
    session_refused(keeper);
    break;
  }
}

static void znode_fired(void *owner, uint64_t number, const char *path)
{
  struct kr_zk_keeper *keeper = owner;

  if (keeper->session == NULL || number != keeper->number) {
    return;
  }
  kr_log_line(&keeper->settings->log, KEYROUTE_LOG_DEBUG, "znode %s changed", path);
  keeper->events->changed(keeper->owner, false);
}

/* Not checked against the session: replies name the request they are to. */
static void replied(void *owner, struct kr_zk_reply *reply)
{
  struct kr_zk_keeper *keeper = owner;

  keeper->events->replied(keeper->owner, reply);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* Its events may have overtaken it and have been dropped, so its state is asked for. */
static void adopt(struct kr_zk_keeper *keeper, const struct kr_zk_opening *opening)
{
  lose_session(keeper);
  keeper->session = opening->session;
  keeper->number = keeper->opening_number;
  keeper->last = opening->failure;
  keeper->check_ms = CHECK_FIRST_MS;
  plan_check(keeper);
  enum kr_zk_state state = kr_zk_session_state(opening->session);
  if (state != KR_ZK_CONNECTING) {
    session_state(keeper, keeper->number, state);
  }
}

/* Whether a failed opening says nothing against the session there is. */
static bool is_soft(const struct kr_zk_keeper *keeper, const struct kr_failure *failure)
{
  return keeper->session != NULL &&
         (failure->code == KEYROUTE_E_TIMEOUT || failure->code == KEYROUTE_E_RESOLVE ||
          failure->code == KEYROUTE_E_NO_MEMORY);
}

static void opened(void *owner, const struct kr_zk_opening *opening)
{
  struct kr_zk_keeper *keeper = owner;
  bool is_needless = keeper->connected && !keeper->suspect;

  keeper->opening = false;
  keeper->opened_at_us = kr_clock_us();
  if (is_needless) {
    if (opening->session != NULL) {
      kr_zk_session_close(keeper->worker, opening->session);
    }
  } else if (opening->session != NULL) {
    adopt(keeper, opening);
  } else if (is_soft(keeper, &opening->failure)) {
    keeper->last = opening->failure;
    keeper->suspect = false;
    if (!keeper->connected) {
      plan_check(keeper);
    }
  } else {
    give_up_session(keeper, &opening->failure);
  }
}

static const struct kr_zk_handler handler = {opened, session_state, znode_fired, replied};

static void begin_opening(struct kr_zk_keeper *keeper)
{
  bool careful = keeper->session != NULL || keeper->last.code != 0;
  int64_t timeout_ms = keeper->settings->session_timeout_ms;

  stop_wake(keeper);
  keeper->opening_number++;
  keeper->opening = kr_zk_open(keeper->worker, keeper->gate, &handler, keeper->opening_number,
                               timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX, careful,
                               keeper->session != NULL);
  if (!keeper->opening) {
    kr_fail(&keeper->last, KEYROUTE_E_NO_MEMORY, "out of memory");
    keeper->opened_at_us = kr_clock_us();
    lengthen_pause(keeper);
    plan_wake(keeper, pause_left(keeper));
  }
}

static void wake_up(void *arg)
{
  struct kr_zk_keeper *keeper = arg;

  keeper->wake = NULL;
  if (keeper->connected) {
    keeper->events->ready(keeper->owner);
  } else if (keeper->session == NULL) {
    want_session(keeper);
  } else if (!keeper->opening && (keeper->wanted || keeper->watched || keeper->last.code == 0)) {
    /* Once also when nobody waits just now: the next who does is told the reason. */
    begin_opening(keeper);
  }
}

/* ---- What the owner says --------------------------------------------------------------------- */

void kr_zk_keeper_want(struct kr_zk_keeper *keeper)
{
  keeper->wanted = true;
  kr_timer_stop(keeper->idle);
  keeper->idle = NULL;
  want_session(keeper);
}

static void idle_out(void *arg);

static void start_idle(struct kr_zk_keeper *keeper)
{
  int64_t idle_ms = keeper->settings->session_idle_ms;

  kr_timer_stop(keeper->idle);
  keeper->idle = idle_ms > 0 ? kr_timer_start(keeper->loop, idle_ms, idle_out, keeper) : NULL;
}

/* Nobody has asked for so long: end the session, and with it the watch, on purpose. */
static void idle_out(void *arg)
{
  struct kr_zk_keeper *keeper = arg;

  keeper->idle = NULL;
  if (keeper->opening) {
    start_idle(keeper);
    return;
  }
  lose_session(keeper);
  keeper->owing = false;
  stop_wake(keeper);
}

void kr_zk_keeper_unwant(struct kr_zk_keeper *keeper)
{
  keeper->wanted = false;
  start_idle(keeper);
}

struct kr_zk_session *kr_zk_keeper_session(const struct kr_zk_keeper *keeper)
{
  return keeper->connected ? keeper->session : NULL;
}

void kr_zk_keeper_note(struct kr_zk_keeper *keeper, const struct kr_zk_reply *reply)
{
  keeper->pause_ms = 0;
  keeper->suspect = false;
  keeper->flaps = 0;
  keeper->watched = keeper->watched || kr_zk_reply_sets_watch(reply);
}

void kr_zk_keeper_pace(struct kr_zk_keeper *keeper)
{
  if (keeper->connected) {
    plan_wake(keeper, PACE_MS);
  }
}

void kr_zk_keeper_suspect(struct kr_zk_keeper *keeper)
{
  if (keeper->connected && !keeper->opening &&
      kr_clock_us() - keeper->opened_at_us >= SUSPECT_MS * 1000) {
    keeper->suspect = true;
    begin_opening(keeper);
  }
}

void kr_zk_keeper_explain(const struct kr_zk_keeper *keeper, int64_t timeout_ms,
                          struct kr_failure *failure)
{
  const char *hosts = keeper->settings->zookeeper;

  if (!keeper->connected && keeper->last.code != 0 && keeper->last.code != KEYROUTE_E_TIMEOUT) {
    *failure = keeper->last;
  } else if (keeper->session == NULL && kr_zk_gate_resolving(keeper->gate)) {
    kr_fail(failure, KEYROUTE_E_TIMEOUT,
            "the names of ZooKeeper's hosts %.500s were not resolved within %lld ms", hosts,
            (long long)timeout_ms);
  } else {
    kr_fail(failure, KEYROUTE_E_TIMEOUT, "ZooKeeper at %.500s did not answer within %lld ms", hosts,
            (long long)timeout_ms);
  }
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

struct kr_zk_keeper *kr_zk_keeper_new(struct kr_mem *mem, struct kr_loop *loop,
                                      const struct kr_settings *settings, struct kr_stats *stats,
                                      const struct kr_zk_keeper_events *events, void *owner)
{
  struct kr_zk_keeper *keeper = kr_calloc(mem, sizeof(*keeper));

  if (keeper == NULL) {
    return NULL;
  }
  keeper->mem = kr_mem_ref(mem);
  keeper->loop = loop;
  keeper->settings = settings;
  keeper->events = events;
  keeper->owner = owner;
  keeper->stats = stats;
  keeper->check_ms = CHECK_FIRST_MS;
  keeper->dice = (uint32_t)kr_clock_us() ^ (uint32_t)((uintptr_t)keeper >> 4);
  keeper->gate = kr_zk_gate_new(loop, &settings->log, keeper, settings->zookeeper);
  /* The worker comes last, so that nothing that exists has to be closed here. */
  if (keeper->gate == NULL || kr_worker_new(&keeper->worker, loop) != 0) {
    kr_zk_keeper_free(keeper);
    return NULL;
  }
  return keeper;
}

void kr_zk_keeper_stop(struct kr_zk_keeper *keeper)
{
  kr_zk_gate_stop(keeper->gate);
  kr_timer_stop(keeper->idle);
  keeper->idle = NULL;
  stop_wake(keeper);
  lose_session(keeper);
}

/* The gate is shut last: until then the worker's jobs may log, and after it nobody may. */
void kr_zk_keeper_close(struct kr_zk_keeper *keeper, int64_t bound_ms)
{
  (void)kr_worker_close(keeper->worker, bound_ms);
  keeper->worker = NULL;
  kr_zk_gate_shut(keeper->gate);
}

void kr_zk_keeper_free(struct kr_zk_keeper *keeper)
{
  if (keeper == NULL) {
    return;
  }
  struct kr_mem *mem = keeper->mem;
  kr_zk_gate_release(keeper->gate);
  kr_free(mem, keeper);
  kr_mem_release(mem);
}
