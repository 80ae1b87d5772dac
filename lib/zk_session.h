#ifndef KR_ZK_SESSION_H
#define KR_ZK_SESSION_H

#include "lib/error.h"
#include "lib/worker.h"
#include "lib/zk_gate.h"

/* One handle of ZooKeeper's client. Made and ended on a worker, used on the loop. */
struct kr_zk_session;
struct kr_zk_handler;
struct kr_zk_opening; /* zk_open.h */

enum kr_zk_state { KR_ZK_CONNECTING, KR_ZK_CONNECTED, KR_ZK_EXPIRED, KR_ZK_AUTH_FAILED };

/* How one request went, as far as who reads or writes znodes needs to know. */
enum kr_zk_result {
  KR_ZK_OK,
  KR_ZK_NO_NODE,
  KR_ZK_NODE_THERE,    /* to a create: it is there already */
  KR_ZK_OTHER_VERSION, /* to a set: it has been written meanwhile */
  KR_ZK_NOT_ALLOWED,
  KR_ZK_LOST, /* the connection or the session went away meanwhile: ask again */
  KR_ZK_SHORT_OF_MEMORY,
  KR_ZK_REFUSED /* anything else; reply->text says what */
};

enum kr_zk_request {
  KR_ZK_GET,    /* value; with a watch on the znode if it is there */
  KR_ZK_AWAIT,  /* existence; with a watch on its creation */
  KR_ZK_EXISTS, /* existence */
  KR_ZK_LIST,   /* names of the children */
  KR_ZK_FETCH,  /* value and version; no watch */
  KR_ZK_CREATE, /* a znode with the value; everybody may do anything with it, as with the next */
  KR_ZK_LOCK,   /* the same, and it goes with the session */
  KR_ZK_SET     /* the value, if the znode has this version */
};

/* A request, and then its reply: malloc'ed, since ZooKeeper's threads fill it in and may outlive
 * the connection. Free it with kr_zk_reply_free. */
struct kr_zk_reply {
  struct kr_task task;
  struct kr_zk_reply *next; /* the holder's; zk_session.c's while it is out, as the next two */
  struct kr_zk_reply *prev;
  struct kr_zk_session *session;
  struct kr_zk_gate *gate; /* counted */
  const struct kr_zk_handler *handler;
  enum kr_zk_request request;
  uint64_t read; /* these three: the asker's own */
  unsigned round;
  int role;
  enum kr_zk_result result;
  const char *text; /* static */
  char *data;       /* the value, or names with a NUL behind each; the reply's own. Of a request
                     * that writes: what is written */
  size_t len;
  int32_t version; /* FETCH: the znode's; SET: which one it is to have, the asker's */
  char path[];
};

/* What the loop gets to hear, with the gate's owner; not called once the gate is stopped. */
struct kr_zk_handler {
  void (*opened)(void *owner, const struct kr_zk_opening *opening);
  void (*state)(void *owner, uint64_t session, enum kr_zk_state state);
  void (*fired)(void *owner, uint64_t session, const char *path); /* a watch: it changed */
  void (*replied)(void *owner, struct kr_zk_reply *reply);        /* yours to free */
};

/* On the worker, as the next: blocks. Make a handle for numeric addresses; handler and number are
 * as for kr_zk_open. NULL = failure says why. */
struct kr_zk_session *kr_zk_session_new(struct kr_failure *failure, struct kr_zk_gate *gate,
                                        const struct kr_zk_handler *handler, uint64_t number,
                                        int session_timeout_ms, const char *addresses);

/* End it here and now. */
void kr_zk_session_end(struct kr_zk_session *session);

/* End it on the worker. Replies under way come as LOST; a state or a watch may still be reported
 * under its number. */
void kr_zk_session_close(struct kr_worker *worker, struct kr_zk_session *session);

/* On the loop. The client's own idea; also right when an event has not got through yet. */
enum kr_zk_state kr_zk_session_state(const struct kr_zk_session *session);

/* On the loop. Send a request; it comes back through replied, always later and always once (as long
 * as the gate is open). */
void kr_zk_session_send(struct kr_zk_session *session, struct kr_zk_reply *reply);

/* A request to send to this session. NULL = out of memory. */
struct kr_zk_reply *kr_zk_reply_new(const struct kr_zk_session *session, enum kr_zk_request request,
                                    const char *path);
void kr_zk_reply_free(struct kr_zk_reply *reply);

/* What a request is to write. False = out of memory. */
bool kr_zk_reply_set_value(struct kr_zk_reply *reply, struct keyroute_bytes value);

/* Whether the session watches the znode now, for its change or its creation. */
bool kr_zk_reply_sets_watch(const struct kr_zk_reply *reply);

#endif
