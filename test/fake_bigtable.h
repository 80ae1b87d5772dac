#ifndef FAKE_BIGTABLE_H
#define FAKE_BIGTABLE_H

/* Bigtable nodes for tests: scripted gRPC servers on loopback that know ReadRows, and hold ranges
 * as tables. A table that is not there is not found. For programs that are linked with
 * libtestgrpc.la. Any thread but the servers'; trouble aborts. */

#include "lib/descriptor.h"
#include "test/fake_grpc_server.h"

enum { FAKE_BIGTABLE_NODES = 6 };

struct fake_bigtable;

/* So many nodes, with nothing on them. */
struct fake_bigtable *fake_bigtable_start(int nodes);
void fake_bigtable_stop(struct fake_bigtable *bigtable);

/* A node's server: to stop it, or to handle other methods. */
struct fake_grpc_server *fake_bigtable_server(struct fake_bigtable *bigtable, int node);
int fake_bigtable_port(struct fake_bigtable *bigtable, int node);

/* The table of a range. */
void fake_bigtable_make(struct fake_bigtable *bigtable, int node, uint64_t range);
void fake_bigtable_drop(struct fake_bigtable *bigtable, int node, uint64_t range);

/* Put a cell, which replaces the one that was there; value data NULL = delete it. */
void fake_bigtable_put(struct fake_bigtable *bigtable, int node, uint64_t range,
                       struct keyroute_bytes key, const char *family, const char *qualifier,
                       struct keyroute_bytes value);

/* Is the table there? And what is in a cell: false = nothing. */
bool fake_bigtable_stands(struct fake_bigtable *bigtable, int node, uint64_t range);
bool fake_bigtable_get(struct fake_bigtable *bigtable, int node, uint64_t range,
                       struct keyroute_bytes key, const char *family, const char *qualifier,
                       struct kr_buf *value);

/* Delete a row. */
void fake_bigtable_remove(struct fake_bigtable *bigtable, int node, uint64_t range,
                          struct keyroute_bytes key);

/* Write a range's descriptor into an index table. level  1 or 2: what its row begins with. */
void fake_bigtable_publish(struct fake_bigtable *bigtable, int node, uint64_t index, int level,
                           const struct kr_descriptor *range);

/* How many ReadRows have come to a node. */
unsigned fake_bigtable_reads(struct fake_bigtable *bigtable, int node);

/* What happens to the next so many ReadRows of a table instead of an answer. */
struct fake_bigtable_fault {
  int times;
  int code;            /* the status; 0 = nothing is said any more, and the call hangs */
  const char *text;    /* "" where it is NULL */
  bool breaks;         /* the connection breaks instead */
  bool rows_before;    /* the rows are sent first */
  int64_t wait_ms;     /* a RetryInfo; 0 = none */
  int64_t pushback_ms; /* grpc-retry-pushback-ms; 0 = none */
  const struct kr_descriptor *moved; /* a hint */
};
void fake_bigtable_fault(struct fake_bigtable *bigtable, int node, uint64_t range,
                         const struct fake_bigtable_fault *fault);

/* From now on the node answers with a hint to whoever asks for a table that it does not have, and
 * that the descriptor is of. The descriptor stays the caller's. */
void fake_bigtable_hint(struct fake_bigtable *bigtable, int node,
                        const struct kr_descriptor *descriptor);

#endif
