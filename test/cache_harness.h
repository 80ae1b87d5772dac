#ifndef CACHE_HARNESS_H
#define CACHE_HARNESS_H

/* A cache with all it needs, and regions to put into it. */

#include "lib/cache.h"
#include "test/failing_mem.h"
#include "test/made_location.h"

#include <check.h>

struct fixture {
  struct kr_mem *mem;
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_servers *servers;
  struct keyroute_table *table; /* "t" */
};

struct fixture fixture_new(void);
void fixture_free(struct fixture *fixture);

/* The same with limits of the cache; 0 = none. */
struct fixture bounded(size_t regions, size_t bytes);

struct keyroute_location *made(struct fixture *fixture, const char *start, const char *end,
                               int64_t id, int64_t start_code, int64_t seqnum);

/* A region with two replicas; code 0 = on no server. */
struct keyroute_location *made_two(struct fixture *fixture, int64_t first_code,
                                   int64_t first_seqnum, int64_t second_code,
                                   int64_t second_seqnum);

/* Store what a read sent at a logical time found; true if that very location was kept. */
bool store_sent(struct fixture *fixture, struct keyroute_location *location, uint64_t sent);

/* Store what a read sent now found. */
void store(struct fixture *fixture, const char *start, const char *end, int64_t id);

/* Store the region of one number, whose row is "NNNN", into the fixture's table. */
void store_number(struct fixture *fixture, int number);

/* The id of the live region that covers a row; 0 = a miss. */
int64_t find_at(const struct fixture *fixture, const char *row, enum kr_position position);
int64_t find(const struct fixture *fixture, const char *row);

/* The start code of the server that a row's region, or a replica of row "a", is said to be on. */
int64_t start_code_of(const struct fixture *fixture, const char *row);
int64_t replica_code(const struct fixture *fixture, int replica);

/* One whole round. */
void sweep(struct fixture *fixture);

size_t region_count(const struct fixture *fixture);
uint64_t counted(const struct fixture *fixture, enum kr_counter counter);

#endif
