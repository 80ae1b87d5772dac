/*
 * A public call that needs the loop, of whatever kind: from its start to its callback.
 *
 *   caller's thread   the kind makes it and copies what is asked; kr_call_start
 *                     takes a place and posts
 *   loop              begin: note the call by its number; the kind's begin
 *   loop              kr_call_end: give to whoever waits, or to the dispatcher if there is one
 *   loop or elsewhere tell: run the callback, free everything
 *   waiting thread    give: hand over what came out, free everything
 *
 *  1. The callback runs exactly once, outside every lock, never inside kr_call_start.
 *  2. A call belongs to the loop from the moment it is posted. Cancelling goes by number, so that a
 *     number whose call is over does no harm.
 *  3. The blocking call is the asynchronous one and a wait: instead of its callback being run, it
 *     is handed back to the waiting thread. That always happens on the loop: were it dispatched, a
 *     thread that waits where its callbacks run would wait for itself.
 *  4. A call is pending until its callback is about to run. So those that an application leaves
 *     lying are under the bound (max_pending) too. A place is taken with one compare and exchange:
 *     the bound is never exceeded, but by calls that ask for it (answers that the cache had, which
 *     no bound refuses).
 *
 * What kinds there are: locate_call.c (where a row is), and those of the last hop.
 */
#include "lib/call.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/latch.h"
#include "lib/table_name.h"

#include <inttypes.h>
#include <string.h>

struct kr_call *kr_call_new(size_t size, struct keyroute_connection *conn,
                            const struct kr_call_kind *kind, const struct kr_terms *terms)
{
  struct kr_call *call = kr_calloc(conn->mem, size);

  if (call == NULL) {
    return NULL;
  }
  call->conn = conn;
  call->kind = kind;
  call->began_us = terms->began_us;
  call->deadline_us = terms->began_us + terms->deadline_ms * 1000;
  call->detail.size = sizeof(call->detail);
  /* Relaxed: numbers only have to differ. */
  call->number = __atomic_add_fetch(&conn->last_request, 1, __ATOMIC_RELAXED);
  if ((terms->flags & KEYROUTE_TRACE) != 0) {
    call->trace = kr_trace_new(conn->mem);
    if (call->trace == NULL) {
      kr_free(conn->mem, call);
      return NULL;
    }
  }
  return call;
}

void kr_call_free(struct kr_call *call)
{
  struct kr_mem *mem = call->conn->mem;

  kr_trace_free(call->trace);
  keyroute_detail_clear(&call->detail);
  kr_free(mem, call);
}

void kr_call_fail(struct kr_call *call, const struct kr_failure *failure)
{
  call->detail.error = failure->code;
  memcpy(call->detail.server, failure->server, sizeof(call->detail.server));
  memcpy(call->detail.message, failure->message, sizeof(call->detail.message));
}

/* ---- Ends ---- */

/* One call less is under way. Release, with the acquire in keyroute_stats: whoever learns of the
 * answer finds it no longer counted. */
static void leave_place(struct kr_call *call)
{
  __atomic_fetch_sub(&call->conn->pending, 1, __ATOMIC_RELEASE);
}

/* Tell whoever asked, and free the call. */
static void tell(struct kr_call *call)
{
  leave_place(call);
  call->kind->tell(call);
  call->kind->free(call);
}

static void tell_answer(struct kr_answer *answer)
{
  char *member = (char *)answer;

  tell((struct kr_call *)(void *)(member - offsetof(struct kr_call, answer)));
}

void kr_call_end(struct kr_call *call)
{
  struct kr_dispatcher *dispatcher = call->conn->dispatcher;
  struct kr_mem *mem = call->conn->mem;

  if (call->listed) {
    HASH_DEL(call->conn->calls, call);
  }
  call->detail.elapsed_us = kr_clock_us() - call->began_us;
  call->detail.trace = call->trace;
  call->trace = NULL;
  if (call->over != NULL) {
    leave_place(call);
    kr_latch_open(call->over);
  } else if (dispatcher == NULL) {
    tell(call);
  } else {
    call->answer.run = tell_answer;
    kr_dispatcher_add(dispatcher, &call->answer);
  }
}

/* ---- Starts ---- */

static void begin(struct kr_task *task)
{
  char *member = (char *)task;
  struct kr_call *call = (struct kr_call *)(void *)(member - offsetof(struct kr_call, task));
  struct kr_mem *mem = call->conn->mem;
  bool hash_failed = false;

  HASH_ADD(hh, call->conn->calls, number, sizeof(call->number), call);
  call->listed = !hash_failed;
  if (hash_failed) {
    kr_detail_fail(&call->detail, KEYROUTE_E_NO_MEMORY, "out of memory");
    kr_call_end(call);
  } else {
    call->kind->begin(call);
  }
}

/* One more call is under way. False = there are as many as may be. */
static bool take_place(struct keyroute_connection *conn, bool bounded)
{
  uint64_t max = bounded ? conn->settings->max_pending : 0;
  uint64_t pending = __atomic_load_n(&conn->pending, __ATOMIC_RELAXED);

  /* Relaxed: the figure guards nothing, and posting orders the call before its end. */
  do {
    if (max > 0 && pending >= max) {
      return false;
    }
  } while (!__atomic_compare_exchange_n(&conn->pending, &pending, pending + 1, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return true;
}

int kr_call_refuse(struct keyroute_connection *conn, struct keyroute_detail *detail)
{
  kr_stats_add(conn->stats, KR_COUNT_REFUSED, 1);
  return kr_detail_fail(detail, KEYROUTE_E_OVERLOADED,
                        "no more calls may be under way than keyroute.max.pending, %llu",
                        (unsigned long long)conn->settings->max_pending);
}

int kr_call_start(uint64_t *number, struct kr_call *call, bool bounded)
{
  if (!take_place(call->conn, bounded)) {
    return KEYROUTE_E_OVERLOADED;
  }
  if (number != NULL) {
    *number = call->number;
  }
  call->task.run = begin;
  kr_loop_post(call->conn->loop, &call->task);
  return 0;
}

int kr_call_start_or_free(uint64_t *number, struct kr_call *call)
{
  if (call == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  int error = kr_call_start(number, call, true);

  if (error != 0) {
    kr_call_refuse(call->conn, NULL);
    call->kind->free(call);
  }
  return error;
}

/* A call that has been waited for is the waiting thread's again. */
static int hand_over(void *out, struct kr_call *call, struct keyroute_detail *detail)
{
  int error = call->detail.error;

  if (error == 0) {
    call->kind->give(call, out);
  }
  kr_detail_take(detail, &call->detail);
  call->kind->free(call);
  return error;
}

int kr_call_wait(void *out, struct kr_call *call, struct keyroute_detail *detail)
{
  struct kr_latch over;

  if (call == NULL) {
    return kr_fail_no_memory(detail);
  }
  kr_latch_init(&over);
  call->over = &over;
  int error = kr_call_start(NULL, call, true);

  if (error != 0) {
    kr_call_refuse(call->conn, detail);
    call->kind->free(call);
    return error;
  }
  kr_latch_await(&over);
  return hand_over(out, call, detail);
}

/* ---- Early ends ---- */

struct cancel {
  struct kr_task task;
  struct keyroute_connection *conn;
  uint64_t number;
};

static void cancel_on_loop(struct kr_task *task)
{
  struct cancel *cancel = (struct cancel *)(void *)task; /* its first field */
  struct keyroute_connection *conn = cancel->conn;
  struct kr_call *call;

  HASH_FIND(hh, conn->calls, &cancel->number, sizeof(cancel->number), call);
  if (call != NULL) {
    call->kind->stop(call, KEYROUTE_E_CANCELLED);
  }
  kr_free(conn->mem, cancel);
}

void kr_call_cancel(struct keyroute_connection *conn, uint64_t number)
{
  struct cancel *cancel = kr_calloc(conn->mem, sizeof(*cancel));

  /* Without memory the call ends by its deadline instead. */
  if (cancel != NULL) {
    cancel->task.run = cancel_on_loop;
    cancel->conn = conn;
    cancel->number = number;
    kr_loop_post(conn->loop, &cancel->task);
  }
}

void kr_call_shutdown(struct keyroute_connection *conn)
{
  struct kr_call *call, *next;

  HASH_ITER (hh, conn->calls, call, next) {
    call->kind->stop(call, KEYROUTE_E_CLOSED);
  }
}

/* ---- Failures before the start ---- */

int kr_fail_invalid(struct keyroute_detail *detail, const char *reason)
{
  return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "%s", reason);
}

int kr_fail_no_memory(struct keyroute_detail *detail)
{
  return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
}

int kr_fail_closed(struct keyroute_connection *conn, struct keyroute_detail *detail)
{
  return kr_detail_fail(detail, KEYROUTE_E_CLOSED, "%s",
                        kr_connection_forked(conn)
                            ? "the connection is of the process that this one was forked from"
                            : "the connection is being closed");
}

/* ---- Arguments and details ---- */

int kr_call_may_wait(const void *out, const struct keyroute_connection *conn,
                     struct keyroute_detail *detail)
{
  keyroute_detail_clear(detail);
  if (conn == NULL) {
    return kr_fail_invalid(detail, "the connection is NULL");
  }
  if (out == NULL) {
    return kr_fail_invalid(detail, "out is NULL");
  }
  if (!kr_connection_may_block(conn)) {
    return kr_fail_invalid(detail, "a call that may block, in a callback or a peek section");
  }
  return 0;
}

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

static int check_flags(unsigned flags, unsigned known, struct keyroute_detail *detail)
{
  const unsigned cache = KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY;
  const unsigned side = KEYROUTE_BEFORE | KEYROUTE_AFTER;

  if ((flags & ~known) != 0) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "flags 0x%x, which this call does not have", flags & ~known);
  }
  if ((flags & cache) == cache) {
    return kr_fail_invalid(detail, "KEYROUTE_REFRESH and KEYROUTE_CACHE_ONLY exclude each other");
  }
  if ((flags & side) == side) {
    return kr_fail_invalid(detail, "KEYROUTE_BEFORE and KEYROUTE_AFTER exclude each other");
  }
  return 0;
}

int kr_call_terms(struct kr_terms *out, const struct keyroute_connection *conn,
                  const struct keyroute_call *given, unsigned known, struct keyroute_detail *detail)
{
  struct keyroute_call call = whole_call(given);

  if (call.size == 0) {
    return kr_fail_invalid(detail, "the call's size is not set");
  }
  int error = check_flags(call.flags, known, detail);

  if (error != 0) {
    return error;
  }
  if (call.deadline_ms < 0 || call.deadline_ms > KR_DEADLINE_MAX_MS) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "the deadline is %" PRId64 ", not between 0 and %d ms", call.deadline_ms,
                          KR_DEADLINE_MAX_MS);
  }
  if (call.replica < KEYROUTE_REPLICA_ANY || call.replica >= KR_REPLICAS_MAX) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "the replica is %d, not between -1 and %d", call.replica,
                          KR_REPLICAS_MAX - 1);
  }
  *out = (struct kr_terms){
      .deadline_ms = call.deadline_ms > 0 ? call.deadline_ms : conn->settings->deadline_ms,
      .flags = call.flags,
      .replica = call.replica,
  };
  return 0;
}

int kr_call_check_table(struct keyroute_bytes *name, kr_table_name_checker checker,
                        const char *table, struct keyroute_detail *detail)
{
  const char *reason;
  char text[200];

  if (table == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the table's name is NULL");
  }
  int error = checker(name, table, &reason);

  if (error != 0) {
    return kr_detail_fail(detail, error, "table name \"%s\": %s",
                          kr_bytes_print(text, sizeof(text), keyroute_string(table)), reason);
  }
  return 0;
}

int kr_call_check_bytes(struct keyroute_bytes bytes, const char *what,
                        struct keyroute_detail *detail)
{
  if (bytes.data != NULL || bytes.len == 0) {
    return 0;
  }
  return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "%s has a length but no data", what);
}

void kr_detail_take(struct keyroute_detail *to, struct keyroute_detail *from)
{
  size_t size = to != NULL ? to->size : 0;

  if (size >= offsetof(struct keyroute_detail, trace) + sizeof(from->trace)) {
    kr_trace_free(to->trace);
  } else {
    kr_trace_free(from->trace);
    from->trace = NULL;
  }
  if (size > 0) {
    from->size = size;
    memcpy(to, from, size < sizeof(*from) ? size : sizeof(*from));
  }
  from->trace = NULL;
}

void keyroute_detail_clear(struct keyroute_detail *detail)
{
  if (detail != NULL) {
    struct keyroute_detail empty = {.size = detail->size};

    kr_detail_take(detail, &empty);
  }
}
