/*
 * The last hop of a call about one row.
 *
 *   looking    a lookup of the row's region, with the locator's own retries
 *   sent       a request to the region's server, for at most a third of the call's time, unless it
 *              is the only one that there may be
 *   waiting    before it is looked up again: heal.c says how long, or that it is enough
 *
 *  1. Everything ends by the call's deadline: the lookup's own, the request's time and the wait are
 *     cut to what is left.
 *  2. An error of the server is reported before the region is looked up again, so the lookup finds
 *     the cache as the report left it: with the place that the exception named, without the region,
 *     or as it was.
 *  3. What may have been done once is sent once more only if its owner says so (`once`). A broken
 *     connection or silence is UNREACHABLE then, as far as anybody knows.
 *  4. When the deadline or the number of tries ends it, the failure is the last that anybody
 *     answered with; TIMEOUT only if nobody did.
 *  5. Between start and done it is in exactly one of the three, or on its way from one to another
 *     in one turn of the loop.
 *
 * Threads: the loop.  Source: HBase AsyncRequestFutureImpl, AsyncSingleRequestRpcRetryingCaller
 */
#include "lib/hop.h"

#include "lib/clock.h"
#include "lib/heal.h"

#include <string.h>

static void look(struct kr_hop *hop);

static int64_t remaining_ms(const struct kr_hop *hop)
{
  return kr_retry_remaining_ms(hop->call->deadline_us, kr_clock_us());
}

static void finish(struct kr_hop *hop)
{
  struct keyroute_detail *detail = &hop->call->detail;

  kr_call_fail(hop->call, &hop->failure);
  detail->maybe_applied = hop->maybe_applied;
  detail->deadline =
      detail->deadline || (hop->failure.code != 0 && !hop->stopped && remaining_ms(hop) <= 0);
  hop->ops->done(hop);
}

static void finish_with(struct kr_hop *hop, int code)
{
  kr_fail(&hop->failure, code, "%s", kr_early_end(code));
  finish(hop);
}

/* Keep a failure, unless it says less than one before. */
static void keep_failure(struct kr_hop *hop, const struct kr_failure *failure)
{
  if (hop->failure.code == 0 || !kr_heal_says_less(failure->code)) {
    hop->failure = *failure;
  }
}

/* ---- Sent ----------------------------------------------------------------------------------- */

static void count_request(struct kr_hop *hop)
{
  struct kr_stats *stats = hop->call->conn->stats;

  kr_stats_add(stats, hop->ops->scans ? KR_COUNT_SCANS : KR_COUNT_REQUESTS, 1);
  if (hop->tries > 0 && !hop->ops->scans) {
    kr_stats_add(stats, KR_COUNT_ROWS_RETRIED, 1);
  }
  hop->tries++;
  hop->call->detail.rpcs++;
}

static void send(struct kr_hop *hop)
{
  struct keyroute_connection *conn = hop->call->conn;
  const struct kr_server *server = kr_location_server(hop->location, hop->asked);

  hop->sent_us = kr_clock_us();
  hop->request = hop->ops->send(
      hop, server->host, server->port,
      kr_heal_try_ms(conn, hop->call->began_us, hop->call->deadline_us, hop->ops->once));
  if (hop->request == NULL) {
    finish_with(hop, kr_connection_closed(conn) ? KEYROUTE_E_CLOSED : KEYROUTE_E_NO_MEMORY);
    return;
  }
  count_request(hop);
}

static void trace_request(struct kr_hop *hop, const char *what)
{
  const struct kr_server *server = kr_location_server(hop->location, hop->asked);
  char address[300];

  if (hop->call->trace != NULL) {
    kr_trace_add(hop->call->trace, hop->step, hop->sent_us - hop->call->began_us,
                 kr_clock_us() - hop->sent_us,
                 kr_server_print(address, sizeof(address), server->host, server->port), "%s", what);
  }
}

void kr_hop_answered(struct kr_hop *hop)
{
  hop->request = NULL;
  trace_request(hop, "answered");
  memset(&hop->failure, 0, sizeof(hop->failure));
  finish(hop);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

static void waited(void *arg)
{
  struct kr_hop *hop = arg;

  hop->timer = NULL;
  if (remaining_ms(hop) <= 0) {
    finish(hop);
  } else {
    look(hop);
  }
}

static void wait_for(struct kr_hop *hop, int64_t wait_ms)
{
  struct keyroute_connection *conn = hop->call->conn;

  kr_stats_add(conn->stats, KR_COUNT_RETRIES, 1);
  if (wait_ms == 0) {
    look(hop);
    return;
  }
  kr_trace_add(hop->call->trace, "wait", kr_clock_us() - hop->call->began_us, wait_ms * 1000, NULL,
               "%lld ms", (long long)wait_ms);
  hop->timer = kr_timer_start(conn->loop, wait_ms, waited, hop);
  if (hop->timer == NULL) {
    finish_with(hop, KEYROUTE_E_NO_MEMORY);
  }
}

/* It may have been done, and must not be done twice. */
static void give_up(struct kr_hop *hop)
{
  hop->maybe_applied = true;
  if (hop->failure.code == KEYROUTE_E_TIMEOUT) {
    hop->failure.code = KEYROUTE_E_UNREACHABLE;
  }
  finish(hop);
}

void kr_hop_failed(struct kr_hop *hop, const struct kr_failure *failure)
{
  struct keyroute_connection *conn = hop->call->conn;
  struct kr_failure told;

  hop->request = NULL;
  kr_heal_tell(&told, failure, hop->location);
  kr_stats_add(conn->stats, hop->ops->scans ? KR_COUNT_SCANS_FAILED : KR_COUNT_REQUESTS_FAILED, 1);
  trace_request(hop, failure->message);
  kr_heal_report(conn, hop->location, hop->asked, failure);
  if (hop->ops->once && kr_heal_maybe_applied(failure)) {
    hop->failure = told;
    give_up(hop);
    return;
  }
  keep_failure(hop, &told);
  int64_t wait_ms = kr_heal_wait_ms(conn, failure, hop->tries, hop->call->deadline_us);

  if (wait_ms < 0) {
    finish(hop);
  } else {
    wait_for(hop, wait_ms);
  }
}

/* ---- Looking -------------------------------------------------------------------------------- */

/* What the lookup says of itself goes into the call's detail. */
static void count_lookup(struct kr_hop *hop)
{
  const struct kr_lookup *lookup = &hop->lookup;
  struct keyroute_detail *detail = &hop->call->detail;
  bool hit = lookup->source == KEYROUTE_SOURCE_CACHE;

  if (!hop->ops->scans) {
    kr_stats_add(hop->call->conn->stats, hit ? KR_COUNT_HITS : KR_COUNT_MISSES, 1);
  }
  if (hit && !hop->ops->scans) {
    kr_trace_add(hop->call->trace, "cache", kr_clock_us() - hop->call->began_us, 0, NULL, "hit");
  }
  detail->source = lookup->source;
  detail->attempts += lookup->attempts;
  detail->rpcs += lookup->rpcs;
  detail->deadline = lookup->deadline;
}

static void looked(struct kr_lookup *lookup)
{
  struct kr_hop *hop = lookup->arg;

  hop->looking = false;
  count_lookup(hop);
  if (hop->stopped) {
    keyroute_location_release(lookup->location);
    finish(hop);
  } else if (lookup->location == NULL) {
    keep_failure(hop, &lookup->failure);
    finish(hop);
  } else {
    hop->call->detail.deadline = false;
    keyroute_location_release(hop->location);
    hop->location = lookup->location;
    hop->asked = kr_heal_replica(hop->location, hop->replica);
    send(hop);
  }
}

static void look(struct kr_hop *hop)
{
  hop->lookup = (struct kr_lookup){
      .table = hop->table,
      .row = hop->row,
      .position = hop->position,
      .replica = hop->replica,
      .refresh = (hop->flags & KEYROUTE_REFRESH) != 0 && hop->tries == 0,
      .cache_only = (hop->flags & KEYROUTE_CACHE_ONLY) != 0,
      .began_us = hop->call->began_us,
      .deadline_us = hop->call->deadline_us,
      .trace = hop->call->trace,
      .done = looked,
      .arg = hop,
  };
  hop->looking = true;
  kr_locator_start(hop->call->conn->locator, &hop->lookup);
}

void kr_hop_start(struct kr_hop *hop)
{
  look(hop);
}

/* ---- Early ends ----------------------------------------------------------------------------- */

void kr_hop_stop(struct kr_hop *hop, int code)
{
  struct kr_transport *transport = hop->call->conn->transport;

  kr_fail(&hop->failure, code, "%s", kr_early_end(code));
  hop->stopped = true;
  if (hop->looking) {
    /* CLOSED comes from the locator, which ends all lookups: were one taken out alone, the next in
     * line would have its turn, and might end, and with it another call than this. */
    if (code == KEYROUTE_E_CANCELLED) {
      kr_locator_cancel(hop->call->conn->locator, &hop->lookup);
    }
    return;
  }
  if (hop->request != NULL) {
    bool sent = transport->ops->cancel(transport, hop->request);

    hop->request = NULL;
    hop->maybe_applied = hop->ops->once && sent;
  }
  kr_timer_stop(hop->timer);
  hop->timer = NULL;
  finish(hop);
}
