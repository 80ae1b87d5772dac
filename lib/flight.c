/*
 * A flight: one try at the catalog for one row.
 *
 *   the root's row      registry -> location
 *   any other           parent's region (cache, or a lookup of its own)
 *                       -> reversed scan of it -> check the rows -> store them -> location
 *
 * On a healthy catalog that is one request. More are made only where the answer needs them:
 *
 *   "below"    no row of the answer was live, or the server stopped early: on, below the last row,
 *              and if need be in the parent's region before this one
 *   "again"    the answer was reported to be wrong since it was asked for: the same once more
 *   others     there is no region that could be asked: explain.c finds out why
 *
 *  1. One thing is under way at any time: a root read, a lookup of the parent, or a scan.
 *  2. It never tries again: a failure ends it. What the failure says about servers (trust.c) is
 *     noted first, so that the next try finds out anew.
 *  3. The cache has what was found (findings.c) before the flight ends.
 *  4. The host may free the flight in `ended`; nothing here touches it afterwards.
 *  5. The catalog may be settled while the parent is looked for (layout.c). Then there is another
 *     parent, and the flight begins anew within the same try.
 *
 * Source: HBase ConnectionImplementation.locateRegionInMeta, AsyncNonMetaRegionLocator
 */
#include "lib/flight.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/explain.h"
#include "lib/findings.h"
#include "lib/parent_scan.h"
#include "lib/trust.h"

#include <stdio.h>

/* How often one try follows the root from server to server. */
enum { REROUTES_MAX = 3 };

static void read_root(struct kr_flight *flight);
static void scan_down(struct kr_flight *flight);

struct kr_flight *kr_flight_new(const struct kr_means *means, const struct kr_flight_host *host,
                                struct kr_locator *locator, struct keyroute_table *table,
                                struct keyroute_bytes row, enum kr_position position)
{
  struct kr_flight *flight = kr_calloc(means->mem, sizeof(*flight));

  if (flight == NULL) {
    return NULL;
  }
  flight->means = means;
  flight->host = host;
  flight->locator = locator;
  flight->position = position;
  flight->epoch = kr_cache_epoch(means->cache);
  flight->row_len = row.len;
  flight->row = kr_copy(means->mem, row);
  kr_buf_init(&flight->parent_row, means->mem);
  kr_buf_init(&flight->last_key, means->mem);
  kr_buf_init(&flight->reach, means->mem);
  if (flight->row == NULL) {
    kr_free(means->mem, flight);
    return NULL;
  }
  flight->table = kr_table_ref(table);
  return flight;
}

void kr_flight_free(struct kr_flight *flight)
{
  const struct kr_means *means = flight->means;

  if (flight->request != NULL) {
    means->transport->ops->cancel(means->transport, flight->request);
  }
  if (flight->read != NULL) {
    means->registry->ops->cancel(means->registry, flight->read);
  }
  if (flight->parent_running) {
    flight->host->withdraw(flight->locator, &flight->parent);
  }
  if (flight->parent.table != NULL) {
    kr_table_release(flight->parent.table);
  }
  kr_parent_scan_release_rows(flight);
  keyroute_location_release(flight->at);
  keyroute_location_release(flight->location);
  kr_table_release(flight->table);
  kr_buf_clear(&flight->parent_row);
  kr_buf_clear(&flight->last_key);
  kr_buf_clear(&flight->reach);
  kr_free(means->mem, flight->row);
  kr_free(means->mem, flight);
}

struct kr_question kr_flight_question(const struct kr_flight *flight)
{
  return (struct kr_question){kr_table_name(flight->table), kr_bytes(flight->row, flight->row_len),
                              flight->position};
}

int64_t kr_flight_remaining_ms(const struct kr_flight *flight)
{
  int64_t remaining = (flight->deadline_us - kr_clock_us()) / 1000;

  return remaining > 0 ? remaining : 1;
}

/* ---- Steps and ends ---- */

void kr_flight_begin_step(struct kr_flight *flight, const char *name)
{
  flight->step_name = name;
  flight->step_began_us = kr_clock_us();
}

void kr_flight_end_step(struct kr_flight *flight, const char *server, const char *detail)
{
  flight->host->step(flight, flight->step_name, flight->step_began_us, server, detail);
}

void kr_flight_end_failed(struct kr_flight *flight, const struct kr_failure *failure)
{
  if (failure != &flight->failure) {
    flight->failure = *failure;
  }
  flight->host->ended(flight);
}

void kr_flight_end_no_memory(struct kr_flight *flight)
{
  kr_fail(&flight->failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  flight->host->ended(flight);
}

static bool may_scan_more(const struct kr_flight *flight)
{
  return flight->scans < KR_FLIGHT_SCANS_MAX + flight->steps;
}

/* Ask once more, now that it has been reported. */
static void read_again(struct kr_flight *flight)
{
  kr_parent_scan_release_rows(flight);
  flight->last_key.len = 0;
  if (flight->at == NULL) {
    flight->scans++;
    read_root(flight);
  } else if (!kr_location_covers(flight->at, kr_buf_view(&flight->parent_row), KR_AT)) {
    /* It had stepped down. */
    kr_flight_go_to_parent(flight, kr_buf_view(&flight->parent_row), KR_AT, scan_down);
  } else {
    flight->sent = kr_cache_tick(flight->means->cache);
    scan_down(flight);
  }
}

void kr_flight_end_found(struct kr_flight *flight, struct keyroute_location *location)
{
  if (may_scan_more(flight) && kr_findings_doubtful(flight, location)) {
    read_again(flight);
    return;
  }
  if (kr_findings_store(flight, location)) {
    flight->host->ended(flight);
  } else {
    kr_flight_end_no_memory(flight);
  }
}

/* ---- The root ---- */

/* Of what table the registry's answer is may be known only now. Returns whether there was memory to
 * note it. */
static bool rename_root(struct kr_flight *flight, const struct keyroute_location *root)
{
  struct keyroute_bytes name = keyroute_location_table(root);
  struct keyroute_table *table;

  if (kr_bytes_equal(kr_table_name(flight->table), name)) {
    return true;
  }
  table = kr_cache_table(flight->means->cache, name);
  if (table != NULL) {
    kr_table_release(flight->table);
    flight->table = table;
  }
  return table != NULL;
}

static void on_root(void *arg, const struct kr_root *root)
{
  struct kr_flight *flight = arg;
  const struct kr_means *means = flight->means;

  flight->read = NULL;
  if (root->failure.code != 0) {
    kr_flight_end_step(flight, root->failure.server, root->failure.message);
    kr_flight_end_failed(flight, &root->failure);
    return;
  }
  kr_layout_learn(means->layout, root);
  struct keyroute_location *location =
      means->catalog->parse_root(&flight->failure, means->mem, means->servers, root);

  if (location == NULL) {
    kr_flight_end_step(flight, NULL, flight->failure.message);
    kr_flight_end_failed(flight, &flight->failure);
    return;
  }
  kr_flight_end_step(flight, NULL, root->place);
  kr_trust_restore(flight, location);
  if (rename_root(flight, location)) {
    kr_flight_end_found(flight, location);
  } else {
    kr_flight_end_no_memory(flight);
  }
  keyroute_location_release(location);
}

static void read_root(struct kr_flight *flight)
{
  const struct kr_means *means = flight->means;

  kr_flight_begin_step(flight, "registry");
  kr_stats_add(means->stats, KR_COUNT_REGISTRY_READS, 1);
  flight->sent = kr_cache_tick(means->cache);
  flight->read = means->registry->ops->read_root(means->registry, kr_flight_remaining_ms(flight),
                                                 on_root, flight);
  if (flight->read == NULL) {
    kr_flight_end_no_memory(flight);
  }
}

/* ---- The scan of the parent ---- */

static void decide_found(struct kr_flight *flight, struct keyroute_location *location)
{
  if (kr_location_placed(location)) {
    kr_flight_end_found(flight, location);
  } else {
    flight->unplaced = location;
    kr_explain_absence(flight);
  }
}

static void decide_failed(struct kr_flight *flight, const struct kr_failure *failure)
{
  kr_findings_forget_row(flight);
  flight->failure = *failure;
  if (failure->code == KEYROUTE_E_OFFLINE) {
    kr_explain_absence(flight);
  } else {
    flight->host->ended(flight);
  }
}

/* Has the parent rows of the table below the region of it that was scanned? */
static bool goes_on_below(const struct kr_flight *flight)
{
  struct kr_buf low;

  if (keyroute_location_start_key(flight->at).len == 0) {
    return false;
  }
  kr_buf_init(&low, flight->means->mem);
  flight->means->catalog->low_key(&low, kr_table_name(flight->table));
  /* Without memory it does, and the lookup of that region will say so. */
  bool below = low.failed || flight->means->catalog->compare_keys(
                                 kr_buf_view(&low), keyroute_location_start_key(flight->at)) < 0;

  kr_buf_clear(&low);
  return below;
}

/* The regions of the parent that have no row are too many. */
static void end_too_deep(struct kr_flight *flight)
{
  struct kr_question question = kr_flight_question(flight);
  char table[KR_FLIGHT_KEY_TEXT], row[KR_FLIGHT_KEY_TEXT], parent[KR_FLIGHT_KEY_TEXT];

  kr_fail(&flight->failure, KEYROUTE_E_TIMEOUT,
          "table %s, row %s: %d regions of %s one below the other say nothing about it",
          kr_bytes_print(table, sizeof(table), question.table),
          kr_bytes_print(row, sizeof(row), question.row), KR_FLIGHT_STEPS_MAX,
          kr_bytes_print(parent, sizeof(parent), kr_table_name(flight->parent.table)));
  flight->host->ended(flight);
}

/* Go on in the parent's region before this one. */
static void step_down(struct kr_flight *flight)
{
  if (flight->steps++ == KR_FLIGHT_STEPS_MAX) {
    end_too_deep(flight);
    return;
  }
  flight->last_key.len = 0;
  kr_buf_bytes(&flight->last_key, keyroute_location_start_key(flight->at));
  if (flight->last_key.failed) {
    kr_flight_end_no_memory(flight);
  } else {
    kr_flight_go_to_parent(flight, kr_buf_view(&flight->last_key), KR_BEFORE, scan_down);
  }
}

/* The rows are judged. */
static void decide(struct kr_flight *flight, bool complete)
{
  struct kr_question question = kr_flight_question(flight);
  struct kr_checked checked;

  kr_check_rows(&checked, &question, flight->rows, flight->row_count, complete);
  flight->reach.len = 0;
  kr_buf_bytes(&flight->reach, checked.reach);
  if (flight->reach.failed) {
    kr_flight_end_no_memory(flight);
    return;
  }
  switch (checked.verdict) {
  case KR_VERDICT_FOUND:
    decide_found(flight, checked.location);
    break;
  case KR_VERDICT_EMPTY:
    if (flight->below) {
      step_down(flight);
    } else {
      kr_explain_no_rows(flight);
    }
    break;
  case KR_VERDICT_BELOW:
    if (flight->below) {
      step_down(flight);
    } else {
      scan_down(flight);
    }
    break;
  case KR_VERDICT_BEHIND:
    kr_findings_store_others(flight, NULL);
    kr_explain_gap(flight);
    break;
  case KR_VERDICT_FAILED:
    decide_failed(flight, &checked.failure);
    break;
  }
}

static void on_rows(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;

  if (!kr_parent_scan_received(flight, failure, rows)) {
    return;
  }
  bool last = !may_scan_more(flight);

  if (rows->more && flight->row_count == 0 && !last) {
    scan_down(flight); /* the server stopped before it met a row */
    return;
  }
  bool at_end = !rows->more && rows->count < flight->limit;

  flight->below = at_end && !last && goes_on_below(flight);
  decide(flight, last || (at_end && !flight->below));
}

/* Scan down from the search key, or from below the last row met. */
static void scan_down(struct kr_flight *flight)
{
  struct kr_buf stop;
  bool first = flight->last_key.len == 0;

  kr_buf_init(&stop, flight->means->mem);
  flight->means->catalog->low_key(&stop, kr_table_name(flight->table));
  flight->scans++;
  const char *name = flight->scans == 1 ? "scan" : first ? "again" : "below";

  if (stop.failed) {
    kr_flight_end_no_memory(flight);
  } else {
    struct kr_scan scan = {
        .start_row = kr_buf_view(first ? &flight->parent_row : &flight->last_key),
        .stop_row = kr_buf_view(&stop),
        .include_start = first && flight->position == KR_AT,
        .include_stop = true,
        .reversed = true,
        .limit = flight->limit,
    };

    kr_parent_scan_send(flight, name, &scan, on_rows);
  }
  kr_buf_clear(&stop);
}

/* ---- The parent's region ---- */

/* Was the catalog settled by what has just been found? Then the parent is another one. */
static bool has_other_parent(const struct kr_flight *flight)
{
  return !kr_bytes_equal(kr_table_name(flight->parent.table),
                         flight->means->catalog->parent(kr_table_name(flight->table)));
}

/* What was found as the parent's region is the region looked for: it was asked for the root. */
static void end_with_root(struct kr_flight *flight, struct keyroute_location *root)
{
  /* What is retired may have left the cache, and has no times then. */
  flight->sent = kr_location_own_reason(root) == KR_NOT_EVICTED ? kr_location_sent(root) : 0;
  kr_flight_end_found(flight, root);
}

/* A flight for a parent's region has no more to look for: its table was one of the other kind of
 * catalog. Those who wait for it try again. */
static void end_outdated(struct kr_flight *flight)
{
  kr_fail(&flight->failure, KEYROUTE_E_BOOTSTRAP, "the catalog's root is another table now");
  flight->host->ended(flight);
}

static void begin_anew(struct kr_flight *flight)
{
  struct keyroute_location *root = flight->at;

  kr_table_release(flight->parent.table);
  flight->at = NULL;
  flight->parent.table = NULL;
  flight->parent_row.len = 0;
  if (kr_bytes_equal(keyroute_location_table(root), kr_table_name(flight->table))) {
    end_with_root(flight, root);
  } else if (flight->counted) {
    kr_flight_start(flight);
  } else {
    end_outdated(flight);
  }
  keyroute_location_release(root);
}

static void on_parent(struct kr_lookup *parent)
{
  struct kr_flight *flight = parent->arg;

  flight->parent_running = false;
  if (parent->failure.code == KEYROUTE_E_DEAD_SERVER) {
    /* To whoever looks for a region, its catalog cannot be reached. */
    parent->failure.code = KEYROUTE_E_UNREACHABLE;
    parent->failure.kind = keyroute_error_kind(KEYROUTE_E_UNREACHABLE);
  }
  if (parent->failure.code != 0) {
    kr_flight_end_failed(flight, &parent->failure);
    return;
  }
  flight->at = parent->location;
  parent->location = NULL;
  if (has_other_parent(flight)) {
    begin_anew(flight);
  } else {
    flight->sent = kr_cache_tick(flight->means->cache);
    flight->at_parent(flight);
  }
}

void kr_flight_go_to_parent(struct kr_flight *flight, struct keyroute_bytes row,
                            enum kr_position position, void (*at_parent)(struct kr_flight *flight))
{
  keyroute_location_release(flight->at);
  flight->at = NULL;
  flight->at_parent = at_parent;
  flight->parent = (struct kr_lookup){
      .table = flight->parent.table,
      .row = row,
      .position = position,
      .single_try = true,
      .began_us = kr_clock_us(),
      .deadline_us = flight->deadline_us,
      .flight_of = flight,
      .done = on_parent,
      .arg = flight,
  };
  flight->parent_running = true;
  flight->host->locate(flight->locator, &flight->parent);
}

static void find_parent(struct kr_flight *flight, struct keyroute_bytes name)
{
  const struct kr_means *means = flight->means;

  means->catalog->search_key(&flight->parent_row, kr_table_name(flight->table),
                             kr_bytes(flight->row, flight->row_len), flight->position);
  flight->parent.table = kr_cache_table(means->cache, name);
  if (flight->parent.table == NULL || flight->parent_row.failed) {
    kr_flight_end_no_memory(flight);
  } else {
    kr_table_pin(flight->parent.table);
    kr_flight_go_to_parent(flight, kr_buf_view(&flight->parent_row), KR_AT, scan_down);
  }
}

void kr_flight_reroute(struct kr_flight *flight, const struct kr_server *root)
{
  const struct kr_means *means = flight->means;
  char address[300], text[400];

  if (flight->request == NULL ||
      !kr_bytes_is(kr_table_name(flight->parent.table), means->catalog->root)) {
    return;
  }
  const struct kr_server *server = kr_location_server(flight->at, 0);

  if (kr_server_same(server, root) || flight->reroutes++ >= REROUTES_MAX) {
    return;
  }
  means->transport->ops->cancel(means->transport, flight->request);
  flight->request = NULL;
  snprintf(text, sizeof(text), "given up: %s is elsewhere", means->catalog->root);
  kr_flight_end_step(flight, kr_server_print(address, sizeof(address), server->host, server->port),
                     text);
  kr_parent_scan_release_rows(flight);
  flight->failure.code = 0;
  flight->scans = flight->steps = flight->up = 0;
  flight->last_key.len = 0;
  kr_flight_go_to_parent(flight, kr_buf_view(&flight->parent_row), KR_AT, scan_down);
}

void kr_flight_start(struct kr_flight *flight)
{
  struct keyroute_bytes parent = flight->means->catalog->parent(kr_table_name(flight->table));

  if (parent.len == 0 || flight->is_root) {
    read_root(flight);
  } else {
    find_parent(flight, parent);
  }
}
