#ifndef KR_TRANSPORT_H
#define KR_TRANSPORT_H

#include "lib/error.h"
#include "lib/read.h"
#include "lib/scan.h"

/* Sends a request to a server and brings its reply. All on the loop thread. */
struct kr_transport;
struct kr_request; /* one under way */

/* A request of any method whose first field is the RegionSpecifier. */
struct kr_method {
  const char *name;
  struct keyroute_bytes region; /* region name */
  struct keyroute_bytes param;  /* encoded, without field 1 */
  struct keyroute_bytes cells;  /* cell block, may be empty */
};

/* The first field of every request of a transport that stands behind a layout: whose it is. */
struct kr_request_head {
  struct kr_transport *transport;
};

/* The reply, or why there is none: failure->code is 0 and rows are valid, or rows has none. Never
 * called inside the starting call. request is gone when this returns. */
typedef void (*kr_scan_cb)(void *arg, const struct kr_failure *failure, const struct kr_rows *rows);

/* The same for rows of users' regions; got is NULL on failure. A failure is the whole request's;
 * those of single regions and rows are in got. */
typedef void (*kr_get_cb)(void *arg, const struct kr_failure *failure, struct kr_got *got);

/* The same for any other method: the encoded message, and the cell block behind it. */
typedef void (*kr_reply_cb)(void *arg, const struct kr_failure *failure,
                            struct keyroute_bytes message, struct keyroute_bytes cells);

struct kr_transport_ops {
  /* Start a scan on a server. host and everything in scan are copied. NULL = out of memory (cb is
   * then not called). Every failure names server and reason; codes: RESOLVE, UNREACHABLE, PROTOCOL,
   * OVERLOADED, REMOTE, AUTH, TIMEOUT, NO_MEMORY, CLOSED. */
  struct kr_request *(*scan)(struct kr_transport *transport, const char *host, int port,
                             const struct kr_scan *scan, int64_t timeout_ms, kr_scan_cb cb,
                             void *arg);

  /* Read rows, and send a request of any method; all is copied, but for gets->read, which must
   * outlive the request. Failures as of a scan, and TOO_LARGE. */
  struct kr_request *(*get)(struct kr_transport *transport, const char *host, int port,
                            const struct kr_gets *gets, int64_t timeout_ms, kr_get_cb cb,
                            void *arg);
  struct kr_request *(*call)(struct kr_transport *transport, const char *host, int port,
                             const struct kr_method *method, int64_t timeout_ms, kr_reply_cb cb,
                             void *arg);

  /* Forget a request: its callback will not run. Returns whether it was sent, so that it may be
   * done all the same. */
  bool (*cancel)(struct kr_transport *transport, struct kr_request *request);

  /* End all requests with CLOSED and close all sockets; the last of them are closed some loop turns
   * later. No call may start afterwards. */
  void (*shutdown)(struct kr_transport *transport);

  /* After the loop thread has ended. */
  void (*free)(struct kr_transport *transport);
};

/* The first field of every transport. */
struct kr_transport {
  const struct kr_transport_ops *ops;
};

#endif
