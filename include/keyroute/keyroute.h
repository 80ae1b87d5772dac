/*
 * keyroute: which server holds a key, in a store whose sorted key space is cut into regions.
 *
 * Conventions, true for every call here:
 *
 *  Result     0 is success, a negative number is one of KEYROUTE_E_...; output arguments are
 *             touched only on success, except `detail`, which always tells how the call went.
 *  Ownership  `T **out` hands an object over: give it back with the function its comment names
 *             (NULL is accepted there). A returned pointer is borrowed and lives as long as the
 *             object asked. Inputs are borrowed for the call and copied if kept.
 *  Threads    Every call may be made from any thread unless its comment says otherwise.
 *  Keys       Rows are arbitrary bytes, compared as unsigned bytes. A start key is inclusive, an
 *             end key exclusive, and an empty one means "unbounded".
 */
#ifndef KEYROUTE_KEYROUTE_H
#define KEYROUTE_KEYROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(KEYROUTE_BUILDING)
#define KEYROUTE_EXTERN __attribute__((visibility("default")))
#else
#define KEYROUTE_EXTERN
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---------------------------------------------------------------------------------- */

/** What the locator does about an error, and what an application should do about one it got from
 *  the server it was sent to. */
enum keyroute_kind {
  KEYROUTE_KIND_NONE,        /* not an error */
  KEYROUTE_KIND_KEEP,        /* the location is right; ask the same server again later */
  KEYROUTE_KIND_REFRESH,     /* the location may be stale; read the catalog again */
  KEYROUTE_KIND_HINT,        /* the error itself names the new location */
  KEYROUTE_KIND_DROP_SERVER, /* the server is gone; so is all that is known to be on it */
  KEYROUTE_KIND_FATAL        /* trying again cannot help */
};

/* One row an error: X(name, number, text, kind, retried). Numbers never change. */
#define KEYROUTE_ERRORS(X)                                                                         \
  X(INVALID_ARGUMENT, -1, "invalid argument", FATAL, false)                                        \
  X(TABLE_NOT_FOUND, -2, "table not found", FATAL, false)                                          \
  X(HOLE, -3, "no region covers the row", REFRESH, true)                                           \
  X(OVERLAP, -4, "two regions cover the row and neither is newer", REFRESH, true)                  \
  X(OFFLINE, -5, "only an offline region or a split parent covers the row", KEEP, true)            \
  X(NO_SERVER, -6, "the region is on no server", KEEP, true)                                       \
  X(DEAD_SERVER, -7, "the region's server is known dead", REFRESH, true)                           \
  X(CORRUPT, -8, "a catalog row cannot be believed", REFRESH, true)                                \
  X(BOOTSTRAP, -9, "the root's location cannot be read", REFRESH, true)                            \
  X(RESOLVE, -10, "a host name does not resolve", DROP_SERVER, true)                               \
  X(UNREACHABLE, -11, "a server cannot be reached", DROP_SERVER, true)                             \
  X(PROTOCOL, -12, "bytes on the wire cannot be believed", DROP_SERVER, true)                      \
  X(OVERLOADED, -13, "the server asks to wait", KEEP, true)                                        \
  X(REMOTE, -14, "the server answered with an exception", REFRESH, true)                           \
  X(AUTH, -15, "authentication or authorisation failed", FATAL, false)                             \
  X(NOT_CACHED, -16, "not in the cache", FATAL, false)                                             \
  X(TIMEOUT, -17, "nothing answered in time", REFRESH, true)                                       \
  X(CANCELLED, -18, "the call was cancelled", FATAL, false)                                        \
  X(CLOSED, -19, "the connection is closed", FATAL, false)                                         \
  X(NO_MEMORY, -20, "out of memory", FATAL, false)                                                 \
  X(TOO_LARGE, -21, "the answer is larger than allowed", FATAL, false)

#define KEYROUTE_ERROR_ENUM(name, number, text, kind, retried) KEYROUTE_E_##name = (number),
enum keyroute_error { KEYROUTE_OK = 0, KEYROUTE_ERRORS(KEYROUTE_ERROR_ENUM) };
#undef KEYROUTE_ERROR_ENUM

/** The sentence for an error code, static. Unknown codes give "unknown error". */
KEYROUTE_EXTERN const char *keyroute_strerror(int error);

/** The name of an error code, static: "TABLE_NOT_FOUND". 0 gives "OK", unknown codes "UNKNOWN". */
KEYROUTE_EXTERN const char *keyroute_errname(int error);

/** Whether the locator itself tries again on this error, within deadline and number of tries. */
KEYROUTE_EXTERN bool keyroute_is_retriable(int error);

/** What an error says about the location it came from. */
KEYROUTE_EXTERN enum keyroute_kind keyroute_error_kind(int error);

/* ---- Bytes ----------------------------------------------------------------------------------- */

/** A run of bytes that somebody else owns; any byte may occur in it. Frozen. */
struct keyroute_bytes {
  const void *data;
  size_t len;
};

/** The bytes of a NUL-terminated string, without the NUL. */
KEYROUTE_EXTERN struct keyroute_bytes keyroute_string(const char *text);

/** Write bytes as HBase prints them: printable ASCII as it is, all else and `\` as `\xHH`.
 *  out   receives at most size bytes, always NUL-terminated if size > 0; NULL if size is 0
 *  Returns the length of the whole text without its NUL, also when it did not fit.
 *  Source: HBase Bytes.toStringBinary, with the backslash escaped so that the text parses back. */
KEYROUTE_EXTERN size_t keyroute_escape(char *out, size_t size, struct keyroute_bytes bytes);

/** The inverse of keyroute_escape.
 *  out      receives the bytes; strlen(text) bytes of room are always enough
 *  out_len  how many bytes were written
 *  Errors: INVALID_ARGUMENT a `\` that does not begin `\xHH`. */
KEYROUTE_EXTERN int keyroute_unescape(void *out, size_t *out_len, const char *text);

/** Memory functions to use instead of the C library's. Frozen. They must be thread-safe and stay
 *  valid until every connection and every location made with them is gone. They are called under
 *  locks of the library: they must not call it, nor fork. Memory that ZooKeeper, libuv, liburcu and
 *  libxml2 allocate for themselves does not come from here. */
struct keyroute_allocator {
  void *user;
  void *(*allocate)(void *user, size_t size);
  void *(*reallocate)(void *user, void *old, size_t size);
  void (*release)(void *user, void *old);
};

/* ---- Options --------------------------------------------------------------------------------- */

/** What a connection runs with: properties by name, and where the log goes.
 *  Threads: one at a time for each. */
struct keyroute_options;
struct keyroute_detail;

/** How serious a line of the log is. */
enum keyroute_log_level {
  KEYROUTE_LOG_ERROR,
  KEYROUTE_LOG_WARNING,
  KEYROUTE_LOG_INFO,
  KEYROUTE_LOG_DEBUG
};

/** Receives the library's log, one line a call, without a newline. Called from several threads,
 *  under no lock of the library; it must not call back into the connection and must be quick. */
typedef void (*keyroute_log_cb)(void *payload, enum keyroute_log_level level, const char *line);

/** Make a set of options holding the defaults.
 *  out        release with keyroute_options_free
 *  allocator  NULL = the C library's; copied, and used for all that the connection allocates
 *  Errors: NO_MEMORY; INVALID_ARGUMENT out is NULL or the allocator lacks a function. */
KEYROUTE_EXTERN int keyroute_options_new(struct keyroute_options **out,
                                         const struct keyroute_allocator *allocator);

/** Release options. A connection keeps its own copy: they may go right after keyroute_open. */
KEYROUTE_EXTERN void keyroute_options_free(struct keyroute_options *options);

/** Set one property, by HBase's own name where HBase has one. libkeyroute(3) lists them all with
 *  range, unit and default. A property set here beats one from a file, whatever the order.
 *  Names that keyroute does not know are kept (they may be used by ${...}) and have no effect, but
 *  for those that begin with "keyroute.", which are refused; from a file they too are kept, and
 *  keyroute_open logs a warning for each.
 *  The calls below that set one property take no detail: this one, with the property that each of
 *  them names, tells why a value is refused.
 *  detail  NULL or filled in with the reason
 *  Errors: INVALID_ARGUMENT the value is not one of the property's, or there is no such property of
 *  keyroute's; NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set(struct keyroute_options *options, const char *name,
                                         const char *value, struct keyroute_detail *detail);

/** The value of a property as set, with ${...} replaced, or its default; NULL if it has none.
 *  Borrowed until the options change. */
KEYROUTE_EXTERN const char *keyroute_options_get(const struct keyroute_options *options,
                                                 const char *name);

/** Read an hbase-site.xml: <configuration> of <property> with <name>, <value> and <final>. A
 *  property marked final is not changed by files read later. Files read later beat earlier ones.
 *  Errors: INVALID_ARGUMENT no such file, not well-formed, or a value out of range (detail names
 *  the file and the line or property); NO_MEMORY.
 *  Blocks: reads a file.  Source: Hadoop Configuration.loadResource */
KEYROUTE_EXTERN int keyroute_options_read_file(struct keyroute_options *options, const char *path,
                                               struct keyroute_detail *detail);

/** Take what the environment says: $HBASE_CONF_DIR/hbase-site.xml if that file exists, and
 *  HADOOP_USER_NAME as the effective user. Errors: as keyroute_options_read_file. */
KEYROUTE_EXTERN int keyroute_options_read_environment(struct keyroute_options *options,
                                                      struct keyroute_detail *detail);

/** The ZooKeeper ensemble: "host:port,host:port/chroot". A missing port is the property
 *  hbase.zookeeper.property.clientPort, default 2181. Default "localhost".
 *  Property: hbase.zookeeper.quorum.  Errors: INVALID_ARGUMENT, NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set_zookeeper(struct keyroute_options *options,
                                                   const char *ensemble);

/** The znode below which the cluster keeps its own: an absolute path, default "/hbase". A trailing
 *  slash is ignored. Property: zookeeper.znode.parent.  Errors: INVALID_ARGUMENT, NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set_parent(struct keyroute_options *options,
                                                const char *znode);

/** The catalog's layout: "meta" is two tiers, of HBase 0.96 and later; "root" is three, of 0.94;
 *  "auto" (default) looks at the znodes, once, and takes "meta" where they do not tell. "range"
 *  is a range directory (keyroute_range(7)), whose tables are map, meta2 and meta1; only who asks
 *  for it gets it, and keyroute_open refuses where gRPC is not there. Property: keyroute.layout.
 *  Errors: INVALID_ARGUMENT unknown; NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set_layout(struct keyroute_options *options,
                                                const char *layout);

/** How often to try again after a first failure, 0 to 1000, default 15; the call's deadline ends
 *  it too. Property: hbase.client.retries.number.  Errors: INVALID_ARGUMENT, NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set_retries(struct keyroute_options *options, int retries);

/** The unit of the wait between tries in ms, 1 to 60000, default 100.
 *  Property: hbase.client.pause.  Errors: INVALID_ARGUMENT, NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set_pause_ms(struct keyroute_options *options,
                                                  int64_t pause_ms);

/** The deadline of calls that name none, in ms, 1 to 86400000, default 30000.
 *  Property: keyroute.deadline.ms.  Errors: INVALID_ARGUMENT, NO_MEMORY. */
KEYROUTE_EXTERN int keyroute_options_set_deadline_ms(struct keyroute_options *options,
                                                     int64_t deadline_ms);

/** Where the library's log goes; default nowhere. Set it before keyroute_open.
 *  level    lines less serious than this are not made
 *  cb       NULL = nowhere
 *  payload  handed to cb */
KEYROUTE_EXTERN void keyroute_options_set_log(struct keyroute_options *options,
                                              enum keyroute_log_level level, keyroute_log_cb cb,
                                              void *payload);

/** Receives work to be done on the application's own thread: see that run(arg) is called exactly
 *  once, later, where callbacks shall run. Until then a small object is held; a run(arg) that comes
 *  when the connection has been closed does nothing but release it. Called on a thread of the
 *  library, under no lock of it, never after keyroute_close has returned; it must be quick. */
typedef void (*keyroute_post_cb)(void *payload, void (*run)(void *arg), void *arg);

/** Have the callbacks of asynchronous calls run where the application wants them instead of on the
 *  connection's own thread: on the thread that calls run(arg), which runs all that wait, in the
 *  order in which answers came. On whatever threads that is done, a connection's callbacks run one
 *  at a time, and none inside another. They may make blocking calls, which need no run(arg).
 *  Excludes keyroute_options_set_drain. Set it before keyroute_open.
 *  post     NULL = the connection's thread, the default
 *  payload  handed to post */
KEYROUTE_EXTERN void keyroute_options_set_post(struct keyroute_options *options,
                                               keyroute_post_cb post, void *payload);

/** Have the callbacks of asynchronous calls wait for keyroute_drain instead of running on the
 *  connection's own thread. Excludes keyroute_options_set_post. Set it before keyroute_open.
 *  drain  default false */
KEYROUTE_EXTERN void keyroute_options_set_drain(struct keyroute_options *options, bool drain);

/* ---- Connection ------------------------------------------------------------------------------ */

/** One cluster: a loop thread, a cache, a registry and the connections to its servers. */
struct keyroute_connection;

/** Open a connection. Never touches the network: what is wrong with the cluster comes out in the
 *  first call that needs it.
 *  out      close with keyroute_close
 *  options  copied; NULL = defaults, and what keyroute_options_read_environment takes
 *  detail   NULL or filled in
 *  Errors: INVALID_ARGUMENT an option's value (detail names it), or called inside a peek section;
 *  NO_MEMORY memory, threads or file descriptors. */
KEYROUTE_EXTERN int keyroute_open(struct keyroute_connection **out,
                                  const struct keyroute_options *options,
                                  struct keyroute_detail *detail);

/** Close a connection. Calls under way end with CLOSED, their callbacks having run when this
 *  returns; its threads are joined. Table handles must have been given back, counted locations stay
 *  valid. Callbacks that wait for the application's thread are run here, in this one.
 *  conn  NULL is accepted. No other call on it may start once this one has, but in callbacks.
 *  Errors: INVALID_ARGUMENT called in one of its callbacks or inside a peek section; nothing is
 *  closed then.
 *  Blocks: usually some ms; at most 3 s, even while a name server or ZooKeeper does not answer: a
 *  thread stuck in the C library's resolver is then left to end by itself. A callback that runs on
 *  another thread is waited for.
 *  In a forked child: returns at once, runs no callback, and frees what it can. */
KEYROUTE_EXTERN int keyroute_close(struct keyroute_connection *conn);

/** What one connection has counted since it was opened. Grows at the end. */
struct keyroute_stats {
  size_t size;             /* sizeof(struct keyroute_stats), set by the caller */
  uint64_t hits;           /* answers from the cache */
  uint64_t misses;         /* lookups that the cache could not answer */
  uint64_t joins;          /* misses that waited for a scan another lookup had started */
  uint64_t scans;          /* catalog scans sent, confirming reads included */
  uint64_t scans_failed;   /* of these, ended by an error */
  uint64_t registry_reads; /* reads of the root's location */
  uint64_t retries;        /* waits before a further try */
  uint64_t connects;       /* connections made to servers */
  uint64_t rpcs;           /* requests sent to servers */
  uint64_t tables;         /* tables in the cache now */
  uint64_t regions;        /* regions in the cache now */
  uint64_t evictions;      /* regions that left the cache for any reason */
  uint64_t pending;        /* calls under way now */
  uint64_t bytes;          /* memory held by the cache now: regions, tables, servers */

  /* Of keyroute_report. */
  uint64_t reports;           /* calls that were accepted */
  uint64_t hints_taken;       /* of these, whose place went into the cache */
  uint64_t refreshes_limited; /* of these, that were not to cause one more read yet */

  /* Of the connection's own bounds. */
  uint64_t refused; /* calls and requests that were OVERLOADED by them */

  /* The evictions by reason. */
  uint64_t evicted_replaced; /* the catalog said something newer */
  uint64_t evicted_reported; /* found wrong by whoever was sent there */
  uint64_t evicted_server;   /* their server was dropped, by a report or keyroute_clear_server */
  uint64_t evicted_expired;  /* keyroute.cache.ttl.ms */
  uint64_t evicted_idle;     /* keyroute.cache.idle.ms */
  uint64_t evicted_full;     /* keyroute.cache.max.regions or .bytes */
  uint64_t evicted_cleared;  /* keyroute_clear_table or _all, or the root may have moved */

  /* Of the last hop: keyroute_get and the calls like it. */
  uint64_t requests;        /* sent to the servers of regions */
  uint64_t requests_failed; /* of these, that brought no answer, or an exception */
  uint64_t rows_read;       /* rows, found or not, that servers answered for */
  uint64_t rows_retried;    /* rows and calls that were sent once more */
};

/** Read the counters. stats->size must be set; only that much is written. Errors: INVALID_ARGUMENT
 *  size is 0. The figures are taken one after another, not as one snapshot. */
KEYROUTE_EXTERN int keyroute_stats(struct keyroute_connection *conn, struct keyroute_stats *stats);

/* ---- Locations ------------------------------------------------------------------------------- */

/** Where one region is: its bounds, and the server of each of its replicas. Immutable and counted;
 *  it may outlive its connection. */
struct keyroute_location;

/** Take one more count. Allowed on a peeked location only inside its peek section. Returns it. */
KEYROUTE_EXTERN struct keyroute_location *keyroute_location_ref(
    const struct keyroute_location *location);

/** Give a count back; NULL is accepted. The last one frees the location. */
KEYROUTE_EXTERN void keyroute_location_release(struct keyroute_location *location);

/** The table's canonical name: "t" for default:t, else "namespace:name". */
KEYROUTE_EXTERN struct keyroute_bytes keyroute_location_table(
    const struct keyroute_location *location);

/** First row of the region, inclusive; empty = unbounded. */
KEYROUTE_EXTERN struct keyroute_bytes keyroute_location_start_key(
    const struct keyroute_location *location);

/** First row behind the region, exclusive; empty = unbounded. */
KEYROUTE_EXTERN struct keyroute_bytes keyroute_location_end_key(
    const struct keyroute_location *location);

/** The region's id: the time in ms when it was made; of two regions the larger id is newer. Of a
 *  range directory's ranges it is the generation. */
KEYROUTE_EXTERN int64_t keyroute_location_region_id(const struct keyroute_location *location);

/** Write a replica's region name as HBase spells it: "t,start,id.encoded.". Bytes, not text. That
 *  of a range is "map,start,GENERATION.rID." for all of its replicas. It is made anew by each call,
 *  mostly with an MD5: keep it where it is wanted often.
 *  out   receives at most size bytes; no NUL is added
 *  Returns the length of the whole name, also when it did not fit. */
KEYROUTE_EXTERN size_t keyroute_location_region_name(const struct keyroute_location *location,
                                                     int replica, void *out, size_t size);

/** Write a replica's encoded region name, as keyroute_location_region_name does. Empty where it is
 *  not known: for names older than HBase 0.92, and for replicas of hbase:meta. That of a range is
 *  "rID", its table on the nodes. */
KEYROUTE_EXTERN size_t keyroute_location_encoded_name(const struct keyroute_location *location,
                                                      int replica, void *out, size_t size);

/** The region's state as the catalog names it ("OPEN", "CLOSED", ...), static text; NULL if the
 *  catalog does not say. */
KEYROUTE_EXTERN const char *keyroute_location_state(const struct keyroute_location *location);

/** How many replicas the catalog names: one above the highest with a column. At least 1. A range's
 *  first is its leaseholder. */
KEYROUTE_EXTERN int keyroute_location_replica_count(const struct keyroute_location *location);

/** The host of a replica's server, as the catalog spells it (an IPv6 address without brackets);
 *  NULL if that replica is on no server. Borrowed from the location. */
KEYROUTE_EXTERN const char *keyroute_location_host(const struct keyroute_location *location,
                                                   int replica);

/** The port of a replica's server, 0 if it is on no server. */
KEYROUTE_EXTERN int keyroute_location_port(const struct keyroute_location *location, int replica);

/** The start code of a replica's server (when that process began, ms), 0 if it is on no server, and
 *  of the nodes of a range directory. */
KEYROUTE_EXTERN int64_t keyroute_location_start_code(const struct keyroute_location *location,
                                                     int replica);

/** The sequence number with which a replica was opened there, -1 if the catalog has none; a range's
 *  generation. */
KEYROUTE_EXTERN int64_t keyroute_location_seqnum(const struct keyroute_location *location,
                                                 int replica);

/* ---- Calls ----------------------------------------------------------------------------------- */

/** Where an answer came from. */
enum keyroute_source {
  KEYROUTE_SOURCE_NONE,
  KEYROUTE_SOURCE_CACHE,
  KEYROUTE_SOURCE_CATALOG,
  KEYROUTE_SOURCE_REGISTRY
};

/* Flags of a call. */
#define KEYROUTE_REFRESH 0x1u    /* read the catalog even if the cache has an answer */
#define KEYROUTE_CACHE_ONLY 0x2u /* answer from the cache or with NOT_CACHED */
#define KEYROUTE_BEFORE 0x4u     /* the region before: the last one that starts below the row */
#define KEYROUTE_AFTER 0x8u      /* the region of the first key above the row */
#define KEYROUTE_TRACE 0x10u     /* record the steps in detail->trace */

/** How to make one call. All zero (but for size) means the defaults. Grows at the end. */
struct keyroute_call {
  size_t size;         /* sizeof(struct keyroute_call) */
  int64_t deadline_ms; /* everything included; 0 = the connection's default */
  unsigned flags;      /* KEYROUTE_REFRESH, ... */
  int replica;         /* the replica that must have a server; 0 = primary */
};

/** For keyroute_call.replica: any replica that has a server will do. */
#define KEYROUTE_REPLICA_ANY (-1)

/** The steps of one call, kept in its detail. */
struct keyroute_trace;

/** How a call went. Set size, or use KEYROUTE_DETAIL_INIT, before the first use; give what it holds
 *  back with keyroute_detail_clear. Grows at the end. */
struct keyroute_detail {
  size_t size;                  /* sizeof(struct keyroute_detail) */
  int error;                    /* what the call returned */
  enum keyroute_source source;  /* where the answer came from */
  bool deadline;                /* the deadline ended the retries */
  unsigned attempts;            /* tries at the catalog; 0 = answered by the cache */
  unsigned rpcs;                /* requests sent to servers for this answer */
  int64_t elapsed_us;           /* from the call to its answer */
  char server[272];             /* "host:port" last asked, or "" */
  char message[768];            /* one line that names the thing; "" on success */
  struct keyroute_trace *trace; /* with KEYROUTE_TRACE, else NULL */
  bool maybe_applied;           /* keyroute_call: the request failed and may have been applied */
};

#define KEYROUTE_CALL_INIT                                                                         \
  {                                                                                                \
    sizeof(struct keyroute_call), 0, 0, 0                                                          \
  }
#define KEYROUTE_DETAIL_INIT                                                                       \
  {                                                                                                \
    sizeof(struct keyroute_detail), 0, KEYROUTE_SOURCE_NONE, false, 0, 0, 0, "", "", NULL, false   \
  }

/** Release what a detail holds and make it as new. NULL is accepted. */
KEYROUTE_EXTERN void keyroute_detail_clear(struct keyroute_detail *detail);

/** One step of a call. The texts are borrowed from the trace. */
struct keyroute_step {
  size_t size;        /* sizeof(struct keyroute_step), set by the caller */
  const char *name;   /* "cache", "registry", "scan", "confirm", "wait", ... */
  int64_t at_us;      /* since the call began */
  int64_t took_us;    /* how long the step took */
  const char *server; /* "host:port" asked, or "" */
  const char *detail; /* what came out, or "" */
};

/** How many steps a trace has; 0 for NULL. */
KEYROUTE_EXTERN size_t keyroute_trace_count(const struct keyroute_trace *trace);

/** Read a step. Errors: INVALID_ARGUMENT no such step, or step->size is 0. */
KEYROUTE_EXTERN int keyroute_trace_step(const struct keyroute_trace *trace, size_t index,
                                        struct keyroute_step *step);

/** Find the region that holds a row.
 *  Answers from the cache if it can, else scans the catalog once for all who wait.
 *  out     location, give it back with keyroute_location_release; untouched on error
 *  table   "name" or "namespace:name"; "hbase:meta" locates the catalog itself
 *  row     any bytes; empty = the first region
 *  call    NULL = defaults
 *  detail  NULL, or filled in
 *  Errors: INVALID_ARGUMENT a table name that HBase would refuse, unknown flags, in a callback or a
 *  peek section; TABLE_NOT_FOUND, HOLE, OVERLAP, OFFLINE, NO_SERVER, DEAD_SERVER, CORRUPT as the
 *  catalog is; BOOTSTRAP, RESOLVE, UNREACHABLE, PROTOCOL, OVERLOADED, REMOTE, AUTH as the cluster
 *  is; OVERLOADED also at once, with keyroute.max.pending calls under way; NOT_CACHED with
 *  KEYROUTE_CACHE_ONLY; TIMEOUT nothing had answered by the deadline; CLOSED, also for a miss in a
 *  forked child; NO_MEMORY.
 *  Threads: any, but not in a callback on the connection's own.
 *  Blocks: up to the deadline; a hit never.
 *  Source: HBase 2.x AsyncNonMetaRegionLocator, ConnectionImplementation.locateRegionInMeta */
KEYROUTE_EXTERN int keyroute_locate(struct keyroute_location **out,
                                    struct keyroute_connection *conn, const char *table,
                                    struct keyroute_bytes row, const struct keyroute_call *call,
                                    struct keyroute_detail *detail);

/** Receives the answer of an asynchronous call: exactly once, under no lock, never inside the
 *  starting call. It runs on the connection's own thread, where it may start and cancel calls, but
 *  not block or close; or, with keyroute_options_set_post or _drain, on the application's, where it
 *  may block too, but not close.
 *  error     0 or KEYROUTE_E_...
 *  location  NULL on error; borrowed for the callback, keep it with keyroute_location_ref
 *  detail    how it went; borrowed for the callback, its trace too */
typedef void (*keyroute_locate_cb)(void *payload, int error, struct keyroute_location *location,
                                   const struct keyroute_detail *detail);

/** Start keyroute_locate without waiting. Arguments as there; errors found before anything is
 *  started are returned and cb is not called; all others go to cb.
 *  request  NULL, or receives a number for keyroute_cancel
 *  Errors returned: INVALID_ARGUMENT, CLOSED, NO_MEMORY; OVERLOADED with keyroute.max.pending calls
 *  under way, callbacks that are yet to run included, unless the cache has the answer.
 *  Threads: any, in a callback too.  Blocks: never. */
KEYROUTE_EXTERN int keyroute_locate_async(uint64_t *request, struct keyroute_connection *conn,
                                          const char *table, struct keyroute_bytes row,
                                          const struct keyroute_call *call, keyroute_locate_cb cb,
                                          void *payload);

/** End one asynchronous call early: its callback gets CANCELLED, unless its answer was already on
 *  the way; either of them, once, and later. An answer that waits for the application's thread is
 *  on the way. Others that wait for the same scan are not disturbed. Unknown numbers are ignored.
 *  Threads: any, in a callback too. */
KEYROUTE_EXTERN void keyroute_cancel(struct keyroute_connection *conn, uint64_t request);

/** A descriptor that is readable while callbacks wait for keyroute_drain: for poll(2) and its kin.
 *  Do not read from it, write to it or close it; it ends with the connection.
 *  Errors: INVALID_ARGUMENT without keyroute_options_set_drain; CLOSED in a forked child. */
KEYROUTE_EXTERN int keyroute_event_fd(struct keyroute_connection *conn);

/** Run the callbacks that wait, on this thread, in the order in which answers came. Those that come
 *  meanwhile wait for the next time.
 *  Returns how many ran; 0 inside a callback.
 *  Errors: INVALID_ARGUMENT without keyroute_options_set_drain, or inside a peek section; CLOSED in
 *  a forked child, and in a callback that keyroute_close runs.
 *  Threads: any, one at a time.  Blocks: never, but for what callbacks do. */
KEYROUTE_EXTERN int keyroute_drain(struct keyroute_connection *conn);

/* ---- Tables, and the hit path without a call ------------------------------------------------ */

/** A table of one connection, found once instead of at each call. It stays valid, and right, while
 *  the table is dropped and made again, until it is given back, before the connection is closed. */
struct keyroute_table;

/** Get a handle for a table, whether or not the table exists.
 *  out  release with keyroute_table_release before the connection is closed
 *  Errors: INVALID_ARGUMENT a name that HBase would refuse; NO_MEMORY; CLOSED. */
KEYROUTE_EXTERN int keyroute_table_get(struct keyroute_table **out,
                                       struct keyroute_connection *conn, const char *table);

/** Give a handle back; NULL is accepted. What was peeked stays valid until its section ends. */
KEYROUTE_EXTERN void keyroute_table_release(struct keyroute_table *table);

/** keyroute_locate through a handle: its arguments, errors and threads are as there. */
KEYROUTE_EXTERN int keyroute_table_locate(struct keyroute_location **out,
                                          struct keyroute_table *table, struct keyroute_bytes row,
                                          const struct keyroute_call *call,
                                          struct keyroute_detail *detail);

/** Open a peek section on this thread. What is peeked stays valid until the section is closed.
 *  Sections nest. Keep them short, on one thread, and call nothing that blocks inside: memory that
 *  the cache replaces cannot be freed meanwhile. Calls of this library that block refuse to run in
 *  one. Code that may change threads in between (fibres, other runtimes) uses keyroute_locate. */
KEYROUTE_EXTERN void keyroute_peek_begin(void);

/** Close the peek section. */
KEYROUTE_EXTERN void keyroute_peek_end(void);

/** The cached location of a row's region (current one, any replica), or NULL. Takes no lock,
 *  allocates nothing (but for a thread's first section, which registers the thread), reads no
 *  clock. Only inside a peek section, and valid until its end. */
KEYROUTE_EXTERN const struct keyroute_location *keyroute_peek(struct keyroute_table *table,
                                                              struct keyroute_bytes row);

/** keyroute_peek for many rows: out[i] is the location of rows[i] or NULL.
 *  Returns how many are not NULL. */
KEYROUTE_EXTERN size_t keyroute_peek_many(const struct keyroute_location **out,
                                          struct keyroute_table *table,
                                          const struct keyroute_bytes *rows, size_t count);

/* ---- Feedback -------------------------------------------------------------------------------- */

/* What an application met at the server it was sent to. One row a fault: X(name, kind, text). The
 * kind is what becomes of the location. Rows are added at the end. */
#define KEYROUTE_FAULTS(X)                                                                         \
  X(NOT_SERVING, REFRESH, "the server does not have the region")                                   \
  X(MOVED, HINT, "the server names the one that the region has moved to")                          \
  X(OPENING, KEEP, "the server is about to open the region")                                       \
  X(OVERLOADED, KEEP, "the server or the region is too busy")                                      \
  X(NOT_RUNNING, REFRESH, "the process is up and not ready to serve")                              \
  X(CONNECTION_FAILED, DROP_SERVER, "no connection to the server, or it broke")                    \
  X(SERVER_DEAD, DROP_SERVER, "the process is known to have ended or to be ending")                \
  X(REQUEST_FAILED, KEEP, "the request failed for a reason of its own")

#define KEYROUTE_FAULT_ENUM(name, kind, text) KEYROUTE_FAULT_##name,
enum keyroute_fault { KEYROUTE_FAULTS(KEYROUTE_FAULT_ENUM) };
#undef KEYROUTE_FAULT_ENUM

/** What a fault says about the location; KEYROUTE_KIND_NONE for numbers that are none. */
KEYROUTE_EXTERN enum keyroute_kind keyroute_fault_kind(enum keyroute_fault fault);

/** The name of a fault, static: "NOT_SERVING"; "UNKNOWN" for numbers that are none. */
KEYROUTE_EXTERN const char *keyroute_fault_name(enum keyroute_fault fault);

/** More about a fault. Set size, or use KEYROUTE_FAULT_DETAIL_INIT. Grows at the end. */
struct keyroute_fault_detail {
  size_t size;        /* sizeof(struct keyroute_fault_detail) */
  int replica;        /* the one that was asked; 0 = primary */
  const char *host;   /* with MOVED: the place that the server named; NULL = it named none */
  int port;           /* of that place */
  int64_t start_code; /* of that place; 0 = not said */
  int64_t seqnum;     /* with which the region was opened there; -1 = not said */
};

#define KEYROUTE_FAULT_DETAIL_INIT                                                                 \
  {                                                                                                \
    sizeof(struct keyroute_fault_detail), 0, NULL, 0, 0, -1                                        \
  }

/** Tell that the server a location names did not do what it should. What follows is the kind's:
 *    KEEP         nothing: neither is anything forgotten nor the catalog read
 *    REFRESH      the location is given out no more; who asks next has the catalog read
 *    HINT         the named place takes its stead if it is news; else as REFRESH
 *    DROP_SERVER  so does, soon after, all that is cached to be on that process, in one step;
 *                 SERVER_DEAD has it refused for hbase.ipc.client.failed.servers.expiry, too
 *  When it returns, the location (but for KEEP) is given to no call that begins from then on: if
 *  the catalog repeats itself the same place comes in another handle. Repeated news about the very
 *  same place cause one read at once, then at most one a second for a minute, then one a minute; in
 *  between the same place is given out again without a read. KEYROUTE_REFRESH always reads. What is
 *  cached by now and newer than the location is not touched.
 *  location  as a call of this connection gave it out, cached still or not. The second report of
 *            one does nothing. One of another connection is retired, and means something here only
 *            as far as this connection knows the very same place.
 *  detail    NULL = the primary was asked, and no place was named
 *  Errors: INVALID_ARGUMENT no such fault, a replica that is on no server in this location, or a
 *  place that cannot be one; CLOSED; NO_MEMORY the location was retired and nothing else done: the
 *  report may be repeated.
 *  Threads: any, in a callback and a peek section too. Never blocks.
 *  Source: HBase AsyncRegionLocatorHelper.updateCachedLocationOnError; where it differs, see
 *  keyroute_report(3) */
KEYROUTE_EXTERN int keyroute_report(struct keyroute_connection *conn,
                                    struct keyroute_location *location, enum keyroute_fault fault,
                                    const struct keyroute_fault_detail *detail);

/** keyroute_report of the fault that an exception of HBase's is.
 *  out         NULL, or receives what it was taken for; an unknown class is NOT_SERVING
 *  class_name  the Java class, "org.apache.hadoop.hbase.NotServingRegionException"
 *  text        NULL, or the exception's text or stack trace: a RegionMovedException's names the
 *              place
 *  replica     the one that was asked; 0 = primary
 *  Errors and threads: as there. The header's server_overloaded flag, where it is set, beats the
 *  class: report OVERLOADED then. */
KEYROUTE_EXTERN int keyroute_report_exception(enum keyroute_fault *out,
                                              struct keyroute_connection *conn,
                                              struct keyroute_location *location,
                                              const char *class_name, const char *text,
                                              int replica);

/* ---- Reading rows ---------------------------------------------------------------------------- */

/* These calls go the last hop: they find the region's server, send the request there, and on an
 * error that says something about the location report it, as an application would, find the region
 * again and retry, all within one deadline. keyroute_call.flags may hold KEYROUTE_REFRESH,
 * KEYROUTE_CACHE_ONLY (locations from the cache only) and KEYROUTE_TRACE. */

/** A column, or all of a family. Frozen. */
struct keyroute_column {
  struct keyroute_bytes family;
  struct keyroute_bytes qualifier; /* data NULL = every column of the family */
};

/** What to read of each row. All zero (but for size) means the newest version of every column.
 *  Grows at the end. */
struct keyroute_read {
  size_t size;                           /* sizeof(struct keyroute_read) */
  const struct keyroute_column *columns; /* borrowed for the call; NULL = all */
  size_t column_count;
  int max_versions;        /* of each column, newest first; 0 = 1 */
  int64_t from_ms, to_ms;  /* timestamps from (inclusive) to (exclusive); to 0 = no end */
  size_t max_result_bytes; /* more in one row is TOO_LARGE; 0 = keyroute.frame.max.bytes */
};

#define KEYROUTE_READ_INIT                                                                         \
  {                                                                                                \
    sizeof(struct keyroute_read), NULL, 0, 0, 0, 0, 0                                              \
  }

/** One row to be read, or grouped. Frozen. */
struct keyroute_key {
  const char *table; /* "name" or "namespace:name" */
  struct keyroute_bytes row;
};

/** One cell of a row: views into the result that holds it. Frozen. */
struct keyroute_cell {
  struct keyroute_bytes row, family, qualifier, value;
  struct keyroute_bytes tags; /* as HBase encodes them; mostly none */
  int64_t timestamp;          /* ms, or whatever else the writer chose */
  int type;                   /* HBase's KeyValue.Type: 4 = put */
};

/** What was read: of one row, or of many in the order they were asked for. Immutable; any thread
 *  may look at it; it may outlive its connection. */
struct keyroute_result;

/** Release a result; NULL is accepted. All views into it end. */
KEYROUTE_EXTERN void keyroute_result_free(struct keyroute_result *result);

/** How many rows were asked for; and how many of them failed. */
KEYROUTE_EXTERN size_t keyroute_result_count(const struct keyroute_result *result);
KEYROUTE_EXTERN size_t keyroute_result_failed(const struct keyroute_result *result);

/** How the reading of one row ended: 0 or KEYROUTE_E_...; INVALID_ARGUMENT for an index that is
 *  none. A row that does not exist is read well, and has no cells. */
KEYROUTE_EXTERN int keyroute_result_error(const struct keyroute_result *result, size_t index);

/** One line about a row that failed, which names the thing; "" for others. Borrowed. */
KEYROUTE_EXTERN const char *keyroute_result_message(const struct keyroute_result *result,
                                                    size_t index);

/** The cells of one row, sorted by family, qualifier and, newest first, timestamp. Borrowed from
 *  the result; NULL, and *count 0, if there are none. */
KEYROUTE_EXTERN const struct keyroute_cell *keyroute_result_cells(
    const struct keyroute_result *result, size_t index, size_t *count);

/** The newest cell of one column of one row. Borrowed; NULL = there is none. */
KEYROUTE_EXTERN const struct keyroute_cell *keyroute_result_find(
    const struct keyroute_result *result, size_t index, struct keyroute_bytes family,
    struct keyroute_bytes qualifier);

/** Where one row was read. Borrowed; NULL if it failed. */
KEYROUTE_EXTERN const struct keyroute_location *keyroute_result_location(
    const struct keyroute_result *result, size_t index);

/** Which replica of its region one row was read from, 0 = the primary. */
KEYROUTE_EXTERN int keyroute_result_replica(const struct keyroute_result *result, size_t index);

/** Was one row read from a replica that may lag behind? */
KEYROUTE_EXTERN bool keyroute_result_stale(const struct keyroute_result *result, size_t index);

/** Read one row.
 *  out    a result of count 1, free it with keyroute_result_free; untouched on error
 *  table  "name" or "namespace:name"
 *  row    not empty, at most 32767 bytes
 *  read   NULL = the newest version of every column
 *  call   NULL = defaults; with a replica other than 0 its read is TIMELINE: what that replica has,
 *         which may be old. KEYROUTE_REPLICA_ANY prefers the primary.
 *  detail NULL, or filled in
 *  Errors: those of keyroute_locate; UNREACHABLE, TIMEOUT, PROTOCOL, OVERLOADED, REMOTE (also for a
 *  column family that does not exist) and AUTH also of the row's server; TOO_LARGE; when the
 *  deadline or the tries end it, the last one that was met.
 *  Threads: any, but not in a callback on the connection's own.  Blocks: up to the deadline.
 *  Source: HBase Client.proto, ClientService.Get; RSRpcServices.get */
KEYROUTE_EXTERN int keyroute_get(struct keyroute_result **out, struct keyroute_connection *conn,
                                 const char *table, struct keyroute_bytes row,
                                 const struct keyroute_read *read, const struct keyroute_call *call,
                                 struct keyroute_detail *detail);

/** Receives what was read, exactly once, where keyroute_locate_cb would run.
 *  error   0 or KEYROUTE_E_...
 *  result  yours: free it with keyroute_result_free, there or later; NULL on error
 *  detail  how it went; borrowed for the callback, its trace too */
typedef void (*keyroute_get_cb)(void *payload, int error, struct keyroute_result *result,
                                const struct keyroute_detail *detail);

/** Start keyroute_get without waiting. Arguments as there; request, cancelling, errors returned and
 *  threads as for keyroute_locate_async. */
KEYROUTE_EXTERN int keyroute_get_async(uint64_t *request, struct keyroute_connection *conn,
                                       const char *table, struct keyroute_bytes row,
                                       const struct keyroute_read *read,
                                       const struct keyroute_call *call, keyroute_get_cb cb,
                                       void *payload);

/** Read many rows, of one table or several: grouped by server, a few requests to each at a time,
 *  all servers side by side. Rows that fail are tried again alone. A row may occur more than once.
 *  out    a result with one entry for each key, in their order: look at keyroute_result_failed. It
 *         is made whenever the rows could be asked for at all, be it that each failed.
 *  keys   borrowed for a blocking call, copied by the asynchronous one
 *  count  0 is accepted
 *  call   one deadline for all of them
 *  detail its message tells of the first row that failed, also when 0 is returned
 *  Errors: INVALID_ARGUMENT (detail names the row), OVERLOADED with keyroute.max.pending calls
 *  under way, CANCELLED, CLOSED, NO_MEMORY. All others are those of a row, as of keyroute_get.
 *  Memory: that of the result (32 bytes a row, and the cells), 5 bytes a row while it is read
 *  (asynchronous: 29 and the row itself), and a bounded number of answers on their way.
 *  Threads, blocks: as keyroute_get, but up to 10 ms behind the deadline.
 *  Source: HBase Client.proto, ClientService.Multi */
KEYROUTE_EXTERN int keyroute_get_many(struct keyroute_result **out,
                                      struct keyroute_connection *conn,
                                      const struct keyroute_key *keys, size_t count,
                                      const struct keyroute_read *read,
                                      const struct keyroute_call *call,
                                      struct keyroute_detail *detail);

/** Start keyroute_get_many without waiting; as keyroute_get_async. */
KEYROUTE_EXTERN int keyroute_get_many_async(uint64_t *request, struct keyroute_connection *conn,
                                            const struct keyroute_key *keys, size_t count,
                                            const struct keyroute_read *read,
                                            const struct keyroute_call *call, keyroute_get_cb cb,
                                            void *payload);

/* ---- Grouping -------------------------------------------------------------------------------- */

/** Rows by server and region. Immutable; any thread may look at it; it may outlive its
 *  connection. */
struct keyroute_groups;

/** One server of a grouping. Set size before the call. Grows at the end. */
struct keyroute_server_group {
  size_t size;
  const char *host; /* borrowed from the grouping */
  int port;
  int64_t start_code;
  size_t first_region; /* its regions are that one and those that follow */
  size_t region_count;
  size_t row_count;
};

/** One region of a grouping. Set size before the call. Grows at the end. */
struct keyroute_region_group {
  size_t size;
  struct keyroute_location *location; /* borrowed from the grouping */
  int replica;                        /* the one that is on the group's server */
  const size_t *rows;                 /* indexes of the keys, sorted by row; borrowed */
  size_t row_count;
};

/** Group rows by the server and region that hold them, for applications that send requests with a
 *  client of their own; report what goes wrong there with keyroute_report.
 *  out   free it with keyroute_groups_free; untouched on error
 *  keys  any rows: an empty one is in the first region
 *  call  NULL = defaults; with a replica other than 0, by that replica's servers
 *  Count, detail, errors, threads, blocks: as keyroute_get_many; the errors of a row are those of
 *  keyroute_locate.  Source: HBase AsyncBatchRpcRetryingCaller.groupAndSend */
KEYROUTE_EXTERN int keyroute_group(struct keyroute_groups **out, struct keyroute_connection *conn,
                                   const struct keyroute_key *keys, size_t count,
                                   const struct keyroute_call *call,
                                   struct keyroute_detail *detail);

/** Receives a grouping, as keyroute_get_cb does a result. */
typedef void (*keyroute_group_cb)(void *payload, int error, struct keyroute_groups *groups,
                                  const struct keyroute_detail *detail);

/** Start keyroute_group without waiting; as keyroute_get_async. */
KEYROUTE_EXTERN int keyroute_group_async(uint64_t *request, struct keyroute_connection *conn,
                                         const struct keyroute_key *keys, size_t count,
                                         const struct keyroute_call *call, keyroute_group_cb cb,
                                         void *payload);

/** Release a grouping; NULL is accepted. */
KEYROUTE_EXTERN void keyroute_groups_free(struct keyroute_groups *groups);

/** How many servers, and regions of all servers, it has; how many rows could not be located. */
KEYROUTE_EXTERN size_t keyroute_groups_server_count(const struct keyroute_groups *groups);
KEYROUTE_EXTERN size_t keyroute_groups_region_count(const struct keyroute_groups *groups);
KEYROUTE_EXTERN size_t keyroute_groups_failed(const struct keyroute_groups *groups);

/** Read one server of a grouping; they come by host, port and start code.
 *  Errors: INVALID_ARGUMENT no such server, or server->size is 0. */
KEYROUTE_EXTERN int keyroute_groups_server(const struct keyroute_groups *groups, size_t index,
                                           struct keyroute_server_group *server);

/** Read one region of a grouping; those of a server stand together, by table and start key.
 *  Errors: INVALID_ARGUMENT no such region, or region->size is 0. */
KEYROUTE_EXTERN int keyroute_groups_region(const struct keyroute_groups *groups, size_t index,
                                           struct keyroute_region_group *region);

/** Why the row of keys[index] is in no group, 0 if it is in one, INVALID_ARGUMENT for an index that
 *  is none; and one line about it, borrowed from the grouping, "" if it is in one. */
KEYROUTE_EXTERN int keyroute_groups_error(const struct keyroute_groups *groups, size_t index);
KEYROUTE_EXTERN const char *keyroute_groups_message(const struct keyroute_groups *groups,
                                                    size_t index);

/* ---- Regions of a span of keys --------------------------------------------------------------- */

/** What the catalog says about a part of the key space. */
enum keyroute_span_kind {
  KEYROUTE_SPAN_REGION,  /* a region covers it */
  KEYROUTE_SPAN_HOLE,    /* no region does */
  KEYROUTE_SPAN_OVERLAP, /* two do: location and other */
  KEYROUTE_SPAN_CORRUPT  /* a row of the catalog that starts there cannot be believed: message */
};

/** One part of the key space. Set size before the call. Grows at the end. */
struct keyroute_span {
  size_t size;
  enum keyroute_span_kind kind;
  /* Borrowed. REGION: all of it; CORRUPT: both are the key where it would start; else cut to what
   * was asked about. */
  struct keyroute_bytes start, end;
  struct keyroute_location *location; /* REGION; OVERLAP: the one that starts first; else NULL */
  struct keyroute_location *other;    /* OVERLAP: the one that starts inside it; else NULL */
  bool offline;                       /* REGION: it is marked as offline */
  const char *message;                /* one line; "" for a region that is whole and placed */
};

/** Some regions of a table, in order. Immutable; any thread may look at it; it may outlive its
 *  connection. */
struct keyroute_page;

/** List the regions that cover the rows from start to end, in order, as the catalog has them now;
 *  holes and overlaps too. What is found goes into the cache, so this is a warm-up as well. Nothing
 *  is kept between calls: go on with the key that keyroute_page_next tells, now or another day.
 *  out    free it with keyroute_page_free; untouched on error
 *  table  "name" or "namespace:name"
 *  start  the first row of interest; the region that holds it comes first. Empty = the first
 *  end    the first row of no more interest; empty = none
 *  limit  regions of one page, read some thousand a request; 0 = 1000, at most 10000. A page that
 *         would end inside an overlap goes on to its end.
 *  call   flags: KEYROUTE_TRACE only; replica: 0 only
 *  Errors: as keyroute_locate, but HOLE, OVERLAP, OFFLINE, NO_SERVER, DEAD_SERVER and CORRUPT,
 *  which are no errors here; INVALID_ARGUMENT also if start is not below end.
 *  Threads, blocks: as keyroute_locate.
 *  Source: HBase ClientMetaTableAccessor.getTableHRegionLocations */
KEYROUTE_EXTERN int keyroute_regions(struct keyroute_page **out, struct keyroute_connection *conn,
                                     const char *table, struct keyroute_bytes start,
                                     struct keyroute_bytes end, size_t limit,
                                     const struct keyroute_call *call,
                                     struct keyroute_detail *detail);

/** Receives a page, as keyroute_get_cb does a result. */
typedef void (*keyroute_regions_cb)(void *payload, int error, struct keyroute_page *page,
                                    const struct keyroute_detail *detail);

/** Start keyroute_regions without waiting; as keyroute_get_async. */
KEYROUTE_EXTERN int keyroute_regions_async(uint64_t *request, struct keyroute_connection *conn,
                                           const char *table, struct keyroute_bytes start,
                                           struct keyroute_bytes end, size_t limit,
                                           const struct keyroute_call *call, keyroute_regions_cb cb,
                                           void *payload);

/** Release a page; NULL is accepted. */
KEYROUTE_EXTERN void keyroute_page_free(struct keyroute_page *page);

/** How many spans it has. */
KEYROUTE_EXTERN size_t keyroute_page_count(const struct keyroute_page *page);

/** Read one span. Errors: INVALID_ARGUMENT no such span, or span->size is 0. */
KEYROUTE_EXTERN int keyroute_page_span(const struct keyroute_page *page, size_t index,
                                       struct keyroute_span *span);

/** Whether there is more behind this page, and from which key to go on. *start is borrowed from the
 *  page, and untouched if there is no more. */
KEYROUTE_EXTERN bool keyroute_page_next(const struct keyroute_page *page,
                                        struct keyroute_bytes *start);

/* ---- Requests of one's own ------------------------------------------------------------------- */

/** A request to one region, of any method whose first field is the RegionSpecifier: Get, Mutate,
 *  ExecService and so on. Grows at the end. */
struct keyroute_method {
  size_t size;                 /* sizeof(struct keyroute_method) */
  const char *name;            /* of ClientService, "Mutate"; at most 100 bytes */
  struct keyroute_bytes param; /* the encoded message but for its field 1, which each try writes */
  struct keyroute_bytes cells; /* a cell block of KeyValueCodec, to be sent behind it */
  bool idempotent;             /* may be applied more than once */
};

#define KEYROUTE_METHOD_INIT                                                                       \
  {                                                                                                \
    sizeof(struct keyroute_method), NULL, {NULL, 0}, {NULL, 0}, false                              \
  }

/** The answer to such a request. Immutable; any thread may look at it; it may outlive its
 *  connection. */
struct keyroute_reply;

/** Send a request to the region that holds a row, and bring its answer.
 *  A request that is not idempotent is sent again only as long as it cannot have been applied:
 *  after an exception that a server throws before it does anything, or when it was not sent. Else
 *  the error is final, and the detail's maybe_applied is set.
 *  out     free it with keyroute_reply_free; untouched on error
 *  row     whose region is meant; empty = the first one
 *  method  what to send; copied by the asynchronous call
 *  Table, call, detail: as keyroute_get.
 *  Errors: as keyroute_get; INVALID_ARGUMENT also for a method without a name, for a param that is
 *  no message or has a field 1, for cells in a range directory, and where servers are of HBase
 *  before 0.96, which knows no messages.
 *  Threads, blocks: as keyroute_get.  Source: HBase Client.proto, service ClientService */
KEYROUTE_EXTERN int keyroute_call(struct keyroute_reply **out, struct keyroute_connection *conn,
                                  const char *table, struct keyroute_bytes row,
                                  const struct keyroute_method *method,
                                  const struct keyroute_call *call, struct keyroute_detail *detail);

/** Receives a reply, as keyroute_get_cb does a result. */
typedef void (*keyroute_call_cb)(void *payload, int error, struct keyroute_reply *reply,
                                 const struct keyroute_detail *detail);

/** Start keyroute_call without waiting; as keyroute_get_async. */
KEYROUTE_EXTERN int keyroute_call_async(uint64_t *request, struct keyroute_connection *conn,
                                        const char *table, struct keyroute_bytes row,
                                        const struct keyroute_method *method,
                                        const struct keyroute_call *call, keyroute_call_cb cb,
                                        void *payload);

/** Release a reply; NULL is accepted. */
KEYROUTE_EXTERN void keyroute_reply_free(struct keyroute_reply *reply);

/** The encoded message, and the cell block behind it. Borrowed from the reply. */
KEYROUTE_EXTERN struct keyroute_bytes keyroute_reply_message(const struct keyroute_reply *reply);
KEYROUTE_EXTERN struct keyroute_bytes keyroute_reply_cells(const struct keyroute_reply *reply);

/** Where it was answered. Borrowed. */
KEYROUTE_EXTERN const struct keyroute_location *keyroute_reply_location(
    const struct keyroute_reply *reply);

/* ---- Dropping what is cached ----------------------------------------------------------------- */

/** Forget all cached regions of a table. When it returns, no hit gives them out any more.
 *  Errors: INVALID_ARGUMENT a name that HBase would refuse; CLOSED. */
KEYROUTE_EXTERN int keyroute_clear_table(struct keyroute_connection *conn, const char *table);

/** Forget every location on one server, of all tables. As keyroute_clear_table.
 *  host        as the catalog spells it, an IPv6 address without brackets
 *  start_code  that process only; 0 = whatever ran on host and port
 *  Errors: INVALID_ARGUMENT no host, or a port that is not 1 to 65535; CLOSED. */
KEYROUTE_EXTERN int keyroute_clear_server(struct keyroute_connection *conn, const char *host,
                                          int port, int64_t start_code);

/** Forget everything. As keyroute_clear_table. Errors: CLOSED. */
KEYROUTE_EXTERN int keyroute_clear_all(struct keyroute_connection *conn);

/* ---- About the library ----------------------------------------------------------------------- */

/** The library's version, static: "0.1.0". */
KEYROUTE_EXTERN const char *keyroute_version(void);

#ifdef __cplusplus
}
#endif

#endif
