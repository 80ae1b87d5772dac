/*
 * The public calls with which an application tells what it met at a server.
 *
 *   caller's thread   keyroute_report: check, copy what is told, post, retire the handle
 *   loop              run: what becomes of the cache (report.c)
 *
 *  1. The handle is retired before the call returns, and only its first report is passed on.
 *  2. It is retired after the report was posted: whoever misses because of it and posts a lookup is
 *     behind the report, and finds the cache as that left it.
 *  3. Nothing waits. Without memory for what is posted, the handle is retired all the same, and is
 *     not counted as reported: the call may be repeated.
 */
#include "lib/bytes.h"
#include "lib/connection.h"
#include "lib/exception.h"
#include "lib/report.h"

#include <string.h>

/* ---- Faults --------------------------------------------------------------------------------- */

#define FAULT_ROW(name, kind, text) {#name, KEYROUTE_KIND_##kind},
static const struct {
  const char *name;
  enum keyroute_kind kind;
} faults[] = {KEYROUTE_FAULTS(FAULT_ROW)};
#undef FAULT_ROW

static bool is_fault(enum keyroute_fault fault)
{
  return (unsigned)fault < sizeof(faults) / sizeof(faults[0]);
}

enum keyroute_kind keyroute_fault_kind(enum keyroute_fault fault)
{
  return is_fault(fault) ? faults[fault].kind : KEYROUTE_KIND_NONE;
}

const char *keyroute_fault_name(enum keyroute_fault fault)
{
  return is_fault(fault) ? faults[fault].name : "UNKNOWN";
}

/* ---- Reporting ------------------------------------------------------------------------------ */

/* A report on its way to the loop. */
struct posted {
  struct kr_task task;
  struct keyroute_connection *conn;
  struct kr_report report; /* its location is counted */
  char host[];
};

static void run(struct kr_task *task)
{
  struct posted *posted = (struct posted *)(void *)task; /* its first field */
  struct keyroute_connection *conn = posted->conn;

  if (kr_reports_take(conn->reports, &posted->report)) {
    kr_connection_sweep(conn);
  }
  keyroute_location_release(posted->report.location);
  kr_free(conn->mem, posted);
}

/* Hand a report over to the loop. False = out of memory. */
static bool post(struct keyroute_connection *conn, const struct kr_report *report,
                 struct keyroute_bytes host)
{
  struct posted *posted = kr_calloc(conn->mem, sizeof(*posted) + host.len + 1);

  if (posted == NULL) {
    return false;
  }
  if (kr_location_report(report->location)) {
    kr_free(conn->mem, posted); /* another thread was faster */
    return true;
  }
  posted->task.run = run;
  posted->conn = conn;
  posted->report = *report;
  posted->report.epoch = kr_cache_epoch(conn->cache);
  keyroute_location_ref(report->location);
  if (host.len > 0) {
    memcpy(posted->host, host.data, host.len);
    posted->report.host = posted->host;
  }
  kr_loop_post(conn->loop, &posted->task);
  return true;
}

/* A checked report. host empty = no place is named. */
static int take(struct keyroute_connection *conn, const struct kr_report *report,
                struct keyroute_bytes host)
{
  struct keyroute_location *location = report->location;
  int error = 0;

  kr_stats_add(conn->stats, KR_COUNT_REPORTS, 1);
  if (keyroute_fault_kind(report->fault) == KEYROUTE_KIND_KEEP) {
    return 0;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  if (!kr_location_reported(location) && !post(conn, report, host)) {
    error = KEYROUTE_E_NO_MEMORY;
  }
  /* Here also if another thread is about to (invariant 1). */
  kr_location_retire(location, KR_EVICTED_REPORTED);
  kr_connection_leave(conn);
  return error;
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* The fields that the detail's size says are there; defaults for the others. */
static struct keyroute_fault_detail whole_detail(const struct keyroute_fault_detail *detail)
{
  struct keyroute_fault_detail whole = KEYROUTE_FAULT_DETAIL_INIT;

  if (detail != NULL) {
    memcpy(&whole, detail, detail->size < sizeof(whole) ? detail->size : sizeof(whole));
    whole.size = detail->size;
  }
  return whole;
}

static bool is_place(const struct keyroute_fault_detail *detail)
{
  size_t len = strnlen(detail->host, KR_HOST_MAX + 1);

  return len > 0 && len <= KR_HOST_MAX && detail->port > 0 && detail->port <= UINT16_MAX &&
         detail->start_code >= 0;
}

static int check(const struct keyroute_connection *conn, const struct keyroute_location *location,
                 int replica)
{
  /* A replica on no server cannot have been asked. */
  return conn != NULL && location != NULL && kr_location_server(location, replica) != NULL
             ? 0
             : KEYROUTE_E_INVALID_ARGUMENT;
}

int keyroute_report(struct keyroute_connection *conn, struct keyroute_location *location,
                    enum keyroute_fault fault, const struct keyroute_fault_detail *given)
{
  struct keyroute_fault_detail detail = whole_detail(given);
  bool names_place = fault == KEYROUTE_FAULT_MOVED && detail.host != NULL;
  int error = check(conn, location, detail.replica);

  if (error != 0 || !is_fault(fault) || detail.size == 0 || (names_place && !is_place(&detail))) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (kr_connection_closed(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  struct kr_report report = {
      .location = location,
      .fault = fault,
      .replica = detail.replica,
      .port = (uint16_t)detail.port,
      .start_code = detail.start_code,
      .seqnum = detail.seqnum,
  };

  return take(conn, &report, names_place ? keyroute_string(detail.host) : kr_bytes(NULL, 0));
}

int keyroute_report_exception(enum keyroute_fault *out, struct keyroute_connection *conn,
                              struct keyroute_location *location, const char *class_name,
                              const char *text, int replica)
{
  int error = check(conn, location, replica);
  struct kr_place place = {.host = ""};

  if (error != 0 || class_name == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (kr_connection_closed(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  struct kr_report report = {
      .location = location,
      .fault = kr_exception_fault(class_name),
      .replica = replica,
  };

  if (report.fault == KEYROUTE_FAULT_MOVED && text != NULL && kr_exception_moved(&place, text)) {
    report.port = place.port;
    report.start_code = place.start_code;
    report.seqnum = place.seqnum;
  }
  error = take(conn, &report, keyroute_string(place.host));
  if (error == 0 && out != NULL) {
    *out = report.fault;
  }
  return error;
}
