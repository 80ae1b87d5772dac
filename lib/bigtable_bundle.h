#ifndef KR_BIGTABLE_BUNDLE_H
#define KR_BIGTABLE_BUNDLE_H

#include "lib/bigtable_chunks.h"
#include "lib/bigtable_client.h"

/* Calls to one server, made side by side, whose answers are told together. Loop thread. */
struct kr_bigtable_bundle;

/* One call of a bundle. */
struct kr_bigtable_call {
  const char *method;               /* its path: "/google.bigtable.v2.Bigtable/ReadRows" */
  const char *params;               /* x-goog-request-params; NULL = none */
  struct keyroute_bytes region;     /* its name, for hints: copied */
  struct kr_bigtable_limits limits; /* of rows; but max_len, which is the connection's */
  bool rows;                        /* the answer is rows in chunks, else one message */
};

/* What came of one. */
struct kr_bigtable_outcome {
  struct kr_failure failure;        /* code 0 = none */
  struct kr_bigtable_chunks chunks; /* rows */
  struct kr_buf reply;              /* or the message */
};

/* All have ended: failure->code is 0, and there are `count` outcomes, one of each; or none of them
 * began. Never called inside start; the bundle is gone when this returns. It may start and cancel
 * others. */
typedef void (*kr_bigtable_cb)(void *arg, const struct kr_failure *failure,
                               const struct kr_bigtable_bundle *bundle, size_t count);

/* One for `count` calls, which may be none. NULL = out of memory. */
struct kr_bigtable_bundle *kr_bigtable_bundle_new(struct kr_bigtable_client *client,
                                                  const char *host, int port, size_t count);

/* Where the request of the next call is to be written, and describe it then. */
struct kr_buf *kr_bigtable_bundle_message(struct kr_bigtable_bundle *bundle);
void kr_bigtable_bundle_add(struct kr_bigtable_bundle *bundle, const struct kr_bigtable_call *call);

/* Start all calls. False = out of memory, or shut down: the bundle is gone. */
bool kr_bigtable_bundle_start(struct kr_bigtable_bundle *bundle, int64_t timeout_ms,
                              kr_bigtable_cb cb, void *arg);

/* Forget a bundle: its callback will not run. Also one not started. Returns whether a call of it
 * was, so that it may be done all the same. */
bool kr_bigtable_bundle_cancel(struct kr_bigtable_bundle *bundle);

const struct kr_bigtable_outcome *kr_bigtable_bundle_outcome(
    const struct kr_bigtable_bundle *bundle, size_t index);

/* "host:port", for failures. */
const char *kr_bigtable_bundle_server(const struct kr_bigtable_bundle *bundle);

/* End all bundles with CLOSED; none can be started any more. */
void kr_bigtable_bundle_shutdown(struct kr_bigtable_client *client);

#endif
