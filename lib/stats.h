#ifndef KR_STATS_H
#define KR_STATS_H

#include "lib/mem.h"

/* What a connection counts. Any thread may add; reading adds up the stripes. */
enum kr_counter {
  KR_COUNT_HITS,
  KR_COUNT_MISSES,
  KR_COUNT_JOINS,
  KR_COUNT_SCANS,
  KR_COUNT_SCANS_FAILED,
  KR_COUNT_REGISTRY_READS,
  KR_COUNT_RETRIES,
  KR_COUNT_EVICTIONS,
  KR_COUNT_EVICTED_REPLACED, /* these, by reason, in the order of enum kr_evicted */
  KR_COUNT_EVICTED_REPORTED,
  KR_COUNT_EVICTED_SERVER,
  KR_COUNT_EVICTED_EXPIRED,
  KR_COUNT_EVICTED_IDLE,
  KR_COUNT_EVICTED_FULL,
  KR_COUNT_EVICTED_CLEARED,
  KR_COUNT_CONNECTS,
  KR_COUNT_RPCS,
  KR_COUNT_REPORTS,
  KR_COUNT_HINTS_TAKEN,
  KR_COUNT_REFRESHES_LIMITED,
  KR_COUNT_SESSIONS, /* made with ZooKeeper */
  KR_COUNT_REFUSED,
  KR_COUNT_REQUESTS, /* of the last hop, as the next three */
  KR_COUNT_REQUESTS_FAILED,
  KR_COUNT_ROWS_READ,
  KR_COUNT_ROWS_RETRIED,
  KR_COUNTERS
};

struct kr_stats;

struct kr_stats *kr_stats_new(struct kr_mem *mem); /* NULL = out of memory */
void kr_stats_free(struct kr_stats *stats);
void kr_stats_add(struct kr_stats *stats, enum kr_counter counter, uint64_t more);
uint64_t kr_stats_read(const struct kr_stats *stats, enum kr_counter counter);

#endif
