#ifndef KR_BIGTABLE_CLIENT_H
#define KR_BIGTABLE_CLIENT_H

#include "lib/error.h"
#include "lib/grpc_module.h"
#include "lib/loop.h"
#include "lib/settings.h"
#include "lib/stats.h"

#include <pthread.h>

/* What all requests to Bigtable nodes share: the gRPC client, and who waits for what. */

/* What is under way to one server. Loop. */
struct kr_bigtable_queue;

struct kr_bigtable_client {
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  const struct kr_settings *settings;
  struct kr_stats *stats;
  const struct kr_grpc_module *module;
  struct kr_grpc *grpc;
  struct keyroute_allocator allocator;
  pthread_mutex_t lock;               /* of what bundles share with the module's thread */
  struct kr_bigtable_bundle *bundles; /* that have not ended; loop */
  struct kr_bigtable_queue *queues;   /* by server; loop */
  bool shut;                          /* loop */
};

/* Open the gRPC client. All is borrowed until free, but for mem. detail NULL or filled in.
 * Errors: INVALID_ARGUMENT what TLS is to use; NO_MEMORY. */
int kr_bigtable_client_new(struct kr_bigtable_client **out, struct kr_mem *mem,
                           struct kr_loop *loop, const struct kr_settings *settings,
                           struct kr_stats *stats, const struct kr_grpc_module *module,
                           struct keyroute_detail *detail);

/* Close it: after the loop thread has ended. */
void kr_bigtable_client_free(struct kr_bigtable_client *client);

/* Count len bytes more as under way to a server. *has_room  whether they are within
 * keyroute.server.queue.max.bytes; what is alone always is. NULL = out of memory. */
struct kr_bigtable_queue *kr_bigtable_queue_enter(struct kr_bigtable_client *client,
                                                  const char *host, int port, size_t len,
                                                  bool *has_room);
void kr_bigtable_queue_leave(struct kr_bigtable_client *client, struct kr_bigtable_queue *queue,
                             size_t len);

#endif
