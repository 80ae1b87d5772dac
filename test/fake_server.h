#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

/* A scripted region server for tests. It speaks the server's side of HBase's protobuf RPC on
 * loopback, answers Scan of hbase:meta from a catalog in memory, Get and Multi from rows in memory
 * and other methods as told, and misbehaves as told.
 *
 * A server runs on a thread of its own; all calls here may be made from any other thread. A process
 * may run several. Trouble of the server itself (no port, no memory) aborts the test.
 *
 *     struct fake_server *server = fake_server_start(0);
 *     fake_server_put_region(server, &(struct fake_region){.table = "t", .id = 1, .host = "h"});
 *     fake_server_fault(server, &(struct fake_fault){.what = FAKE_EXCEPTION, .times = 2,
 *                       .class_name = "org.apache.hadoop.hbase.NotServingRegionException"});
 *     ... the client under test asks fake_server_port(server) ...
 *     fake_server_free(server);
 */

#include "test/fake_catalog.h"
#include "test/fake_rows.h"

struct fake_server;

/* Start listening on 127.0.0.1. port 0 = any free one. */
struct fake_server *fake_server_start(int port);

/* The port, which stays the same over stop and restart. */
int fake_server_port(const struct fake_server *server);

/* As if the process had died: connections are closed, new ones refused. The catalog, the faults and
 * the counts stay. */
void fake_server_stop(struct fake_server *server);

/* Listen again, on the same port. */
void fake_server_restart(struct fake_server *server);

/* Close all connections, without a word; new ones are welcome. */
void fake_server_drop_connections(struct fake_server *server);

/* Accept connections but neither read nor answer, until switched off again; what was sent meanwhile
 * is answered then. */
void fake_server_set_silent(struct fake_server *server, bool silent);

/* Stop, and release everything. NULL is accepted. */
void fake_server_free(struct fake_server *server);

/* ---- What it holds -------------------------------------------------------------------------- */

/* As fake_catalog_..., at any time. */
void fake_server_put_region(struct fake_server *server, const struct fake_region *region);
void fake_server_delete_region(struct fake_server *server, const struct fake_region *region);
void fake_server_put_cell(struct fake_server *server, struct keyroute_bytes row, const char *family,
                          const char *qualifier, struct keyroute_bytes value);
void fake_server_delete_cell(struct fake_server *server, struct keyroute_bytes row,
                             const char *family, const char *qualifier);
void fake_server_delete_row(struct fake_server *server, struct keyroute_bytes row);
void fake_server_clear_catalog(struct fake_server *server);

/* table:state of a table: 0 enabled, 1 disabled, 2 disabling, 3 enabling. */
void fake_server_put_table_state(struct fake_server *server, const char *table, int state);

/* ---- User regions --------------------------------------------------------------------------- */

/* Serve a region, or a replica of it (0 = the primary): Get, Multi and other methods that name it.
 * Of the region, table, keys and id count. What is not served is answered with
 * NotServingRegionException. */
void fake_server_host_region(struct fake_server *server, const struct fake_region *region,
                             int replica);
void fake_server_unhost_region(struct fake_server *server, const struct fake_region *region,
                               int replica);

/* The primary went there: who asks for it is told so by RegionMovedException, until it is hosted
 * here again, or unhosted. */
void fake_server_move_region(struct fake_server *server, const struct fake_region *region,
                             const char *host, int port, int64_t start_code, int64_t seqnum);

/* Host a region on a server, and write it into the catalog of another, or the same one, as being
 * there: on 127.0.0.1, with the start code 77 unless the region has one. */
void fake_server_place_region(struct fake_server *meta, struct fake_server *on,
                              const struct fake_region *region);

/* The same with replicas: number n on on[n], of which there are count. */
void fake_server_place_replicas(struct fake_server *meta, struct fake_server *const *on, int count,
                                const struct fake_region *region);

/* The region moves: it is placed on `to`, with the seqnum it has now, and `from` knows that. */
void fake_server_hand_over_region(struct fake_server *meta, struct fake_server *from,
                                  struct fake_server *to, const struct fake_region *region);

/* Read the rows of user tables from these instead of its own: the servers of a cluster share them.
 * Holds them too. */
void fake_server_set_rows(struct fake_server *server, struct fake_rows *rows);

/* Those it has now; borrowed. */
struct fake_rows *fake_server_rows(struct fake_server *server);

/* fake_rows_put on them. */
void fake_server_put_row_cell(struct fake_server *server, const char *table,
                              struct keyroute_bytes row, const char *family, const char *qualifier,
                              int64_t timestamp, struct keyroute_bytes value);

/* How methods other than Scan, Get and Multi are answered, if their region is served: these bytes
 * as message and as cells. Without a word of it, nothing and no cells. */
void fake_server_answer_method(struct fake_server *server, const char *method,
                               struct keyroute_bytes body, struct keyroute_bytes cells);

/* ---- How it writes answers ------------------------------------------------------------------ */

enum fake_encoding {
  FAKE_CELL_BLOCK,        /* KeyValues behind the message; the counts one by one, as HBase does */
  FAKE_CELL_BLOCK_PACKED, /* the same with packed counts (scans) */
  FAKE_INLINE             /* cells inside the message */
};

/* Default FAKE_CELL_BLOCK. A client that names no codec gets FAKE_INLINE in any case. */
void fake_server_set_encoding(struct fake_server *server, enum fake_encoding encoding);

/* How it can be asked for the nearest row below a key in the catalog: one way or another. */
enum fake_downward {
  FAKE_SCANS_DOWN,       /* reversed scans, and no Get of the row closest before: as since 2.0 */
  FAKE_NO_SUCH_SCAN,     /* that Get; a reversed scan is refused with an exception */
  FAKE_IGNORES_REVERSED, /* that Get; a reversed scan goes up from its start, whatever its stop */
  FAKE_MEETS_STOP_ROW    /* that Get; the same, but so it stops at once: as 0.96 */
};

/* Default FAKE_SCANS_DOWN. With the others scans don't say whether there are more rows. */
void fake_server_set_downward(struct fake_server *server, enum fake_downward downward);

/* ---- How it misbehaves ---------------------------------------------------------------------- */

enum fake_what {
  FAKE_ANSWER,          /* the right answer; for a delay, or to let some pass before a fault */
  FAKE_EXCEPTION,       /* class_name, text, do_not_retry, overloaded */
  FAKE_FATAL,           /* the same about the connection (call -1), which is closed then */
  FAKE_NEVER,           /* no answer to this one */
  FAKE_CLOSE,           /* close the connection without a byte */
  FAKE_RESET,           /* the same with a TCP reset */
  FAKE_HALF,            /* half of the right answer, then close */
  FAKE_TRICKLE,         /* the right answer, byte by byte */
  FAKE_TWICE,           /* the right answer, two times */
  FAKE_REVERSE,         /* hold the right answers of all `times` scans, then send the last first */
  FAKE_WRONG_ID,        /* the right answer, to a call that was never made */
  FAKE_GARBAGE,         /* a frame whose header is unreadable */
  FAKE_HUGE_LENGTH,     /* a frame that claims 2 GiB */
  FAKE_NEGATIVE_LENGTH, /* a frame of -1 bytes */
  FAKE_BAD_MESSAGE,     /* a good frame and header, an unreadable message */
  FAKE_BAD_COUNTS,      /* one cell more announced than sent */
  FAKE_SPARE_BYTES,     /* bytes behind the last cell */
  FAKE_MIXED_ROW,       /* the first two rows announced as one */
  FAKE_EMPTY_ROW,       /* a row without cells in front */
  FAKE_PARTIAL_ROW,     /* the last row marked partial */
  FAKE_EARLY_STOP,      /* only the first `rows` rows, more_results_in_region */
  FAKE_HEARTBEAT,       /* the same and heartbeat_message */
  FAKE_SILENT_STOP,     /* only the first `rows` rows, as if there were no more */
  FAKE_BACKWARDS,       /* the right rows, the last one first */
  FAKE_NO_LIMIT,        /* more rows than asked for, if there are any */

  FAKE_APPLY_CLOSE,          /* execute it, then close the connection without a byte */
  FAKE_NO_RESULT,            /* Get, Multi: neither result nor exception */
  FAKE_FEWER_REGIONS,        /* Multi: the last region's results are missing */
  FAKE_MORE_REGIONS,         /* Multi: those of a region more, empty */
  FAKE_LOST_RESULT,          /* Multi: a result is missing */
  FAKE_INDEX_TWICE,          /* Multi: a result comes twice */
  FAKE_WRONG_INDEX,          /* Multi: a result with an index nobody gave */
  FAKE_RESULT_AND_EXCEPTION, /* Multi: a result with class_name and text beside it */
  FAKE_ANY_ORDER             /* Multi: the right answer, each region's results the last one first */
};

/* What to do with some requests. Zeros mean nothing special. Those about the inside of a scan's
 * answer (FAKE_MIXED_ROW to FAKE_NO_LIMIT) leave other answers alone, as those of Multi do. */
struct fake_fault {
  enum fake_what what;
  const char *method;     /* of which method: "Get", "*" = any, NULL = "Scan"; copied */
  int times;              /* for so many requests; 0 = 1, negative = until cleared */
  int delay_ms;           /* before the answer, whatever it is; other calls are not held up */
  const char *class_name; /* FAKE_EXCEPTION, FAKE_FATAL; copied */
  const char *text;       /* first line behind the class name; copied; NULL = none */
  bool do_not_retry, overloaded;
  size_t rows; /* FAKE_EARLY_STOP, FAKE_HEARTBEAT, FAKE_SILENT_STOP */
  /* Only requests that name this region, or read this row; copied. In a Multi, FAKE_EXCEPTION then
   * happens to that region or row alone and takes a turn for each, without delay; and the faults
   * that say "a result" happen to the first one, or to that of the row. */
  const struct fake_region *region;
  int replica;               /* of the region */
  struct keyroute_bytes row; /* data NULL = any */
};

/* Put a fault behind those that are still to come; each request takes a turn of the first one that
 * is about it. Faults come before all that the server would say itself. */
void fake_server_fault(struct fake_server *server, const struct fake_fault *fault);

/* Forget the faults still to come; answers held back by FAKE_REVERSE are sent. */
void fake_server_clear_faults(struct fake_server *server);

/* ---- What it saw ---------------------------------------------------------------------------- */

struct fake_counts {
  unsigned connects;    /* connections accepted */
  unsigned connections; /* open now */
  unsigned hellos;      /* good connection headers read */
  unsigned rpcs;        /* requests read, of any method */
  unsigned scans;       /* of these, scans */
  unsigned scanners;    /* scanners opened and not closed */
  unsigned rows;        /* rows sent */
  unsigned most_unsent; /* answers that were ready or delayed at a time */
  unsigned gets;        /* requests, whatever came of them */
  unsigned multis;
  unsigned calls;     /* of other methods that name a region */
  unsigned rows_read; /* by Get and Multi */
  unsigned
      most_multis; /* Multi requests in flight at a time: come, and neither answered nor lost with
                           their connection */
};

struct fake_counts fake_server_counts(struct fake_server *server);

/* How many requests of a method came, and how many of them were executed: their right answer was
 * made, whether or not it arrived (FAKE_NEVER, FAKE_HALF, FAKE_APPLY_CLOSE...). Exceptions in its
 * place and connections closed before are not. */
unsigned fake_server_seen(struct fake_server *server, const char *method);
unsigned fake_server_executed(struct fake_server *server, const char *method);

/* Wait until so many requests, or connections, have been seen. False = not within timeout_ms. */
bool fake_server_wait_scans(struct fake_server *server, unsigned scans, int timeout_ms);
bool fake_server_wait_gets(struct fake_server *server, unsigned gets, int timeout_ms);
bool fake_server_wait_multis(struct fake_server *server, unsigned multis, int timeout_ms);
bool fake_server_wait_calls(struct fake_server *server, unsigned calls, int timeout_ms);
bool fake_server_wait_connects(struct fake_server *server, unsigned connects, int timeout_ms);
/* Wait until no more than so many connections are open. */
bool fake_server_wait_closed(struct fake_server *server, unsigned connections, int timeout_ms);

/* The last scan as it came, cut to fit. */
struct fake_seen {
  char user[64], service[64], codec[80], region[64], family[32];
  char start[256], stop[256];
  size_t start_len, stop_len;
  bool include_start, include_stop, reversed, small, close_scanner, pread;
  uint32_t number_of_rows, priority, timeout_ms, max_versions, call_id;
  uint64_t max_result_size;
  bool has_limit_of_rows, handles_partials, handles_heartbeats;
};

struct fake_seen fake_server_last_scan(struct fake_server *server);

/* The last Get as it came, cut to fit. */
struct fake_seen_get {
  char region[200]; /* as the client named it */
  char row[256];
  size_t row_len;
  char columns[400]; /* "f:q,f:r,g": families alone, or with a qualifier each */
  uint32_t max_versions, consistency, priority, timeout_ms, call_id;
  bool has_time_range, existence_only, cache_blocks, closest_row_before;
  int64_t from, to;
};

struct fake_seen_get fake_server_last_get(struct fake_server *server);

/* The last Multi as it came: counts, and the first of each. */
enum { FAKE_SEEN_MAX = 32 };
struct fake_seen_multi {
  size_t regions, rows;
  char region[FAKE_SEEN_MAX][200];
  size_t region_rows[FAKE_SEEN_MAX];
  char row[FAKE_SEEN_MAX][64];
  struct fake_seen_get first;
};

struct fake_seen_multi fake_server_last_multi(struct fake_server *server);

/* The last request of another method, cut to fit; the lengths are whole. */
struct fake_seen_call {
  char method[64], region[200];
  char param[2048], cells[1024];
  size_t param_len, cells_len;
  uint32_t priority, timeout_ms, call_id;
};

struct fake_seen_call fake_server_last_call(struct fake_server *server);

/* ---- Without a socket ----------------------------------------------------------------------- */

/* A server that nobody runs and no port leads to: bytes are handed in and answers taken out, all in
 * the caller's thread. Delays mean nothing then. */
struct fake_server *fake_server_new(void);

/* A connection is made, which the number returned stands for, never 0; the client has gone. */
unsigned fake_server_accept(struct fake_server *server);
void fake_server_hang_up(struct fake_server *server, unsigned number);

/* Bytes from the client. Returns one answer to them, an empty one where the connection is only to
 * be closed; NULL data = none is left. Call it again, with no bytes, for the next one. The memory
 * is the caller's, free() it. *closes  the connection is to be closed, and has gone here. */
struct keyroute_bytes fake_server_exchange(struct fake_server *server, unsigned number,
                                           struct keyroute_bytes bytes, bool *closes);

/* ---- Ports where nobody answers ------------------------------------------------------------- */

/* A port on 127.0.0.1 whose handshakes are never completed: its queue is full. */
struct fake_black_hole;
struct fake_black_hole *fake_black_hole_open(int *port);
struct fake_black_hole *fake_black_hole_open_at(int port); /* one that is free now */
void fake_black_hole_close(struct fake_black_hole *hole);

#endif
