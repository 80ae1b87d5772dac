/*
 * The public calls that ask where a row is: they check what is asked, answer from the cache where
 * it can, and hand the rest to call.c.
 *
 *  1. A hit stays in the caller's thread: find the table, find the region, take a count. It takes
 *     no lock, allocates nothing and, unless the caller wants a detail, reads no clock. So a forked
 *     child, where every lock may be held by nobody, still has hits.
 *  2. A thread that does more is counted from kr_connection_enter to kr_connection_leave, for close
 *     to wait for.
 *  3. The blocking call is the hit, else the asynchronous one and a wait.
 */
#include "keyroute/keyroute.h"

#include "lib/bytes.h"
#include "lib/call.h"
#include "lib/clock.h"
#include "lib/connection.h"

#include <inttypes.h>
#include <string.h>

/* The longest deadline: a day. */
enum { DEADLINE_MAX_MS = 86400000 };

/* Rows this short get their AFTER key on the stack. */
enum { SHORT_ROW = 256 };

/* ---- Checking a call ---- */

/* The fields of a call that its size says are there; defaults for the others. */
static struct keyroute_call whole_call(const struct keyroute_call *call)
{
  struct keyroute_call whole = KEYROUTE_CALL_INIT;

  if (call != NULL) {
    memcpy(&whole, call, call->size < sizeof(whole) ? call->size : sizeof(whole));
    whole.size = call->size;
  }
  return whole;
}

static int invalid(struct keyroute_detail *detail, const char *reason)
{
  return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "%s", reason);
}

static int check_call(const struct keyroute_call *call, struct keyroute_detail *detail)
{
  const unsigned known =
      KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY | KEYROUTE_BEFORE | KEYROUTE_AFTER | KEYROUTE_TRACE;
  const unsigned cache = KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY;
  const unsigned side = KEYROUTE_BEFORE | KEYROUTE_AFTER;

  if (call->size == 0) {
    return invalid(detail, "the call's size is not set");
  }
  if ((call->flags & ~known) != 0) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "unknown flags 0x%x",
                          call->flags & ~known);
  }
  if ((call->flags & cache) == cache) {
    return invalid(detail, "KEYROUTE_REFRESH and KEYROUTE_CACHE_ONLY exclude each other");
  }
  if ((call->flags & side) == side) {
    return invalid(detail, "KEYROUTE_BEFORE and KEYROUTE_AFTER exclude each other");
  }
  if (call->deadline_ms < 0 || call->deadline_ms > DEADLINE_MAX_MS) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "the deadline is %" PRId64 ", not between 0 and %d ms", call->deadline_ms,
                          DEADLINE_MAX_MS);
  }
  if (call->replica < KEYROUTE_REPLICA_ANY || call->replica >= KR_REPLICAS_MAX) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "the replica is %d, not between -1 and %d", call->replica,
                          KR_REPLICAS_MAX - 1);
  }
  return 0;
}

static int fail_no_memory(struct keyroute_detail *detail)
{
  return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
}

static int fail_closed(struct keyroute_connection *conn, struct keyroute_detail *detail)
{
  return kr_detail_fail(detail, KEYROUTE_E_CLOSED, "%s",
                        kr_connection_forked(conn)
                            ? "the connection is of the process that this one was forked from"
                            : "the connection is being closed");
}

/* A question on its way: the row may have to be lengthened for KEYROUTE_AFTER. */
struct question {
  struct kr_call_request request;
  uint8_t *longer; /* owned, NULL = none */
  uint8_t shorter[SHORT_ROW + 1];
};

/* The first key above a row is the row and a zero byte. */
static int lengthen(struct question *question, struct kr_mem *mem)
{
  struct keyroute_bytes row = question->request.row;
  uint8_t *to = question->shorter;

  if (row.len > SHORT_ROW) {
    to = question->longer = kr_alloc(mem, row.len + 1);
    if (to == NULL) {
      return KEYROUTE_E_NO_MEMORY;
    }
  }
  if (row.len > 0) {
    memcpy(to, row.data, row.len);
  }
  to[row.len] = 0;
  question->request.row = kr_bytes(to, row.len + 1);
  return 0;
}

/* Check and fill in all but the table. */
static int ask(struct question *question, struct keyroute_connection *conn,
               struct keyroute_bytes row, const struct keyroute_call *given,
               struct keyroute_detail *detail)
{
  struct keyroute_call call = whole_call(given);
  int error = check_call(&call, detail);

  if (error != 0) {
    return error;
  }
  if (row.data == NULL && row.len > 0) {
    return invalid(detail, "the row has a length but no data");
  }
  question->longer = NULL;
  question->request = (struct kr_call_request){
      .row = row,
      .position = (call.flags & KEYROUTE_BEFORE) != 0 ? KR_BEFORE : KR_AT,
      .replica = call.replica,
      .flags = call.flags,
      .deadline_ms = call.deadline_ms > 0 ? call.deadline_ms : conn->settings->deadline_ms,
  };
  if ((call.flags & KEYROUTE_AFTER) != 0 && lengthen(question, conn->mem) != 0) {
    return fail_no_memory(detail);
  }
  return 0;
}

/* ---- Hits ---- */

static bool replica_is_placed(const struct keyroute_location *location, int replica)
{
  return replica == KEYROUTE_REPLICA_ANY ? kr_location_placed(location)
                                         : kr_location_live_server(location, replica) != NULL;
}

/* A counted location from the cache, or NULL. table NULL = find it by name. */
static struct keyroute_location *hit(struct keyroute_connection *conn,
                                     const struct keyroute_table *table, struct keyroute_bytes name,
                                     const struct kr_call_request *request)
{
  struct keyroute_location *location = NULL;

  if ((request->flags & KEYROUTE_REFRESH) != 0) {
    return NULL;
  }
  kr_rcu_read_begin();
  if (table == NULL) {
    table = kr_cache_find_table(conn->cache, name);
  }
  if (table != NULL) {
    location = kr_table_find(table, request->row, request->position);
  }
  if (location != NULL) {
    location =
        replica_is_placed(location, request->replica) ? keyroute_location_ref(location) : NULL;
  }
  kr_rcu_read_end();
  if (location != NULL) {
    kr_stats_add(conn->stats, KR_COUNT_HITS, 1);
  }
  return location;
}

/* The detail of a hit, if anybody wants it. */
static void tell_hit(struct keyroute_connection *conn, const struct kr_call_request *request,
                     struct keyroute_detail *detail)
{
  struct keyroute_detail hit_detail = {.size = sizeof(hit_detail), .source = KEYROUTE_SOURCE_CACHE};

  if (detail == NULL) {
    return;
  }
  hit_detail.elapsed_us = kr_clock_us() - request->began_us;
  if ((request->flags & KEYROUTE_TRACE) != 0) {
    hit_detail.trace = kr_trace_new(conn->mem);
    kr_trace_add(hit_detail.trace, "cache", 0, hit_detail.elapsed_us, NULL, "hit");
  }
  kr_detail_take(detail, &hit_detail);
}

/* ---- Locating ---- */

static int fail_not_cached(struct keyroute_connection *conn, struct keyroute_bytes name,
                           const struct kr_call_request *request, struct keyroute_detail *detail)
{
  struct kr_question question = {name, request->row, request->position};
  struct kr_failure failure;

  kr_stats_add(conn->stats, KR_COUNT_MISSES, 1);
  kr_check_not_cached(&failure, &question);
  return kr_detail_fail(detail, failure.code, "%s", failure.message);
}

/* A miss: have the loop find out, and wait. Frees what the question holds. table NULL = by name. */
static int locate_missed(struct keyroute_location **out, struct keyroute_connection *conn,
                         struct keyroute_table *table, struct keyroute_bytes name,
                         struct question *question, struct keyroute_detail *detail)
{
  struct kr_call_request *request = &question->request;
  int error;

  if (!kr_connection_enter(conn)) {
    kr_free(conn->mem, question->longer);
    return fail_closed(conn, detail);
  }
  if (request->began_us == 0) {
    request->began_us = kr_clock_us();
  }
  request->table = table != NULL ? kr_table_ref(table) : kr_cache_table(conn->cache, name);
  if (request->table != NULL) {
    error = kr_call_wait(out, conn, request, detail);
    kr_table_release(request->table);
  } else {
    error = fail_no_memory(detail);
  }
  kr_free(conn->mem, question->longer);
  kr_connection_leave(conn);
  return error;
}

/* table NULL = by name. */
static int locate(struct keyroute_location **out, struct keyroute_connection *conn,
                  struct keyroute_table *table, struct keyroute_bytes name,
                  struct keyroute_bytes row, const struct keyroute_call *call,
                  struct keyroute_detail *detail)
{
  struct question question;
  int error;

  if (out == NULL) {
    return invalid(detail, "out is NULL");
  }
  if (!kr_connection_may_block(conn)) {
    return invalid(detail, "a call that may block, in a callback or a peek section");
  }
  if ((error = ask(&question, conn, row, call, detail)) != 0) {
    return error;
  }
  if (detail != NULL) {
    question.request.began_us = kr_clock_us();
  }
  struct keyroute_location *location = hit(conn, table, name, &question.request);

  if (location == NULL && (question.request.flags & KEYROUTE_CACHE_ONLY) == 0) {
    return locate_missed(out, conn, table, name, &question, detail);
  }
  if (location == NULL) {
    error = fail_not_cached(conn, name, &question.request, detail);
  } else {
    tell_hit(conn, &question.request, detail);
    *out = location;
  }
  kr_free(conn->mem, question.longer);
  return error;
}

int keyroute_locate(struct keyroute_location **out, struct keyroute_connection *conn,
                    const char *table, struct keyroute_bytes row, const struct keyroute_call *call,
                    struct keyroute_detail *detail)
{
  struct keyroute_bytes name;

  keyroute_detail_clear(detail);
  if (conn == NULL) {
    return invalid(detail, "the connection is NULL");
  }
  int error = kr_call_check_table(&name, table, detail);

  return error != 0 ? error : locate(out, conn, NULL, name, row, call, detail);
}

int keyroute_table_locate(struct keyroute_location **out, struct keyroute_table *table,
                          struct keyroute_bytes row, const struct keyroute_call *call,
                          struct keyroute_detail *detail)
{
  keyroute_detail_clear(detail);
  if (table == NULL) {
    return invalid(detail, "the table is NULL");
  }
  return locate(out, kr_table_owner(table), table, kr_table_name(table), row, call, detail);
}

/* Start a call, its table counted. Where as many are under way as may be, it still starts if the
 * cache has the answer. */
static int start_call(uint64_t *number, struct keyroute_connection *conn,
                      struct keyroute_bytes name, struct kr_call_request *request,
                      keyroute_locate_cb cb, void *payload)
{
  int error = kr_call_start(number, conn, request, cb, payload);

  if (error != KEYROUTE_E_OVERLOADED) {
    return error;
  }
  request->found = hit(conn, request->table, name, request);
  if (request->found == NULL) {
    return kr_call_refuse(conn, NULL);
  }
  error = kr_call_start(number, conn, request, cb, payload);
  if (error != 0) {
    keyroute_location_release(request->found);
  }
  return error;
}

int keyroute_locate_async(uint64_t *request, struct keyroute_connection *conn, const char *table,
                          struct keyroute_bytes row, const struct keyroute_call *call,
                          keyroute_locate_cb cb, void *payload)
{
  struct keyroute_bytes name;
  struct question question;
  int error;

  if (conn == NULL || cb == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  if ((error = kr_call_check_table(&name, table, NULL)) != 0 ||
      (error = ask(&question, conn, row, call, NULL)) != 0) {
    kr_connection_leave(conn);
    return error;
  }
  question.request.began_us = kr_clock_us();
  question.request.table = kr_cache_table(conn->cache, name);
  if (question.request.table == NULL) {
    error = KEYROUTE_E_NO_MEMORY;
  } else {
    error = start_call(request, conn, name, &question.request, cb, payload);
    kr_table_release(question.request.table);
  }
  kr_free(conn->mem, question.longer);
  kr_connection_leave(conn);
  return error;
}

void keyroute_cancel(struct keyroute_connection *conn, uint64_t request)
{
  if (conn != NULL && kr_connection_enter(conn)) {
    kr_call_cancel(conn, request);
    kr_connection_leave(conn);
  }
}
