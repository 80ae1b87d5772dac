/*
 * The public calls that ask where a row is: they check what is asked, answer from the cache where
 * it can, and hand the rest to locate_call.c.
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
#include "lib/clock.h"
#include "lib/connection.h"
#include "lib/locate_call.h"
#include "lib/rcu_read.h"

#include <string.h>

/* Rows this short get their AFTER key on the stack. */
enum { SHORT_ROW = 256 };

/* ---- Checking a call ---- */

/* A question on its way: the row may have to be lengthened for KEYROUTE_AFTER. */
struct question {
  struct kr_locate_request request;
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
  const unsigned known =
      KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY | KEYROUTE_BEFORE | KEYROUTE_AFTER | KEYROUTE_TRACE;
  struct kr_terms terms;
  int error = kr_call_terms(&terms, conn, given, known, detail);

  if (error == 0) {
    error = kr_call_check_bytes(row, "the row", detail);
  }
  if (error != 0) {
    return error;
  }
  question->longer = NULL;
  question->request = (struct kr_locate_request){
      .row = row,
      .position = (terms.flags & KEYROUTE_BEFORE) != 0 ? KR_BEFORE : KR_AT,
      .terms = terms,
  };
  if ((terms.flags & KEYROUTE_AFTER) != 0 && lengthen(question, conn->mem) != 0) {
    return kr_fail_no_memory(detail);
  }
  return 0;
}

/* ---- Hits ---- */

static bool replica_is_placed(const struct keyroute_location *location, int replica)
{
  return replica == KEYROUTE_REPLICA_ANY ? kr_location_placed(location)
                                         : kr_location_live_server(location, replica) != NULL;
}

/* What is in a cache that is asked for: of a table, or NULL and its name. */
struct wanted {
  struct keyroute_table *table;
  struct keyroute_bytes name, row;
  bool checked; /* the name: what has not been is only good if it once was */
  enum kr_position position;
  int replica;
};

/* In a read section; NULL = it is not there. */
static struct keyroute_table *find_table(struct keyroute_connection *conn,
                                         const struct wanted *wanted)
{
  if (wanted->table != NULL) {
    return wanted->table;
  }
  struct keyroute_table *table = kr_cache_find_table(conn->cache, wanted->name);

  if (table != NULL && wanted->checked) {
    kr_table_set_named(table);
  }
  return table == NULL || wanted->checked || kr_table_named(table) ? table : NULL;
}

/* A counted location from the cache, or NULL. */
static inline struct keyroute_location *find(struct keyroute_connection *conn,
                                             const struct wanted *wanted)
{
  kr_rcu_enter();
  struct keyroute_table *table = find_table(conn, wanted);
  struct keyroute_location *location =
      table != NULL ? kr_table_find(table, wanted->row, wanted->position) : NULL;

  if (location != NULL) {
    location =
        replica_is_placed(location, wanted->replica) ? keyroute_location_ref(location) : NULL;
  }
  kr_rcu_leave();
  if (location != NULL) {
    kr_stats_add(conn->stats, KR_COUNT_HITS, 1);
  }
  return location;
}

/* The same for a request that was checked. table NULL = find it by name. */
static struct keyroute_location *hit(struct keyroute_connection *conn, struct keyroute_table *table,
                                     struct keyroute_bytes name,
                                     const struct kr_locate_request *request)
{
  const struct wanted wanted = {
      .table = table,
      .name = name,
      .row = request->row,
      .checked = true,
      .position = request->position,
      .replica = request->terms.replica,
  };

  return (request->terms.flags & KEYROUTE_REFRESH) == 0 ? find(conn, &wanted) : NULL;
}

/* Is this the usual call: nothing of it is wrong, and a hit is all that it wants? */
static bool is_usual(const void *out, struct keyroute_bytes row, const struct keyroute_call *call,
                     const struct keyroute_detail *detail)
{
  return out != NULL && detail == NULL && (row.data != NULL || row.len == 0) &&
         (call == NULL ||
          (call->size >= sizeof(*call) && (call->flags & ~(unsigned)KEYROUTE_CACHE_ONLY) == 0 &&
           call->replica == 0 && call->deadline_ms >= 0 &&
           call->deadline_ms <= KR_DEADLINE_MAX_MS));
}

/* A hit for the usual call, before anything else is done for it; NULL = it takes the long way, on
 * which all is checked and told. A name is good without being checked if it finds a table that was
 * named so before. */
static inline struct keyroute_location *quick_hit(struct keyroute_connection *conn,
                                                  struct keyroute_table *table, const char *name,
                                                  struct keyroute_bytes row)
{
  const struct wanted wanted = {
      .table = table,
      .name = table == NULL ? keyroute_string(name) : kr_bytes(NULL, 0),
      .row = row,
      .position = KR_AT,
  };

  return kr_connection_may_block(conn) ? find(conn, &wanted) : NULL;
}

/* The detail of a hit, if anybody wants it. */
static void tell_hit(struct keyroute_connection *conn, const struct kr_locate_request *request,
                     struct keyroute_detail *detail)
{
  struct keyroute_detail hit_detail = {.size = sizeof(hit_detail), .source = KEYROUTE_SOURCE_CACHE};

  if (detail == NULL) {
    return;
  }
  hit_detail.elapsed_us = kr_clock_us() - request->terms.began_us;
  if ((request->terms.flags & KEYROUTE_TRACE) != 0) {
    hit_detail.trace = kr_trace_new(conn->mem);
    kr_trace_add(hit_detail.trace, "cache", 0, hit_detail.elapsed_us, NULL, "hit");
  }
  kr_detail_take(detail, &hit_detail);
}

/* ---- Locating ---- */

static int fail_not_cached(struct keyroute_connection *conn, struct keyroute_bytes name,
                           const struct kr_locate_request *request, struct keyroute_detail *detail)
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
  struct kr_locate_request *request = &question->request;
  int error;

  if (!kr_connection_enter(conn)) {
    kr_free(conn->mem, question->longer);
    return kr_fail_closed(conn, detail);
  }
  if (request->terms.began_us == 0) {
    request->terms.began_us = kr_clock_us();
  }
  request->table = table != NULL ? kr_table_ref(table) : kr_cache_table(conn->cache, name);
  if (request->table != NULL) {
    error = kr_locate_wait(out, conn, request, detail);
    kr_table_release(request->table);
  } else {
    error = kr_fail_no_memory(detail);
  }
  kr_free(conn->mem, question->longer);
  kr_connection_leave(conn);
  return error;
}

/* What every blocking call needs has been checked. table NULL = by name. */
static int locate(struct keyroute_location **out, struct keyroute_connection *conn,
                  struct keyroute_table *table, struct keyroute_bytes name,
                  struct keyroute_bytes row, const struct keyroute_call *call,
                  struct keyroute_detail *detail)
{
  struct question question;
  int error = ask(&question, conn, row, call, detail);

  if (error != 0) {
    return error;
  }
  if (detail != NULL) {
    question.request.terms.began_us = kr_clock_us();
  }
  struct keyroute_location *location = hit(conn, table, name, &question.request);

  if (location == NULL && (question.request.terms.flags & KEYROUTE_CACHE_ONLY) == 0) {
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

  if (conn != NULL && table != NULL && is_usual(out, row, call, detail)) {
    struct keyroute_location *location = quick_hit(conn, NULL, table, row);

    if (location != NULL) {
      *out = location;
      return 0;
    }
  }
  int error = kr_call_may_wait(out, conn, detail);

  if (error == 0) {
    error = kr_call_check_table(&name, conn->check_table, table, detail);
  }
  return error != 0 ? error : locate(out, conn, NULL, name, row, call, detail);
}

int keyroute_table_locate(struct keyroute_location **out, struct keyroute_table *table,
                          struct keyroute_bytes row, const struct keyroute_call *call,
                          struct keyroute_detail *detail)
{
  if (table == NULL) {
    keyroute_detail_clear(detail);
    return kr_fail_invalid(detail, "the table is NULL");
  }
  struct keyroute_connection *conn = kr_table_owner(table);

  if (is_usual(out, row, call, detail)) {
    struct keyroute_location *location = quick_hit(conn, table, NULL, row);

    if (location != NULL) {
      *out = location;
      return 0;
    }
  }
  int error = kr_call_may_wait(out, conn, detail);

  return error != 0 ? error : locate(out, conn, table, kr_table_name(table), row, call, detail);
}

/* Start a call, its table counted. Where as many are under way as may be, it still starts if the
 * cache has the answer. */
static int start_call(uint64_t *number, struct keyroute_connection *conn,
                      struct keyroute_bytes name, struct kr_locate_request *request,
                      keyroute_locate_cb cb, void *payload)
{
  int error = kr_locate_start(number, conn, request, cb, payload);

  if (error != KEYROUTE_E_OVERLOADED) {
    return error;
  }
  request->found = hit(conn, request->table, name, request);
  if (request->found == NULL) {
    return kr_call_refuse(conn, NULL);
  }
  error = kr_locate_start(number, conn, request, cb, payload);
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
  if ((error = kr_call_check_table(&name, conn->check_table, table, NULL)) != 0 ||
      (error = ask(&question, conn, row, call, NULL)) != 0) {
    kr_connection_leave(conn);
    return error;
  }
  question.request.terms.began_us = kr_clock_us();
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
