#ifndef FAKE_MODULE_H
#define FAKE_MODULE_H

/* A gRPC module without gRPC, for tests with fake_loop.c: calls stand still until a test answers
 * them, in the test's own thread. One a process. */

#include "lib/grpc_module.h"

#include "lib/buf.h"

/* A call as it was started; copies. */
struct fake_module_call {
  char host[300];
  int port;
  char method[200];
  char params[300]; /* x-goog-request-params; "" = not sent */
  char features[40];
  struct keyroute_bytes message;
  int64_t timeout_ms;
  bool cancelled; /* and not yet ended */
  bool over;
};

extern const struct kr_grpc_module fake_module;

/* What open was called with last; the texts are not kept. */
const struct kr_grpc_settings *fake_module_settings(void);

/* Have open fail; 0 = no longer. */
void fake_module_refuse_open(int error, const char *reason);

/* Have the n-th start from now on fail (1 = the next one); 0 = none any more. */
void fake_module_refuse_start(int n);

/* The calls that were started, in their order; all are forgotten by close. */
size_t fake_module_count(void);
const struct fake_module_call *fake_module_call(size_t index);

/* Tell of a message, and of the end. */
void fake_module_send(size_t index, struct keyroute_bytes message);
void fake_module_end(size_t index, const struct kr_grpc_status *status);
void fake_module_end_code(size_t index, int code, const char *text);

/* Have the next call answered within start, as the module's thread may be faster than the one that
 * starts: by a message, if it is not empty, and the end, if `ends`. */
void fake_module_hurry(struct keyroute_bytes message, bool ends);

#endif
