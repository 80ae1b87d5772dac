/*
 * What comes back of the requests of a batch: rows are taken into the result, and failures to whom
 * they concern: all of a request, a region, a row.
 *
 *  1. Rows are taken out of the answer in the order in which they were put into the request:
 *     between the two no row of those runs gets done by anything else.
 *  2. A failure is reported once for each region it speaks of (heal.c), and waited for once for
 *     each run: what is not done of it goes on together.
 *  3. A server that is overloaded asks all of the batch to wait (kr_batch_hold), one that throttles
 *     all rows of the table: quotas are of tables and users. Else a thousand requests would each
 *     be sent to be told the same.
 *  4. A request begins with a guess of rows. Then it is made so long that an answer has about
 *     ANSWER_LEN bytes: that is all that it takes to hide the way there and back, and what bounds
 *     the memory of answers. An answer that is TOO_LARGE as a whole is asked for again at once, in
 *     pieces that fit by what it says of its length; of one row alone it is that row's failure.
 *     Where no answer may be twice as long as that, they are made half as long as one may be. One
 *     that does not come in time is asked for in halves, when its rows are tried again.
 *
 * Threads: the loop.
 */
#include "lib/batch_take.h"

#include "lib/heal.h"

#include <utlist.h>

enum { ROWS_MAX = 1000, ANSWER_LEN = 1 << 20 };

/* What became of the rows of one run. */
struct outcome {
  const struct kr_failure *failure; /* the last that was met; NULL = none was */
  struct kr_note *note;             /* of it, counted */
  int64_t wait_ms;                  /* of it; negative = it is final */
  struct kr_note *later;            /* of those not done yet, counted; NULL = all are done */
  int64_t later_ms;                 /* how long they wait */
};

/* Another failure than that of the row before. */
static void note_failure(struct kr_batch_request *request, const struct kr_run *run,
                         const struct kr_failure *failure, struct outcome *outcome)
{
  struct kr_batch *batch = request->batch;
  struct keyroute_connection *conn = batch->call->conn;
  struct kr_failure told;

  outcome->failure = failure;
  kr_heal_tell(&told, failure, run->location);
  kr_note_release(outcome->note);
  outcome->note = kr_note_new(conn->mem, &told);
  kr_heal_report(conn, run->location, run->replica, failure);
  outcome->wait_ms = kr_heal_wait_ms(conn, failure, run->tries + 1, batch->call->deadline_us);
  if (failure->wait_ms > 0 && outcome->wait_ms > 0 && outcome->note != NULL) {
    kr_batch_hold(batch, request->server, run->table, outcome->note, outcome->wait_ms);
  }
}

/* A row was not read. False = out of memory. */
static bool row_failed(struct kr_batch_request *request, const struct kr_run *run, uint32_t at,
                       const struct kr_failure *failure, struct outcome *outcome)
{
  if (failure != outcome->failure) {
    note_failure(request, run, failure, outcome);
  }
  if (outcome->note == NULL) {
    return false;
  }
  if (outcome->wait_ms < 0) {
    kr_batch_fail_row(request->batch, at, outcome->note);
  } else if (outcome->later == NULL || outcome->wait_ms >= outcome->later_ms) {
    kr_note_ref(outcome->note);
    kr_note_release(outcome->later);
    outcome->later = outcome->note;
    outcome->later_ms = outcome->wait_ms;
  }
  return true;
}

/* Take the rows of one run out of an answer. Returns how many it has. */
static size_t take_answers(struct kr_batch_request *request, struct kr_run *run,
                           const struct kr_got_row *rows)
{
  struct kr_batch *batch = request->batch;
  struct outcome outcome = {0};
  size_t count = 0, read = 0;
  bool complete = true;

  for (uint32_t at = kr_run_next(&batch->runs, run, run->from); at < run->to;
       at = kr_run_next(&batch->runs, run, at + 1)) {
    const struct kr_got_row *row = &rows[count++];

    if (row->failure != NULL) {
      complete = row_failed(request, run, at, row->failure, &outcome) && complete;
    } else {
      kr_result_set(batch->result, batch->keys->order[at], row, run->location, run->replica);
      batch->runs.done[at] = true;
      batch->left--;
      read++;
    }
  }
  kr_stats_add(batch->call->conn->stats, KR_COUNT_ROWS_READ, read);
  if (!complete) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    kr_batch_unlocated(batch, run);
  } else if (outcome.later != NULL) {
    kr_batch_try_failed(batch, run, outcome.later, outcome.later_ms);
  } else {
    kr_run_free(&batch->runs, run);
  }
  kr_note_release(outcome.note);
  kr_note_release(outcome.later);
  return count;
}

/* How many rows an answer should have, after one of so many rows that was so long. */
static uint32_t fitting_rows(const struct kr_batch *batch, uint32_t rows, size_t len, uint32_t most)
{
  size_t half_len = batch->call->conn->settings->max_frame_len / 2;
  uint64_t wanted_len = half_len < ANSWER_LEN ? half_len : ANSWER_LEN;
  uint64_t fitting = len > 0 ? wanted_len * rows / len : most;

  fitting = fitting < most ? fitting : most;
  return fitting > 0 ? (uint32_t)fitting : 1;
}

/* Fit the next request to that server to how long this one's answer was. */
static void adapt(struct kr_batch_request *request, size_t len)
{
  struct kr_batch_server *server = request->server;
  uint32_t most = server->rows_max < ROWS_MAX / 2 ? 2 * server->rows_max : ROWS_MAX;

  server->rows_max = fitting_rows(request->batch, request->rows, len, most);
}

void kr_batch_take_answer(struct kr_batch_request *request, struct kr_got *answer)
{
  struct kr_batch *batch = request->batch;
  const struct kr_got_row *rows = answer->rows;
  struct kr_run *run;

  adapt(request, answer->len);
  kr_result_keep(batch->result, answer->block);
  while ((run = request->runs) != NULL) {
    DL_DELETE(request->runs, run);
    rows += take_answers(request, run, rows);
  }
}

/* The answer was too large, or too long on its way: ask from now on for as much of it as fits, and
 * no more than half. */
static void ask_for_less(struct kr_batch_request *request, size_t len)
{
  request->server->rows_max = fitting_rows(request->batch, request->rows, len, request->rows / 2);
}

/* Have its rows sent again at once. */
static void send_again(struct kr_batch_request *request)
{
  struct kr_batch_server *server = request->server;
  struct kr_run *run;

  DL_FOREACH (request->runs, run) {
    request->batch->ahead++;
  }
  DL_CONCAT(request->runs, server->placed);
  server->placed = request->runs;
  request->runs = NULL;
}

/* All of it has failed. Runs of as many tries wait for as long. */
static void fail_all(struct kr_batch_request *request, const struct kr_failure *failure)
{
  struct kr_batch *batch = request->batch;
  struct keyroute_connection *conn = batch->call->conn;
  struct kr_failure told;
  unsigned tries = 0;
  int64_t wait_ms = 0, longest_ms = 0;
  struct kr_run *run;

  /* An exception about one region alone has come to a request for one row. */
  kr_heal_tell(&told, failure, request->runs->location);
  struct kr_note *note = kr_note_new(conn->mem, &told);

  if (note == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    return;
  }
  while ((run = request->runs) != NULL) {
    DL_DELETE(request->runs, run);
    kr_heal_report(conn, run->location, run->replica, failure);
    if (tries != run->tries + 1u) {
      tries = run->tries + 1u;
      wait_ms = kr_heal_wait_ms(conn, failure, tries, batch->call->deadline_us);
      longest_ms = wait_ms > longest_ms ? wait_ms : longest_ms;
    }
    kr_batch_try_failed(batch, run, note, wait_ms);
  }
  if (failure->code == KEYROUTE_E_OVERLOADED && longest_ms > 0) {
    kr_batch_hold(batch, request->server, -1, note, longest_ms);
  }
  kr_note_release(note);
}

void kr_batch_take_failure(struct kr_batch_request *request, const struct kr_failure *failure)
{
  kr_stats_add(request->batch->call->conn->stats, KR_COUNT_REQUESTS_FAILED, 1);
  bool too_large = failure->code == KEYROUTE_E_TOO_LARGE && request->rows > 1;

  if (too_large || (failure->code == KEYROUTE_E_TIMEOUT && request->rows > 1)) {
    ask_for_less(request, failure->answer_len);
  }
  if (too_large) {
    send_again(request);
  } else {
    fail_all(request, failure);
  }
}
