#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

/* A scripted region server for tests. It speaks the server's side of HBase's protobuf RPC on
 * loopback, answers Scan of hbase:meta from a catalog in memory, and misbehaves as told.
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

/* ---- How it writes answers ------------------------------------------------------------------ */

enum fake_encoding {
  FAKE_CELL_BLOCK,        /* KeyValues behind the message; the counts one by one, as HBase does */
  FAKE_CELL_BLOCK_PACKED, /* the same with packed counts */
  FAKE_INLINE             /* cells inside the message */
};

/* Default FAKE_CELL_BLOCK. A client that names no codec gets FAKE_INLINE in any case. */
void fake_server_set_encoding(struct fake_server *server, enum fake_encoding encoding);

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
  FAKE_NO_LIMIT         /* more rows than asked for, if there are any */
};

/* What to do with some scans. Zeros mean nothing special. */
struct fake_fault {
  enum fake_what what;
  int times;              /* for so many scans; 0 = 1, negative = until cleared */
  int delay_ms;           /* before the answer, whatever it is; other calls are not held up */
  const char *class_name; /* FAKE_EXCEPTION, FAKE_FATAL; copied */
  const char *text;       /* first line behind the class name; copied; NULL = none */
  bool do_not_retry, overloaded;
  size_t rows; /* FAKE_EARLY_STOP, FAKE_HEARTBEAT */
};

/* Put a fault behind those that are still to come; each scan takes the first one's turn. */
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
};

struct fake_counts fake_server_counts(struct fake_server *server);

/* Wait until so many scans, or connections, have been seen. False = not within timeout_ms. */
bool fake_server_wait_scans(struct fake_server *server, unsigned scans, int timeout_ms);
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
  bool has_limit_of_rows, handles_partials, handles_heartbeats;
};

struct fake_seen fake_server_last_scan(struct fake_server *server);

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

/* A port on 127.0.0.1 that was free a moment ago: connections are refused. */
int fake_closed_port(void);

#endif
