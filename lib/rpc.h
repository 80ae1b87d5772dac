#ifndef KR_RPC_H
#define KR_RPC_H

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/loop.h"
#include "lib/settings.h"
#include "lib/stats.h"
#include "lib/worker.h"

/* Connections to servers, and requests multiplexed over them by number. It knows neither methods
 * nor the bytes of a frame: those are the codec's. All on the loop thread. */
struct kr_rpc;
struct kr_rpc_request; /* one under way */

/* What is asked. */
struct kr_rpc_call {
  const char *method;
  struct keyroute_bytes param; /* encoded as the codec's protocol wants it */
  struct keyroute_bytes cells; /* behind it; mostly none */
  uint32_t priority;           /* 0 = what the server thinks fit */
  int64_t timeout_ms;          /* for connecting, sending and the answer together */
};

/* One frame from a server: views into it. */
struct kr_rpc_reply {
  uint32_t id;
  bool for_all;              /* about the connection, not about one request */
  struct kr_failure failure; /* the server's exception, code 0 = none; without the server's name */
  struct keyroute_bytes body;
  struct keyroute_bytes cells;
  const char *server; /* "host:port"; rpc.c sets it */
};

/* How one protocol writes and reads its frames. On a failure that is not memory's, frame and reply
 * fill in a PROTOCOL failure, without the server's name. */
struct kr_rpc_codec {
  /* What a connection opens with. */
  void (*hello)(struct kr_buf *out, const struct kr_settings *settings);

  /* The frame of one request. */
  void (*request)(struct kr_buf *out, uint32_t id, const struct kr_rpc_call *call);

  /* How long the frame at the head of `in` is; *len is 0 as long as that can't be told.
   * Errors: PROTOCOL. */
  int (*frame)(size_t *len, struct keyroute_bytes in, struct kr_failure *failure);

  /* Of a frame that will not be kept: whose it is, and its exception if it is one, by its header at
   * the head of `in`. *len is the header's, 0 as long as it is not whole. Errors: as of reply. */
  int (*head)(struct kr_rpc_reply *out, size_t *len, struct kr_mem *mem, struct keyroute_bytes in,
              struct kr_failure *failure);

  /* Take one whole frame apart. Errors: PROTOCOL, NO_MEMORY. */
  int (*reply)(struct kr_rpc_reply *out, struct kr_mem *mem, struct keyroute_bytes frame,
               struct kr_failure *failure);
};

/* The answer: failure->code is 0 and reply is valid for the call, or reply is NULL. A failure says
 * whether the request was sent. Never called inside kr_rpc_start; the request is gone. It may start
 * and cancel requests. Returns whether the reply could be believed: a connection that sent nonsense
 * takes no further requests. */
typedef bool (*kr_rpc_cb)(void *arg, const struct kr_failure *failure,
                          const struct kr_rpc_reply *reply);

/* settings and stats are borrowed until kr_rpc_free. NULL = out of memory. */
struct kr_rpc *kr_rpc_new(struct kr_mem *mem, struct kr_loop *loop, struct kr_worker *resolver,
                          const struct kr_settings *settings, const struct kr_rpc_codec *codec,
                          struct kr_stats *stats);

/* Send a request over the connection to a server, which is made if there is none. host and call are
 * copied. NULL = out of memory, or shut down: cb is then not called. */
struct kr_rpc_request *kr_rpc_start(struct kr_rpc *rpc, const char *host, int port,
                                    const struct kr_rpc_call *call, kr_rpc_cb cb, void *arg);

/* What users note about the server at the other end of a connection, one word: 0 on a new one, gone
 * with it. This is the word of the connection that the next request would go over; NULL = there is
 * none. Borrowed until the loop goes on. */
uint32_t *kr_rpc_marks(struct kr_rpc *rpc, const char *host, int port);

/* Forget a request: its callback will not run, its late reply is skipped. Returns whether it was
 * sent. */
bool kr_rpc_cancel(struct kr_rpc_request *request);

/* End all requests with CLOSED and close all connections. */
void kr_rpc_shutdown(struct kr_rpc *rpc);

/* After shutdown; NULL is accepted. */
void kr_rpc_free(struct kr_rpc *rpc);

#endif
