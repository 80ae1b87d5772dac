/*
 * Requests to ZooKeeper over a session of one's own, each of which its thread waits for.
 *
 * The registry's session may be ended when nobody has asked for a while; whoever holds a lock needs
 * one that stays.
 *
 *  1. One request at a time, each a call that waits for the session, and for its answer. A request
 *     whose connection was lost is sent again on the next one, until a lock is held.
 *  2. A lock is held from the answer on. If the session is lost after that, or replaced, it is lost
 *     for good, whatever the next session finds: meanwhile somebody else may have had it.
 *
 * Threads: requests wait in the thread that asks; all else is on the loop.
 */
#include "lib/zk_ask.h"

#include "lib/bytes.h"
#include "lib/call.h"
#include "lib/clock.h"
#include "lib/latch.h"
#include "lib/zk_keeper.h"

/* How long closing waits for the session's end; keyroute_close promises as much. */
enum { CLOSE_MS = 1000 };

struct ask;

struct kr_zk_asker {
  struct keyroute_connection *conn;
  int64_t deadline_us;
  struct kr_zk_keeper *keeper;
  struct ask *asking; /* loop */
  uint64_t asked;     /* loop: the number of the last request */
  bool held;          /* loop: a lock */
  bool lost;          /* atomic: it was held, and is not any more */
};

/* One request. Its first field is the call. */
struct ask {
  struct kr_call base;
  struct kr_zk_asker *asker;
  enum kr_zk_request request;
  const char *path; /* this and the value are the waiting thread's */
  struct keyroute_bytes value;
  int32_t version;
  uint64_t number; /* of the request that is out; 0 = none */
  struct kr_timer *timer;
  struct kr_zk_reply *reply;
};

/* ---- On the loop ----------------------------------------------------------------------------- */

static void end(struct ask *ask, const struct kr_failure *failure)
{
  ask->asker->asking = NULL;
  kr_timer_stop(ask->timer);
  ask->timer = NULL;
  if (failure != NULL) {
    kr_call_fail(&ask->base, failure);
  }
  kr_call_end(&ask->base);
}

static void fail(struct ask *ask, int code, const char *message)
{
  struct kr_failure failure;

  kr_fail(&failure, code, "%s", message);
  end(ask, &failure);
}

static const char lost_text[] =
    "the session with ZooKeeper was lost, and with it the lock: somebody else may publish now";

static void send(struct ask *ask)
{
  struct kr_zk_session *session = kr_zk_keeper_session(ask->asker->keeper);

  if (session == NULL) {
    return; /* ready will come */
  }
  struct kr_zk_reply *reply = kr_zk_reply_new(session, ask->request, ask->path);
  bool writes = ask->value.data != NULL;

  if (reply == NULL || (writes && !kr_zk_reply_set_value(reply, ask->value))) {
    kr_zk_reply_free(reply);
    fail(ask, KEYROUTE_E_NO_MEMORY, "out of memory");
    return;
  }
  ask->number = ++ask->asker->asked;
  reply->read = ask->number;
  reply->version = ask->version;
  kr_zk_session_send(session, reply);
}

static void ready(void *owner)
{
  struct kr_zk_asker *asker = owner;

  if (asker->asking != NULL && asker->asking->number == 0) {
    send(asker->asking);
  }
}

static void lose(struct kr_zk_asker *asker)
{
  if (asker->held) {
    asker->held = false;
    __atomic_store_n(&asker->lost, true, __ATOMIC_RELEASE);
  }
}

/* What was sent will not be answered. */
static void session_lost(void *owner)
{
  struct kr_zk_asker *asker = owner;

  lose(asker);
  if (asker->asking != NULL && asker->lost) {
    fail(asker->asking, KEYROUTE_E_OVERLOADED, lost_text);
  } else if (asker->asking != NULL) {
    asker->asking->number = 0;
  }
}

static void session_failed(void *owner, const struct kr_failure *failure)
{
  struct kr_zk_asker *asker = owner;

  if (asker->asking != NULL && asker->asking->number == 0) {
    struct kr_failure copy = *failure;

    end(asker->asking, &copy);
  }
}

static void znode_changed(void *owner, bool renewed)
{
  (void)owner;
  (void)renewed;
}

static void replied(void *owner, struct kr_zk_reply *reply)
{
  struct kr_zk_asker *asker = owner;
  struct ask *ask = asker->asking;

  if (ask == NULL || reply->read != ask->number) {
    kr_zk_reply_free(reply);
    return;
  }
  if (reply->result == KR_ZK_LOST) {
    kr_zk_reply_free(reply);
    ask->number = 0;
    kr_zk_keeper_pace(asker->keeper);
    return;
  }
  kr_zk_keeper_note(asker->keeper, reply);
  asker->held = asker->held || (ask->request == KR_ZK_LOCK && reply->result == KR_ZK_OK);
  ask->reply = reply;
  end(ask, NULL);
}

static const struct kr_zk_keeper_events events = {
    ready, session_lost, session_failed, znode_changed, replied,
};

static void timed_out(void *arg)
{
  struct ask *ask = arg;
  struct kr_failure failure;

  ask->timer = NULL;
  kr_zk_keeper_explain(ask->asker->keeper, (kr_clock_us() - ask->base.began_us) / 1000, &failure);
  end(ask, &failure);
}

static void begin(struct kr_call *base)
{
  struct ask *ask = (struct ask *)base;
  struct kr_zk_asker *asker = ask->asker;
  int64_t left_ms = (asker->deadline_us - kr_clock_us()) / 1000;

  asker->asking = ask;
  if (kr_connection_closed(base->conn)) {
    fail(ask, KEYROUTE_E_CLOSED, "the connection is being closed");
    return;
  }
  if (asker->lost) {
    fail(ask, KEYROUTE_E_OVERLOADED, lost_text);
    return;
  }
  ask->timer = kr_timer_start(base->conn->loop, left_ms > 0 ? left_ms : 1, timed_out, ask);
  if (ask->timer == NULL) {
    fail(ask, KEYROUTE_E_NO_MEMORY, "out of memory");
    return;
  }
  kr_zk_keeper_want(asker->keeper);
  send(ask);
}

static void stop(struct kr_call *base, int code)
{
  struct ask *ask = (struct ask *)base;

  if (ask->asker->asking == ask) {
    fail(ask, code, kr_early_end(code));
  }
}

/* It is always waited for. */
static void tell(struct kr_call *base)
{
  (void)base;
}

static void give(struct kr_call *base, void *out)
{
  struct ask *ask = (struct ask *)base;

  *(struct kr_zk_reply **)out = ask->reply;
  ask->reply = NULL;
}

static void free_ask(struct kr_call *base)
{
  kr_zk_reply_free(((struct ask *)base)->reply);
  kr_call_free(base);
}

static const struct kr_call_kind kind = {begin, stop, tell, give, free_ask};

/* ---- In the thread that asks ----------------------------------------------------------------- */

int kr_zk_ask(struct kr_zk_reply **out, struct kr_zk_asker *asker, enum kr_zk_request request,
              const char *path, const struct keyroute_bytes *value, int32_t version,
              struct kr_failure *failure)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct kr_terms terms = {.began_us = kr_clock_us()};
  struct ask *ask = (struct ask *)kr_call_new(sizeof(*ask), asker->conn, &kind, &terms);

  if (ask != NULL) {
    ask->asker = asker;
    ask->request = request;
    ask->path = path;
    ask->value = value != NULL ? *value : kr_bytes(NULL, 0);
    ask->version = version;
  }
  int error = kr_call_wait(out, ask != NULL ? &ask->base : NULL, &detail);

  if (error != 0) {
    kr_fail(failure, error, "%s", detail.message);
  }
  keyroute_detail_clear(&detail);
  return error;
}

int kr_zk_asker_check(struct kr_zk_asker *asker, struct kr_failure *failure)
{
  return __atomic_load_n(&asker->lost, __ATOMIC_ACQUIRE)
             ? kr_fail(failure, KEYROUTE_E_OVERLOADED, "%s", lost_text)
             : 0;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

struct kr_zk_asker *kr_zk_asker_open(struct keyroute_connection *conn, int64_t deadline_us)
{
  struct kr_zk_asker *asker = kr_calloc(conn->mem, sizeof(*asker));

  if (asker == NULL) {
    return NULL;
  }
  asker->conn = conn;
  asker->deadline_us = deadline_us;
  asker->keeper =
      kr_zk_keeper_new(conn->mem, conn->loop, conn->settings, conn->stats, &events, asker);
  if (asker->keeper == NULL) {
    kr_free(conn->mem, asker);
    return NULL;
  }
  return asker;
}

struct ending {
  struct kr_task task;
  struct kr_zk_asker *asker;
  struct kr_latch over;
};

static void end_on_loop(struct kr_task *task)
{
  struct ending *ending = (struct ending *)(void *)task; /* its first field */

  ending->asker->held = false; /* given back, not lost */
  kr_zk_keeper_stop(ending->asker->keeper);
  kr_latch_open(&ending->over);
}

void kr_zk_asker_close(struct kr_zk_asker *asker)
{
  if (asker == NULL) {
    return;
  }
  struct ending ending = {.task.run = end_on_loop, .asker = asker};

  kr_latch_init(&ending.over);
  kr_loop_post(asker->conn->loop, &ending.task);
  kr_latch_await(&ending.over);
  kr_zk_keeper_close(asker->keeper, CLOSE_MS);
  kr_zk_keeper_free(asker->keeper);
  kr_free(asker->conn->mem, asker);
}
