/*
 * The public calls around a connection: they check their arguments and hand everything over.
 * (locate.c has those that ask where a row is, feedback.c the reports, options.c the options.)
 *
 * Peeking takes no lock and allocates nothing, so a forked child, where every lock may be held by
 * nobody, still has it. A thread that does more is counted from kr_connection_enter to
 * kr_connection_leave, for close to wait for.
 */
#include "keyroute/keyroute.h"

#include "config.h"
#include "lib/call.h"
#include "lib/connection.h"
#include "lib/dispatcher.h"
#include "lib/rcu_read.h"

#include <string.h>

const char *keyroute_version(void)
{
  return PACKAGE_VERSION;
}

/* ---- Opening and closing ---- */

/* Is this thread in a callback that was brought to it? */
static bool in_callback(struct keyroute_connection *conn)
{
  return conn->dispatcher != NULL && !kr_connection_forked(conn) &&
         kr_dispatcher_inside(conn->dispatcher);
}

int keyroute_open(struct keyroute_connection **out, const struct keyroute_options *options,
                  struct keyroute_detail *detail)
{
  if (detail != NULL) {
    keyroute_detail_clear(detail);
  }
  if (out == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "out is NULL");
  }
  if (kr_rcu_reading()) {
    /* An opening that fails waits for readers, of which this thread would be one. */
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "opened inside a peek section");
  }
  if (!kr_rcu_usable()) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "opened in a process that was forked inside a peek section");
  }
  return kr_connection_open(out, options, detail, NULL, NULL);
}

int keyroute_close(struct keyroute_connection *conn)
{
  if (conn == NULL) {
    return 0;
  }
  if (!kr_connection_may_block(conn) || in_callback(conn)) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  kr_connection_close(conn, kr_call_shutdown);
  return 0;
}

int keyroute_stats(struct keyroute_connection *conn, struct keyroute_stats *stats)
{
  if (conn == NULL || stats == NULL || stats->size == 0) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  struct kr_cache_size size = kr_cache_size(conn->cache);
  /* Acquire: with the release in call.c, who was told of an answer finds its call not counted. */
  uint64_t pending = __atomic_load_n(&conn->pending, __ATOMIC_ACQUIRE);
  struct keyroute_stats whole = {
      .size = stats->size,
      .hits = kr_stats_read(conn->stats, KR_COUNT_HITS),
      .misses = kr_stats_read(conn->stats, KR_COUNT_MISSES),
      .joins = kr_stats_read(conn->stats, KR_COUNT_JOINS),
      .scans = kr_stats_read(conn->stats, KR_COUNT_SCANS),
      .scans_failed = kr_stats_read(conn->stats, KR_COUNT_SCANS_FAILED),
      .registry_reads = kr_stats_read(conn->stats, KR_COUNT_REGISTRY_READS),
      .retries = kr_stats_read(conn->stats, KR_COUNT_RETRIES),
      .connects = kr_stats_read(conn->stats, KR_COUNT_CONNECTS),
      .rpcs = kr_stats_read(conn->stats, KR_COUNT_RPCS),
      .tables = size.tables,
      .regions = size.regions,
      .evictions = kr_stats_read(conn->stats, KR_COUNT_EVICTIONS),
      .pending = pending,
      .bytes = size.bytes + kr_servers_size(conn->servers),
      .reports = kr_stats_read(conn->stats, KR_COUNT_REPORTS),
      .hints_taken = kr_stats_read(conn->stats, KR_COUNT_HINTS_TAKEN),
      .refreshes_limited = kr_stats_read(conn->stats, KR_COUNT_REFRESHES_LIMITED),
      .refused = kr_stats_read(conn->stats, KR_COUNT_REFUSED),
      .evicted_replaced = kr_stats_read(conn->stats, KR_COUNT_EVICTED_REPLACED),
      .evicted_reported = kr_stats_read(conn->stats, KR_COUNT_EVICTED_REPORTED),
      .evicted_server = kr_stats_read(conn->stats, KR_COUNT_EVICTED_SERVER),
      .evicted_expired = kr_stats_read(conn->stats, KR_COUNT_EVICTED_EXPIRED),
      .evicted_idle = kr_stats_read(conn->stats, KR_COUNT_EVICTED_IDLE),
      .evicted_full = kr_stats_read(conn->stats, KR_COUNT_EVICTED_FULL),
      .evicted_cleared = kr_stats_read(conn->stats, KR_COUNT_EVICTED_CLEARED),
      .requests = kr_stats_read(conn->stats, KR_COUNT_REQUESTS),
      .requests_failed = kr_stats_read(conn->stats, KR_COUNT_REQUESTS_FAILED),
      .rows_read = kr_stats_read(conn->stats, KR_COUNT_ROWS_READ),
      .rows_retried = kr_stats_read(conn->stats, KR_COUNT_ROWS_RETRIED),
  };

  memcpy(stats, &whole, stats->size < sizeof(whole) ? stats->size : sizeof(whole));
  return 0;
}

/* ---- Callbacks on the application's thread ---- */

int keyroute_event_fd(struct keyroute_connection *conn)
{
  if (conn == NULL || conn->dispatcher == NULL || kr_dispatcher_fd(conn->dispatcher) < 0) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return kr_connection_closed(conn) ? KEYROUTE_E_CLOSED : kr_dispatcher_fd(conn->dispatcher);
}

int keyroute_drain(struct keyroute_connection *conn)
{
  int fd = keyroute_event_fd(conn);

  if (fd < 0) {
    return fd;
  }
  if (kr_rcu_reading()) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  int count = kr_dispatcher_drain(conn->dispatcher);

  kr_connection_leave(conn);
  return count;
}

/* ---- Tables and peeking ---- */

int keyroute_table_get(struct keyroute_table **out, struct keyroute_connection *conn,
                       const char *table)
{
  struct keyroute_bytes name;

  if (out == NULL || conn == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  int error = kr_call_check_table(&name, conn->check_table, table, NULL);

  if (error != 0) {
    return error;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  struct keyroute_table *got = kr_cache_table(conn->cache, name);

  kr_connection_leave(conn);
  if (got == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  *out = got;
  return 0;
}

void keyroute_table_release(struct keyroute_table *table)
{
  /* In a forked child nobody may take the lock that this needs; closing frees the table. */
  if (table != NULL && !kr_connection_forked(kr_table_owner(table))) {
    kr_table_release(table);
  }
}

void keyroute_peek_begin(void)
{
  kr_rcu_enter();
}

void keyroute_peek_end(void)
{
  kr_rcu_leave();
}

const struct keyroute_location *keyroute_peek(struct keyroute_table *table,
                                              struct keyroute_bytes row)
{
  return table != NULL ? kr_table_find(table, row, KR_AT) : NULL;
}

size_t keyroute_peek_many(const struct keyroute_location **out, struct keyroute_table *table,
                          const struct keyroute_bytes *rows, size_t count)
{
  size_t found = 0;

  if (table == NULL || out == NULL || rows == NULL) {
    return 0;
  }
  kr_table_find_many(table, out, rows, count);
  for (size_t i = 0; i < count; i++) {
    found += out[i] != NULL;
  }
  return found;
}

/* ---- Clearing ---- */

static int clear(struct keyroute_connection *conn, const struct kr_cache_filter *filter)
{
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  kr_cache_retire(conn->cache, filter);
  kr_connection_sweep(conn);
  kr_connection_leave(conn);
  return 0;
}

int keyroute_clear_table(struct keyroute_connection *conn, const char *table)
{
  struct kr_cache_filter filter = {0};

  if (conn == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  int error = kr_call_check_table(&filter.table, conn->check_table, table, NULL);

  return error != 0 ? error : clear(conn, &filter);
}

int keyroute_clear_server(struct keyroute_connection *conn, const char *host, int port,
                          int64_t start_code)
{
  struct kr_cache_filter filter = {.host = host, .port = port, .start_code = start_code};

  if (conn == NULL || host == NULL || port < 1 || port > 65535) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return clear(conn, &filter);
}

int keyroute_clear_all(struct keyroute_connection *conn)
{
  struct kr_cache_filter filter = {0};

  return conn != NULL ? clear(conn, &filter) : KEYROUTE_E_INVALID_ARGUMENT;
}
