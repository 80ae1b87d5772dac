#ifndef KR_TEST_REGISTRY_HARNESS_H
#define KR_TEST_REGISTRY_HARNESS_H

#include "lib/loop.h"
#include "lib/registry.h"

/* Drives a registry from a test's own thread: starts reads on the loop, keeps what came back. */

/* The answer to one read, copied out of its callback. */
struct answer {
  bool done;
  bool on_loop;
  bool inside_call; /* the callback ran before read_root had returned */
  int calls;
  int64_t took_us;
  struct kr_failure failure;
  char place[256];
  unsigned tiers;
  size_t count;
  int replicas[8];
  char data[8][128];
  size_t len[8];
};

struct read_handle; /* a read that was started */

/* Run fn(arg) on the loop and wait for it. */
void harness_on_loop(struct kr_loop *loop, void (*fn)(void *arg), void *arg);

/* Start a read; its answer is kept until harness_forget. */
struct read_handle *harness_start(struct kr_loop *loop, struct kr_registry *registry,
                                  int64_t timeout_ms);
/* Wait for the answer, at most so long; answer.done tells. */
struct answer harness_await(struct read_handle *handle, int64_t bound_ms);
void harness_cancel(struct read_handle *handle);
void harness_forget(struct read_handle *handle);

/* All of it: start, await, forget. */
struct answer harness_read(struct kr_loop *loop, struct kr_registry *registry, int64_t timeout_ms);

/* shutdown on the loop, then close; returns how long both took in ms. */
int64_t harness_close(struct kr_loop *loop, struct kr_registry *registry, int64_t bound_ms);

#endif
