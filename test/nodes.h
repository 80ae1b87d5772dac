/* Drives real Bigtable nodes from a C test: the program of run.sh, with which it talks over pipes.
 * As test/cluster/cluster.h does an HBase; a child process of the same kind (test/fixture.h).
 */
#ifndef KR_TEST_NODES_H
#define KR_TEST_NODES_H

#include "test/fixture.h"

struct nodes;

/** Start so many nodes, at most NODES_MAX. The folder is $KEYROUTE_NODES_DIR, else
 *  $srcdir/test/nodes. As fixture_start. */
enum { NODES_MAX = 16 };
enum fixture_result nodes_start(struct nodes **out, int count);

/** As fixture_stop. */
void nodes_stop(struct nodes *nodes);

/** Send one command (README.md lists them) and wait for its answer, as fixture_command. */
int nodes_command(struct nodes *nodes, char **reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The text after OK or ERR of the last command; valid until the next one. */
const char *nodes_answer(const struct nodes *nodes);

/** Where a node of those that were started first is: "127.0.0.1:PORT". */
const char *nodes_address(const struct nodes *nodes, int node);

#endif
