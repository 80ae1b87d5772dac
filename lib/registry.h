#ifndef KR_REGISTRY_H
#define KR_REGISTRY_H

#include "lib/error.h"

/* Tells where the root of the catalog is. All on the loop thread but for close. */
struct kr_registry;
struct kr_root_read; /* a read under way */

/* One replica's bytes as the registry keeps them; the catalog knows what they mean. */
struct kr_root_value {
  int replica;
  bool text; /* written by somebody: "host:port[:startcode]", an IPv6 address in brackets */
  struct keyroute_bytes data;
};

/* The answer: failure.code is 0 and values[0] is the primary, or it says why not. */
struct kr_root {
  struct kr_failure failure;
  const struct kr_root_value *values;
  size_t count;
  const char *place; /* where it was read: "znode /hbase/meta-region-server"; for messages */
  unsigned tiers;    /* of the catalog whose root this is: 2 hbase:meta, 3 -ROOT-; 0 = not said */
};

/* Never called inside the starting call; everything is borrowed for its duration. */
typedef void (*kr_root_cb)(void *arg, const struct kr_root *root);

/* The root is, or may be, elsewhere now (a watch fired, a session was renewed). On the loop. */
typedef void (*kr_root_changed_cb)(void *arg);

struct kr_registry_ops {
  /* Read the root's location, from the authority itself, not from memory. NULL = out of memory (cb
   * is then not called). It ends by timeout_ms with the most telling failure seen. Codes:
   * BOOTSTRAP (znode absent, empty; parent absent; ZooKeeper refuses), RESOLVE (no host of the
   * ensemble resolves), UNREACHABLE (all refuse), AUTH, TIMEOUT (nothing answered), NO_MEMORY. */
  struct kr_root_read *(*read_root)(struct kr_registry *registry, int64_t timeout_ms, kr_root_cb cb,
                                    void *arg);

  /* Forget a read: its callback will not run. */
  void (*cancel)(struct kr_registry *registry, struct kr_root_read *read);

  /* On the loop: forget all reads (no callback runs any more), stop all timers. */
  void (*shutdown)(struct kr_registry *registry);

  /* Not on the loop, which must still be running; after shutdown. Ends sessions and threads, waits
   * at most bound_ms, leaves behind what is stuck. No callback runs any more; the registry is
   * freed by free() below. */
  void (*close)(struct kr_registry *registry, int64_t bound_ms);

  /* After the loop thread has ended. */
  void (*free)(struct kr_registry *registry);
};

/* The first field of every registry. */
struct kr_registry {
  const struct kr_registry_ops *ops;
};

#endif
