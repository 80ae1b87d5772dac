#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

/* The cache of an open connection, filled without a cluster: by kr_cache_store, as the loop does
 * it. Trouble ends the program. */

#include "lib/connection.h"

/* A region of that seqnum is on the server seqnum % BENCH_SERVERS. */
#define BENCH_SERVERS 100

/* The key at which one of `count` regions starts, which have about as many keys of sixteen
 * hexadecimal digits each. Empty for the first, and behind the last, which ends nowhere. */
enum { BENCH_KEY_LEN = 16 };
struct keyroute_bytes bench_start_key(char out[BENCH_KEY_LEN + 1], size_t region, size_t count);

/* Nothing bounds its cache but, if it is not 0, a time to live. Until it is swept the loop has
 * nothing to do, and a lock takes its place as the only one that changes things: what follows may
 * be called on any thread. */
struct keyroute_connection *bench_open(int64_t ttl_ms);
void bench_close(struct keyroute_connection *conn);

struct keyroute_table *bench_table(struct keyroute_connection *conn, const char *name);

/* Put a region in, or in the place of its older location; its id follows the seqnum. */
void bench_put(struct keyroute_connection *conn, struct keyroute_table *table,
               struct keyroute_bytes start, struct keyroute_bytes end, int64_t seqnum);

/* Take the region that holds the row out. */
void bench_take(struct keyroute_connection *conn, struct keyroute_table *table,
                struct keyroute_bytes row);

/* Run this on the loop, and wait until it is done. */
void bench_on_loop(struct keyroute_connection *conn, void (*work)(void *arg), void *arg);

/* Have the loop look through the whole cache for what is to leave. From now on regions are changed
 * on the loop only. */
void bench_sweep(struct keyroute_connection *conn);

/* The same once a server is dropped, as after a fault: all that is on it is retired by that. Once
 * in a server's life. */
void bench_drop_server(struct keyroute_connection *conn, int number);

#endif
