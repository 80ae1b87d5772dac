/*
 * Why a row has no region that could be asked: some more reads, where the scan alone cannot tell.
 *
 *   "confirm"  no row at all: the table's first row, forward. Is there a hole, or no such table?
 *   "above"    the nearest region ends below the row: the next one, forward, for the hole's bound;
 *              and in the parent's next region, where the hole goes on to its end
 *   "state"    the region is offline or on no server: is its whole table disabled?
 *
 *  1. That a table does not exist is said only when the whole of its rows was looked for, in all of
 *     the parent's regions: a server that stopped before it met a row is asked again, and then the
 *     read has failed.
 *  2. How many of the parent's regions are read for the end of a hole is bounded. Where that is
 *     not enough it is told that there is a hole, and that its end was not looked for.
 *  3. What is learnt corrects the cache: a hole's row and an absent table are forgotten there.
 *  4. A state that cannot be read changes nothing about the answer that stood before.
 */
#include "lib/explain.h"

#include "lib/bytes.h"
#include "lib/findings.h"
#include "lib/parent_scan.h"

/* Rows read forward to find the upper bound of a hole: daughters and parents may share a start. */
enum { ABOVE_ROWS = 3 };

/* Regions of the parent that are read for it, besides the first. */
enum { ABOVE_REGIONS = 16 };

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
                     const struct keyroute_location *next, bool known)
{
  struct kr_question question = kr_flight_question(flight);

  kr_findings_forget_row(flight);
  kr_check_hole(&flight->failure, &question, start, next, known);
  flight->host->ended(flight);
}

static void end_no_table(struct kr_flight *flight)
{
  struct kr_question question = kr_flight_question(flight);

  kr_cache_clear_table(flight->means->cache, flight->table);
  kr_check_no_table(&flight->failure, &question);
  flight->host->ended(flight);
}

/* Read forward from a key of the table, `rows` rows at most. */
static void scan_up(struct kr_flight *flight, const char *name, struct kr_buf *start,
                    bool include_start, uint32_t rows, kr_scan_cb cb)
{
  struct kr_buf stop;

  kr_buf_init(&stop, flight->means->mem);
  flight->means->catalog->high_key(&stop, kr_table_name(flight->table));
  if (start->failed || stop.failed) {
    kr_flight_end_no_memory(flight);
  } else {
    struct kr_scan scan = {
        .start_row = kr_buf_view(start),
        .stop_row = kr_buf_view(&stop),
        .include_start = include_start,
        .limit = rows,
    };

    kr_parent_scan_send(flight, name, &scan, cb);
  }
  kr_buf_clear(&stop);
}

/* The server stopped before it met a row: that says nothing about the table. */
static void confirm_again(struct kr_flight *flight)
{
  char table[KR_FLIGHT_KEY_TEXT];

  if (flight->scans++ < 2 * KR_FLIGHT_SCANS_MAX + flight->steps) {
    kr_explain_no_rows(flight);
    return;
  }
  kr_fail(&flight->failure, KEYROUTE_E_TIMEOUT,
          "the catalog's server stopped before it met a row of table %s",
          kr_bytes_print(table, sizeof(table), kr_table_name(flight->table)));
  flight->host->ended(flight);
}

/* Has the parent rows of the table above the region of it that was read? */
static bool goes_on_above(const struct kr_flight *flight)
{
  struct kr_buf high;

  if (keyroute_location_end_key(flight->at).len == 0) {
    return false;
  }
  kr_buf_init(&high, flight->means->mem);
  flight->means->catalog->high_key(&high, kr_table_name(flight->table));
  bool above = high.len == 0 || flight->means->catalog->compare_keys(
                                    keyroute_location_end_key(flight->at), kr_buf_view(&high)) < 0;

  kr_buf_clear(&high);
  return above;
}

/* ---- Where a hole ends ---- */

static void on_above(void *arg, const struct kr_failure *failure, const struct kr_rows *rows);

/* The rows met below the hole are the first ones, as many as told. */
static void end_gap(struct kr_flight *flight, size_t below, bool known)
{
  struct kr_question question = kr_flight_question(flight);
  struct kr_checked checked;

  kr_check_rows(&checked, &question, flight->rows, below, true);
  end_hole(flight, checked.hole_start, first_region(flight, below), known);
}

static void read_above(struct kr_flight *flight)
{
  scan_up(flight, "above", &flight->parent_row, false, ABOVE_ROWS, on_above);
}

static void read_from_border(struct kr_flight *flight)
{
  scan_up(flight, "above", &flight->last_key, true, ABOVE_ROWS, on_above);
}

/* The parent's region has no more rows of the table: go on in the next one, if there is one. */
static void step_up(struct kr_flight *flight)
{
  if (!goes_on_above(flight)) {
    if (flight->row_count == 0) {
      end_no_table(flight);
    } else {
      end_gap(flight, flight->row_count, true);
    }
  } else if (flight->up++ >= ABOVE_REGIONS) {
    end_gap(flight, flight->row_count, false);
  } else {
    flight->last_key.len = 0;
    kr_buf_bytes(&flight->last_key, keyroute_location_end_key(flight->at));
    if (flight->last_key.failed) {
      kr_flight_end_no_memory(flight);
    } else {
      kr_flight_go_to_parent(flight, kr_buf_view(&flight->last_key), KR_AT, read_from_border);
    }
  }
}

static void on_above(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;
  size_t below = flight->row_count;

  if (!kr_parent_scan_received(flight, failure, rows)) {
    return;
  }
  if (first_region(flight, below) != NULL) {
    end_gap(flight, below, true);
  } else if (rows->more || rows->count == ABOVE_ROWS) {
    end_gap(flight, below, false);
  } else {
    step_up(flight);
  }
}

void kr_explain_gap(struct kr_flight *flight)
{
  if (kr_location_covers(flight->at, kr_buf_view(&flight->parent_row), KR_AT)) {
    read_above(flight);
  } else { /* it had stepped down */
    kr_flight_go_to_parent(flight, kr_buf_view(&flight->parent_row), KR_AT, read_above);
  }
}

/* ---- No row at all ---- */

static void on_confirmed(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_flight *flight = arg;
  struct kr_question question = kr_flight_question(flight);

  if (!kr_parent_scan_received(flight, failure, rows)) {
    return;
  }
  struct keyroute_location *first = first_region(flight, 0);

  if (rows->count == 0 && rows->more) {
    confirm_again(flight);
  } else if (rows->count == 0) {
    step_up(flight);
  } else if (first != NULL && !flight->rows[0].offline &&
             kr_location_covers(first, question.row, question.position)) {
    kr_flight_end_found(flight, first); /* it has just been made */
  } else if (flight->rows[0].location == NULL) {
    kr_flight_end_failed(flight, &flight->rows[0].failure);
  } else {
    end_hole(flight, kr_bytes(NULL, 0), first, first != NULL);
  }
}

void kr_explain_no_rows(struct kr_flight *flight)
{
  struct kr_buf low;

  kr_buf_init(&low, flight->means->mem);
  flight->means->catalog->low_key(&low, kr_table_name(flight->table));
  scan_up(flight, "confirm", &low, true, 1, on_confirmed);
  kr_buf_clear(&low);
}

/* ---- Offline, or on no server ---- */

/* The answer as it stands without the table's state: a region on no server, or the failure. */
static void end_as_judged(struct kr_flight *flight)
{
  if (flight->unplaced != NULL) {
    kr_flight_end_found(flight, flight->unplaced);
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
  struct kr_question question = kr_flight_question(flight);
  const char *state = NULL;

  if (kr_parent_scan_answered(flight, failure, rows) && rows->count > 0) {
    state = means->catalog->parse_state(means->mem, question.table, &rows->rows[0]);
  }
  if (state == NULL) {
    end_as_judged(flight);
    return;
  }
  kr_findings_forget_row(flight);
  kr_check_table_state(&flight->failure, &question, state);
  flight->reach.len = 0; /* it is that of all its rows */
  flight->host->ended(flight);
}

void kr_explain_absence(struct kr_flight *flight)
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
    kr_flight_end_no_memory(flight);
  } else {
    struct kr_scan scan = {
        .family = catalog->state_family,
        .start_row = kr_buf_view(&key),
        .stop_row = kr_buf_view(&key),
        .include_start = true,
        .include_stop = true,
        .limit = 1,
    };

    kr_parent_scan_send(flight, "state", &scan, on_state);
  }
  kr_buf_clear(&key);
}
