/*
 * What comes back of a survey's requests: whether an answer is of use, and what its rows say.
 *
 *  1. Rows are believed to be all there are only if each stands behind the one before, in the order
 *     of the servers. So every answer brings the end nearer; one that does not is a failure of the
 *     server's.
 *  2. A request that goes on begins with the last row of the one before. If that is not as it was,
 *     the survey is torn: what is read goes into the cache still, but into no listing.
 *  3. What is met goes into the cache as far as findings.c has it: what was reported or dropped
 *     since the request was sent does not.
 *  4. Rows are gone when their callback returns, before the hop is done: what they say is noted in
 *     the survey, and survey.c goes on by that.
 *
 * Threads: the loop.
 */
#include "lib/survey_take.h"

#include "lib/bytes.h"
#include "lib/check.h"
#include "lib/findings.h"

/* Answers without a further row before the server is taken to be stuck. */
enum { SILENT_MAX = 8 };

/* Does each row stand behind the one before it (invariant 1)? The first one may be the one that was
 * asked from. */
static bool in_order(const struct kr_survey *survey, const struct kr_rows *rows)
{
  const struct kr_catalog *catalog = survey->call->conn->catalog;
  struct keyroute_bytes before = kr_buf_view(&survey->from);

  for (size_t i = 0; i < rows->count; i++) {
    int order = catalog->compare_keys(rows->rows[i].key, before);

    order = survey->phase == KR_SURVEY_ANCHOR ? -order : order;
    if (order < 0 || (order == 0 && i > 0)) {
      return false;
    }
    before = rows->rows[i].key;
  }
  return true;
}

/* Does an answer have no row that is new, though there are more? */
static bool is_silent(const struct kr_survey *survey, const struct kr_rows *rows)
{
  return rows->more && rows->count <= (survey->resumes ? 1 : 0);
}

/* An answer that does not get the survey anywhere is a failure of the server's. */
static bool is_of_use(struct kr_failure *failure, struct kr_survey *survey,
                      const struct kr_rows *rows)
{
  char table[KR_SURVEY_TABLE_TEXT], address[300];
  const struct kr_server *server = kr_location_server(survey->hop.location, 0);
  bool ordered = in_order(survey, rows);

  survey->silent = is_silent(survey, rows) ? survey->silent + 1 : 0;
  if (ordered && survey->silent <= SILENT_MAX) {
    return true; /* else each further one fails too, and the hop waits longer and longer */
  }
  kr_fail(failure, ordered ? KEYROUTE_E_TIMEOUT : KEYROUTE_E_PROTOCOL, "%s table %s",
          ordered ? "keeps stopping before it meets a row of" : "rows out of order, of",
          kr_bytes_print(table, sizeof(table), kr_table_name(survey->table)));
  kr_fail_name_server(failure,
                      kr_server_print(address, sizeof(address), server->host, server->port));
  return false;
}

/* Rows come from above: the anchor is the first region that reaches the span, or the last one. */
static void note_anchor(struct kr_survey *survey, const struct kr_catalog_row *row)
{
  if (row->location != NULL && !row->split && !survey->anchor_reaches) {
    kr_survey_set_key(&survey->anchor, keyroute_location_start_key(row->location));
    survey->anchor_known = true;
    survey->anchor_reaches = kr_location_covers(row->location, survey->question.start, KR_BEFORE);
  }
}

/* Have the cache keep what is whole, and the listing give out what the cache keeps. */
static int keep(const struct kr_survey *survey, struct kr_catalog_row *row)
{
  struct keyroute_connection *conn = survey->call->conn;
  struct keyroute_location *found = row->location;

  if (!kr_check_live(row) || !kr_findings_usable(found) ||
      kr_reports_doubt(conn->reports, found, survey->sent) ||
      !kr_cache_begin_store(conn->cache, survey->epoch)) {
    return 0;
  }
  int error = kr_cache_store(conn->cache, survey->table, found, survey->sent, &row->location);

  kr_cache_end_store(conn->cache);
  if (error == 0) {
    keyroute_location_release(found);
  }
  return error;
}

/* The first row of an answer that goes on from a row: is it that row, and as it was? */
static bool is_seam(struct kr_survey *survey, const struct kr_catalog_row *row)
{
  bool is_same = kr_bytes_equal(row->key, kr_buf_view(&survey->from));

  survey->is_torn = (!is_same || row->split != survey->last_split) && kr_survey_may_restart(survey);
  return is_same;
}

static int use_row(struct kr_survey *survey, struct kr_catalog_row *row, bool first)
{
  int error = 0;

  if (survey->phase == KR_SURVEY_ANCHOR) {
    note_anchor(survey, row);
    return survey->anchor.failed ? KEYROUTE_E_NO_MEMORY : 0;
  }
  if (first && survey->resumes && is_seam(survey, row)) {
    return 0;
  }
  survey->last_split = row->split;
  if ((error = keep(survey, row)) == 0 && !survey->is_torn) {
    error = kr_listing_add(&survey->listing, row);
  }
  return error;
}

static int take_row(struct kr_survey *survey, const struct kr_row *from, bool first)
{
  struct keyroute_connection *conn = survey->call->conn;
  struct kr_catalog_row row;
  int error =
      conn->catalog->parse_row(&row, conn->mem, conn->servers, kr_table_name(survey->table), from);

  if (error == 0) {
    error = use_row(survey, &row, first);
    keyroute_location_release(row.location);
  }
  return error;
}

/* The next request goes on with the last row (invariant 2; and servers before 1.4 cannot be told to
 * leave it out). */
static void move_on(struct kr_survey *survey, const struct kr_rows *rows)
{
  if (rows->count > 0) {
    kr_survey_set_key(&survey->from, rows->rows[rows->count - 1].key);
    survey->from_side = KR_AT;
    survey->resumes = true;
  }
}

static void take_rows(struct kr_survey *survey, const struct kr_rows *rows)
{
  size_t known = survey->resumes && rows->count > 0;
  int error = 0;

  survey->received = rows->count - known;
  survey->cut_short = rows->more || rows->count == survey->asked;
  survey->met = survey->met || rows->count > 0;
  survey->is_torn = survey->phase == KR_SURVEY_ROWS && survey->resumes && rows->count == 0 &&
                    !rows->more && kr_survey_may_restart(survey);
  for (size_t i = 0; i < rows->count && error == 0 && survey->phase != KR_SURVEY_ANY; i++) {
    error = take_row(survey, &rows->rows[i], i == 0);
  }
  move_on(survey, rows);
  survey->short_of_memory = error != 0 || survey->from.failed;
}

void kr_survey_received(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct kr_survey *survey = arg;
  struct kr_failure trouble;

  survey->call->detail.rpcs += rows->further;
  if (failure->code != 0) {
    kr_hop_failed(&survey->hop, failure);
  } else if (!is_of_use(&trouble, survey, rows)) {
    kr_hop_failed(&survey->hop, &trouble);
  } else {
    take_rows(survey, rows);
    kr_hop_answered(&survey->hop);
  }
}
