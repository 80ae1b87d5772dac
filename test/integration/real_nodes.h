#ifndef KEYROUTE_TEST_REAL_NODES_H
#define KEYROUTE_TEST_REAL_NODES_H

#include "keyroute/keyroute.h"
#include "test/nodes.h"
#include "test/zookeeper.h"

#include <check.h>

/* Real Bigtable nodes and a real ZooKeeper for the tests of one program. */
extern struct nodes *range_nodes;
extern struct zookeeper *range_zookeeper;

enum { RANGE_NODES = 3 };

/* Run a program's suite with both around it. Returns main's result: 77 where they cannot be had
 * (the reason is on stderr). The tests run in this process, one after another, for so many seconds
 * at most. */
int range_run(Suite *suite, unsigned seconds);

/* A command to the nodes that must succeed. */
void range_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Open a connection to the directory whose znode that is. settings  NULL, or "name=value" up to a
 * NULL. */
struct keyroute_connection *range_open(const char *znode, const char *const *settings);

/* Write bytes as the nodes' commands want them: everything but letters and digits as \xHH; "" for
 * none. Returns out, which has RANGE_TEXT_MAX bytes of room. */
enum { RANGE_TEXT_MAX = 300 };
char *range_text(char out[RANGE_TEXT_MAX], struct keyroute_bytes bytes);

/* What the connection has counted. */
struct keyroute_stats range_stats(struct keyroute_connection *conn);

/* On a monotonic clock. */
int64_t range_now_ms(void);

#endif
