/*
 * May I publish, and where is meta1 said to be?
 *
 * The lock is a znode beside that of meta1, "<znode>.publisher": ephemeral, so that it goes with
 * the session of whoever made it. Its value says who that is, for those who come too late. The
 * session is this publisher's own: the registry's may be ended when nobody has asked for a while.
 *
 *  1. One request at a time, each a call that waits for the session, and for its answer. A request
 *     whose connection was lost is sent again on the next one, until the lock is held. A write may
 *     find then what it has itself written.
 *  2. The lock is held from the answer on. If the session is lost after that, or replaced, it is
 *     lost for good, whatever the next session finds: meanwhile somebody else may have had it.
 *     Every write asks before (kr_range_lock_check). That leaves the moment between asking and
 *     writing, and a server that is slow to tell: so rows are only replaced if they say what was
 *     read, and the znode only in the version that was read.
 *  3. Znodes above are made as needed, without a value.
 *
 * Threads: requests wait in the publisher's thread; all else is on the loop.
 * Source: ZooKeeper Recipes and Solutions
 */
#include "lib/range_lock.h"

#include "lib/bytes.h"
#include "lib/call.h"
#include "lib/clock.h"
#include "lib/latch.h"
#include "lib/zk_keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long closing waits for the session's end; keyroute_close promises as much. */
enum { CLOSE_MS = 1000 };

/* How often the lock is tried that somebody had, and was gone when looked at. */
enum { TRIES = 5 };

struct ask;

struct kr_range_lock {
  struct keyroute_connection *conn;
  int64_t deadline_us;
  char *znode, *path; /* of meta1, and of the lock: full */
  struct kr_zk_keeper *keeper;
  struct ask *asking; /* loop */
  uint64_t asked;     /* loop: the number of the last request */
  bool held;          /* loop */
  bool lost;          /* atomic: it was held, and is not any more */
};

/* One request. Its first field is the call. */
struct ask {
  struct kr_call base;
  struct kr_range_lock *lock;
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
  ask->lock->asking = NULL;
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
  struct kr_zk_session *session = kr_zk_keeper_session(ask->lock->keeper);

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
  ask->number = ++ask->lock->asked;
  reply->read = ask->number;
  reply->version = ask->version;
  kr_zk_session_send(session, reply);
}

static void ready(void *owner)
{
  struct kr_range_lock *lock = owner;

  if (lock->asking != NULL && lock->asking->number == 0) {
    send(lock->asking);
  }
}

static void lose(struct kr_range_lock *lock)
{
  if (lock->held) {
    lock->held = false;
    __atomic_store_n(&lock->lost, true, __ATOMIC_RELEASE);
  }
}

/* What was sent will not be answered. */
static void session_lost(void *owner)
{
  struct kr_range_lock *lock = owner;

  lose(lock);
  if (lock->asking != NULL && lock->lost) {
    fail(lock->asking, KEYROUTE_E_OVERLOADED, lost_text);
  } else if (lock->asking != NULL) {
    lock->asking->number = 0;
  }
}

static void session_failed(void *owner, const struct kr_failure *failure)
{
  struct kr_range_lock *lock = owner;

  if (lock->asking != NULL && lock->asking->number == 0) {
    struct kr_failure copy = *failure;

    end(lock->asking, &copy);
  }
}

static void znode_changed(void *owner, bool renewed)
{
  (void)owner;
  (void)renewed;
}

static void replied(void *owner, struct kr_zk_reply *reply)
{
  struct kr_range_lock *lock = owner;
  struct ask *ask = lock->asking;

  if (ask == NULL || reply->read != ask->number) {
    kr_zk_reply_free(reply);
    return;
  }
  if (reply->result == KR_ZK_LOST) {
    kr_zk_reply_free(reply);
    ask->number = 0;
    kr_zk_keeper_pace(lock->keeper);
    return;
  }
  kr_zk_keeper_note(lock->keeper, reply);
  lock->held = lock->held || (ask->request == KR_ZK_LOCK && reply->result == KR_ZK_OK);
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
  kr_zk_keeper_explain(ask->lock->keeper, (kr_clock_us() - ask->base.began_us) / 1000, &failure);
  end(ask, &failure);
}

static void begin(struct kr_call *base)
{
  struct ask *ask = (struct ask *)base;
  struct kr_range_lock *lock = ask->lock;
  int64_t left_ms = (lock->deadline_us - kr_clock_us()) / 1000;

  lock->asking = ask;
  if (kr_connection_closed(base->conn)) {
    fail(ask, KEYROUTE_E_CLOSED, "the connection is being closed");
    return;
  }
  if (lock->lost) {
    fail(ask, KEYROUTE_E_OVERLOADED, lost_text);
    return;
  }
  ask->timer = kr_timer_start(base->conn->loop, left_ms > 0 ? left_ms : 1, timed_out, ask);
  if (ask->timer == NULL) {
    fail(ask, KEYROUTE_E_NO_MEMORY, "out of memory");
    return;
  }
  kr_zk_keeper_want(lock->keeper);
  send(ask);
}

static void stop(struct kr_call *base, int code)
{
  struct ask *ask = (struct ask *)base;

  if (ask->lock->asking == ask) {
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

/* ---- In the publisher's thread --------------------------------------------------------------- */

/* A request, its value NULL or what is to be written. *out  kr_zk_reply_free. */
static int ask_for(struct kr_zk_reply **out, struct kr_range_lock *lock, enum kr_zk_request request,
                   const char *path, const struct keyroute_bytes *value, int32_t version,
                   struct kr_failure *failure)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct kr_terms terms = {.began_us = kr_clock_us()};
  struct ask *ask = (struct ask *)kr_call_new(sizeof(*ask), lock->conn, &kind, &terms);

  if (ask != NULL) {
    ask->lock = lock;
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

/* What a reply means that is none of those that were hoped for. */
static int unexpected(struct kr_failure *failure, const struct kr_zk_reply *reply)
{
  return kr_fail(failure,
                 reply->result == KR_ZK_SHORT_OF_MEMORY ? KEYROUTE_E_NO_MEMORY
                 : reply->result == KR_ZK_NOT_ALLOWED   ? KEYROUTE_E_AUTH
                                                        : KEYROUTE_E_BOOTSTRAP,
                 "znode %s: %s", reply->path,
                 reply->text != NULL ? reply->text : "it cannot be used");
}

/* Make the znodes above a path. */
static int make_parents(struct kr_range_lock *lock, const char *path, struct kr_failure *failure)
{
  static const struct keyroute_bytes nothing = {"", 0};
  char *copy = kr_copy(lock->conn->mem, keyroute_string(path));
  int error = 0;

  if (copy == NULL) {
    return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  for (char *at = strchr(copy + 1, '/'); at != NULL && error == 0; at = strchr(at + 1, '/')) {
    struct kr_zk_reply *reply = NULL;

    *at = '\0';
    error = ask_for(&reply, lock, KR_ZK_CREATE, copy, &nothing, 0, failure);
    if (error == 0 && reply->result != KR_ZK_OK && reply->result != KR_ZK_NODE_THERE) {
      error = unexpected(failure, reply);
    }
    kr_zk_reply_free(reply);
    *at = '/';
  }
  kr_free(lock->conn->mem, copy);
  return error;
}

/* Create a znode, and those above it where they are missing. */
static int create(struct kr_zk_reply **out, struct kr_range_lock *lock, enum kr_zk_request request,
                  const char *path, struct keyroute_bytes value, struct kr_failure *failure)
{
  int error = ask_for(out, lock, request, path, &value, 0, failure);

  if (error != 0 || (*out)->result != KR_ZK_NO_NODE) {
    return error;
  }
  kr_zk_reply_free(*out);
  *out = NULL;
  error = make_parents(lock, path, failure);
  return error != 0 ? error : ask_for(out, lock, request, path, &value, 0, failure);
}

/* Who has the lock? 0 = nobody any more. */
static int name_holder(struct kr_range_lock *lock, struct kr_failure *failure)
{
  struct kr_zk_reply *reply = NULL;
  char holder[256];
  int error = ask_for(&reply, lock, KR_ZK_FETCH, lock->path, NULL, 0, failure);

  if (error == 0 && reply->result == KR_ZK_OK) {
    kr_bytes_print(holder, sizeof(holder), kr_bytes(reply->data, reply->len));
    error = kr_fail(failure, KEYROUTE_E_OVERLOADED, "%s publishes now: it holds znode %s", holder,
                    lock->path);
  } else if (error == 0 && reply->result != KR_ZK_NO_NODE) {
    error = unexpected(failure, reply);
  }
  kr_zk_reply_free(reply);
  return error;
}

int kr_range_lock_take(struct kr_range_lock *lock, struct kr_failure *failure)
{
  char host[128] = "", me[192];
  int error = 0;

  if (gethostname(host, sizeof(host) - 1) != 0) {
    host[0] = '\0';
  }
  snprintf(me, sizeof(me), "process %ld on %s", (long)getpid(), host);
  for (int i = 0; i < TRIES && error == 0; i++) {
    struct kr_zk_reply *reply = NULL;

    error = create(&reply, lock, KR_ZK_LOCK, lock->path, keyroute_string(me), failure);
    enum kr_zk_result result = error == 0 ? reply->result : KR_ZK_LOST;

    if (error == 0 && result != KR_ZK_OK && result != KR_ZK_NODE_THERE) {
      error = unexpected(failure, reply);
    }
    kr_zk_reply_free(reply);
    if (error != 0 || result == KR_ZK_OK) {
      return error;
    }
    error = name_holder(lock, failure);
  }
  if (error == 0) {
    error = kr_fail(failure, KEYROUTE_E_OVERLOADED, "others take znode %s, one after another",
                    lock->path);
  }
  return error;
}

int kr_range_lock_check(struct kr_range_lock *lock, struct kr_failure *failure)
{
  if (__atomic_load_n(&lock->lost, __ATOMIC_ACQUIRE)) {
    return kr_fail(failure, KEYROUTE_E_OVERLOADED, "%s", lost_text);
  }
  return 0;
}

int kr_range_lock_read(struct kr_range_lock *lock, struct kr_buf *data, int64_t *version,
                       struct kr_failure *failure)
{
  struct kr_zk_reply *reply = NULL;
  int error = ask_for(&reply, lock, KR_ZK_FETCH, lock->znode, NULL, 0, failure);

  if (error != 0) {
    return error;
  }
  if (reply->result == KR_ZK_OK) {
    *version = reply->version;
    kr_buf_bytes(data, kr_bytes(reply->data, reply->len));
  } else if (reply->result == KR_ZK_NO_NODE) {
    *version = -1;
  } else {
    error = unexpected(failure, reply);
  }
  kr_zk_reply_free(reply);
  return error;
}

/* A write did not find what it was to replace. If what it was to write stands there, it did before,
 * and its answer was lost with the connection. */
static int check_written(struct kr_range_lock *lock, struct keyroute_bytes data,
                         struct kr_failure *failure)
{
  struct kr_buf found;
  int64_t version;

  kr_buf_init(&found, lock->conn->mem);
  int error = kr_range_lock_read(lock, &found, &version, failure);

  if (error == 0 && !found.failed && !kr_bytes_equal(kr_buf_view(&found), data)) {
    error = kr_fail(failure, KEYROUTE_E_CORRUPT,
                    "znode %s has changed meanwhile: somebody else publishes", lock->znode);
  } else if (error == 0 && found.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  kr_buf_clear(&found);
  return error;
}

int kr_range_lock_write(struct kr_range_lock *lock, struct keyroute_bytes data, int64_t version,
                        struct kr_failure *failure)
{
  struct kr_zk_reply *reply = NULL;
  int error = version < 0
                  ? create(&reply, lock, KR_ZK_CREATE, lock->znode, data, failure)
                  : ask_for(&reply, lock, KR_ZK_SET, lock->znode, &data, (int32_t)version, failure);

  if (error == 0 && (reply->result == KR_ZK_NODE_THERE || reply->result == KR_ZK_OTHER_VERSION)) {
    error = check_written(lock, data, failure);
  } else if (error == 0 && reply->result != KR_ZK_OK) {
    error = unexpected(failure, reply);
  }
  kr_zk_reply_free(reply);
  return error;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* The full path of a znode beside that of meta1. NULL = out of memory. */
static char *znode_path(const struct keyroute_connection *conn, const char *suffix)
{
  const struct kr_settings *settings = conn->settings;
  size_t size = strlen(settings->chroot) + strlen(settings->parent) + 1 +
                strlen(settings->range_znode) + strlen(suffix) + 1;
  char *path = kr_alloc(conn->mem, size);

  if (path != NULL) {
    snprintf(path, size, "%s%s/%s%s", settings->chroot, settings->parent, settings->range_znode,
             suffix);
  }
  return path;
}

/* Parts may be missing. */
static void free_lock(struct kr_range_lock *lock)
{
  struct kr_mem *mem = lock->conn->mem;

  kr_zk_keeper_free(lock->keeper);
  kr_free(mem, lock->znode);
  kr_free(mem, lock->path);
  kr_free(mem, lock);
}

int kr_range_lock_open(struct kr_range_lock **out, struct keyroute_connection *conn,
                       int64_t deadline_us, struct kr_failure *failure)
{
  struct kr_range_lock *lock = kr_calloc(conn->mem, sizeof(*lock));

  if (lock == NULL) {
    goto short_of_memory;
  }
  lock->conn = conn;
  lock->deadline_us = deadline_us;
  lock->znode = znode_path(conn, "");
  lock->path = znode_path(conn, ".publisher");
  if (lock->znode == NULL || lock->path == NULL) {
    goto short_of_memory;
  }
  /* The keeper comes last: it has to be closed before it is freed. */
  lock->keeper =
      kr_zk_keeper_new(conn->mem, conn->loop, conn->settings, conn->stats, &events, lock);
  if (lock->keeper == NULL) {
    goto short_of_memory;
  }
  *out = lock;
  return 0;

short_of_memory:
  if (lock != NULL) {
    free_lock(lock);
  }
  return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
}

struct ending {
  struct kr_task task;
  struct kr_range_lock *lock;
  struct kr_latch over;
};

static void end_on_loop(struct kr_task *task)
{
  struct ending *ending = (struct ending *)(void *)task; /* its first field */

  ending->lock->held = false; /* given back, not lost */
  kr_zk_keeper_stop(ending->lock->keeper);
  kr_latch_open(&ending->over);
}

const char *kr_range_lock_znode(const struct kr_range_lock *lock)
{
  return lock->znode;
}

void kr_range_lock_close(struct kr_range_lock *lock)
{
  if (lock == NULL) {
    return;
  }
  struct ending ending = {.task.run = end_on_loop, .lock = lock, .over = KR_LATCH_INIT};

  kr_loop_post(lock->conn->loop, &ending.task);
  kr_latch_await(&ending.over);
  kr_zk_keeper_close(lock->keeper, CLOSE_MS);
  free_lock(lock);
}
