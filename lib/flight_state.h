#ifndef KR_FLIGHT_STATE_H
#define KR_FLIGHT_STATE_H

#include "lib/catalog.h"
#include "lib/check.h"
#include "lib/layout.h"
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
  struct kr_layout *layout; /* told what the registry says; NULL = that settles nothing */
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

  /* Does any member have a trace? Else a step need not be told, nor what is said of it be made. */
  bool (*traced)(const struct kr_flight *flight);

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
  bool is_root;              /* the host's: its table was the root when it was asked for */

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
  struct kr_buf reach; /* the result is that of all rows from this one up to the flight's */

  /* The flight's own. */
  struct kr_lookup parent;
  bool parent_running;
  void (*at_parent)(struct kr_flight *flight); /* what is done there */
  struct keyroute_location *at;                /* the parent's region, counted */
  struct kr_buf parent_row;                    /* what is looked for in the parent */
  struct kr_root_read *read;
  struct kr_request *request;
  int64_t step_began_us;
  const char *step_name;
  struct kr_catalog_row *rows; /* those met so far, nearest first */
  size_t row_count;
  unsigned scans;
  unsigned steps; /* down from one of the parent's regions to the one before */
  unsigned up;    /* and up, where the end of a hole is looked for */
  unsigned reroutes;
  struct kr_buf last_key;             /* of the last row met, or where the parent's region began */
  bool below;                         /* there are rows of the table below the parent's region */
  struct keyroute_location *unplaced; /* found, but on no server; borrowed from rows */
};

/* What the files of a flight share: flight.c (its course), parent_scan.c (one scan), explain.c (why
 * there is no region), findings.c (what goes into the cache), trust.c (what is thought of servers).
 * Loop thread. */

/* Scans of rows at or below the key, but for those that a step down took; more than two says that
 * the catalog is full of dead rows. */
enum { KR_FLIGHT_SCANS_MAX = 4 };

/* Steps down: so many of the parent's regions may be without a row. */
enum { KR_FLIGHT_STEPS_MAX = 64 };

/* Room for a key, a region's name or a table's in a message. */
enum { KR_FLIGHT_KEY_TEXT = 120 };

struct kr_question kr_flight_question(const struct kr_flight *flight);

/* What is left of the try; at least 1. */
int64_t kr_flight_remaining_ms(const struct kr_flight *flight);

/* A step for the members' traces. */
void kr_flight_begin_step(struct kr_flight *flight, const char *name);
void kr_flight_end_step(struct kr_flight *flight, const char *server, const char *detail);

/* Ways to end; the flight may be gone when they return. failure may be the flight's own. */
void kr_flight_end_failed(struct kr_flight *flight, const struct kr_failure *failure);
void kr_flight_end_no_memory(struct kr_flight *flight);

/* Go to a region of the parent, in order to scan it; the row is the flight's. The one it was at is
 * forgotten. */
void kr_flight_go_to_parent(struct kr_flight *flight, struct keyroute_bytes row,
                            enum kr_position position, void (*at_parent)(struct kr_flight *flight));

/* A region holds the row: ends the flight with it, or reads it again if it is doubtful. */
void kr_flight_end_found(struct kr_flight *flight, struct keyroute_location *location);

#endif
