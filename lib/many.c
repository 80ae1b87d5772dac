/*
 * The public calls about many rows: keyroute_get_many, and keyroute_group, which is its first half.
 *
 * Keys are checked and sorted in the caller's thread, and everything whose size depends on their
 * number is allocated there: a call that starts has the memory for its rows. A blocking call
 * borrows the keys, for its caller waits; an asynchronous one copies them.
 *
 * Threads: as call.c says.
 */
#include "lib/batch.h"
#include "lib/clock.h"
#include "lib/group.h"
#include "lib/hop.h"

/* Who is told of an asynchronous one. */
struct listener {
  keyroute_get_cb get;
  keyroute_group_cb group;
  void *payload;
};

struct many_call {
  struct kr_call base;
  struct kr_batch batch;
  struct kr_keys keys;
  struct kr_read read;
  struct keyroute_groups *groups; /* NULL = none wanted, or given away */
  struct listener listener;
  max_align_t room[]; /* the columns */
};

/* ---- On the loop ---------------------------------------------------------------------------- */

static void done(struct kr_batch *batch)
{
  struct many_call *call = (struct many_call *)batch->call;

  if (batch->read == NULL && batch->call->detail.error == 0) {
    call->groups = kr_groups_new(batch);
    if (call->groups == NULL) {
      kr_fail_no_memory(&batch->call->detail);
    }
  }
  kr_call_end(batch->call);
}

static void begin(struct kr_call *base)
{
  kr_batch_start(&((struct many_call *)base)->batch);
}

static void stop(struct kr_call *base, int code)
{
  kr_batch_stop(&((struct many_call *)base)->batch, code);
}

static struct keyroute_result *take_result(struct many_call *call)
{
  struct keyroute_result *result = call->batch.result;

  call->batch.result = NULL;
  return result;
}

static struct keyroute_groups *take_groups(struct many_call *call)
{
  struct keyroute_groups *groups = call->groups;

  call->groups = NULL;
  return groups;
}

static void tell_result(struct kr_call *base)
{
  struct many_call *call = (struct many_call *)base;
  int error = base->detail.error;

  call->listener.get(call->listener.payload, error, error == 0 ? take_result(call) : NULL,
                     &base->detail);
}

static void give_result(struct kr_call *base, void *out)
{
  *(struct keyroute_result **)out = take_result((struct many_call *)base);
}

static void tell_groups(struct kr_call *base)
{
  struct many_call *call = (struct many_call *)base;

  call->listener.group(call->listener.payload, base->detail.error, take_groups(call),
                       &base->detail);
}

static void give_groups(struct kr_call *base, void *out)
{
  *(struct keyroute_groups **)out = take_groups((struct many_call *)base);
}

static void free_call(struct kr_call *base)
{
  struct many_call *call = (struct many_call *)base;

  keyroute_groups_free(call->groups);
  kr_batch_clear(&call->batch);
  kr_keys_clear(&call->keys);
  kr_call_free(base);
}

static const struct kr_call_kind get_kind = {begin, stop, tell_result, give_result, free_call};
static const struct kr_call_kind group_kind = {begin, stop, tell_groups, give_groups, free_call};

/* ---- In the caller's thread ------------------------------------------------------------------ */

/* What is asked. */
struct request {
  const struct keyroute_key *keys;
  size_t count;
  bool reads;
  bool copy;
  struct kr_read read; /* checked; zeros if nothing is read */
  struct kr_terms terms;
};

static int check(struct request *request, const struct keyroute_connection *conn,
                 const struct keyroute_read *read, const struct keyroute_call *call,
                 struct keyroute_detail *detail)
{
  int error = 0;

  if (request->reads) {
    error = kr_read_check(&request->read, read, conn->settings->max_frame_len, detail);
  }
  if (error == 0) {
    error = kr_call_terms(&request->terms, conn, call, KR_HOP_FLAGS, detail);
  }
  request->terms.began_us = kr_clock_us();
  return error;
}

static void fill_batch(struct many_call *call, const struct request *request)
{
  call->batch.call = &call->base;
  call->batch.keys = &call->keys;
  call->batch.read = request->reads ? &call->read : NULL;
  call->batch.replica = request->terms.replica;
  call->batch.flags = request->terms.flags;
  call->batch.done = done;
}

/* A call with all that its rows need. Errors: INVALID_ARGUMENT, NO_MEMORY. */
static int new_call(struct many_call **out, struct keyroute_connection *conn,
                    const struct request *request, struct keyroute_detail *detail)
{
  const struct kr_call_kind *kind = request->reads ? &get_kind : &group_kind;
  size_t size = sizeof(struct many_call) + kr_read_size(&request->read);
  struct many_call *call = (struct many_call *)kr_call_new(size, conn, kind, &request->terms);

  if (call == NULL) {
    return kr_fail_no_memory(detail);
  }
  kr_read_copy(&call->read, call->room, &request->read);
  int error = kr_keys_new(&call->keys, conn, request->keys, request->count, request->reads,
                          request->copy, detail);

  if (error == 0) {
    fill_batch(call, request);
    error = kr_batch_init(&call->batch) ? 0 : kr_fail_no_memory(detail);
  }
  if (error != 0) {
    free_call(&call->base);
    return error;
  }
  *out = call;
  return 0;
}

/* The blocking call: check, start and wait. */
static int run(void *out, struct keyroute_connection *conn, struct request *request,
               const struct keyroute_read *read, const struct keyroute_call *given,
               struct keyroute_detail *detail)
{
  struct many_call *call;
  int error = kr_call_may_wait(out, conn, detail);

  if (error != 0 || (error = check(request, conn, read, given, detail)) != 0) {
    return error;
  }
  if (!kr_connection_enter(conn)) {
    return kr_fail_closed(conn, detail);
  }
  error = new_call(&call, conn, request, detail);
  if (error == 0) {
    error = kr_call_wait(out, &call->base, detail);
  }
  kr_connection_leave(conn);
  return error;
}

/* The asynchronous one: check and start. */
static int start(uint64_t *number, struct keyroute_connection *conn, struct request *request,
                 const struct keyroute_read *read, const struct keyroute_call *given,
                 const struct listener *listener)
{
  struct many_call *call;

  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  int error = check(request, conn, read, given, NULL);

  if (error == 0 && (error = new_call(&call, conn, request, NULL)) == 0) {
    call->listener = *listener;
    error = kr_call_start_or_free(number, &call->base);
  }
  kr_connection_leave(conn);
  return error;
}

int keyroute_get_many(struct keyroute_result **out, struct keyroute_connection *conn,
                      const struct keyroute_key *keys, size_t count,
                      const struct keyroute_read *read, const struct keyroute_call *call,
                      struct keyroute_detail *detail)
{
  struct request request = {.keys = keys, .count = count, .reads = true};

  return run(out, conn, &request, read, call, detail);
}

int keyroute_get_many_async(uint64_t *number, struct keyroute_connection *conn,
                            const struct keyroute_key *keys, size_t count,
                            const struct keyroute_read *read, const struct keyroute_call *call,
                            keyroute_get_cb cb, void *payload)
{
  struct request request = {.keys = keys, .count = count, .reads = true, .copy = true};
  struct listener listener = {.get = cb, .payload = payload};

  if (conn == NULL || cb == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return start(number, conn, &request, read, call, &listener);
}

int keyroute_group(struct keyroute_groups **out, struct keyroute_connection *conn,
                   const struct keyroute_key *keys, size_t count, const struct keyroute_call *call,
                   struct keyroute_detail *detail)
{
  struct request request = {.keys = keys, .count = count};

  return run(out, conn, &request, NULL, call, detail);
}

int keyroute_group_async(uint64_t *number, struct keyroute_connection *conn,
                         const struct keyroute_key *keys, size_t count,
                         const struct keyroute_call *call, keyroute_group_cb cb, void *payload)
{
  struct request request = {.keys = keys, .count = count, .copy = true};
  struct listener listener = {.group = cb, .payload = payload};

  if (conn == NULL || cb == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return start(number, conn, &request, NULL, call, &listener);
}
