/*
 * A request to a node whose place is known, and a wait for its answer.
 *
 * It is a call like those of applications, so that closing the connection ends it; but nothing is
 * looked up for it, and nothing tried again: whoever publishes has to know how each single request
 * ended.
 *
 *  1. What is asked, and where the answer goes, are the waiting thread's: they are there as long as
 *     the call is.
 *  2. No request starts once the connection closes: the transport is shut by then.
 *
 * Threads: as call.c says.
 */
#include "lib/node_call.h"

#include "lib/call.h"
#include "lib/clock.h"

#include <string.h>

/* What is asked; the waiting thread's. */
struct question {
  const char *host;
  int port;
  int64_t deadline_us;
  const struct kr_scan *scan;     /* NULL = it is a method */
  const struct kr_method *method; /* NULL = it is a scan */
  kr_publish_take take;
  void *arg;
  struct kr_buf *reply;
  struct kr_failure *failure;
};

struct node_call {
  struct kr_call base;
  const struct question *question;
  struct kr_request *request; /* NULL = none is out */
};

/* ---- On the loop ---- */

static void end(struct node_call *call, const struct kr_failure *failure)
{
  call->request = NULL;
  if (failure->code != 0) {
    *call->question->failure = *failure; /* else it may be what take has to say */
  }
  kr_call_fail(&call->base, failure);
  kr_call_end(&call->base);
}

static void fail(struct node_call *call, int code, const char *message)
{
  struct kr_failure failure;

  kr_fail(&failure, code, "%s", message);
  end(call, &failure);
}

static void scanned(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct node_call *call = arg;

  if (failure->code == 0) {
    call->question->take(call->question->arg, rows);
  }
  end(call, failure);
}

static void answered(void *arg, const struct kr_failure *failure, struct keyroute_bytes message,
                     struct keyroute_bytes cells)
{
  struct node_call *call = arg;

  (void)cells;
  if (failure->code == 0) {
    kr_buf_bytes(call->question->reply, message);
  }
  end(call, failure);
}

static struct kr_request *send(struct node_call *call, int64_t timeout_ms)
{
  const struct question *question = call->question;
  struct kr_transport *transport = call->base.conn->transport;

  if (question->scan != NULL) {
    return transport->ops->scan(transport, question->host, question->port, question->scan,
                                timeout_ms, scanned, call);
  }
  return transport->ops->call(transport, question->host, question->port, question->method,
                              timeout_ms, answered, call);
}

static void begin(struct kr_call *base)
{
  struct node_call *call = (struct node_call *)base;
  int64_t left_ms = (call->question->deadline_us - kr_clock_us()) / 1000;
  int64_t limit_ms = base->conn->settings->rpc_timeout_ms;

  if (kr_connection_closed(base->conn)) {
    fail(call, KEYROUTE_E_CLOSED, "the connection is being closed");
  } else if (left_ms <= 0) {
    fail(call, KEYROUTE_E_TIMEOUT, "the deadline has passed");
  } else {
    call->request = send(call, left_ms < limit_ms ? left_ms : limit_ms);
    if (call->request == NULL) {
      fail(call, KEYROUTE_E_NO_MEMORY, "out of memory");
    }
  }
}

static void stop(struct kr_call *base, int code)
{
  struct node_call *call = (struct node_call *)base;

  if (call->request != NULL) {
    (void)base->conn->transport->ops->cancel(base->conn->transport, call->request);
    fail(call, code, kr_early_end(code));
  }
}

/* It is always waited for. */
static void tell(struct kr_call *base)
{
  (void)base;
}

static void give(struct kr_call *base, void *out)
{
  (void)base;
  (void)out;
}

static const struct kr_call_kind kind = {begin, stop, tell, give, kr_call_free};

/* ---- In the waiting thread ---- */

static int ask(struct keyroute_connection *conn, const struct kr_descriptor_replica *node,
               struct question *question)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct kr_terms terms = {.began_us = kr_clock_us()};
  struct kr_failure *failure = question->failure;
  char *host = kr_copy(conn->mem, node->host);
  struct node_call *call = NULL;

  memset(failure, 0, sizeof(*failure));
  if (host != NULL) {
    call = (struct node_call *)kr_call_new(sizeof(*call), conn, &kind, &terms);
  }
  question->host = host;
  question->port = node->port;
  if (call != NULL) {
    call->question = question;
  }
  int error = kr_call_wait(NULL, call != NULL ? &call->base : NULL, &detail);

  if (error != 0 && failure->code == 0) {
    kr_fail(failure, error, "%s", detail.message); /* it did not begin */
  }
  keyroute_detail_clear(&detail);
  kr_free(conn->mem, host);
  return error;
}

int kr_node_scan(struct keyroute_connection *conn, const struct kr_descriptor_replica *node,
                 const struct kr_scan *scan, int64_t deadline_us, kr_publish_take take, void *arg,
                 struct kr_failure *failure)
{
  struct question question = {
      .deadline_us = deadline_us, .scan = scan, .take = take, .arg = arg, .failure = failure};

  return ask(conn, node, &question);
}

int kr_node_call(struct keyroute_connection *conn, const struct kr_descriptor_replica *node,
                 const struct kr_method *method, int64_t deadline_us, struct kr_buf *reply,
                 struct kr_failure *failure)
{
  struct question question = {
      .deadline_us = deadline_us, .method = method, .reply = reply, .failure = failure};

  return ask(conn, node, &question);
}
