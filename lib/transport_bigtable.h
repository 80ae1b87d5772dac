#ifndef KR_TRANSPORT_BIGTABLE_H
#define KR_TRANSPORT_BIGTABLE_H

#include "lib/grpc_module.h"
#include "lib/loop.h"
#include "lib/settings.h"
#include "lib/stats.h"
#include "lib/transport.h"

/* The transport for range directories: google.bigtable.v2 over gRPC. A scan is one ReadRows, a get
 * one for each region. A method without a '/' in its name is one of service Bigtable; one with it
 * is the path itself ("/google.bigtable.admin.v2.BigtableTableAdmin/DeleteTable"). The first field
 * of its request is the name of the region's table; of the empty region, that of the instance.
 * instance  "projects/p/instances/i"; borrowed until free
 * settings  borrowed until free: connect_timeout_ms, connection_idle_ms, max_frame_len,
 *           max_queue_len, all of grpc_...
 * stats     borrowed until free; connects and rpcs are counted
 * module    the gRPC client, of kr_grpc_load
 * detail    NULL or filled in
 * Errors: INVALID_ARGUMENT what TLS is to use; NO_MEMORY. */
int kr_transport_bigtable_new(struct kr_transport **out, struct kr_mem *mem, struct kr_loop *loop,
                              const char *instance, const struct kr_settings *settings,
                              struct kr_stats *stats, const struct kr_grpc_module *module,
                              struct keyroute_detail *detail);

#endif
