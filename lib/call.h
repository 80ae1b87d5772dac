#ifndef KR_CALL_H
#define KR_CALL_H

#include "lib/connection.h"
#include "lib/dispatcher.h"
#include "lib/hash.h"
#include "lib/loop.h"
#include "lib/trace.h"

struct kr_call;
struct kr_latch;

/* What one kind of call does at each of its stations. */
struct kr_call_kind {
  /* On the loop: begin. The call ends with kr_call_end, now or later. */
  void (*begin)(struct kr_call *call);

  /* On the loop, after begin and before the end: end it early with CANCELLED or CLOSED, now or
   * later, unless its outcome is on the way. */
  void (*stop)(struct kr_call *call, int code);

  /* Run the application's callback with what came out; call->detail.error is the error. */
  void (*tell)(struct kr_call *call);

  /* Hand what came out, without an error, to the caller that waited for it: out is that of the
   * public call, a pointer to a pointer of the kind's own type. */
  void (*give)(struct kr_call *call, void *out);

  /* Release what the kind keeps, and the call's memory. Any thread; the connection is there. */
  void (*free)(struct kr_call *call);
};

/* The longest deadline: a day. */
enum { KR_DEADLINE_MAX_MS = 86400000 };

/* How an application wants a call to be made, checked. */
struct kr_terms {
  int64_t began_us;
  int64_t deadline_ms;
  unsigned flags; /* KEYROUTE_... */
  int replica;    /* or KEYROUTE_REPLICA_ANY */
};

/* A public call that needs the loop: the first field of what its kind keeps. */
struct kr_call {
  UT_hash_handle hh;
  struct kr_task task;
  struct kr_answer answer;
  const struct kr_call_kind *kind;
  struct keyroute_connection *conn;
  struct kr_latch *over; /* somebody waits for it; NULL = its callback is run */
  uint64_t number;
  int64_t began_us;
  int64_t deadline_us;
  bool listed;                   /* loop: in conn->calls */
  struct keyroute_trace *trace;  /* NULL = none is wanted */
  struct keyroute_detail detail; /* the kind fills it in before the end, but for the trace and what
                                  * it says of time */
};

/* Check what an application says of a call; NULL = the defaults.
 *  known  the flags that this call has
 *  detail NULL or filled in
 * Errors: INVALID_ARGUMENT. began_us is not set. */
int kr_call_terms(struct kr_terms *out, const struct keyroute_connection *conn,
                  const struct keyroute_call *given, unsigned known,
                  struct keyroute_detail *detail);

/* Check a table's name as applications give it; *name is its canonical form, a view into it.
 *  checker  the connection's
 *  detail   may be NULL
 * Errors: INVALID_ARGUMENT, with the reason in the detail. */
int kr_call_check_table(struct keyroute_bytes *name, kr_table_name_checker checker,
                        const char *table, struct keyroute_detail *detail);

/* Check bytes as applications give them: is there data where there is a length? what  "the row".
 * As kr_call_check_table. */
int kr_call_check_bytes(struct keyroute_bytes bytes, const char *what,
                        struct keyroute_detail *detail);

/* Make a new call, `size` bytes of zeros but for its first field. NULL = out of memory. It is freed
 * with its kind's free as long as it has not been started. */
struct kr_call *kr_call_new(size_t size, struct keyroute_connection *conn,
                            const struct kr_call_kind *kind, const struct kr_terms *terms);

/* What a kind's free ends with. */
void kr_call_free(struct kr_call *call);

/* Start a call; its callback runs on the loop, or where the dispatcher brings it, and it is freed
 * afterwards. number  NULL, or for kr_call_cancel. bounded  false = it may go beyond max_pending.
 * Errors: OVERLOADED, and the call is the caller's still. */
int kr_call_start(uint64_t *number, struct kr_call *call, bool bounded);

/* The same for whoever cannot be told of it: where it is not started it is counted as refused, and
 * freed. call  NULL = there was no memory for it. Errors: NO_MEMORY too. */
int kr_call_start_or_free(uint64_t *number, struct kr_call *call);

/* Check what every blocking call needs: somewhere to put what came out, a connection, and a thread
 * that may wait. Clears the detail first. Errors: INVALID_ARGUMENT. */
int kr_call_may_wait(const void *out, const struct keyroute_connection *conn,
                     struct keyroute_detail *detail);

/* Start a call, wait for it, hand over what came out and how it went, and free it. Not on the loop.
 *  out     as the kind's give has it; untouched on error
 *  call    NULL = there was no memory for it
 *  detail  NULL is accepted
 * Errors: the call's own; NO_MEMORY; OVERLOADED. */
int kr_call_wait(void *out, struct kr_call *call, struct keyroute_detail *detail);

/* Count and describe a call that there was no room for. Returns OVERLOADED. */
int kr_call_refuse(struct keyroute_connection *conn, struct keyroute_detail *detail);

/* On the loop: it is over. It may be gone when this returns. */
void kr_call_end(struct kr_call *call);

/* Put a failure into the detail. */
void kr_call_fail(struct kr_call *call, const struct kr_failure *failure);

/* End one call early; unknown numbers are ignored. Any thread. */
void kr_call_cancel(struct keyroute_connection *conn, uint64_t number);

/* On the loop: end all calls with CLOSED. */
void kr_call_shutdown(struct keyroute_connection *conn);

/* The failures of every public call that cannot be made. Each returns its code. */
int kr_fail_invalid(struct keyroute_detail *detail, const char *reason);
int kr_fail_no_memory(struct keyroute_detail *detail);
int kr_fail_closed(struct keyroute_connection *conn, struct keyroute_detail *detail);

/* Copy a detail into the caller's, as much of it as that has room for; the trace moves, or is freed
 * where there is no room. */
void kr_detail_take(struct keyroute_detail *to, struct keyroute_detail *from);

#endif
