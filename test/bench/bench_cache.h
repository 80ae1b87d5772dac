#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

/* The cache of an open connection, filled without a cluster: by kr_cache_store, as the loop does
 * it. The loop itself has nothing to do meanwhile, and a lock takes its place as the only one that
 * changes things. Trouble ends the program. */

#include "lib/connection.h"

/* Nothing bounds its cache. */
struct keyroute_connection *bench_open(void);
void bench_close(struct keyroute_connection *conn);

struct keyroute_table *bench_table(struct keyroute_connection *conn, const char *name);

/* Put a region in, or in the place of its older location; its id follows the seqnum. Any thread. */
void bench_put(struct keyroute_connection *conn, struct keyroute_table *table,
               struct keyroute_bytes start, struct keyroute_bytes end, int64_t seqnum);

/* Take the region that holds the row out. Any thread. */
void bench_take(struct keyroute_connection *conn, struct keyroute_table *table,
                struct keyroute_bytes row);

#endif
