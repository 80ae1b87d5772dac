#ifndef KEYROUTE_TEST_RANGE_READERS_H
#define KEYROUTE_TEST_RANGE_READERS_H

#include "test/integration/range_map.h"

/* Threads that read rows without pause, one or many at a time, while ranges change or nodes die. */
struct range_readers;

struct range_readers *range_readers_start(struct keyroute_connection *conn,
                                          const struct range_map *map, unsigned threads,
                                          int64_t deadline_ms);

/* What came out until now. */
struct range_counts {
  uint64_t calls, failed;        /* reads of one row or many; in failed at least one row failed */
  uint64_t rows, wrong;          /* rows that were read */
  int64_t late_ms;               /* how long after its deadline the latest call ended; 0 = none */
  char message[RANGE_WRONG_MAX]; /* the first that was wrong, else the first failure */
};

struct range_counts range_readers_counts(struct range_readers *readers);

/* Wait until so many more calls succeeded; a minute at most. */
void range_readers_await(struct range_readers *readers, uint64_t calls);

/* Let every thread end its call, wait for them and free all. Returns what came out. */
struct range_counts range_readers_stop(struct range_readers *readers);

#endif
