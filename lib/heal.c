/*
 * What follows when a request to a region's server failed.
 *
 * For the location: the failure is reported, in the words of keyroute_report, and report.c decides
 * what becomes of it; a request of the library's own has no other means than an application's. For
 * the request: whether it may have been done all the same, how long to wait (retry.c), and which
 * of its failures is told in the end.
 *
 *  1. Only a failure that speaks of the place is reported: load, lack of memory and what is wrong
 *     with the request itself say nothing of it.
 *  2. A server that cannot be connected to is dead for a while; one whose connection broke may have
 *     closed it for being idle.
 *  3. Silence makes the place doubtful: it is read again, as often as the limits of report.c allow.
 *  4. What was not sent was not done, and an exception that says so is believed. Everything else
 *     may have been done.
 *
 * Threads: the loop.
 */
#include "lib/heal.h"

#include "lib/clock.h"
#include "lib/random.h"
#include "lib/report.h"

#include <stdio.h>
#include <string.h>

static enum keyroute_fault fault_of(const struct kr_failure *failure)
{
  if (failure->code == KEYROUTE_E_REMOTE) {
    return failure->fault;
  }
  switch (failure->kind) {
  case KEYROUTE_KIND_DROP_SERVER:
    return failure->connecting ? KEYROUTE_FAULT_SERVER_DEAD : KEYROUTE_FAULT_CONNECTION_FAILED;
  case KEYROUTE_KIND_REFRESH:
    return KEYROUTE_FAULT_NOT_SERVING;
  default:
    return KEYROUTE_FAULT_REQUEST_FAILED;
  }
}

/* Put the place that the server named into a report. */
static void name_place(struct kr_report *report, const struct kr_place *place)
{
  if (place->host[0] != '\0') {
    report->host = place->host;
    report->port = place->port;
    report->start_code = place->start_code;
    report->seqnum = place->seqnum;
  }
}

void kr_heal_report(struct keyroute_connection *conn, struct keyroute_location *location,
                    int replica, const struct kr_failure *failure)
{
  struct kr_report report = {
      .location = location,
      .fault = fault_of(failure),
      .replica = replica,
      .seqnum = -1,
      .epoch = kr_cache_epoch(conn->cache),
  };

  if (keyroute_fault_kind(report.fault) == KEYROUTE_KIND_KEEP || kr_location_report(location)) {
    return; /* there is nothing to say, or it has been said */
  }
  if (report.fault == KEYROUTE_FAULT_MOVED) {
    name_place(&report, &failure->moved);
  }
  if (kr_reports_take(conn->reports, &report)) {
    kr_connection_sweep(conn);
  }
}

bool kr_heal_maybe_applied(const struct kr_failure *failure)
{
  return failure->sent && !failure->refused;
}

int64_t kr_heal_wait_ms(struct keyroute_connection *conn, const struct kr_failure *failure,
                        unsigned tries, int64_t deadline_us)
{
  int64_t remaining_ms = kr_retry_remaining_ms(deadline_us, kr_clock_us());

  if (remaining_ms <= 0) {
    return -1;
  }
  return kr_retry_hop_wait_ms(&conn->retry, tries, failure, remaining_ms,
                              kr_random_next(&conn->random));
}

int64_t kr_heal_try_ms(const struct keyroute_connection *conn, int64_t began_us,
                       int64_t deadline_us, bool once)
{
  int64_t whole_ms = once ? INT64_MAX : (deadline_us - began_us) / 1000;

  return kr_retry_try_ms(whole_ms, kr_retry_remaining_ms(deadline_us, kr_clock_us()),
                         conn->settings->rpc_timeout_ms);
}

void kr_heal_tell(struct kr_failure *out, const struct kr_failure *failure,
                  const struct keyroute_location *location)
{
  const char *state = keyroute_location_state(location);
  size_t len = strlen(failure->message);

  *out = *failure;
  if (failure->code == KEYROUTE_E_REMOTE && failure->fault == KEYROUTE_FAULT_NOT_SERVING &&
      state != NULL && location->state != KR_STATE_OPEN) {
    snprintf(out->message + len, sizeof(out->message) - len, "; the catalog has it as %s", state);
  }
}

bool kr_heal_says_less(int code)
{
  return code == KEYROUTE_E_TIMEOUT || code == KEYROUTE_E_NOT_CACHED;
}

/* The first replica whose server is neither dropped nor refused at that time; -1 = none is. */
static int first_alive(const struct keyroute_location *location, int64_t at_us)
{
  for (int i = 0; i < location->replica_count; i++) {
    const struct kr_server *server = kr_location_live_server(location, i);

    if (server != NULL && server->failed_until_us <= at_us) {
      return i;
    }
  }
  return -1;
}

int kr_heal_replica(const struct keyroute_location *location, int replica)
{
  if (replica != KEYROUTE_REPLICA_ANY) {
    return replica;
  }
  int alive = first_alive(location, kr_clock_us());

  /* The mark may have been made since the location was found: better a server that is refused than
   * none. */
  alive = alive >= 0 ? alive : first_alive(location, INT64_MAX);
  return alive >= 0 ? alive : 0;
}
