/*
 * The call that asks where a row is and that the cache did not answer in the caller's thread: one
 * lookup of the locator.
 *
 * It is also how an asynchronous call brings what the cache has where too many calls are under way
 * (`found`): then there is nothing to look up.
 *
 * Threads: as call.c says.
 */
#include "lib/locate_call.h"

#include "lib/bytes.h"
#include "lib/clock.h"

#include <string.h>

struct locate_call {
  struct kr_call base;
  struct kr_lookup lookup;
  keyroute_locate_cb cb;
  void *payload;
  char row[];
};

static void end(struct locate_call *call)
{
  struct keyroute_detail *detail = &call->base.detail;
  const struct kr_lookup *lookup = &call->lookup;

  kr_call_fail(&call->base, &lookup->failure);
  detail->source = lookup->source;
  detail->deadline = lookup->deadline;
  detail->attempts = lookup->attempts;
  detail->rpcs = lookup->rpcs;
  if (lookup->source == KEYROUTE_SOURCE_CACHE) {
    kr_trace_add(lookup->trace, "cache", 0, kr_clock_us() - lookup->began_us, NULL, "hit");
  }
  kr_call_end(&call->base);
}

static void lookup_done(struct kr_lookup *lookup)
{
  struct locate_call *call = lookup->arg;

  kr_stats_add(call->base.conn->stats,
               lookup->source == KEYROUTE_SOURCE_CACHE ? KR_COUNT_HITS : KR_COUNT_MISSES, 1);
  end(call);
}

static void begin(struct kr_call *base)
{
  struct locate_call *call = (struct locate_call *)base;

  if (call->lookup.location != NULL) {
    end(call);
  } else {
    kr_locator_start(base->conn->locator, &call->lookup);
  }
}

/* CLOSED comes from the locator, which ends all lookups. */
static void stop(struct kr_call *base, int code)
{
  if (code == KEYROUTE_E_CANCELLED) {
    kr_locator_cancel(base->conn->locator, &((struct locate_call *)base)->lookup);
  }
}

static void tell(struct kr_call *base)
{
  struct locate_call *call = (struct locate_call *)base;

  call->cb(call->payload, base->detail.error, call->lookup.location, &base->detail);
}

static void give(struct kr_call *base, void *out)
{
  struct locate_call *call = (struct locate_call *)base;

  *(struct keyroute_location **)out = call->lookup.location;
  call->lookup.location = NULL;
}

static void free_call(struct kr_call *base)
{
  struct locate_call *call = (struct locate_call *)base;

  kr_table_release(call->lookup.table);
  keyroute_location_release(call->lookup.location);
  kr_call_free(base);
}

static const struct kr_call_kind kind = {begin, stop, tell, give, free_call};

static void fill_lookup(struct locate_call *call, const struct kr_locate_request *request)
{
  memcpy(call->row, request->row.data != NULL ? request->row.data : "", request->row.len);
  call->lookup = (struct kr_lookup){
      .table = kr_table_ref(request->table),
      .row = kr_bytes(call->row, request->row.len),
      .position = request->position,
      .replica = request->terms.replica,
      .refresh = (request->terms.flags & KEYROUTE_REFRESH) != 0,
      .cache_only = (request->terms.flags & KEYROUTE_CACHE_ONLY) != 0,
      .began_us = call->base.began_us,
      .deadline_us = call->base.deadline_us,
      .trace = call->base.trace,
      .done = lookup_done,
      .arg = call,
      .location = request->found,
      .source = request->found != NULL ? KEYROUTE_SOURCE_CACHE : KEYROUTE_SOURCE_NONE,
  };
}

/* A call with all that it needs; NULL = out of memory. */
static struct locate_call *new_call(struct keyroute_connection *conn,
                                    const struct kr_locate_request *request, keyroute_locate_cb cb,
                                    void *payload)
{
  struct locate_call *call = (struct locate_call *)kr_call_new(sizeof(*call) + request->row.len,
                                                               conn, &kind, &request->terms);

  if (call != NULL) {
    call->cb = cb;
    call->payload = payload;
    fill_lookup(call, request);
  }
  return call;
}

int kr_locate_start(uint64_t *number, struct keyroute_connection *conn,
                    const struct kr_locate_request *request, keyroute_locate_cb cb, void *payload)
{
  struct locate_call *call = new_call(conn, request, cb, payload);

  if (call == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  int error = kr_call_start(number, &call->base, request->found == NULL);

  if (error != 0) {
    call->lookup.location = NULL; /* what was found is the caller's still */
    free_call(&call->base);
  }
  return error;
}

int kr_locate_wait(struct keyroute_location **out, struct keyroute_connection *conn,
                   const struct kr_locate_request *request, struct keyroute_detail *detail)
{
  struct locate_call *call = new_call(conn, request, NULL, NULL);

  return kr_call_wait(out, call != NULL ? &call->base : NULL, detail);
}
