#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

/* The least that a catalog read over a warm connection can take: the very bytes that the library
 * sends, sent again over a bare socket, with no more done than to read the answer to its end. */
struct floor;

/* Have the library look rows of a table up, in a server that is meta's, and note what it sends.
 * NULL = it went wrong; the reason is on stderr. */
struct floor *floor_record(const char *host, int port, const char *table);

/* Send the last request that was noted so often. took_ns has room for each. False = it went wrong.
 */
bool floor_replay(const struct floor *noted, int64_t *took_ns, int count);

void floor_free(struct floor *noted);

#endif
