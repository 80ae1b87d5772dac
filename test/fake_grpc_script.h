#ifndef FAKE_GRPC_SCRIPT_H
#define FAKE_GRPC_SCRIPT_H

#include "test/fake_grpc_server.h"

/* What a handler reads and writes: the request, and the steps of its answer. Of use to
 * fake_grpc_calls.c only. */

struct fake_grpc_entry {
  char *key;
  struct keyroute_bytes value;
};

struct fake_grpc_entries {
  size_t count;
  struct fake_grpc_entry *entries;
};

enum fake_grpc_what { FAKE_GRPC_MESSAGE, FAKE_GRPC_PAUSE, FAKE_GRPC_HANG, FAKE_GRPC_BREAK };

struct fake_grpc_step {
  enum fake_grpc_what what;
  struct keyroute_bytes message;
  int ms;
};

struct fake_grpc_call {
  char *method;
  struct keyroute_bytes request;
  struct fake_grpc_entries metadata;

  size_t step_count;
  struct fake_grpc_step *steps;
  struct fake_grpc_entries trailers;
  int code;
  char *text;
};

/* All is copied. */
void fake_grpc_script_init(struct fake_grpc_call *call, const char *method,
                           struct keyroute_bytes request);
void fake_grpc_script_add_metadata(struct fake_grpc_call *call, struct keyroute_bytes key,
                                   struct keyroute_bytes value);
void fake_grpc_script_clear(struct fake_grpc_call *call);

#endif
