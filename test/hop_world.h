#ifndef HOP_WORLD_H
#define HOP_WORLD_H

/* A scripted cluster for tests of the last hop: meta on one server; table "t" with the regions
 * [,m) on servers[0] and [m,) on servers[1]; servers[2] is spare. All rows are where they are
 * asked for: the servers share them. For tests; trouble ends the test. */

#include "test/blocking.h"
#include "test/fake_cluster.h"

#include <check.h>

enum { HOP_SERVERS = 3, PATIENCE_MS = 30000 };

struct hop_world {
  struct fake_cluster cluster; /* its server holds meta */
  struct fake_server *servers[HOP_SERVERS];
  struct fake_rows *rows;
  struct fake_region low, high;
  struct keyroute_stats before; /* at the last mark */
};

/* Start the servers and make options; the connection is yet to be opened. allocator NULL = the C
 * library's. */
void hop_world_start(struct hop_world *world, const struct keyroute_allocator *allocator);
void hop_world_open(struct hop_world *world);
void hop_world_stop(struct hop_world *world);

/* Put f:q of a row, at timestamp 1. */
void hop_world_put(struct hop_world *world, const char *row, const char *value);

/* What has been counted since the mark. */
void hop_world_mark(struct hop_world *world);
struct keyroute_stats hop_world_since(const struct hop_world *world);

/* Look a row up, so that its region is cached. */
void hop_world_warm(struct hop_world *world, const char *row);

#endif
