#ifndef KR_GRPC_MODULE_H
#define KR_GRPC_MODULE_H

#include "keyroute/keyroute.h"

/* The gRPC client: a module of its own, loaded when the first connection needs it, for gRPC C core
 * takes every process that links it some milliseconds to start. It knows nothing of what it
 * carries, and nothing of the rest of the library but this header. */

/* What a connection's client runs with; strings are copied. */
struct kr_grpc_settings {
  const struct keyroute_allocator *allocator; /* outlives the client */
  size_t max_message_len;                     /* bytes; a longer answer is RESOURCE_EXHAUSTED */
  int64_t connect_timeout_ms;                 /* of one attempt to connect */
  int64_t idle_ms;                            /* a channel without calls is closed; 0 = never */
  int64_t keepalive_ms;                       /* ping while calls are out; 0 = never */
  bool tls;
  const char *tls_roots; /* PEM, the text itself; NULL = the system's */
  const char *tls_key;   /* PEM; NULL = none, as with certificate */
  const char *tls_certificate;
  const char *tls_server_name; /* NULL = the host asked for */
};

struct kr_grpc_metadata {
  const char *key; /* lower case; "-bin" at its end: any bytes */
  struct keyroute_bytes value;
};

/* How a call ended. Valid during the callback. */
struct kr_grpc_status {
  int code;                      /* grpc_status_code: 0 OK, 5 NOT_FOUND, 14 UNAVAILABLE ... */
  struct keyroute_bytes message; /* any bytes */
  struct keyroute_bytes details; /* grpc-status-details-bin, decoded; may be empty */
  int64_t pushback_ms;           /* grpc-retry-pushback-ms; -1 = not sent */
  bool connecting;               /* it ended before it had a connection: nothing was sent */
  bool resolving;                /* and that for want of the host's address */
  bool too_long; /* a message was longer than max_message_len, or the server's own */
};

/* What happens to a call, told on the client's own thread: any number of messages, then the end,
 * exactly once, also after a cancel. Nothing is called inside start. The message is borrowed. */
struct kr_grpc_events {
  void (*message)(void *arg, struct keyroute_bytes message);
  void (*done)(void *arg, const struct kr_grpc_status *status);
};

struct kr_grpc_request {
  const char *host; /* a name or an address; IPv6 without brackets */
  int port;
  const char *method; /* "/google.bigtable.v2.Bigtable/ReadRows" */
  const struct kr_grpc_metadata *metadata;
  size_t metadata_count;
  struct keyroute_bytes message;
  int64_t timeout_ms;
};

struct kr_grpc;      /* one client: a completion queue, its thread, a channel for each server */
struct kr_grpc_call; /* one call: a name that is never used again, not to be followed */

/* The module's only symbol, "keyroute_grpc_module". */
struct kr_grpc_module {
  unsigned version; /* KR_GRPC_MODULE_VERSION, of the library that it was built with */

  /* Errors: NO_MEMORY memory or threads; INVALID_ARGUMENT a PEM without what it should hold, or a
   * process that was forked while gRPC ran (reason: static text). */
  int (*open)(struct kr_grpc **out, const struct kr_grpc_settings *settings, const char **reason);

  /* Start a call of one request and any number of answers; all is copied. Any thread. NULL = out of
   * memory, or close has begun (nothing is called then). *connects grows by one if a channel was
   * made for it. It may have ended when this returns. */
  struct kr_grpc_call *(*start)(struct kr_grpc *grpc, const struct kr_grpc_request *request,
                                const struct kr_grpc_events *events, void *arg, uint64_t *connects);

  /* Have it end soon, with CANCELLED unless it has ended otherwise; nothing if it has ended. Any
   * thread, any time until close. */
  void (*cancel)(struct kr_grpc *grpc, struct kr_grpc_call *call);

  /* Cancel what is under way, wait until all have ended, and free. Not on the client's thread. In a
   * child of the process that opened it, nothing: what it had is lost there. */
  void (*close)(struct kr_grpc *grpc);
};

#define KR_GRPC_MODULE_VERSION 1u
#define KR_GRPC_MODULE_SYMBOL "keyroute_grpc_module"
#define KR_GRPC_MODULE_FILE "keyroute-grpc.so"

#endif
