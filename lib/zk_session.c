/*
 * One handle of ZooKeeper's C client, kept away from everything it could hold up.
 *
 * The client blocks in init and close, calls back on threads of its own, and can say two things
 * only: a session changed its state, a watch fired. This turns it into requests and replies on the
 * loop.
 *
 *  1. zookeeper_init2 and zookeeper_close run on the worker. The worker has all signals blocked,
 *     and so have the threads that the client starts there.
 *  2. The client gets numeric addresses only (zk_open.c), so that nothing in it asks a name server.
 *  3. Its threads touch a session's fixed fields, its gate, and the reply or event they carry;
 *     all of that is malloc'ed. They only post.
 *  4. A session is freed after zookeeper_close has returned, when none of its threads is left.
 *  5. zookeeper_close may drop completions that are queued but not delivered (its completion thread
 *     looks at the close flag first). So what is out is listed, and what is still listed when
 *     zookeeper_close has returned ends as LOST. The client's own few hundred bytes for it leak.
 *  6. Watches are set with one function and one context a session: the client then keeps one entry
 *     for each path however often it is read.
 *  7. Chroots are not given to the client, whose watches mishandle them: paths here are full.
 *  8. ZOO_NO_LOG_CLIENTENV: the environment report would ask the user database, which may block.
 *
 * The only file that knows zookeeper.h.  Source: zookeeper.h, ZooKeeper 3.8
 */
#ifndef THREADED
#define THREADED /* the client with threads of its own: what this is linked to */
#endif
#include "lib/zk_session.h"

#include "lib/zk_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include <zookeeper/zookeeper.h>

struct kr_zk_session {
  struct kr_job close;     /* here, so that closing cannot fail */
  struct kr_zk_gate *gate; /* counted; this and the next two set before init */
  const struct kr_zk_handler *handler;
  uint64_t number;
  zhandle_t *handle;
  int log_slot;
  pthread_mutex_t lock;
  struct kr_zk_reply *out; /* requests whose completion has not run; under the lock */
};

/* ---- Events from the client's threads ------------------------------------------------------- */

/* A state or a fired watch on its way to the loop. */
struct event {
  struct kr_task task;
  struct kr_zk_gate *gate; /* counted */
  const struct kr_zk_handler *handler;
  uint64_t session;
  enum kr_zk_state state;
  bool fired;
  char path[];
};

static void event_free(struct event *event)
{
  kr_zk_gate_release(event->gate);
  free(event);
}

static void deliver_event(struct kr_task *task)
{
  struct event *event = (struct event *)task;
  void *owner = kr_zk_gate_owner(event->gate);

  if (owner != NULL && event->fired) {
    event->handler->fired(owner, event->session, event->path);
  } else if (owner != NULL) {
    event->handler->state(owner, event->session, event->state);
  }
  event_free(event);
}

/* A lost event would be a lost watch, but there is nobody here to tell that memory is short. */
static void post_event(const struct kr_zk_session *session, enum kr_zk_state state,
                       const char *path)
{
  size_t len = path != NULL ? strlen(path) : 0;
  struct event *event = calloc(1, sizeof(*event) + len + 1);

  if (event == NULL) {
    kr_zk_gate_log(session->gate, KEYROUTE_LOG_ERROR, "out of memory: an event of ZooKeeper lost");
    return;
  }
  event->task.run = deliver_event;
  event->gate = kr_zk_gate_ref(session->gate);
  event->handler = session->handler;
  event->session = session->number;
  event->state = state;
  event->fired = path != NULL;
  memcpy(event->path, path != NULL ? path : "", len);
  if (!kr_zk_gate_post(event->gate, &event->task)) {
    event_free(event);
  }
}

static enum kr_zk_state state_of(int state)
{
  if (state == ZOO_CONNECTED_STATE) {
    return KR_ZK_CONNECTED;
  }
  if (state == ZOO_EXPIRED_SESSION_STATE) {
    return KR_ZK_EXPIRED;
  }
  return state == ZOO_AUTH_FAILED_STATE ? KR_ZK_AUTH_FAILED : KR_ZK_CONNECTING;
}

/* The handle's own watcher: sessions only. */
static void watch_session(zhandle_t *handle, int type, int state, const char *path, void *arg)
{
  (void)handle;
  (void)path;
  if (type == ZOO_SESSION_EVENT) {
    post_event(arg, state_of(state), NULL);
  }
}

/* A znode's watcher. The client tells it of session events too; those came above already. */
static void watch_znode(zhandle_t *handle, int type, int state, const char *path, void *arg)
{
  (void)handle;
  (void)state;
  if (type != ZOO_SESSION_EVENT) {
    post_event(arg, KR_ZK_CONNECTED, path != NULL ? path : "");
  }
}

/* ---- Requests and replies ------------------------------------------------------------------- */

struct kr_zk_reply *kr_zk_reply_new(const struct kr_zk_session *session, enum kr_zk_request request,
                                    const char *path)
{
  size_t size = strlen(path) + 1;
  struct kr_zk_reply *reply = calloc(1, sizeof(*reply) + size);

  if (reply == NULL) {
    return NULL;
  }
  reply->gate = kr_zk_gate_ref(session->gate);
  reply->request = request;
  memcpy(reply->path, path, size);
  return reply;
}

void kr_zk_reply_free(struct kr_zk_reply *reply)
{
  if (reply == NULL) {
    return;
  }
  kr_zk_gate_release(reply->gate);
  free(reply->data);
  free(reply);
}

bool kr_zk_reply_sets_watch(const struct kr_zk_reply *reply)
{
  return (reply->request == KR_ZK_GET && reply->result == KR_ZK_OK) ||
         (reply->request == KR_ZK_AWAIT &&
          (reply->result == KR_ZK_OK || reply->result == KR_ZK_NO_NODE));
}

static void list_out(struct kr_zk_session *session, struct kr_zk_reply *reply)
{
  reply->session = session;
  pthread_mutex_lock(&session->lock);
  DL_APPEND(session->out, reply);
  pthread_mutex_unlock(&session->lock);
}

static void unlist(struct kr_zk_reply *reply)
{
  struct kr_zk_session *session = reply->session;

  pthread_mutex_lock(&session->lock);
  DL_DELETE(session->out, reply);
  pthread_mutex_unlock(&session->lock);
  reply->next = NULL;
  reply->session = NULL;
}

static enum kr_zk_result result_of(int rc)
{
  switch (rc) {
  case ZOK:
    return KR_ZK_OK;
  case ZNONODE:
    return KR_ZK_NO_NODE;
  case ZNODEEXISTS:
    return KR_ZK_NODE_THERE;
  case ZBADVERSION:
    return KR_ZK_OTHER_VERSION;
  case ZNOAUTH:
  case ZAUTHFAILED:
  case ZSESSIONCLOSEDREQUIRESASLAUTH:
    return KR_ZK_NOT_ALLOWED;
  case ZCONNECTIONLOSS:
  case ZOPERATIONTIMEOUT:
  case ZSESSIONEXPIRED:
  case ZSESSIONMOVED:
  case ZCLOSING:
  case ZINVALIDSTATE:
    return KR_ZK_LOST;
  case ZSYSTEMERROR:
  case ZMARSHALLINGERROR:
    return KR_ZK_SHORT_OF_MEMORY;
  default:
    return KR_ZK_REFUSED;
  }
}

static void deliver_reply(struct kr_task *task)
{
  struct kr_zk_reply *reply = (struct kr_zk_reply *)task;
  void *owner = kr_zk_gate_owner(reply->gate);

  if (owner == NULL) {
    kr_zk_reply_free(reply);
    return;
  }
  reply->handler->replied(owner, reply);
}

static void post_reply(struct kr_zk_reply *reply, int rc)
{
  unlist(reply);
  if (reply->result == KR_ZK_OK) {
    reply->result = result_of(rc);
  }
  reply->text = zerror(rc);
  reply->task.run = deliver_reply;
  if (!kr_zk_gate_post(reply->gate, &reply->task)) {
    kr_zk_reply_free(reply);
  }
}

static void keep(struct kr_zk_reply *reply, const char *data, size_t len)
{
  reply->data = malloc(len + 1);
  if (reply->data == NULL) {
    reply->result = KR_ZK_SHORT_OF_MEMORY;
    return;
  }
  memcpy(reply->data, data, len);
  reply->data[len] = '\0';
  reply->len = len;
}

static void got_value(int rc, const char *value, int len, const struct Stat *stat, const void *arg)
{
  struct kr_zk_reply *reply = (struct kr_zk_reply *)(uintptr_t)arg;

  if (rc == ZOK && stat != NULL) {
    reply->version = stat->version;
  }
  if (rc == ZOK && value != NULL && len > 0) {
    keep(reply, value, (size_t)len);
  }
  post_reply(reply, rc);
}

static void got_existence(int rc, const struct Stat *stat, const void *arg)
{
  struct kr_zk_reply *reply = (struct kr_zk_reply *)(uintptr_t)arg;

  (void)stat;
  post_reply(reply, rc);
}

static void got_path(int rc, const char *path, const void *arg)
{
  (void)path;
  post_reply((struct kr_zk_reply *)(uintptr_t)arg, rc);
}

static void keep_names(struct kr_zk_reply *reply, const struct String_vector *names)
{
  size_t len = 0;

  for (int32_t i = 0; i < names->count; i++) {
    len += strlen(names->data[i]) + 1;
  }
  reply->data = malloc(len + 1);
  if (reply->data == NULL) {
    reply->result = KR_ZK_SHORT_OF_MEMORY;
    return;
  }
  for (int32_t i = 0; i < names->count; i++) {
    size_t size = strlen(names->data[i]) + 1;
    memcpy(reply->data + reply->len, names->data[i], size);
    reply->len += size;
  }
}

static void got_names(int rc, const struct String_vector *names, const void *arg)
{
  struct kr_zk_reply *reply = (struct kr_zk_reply *)(uintptr_t)arg;

  if (rc == ZOK && names != NULL) {
    keep_names(reply, names);
  }
  post_reply(reply, rc);
}

bool kr_zk_reply_set_value(struct kr_zk_reply *reply, struct keyroute_bytes value)
{
  keep(reply, value.data, value.len);
  return reply->result == KR_ZK_OK;
}

static int write_znode(zhandle_t *handle, struct kr_zk_reply *reply)
{
  int len = (int)reply->len;
  int flags = reply->request == KR_ZK_LOCK ? ZOO_EPHEMERAL : 0;

  if (reply->request == KR_ZK_SET) {
    return zoo_aset(handle, reply->path, reply->data, len, reply->version, got_existence, reply);
  }
  return zoo_acreate(handle, reply->path, reply->data, len, &ZOO_OPEN_ACL_UNSAFE, flags, got_path,
                     reply);
}

void kr_zk_session_send(struct kr_zk_session *session, struct kr_zk_reply *reply)
{
  zhandle_t *handle = session->handle;
  const char *path = reply->path;
  int rc = ZBADARGUMENTS;

  reply->handler = session->handler;
  list_out(session, reply);
  switch (reply->request) {
  case KR_ZK_GET:
    rc = zoo_awget(handle, path, watch_znode, session, got_value, reply);
    break;
  case KR_ZK_AWAIT:
    rc = zoo_awexists(handle, path, watch_znode, session, got_existence, reply);
    break;
  case KR_ZK_EXISTS:
    rc = zoo_aexists(handle, path, 0, got_existence, reply);
    break;
  case KR_ZK_LIST:
    rc = zoo_aget_children(handle, path, 0, got_names, reply);
    break;
  case KR_ZK_FETCH:
    rc = zoo_aget(handle, path, 0, got_value, reply);
    break;
  case KR_ZK_CREATE:
  case KR_ZK_LOCK:
  case KR_ZK_SET:
    rc = write_znode(handle, reply);
    break;
  }
  if (rc != ZOK) {
    post_reply(reply, rc);
  }
}

enum kr_zk_state kr_zk_session_state(const struct kr_zk_session *session)
{
  return state_of(zoo_state(session->handle));
}

/* ---- Closing -------------------------------------------------------------------------------- */

static void end_session(struct kr_zk_session *session)
{
  /* An error here means that the server could not be told; the session will expire. */
  (void)zookeeper_close(session->handle);
  session->handle = NULL;
  /* None of the client's threads is left, so the list holds still. */
  while (session->out != NULL) {
    post_reply(session->out, ZCLOSING);
  }
}

static void session_free(struct kr_zk_session *session)
{
  kr_zk_log_release(session->log_slot);
  kr_zk_gate_release(session->gate);
  pthread_mutex_destroy(&session->lock);
  free(session);
}

void kr_zk_session_end(struct kr_zk_session *session)
{
  end_session(session);
  session_free(session);
}

static void run_close(struct kr_job *job)
{
  end_session((struct kr_zk_session *)job);
}

static void done_close(struct kr_job *job)
{
  session_free((struct kr_zk_session *)job);
}

void kr_zk_session_close(struct kr_worker *worker, struct kr_zk_session *session)
{
  session->close.run = run_close;
  session->close.done = done_close;
  session->close.drop = done_close;
  session->close.always = true;
  kr_worker_submit(worker, &session->close);
}

/* ---- Making --------------------------------------------------------------------------------- */

/* Called right after zookeeper_init2, whose errno it reads. */
static void client_failed(struct kr_failure *failure, const char *addresses)
{
  int error = errno;
  const char *why = error != 0 ? strerrordesc_np(error) : NULL;

  kr_fail(failure, error == ENOMEM ? KEYROUTE_E_NO_MEMORY : KEYROUTE_E_BOOTSTRAP,
          "ZooKeeper's client does not start for %.400s: %s", addresses,
          why != NULL ? why : "it does not say why");
}

struct kr_zk_session *kr_zk_session_new(struct kr_failure *failure, struct kr_zk_gate *gate,
                                        const struct kr_zk_handler *handler, uint64_t number,
                                        int session_timeout_ms, const char *addresses)
{
  struct kr_zk_session *session = calloc(1, sizeof(*session));

  if (session == NULL) {
    kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    return NULL;
  }
  session->gate = kr_zk_gate_ref(gate);
  session->handler = handler;
  session->number = number;
  pthread_mutex_init(&session->lock, NULL);
  kr_zk_log_cb log = kr_zk_log_take(gate, &session->log_slot);
  errno = 0;
  session->handle = zookeeper_init2(addresses, watch_session, session_timeout_ms, NULL, session,
                                    ZOO_NO_LOG_CLIENTENV, log);
  if (session->handle == NULL) {
    client_failed(failure, addresses);
    session_free(session);
    return NULL;
  }
  return session;
}
