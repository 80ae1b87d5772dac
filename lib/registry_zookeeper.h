#ifndef KR_REGISTRY_ZOOKEEPER_H
#define KR_REGISTRY_ZOOKEEPER_H

#include "lib/loop.h"
#include "lib/registry.h"
#include "lib/settings.h"
#include "lib/stats.h"

/* A registry that reads the znode of the root's region, and those of its replicas, in ZooKeeper:
 * that of hbase:meta, that of -ROOT-, or the first of both that is there; or that of meta1. The
 * session is made by the first read.
 * settings     borrowed until free
 * stats        borrowed until free; sessions are counted
 * changed      on the loop: the znode changed, came or went, or a session that watched it was
 *              replaced; not when an idle session was ended on purpose
 * Errors: NO_MEMORY. */
int kr_registry_zookeeper_new(struct kr_registry **out, struct kr_mem *mem, struct kr_loop *loop,
                              const struct kr_settings *settings, struct kr_stats *stats,
                              kr_root_changed_cb changed, void *changed_arg);

#endif
