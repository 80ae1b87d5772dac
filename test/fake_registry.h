#ifndef FAKE_REGISTRY_H
#define FAKE_REGISTRY_H

/* A registry of the test's own, for a connection opened by kr_connection_open: each read becomes a
 * task on the loop, in which the test says where the root is. */

#include "lib/loop.h"
#include "lib/registry.h"

struct kr_root_read {
  struct kr_task task;
  struct fake_registry *registry;
  kr_root_cb cb; /* NULL = cancelled */
  void *arg;
  bool held;
};

struct fake_registry {
  struct kr_registry base;
  struct kr_loop *loop;

  /* Call back, if there is a callback, and return true; false = say nothing, for ever. */
  bool (*answer)(const struct kr_root_read *read);
};

/* A maker for kr_connection_open, whose arg is a struct fake_registry with its answer set. */
int fake_registry_make(struct kr_registry **out, struct keyroute_connection *made, void *arg);

#endif
