/*
 * A flight: one try at the catalog for one row.
 *
 *   the root's row      registry -> location
 *   any other           parent's region (cache, or a lookup of its own)
 *                       -> reversed scan of it -> check the rows -> store them -> location
 *
 * On a healthy catalog that is one request. More are made only where the answer needs them:
 *
 *   "below"    no row of the answer was live, or the server stopped early: on, below the last row
 *   "confirm"  no row at all: the table's first row, forward. Is there a hole, or no such table?
 *   "above"    the nearest region ends below the row: the next one, forward, for the hole's bound
 *   "again"    the answer was reported to be wrong since it was asked for: the same once more
 *   "state"    the region is offline or on no server: is its whole table disabled?
 *
 *  1. One thing is under way at any time: a root read, a lookup of the parent, or a scan.
 *  2. It never tries again: a failure ends it. If the failure speaks against the place where the
 *     parent was asked, that place is forgotten first, so that the next try finds out anew.
 *  3. All rows that were met are kept as locations of their own: replies are gone when their
 *     callback returns.
 *  4. The host may free the flight in `ended`; nothing here touches it afterwards.
 *
 * Source: HBase ConnectionImplementation.locateRegionInMeta, AsyncNonMetaRegionLocator
 */
#include "lib/flight.h"

#include "lib/bytes.h"
#include "lib/clock.h"

#include <stdio.h>

enum { KEY_TEXT = 120 };

/* Scans of rows at or below the key; more than two says that the catalog is full of dead rows. */
enum { SCANS_MAX = 4 };

/* Rows read forward to find the upper bound of a hole: daughters and parents may share a start. */
enum { ABOVE_ROWS = 3 };

/* How often silence may cast doubt on the place of the parent's region: who has little time hears
 * silence where others only wait. */
enum { DOUBT_US = 1000000 };

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
  if (flight->row == NULL) {
    kr_free(means->mem, flight);
    return NULL;
  }
  flight->table = kr_table_ref(table);
  return flight;
}

static void release_rows(struct kr_flight *flight)
{
  for (size_t i = 0; i < flight->row_count; i++) {
    keyroute_location_release(flight->rows[i].location);
  }
  kr_free(flight->means->mem, flight->rows);
  flight->rows = NULL;
  flight->row_count = 0;
  flight->unplaced = NULL;
}

static void release_parent(struct kr_flight *flight)
{
  if (flight->parent.table != NULL) {
    kr_table_release(flight->parent.table);
    flight->parent.table = NULL;
  }
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
  release_parent(flight);
  release_rows(flight);
  keyroute_location_release(flight->at);
  keyroute_location_release(flight->location);
  kr_table_release(flight->table);
  kr_buf_clear(&flight->parent_row);
  kr_buf_clear(&flight->last_key);
  kr_free(means->mem, flight->row);
  kr_free(means->mem, flight);
}

static struct kr_question question_of(const struct kr_flight *flight)
{
  return (struct kr_question){kr_table_name(flight->table), kr_bytes(flight->row, flight->row_len),
                              flight->position};
}

static int64_t remaining_ms(const struct kr_flight *flight)
{
  int64_t remaining = (flight->deadline_us - kr_clock_us()) / 1000;

  return remaining > 0 ? remaining : 1;
}

/* ---- Steps and ends ---- */

static void begin_step(struct kr_flight *flight, const char *name)
{
  flight->step_name = name;
  flight->step_began_us = kr_clock_us();
}

static void end_step(struct kr_flight *flight, const char *server, const char *detail)
{
  flight->host->step(flight, flight->step_name, flight->step_began_us, server, detail);
}

static void end_failed(struct kr_flight *flight, const struct kr_failure *failure)
{
  if (failure != &flight->failure) {
    flight->failure = *failure;
  }
  flight->host->ended(flight);
}

static void end_no_memory(struct kr_flight *flight)
{
  kr_fail(&flight->failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  flight->host->ended(flight);
}

/* Store one region; *kept is what to answer with, counted. False = out of memory. */
static bool store(struct kr_flight *flight, struct keyroute_location *location,
                  struct keyroute_location **kept)
{
  return kr_cache_store(flight->means->cache, flight->table, location, flight->sent, kept) == 0;
}

/* A region on no server, or on one that is not to be asked now, is not kept: a hit looks at neither
 * clock nor marks. Nor is what was read before somebody had the cache forget things. */
static bool worth_keeping(const struct kr_flight *flight, const struct keyroute_location *location)
{
  const struct kr_server *primary = kr_location_server(location, 0);

  return flight->epoch == kr_cache_epoch(flight->means->cache) && kr_location_placed(location) &&
         (primary == NULL || primary->failed_until_us <= kr_clock_us());
}

/* Was it reported to be wrong after it was asked for? */
static bool is_doubtful(const struct kr_flight *flight, const struct keyroute_location *location)
{
  const struct kr_reports *reports = flight->means->reports;

  return reports != NULL && kr_reports_doubt(reports, location, flight->sent);
}

/* The regions met beside the wanted one are worth keeping, if they are whole. */
static void store_others(struct kr_flight *flight, const struct keyroute_location *wanted)
{
  for (size_t i = 0; i < flight->row_count; i++) {
    const struct kr_catalog_row *row = &flight->rows[i];
    struct keyroute_location *kept;

    if (row->location != NULL && row->location != wanted && !row->offline && !row->split &&
        worth_keeping(flight, row->location) && !is_doubtful(flight, row->location) &&
        store(flight, row->location, &kept)) {
      keyroute_location_release(kept);
    }
  }
}

/* What the cache says about the flight's row is wrong. */
static void forget_row(struct kr_flight *flight)
{
  kr_cache_remove_row(flight->means->cache, flight->table, kr_bytes(flight->row, flight->row_len),
                      flight->position);
}

/* A newer region that was read meanwhile kept the one found here out of the cache. If it holds the
 * row it is the answer; else this read is too old to be one. */
static void give_way(struct kr_flight *flight)
{
  struct keyroute_location *found = flight->location;
  struct keyroute_location *newer;
  char name[KEY_TEXT + 64];

  kr_rcu_read_begin();
  newer = kr_table_find(flight->table, kr_bytes(flight->row, flight->row_len), flight->position);
  flight->location = newer != NULL ? keyroute_location_ref(newer) : NULL;
  kr_rcu_read_end();
  if (newer == NULL) {
    kr_fail(&flight->failure, KEYROUTE_E_OVERLAP,
            "region %s was read while a newer one that overlaps it was found",
            kr_bytes_print(name, sizeof(name), kr_location_name(found)));
  }
  keyroute_location_release(found);
}

/* Ask once more, now that it has been reported. */
static void read_again(struct kr_flight *flight)
{
  release_rows(flight);
  flight->last_key.len = 0;
  if (flight->at == NULL) {
    flight->scans++;
    read_root(flight);
  } else {
    flight->sent = kr_cache_tick(flight->means->cache);
    scan_down(flight);
  }
}

static void end_found(struct kr_flight *flight, struct keyroute_location *location)
{
  if (flight->scans < SCANS_MAX && is_doubtful(flight, location)) {
    read_again(flight);
    return;
  }
  if (!worth_keeping(flight, location)) {
    /* Whoever asked is told what it lacks. */
    forget_row(flight);
    flight->location = keyroute_location_ref(location);
  } else if (!store(flight, location, &flight->location)) {
    end_no_memory(flight);
    return;
  } else if (flight->location->stored == 0) {
    give_way(flight);
  }
  /* After the wanted one, so that none of them stands in its way. */
  store_others(flight, location);
  flight->host->ended(flight);
}

/* ---- What a failure says about servers (invariant 2) ---- */

static int64_t refuse_ms_of(const struct kr_flight *flight, const struct kr_server *server)
{
  return kr_server_refuse_ms(server, flight->means->failed_server_ms);
}

static void drop_server(struct kr_flight *flight, struct kr_server *server)
{
  const struct kr_means *means = flight->means;
  int64_t refuse_ms = refuse_ms_of(flight, server);
  char address[300];

  if (server->failed_until_us > kr_clock_us()) {
    return; /* another flight has just seen to it */
  }
  server->failed_until_us = kr_clock_us() + refuse_ms * 1000;
  kr_log_line(means->log, KEYROUTE_LOG_WARNING,
              "server %s, start code %lld, cannot be connected to: not asked for %lld ms",
              kr_server_print(address, sizeof(address), server->host, server->port),
              (long long)server->start_code, (long long)refuse_ms);
  kr_cache_new_epoch(means->cache);
  kr_server_drop(server);
  kr_sweeper_wake(means->sweeper);
}

/* Does a failure speak against the place where the parent was asked? */
static bool speaks_against(const struct kr_failure *failure, struct kr_server *server)
{
  int64_t now = kr_clock_us();

  if (failure->kind == KEYROUTE_KIND_KEEP || failure->code == KEYROUTE_E_NO_MEMORY) {
    return false;
  }
  if (failure->code == KEYROUTE_E_TIMEOUT && server != NULL) {
    if (server->doubted_us != 0 && now - server->doubted_us < DOUBT_US) {
      return false;
    }
    server->doubted_us = now;
  }
  return true;
}

/* The parent's region was not where it was asked, or nobody was there. */
static void forget_parent(struct kr_flight *flight, const struct kr_failure *failure)
{
  struct kr_server *server = kr_location_server(flight->at, 0);

  if (!speaks_against(failure, server)) {
    return;
  }
  kr_cache_remove(flight->means->cache, flight->parent.table, flight->at);
  if (failure->connecting && server != NULL) {
    drop_server(flight, server);
  }
}

/* ---- The root ---- */

/* News of the root that name a server again speak for it: what failed before is over. */
static void trust_root(struct kr_flight *flight, const struct keyroute_location *location)
{
  struct kr_server *server = kr_location_server(location, 0);
  int64_t changed_us = flight->means->root_changed_us;

  if (server != NULL &&
      server->failed_until_us - 1000 * refuse_ms_of(flight, server) < changed_us) {
    server->failed_until_us = 0;
  }
}

static void on_root(void *arg, const struct kr_root *root)
{
  struct kr_flight *flight = arg;
  const struct kr_means *means = flight->means;

  flight->read = NULL;
  if (root->failure.code != 0) {
    end_step(flight, root->failure.server, root->failure.message);
    end_failed(flight, &root->failure);
    return;
  }
  struct keyroute_location *location =
      means->catalog->parse_root(&flight->failure, means->mem, means->servers, root);

  if (location == NULL) {
    end_step(flight, NULL, flight->failure.message);
    end_failed(flight, &flight->failure);
    return;
  }
  end_step(flight, NULL, root->place);
  trust_root(flight, location);
  end_found(flight, location);
  keyroute_location_release(location);
}

static void read_root(struct kr_flight *flight)
{
  const struct kr_means *means = flight->means;

  begin_step(flight, "registry");
  kr_stats_add(means->stats, KR_COUNT_REGISTRY_READS, 1);
  flight->sent = kr_cache_tick(means->cache);
  flight->read =
      means->registry->ops->read_root(means->registry, remaining_ms(flight), on_root, flight);
  if (flight->read == NULL) {
    end_no_memory(flight);
  }
}

/* ---- Scanning the parent ---- */

static void on_scan_failed(struct kr_flight *flight, const struct kr_failure *failure)
{
  kr_stats_add(flight->means->stats, KR_COUNT_SCANS_FAILED, 1);
  end_step(flight, failure->server, failure->message);
  forget_parent(flight, failure);
  end_failed(flight, failure);
}

static void send_scan(struct kr_flight *flight, const char *name, struct kr_scan *scan,
                      kr_scan_cb cb)
{
  const struct kr_means *means = flight->means;
  struct kr_server *server = kr_location_server(flight->at, 0);

  begin_step(flight, name);
  scan->region = kr_location_name(flight->at);
  if (scan->family == NULL) {
    scan->family = means->catalog->family;
  }
  kr_stats_add(means->stats, KR_COUNT_SCANS, 1);
  flight->host->sent(flight);
  flight->request = means->transport->ops->scan(means->transport, server->host, server->port, scan,
                                                remaining_ms(flight), cb, flight);
  if (flight->request == NULL) {
    end_no_memory(flight);
  }
}

/* A reply's step for the trace: how many rows, from where. */
static void end_scan_step(struct kr_flight *flight, const struct kr_rows *rows)
{
  char text[KEY_TEXT + 64], key[KEY_TEXT], address[300];
  struct kr_server *server = kr_location_server(flight->at, 0);

  if (rows->count > 0) {
    snprintf(text, sizeof(text), "%zu %s from %s", rows->count, rows->count == 1 ? "row" : "rows",
             kr_bytes_print(key, sizeof(key), rows->rows[0].key));
  } else {
    snprintf(text, sizeof(text), "no row");
  }
  end_step(flight, kr_server_print(address, sizeof(address), server->host, server->port), text);
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

/* What every scan's callback begins with. False = the flight has ended. */
static bool received(struct kr_flight *flight, const struct kr_failure *failure,
                     const struct kr_rows *rows)
{
  flight->request = NULL;
  if (failure->code != 0) {
    on_scan_failed(flight, failure);
    return false;
  }
  end_scan_step(flight, rows);
  if (!take_rows(flight, rows)) {
    end_no_memory(flight);
    return false;
  }
  return true;
}

/* ---- Forward reads, where the answer is "nothing here" ---- */

/* The first region of a reply that can be believed and is not a split parent. */
static struct keyroute_location *first_region(const struct kr_flight *flight, size_t from)
{
  for (size_t i = from; i < flight->row_count; i++) {
    if (flight->rows[i].location != NULL && !flight->rows[i].split) {
      return flight->rows[i].location;
    }
  }
  return NULL;
}

static void end_hole(struct kr_flight *flight, struct keyroute_bytes start,
                     const struct keyroute_location *next)
{
  struct kr_question question = question_of(flight);

  forget_row(flight);
  kr_check_hole(&flight->failure, &question, start, next);
  flight->host->ended(flight);
}

static void confirm(struct kr_flight *flight);

/* The server stopped before it met a row: that says nothing about the table. */
static void confirm_again(struct kr_flight *flight)
{
  char table[KEY_TEXT];

  if (flight->scans++ < 2 * SCANS_MAX) {
    confirm(flight);
    return;
  }
  kr_fail(&flight->failure, KEYROUTE_E_TIMEOUT,
          "the catalog's server stopped before it met a row of table %s",
          kr_bytes_print(table, sizeof(table), kr_table_name(flight->table)));
  flight->host->ended(flight);
}

static void on_confirmed(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;
  struct kr_question question = question_of(flight);

  if (!received(flight, failure, rows)) {
    return;
  }
  struct keyroute_location *first = first_region(flight, 0);

  if (rows->count == 0 && rows->more) {
    confirm_again(flight);
  } else if (rows->count == 0) {
    kr_cache_clear_table(flight->means->cache, flight->table);
    kr_check_no_table(&flight->failure, &question);
    flight->host->ended(flight);
  } else if (first != NULL && !flight->rows[0].offline &&
             kr_location_covers(first, question.row, question.position)) {
    end_found(flight, first); /* it has just been made */
  } else if (flight->rows[0].location == NULL) {
    end_failed(flight, &flight->rows[0].failure);
  } else {
    end_hole(flight, kr_bytes(NULL, 0), first);
  }
}

static void on_above(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;
  size_t below = flight->row_count;
  struct kr_question question = question_of(flight);
  struct kr_checked checked;

  if (!received(flight, failure, rows)) {
    return;
  }
  kr_check_rows(&checked, &question, flight->rows, below, true);
  end_hole(flight, checked.hole_start, first_region(flight, below));
}

/* Read forward from a key of the table, `rows` rows at most. */
static void scan_up(struct kr_flight *flight, const char *name, struct kr_buf *start,
                    bool include_start, uint32_t rows, kr_scan_cb cb)
{
  struct kr_buf stop;

  kr_buf_init(&stop, flight->means->mem);
  flight->means->catalog->high_key(&stop, kr_table_name(flight->table));
  if (start->failed || stop.failed) {
    end_no_memory(flight);
  } else {
    struct kr_scan scan = {
        .start_row = kr_buf_view(start),
        .stop_row = kr_buf_view(&stop),
        .include_start = include_start,
        .limit = rows,
    };

    send_scan(flight, name, &scan, cb);
  }
  kr_buf_clear(&stop);
}

static void confirm(struct kr_flight *flight)
{
  struct kr_buf low;

  kr_buf_init(&low, flight->means->mem);
  flight->means->catalog->low_key(&low, kr_table_name(flight->table));
  scan_up(flight, "confirm", &low, true, 1, on_confirmed);
  kr_buf_clear(&low);
}

/* ---- The table's state, where it may be the reason ---- */

/* The answer as it stands without the table's state: a region on no server, or the failure. */
static void end_as_judged(struct kr_flight *flight)
{
  if (flight->unplaced != NULL) {
    end_found(flight, flight->unplaced);
  } else {
    flight->host->ended(flight);
  }
}

/* A read that fails changes nothing: there was an answer before it, and what keeps the parent from
 * being read is met by the next try. (HBase before 2.0 has no such family.) */
static void on_state(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;
  const struct kr_means *means = flight->means;
  struct kr_question question = question_of(flight);
  const char *state = NULL;

  flight->request = NULL;
  if (failure->code != 0) {
    kr_stats_add(means->stats, KR_COUNT_SCANS_FAILED, 1);
    end_step(flight, failure->server, failure->message);
  } else {
    end_scan_step(flight, rows);
  }
  if (rows->count > 0) {
    state = means->catalog->parse_state(means->mem, question.table, &rows->rows[0]);
  }
  if (state == NULL) {
    end_as_judged(flight);
    return;
  }
  forget_row(flight);
  kr_check_table_state(&flight->failure, &question, state);
  flight->host->ended(flight);
}

/* The region is offline or on no server: see whether its table says why. */
static void read_state(struct kr_flight *flight)
{
  const struct kr_catalog *catalog = flight->means->catalog;
  struct kr_buf key;

  if (catalog->state_family == NULL) {
    end_as_judged(flight);
    return;
  }
  kr_buf_init(&key, flight->means->mem);
  catalog->state_key(&key, kr_table_name(flight->table));
  if (key.failed) {
    end_no_memory(flight);
  } else {
    struct kr_scan scan = {
        .family = catalog->state_family,
        .start_row = kr_buf_view(&key),
        .stop_row = kr_buf_view(&key),
        .include_start = true,
        .include_stop = true,
        .limit = 1,
    };

    send_scan(flight, "state", &scan, on_state);
  }
  kr_buf_clear(&key);
}

/* ---- The scan itself ---- */

static void decide_found(struct kr_flight *flight, struct keyroute_location *location)
{
  if (kr_location_placed(location)) {
    end_found(flight, location);
  } else {
    flight->unplaced = location;
    read_state(flight);
  }
}

static void decide_failed(struct kr_flight *flight, const struct kr_failure *failure)
{
  forget_row(flight);
  flight->failure = *failure;
  if (failure->code == KEYROUTE_E_OFFLINE) {
    read_state(flight);
  } else {
    flight->host->ended(flight);
  }
}

/* The rows are judged. */
static void decide(struct kr_flight *flight, bool complete)
{
  struct kr_question question = question_of(flight);
  struct kr_checked checked;

  kr_check_rows(&checked, &question, flight->rows, flight->row_count, complete);
  switch (checked.verdict) {
  case KR_VERDICT_FOUND:
    decide_found(flight, checked.location);
    break;
  case KR_VERDICT_EMPTY:
    confirm(flight);
    break;
  case KR_VERDICT_BELOW:
    scan_down(flight);
    break;
  case KR_VERDICT_BEHIND:
    store_others(flight, NULL);
    scan_up(flight, "above", &flight->parent_row, false, ABOVE_ROWS, on_above);
    break;
  case KR_VERDICT_FAILED:
    decide_failed(flight, &checked.failure);
    break;
  }
}

static void on_rows(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;

  if (!received(flight, failure, rows)) {
    return;
  }
  bool last = flight->scans >= SCANS_MAX;

  if (rows->more && flight->row_count == 0 && !last) {
    scan_down(flight); /* the server stopped before it met a row */
    return;
  }
  decide(flight, last || (!rows->more && rows->count < flight->limit));
}

/* Scan down from the search key, or from below the last row met. */
static void scan_down(struct kr_flight *flight)
{
  struct kr_buf stop;
  bool first = flight->last_key.len == 0;

  kr_buf_init(&stop, flight->means->mem);
  flight->means->catalog->low_key(&stop, kr_table_name(flight->table));
  flight->scans++;
  if (stop.failed) {
    end_no_memory(flight);
  } else {
    struct kr_scan scan = {
        .start_row = kr_buf_view(first ? &flight->parent_row : &flight->last_key),
        .stop_row = kr_buf_view(&stop),
        .include_start = first,
        .include_stop = true,
        .reversed = true,
        .limit = flight->limit,
    };

    send_scan(flight, flight->scans == 1 ? "scan" : first ? "again" : "below", &scan, on_rows);
  }
  kr_buf_clear(&stop);
}

/* ---- The parent's region ---- */

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
    end_failed(flight, &parent->failure);
    return;
  }
  flight->at = parent->location;
  parent->location = NULL;
  flight->sent = kr_cache_tick(flight->means->cache);
  scan_down(flight);
}

/* Look for the region of the parent that has parent_row. */
static void locate_parent(struct kr_flight *flight)
{
  flight->parent = (struct kr_lookup){
      .table = flight->parent.table,
      .row = kr_buf_view(&flight->parent_row),
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
    end_no_memory(flight);
  } else {
    kr_table_pin(flight->parent.table);
    locate_parent(flight);
  }
}

void kr_flight_reroute(struct kr_flight *flight, const struct kr_server *root)
{
  const struct kr_means *means = flight->means;
  char address[300], text[400];

  if (flight->request == NULL ||
      !kr_bytes_equal(kr_table_name(flight->parent.table), keyroute_string(means->catalog->root))) {
    return;
  }
  const struct kr_server *server = kr_location_server(flight->at, 0);

  if (kr_server_same(server, root) || flight->reroutes++ >= REROUTES_MAX) {
    return;
  }
  means->transport->ops->cancel(means->transport, flight->request);
  flight->request = NULL;
  snprintf(text, sizeof(text), "given up: %s is elsewhere", means->catalog->root);
  end_step(flight, kr_server_print(address, sizeof(address), server->host, server->port), text);
  release_rows(flight);
  flight->failure.code = 0;
  flight->scans = 0;
  flight->last_key.len = 0;
  keyroute_location_release(flight->at);
  flight->at = NULL;
  locate_parent(flight);
}

void kr_flight_start(struct kr_flight *flight)
{
  struct keyroute_bytes parent = flight->means->catalog->parent(kr_table_name(flight->table));

  if (parent.len == 0) {
    read_root(flight);
  } else {
    find_parent(flight, parent);
  }
}
