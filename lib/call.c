/*
 * One public call, from its checked arguments to its callback.
 *
 *   caller's thread   kr_call_start: take a place, copy what is asked, give it a number, post
 *   loop              begin: note the call by its number, start its lookup
 *   loop              lookup_done, finish: make the detail, give to the dispatcher if there is one
 *   loop or elsewhere tell: run the callback, free everything
 *
 *  1. The callback runs exactly once, outside every lock, never inside kr_call_start.
 *  2. A call belongs to the loop from the moment it is posted. Cancelling goes by number, so that a
 *     number whose call is over does no harm.
 *  3. The blocking call is the asynchronous one and a wait: its callback moves the result to the
 *     waiting thread's stack. It always runs on the loop: were it dispatched, a thread that waits
 *     where its callbacks run would wait for itself.
 *  4. A call is pending until its callback is about to run. So those that an application leaves
 *     lying are under the bound (max_pending) too. A place is taken with one compare and exchange:
 *     the bound is never exceeded, but by calls whose answer the cache had (`found`), which no
 *     bound refuses.
 */
#include "lib/call.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/dispatcher.h"
#include "lib/hash.h"
#include "lib/latch.h"
#include "lib/table_name.h"

#include <string.h>

struct kr_call {
  UT_hash_handle hh;
  struct kr_task task;
  struct kr_answer answer;
  struct keyroute_connection *conn;
  struct kr_lookup lookup;
  bool on_loop; /* its callback runs there, come what may */
  uint64_t number;
  keyroute_locate_cb cb;
  void *payload;
  struct keyroute_detail detail;
  char row[];
};

static struct kr_call *call_of(struct kr_lookup *lookup)
{
  return lookup->arg;
}

static void call_free(struct kr_call *call)
{
  struct kr_mem *mem = call->conn->mem;

  kr_table_release(call->lookup.table);
  keyroute_location_release(call->lookup.location);
  kr_trace_free(call->lookup.trace);
  keyroute_detail_clear(&call->detail);
  kr_free(mem, call);
}

static void make_detail(struct kr_call *call)
{
  struct keyroute_detail *detail = &call->detail;
  struct kr_lookup *lookup = &call->lookup;

  detail->size = sizeof(*detail);
  detail->error = lookup->failure.code;
  detail->source = lookup->source;
  detail->deadline = lookup->deadline;
  detail->attempts = lookup->attempts;
  detail->rpcs = lookup->rpcs;
  detail->elapsed_us = kr_clock_us() - lookup->began_us;
  memcpy(detail->server, lookup->failure.server, sizeof(detail->server));
  memcpy(detail->message, lookup->failure.message, sizeof(detail->message));
  detail->trace = lookup->trace;
  lookup->trace = NULL;
}

/* Tell whoever asked, and free the call. */
static void tell(struct kr_call *call)
{
  /* Before the callback: whoever learns of the answer finds the call no longer counted. Release,
   * with the acquire in keyroute_stats. */
  __atomic_fetch_sub(&call->conn->pending, 1, __ATOMIC_RELEASE);
  call->cb(call->payload, call->lookup.failure.code, call->lookup.location, &call->detail);
  call_free(call);
}

static void tell_answer(struct kr_answer *answer)
{
  char *member = (char *)answer;

  tell((struct kr_call *)(void *)(member - offsetof(struct kr_call, answer)));
}

static void finish(struct kr_call *call)
{
  struct kr_dispatcher *dispatcher = call->conn->dispatcher;

  make_detail(call);
  if (dispatcher == NULL || call->on_loop) {
    tell(call);
  } else {
    call->answer.run = tell_answer;
    kr_dispatcher_add(dispatcher, &call->answer);
  }
}

static void trace_hit(struct kr_lookup *lookup)
{
  kr_trace_add(lookup->trace, "cache", 0, kr_clock_us() - lookup->began_us, NULL, "hit");
}

static void lookup_done(struct kr_lookup *lookup)
{
  struct kr_call *call = call_of(lookup);
  struct kr_mem *mem = call->conn->mem;

  HASH_DEL(call->conn->calls, call);
  if (lookup->source == KEYROUTE_SOURCE_CACHE) {
    trace_hit(lookup);
    kr_stats_add(call->conn->stats, KR_COUNT_HITS, 1);
  } else {
    kr_stats_add(call->conn->stats, KR_COUNT_MISSES, 1);
  }
  finish(call);
}

static void begin(struct kr_task *task)
{
  char *member = (char *)task;
  struct kr_call *call = (struct kr_call *)(void *)(member - offsetof(struct kr_call, task));
  struct kr_mem *mem = call->conn->mem;
  bool hash_failed = false;

  if (call->lookup.location != NULL) {
    trace_hit(&call->lookup);
    finish(call);
    return;
  }
  HASH_ADD(hh, call->conn->calls, number, sizeof(call->number), call);
  if (hash_failed) {
    kr_fail(&call->lookup.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    finish(call);
  } else {
    kr_locator_start(call->conn->locator, &call->lookup);
  }
}

static void fill_lookup(struct kr_call *call, const struct kr_call_request *request)
{
  memcpy(call->row, request->row.data != NULL ? request->row.data : "", request->row.len);
  call->lookup = (struct kr_lookup){
      .table = kr_table_ref(request->table),
      .row = kr_bytes(call->row, request->row.len),
      .position = request->position,
      .replica = request->replica,
      .refresh = (request->flags & KEYROUTE_REFRESH) != 0,
      .cache_only = (request->flags & KEYROUTE_CACHE_ONLY) != 0,
      .began_us = request->began_us,
      .deadline_us = request->began_us + request->deadline_ms * 1000,
      .done = lookup_done,
      .arg = call,
      .location = request->found,
      .source = request->found != NULL ? KEYROUTE_SOURCE_CACHE : KEYROUTE_SOURCE_NONE,
  };
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

static void give_place_back(struct keyroute_connection *conn)
{
  __atomic_fetch_sub(&conn->pending, 1, __ATOMIC_RELAXED);
}

int kr_call_refuse(struct keyroute_connection *conn, struct keyroute_detail *detail)
{
  kr_stats_add(conn->stats, KR_COUNT_REFUSED, 1);
  return kr_detail_fail(detail, KEYROUTE_E_OVERLOADED,
                        "no more calls may be under way than keyroute.max.pending, %llu",
                        (unsigned long long)conn->settings->max_pending);
}

/* A call with all that it needs; NULL = out of memory. */
static struct kr_call *new_call(struct keyroute_connection *conn,
                                const struct kr_call_request *request, keyroute_locate_cb cb,
                                void *payload)
{
  struct kr_call *call = kr_calloc(conn->mem, sizeof(*call) + request->row.len);
  struct keyroute_trace *trace = NULL;

  if (call == NULL) {
    return NULL;
  }
  if ((request->flags & KEYROUTE_TRACE) != 0) {
    trace = kr_trace_new(conn->mem);
    if (trace == NULL) {
      kr_free(conn->mem, call);
      return NULL;
    }
  }
  call->conn = conn;
  call->cb = cb;
  call->payload = payload;
  call->task.run = begin;
  /* Relaxed: numbers only have to differ. */
  call->number = __atomic_add_fetch(&conn->last_request, 1, __ATOMIC_RELAXED);
  fill_lookup(call, request);
  call->lookup.trace = trace;
  return call;
}

static int start(uint64_t *number, struct keyroute_connection *conn,
                 const struct kr_call_request *request, keyroute_locate_cb cb, void *payload,
                 bool on_loop)
{
  if (!take_place(conn, request->found == NULL)) {
    return KEYROUTE_E_OVERLOADED;
  }
  struct kr_call *call = new_call(conn, request, cb, payload);

  if (call == NULL) {
    give_place_back(conn);
    return KEYROUTE_E_NO_MEMORY;
  }
  call->on_loop = on_loop;
  if (number != NULL) {
    *number = call->number;
  }
  kr_loop_post(conn->loop, &call->task);
  return 0;
}

int kr_call_start(uint64_t *number, struct keyroute_connection *conn,
                  const struct kr_call_request *request, keyroute_locate_cb cb, void *payload)
{
  return start(number, conn, request, cb, payload, false);
}

/* ---- Cancelling ---- */

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
    kr_locator_cancel(conn->locator, &call->lookup);
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

/* ---- Waiting ---- */

struct wait {
  struct kr_latch over;
  int error;
  struct keyroute_location *location;
  struct keyroute_detail detail;
};

static void wait_over(void *payload, int error, struct keyroute_location *location,
                      const struct keyroute_detail *detail)
{
  struct wait *wait = payload;

  wait->error = error;
  wait->location = location != NULL ? keyroute_location_ref(location) : NULL;
  /* The detail is a call's of ours: its trace may move. */
  wait->detail = *detail;
  ((struct keyroute_detail *)(uintptr_t)detail)->trace = NULL;
  kr_latch_open(&wait->over);
}

int kr_call_wait(struct keyroute_location **out, struct keyroute_connection *conn,
                 const struct kr_call_request *request, struct keyroute_detail *detail)
{
  struct wait wait = {.over = KR_LATCH_INIT};
  int error = start(NULL, conn, request, wait_over, &wait, true);

  if (error == KEYROUTE_E_OVERLOADED) {
    return kr_call_refuse(conn, detail);
  }
  if (error != 0) {
    return kr_detail_fail(detail, error, "out of memory");
  }
  kr_latch_await(&wait.over);
  if (wait.error == 0) {
    *out = wait.location;
  }
  kr_detail_take(detail, &wait.detail);
  return wait.error;
}

/* ---- Arguments and details ---- */

int kr_call_check_table(struct keyroute_bytes *name, const char *table,
                        struct keyroute_detail *detail)
{
  const char *reason;
  char text[200];

  if (table == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the table's name is NULL");
  }
  int error = kr_table_name_check(name, table, &reason);

  if (error != 0) {
    return kr_detail_fail(detail, error, "table name \"%s\": %s",
                          kr_bytes_print(text, sizeof(text), keyroute_string(table)), reason);
  }
  return 0;
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
