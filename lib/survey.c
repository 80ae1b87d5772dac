/*
 * A survey: reading the catalog's rows for a listing, from where it has to begin to its end.
 *
 * The rows of a table stand in its parent by start key. The region that holds the span's first row
 * begins below it, nobody knows where: so first a region that begins below the span is looked for,
 * its *anchor*, then everything from there on is read upwards.
 *
 *   "anchor"   down from the span's start: unless that is the table's, or the cache knows a region
 *              that begins below it and reaches it, as it does for who goes on page after page
 *   "scan"     up from the anchor: one request, and more where the answer does not reach
 *   "confirm"  where there was no row: the table's first one. Is there a hole, or no such table?
 *
 *  1. Each request is a hop to the parent's region, with its retries; one is under way at a time,
 *     and it is in no limit of scans: lookups need not wait for it.
 *  2. What came of it is noted by survey_take.c, what to do next is decided here, when the hop is
 *     done.
 *  3. One answer is of one moment, several are not: a region that is split or merged in between
 *     would look like a hole or an overlap. So an anchor must be met again by reading up from it,
 *     and a further request begins with the last row of the one before. If it is not as it was, all
 *     is read again, a few times.
 *  4. A table's end is believed if a region reaches it or an answer had no row. (Servers before 1.1
 *     do not say that they have sent less than there is.)
 *  5. That a table does not exist is said only when the whole of its rows was looked for.
 *
 * Threads: the loop.  Source: HBase ClientMetaTableAccessor, AsyncNonMetaRegionLocator
 */
#include "lib/survey.h"

#include "lib/bytes.h"
#include "lib/check.h"
#include "lib/clock.h"
#include "lib/survey_take.h"

enum {
  ROWS_MAX = 1024, /* of one request: some ms of the loop's time */
  ROWS_MORE = 128, /* at least, once the first answer was not enough */
  ROWS_ASIDE = 3,  /* besides the regions wanted: the anchor, and what ends the listing */
  ANCHOR_ROWS = 4, /* split parents may stand above it, or regions that do not reach the span */
  FRAME_PARTS = 4  /* an answer may fill one of so many parts of the longest frame */
};

static const char *const step_names[] = {
    [KR_SURVEY_ANCHOR] = "anchor", [KR_SURVEY_ROWS] = "scan", [KR_SURVEY_ANY] = "confirm"};

static struct keyroute_connection *conn_of(const struct kr_survey *survey)
{
  return survey->call->conn;
}

/* ---- Ends ----------------------------------------------------------------------------------- */

/* To whoever lists regions, a catalog on a dead server cannot be reached. */
static void reword(struct kr_failure *failure)
{
  if (failure->code == KEYROUTE_E_DEAD_SERVER) {
    failure->code = KEYROUTE_E_UNREACHABLE;
    failure->kind = keyroute_error_kind(KEYROUTE_E_UNREACHABLE);
  }
}

static void end_with(struct kr_survey *survey, const struct kr_failure *failure)
{
  survey->failure = *failure;
  reword(&survey->failure);
  if (survey->sent > 0) {
    survey->call->detail.attempts = 1 + survey->retries;
  }
  survey->done(survey);
}

static void end(struct kr_survey *survey, enum keyroute_source source)
{
  struct kr_failure none = {.code = 0};

  survey->call->detail.source = source;
  end_with(survey, &none);
}

static void end_no_memory(struct kr_survey *survey)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  end_with(survey, &failure);
}

static void end_no_table(struct kr_survey *survey)
{
  struct kr_question question = {.table = kr_table_name(survey->table)};
  struct kr_failure failure;

  kr_cache_clear_table(conn_of(survey)->cache, survey->table);
  kr_check_no_table(&failure, &question);
  end_with(survey, &failure);
}

static void end_late(struct kr_survey *survey)
{
  char table[KR_SURVEY_TABLE_TEXT];
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "table %s: its regions could not all be read in time",
          kr_bytes_print(table, sizeof(table), kr_table_name(survey->table)));
  survey->call->detail.deadline = true;
  end_with(survey, &failure);
}

/* ---- Requests ------------------------------------------------------------------------------- */

static void hop_done(struct kr_hop *hop);
static void begin(struct kr_survey *survey);

static struct kr_request *send(struct kr_hop *hop, const char *host, int port, int64_t timeout_ms)
{
  struct kr_survey *survey = hop->owner;
  struct keyroute_connection *conn = conn_of(survey);
  struct kr_request *request = NULL;
  bool reversed = survey->phase == KR_SURVEY_ANCHOR;
  struct kr_buf region;

  kr_buf_init(&region, conn->mem);
  struct kr_scan scan = {
      .region = kr_location_replica_name(hop->location, 0, &region),
      .start_row = kr_buf_view(&survey->from),
      .stop_row = kr_buf_view(&survey->to),
      .include_start = !reversed || survey->resumes, /* an anchor begins below the span */
      .include_stop = reversed,
      .reversed = reversed,
      .limit = survey->asked,
      .max_len = conn->settings->max_frame_len / FRAME_PARTS,
      .family = conn->catalog->family,
  };

  survey->epoch = kr_cache_epoch(conn->cache);
  survey->sent = kr_cache_tick(conn->cache);
  if (!region.failed) {
    request = conn->transport->ops->scan(conn->transport, host, port, &scan, timeout_ms,
                                         kr_survey_received, survey);
  }
  kr_buf_clear(&region);
  return request;
}

static const struct kr_hop_ops hop_ops = {.send = send, .done = hop_done, .scans = true};

static uint32_t choose_limit(const struct kr_survey *survey)
{
  const struct kr_listing *listing = &survey->listing;
  size_t limit = survey->question.limit;
  size_t wanted = ROWS_ASIDE + (limit > listing->entries ? limit - listing->entries : 0);

  if (survey->phase != KR_SURVEY_ROWS) {
    return survey->phase == KR_SURVEY_ANY ? 1 : ANCHOR_ROWS;
  }
  if (listing->entries > 0 && wanted < ROWS_MORE) {
    wanted = ROWS_MORE;
  }
  return wanted < ROWS_MAX ? (uint32_t)wanted : ROWS_MAX;
}

/* Read on, between `from` and `to`. */
static void request(struct kr_survey *survey)
{
  if (survey->from.failed || survey->to.failed) {
    end_no_memory(survey);
    return;
  }
  if (kr_clock_us() >= survey->call->deadline_us) {
    end_late(survey);
    return;
  }
  survey->asked = choose_limit(survey);
  survey->hop = (struct kr_hop){
      .ops = &hop_ops,
      .owner = survey,
      .call = survey->call,
      .table = survey->parent,
      .row = kr_buf_view(&survey->from),
      .position = survey->from_side,
      .step = step_names[survey->phase],
  };
  kr_hop_start(&survey->hop);
}

static void begin_phase(struct kr_survey *survey, enum kr_survey_phase phase)
{
  survey->phase = phase;
  survey->from.len = survey->to.len = 0;
  survey->from_side = KR_AT;
  survey->resumes = false;
  survey->silent = 0;
}

/* The first row of regions that start at a key, or above it. */
static void put_first_key(const struct kr_survey *survey, struct kr_buf *buf,
                          struct keyroute_bytes start)
{
  const struct kr_catalog *catalog = conn_of(survey)->catalog;

  if (start.len > 0) {
    catalog->search_key(buf, kr_table_name(survey->table), start, KR_BEFORE);
  } else {
    catalog->low_key(buf, kr_table_name(survey->table));
  }
}

static void read_anchor(struct kr_survey *survey)
{
  survey->anchor_known = survey->anchor_reaches = false;
  survey->anchor.len = 0;
  begin_phase(survey, KR_SURVEY_ANCHOR);
  put_first_key(survey, &survey->from, survey->question.start);
  conn_of(survey)->catalog->low_key(&survey->to, kr_table_name(survey->table));
  request(survey);
}

static void read_rows(struct kr_survey *survey)
{
  struct keyroute_bytes end = survey->question.end;

  begin_phase(survey, KR_SURVEY_ROWS);
  kr_listing_clear(&survey->listing);
  kr_listing_init(&survey->listing, conn_of(survey)->mem, &survey->question);
  put_first_key(survey, &survey->from, kr_buf_view(&survey->anchor));
  if (end.len > 0) {
    put_first_key(survey, &survey->to, end);
  } else {
    conn_of(survey)->catalog->high_key(&survey->to, kr_table_name(survey->table));
  }
  request(survey);
}

static void read_any(struct kr_survey *survey)
{
  const struct kr_catalog *catalog = conn_of(survey)->catalog;

  begin_phase(survey, KR_SURVEY_ANY);
  catalog->low_key(&survey->from, kr_table_name(survey->table));
  catalog->high_key(&survey->to, kr_table_name(survey->table));
  request(survey);
}

/* Read the parent's next region, in the direction of reading, if that goes on there. False = the
 * one that was read, at `at`, is the last. */
static bool read_next_region(struct kr_survey *survey, const struct keyroute_location *at)
{
  const struct kr_catalog *catalog = conn_of(survey)->catalog;
  bool down = survey->phase == KR_SURVEY_ANCHOR;
  struct keyroute_bytes border =
      down ? keyroute_location_start_key(at) : keyroute_location_end_key(at);
  int order = catalog->compare_keys(border, kr_buf_view(&survey->to));

  if (border.len == 0 || (down ? order <= 0 : order >= 0)) {
    return false;
  }
  kr_survey_set_key(&survey->from, border);
  survey->from_side = down ? KR_BEFORE : KR_AT;
  survey->resumes = false;
  request(survey);
  return true;
}

/* ---- Where to go from here ------------------------------------------------------------------ */

static void after_anchor(struct kr_survey *survey, const struct keyroute_location *at)
{
  if (survey->anchor_known) {
    read_rows(survey);
  } else if (survey->cut_short) {
    request(survey);
  } else if (!read_next_region(survey, at)) {
    read_rows(survey); /* no region starts below the span */
  }
}

/* Has the span been reached without a region that starts below it, though there was one? */
static bool lost_anchor(const struct kr_survey *survey)
{
  return kr_survey_may_restart(survey) && survey->anchor_known && !survey->listing.anchored &&
         (survey->listing.count > 0 || !survey->cut_short);
}

/* All rows of the span were read, or as many as the listing takes. */
static void conclude(struct kr_survey *survey)
{
  if (kr_listing_end(&survey->listing) != 0) {
    end_no_memory(survey);
  } else if (survey->met) {
    end(survey, KEYROUTE_SOURCE_CATALOG);
  } else if (survey->question.end.len == 0) {
    end_no_table(survey); /* nothing was met below the span either */
  } else {
    read_any(survey);
  }
}

static void after_rows(struct kr_survey *survey, const struct keyroute_location *at)
{
  bool is_doubtful = survey->received > 0 && kr_listing_is_open(&survey->listing);

  if (survey->is_torn || lost_anchor(survey)) {
    survey->restarts++;
    begin(survey);
  } else if (!survey->listing.complete && (survey->cut_short || is_doubtful)) {
    request(survey);
  } else if (survey->listing.complete || !read_next_region(survey, at)) {
    conclude(survey);
  }
}

static void after_any(struct kr_survey *survey, const struct keyroute_location *at)
{
  if (survey->met) {
    end(survey, KEYROUTE_SOURCE_CATALOG);
  } else if (survey->cut_short) {
    request(survey);
  } else if (!read_next_region(survey, at)) {
    end_no_table(survey);
  }
}

static void go_on(struct kr_survey *survey, const struct keyroute_location *at)
{
  switch (survey->phase) {
  case KR_SURVEY_ANCHOR:
    after_anchor(survey, at);
    break;
  case KR_SURVEY_ROWS:
    after_rows(survey, at);
    break;
  case KR_SURVEY_ANY:
    after_any(survey, at);
    break;
  }
}

static void hop_done(struct kr_hop *hop)
{
  struct kr_survey *survey = hop->owner;
  struct keyroute_location *at = hop->location;

  hop->location = NULL;
  survey->retries += hop->tries > 1 ? hop->tries - 1 : 0;
  if (hop->failure.code != 0) {
    end_with(survey, &hop->failure);
  } else if (survey->short_of_memory) {
    end_no_memory(survey);
  } else {
    go_on(survey, at);
  }
  keyroute_location_release(at);
}

/* ---- A table that has no parent ------------------------------------------------------------- */

static void root_found(struct kr_lookup *lookup)
{
  struct kr_survey *survey = lookup->arg;
  struct keyroute_detail *detail = &survey->call->detail;
  struct kr_catalog_row row = {.location = lookup->location};

  detail->deadline = lookup->deadline;
  detail->attempts = lookup->attempts;
  detail->rpcs = lookup->rpcs;
  if (lookup->location == NULL) {
    end_with(survey, &lookup->failure);
  } else if (kr_listing_add(&survey->listing, &row) != 0 || kr_listing_end(&survey->listing) != 0) {
    end_no_memory(survey);
  } else {
    end(survey, lookup->source);
  }
}

static void look_up(struct kr_survey *survey, struct keyroute_table *table,
                    void (*done)(struct kr_lookup *lookup))
{
  survey->lookup = (struct kr_lookup){
      .table = table,
      .refresh = true,
      .began_us = survey->call->began_us,
      .deadline_us = survey->call->deadline_us,
      .trace = survey->call->trace,
      .done = done,
      .arg = survey,
  };
  kr_locator_start(conn_of(survey)->locator, &survey->lookup);
}

/* The registry says where its only region is. */
static void find_root(struct kr_survey *survey)
{
  look_up(survey, survey->table, root_found);
}

/* ---- A catalog that is not known yet -------------------------------------------------------- */

static void start(struct kr_survey *survey);

static void settled(struct kr_lookup *lookup)
{
  struct kr_survey *survey = lookup->arg;
  struct keyroute_detail *detail = &survey->call->detail;

  kr_table_release(lookup->table);
  if (lookup->location == NULL) {
    detail->deadline = lookup->deadline;
    detail->attempts = lookup->attempts;
    detail->rpcs = lookup->rpcs;
    end_with(survey, &lookup->failure);
    return;
  }
  keyroute_location_release(lookup->location);
  lookup->location = NULL;
  start(survey);
}

/* Have the root found, which settles it. */
static void settle(struct kr_survey *survey)
{
  const struct keyroute_connection *conn = conn_of(survey);
  struct keyroute_table *root = kr_cache_table(conn->cache, keyroute_string(conn->catalog->root));

  if (root == NULL) {
    end_no_memory(survey);
  } else {
    look_up(survey, root, settled);
  }
}

/* ---- From outside --------------------------------------------------------------------------- */

/* A region of the cache that begins below the span and reaches it. */
static void guess_anchor(struct kr_survey *survey)
{
  const struct keyroute_location *known;

  kr_rcu_read_begin();
  known = kr_table_find(survey->table, survey->question.start, KR_BEFORE);
  if (known != NULL) {
    kr_survey_set_key(&survey->anchor, keyroute_location_start_key(known));
    survey->anchor_known = true;
  }
  kr_rcu_read_end();
}

static void begin(struct kr_survey *survey)
{
  bool from_first = survey->question.start.len == 0;

  survey->met = false;
  if (!from_first && survey->restarts == 0) {
    guess_anchor(survey);
  }
  if (from_first || (survey->restarts == 0 && survey->anchor_known)) {
    read_rows(survey);
  } else {
    read_anchor(survey);
  }
}

static void find_parent(struct kr_survey *survey, struct keyroute_bytes name)
{
  survey->parent = kr_cache_table(conn_of(survey)->cache, name);
  if (survey->parent == NULL) {
    end_no_memory(survey);
  } else {
    kr_table_pin(survey->parent);
    begin(survey);
  }
}

static void start(struct kr_survey *survey)
{
  struct keyroute_bytes parent = conn_of(survey)->catalog->parent(kr_table_name(survey->table));

  if (parent.len == 0) {
    find_root(survey);
  } else {
    find_parent(survey, parent);
  }
}

void kr_survey_start(struct kr_survey *survey)
{
  struct keyroute_connection *conn = conn_of(survey);

  survey->question.now_us = kr_clock_us();
  kr_listing_init(&survey->listing, conn->mem, &survey->question);
  kr_buf_init(&survey->anchor, conn->mem);
  kr_buf_init(&survey->from, conn->mem);
  kr_buf_init(&survey->to, conn->mem);
  if (conn->catalog->unsettled) {
    settle(survey);
  } else {
    start(survey);
  }
}

/* Of a lookup, CLOSED comes from the locator, which ends all of them. */
void kr_survey_stop(struct kr_survey *survey, int code)
{
  if (survey->parent != NULL) {
    kr_hop_stop(&survey->hop, code);
  } else if (code == KEYROUTE_E_CANCELLED) {
    kr_locator_cancel(conn_of(survey)->locator, &survey->lookup);
  }
}

void kr_survey_clear(struct kr_survey *survey)
{
  kr_table_release(survey->parent);
  if (survey->listing.mem == NULL) {
    return; /* it was never started */
  }
  keyroute_location_release(survey->lookup.location);
  kr_listing_clear(&survey->listing);
  kr_buf_clear(&survey->anchor);
  kr_buf_clear(&survey->from);
  kr_buf_clear(&survey->to);
}
