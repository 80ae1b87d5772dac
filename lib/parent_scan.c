/*
 * One scan of the parent's region: sent to the server that the flight has for it, its rows kept.
 *
 *  1. Rows become locations of their own and stand behind those met before, nearest first: replies
 *     are gone when their callback returns.
 *  2. A failed scan changes what is thought of the place (trust.c) before the flight ends; a row
 *     that cannot be believed is no failure yet: check.c judges it with the others.
 */
#include "lib/parent_scan.h"

#include "lib/bytes.h"
#include "lib/trust.h"

#include <stdio.h>

void kr_parent_scan_release_rows(struct kr_flight *flight)
{
  for (size_t i = 0; i < flight->row_count; i++) {
    keyroute_location_release(flight->rows[i].location);
  }
  kr_free(flight->means->mem, flight->rows);
  flight->rows = NULL;
  flight->row_count = 0;
  flight->unplaced = NULL;
}

void kr_parent_scan_send(struct kr_flight *flight, const char *name, struct kr_scan *scan,
                         kr_scan_cb cb)
{
  const struct kr_means *means = flight->means;
  struct kr_server *server = kr_location_server(flight->at, 0);
  struct kr_buf region;

  kr_buf_init(&region, means->mem);
  kr_flight_begin_step(flight, name);
  scan->region = kr_location_replica_name(flight->at, 0, &region);
  if (scan->family == NULL) {
    scan->family = means->catalog->family;
  }
  kr_stats_add(means->stats, KR_COUNT_SCANS, 1);
  flight->host->sent(flight);
  flight->request = NULL;
  if (!region.failed) {
    flight->request = means->transport->ops->scan(means->transport, server->host, server->port,
                                                  scan, kr_flight_remaining_ms(flight), cb, flight);
  }
  kr_buf_clear(&region);
  if (flight->request == NULL) {
    kr_flight_end_no_memory(flight);
  }
}

/* A reply's step for the trace: how many rows, from where. */
static void end_scan_step(struct kr_flight *flight, const struct kr_rows *rows)
{
  char text[KR_FLIGHT_KEY_TEXT + 64], key[KR_FLIGHT_KEY_TEXT], address[300];
  struct kr_server *server = kr_location_server(flight->at, 0);

  if (rows->count > 0) {
    snprintf(text, sizeof(text), "%zu %s from %s", rows->count, rows->count == 1 ? "row" : "rows",
             kr_bytes_print(key, sizeof(key), rows->rows[0].key));
  } else {
    snprintf(text, sizeof(text), "no row");
  }
  kr_flight_end_step(flight, kr_server_print(address, sizeof(address), server->host, server->port),
                     text);
}

bool kr_parent_scan_answered(struct kr_flight *flight, const struct kr_failure *failure,
                             const struct kr_rows *rows)
{
  flight->request = NULL;
  for (unsigned i = 0; i < rows->further; i++) {
    flight->host->sent(flight);
  }
  if (failure->code != 0) {
    kr_stats_add(flight->means->stats, KR_COUNT_SCANS_FAILED, 1);
    kr_flight_end_step(flight, failure->server, failure->message);
    return false;
  }
  if (flight->host->traced(flight)) {
    end_scan_step(flight, rows);
  }
  return true;
}

/* Parse a reply's rows and put them behind those met before. False = out of memory. */
static bool take_rows(struct kr_flight *flight, const struct kr_rows *rows)
{
  const struct kr_means *means = flight->means;
  size_t count = flight->row_count + rows->count;
  struct kr_catalog_row *room = kr_realloc(means->mem, flight->rows, count * sizeof(*room));

  if (room == NULL) {
    return false;
  }
  flight->rows = room;
  for (size_t i = 0; i < rows->count; i++) {
    struct kr_catalog_row *row = &room[flight->row_count];

    if (means->catalog->parse_row(row, means->mem, means->servers, kr_table_name(flight->table),
                                  &rows->rows[i]) != 0) {
      return false;
    }
    flight->row_count++;
  }
  if (rows->count > 0) {
    flight->last_key.len = 0;
    kr_buf_bytes(&flight->last_key, rows->rows[rows->count - 1].key);
  }
  return !flight->last_key.failed;
}

bool kr_parent_scan_received(struct kr_flight *flight, const struct kr_failure *failure,
                             const struct kr_rows *rows)
{
  if (!kr_parent_scan_answered(flight, failure, rows)) {
    kr_trust_lose(flight, failure);
    kr_flight_end_failed(flight, failure);
    return false;
  }
  if (!take_rows(flight, rows)) {
    kr_flight_end_no_memory(flight);
    return false;
  }
  return true;
}
