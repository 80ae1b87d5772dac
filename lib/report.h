#ifndef KR_REPORT_H
#define KR_REPORT_H

#include "lib/cache.h"
#include "lib/log.h"

/* What applications tell about the locations they used. Loop thread. */
struct kr_reports;

/* What it works with; all borrowed, all outlive it. */
struct kr_reports_means {
  struct kr_mem *mem;
  const struct kr_log *log;
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_servers *servers;
  int64_t failed_server_ms; /* how long a dead server is refused */
};

/* One report, checked, of a kind that does not keep. */
struct kr_report {
  struct keyroute_location *location; /* retired, or about to be; borrowed */
  enum keyroute_fault fault;
  int replica;      /* has a server in location */
  const char *host; /* MOVED: the place named, borrowed; NULL = none */
  uint16_t port;
  int64_t start_code; /* 0 = unknown */
  int64_t seqnum;     /* -1 = unknown */
  uint64_t epoch;     /* the cache's, when it was made */
};

struct kr_reports *kr_reports_new(const struct kr_reports_means *means); /* NULL = out of memory */
void kr_reports_free(struct kr_reports *reports);                        /* NULL is accepted */

/* Act on a report. True = much may have been retired: the cache wants sweeping. */
bool kr_reports_take(struct kr_reports *reports, const struct kr_report *report);

/* Was what a read sent at the cache's logical time `sent` brought, or that a server named in it is
 * there, reported to be wrong since? Then the read does not count as an answer to the report. */
bool kr_reports_doubt(const struct kr_reports *reports, const struct keyroute_location *location,
                      uint64_t sent);

#endif
