#ifndef GRPC_HARNESS_H
#define GRPC_HARNESS_H

/* The gRPC client under test, and what becomes of calls. One of each a test: Check runs each in a
 * process of its own. */

#include "lib/grpc_module.h"

#include <pthread.h>

#define GRPC_METHOD "/test.Service/Method"
enum { GRPC_LONG_MS = 20000 };

/* What came of a call. All under the lock until dones is 1. */
struct grpc_result {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned messages, dones;
  unsigned after; /* messages after the end */
  char last[64];  /* message; cut to fit, as the texts below */
  size_t last_len, bytes;
  struct kr_grpc_status status; /* without its texts */
  char text[400], details[400];
  size_t details_len;
};

#define GRPC_RESULT_INIT                                                                           \
  {                                                                                                \
    .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                         \
  }

/* The module of this build, loaded; its absence fails the test. */
const struct kr_grpc_module *grpc_module(void);

/* The allocator that counts, a message of 1 MiB at most, 5 s to connect. */
struct kr_grpc_settings grpc_settings(void);

/* Open a client; it must work. */
struct kr_grpc *grpc_open(const struct kr_grpc_settings *settings);

/* A call of GRPC_METHOD at 127.0.0.1 with much time. */
struct kr_grpc_request grpc_request(int port, const char *message);

/* What writes down a call's events; the argument is its result. */
extern const struct kr_grpc_events grpc_events;

/* Start one; it must work. */
struct kr_grpc_call *grpc_start(struct kr_grpc *client, const struct kr_grpc_request *request,
                                struct grpc_result *result);

/* Wait for messages, or for the end; it must come. */
void grpc_await_messages(struct grpc_result *result, unsigned messages);
void grpc_await_done(struct grpc_result *result);

/* A call from its start to its end. Returns its status code. */
int grpc_ask(struct kr_grpc *client, const struct kr_grpc_request *request,
             struct grpc_result *result);

#endif
