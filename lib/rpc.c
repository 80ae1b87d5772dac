/*
 * Requests over shared connections: who waits for what, until when, and what a broken connection
 * means for them all.
 *
 * There is one connection a server (host and port), made by the first request that needs it and
 * closed when it has been idle for a while. It never reconnects by itself: the next request does,
 * if there is one; retrying is retry.c's. Requests carry numbers and are answered in any order.
 *
 *  1. A request is among its connection's from start until exactly one of: answered, timed out,
 *     cancelled, connection ended. It is out of there before its callback runs, so the callback
 *     may start and cancel what it likes.
 *  2. A connection that ends leaves the list of connections first, then its requests fail in the
 *     order they were made: one that is asked again at once gets a new connection.
 *  3. Numbers are given out once: a reply to a number below next_id that nobody waits for is late
 *     and skipped, one to a number never given out breaks the connection. Before numbers run out
 *     (servers read them as signed) the connection is retired.
 *  4. A retired connection takes no new requests and is closed with its last one. Retired are also
 *     those that sent nonsense in a sound frame, and those that have been silent for a request's
 *     whole time, and for SILENT_US: a peer that has gone without a word would otherwise eat every
 *     later request too.
 *  5. A connection with requests is never idle; one that is still connecting isn't either, and is
 *     ended by the connect timeout.
 *  6. A server that takes in less than it is asked must not fill the memory: what waits to be sent
 *     to it, here while connecting and in the socket afterwards, is bounded. A request beyond fails
 *     from a timer of no length, as a local failure that speaks against nobody; one alone is sent
 *     whatever its length.
 *  7. A failure says whether its request was sent: handed to the socket, that is. What was not
 *     cannot have been done. A server that refuses a whole connection is believed to have done
 *     nothing as long as it has answered nothing on it.
 *  8. While a connection's frames are being taken (`reading`) it is not freed.
 *
 * A request is found by its number in a hash, which also keeps the order in which they were made,
 * and a connection by its server in another. Lists would do for scans, which are few, answered
 * nearly in order, and go to the few servers that hold a catalog. But 10 000 gets that are answered
 * in reverse cost a list 270 ms, and each get, where there are a thousand servers, 3 us.
 *
 * Two codecs share this machine: protobuf RPC, and 0.94's Writable RPC. SASL will be a state
 * between `opened` and the hello.
 *
 * Threads: the loop only.
 * Source: HBase ipc.NettyRpcConnection, ipc.AbstractRpcClient
 */
#include "lib/rpc.h"

#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/rpc_frames.h"
#include "lib/server.h"
#include "lib/socket.h"

#include <string.h>

/* The last number but one that is still positive in Java. */
#define LAST_ID 0x7ffffffeu

/* What is no silence yet, even if a request's whole time has passed: its sender had little. */
#define SILENT_US 1000000

/* What connections are told apart by. A longer host is of no server, and will not resolve. */
struct place {
  int port;
  char host[KR_HOST_MAX + 1];
};

struct conn {
  UT_hash_handle hh; /* by place, as long as it is open to requests */
  struct place place;
  bool listed; /* it is in that hash */
  struct conn *next;
  struct conn **link; /* what points here; NULL = not in the list any more */
  struct kr_rpc *rpc;
  struct kr_socket *socket;        /* NULL = ended */
  struct kr_rpc_request *requests; /* by number; in the order they were made */
  struct kr_timer *idle;           /* NULL = not idle */
  struct kr_rpc_frames frames;
  uint32_t next_id;
  uint32_t marks;    /* the users' */
  int64_t heard_us;  /* when the last byte came */
  size_t unsent_len; /* of its requests' frames, while it is not open */
  bool open;         /* the hello has been sent */
  bool answered;     /* some request, at some time */
  bool retired;
  bool reading;
  char server[272];
};

struct kr_rpc_request {
  UT_hash_handle hh;
  struct conn *conn;
  kr_rpc_cb cb;
  void *arg;
  struct kr_timer *timer;
  struct kr_buf unsent; /* the frame, while the connection is not open */
  int64_t timeout_ms;
  int64_t sent_us;
  bool sent; /* it has been handed to the socket */
  uint32_t id;
  char method[32]; /* for messages */
};

struct kr_rpc {
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  struct kr_worker *resolver;
  const struct kr_settings *settings;
  const struct kr_rpc_codec *codec;
  struct kr_stats *stats;
  struct conn *conns;    /* all */
  struct conn *by_place; /* those that take requests: at most one each */
  bool shut;
};

/* ---- Requests of a connection ---------------------------------------------------------------- */

static struct kr_rpc_request *find_request(struct conn *conn, uint32_t id)
{
  struct kr_rpc_request *request;

  HASH_FIND(hh, conn->requests, &id, sizeof(id), request);
  return request;
}

/* Have a connection take no more requests. */
static void retire_conn(struct conn *conn)
{
  struct kr_mem *mem = conn->rpc->mem;

  if (conn->listed) {
    HASH_DEL(conn->rpc->by_place, conn);
    conn->listed = false;
  }
  conn->retired = true;
}

/* Give a request its number and put it to the others. Returns whether there was memory for that. */
static bool add_request(struct conn *conn, struct kr_rpc_request *request)
{
  struct kr_mem *mem = conn->rpc->mem;
  bool hash_failed = false;

  request->id = conn->next_id++;
  if (request->id >= LAST_ID) {
    retire_conn(conn);
  }
  HASH_ADD(hh, conn->requests, id, sizeof(request->id), request);
  return !hash_failed;
}

/* Take a request out of everything, its memory included; what is left is whom to tell. */
static void remove_request(struct kr_rpc_request *request)
{
  struct conn *conn = request->conn;
  struct kr_mem *mem = conn->rpc->mem;

  HASH_DEL(conn->requests, request);
  conn->unsent_len -= request->unsent.len;
  kr_timer_stop(request->timer);
  kr_buf_clear(&request->unsent);
  kr_free(mem, request);
}

/* Remove a request and tell its owner why, and whether it was sent. */
static void fail_request(struct kr_rpc_request *request, const struct kr_failure *failure)
{
  struct kr_failure own = *failure;
  kr_rpc_cb cb = request->cb;
  void *arg = request->arg;

  own.sent = request->sent;
  remove_request(request);
  cb(arg, &own, NULL);
}

/* ---- The end of a connection ---------------------------------------------------------------- */

static void unlist_conn(struct conn *conn)
{
  retire_conn(conn);
  if (conn->link != NULL) {
    *conn->link = conn->next;
    if (conn->next != NULL) {
      conn->next->link = conn->link;
    }
    conn->link = NULL;
  }
}

static void free_conn(struct conn *conn)
{
  kr_rpc_frames_clear(&conn->frames);
  kr_free(conn->rpc->mem, conn);
}

/* End a connection; its requests get the failure. The connection is gone afterwards, or, while it
 * is being read, has no socket any more. */
static void end_conn(struct conn *conn, const struct kr_failure *failure)
{
  unlist_conn(conn);
  kr_timer_stop(conn->idle);
  conn->idle = NULL;
  kr_socket_close(conn->socket);
  conn->socket = NULL;
  bool reading = conn->reading;

  conn->reading = true; /* callbacks may cancel requests here, which must not free it under us */
  while (conn->requests != NULL) {
    fail_request(conn->requests, failure);
  }
  conn->reading = reading;
  if (!reading) {
    free_conn(conn);
  }
}

static void end_conn_with(struct conn *conn, struct kr_failure *failure)
{
  kr_fail_name_server(failure, conn->server);
  kr_log_line(&conn->rpc->settings->log, KEYROUTE_LOG_WARNING, "%s", failure->message);
  end_conn(conn, failure);
}

static void end_conn_no_memory(struct conn *conn)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  end_conn_with(conn, &failure);
}

static void idle_fired(void *arg)
{
  struct conn *conn = arg;

  conn->idle = NULL;
  kr_log_line(&conn->rpc->settings->log, KEYROUTE_LOG_DEBUG, "connection to %s closed: idle",
              conn->server);
  end_conn(conn, NULL);
}

/* A request has left: the connection may have nothing more to do. It may be gone afterwards. */
static void rest_conn(struct conn *conn)
{
  int64_t idle_ms = conn->rpc->settings->connection_idle_ms;

  if (conn->requests != NULL || conn->socket == NULL || !conn->open) {
    return;
  }
  if (conn->retired) {
    end_conn(conn, NULL);
  } else if (idle_ms > 0 && conn->idle == NULL) {
    /* Without memory for a timer it stays until it is used again or the server closes it. */
    conn->idle = kr_timer_start(conn->rpc->loop, idle_ms, idle_fired, conn);
  }
}

/* ---- Replies -------------------------------------------------------------------------------- */

static void answer_request(struct conn *conn, struct kr_rpc_request *request,
                           struct kr_rpc_reply *reply)
{
  bool failed = reply->failure.code != 0;
  kr_rpc_cb cb = request->cb;
  void *arg = request->arg;

  remove_request(request);
  conn->answered = true;
  if (failed) {
    kr_fail_name_server(&reply->failure, conn->server);
    reply->failure.sent = true;
  }
  if (!cb(arg, &reply->failure, failed ? NULL : reply)) {
    retire_conn(conn);
  }
  rest_conn(conn);
}

/* Deal with one reply; the connection may have ended afterwards. */
static void take_reply(struct conn *conn, struct kr_rpc_reply *reply)
{
  struct kr_rpc_request *request = reply->for_all ? NULL : find_request(conn, reply->id);

  reply->server = conn->server;
  if (reply->for_all) {
    reply->failure.refused = reply->failure.refused && !conn->answered;
    end_conn_with(conn, &reply->failure);
  } else if (request != NULL) {
    answer_request(conn, request, reply);
  } else if (reply->id >= conn->next_id) {
    kr_fail(&reply->failure, KEYROUTE_E_PROTOCOL, "reply to call %lu, which was never made",
            (unsigned long)reply->id);
    end_conn_with(conn, &reply->failure);
  }
}

/* Take all that are whole. The connection may have ended afterwards. */
static void take_replies(struct conn *conn)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  bool found = true;

  while (found && conn->socket != NULL) {
    if (kr_rpc_frames_next(&found, &reply, &conn->frames, &failure) != 0) {
      end_conn_with(conn, &failure);
    } else if (found) {
      take_reply(conn, &reply);
    }
  }
}

static void conn_received(void *arg, struct keyroute_bytes bytes)
{
  struct conn *conn = arg;

  conn->heard_us = kr_clock_us();
  if (kr_rpc_frames_add(&conn->frames, bytes) != 0) {
    end_conn_no_memory(conn);
    return;
  }
  conn->reading = true;
  take_replies(conn);
  conn->reading = false;
  if (conn->socket == NULL) {
    free_conn(conn);
  }
}

/* ---- Opening and sending -------------------------------------------------------------------- */

static int send_request(struct kr_rpc_request *request, struct kr_buf *frame)
{
  struct conn *conn = request->conn;
  size_t len = frame->len;
  int error = kr_socket_write(conn->socket, frame);

  if (error == 0) {
    conn->unsent_len -= len;
    request->sent = true;
    request->sent_us = kr_clock_us();
    kr_stats_add(conn->rpc->stats, KR_COUNT_RPCS, 1);
  }
  return error;
}

static int send_hello(struct conn *conn)
{
  struct kr_buf hello;

  kr_buf_init(&hello, conn->rpc->mem);
  conn->rpc->codec->hello(&hello, conn->rpc->settings);
  int error = kr_socket_write(conn->socket, &hello);

  kr_buf_clear(&hello);
  return error;
}

static void conn_opened(void *arg)
{
  struct conn *conn = arg;
  int error = send_hello(conn);

  kr_stats_add(conn->rpc->stats, KR_COUNT_CONNECTS, 1);
  conn->open = true;
  conn->heard_us = kr_clock_us();
  kr_log_line(&conn->rpc->settings->log, KEYROUTE_LOG_DEBUG, "connected to %s", conn->server);
  for (struct kr_rpc_request *at = conn->requests; at != NULL && error == 0; at = at->hh.next) {
    if (at->unsent.len > 0) { /* else it was refused */
      error = send_request(at, &at->unsent);
    }
  }
  if (error != 0) {
    end_conn_no_memory(conn);
  } else {
    rest_conn(conn); /* they may all have gone meanwhile */
  }
}

static void conn_closed(void *arg, const struct kr_failure *failure)
{
  struct conn *conn = arg;

  conn->socket = NULL; /* it has gone by itself */
  kr_log_line(&conn->rpc->settings->log, KEYROUTE_LOG_INFO, "%s", failure->message);
  end_conn(conn, failure);
}

static const struct kr_socket_events conn_events = {conn_opened, conn_received, conn_closed};

/* Returns the length of what is to be hashed, 0 for the host of no server. */
static size_t set_place(struct place *out, const char *host, int port)
{
  size_t len = strlen(host);

  if (len > KR_HOST_MAX) {
    return 0;
  }
  out->port = port;
  memcpy(out->host, host, len);
  return offsetof(struct place, host) + len;
}

/* Have a connection be found by requests. Returns whether there was memory for that. */
static bool list_conn(struct conn *conn, const char *host, int port)
{
  struct kr_mem *mem = conn->rpc->mem;
  size_t len = set_place(&conn->place, host, port);
  bool hash_failed = false;

  if (len > 0) {
    HASH_ADD(hh, conn->rpc->by_place, place, (unsigned)len, conn);
    conn->listed = !hash_failed;
  }
  return !hash_failed;
}

/* NULL = out of memory. */
static struct conn *new_conn(struct kr_rpc *rpc, const char *host, int port)
{
  struct conn *conn = kr_calloc(rpc->mem, sizeof(*conn));

  if (conn == NULL) {
    return NULL;
  }
  conn->rpc = rpc;
  kr_server_print(conn->server, sizeof(conn->server), host, port);
  kr_rpc_frames_init(&conn->frames, rpc->mem, rpc->settings, rpc->codec);
  conn->socket = kr_socket_open(rpc->mem, rpc->loop, rpc->resolver, host, port,
                                rpc->settings->connect_timeout_ms, &conn_events, conn);
  if (conn->socket == NULL || !list_conn(conn, host, port)) {
    kr_socket_close(conn->socket);
    free_conn(conn);
    return NULL;
  }
  conn->next = rpc->conns;
  conn->link = &rpc->conns;
  if (conn->next != NULL) {
    conn->next->link = &conn->next;
  }
  rpc->conns = conn;
  return conn;
}

/* The connection to a server that takes requests; NULL = there is none. */
static struct conn *find_conn(struct kr_rpc *rpc, const char *host, int port)
{
  struct place place;
  size_t len = set_place(&place, host, port);
  struct conn *conn = NULL;

  if (len > 0) {
    HASH_FIND(hh, rpc->by_place, &place, (unsigned)len, conn);
  }
  return conn;
}

/* The same; made if there is none. NULL = out of memory. */
static struct conn *get_conn(struct kr_rpc *rpc, const char *host, int port)
{
  struct conn *conn = find_conn(rpc, host, port);

  return conn != NULL ? conn : new_conn(rpc, host, port);
}

uint32_t *kr_rpc_marks(struct kr_rpc *rpc, const char *host, int port)
{
  struct conn *conn = find_conn(rpc, host, port);

  return conn != NULL ? &conn->marks : NULL;
}

/* ---- Requests ------------------------------------------------------------------------------- */

static void request_timed_out(void *arg)
{
  struct kr_rpc_request *request = arg;
  struct conn *conn = request->conn;
  bool open = conn->open;
  struct kr_failure failure;
  kr_rpc_cb cb = request->cb;

  request->timer = NULL;
  arg = request->arg;
  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "no answer to %s within %lld ms%s", request->method,
          (long long)request->timeout_ms, open ? "" : ", still connecting");
  kr_fail_name_server(&failure, conn->server);
  failure.sent = request->sent;
  if (open && conn->heard_us <= request->sent_us && kr_clock_us() - conn->heard_us >= SILENT_US) {
    retire_conn(conn);
  }
  remove_request(request);
  rest_conn(conn);
  cb(arg, &failure, NULL);
}

/* ---- Requests beyond the bound (invariant 6) ---- */

static size_t waiting_len(const struct conn *conn)
{
  return conn->open ? kr_socket_waiting(conn->socket) : conn->unsent_len;
}

static void request_refused(void *arg)
{
  struct kr_rpc_request *request = arg;
  struct conn *conn = request->conn;
  struct kr_failure failure;
  kr_rpc_cb cb = request->cb;

  request->timer = NULL;
  arg = request->arg;
  kr_fail(&failure, KEYROUTE_E_OVERLOADED,
          "more than %zu bytes wait to be sent (keyroute.server.queue.max.bytes)",
          conn->rpc->settings->max_queue_len);
  kr_fail_name_server(&failure, conn->server);
  remove_request(request);
  rest_conn(conn);
  cb(arg, &failure, NULL);
}

/* May the frame just written join those that wait? If not, the request is as good as refused. */
static bool has_room(const struct kr_rpc_request *request)
{
  const struct conn *conn = request->conn;
  size_t waiting = waiting_len(conn);

  return waiting == 0 || waiting + request->unsent.len <= conn->rpc->settings->max_queue_len;
}

static int refuse_request(struct kr_rpc_request *request)
{
  struct kr_rpc *rpc = request->conn->rpc;

  kr_buf_clear(&request->unsent);
  kr_stats_add(rpc->stats, KR_COUNT_REFUSED, 1);
  request->timer = kr_timer_start(rpc->loop, 0, request_refused, request);
  return request->timer != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

/* Write a request's frame, and send it if the connection is open. */
static int prepare_request(struct kr_rpc_request *request, const struct kr_rpc_call *call)
{
  struct conn *conn = request->conn;
  struct kr_rpc *rpc = conn->rpc;

  rpc->codec->request(&request->unsent, request->id, call);
  if (request->unsent.failed) {
    kr_buf_clear(&request->unsent);
    return KEYROUTE_E_NO_MEMORY;
  }
  if (!has_room(request)) {
    return refuse_request(request);
  }
  conn->unsent_len += request->unsent.len;
  request->timer = kr_timer_start(rpc->loop, call->timeout_ms, request_timed_out, request);
  if (request->timer == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  return conn->open ? send_request(request, &request->unsent) : 0;
}

struct kr_rpc_request *kr_rpc_start(struct kr_rpc *rpc, const char *host, int port,
                                    const struct kr_rpc_call *call, kr_rpc_cb cb, void *arg)
{
  struct conn *conn = rpc->shut ? NULL : get_conn(rpc, host, port);
  struct kr_rpc_request *request = conn != NULL ? kr_calloc(rpc->mem, sizeof(*request)) : NULL;

  if (request == NULL) {
    return NULL; /* a connection just made stays, for the next request or its timeouts to end */
  }
  request->conn = conn;
  request->cb = cb;
  request->arg = arg;
  request->timeout_ms = call->timeout_ms;
  memcpy(request->method, call->method, strnlen(call->method, sizeof(request->method) - 1));
  kr_buf_init(&request->unsent, rpc->mem);
  if (!add_request(conn, request)) {
    kr_free(rpc->mem, request);
    rest_conn(conn);
    return NULL;
  }
  if (prepare_request(request, call) != 0) {
    remove_request(request);
    rest_conn(conn);
    return NULL;
  }
  kr_timer_stop(conn->idle);
  conn->idle = NULL;
  return request;
}

bool kr_rpc_cancel(struct kr_rpc_request *request)
{
  struct conn *conn = request->conn;
  bool sent = request->sent;

  remove_request(request);
  rest_conn(conn);
  return sent;
}

/* ---- All of it ------------------------------------------------------------------------------ */

struct kr_rpc *kr_rpc_new(struct kr_mem *mem, struct kr_loop *loop, struct kr_worker *resolver,
                          const struct kr_settings *settings, const struct kr_rpc_codec *codec,
                          struct kr_stats *stats)
{
  struct kr_rpc *rpc = kr_calloc(mem, sizeof(*rpc));

  if (rpc != NULL) {
    rpc->mem = kr_mem_ref(mem);
    rpc->loop = loop;
    rpc->resolver = resolver;
    rpc->settings = settings;
    rpc->codec = codec;
    rpc->stats = stats;
  }
  return rpc;
}

void kr_rpc_shutdown(struct kr_rpc *rpc)
{
  struct kr_failure failure;

  rpc->shut = true;
  while (rpc->conns != NULL) {
    struct conn *conn = rpc->conns;

    kr_fail(&failure, KEYROUTE_E_CLOSED, "the connection is being closed");
    kr_fail_name_server(&failure, conn->server);
    end_conn(conn, &failure);
  }
}

void kr_rpc_free(struct kr_rpc *rpc)
{
  if (rpc != NULL) {
    struct kr_mem *mem = rpc->mem;

    kr_free(mem, rpc);
    kr_mem_release(mem);
  }
}
