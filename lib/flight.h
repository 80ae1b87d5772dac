#ifndef KR_FLIGHT_H
#define KR_FLIGHT_H

#include "lib/catalog.h"
#include "lib/check.h"
#include "lib/log.h"
#include "lib/lookup.h"
#include "lib/report.h"
#include "lib/retry.h"
#include "lib/sweeper.h"
#include "lib/transport.h"

/* What lookups and flights work with; all borrowed, all outlive them. */
struct kr_means {
  struct kr_mem *mem;
  struct kr_loop *loop;
  const struct kr_log *log;
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_servers *servers;
  struct kr_sweeper *sweeper;
  const struct kr_catalog *catalog;
  struct kr_transport *transport;
  struct kr_registry *registry;
  struct kr_reports *reports; /* NULL = nobody reports */
  struct kr_retry_policy retry;
  int64_t try_limit_ms;     /* no try is longer */
  int64_t failed_server_ms; /* how long a server that could not be connected to is not asked */
  unsigned scans_per_table;
  unsigned scans_max;      /* of the connection; scans for a parent's region are not counted */
  uint32_t prefetch;       /* rows of a scan when misses come close together */
  int64_t root_changed_us; /* when the registry last said so; 0 = never */
};

/* What a flight needs from the one who started it. */
struct kr_flight_host {
  /* Start the lookup of the parent's region; or forget it, and its done will not run. */
  void (*locate)(struct kr_locator *locator, struct kr_lookup *lookup);
  void (*withdraw)(struct kr_locator *locator, struct kr_lookup *lookup);

  /* A step is over; a request was sent. For the members' traces and counts. */
  void (*step)(struct kr_flight *flight, const char *name, int64_t began_us, const char *server,
               const char *detail);
  void (*sent)(struct kr_flight *flight);

  /* The flight has its result. The host frees it. */
  void (*ended)(struct kr_flight *flight);
};

/* One try at the catalog for one row of a table. */
struct kr_flight {
  const struct kr_means *means;
  const struct kr_flight_host *host;
  struct kr_locator *locator; /* the host's */
  struct kr_queue *queue;     /* the host's */
  struct kr_flight *prev, *next;
  struct kr_lookup *members; /* the host's: lookups that share its failure */
  struct kr_lookup *hopers;  /* the host's: lookups that wait whether it covers their rows */
  bool counted;              /* the host's: in the connection's budget */

  struct keyroute_table *table; /* counted */
  char *row;                    /* owned copy */
  size_t row_len;
  enum kr_position position;
  uint32_t limit;      /* rows of its scan */
  int64_t try_ms;      /* how long this try may take */
  int64_t deadline_us; /* of this try */

  /* The result. */
  uint64_t epoch;                     /* the cache's, when it was started */
  uint64_t sent;                      /* the cache's time when the read was sent; 0 = not yet */
  struct keyroute_location *location; /* counted; holds the row; NULL = failure */
  struct kr_failure failure;

  /* flight.c's own. */
  struct kr_lookup parent;
  bool parent_running;
  struct keyroute_location *at; /* the parent's region, counted */
  struct kr_buf parent_row;     /* what is looked for in the parent */
  struct kr_root_read *read;
  struct kr_request *request;
  int64_t step_began_us;
  const char *step_name;
  struct kr_catalog_row *rows; /* those met so far, nearest first */
  size_t row_count;
  unsigned scans;
  unsigned reroutes;
  struct kr_buf last_key;             /* of the last row met */
  struct keyroute_location *unplaced; /* found, but on no server; borrowed from rows */
};

/* NULL = out of memory. row is copied. */
struct kr_flight *kr_flight_new(const struct kr_means *means, const struct kr_flight_host *host,
                                struct kr_locator *locator, struct keyroute_table *table,
                                struct keyroute_bytes row, enum kr_position position);

/* limit, try_ms and deadline_us are set. May end the flight at once. */
void kr_flight_start(struct kr_flight *flight);

/* The root is on that server now. A scan of it that is under way on another one is given up, and
 * the flight goes on there, within the same try. May end the flight. */
void kr_flight_reroute(struct kr_flight *flight, const struct kr_server *root);

/* End whatever is under way and release it; ended is not called. */
void kr_flight_free(struct kr_flight *flight);

#endif
