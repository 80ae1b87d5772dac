#ifndef KR_REGISTRY_STATIC_H
#define KR_REGISTRY_STATIC_H

#include "lib/loop.h"
#include "lib/registry.h"

/* A registry that answers what it was told; no input, no output.
 * root  "host:port" or "host:port:startcode", copied and handed to the catalog as it is; NULL or ""
 *       answers BOOTSTRAP
 * Errors: NO_MEMORY. */
int kr_registry_static_new(struct kr_registry **out, struct kr_mem *mem, struct kr_loop *loop,
                           const char *root);

/* On the loop: what reads that have not been answered yet, and later ones, will answer. Errors:
 * NO_MEMORY, nothing has changed then. */
int kr_registry_static_set(struct kr_registry *registry, const char *root);

#endif
