#ifndef KR_REGISTRY_ZOOKEEPER_H
#define KR_REGISTRY_ZOOKEEPER_H

#include <stdatomic.h>

#include "lib/loop.h"
#include "lib/registry.h"
#include "lib/settings.h"

/* Counted on the loop, read from any thread. */
struct kr_registry_counters {
  _Atomic uint64_t reads;    /* of the root */
  _Atomic uint64_t sessions; /* made with ZooKeeper */
};

/* A registry that reads the znode of the meta region, and those of its replicas, in ZooKeeper. The
 * session is made by the first read.
 * settings     borrowed until free
 * changed      on the loop: the znode changed, came or went, or a session that watched it was
 *              replaced; not when an idle session was ended on purpose
 * counters     borrowed, NULL = none
 * Errors: NO_MEMORY. */
int kr_registry_zookeeper_new(struct kr_registry **out, struct kr_mem *mem, struct kr_loop *loop,
                              const struct kr_settings *settings, kr_root_changed_cb changed,
                              void *changed_arg, struct kr_registry_counters *counters);

#endif
