#ifndef FAKE_CLUSTER_H
#define FAKE_CLUSTER_H

/* A scripted region server that holds meta, and a connection of the library that knows it through
 * the static registry. For tests; trouble ends the test. */

#include "test/fake_server.h"

struct fake_cluster {
  struct fake_server *server;
  struct keyroute_options *options;
  struct keyroute_connection *conn; /* NULL until opened */
};

/* Start the server and make options: short pauses, few tries. allocator NULL = the C library's. */
void fake_cluster_start(struct fake_cluster *cluster, const struct keyroute_allocator *allocator);

/* One more property, before the connection is opened. */
void fake_cluster_set(struct fake_cluster *cluster, const char *name, const char *value);

void fake_cluster_open(struct fake_cluster *cluster);

/* Put a region on the server itself. */
void fake_cluster_put(struct fake_cluster *cluster, const char *table, const char *start,
                      const char *end, int64_t id);

struct keyroute_stats fake_cluster_stats(const struct fake_cluster *cluster);

/* Close what is open and stop the server. */
void fake_cluster_stop(struct fake_cluster *cluster);

#endif
