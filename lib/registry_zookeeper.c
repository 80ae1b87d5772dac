/*
 * Where the catalog's root is, according to ZooKeeper.
 *
 * A read asks for the children of the parent znode and for the value of the meta znode in one go,
 * then for the replicas' znodes that the children named. If the meta znode is not there it leaves a
 * watch for its creation (ZooKeeper keeps that watch by path, so it does not matter whether the
 * parent exists) and finds out what to tell: no such znode, no such parent, and where else a meta
 * znode stands.
 *
 * About reads:
 *  1. A read ends once: answered, failed, timed out, cancelled or forgotten. It is out of the list
 *     before its callback runs, which may start others.
 *  2. Replies name their read and its round. A read whose connection was lost begins a new round;
 *     replies to an older one, or to a read that has ended, are dropped.
 *  3. Each read asks the server. Nothing is answered from memory.
 *
 * About the session:
 *  4. At most one is in use and at most one is being opened, which looks up the names anew. What
 *     the one replaces is closed on the worker.
 *  5. When it is not connected for 200 ms, the addresses are tried (a careful opening). Some
 *     answer: a new session with these takes over. All refuse or close: it goes, and the reads that
 *     wait end with the reason. They are silent: it stays, and is tried again later and later.
 *  6. After a failure there is a pause before the next opening, with jitter, up to 2 s while
 *     somebody waits and up to 10 s else: no hot loop, whatever is wrong.
 *  7. A read that times out on a connected session without any reply makes it suspect: a server
 *     that hangs is noticed by the client only after two thirds of the session timeout.
 *  8. A session that watched the znode and is replaced owes a `changed` (nobody knows what happened
 *     meanwhile) and a new watch: both come when its successor is connected.
 *
 * All on the loop but for close. Nothing here blocks: zk_session.c and the worker do.
 * Source: HBase ZNodePaths, ZKConnectionRegistry
 */
#include "lib/registry_zookeeper.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/zk_session.h"

#define CHECK_FIRST_MS 200
#define CHECK_MAX_MS 5000
#define PAUSE_FIRST_MS 250
#define PAUSE_WAITING_MS 2000
#define PAUSE_MAX_MS 10000
#define REISSUE_MS 100
/* So many connections in a row, each shorter than this and without a reply, and the session goes.
 * */
#define FLAPS_MAX 3
#define FLAP_MS 2000
#define REWATCH_TIMEOUT_MS 30000
/* How often a znode may come and go between two requests before the read gives up. */
#define FLICKER_MAX 3
/* How many of the root's children are looked at for a hint. */
#define SIBLINGS_MAX 16
#define REPLICAS_MAX 64
/* A meta znode has some 70 bytes; ZooKeeper's own limit is 1 MiB unless configured. */
#define VALUE_MAX ((size_t)16 << 20)

/* What a request of a read is for. */
enum role {
  ROLE_CHILDREN,
  ROLE_PRIMARY,
  ROLE_CREATION, /* the watch for a znode that is not there */
  ROLE_SIBLINGS,
  ROLE_SIBLING,
  ROLE_REPLICA /* + the replica's number */
};

struct kr_root_read {
  struct kr_root_read *next;
  struct registry *registry;
  uint64_t number;
  kr_root_cb cb; /* NULL = sets the watch again, nobody waits */
  void *arg;
  struct kr_timer *timer;
  int64_t timeout_ms;
  bool issued;     /* its requests are out */
  bool heard;      /* a reply has come in this round */
  int64_t issued_at_us;
  bool no_parent;  /* as the list of children said */
  unsigned round;
  unsigned pending; /* requests out */
  unsigned flickers;
  struct kr_zk_reply *values; /* the good ones, by replica */
  struct kr_failure failure;  /* why there is no answer, code 0 = not known yet */
};

struct registry {
  struct kr_registry base;
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  const struct kr_settings *settings;
  struct kr_registry_counters *counters;
  kr_root_changed_cb changed;
  void *changed_arg;
  struct kr_worker *worker;
  struct kr_zk_gate *gate;
  char *parent; /* full paths, chroot included */
  char *znode;
  char *place;

  struct kr_root_read *reads;
  struct kr_timer *idle;
  struct kr_timer *wake;
  int64_t wake_at_us;
  uint64_t next_number;
  uint32_t dice;

  struct kr_zk_session *session;
  uint64_t session_number;
  bool connected;
  bool suspect;
  bool watched; /* this session has a watch set */
  bool owing;   /* an earlier one had */
  unsigned flaps; /* short connections in a row that brought no reply */
  int64_t connected_at_us;
  bool opening;
  uint64_t opening_number;
  int64_t opened_at_us; /* when the last opening ended */
  int64_t pause_ms;     /* 0 = the last opening went well */
  int64_t check_ms;
  struct kr_failure last; /* what is known while not connected, code 0 = nothing */
};

static void wake_up(void *arg);
static void begin_opening(struct registry *registry);
static bool issue(struct kr_root_read *read);

static void count(_Atomic uint64_t *counter)
{
  /* Relaxed: a figure for people, which orders nothing. */
  if (counter != NULL) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  }
}

/* ---- Time ----------------------------------------------------------------------------------- */

/* Between half of it and all of it. */
static int64_t jitter(struct registry *registry, int64_t ms)
{
  registry->dice = registry->dice * 1664525u + 1013904223u;
  return ms / 2 + (int64_t)(registry->dice >> 8) % (ms / 2 + 1);
}

/* Wake up after so long, or when it was planned if that is sooner. */
static void plan_wake(struct registry *registry, int64_t delay_ms)
{
  int64_t at_us = kr_clock_us() + delay_ms * 1000;

  if (registry->wake != NULL) {
    if (registry->wake_at_us <= at_us) {
      return;
    }
    kr_timer_stop(registry->wake);
  }
  registry->wake = kr_timer_start(registry->loop, delay_ms, wake_up, registry);
  registry->wake_at_us = at_us;
}

static void stop_wake(struct registry *registry)
{
  kr_timer_stop(registry->wake);
  registry->wake = NULL;
}

static int64_t pause_left(const struct registry *registry)
{
  int64_t pause_ms = registry->pause_ms;

  if (registry->reads != NULL && pause_ms > PAUSE_WAITING_MS) {
    pause_ms = PAUSE_WAITING_MS;
  }
  int64_t left_ms = pause_ms - (kr_clock_us() - registry->opened_at_us) / 1000;
  return left_ms > 0 ? left_ms : 0;
}

static void lengthen_pause(struct registry *registry)
{
  int64_t pause_ms = registry->pause_ms * 2;

  pause_ms = pause_ms < PAUSE_FIRST_MS ? PAUSE_FIRST_MS : pause_ms;
  pause_ms = pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause_ms;
  registry->pause_ms = jitter(registry, pause_ms);
}

/* The next look at a session that is not connected. */
static void plan_check(struct registry *registry)
{
  plan_wake(registry, jitter(registry, registry->check_ms));
  registry->check_ms *= 2;
  if (registry->check_ms > CHECK_MAX_MS) {
    registry->check_ms = CHECK_MAX_MS;
  }
}

/* ---- Ending reads --------------------------------------------------------------------------- */

static void free_values(struct kr_root_read *read)
{
  while (read->values != NULL) {
    struct kr_zk_reply *next = read->values->next;
    kr_zk_reply_free(read->values);
    read->values = next;
  }
}

static void idle_out(void *arg);

static void unlink_read(struct kr_root_read *read)
{
  struct registry *registry = read->registry;
  struct kr_root_read **at = &registry->reads;

  while (*at != read) {
    at = &(*at)->next;
  }
  *at = read->next;
  kr_timer_stop(read->timer);
  if (registry->reads == NULL && registry->settings->session_idle_ms > 0) {
    kr_timer_stop(registry->idle);
    registry->idle =
        kr_timer_start(registry->loop, registry->settings->session_idle_ms, idle_out, registry);
  }
}

static void free_read(struct kr_root_read *read)
{
  struct kr_mem *mem = read->registry->mem;

  free_values(read);
  kr_free(mem, read);
}

static void fail(struct kr_root_read *read, const struct kr_failure *failure)
{
  struct kr_root root = {*failure, NULL, 0, read->registry->place};

  unlink_read(read);
  if (read->cb != NULL) {
    read->cb(read->arg, &root);
  }
  free_read(read);
}

static void fail_short_of_memory(struct kr_root_read *read)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  fail(read, &failure);
}

/* The reads there are now that wait for a session; callbacks may start others, which wait on. */
static void fail_waiting(struct registry *registry, const struct kr_failure *failure)
{
  uint64_t limit = registry->next_number;
  struct kr_failure copy = *failure;
  struct kr_root_read *read = registry->reads;

  while (read != NULL) {
    if (read->issued || read->number >= limit) {
      read = read->next;
      continue;
    }
    fail(read, &copy);
    read = registry->reads;
  }
}

static int replica_of(const struct kr_zk_reply *reply)
{
  return reply->role == ROLE_PRIMARY ? 0 : reply->role - ROLE_REPLICA;
}

static void answer(struct kr_root_read *read)
{
  struct registry *registry = read->registry;
  struct kr_root root = {{0}, NULL, 0, registry->place};
  size_t count = 0;

  for (const struct kr_zk_reply *reply = read->values; reply != NULL; reply = reply->next) {
    count++;
  }
  struct kr_root_value *values = kr_alloc(registry->mem, count * sizeof(*values));
  if (values == NULL) {
    fail_short_of_memory(read);
    return;
  }
  for (const struct kr_zk_reply *reply = read->values; reply != NULL; reply = reply->next) {
    values[root.count++] = (struct kr_root_value){
        .replica = replica_of(reply),
        .data = kr_bytes(reply->data, reply->len),
    };
  }
  root.values = values;
  unlink_read(read);
  if (read->cb != NULL) {
    read->cb(read->arg, &root);
  }
  kr_free(registry->mem, values);
  free_read(read);
}

/* Back to waiting for a session. */
static void unissue(struct kr_root_read *read)
{
  read->issued = false;
  read->heard = false;
  read->round++;
  read->pending = 0;
  read->failure.code = 0;
  free_values(read);
}

/* ---- The session ---------------------------------------------------------------------------- */

static void lose_session(struct registry *registry)
{
  if (registry->session == NULL) {
    return;
  }
  kr_zk_session_close(registry->worker, registry->session);
  registry->session = NULL;
  registry->connected = false;
  registry->suspect = false;
  registry->owing = registry->owing || registry->watched;
  registry->watched = false;
  for (struct kr_root_read *read = registry->reads; read != NULL; read = read->next) {
    if (read->issued) {
      unissue(read);
    }
  }
}

/* See that there will be a session, if anybody has use for one. */
static void want_session(struct registry *registry)
{
  if (registry->connected || registry->opening || (registry->reads == NULL && !registry->owing)) {
    return;
  }
  if (registry->session != NULL) {
    plan_wake(registry, CHECK_FIRST_MS);
    return;
  }
  int64_t left_ms = pause_left(registry);
  if (left_ms > 0) {
    plan_wake(registry, left_ms);
  } else {
    begin_opening(registry);
  }
}

static void issue_waiting(struct registry *registry)
{
  struct kr_root_read *read = registry->reads;

  while (read != NULL && registry->connected) {
    if (read->issued || issue(read)) {
      read = read->next;
      continue;
    }
    fail_short_of_memory(read);
    read = registry->reads;
  }
}

static struct kr_root_read *start_read(struct registry *registry, int64_t timeout_ms, kr_root_cb cb,
                                       void *arg);

static void session_up(struct registry *registry)
{
  registry->connected = true;
  registry->connected_at_us = kr_clock_us();
  registry->last.code = 0;
  registry->check_ms = CHECK_FIRST_MS;
  stop_wake(registry);
  count(registry->counters != NULL ? &registry->counters->sessions : NULL);
  issue_waiting(registry);
  if (registry->owing) {
    registry->owing = false;
    /* Out of memory only costs the watch: whoever looks next sets it. */
    (void)start_read(registry, REWATCH_TIMEOUT_MS, NULL, NULL);
    registry->changed(registry->changed_arg);
  }
}

static void give_up_session(struct registry *registry, const struct kr_failure *failure)
{
  lose_session(registry);
  registry->last = *failure;
  registry->opened_at_us = kr_clock_us();
  lengthen_pause(registry);
  kr_log_line(&registry->settings->log, KEYROUTE_LOG_INFO, "%s", failure->message);
  fail_waiting(registry, failure);
  want_session(registry);
}

static void session_state(void *owner, uint64_t number, enum kr_zk_state state);

/* Its events may have overtaken it and have been dropped, so its state is asked for. */
static void adopt(struct registry *registry, const struct kr_zk_opening *opening)
{
  lose_session(registry);
  registry->session = opening->session;
  registry->session_number = registry->opening_number;
  registry->last = opening->failure;
  registry->check_ms = CHECK_FIRST_MS;
  plan_check(registry);
  enum kr_zk_state state = kr_zk_session_state(opening->session);
  if (state != KR_ZK_CONNECTING) {
    session_state(registry, registry->session_number, state);
  }
}

/* Whether a failed opening says nothing against the session there is. */
static bool is_soft(const struct registry *registry, const struct kr_failure *failure)
{
  return registry->session != NULL &&
         (failure->code == KEYROUTE_E_TIMEOUT || failure->code == KEYROUTE_E_RESOLVE ||
          failure->code == KEYROUTE_E_NO_MEMORY);
}

static void opened(void *owner, const struct kr_zk_opening *opening)
{
  struct registry *registry = owner;
  bool good = registry->connected && !registry->suspect;

  registry->opening = false;
  registry->opened_at_us = kr_clock_us();
  if (good) {
    if (opening->session != NULL) {
      kr_zk_session_close(registry->worker, opening->session);
    }
  } else if (opening->session != NULL) {
    adopt(registry, opening);
  } else if (is_soft(registry, &opening->failure)) {
    registry->last = opening->failure;
    registry->suspect = false;
    if (!registry->connected) {
      plan_check(registry);
    }
  } else {
    give_up_session(registry, &opening->failure);
  }
}

/* The client connects again by itself, and at once. A server that gives sessions and then closes
 * them, each time, would keep it busy for ever. */
static void session_down(struct registry *registry)
{
  struct kr_failure failure;

  registry->connected = false;
  registry->suspect = false;
  if (kr_clock_us() - registry->connected_at_us < FLAP_MS * 1000) {
    registry->flaps++;
  }
  if (registry->flaps < FLAPS_MAX) {
    plan_check(registry);
    return;
  }
  registry->flaps = 0;
  kr_fail(&failure, KEYROUTE_E_BOOTSTRAP,
          "ZooKeeper at %.500s gives a session and closes the connection before it answers",
          registry->settings->zookeeper);
  give_up_session(registry, &failure);
}

static void session_state(void *owner, uint64_t number, enum kr_zk_state state)
{
  struct registry *registry = owner;
  struct kr_failure failure;

  if (registry->session == NULL || number != registry->session_number) {
    return;
  }
  switch (state) {
  case KR_ZK_CONNECTED:
    if (!registry->connected) {
      session_up(registry);
    }
    break;
  case KR_ZK_CONNECTING:
    if (registry->connected) {
      session_down(registry);
    }
    break;
  case KR_ZK_EXPIRED:
    lose_session(registry);
    registry->opened_at_us = kr_clock_us();
    want_session(registry);
    /* A server that expires each session at once must not be asked in a loop. */
    lengthen_pause(registry);
    break;
  case KR_ZK_AUTH_FAILED:
    kr_fail(&failure, KEYROUTE_E_AUTH, "ZooKeeper at %.500s does not accept who we are",
            registry->settings->zookeeper);
    give_up_session(registry, &failure);
    break;
  }
}

static void znode_fired(void *owner, uint64_t number, const char *path)
{
  struct registry *registry = owner;

  if (registry->session == NULL || number != registry->session_number) {
    return;
  }
  kr_log_line(&registry->settings->log, KEYROUTE_LOG_DEBUG, "znode %s changed", path);
  registry->changed(registry->changed_arg);
}

static void replied(void *owner, struct kr_zk_reply *reply);

static const struct kr_zk_handler handler = {opened, session_state, znode_fired, replied};

static void begin_opening(struct registry *registry)
{
  bool careful = registry->session != NULL || registry->last.code != 0;
  int64_t timeout_ms = registry->settings->session_timeout_ms;

  stop_wake(registry);
  registry->opening_number = registry->next_number++;
  registry->opening = kr_zk_session_open(
      registry->worker, registry->gate, &handler, registry->opening_number,
      timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX, careful, registry->session != NULL);
  if (!registry->opening) {
    kr_fail(&registry->last, KEYROUTE_E_NO_MEMORY, "out of memory");
    registry->opened_at_us = kr_clock_us();
    lengthen_pause(registry);
    plan_wake(registry, pause_left(registry));
  }
}

static void wake_up(void *arg)
{
  struct registry *registry = arg;

  registry->wake = NULL;
  if (registry->connected) {
    issue_waiting(registry);
  } else if (registry->session == NULL) {
    want_session(registry);
  } else if (!registry->opening && (registry->reads != NULL || registry->watched)) {
    begin_opening(registry);
  }
}

/* Nobody has asked for so long: end the session, and with it the watch, on purpose. */
static void idle_out(void *arg)
{
  struct registry *registry = arg;

  registry->idle = NULL;
  if (registry->opening) {
    registry->idle =
        kr_timer_start(registry->loop, registry->settings->session_idle_ms, idle_out, registry);
    return;
  }
  lose_session(registry);
  registry->owing = false;
  stop_wake(registry);
}

/* ---- The steps of a read -------------------------------------------------------------------- */

/* False = out of memory. */
static bool ask(struct kr_root_read *read, enum kr_zk_request request, int role, const char *path)
{
  struct registry *registry = read->registry;
  struct kr_zk_reply *reply = kr_zk_reply_new(registry->gate, request, path);

  if (reply == NULL) {
    return false;
  }
  reply->read = read->number;
  reply->round = read->round;
  reply->role = role;
  read->pending++;
  kr_zk_session_send(registry->session, reply);
  return true;
}

static bool issue(struct kr_root_read *read)
{
  struct registry *registry = read->registry;

  read->issued = true;
  read->issued_at_us = kr_clock_us();
  read->no_parent = false;
  return ask(read, KR_ZK_LIST, ROLE_CHILDREN, registry->parent) &&
         ask(read, KR_ZK_GET, ROLE_PRIMARY, registry->znode);
}

/* dir + "/" + name, where dir may be "/". Release with kr_free. */
static char *join(struct kr_mem *mem, const char *dir, const char *name)
{
  size_t size = strlen(dir) + strlen(name) + 2;
  char *path = kr_alloc(mem, size);

  if (path != NULL) {
    snprintf(path, size, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
  }
  return path;
}

/* The number behind "meta-region-server-", 0 if the name is another one's. */
static int replica_number(const char *name, const char *meta_znode)
{
  size_t len = strlen(meta_znode);

  if (strncmp(name, meta_znode, len) != 0 || name[len] != '-' || name[len + 1] < '1' ||
      name[len + 1] > '9') {
    return 0;
  }
  char *end = NULL;
  unsigned long number = strtoul(name + len + 1, &end, 10);
  return *end == '\0' && number <= 0xFFFF ? (int)number : 0;
}

static bool heard_children(struct kr_root_read *read, const struct kr_zk_reply *reply)
{
  struct registry *registry = read->registry;
  int found = 0;

  read->no_parent = reply->result == KR_ZK_NO_NODE;
  if (reply->data == NULL) {
    return true;
  }
  const char *end = reply->data + reply->len;
  for (const char *name = reply->data; name < end; name += strlen(name) + 1) {
    int replica = replica_number(name, registry->settings->meta_znode);
    if (replica == 0 || found == REPLICAS_MAX) {
      continue;
    }
    char *path = join(registry->mem, registry->parent, name);
    bool sent = path != NULL && ask(read, KR_ZK_GET, ROLE_REPLICA + replica, path);
    kr_free(registry->mem, path);
    if (!sent) {
      return false;
    }
    found++;
  }
  return true;
}

/* Keep a value, in the order of replicas. */
static void keep(struct kr_root_read *read, struct kr_zk_reply *reply)
{
  struct kr_zk_reply **at = &read->values;

  while (*at != NULL && replica_of(*at) < replica_of(reply)) {
    at = &(*at)->next;
  }
  reply->next = *at;
  *at = reply;
}

/* True = the reply is kept. */
static bool heard_value(struct kr_root_read *read, struct kr_zk_reply *reply)
{
  if (reply->result != KR_ZK_OK || reply->len == 0 || reply->len > VALUE_MAX) {
    return false;
  }
  keep(read, reply);
  return true;
}

static void blame(struct kr_root_read *read, const struct kr_zk_reply *reply)
{
  if (reply->result == KR_ZK_NOT_ALLOWED) {
    kr_fail(&read->failure, KEYROUTE_E_AUTH, "ZooKeeper does not let us read znode %.400s: %s",
            reply->path, reply->text);
  } else if (reply->result == KR_ZK_OK) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "znode %.400s is %s", reply->path,
            reply->len == 0 ? "empty" : "too large");
  } else {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "ZooKeeper refuses to read znode %.400s: %s",
            reply->path, reply->text);
  }
}

/* What is wrong when the primary's value could not be kept. */
static bool heard_no_primary(struct kr_root_read *read, const struct kr_zk_reply *reply)
{
  if (reply->result == KR_ZK_NO_NODE) {
    return ask(read, KR_ZK_AWAIT, ROLE_CREATION, read->registry->znode);
  }
  blame(read, reply);
  return true;
}

/* Where to look for the parent that was meant: the directory the parent would be in. */
static char *siblings_dir(const struct registry *registry)
{
  const char *slash = strrchr(registry->parent, '/');
  size_t len = slash != NULL ? (size_t)(slash - registry->parent) : 0;

  return kr_copy(registry->mem, len > 0 ? kr_bytes(registry->parent, len) : keyroute_string("/"));
}

static bool ask_siblings(struct kr_root_read *read)
{
  struct registry *registry = read->registry;

  kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "no such parent %.300s", registry->parent);
  char *dir = siblings_dir(registry);
  bool sent = dir != NULL && ask(read, KR_ZK_LIST, ROLE_SIBLINGS, dir);
  kr_free(registry->mem, dir);
  return sent;
}

static bool heard_creation(struct kr_root_read *read, const struct kr_zk_reply *reply)
{
  struct registry *registry = read->registry;

  if (reply->result == KR_ZK_NO_NODE && read->no_parent) {
    return ask_siblings(read);
  }
  if (reply->result == KR_ZK_NO_NODE) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "no such znode %.400s", registry->znode);
    return true;
  }
  if (reply->result == KR_ZK_OK && ++read->flickers < FLICKER_MAX) {
    return ask(read, KR_ZK_GET, ROLE_PRIMARY, registry->znode);
  }
  if (reply->result == KR_ZK_OK) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "znode %.400s comes and goes", registry->znode);
    return true;
  }
  blame(read, reply);
  return true;
}

static void add_hint(struct kr_failure *failure, const char *front, const char *path,
                     const char *back)
{
  char shown[200];
  size_t len = strlen(failure->message);

  kr_bytes_print(shown, sizeof(shown), keyroute_string(path));
  snprintf(failure->message + len, sizeof(failure->message) - len, " (%s%s%.120s)", front, shown,
           back);
}

/* Ask of some children whether a meta znode stands there; those named as HBase's first. */
static bool heard_siblings(struct kr_root_read *read, const struct kr_zk_reply *reply)
{
  struct registry *registry = read->registry;
  int asked = 0;

  if (reply->result == KR_ZK_NO_NODE) {
    add_hint(&read->failure, "", reply->path, " does not exist either");
  }
  if (reply->data == NULL) {
    return true;
  }
  const char *end = reply->data + reply->len;
  for (int pass = 0; pass < 2; pass++) {
    for (const char *name = reply->data; name < end; name += strlen(name) + 1) {
      bool likely = strncmp(name, "hbase", 5) == 0;
      if (likely != (pass == 0) || strcmp(name, "zookeeper") == 0 || asked == SIBLINGS_MAX) {
        continue;
      }
      char *dir = join(registry->mem, reply->path, name);
      char *path =
          dir != NULL ? join(registry->mem, dir, registry->settings->meta_znode) : NULL;
      bool sent = path != NULL && ask(read, KR_ZK_EXISTS, ROLE_SIBLING, path);
      kr_free(registry->mem, path);
      kr_free(registry->mem, dir);
      if (!sent) {
        return false;
      }
      asked++;
    }
  }
  return true;
}

static void heard_sibling(struct kr_root_read *read, const struct kr_zk_reply *reply)
{
  char back[128];
  char dir[200];

  if (reply->result != KR_ZK_OK || strlen(reply->path) >= sizeof(dir)) {
    return;
  }
  memcpy(dir, reply->path, strlen(reply->path) + 1);
  *strrchr(dir, '/') = '\0';
  snprintf(back, sizeof(back), " has a %.100s", read->registry->settings->meta_znode);
  add_hint(&read->failure, "but ", dir, back);
}

/* One reply taken in. *kept says whether it now belongs to the read. False = out of memory. */
static bool hear(struct kr_root_read *read, struct kr_zk_reply *reply, bool *kept)
{
  switch (reply->role) {
  case ROLE_CHILDREN:
    return heard_children(read, reply);
  case ROLE_PRIMARY:
    *kept = heard_value(read, reply);
    return *kept || heard_no_primary(read, reply);
  case ROLE_CREATION:
    return heard_creation(read, reply);
  case ROLE_SIBLINGS:
    return heard_siblings(read, reply);
  case ROLE_SIBLING:
    heard_sibling(read, reply);
    return true;
  default:
    *kept = heard_value(read, reply);
    return true;
  }
}

static bool sets_watch(const struct kr_zk_reply *reply)
{
  return (reply->request == KR_ZK_GET && reply->result == KR_ZK_OK) ||
         (reply->request == KR_ZK_AWAIT &&
          (reply->result == KR_ZK_OK || reply->result == KR_ZK_NO_NODE));
}

static void go_on(struct kr_root_read *read, struct kr_zk_reply *reply)
{
  struct registry *registry = read->registry;
  bool kept = false;

  registry->pause_ms = 0;
  registry->suspect = false;
  registry->flaps = 0;
  registry->watched = registry->watched || sets_watch(reply);
  read->heard = true;
  bool good = reply->result != KR_ZK_SHORT_OF_MEMORY && hear(read, reply, &kept);
  if (!kept) {
    kr_zk_reply_free(reply);
  }
  if (!good) {
    fail_short_of_memory(read);
  } else if (read->pending == 0 && read->failure.code != 0) {
    struct kr_failure failure = read->failure;
    fail(read, &failure);
  } else if (read->pending == 0) {
    answer(read);
  }
}

static void replied(void *owner, struct kr_zk_reply *reply)
{
  struct registry *registry = owner;
  struct kr_root_read *read = registry->reads;

  while (read != NULL && read->number != reply->read) {
    read = read->next;
  }
  if (read == NULL || !read->issued || read->round != reply->round) {
    kr_zk_reply_free(reply);
    return;
  }
  read->pending--;
  if (reply->result != KR_ZK_LOST) {
    go_on(read, reply);
    return;
  }
  kr_zk_reply_free(reply);
  unissue(read);
  if (registry->connected) {
    plan_wake(registry, REISSUE_MS);
  }
}

/* ---- The table of functions ------------------------------------------------------------------ */

/* The most telling thing known about why there is no answer. */
static void explain_timeout(const struct kr_root_read *read, struct kr_failure *failure)
{
  struct registry *registry = read->registry;
  const char *hosts = registry->settings->zookeeper;
  long long timeout_ms = (long long)read->timeout_ms;

  if (read->failure.code != 0) {
    *failure = read->failure;
  } else if (read->issued && read->no_parent) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "no such parent %.300s", registry->parent);
  } else if (!registry->connected && registry->last.code != 0 &&
             registry->last.code != KEYROUTE_E_TIMEOUT) {
    *failure = registry->last;
  } else if (registry->session == NULL && kr_zk_gate_resolving(registry->gate)) {
    kr_fail(failure, KEYROUTE_E_TIMEOUT,
            "the names of ZooKeeper's hosts %.500s were not resolved within %lld ms", hosts,
            timeout_ms);
  } else {
    kr_fail(failure, KEYROUTE_E_TIMEOUT, "ZooKeeper at %.500s did not answer within %lld ms",
            hosts, timeout_ms);
  }
}

/* Whether this read's silence is the server's fault and worth a look at the others. A read with
 * little time says nothing, and an opening a second ago was such a look. */
static bool is_telling(const struct kr_root_read *read)
{
  const struct registry *registry = read->registry;
  int64_t now_us = kr_clock_us();

  return registry->connected && !registry->opening && read->issued && !read->heard &&
         now_us - read->issued_at_us >= 500000 && now_us - registry->opened_at_us >= 1000000;
}

static void read_timed_out(void *arg)
{
  struct kr_root_read *read = arg;
  struct registry *registry = read->registry;
  struct kr_failure failure;

  read->timer = NULL;
  explain_timeout(read, &failure);
  if (is_telling(read)) {
    registry->suspect = true;
    begin_opening(registry);
  }
  fail(read, &failure);
}

static struct kr_root_read *start_read(struct registry *registry, int64_t timeout_ms, kr_root_cb cb,
                                       void *arg)
{
  struct kr_root_read *read = kr_calloc(registry->mem, sizeof(*read));
  struct kr_root_read **at = &registry->reads;

  if (read == NULL) {
    return NULL;
  }
  read->registry = registry;
  read->number = registry->next_number++;
  read->cb = cb;
  read->arg = arg;
  read->timeout_ms = timeout_ms;
  read->timer = kr_timer_start(registry->loop, timeout_ms, read_timed_out, read);
  if (read->timer == NULL) {
    kr_free(registry->mem, read);
    return NULL;
  }
  while (*at != NULL) {
    at = &(*at)->next;
  }
  *at = read;
  kr_timer_stop(registry->idle);
  registry->idle = NULL;
  if (registry->connected && !issue(read)) {
    unlink_read(read);
    free_read(read);
    return NULL;
  }
  want_session(registry);
  return read;
}

static struct kr_root_read *read_root(struct kr_registry *base, int64_t timeout_ms, kr_root_cb cb,
                                      void *arg)
{
  struct registry *registry = (struct registry *)base;

  count(registry->counters != NULL ? &registry->counters->reads : NULL);
  return start_read(registry, timeout_ms, cb, arg);
}

static void cancel(struct kr_registry *base, struct kr_root_read *read)
{
  (void)base;
  unlink_read(read);
  free_read(read);
}

static void shut_down(struct kr_registry *base)
{
  struct registry *registry = (struct registry *)base;

  kr_zk_gate_stop(registry->gate);
  while (registry->reads != NULL) {
    struct kr_root_read *read = registry->reads;
    unlink_read(read);
    free_read(read);
  }
  kr_timer_stop(registry->idle);
  registry->idle = NULL;
  stop_wake(registry);
  lose_session(registry);
}

/* The gate is shut last: until then the worker's jobs may log, and after it nobody may. */
static void close_registry(struct kr_registry *base, int64_t bound_ms)
{
  struct registry *registry = (struct registry *)base;

  (void)kr_worker_close(registry->worker, bound_ms);
  registry->worker = NULL;
  kr_zk_gate_shut(registry->gate);
}

static void free_registry(struct kr_registry *base)
{
  struct registry *registry = (struct registry *)base;
  struct kr_mem *mem = registry->mem;

  kr_zk_gate_unref(registry->gate);
  kr_free(mem, registry->place);
  kr_free(mem, registry->znode);
  kr_free(mem, registry->parent);
  kr_free(mem, registry);
  kr_mem_unref(mem);
}

static const struct kr_registry_ops ops = {
    "zookeeper", read_root, cancel, shut_down, close_registry, free_registry,
};

static bool make_paths(struct registry *registry)
{
  const struct kr_settings *settings = registry->settings;
  struct kr_mem *mem = registry->mem;
  const char *parent = strcmp(settings->parent, "/") == 0 ? "" : settings->parent;
  size_t size = strlen(settings->chroot) + strlen(parent) + 2;

  registry->parent = kr_alloc(mem, size);
  if (registry->parent == NULL) {
    return false;
  }
  snprintf(registry->parent, size, "%s%s", settings->chroot, parent);
  if (registry->parent[0] == '\0') {
    snprintf(registry->parent, size, "/");
  }
  registry->znode = join(mem, registry->parent, settings->meta_znode);
  if (registry->znode == NULL) {
    return false;
  }
  size = strlen("znode ") + strlen(registry->znode) + 1;
  registry->place = kr_alloc(mem, size);
  if (registry->place == NULL) {
    return false;
  }
  snprintf(registry->place, size, "znode %s", registry->znode);
  return true;
}

int kr_registry_zookeeper_new(struct kr_registry **out, struct kr_mem *mem, struct kr_loop *loop,
                              const struct kr_settings *settings, kr_root_changed_cb changed,
                              void *changed_arg, struct kr_registry_counters *counters)
{
  struct registry *registry = kr_calloc(mem, sizeof(*registry));

  if (registry == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  registry->base.ops = &ops;
  registry->mem = kr_mem_ref(mem);
  registry->loop = loop;
  registry->settings = settings;
  registry->counters = counters;
  registry->changed = changed;
  registry->changed_arg = changed_arg;
  registry->next_number = 1;
  registry->check_ms = CHECK_FIRST_MS;
  registry->dice = (uint32_t)kr_clock_us() ^ (uint32_t)((uintptr_t)registry >> 4);
  registry->gate = kr_zk_gate_new(loop, &settings->log, registry, settings->zookeeper);
  /* The worker comes last, so that nothing that exists has to be closed here. */
  if (registry->gate == NULL || !make_paths(registry) ||
      kr_worker_new(&registry->worker, loop) != 0) {
    free_registry(&registry->base);
    return KEYROUTE_E_NO_MEMORY;
  }
  *out = &registry->base;
  return 0;
}
