#ifndef KR_RPC_H
#define KR_RPC_H

#include "lib/error.h"
#include "lib/loop.h"
#include "lib/rpc_codec.h"
#include "lib/settings.h"
#include "lib/stats.h"
#include "lib/worker.h"

/* Connections to servers, and requests multiplexed over them by number. It knows neither methods
 * nor the bytes of a frame: those are the codec's. All on the loop thread. */
struct kr_rpc;
struct kr_rpc_request; /* one under way */

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
