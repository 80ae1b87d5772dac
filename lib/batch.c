/*
 * The story of many rows: find where they are, send them to their servers, take what comes back,
 * and go on with what is left until nothing is.
 *
 *   unlocated -> missed -> looked up -> placed -> under way -> done
 *       ^                      |                      |
 *       +------ sleeping <-----+----------------------+
 *
 * Rows move along it in runs (run.c). batch_find.c brings them to their servers, batch_send.c to
 * their end; this file is what both need: the ends of rows and tries, sleep, the deadline.
 *
 *  1. A failure concerns the run that it is about. Others go on: nobody waits for the slowest.
 *  2. Whether and when a run is tried again is retry.c's to say; what its failure says about places
 *     is reported first (heal.c). What is told in the end is the last failure that anybody answered
 *     with; TIMEOUT, which says that nobody did, never hides another.
 *  3. Those that sleep wake up in clumps, a few ms late, so that they fill requests.
 *  4. Who asks to be left alone is left alone by the batch, not by the run that was told so: what
 *     is placed there sleeps as long, and that is no try of its own.
 *  5. Lookups, requests and waits all end by the deadline of their own. The batch's alarm is for
 *     those that wait for their turn, and comes a little later: so whoever was asked is told of.
 *  6. What a function from outside sets off goes on when the outermost one leaves (as in the
 *     locator): whoever is called finds everything consistent, and the stack stays flat.
 *  7. It takes 5 bytes a row (4 for the order, 1 for `done`), 32 more in the result, and 24 and the
 *     row's own where keys are copied; 64 bytes a run, of which there are few more than regions;
 *     1.4 kB a lookup, 8 of them at most; and the answers on their way (batch_send.c).
 *
 * Out of memory, the call ends; what of rows had come is gone with it.
 *
 * Threads: the loop.  Source: HBase AsyncBatchRpcRetryingCaller
 */
#include "lib/batch.h"

#include "lib/batch_find.h"
#include "lib/batch_send.h"
#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/heal.h"

#include <stdio.h>
#include <utlist.h>

/* How much later than the deadline the alarm comes. */
enum { GRACE_MS = 10 };

/* How close together clumps of those that sleep wake up. */
enum { CLUMP_MS = 5 };

static const char no_answer[] = "nothing answered before the deadline";

bool kr_batch_init(struct kr_batch *batch)
{
  struct kr_mem *mem = batch->call->conn->mem;
  uint32_t count = batch->keys->count;

  batch->left = count;
  batch->first_failed = count;
  batch->result = kr_result_new(mem, count);
  return kr_runs_init(&batch->runs, mem, batch->keys) && batch->result != NULL;
}

static void free_runs(const struct kr_batch *batch, struct kr_run **runs)
{
  struct kr_run *run, *next;

  DL_FOREACH_SAFE (*runs, run, next) {
    kr_run_free(&batch->runs, run);
  }
  *runs = NULL;
}

void kr_batch_clear(struct kr_batch *batch)
{
  struct kr_batch_server *server, *next;

  if (batch->call == NULL) {
    return;
  }
  struct kr_mem *mem = batch->call->conn->mem;

  free_runs(batch, &batch->unlocated);
  free_runs(batch, &batch->missed);
  free_runs(batch, &batch->sleeping);
  HASH_ITER (hh, batch->servers, server, next) {
    HASH_DEL(batch->servers, server);
    free_runs(batch, &server->placed);
    kr_server_release(server->server);
    kr_free(mem, server);
  }
  kr_runs_clear(&batch->runs);
  keyroute_result_free(batch->result);
  batch->result = NULL;
}

/* ---- Ends ----------------------------------------------------------------------------------- */

int64_t kr_batch_remaining_ms(const struct kr_batch *batch)
{
  return kr_retry_remaining_ms(batch->call->deadline_us, kr_clock_us());
}

void kr_batch_fail_row(struct kr_batch *batch, uint32_t position, struct kr_note *note)
{
  uint32_t index = batch->keys->order[position];

  if (note->told == NULL) {
    note->told = kr_result_text(batch->result, note->message);
  }
  kr_result_fail(batch->result, index, note->code, note->told);
  if (index < batch->first_failed) {
    batch->first_failed = index;
    batch->failed_at = position;
  }
  batch->runs.done[position] = true;
  batch->left--;
}

void kr_batch_fail(struct kr_batch *batch, struct kr_run *run, struct kr_note *note)
{
  uint32_t at = kr_run_next(&batch->runs, run, run->from);

  for (; at < run->to; at = kr_run_next(&batch->runs, run, at + 1)) {
    kr_batch_fail_row(batch, at, note);
  }
  if (note->server[0] != '\0') {
    snprintf(batch->call->detail.server, sizeof(batch->call->detail.server), "%s", note->server);
  }
  kr_run_free(&batch->runs, run);
}

void kr_batch_abort(struct kr_batch *batch, int code)
{
  batch->code = batch->code == 0 ? code : batch->code;
}

static struct keyroute_bytes table_at(const struct kr_keys *keys, uint32_t position)
{
  const struct kr_keys_table *at = keys->tables;

  while (position >= at->to) {
    at++;
  }
  return kr_table_name(at->table);
}

/* Say in the detail how many rows failed, and of the first one, why. */
static void describe_failed(const struct kr_batch *batch)
{
  struct keyroute_detail *detail = &batch->call->detail;
  const struct keyroute_result *result = batch->result;
  uint32_t first = batch->first_failed;
  uint32_t at = batch->failed_at;
  char table[120], row[120];

  snprintf(detail->message, sizeof(detail->message),
           "%zu of %zu rows failed; the first, key %u, table %s, row %s: %s: %.400s",
           result->failed, result->count, first,
           kr_bytes_print(table, sizeof(table), table_at(batch->keys, at)),
           kr_bytes_print(row, sizeof(row), kr_keys_row(batch->keys, at)),
           keyroute_errname(keyroute_result_error(result, first)),
           keyroute_result_message(result, first));
}

static void stop_timers(struct kr_batch *batch)
{
  kr_timer_stop(batch->alarm);
  kr_timer_stop(batch->nap);
  kr_timer_stop(batch->turn);
  batch->alarm = batch->nap = batch->turn = NULL;
}

static void finish(struct kr_batch *batch)
{
  struct keyroute_detail *detail = &batch->call->detail;

  batch->ended = true;
  stop_timers(batch);
  if (batch->code != 0) {
    kr_detail_fail(detail, batch->code, "%s", kr_early_end(batch->code));
  } else if (batch->result->failed > 0) {
    detail->deadline = kr_batch_remaining_ms(batch) <= 0;
    describe_failed(batch);
  }
  batch->done(batch);
}

/* ---- Entering and leaving (invariant 6) ------------------------------------------------------ */

void kr_batch_enter(struct kr_batch *batch)
{
  batch->depth++;
}

/* Past the deadline nothing is begun: the alarm is about to come. */
static void go_on(struct kr_batch *batch)
{
  if (batch->code == 0 && kr_batch_remaining_ms(batch) > 0) {
    kr_batch_find(batch);
    kr_batch_send(batch);
  }
  if (batch->code != 0) {
    kr_batch_send_drop(batch);
    kr_batch_find_drop(batch);
  }
}

void kr_batch_leave(struct kr_batch *batch)
{
  if (batch->depth == 1 && !batch->ended) {
    go_on(batch);
  }
  batch->depth--;
  if (batch->depth == 0 && !batch->ended && (batch->left == 0 || batch->code != 0) &&
      batch->lookup_count == 0) {
    finish(batch);
  }
}

/* ---- Tries ---------------------------------------------------------------------------------- */

void kr_batch_unlocated(struct kr_batch *batch, struct kr_run *run)
{
  kr_run_displace(run);
  DL_APPEND(batch->unlocated, run);
}

static void arm_nap(struct kr_batch *batch, int64_t wake_us);

/* Wake all whose time has come. */
static void nap_over(void *arg)
{
  struct kr_batch *batch = arg;
  int64_t now = kr_clock_us(), earliest = INT64_MAX;
  struct kr_run *run, *next;

  kr_batch_enter(batch);
  batch->nap = NULL;
  DL_FOREACH_SAFE (batch->sleeping, run, next) {
    if (run->wake_us <= now) {
      DL_DELETE(batch->sleeping, run);
      kr_batch_unlocated(batch, run);
    } else if (run->wake_us < earliest) {
      earliest = run->wake_us;
    }
  }
  if (batch->sleeping != NULL) {
    arm_nap(batch, earliest);
  }
  kr_batch_leave(batch);
}

/* See that those that sleep until then are woken. */
static void arm_nap(struct kr_batch *batch, int64_t wake_us)
{
  int64_t wait_ms = (wake_us - kr_clock_us()) / 1000;

  if (batch->nap != NULL && batch->nap_us <= wake_us) {
    return;
  }
  kr_timer_stop(batch->nap);
  batch->nap_us = wake_us;
  batch->nap = kr_timer_start(batch->call->conn->loop, (wait_ms > 0 ? wait_ms : 0) + CLUMP_MS,
                              nap_over, batch);
  if (batch->nap == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
  }
}

static void sleep_until(struct kr_batch *batch, struct kr_run *run, int64_t wake_us)
{
  kr_run_displace(run);
  run->wake_us = wake_us;
  DL_APPEND(batch->sleeping, run);
  arm_nap(batch, wake_us);
}

static void sleep_for(struct kr_batch *batch, struct kr_run *run, int64_t wait_ms)
{
  struct kr_call *call = batch->call;
  int64_t now = kr_clock_us();

  kr_stats_add(call->conn->stats, KR_COUNT_RETRIES, 1);
  kr_trace_add(call->trace, "wait", now - call->began_us, wait_ms * 1000, NULL, "%lld ms, %u rows",
               (long long)wait_ms, run->to - run->from);
  sleep_until(batch, run, now + wait_ms * 1000);
}

void kr_batch_try_failed(struct kr_batch *batch, struct kr_run *run, struct kr_note *note,
                         int64_t wait_ms)
{
  run->tries++;
  if (run->note == NULL || !kr_heal_says_less(note->code)) {
    kr_run_note(run, note);
  }
  if (wait_ms < 0) {
    kr_batch_fail(batch, run, run->note);
  } else if (wait_ms == 0) {
    kr_stats_add(batch->call->conn->stats, KR_COUNT_RETRIES, 1);
    kr_batch_unlocated(batch, run);
  } else {
    sleep_for(batch, run, wait_ms);
  }
}

void kr_batch_hold(struct kr_batch *batch, struct kr_batch_server *server, int64_t table,
                   struct kr_note *note, int64_t wait_ms)
{
  int64_t wake_us = kr_clock_us() + wait_ms * 1000;
  struct kr_run *run, *next;

  DL_FOREACH_SAFE (server->placed, run, next) {
    if (table < 0 || run->table == table) {
      DL_DELETE(server->placed, run);
      batch->ahead--;
      kr_run_note(run, note);
      sleep_until(batch, run, wake_us);
    }
  }
}

/* ---- The deadline --------------------------------------------------------------------------- */

/* Fail a list of runs, each with how its last try failed. none  for those that had none. */
static void fail_all(struct kr_batch *batch, struct kr_run **runs, struct kr_note *none)
{
  struct kr_run *run;

  while ((run = *runs) != NULL) {
    DL_DELETE(*runs, run);
    kr_batch_fail(batch, run, run->note != NULL ? run->note : none);
  }
}

static void alarm_rang(void *arg)
{
  struct kr_batch *batch = arg;
  struct kr_failure failure = {0};
  struct kr_batch_server *server;

  kr_batch_enter(batch);
  batch->alarm = NULL;
  kr_batch_send_drop(batch);
  kr_batch_find_drop(batch);
  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "%s", no_answer);
  struct kr_note *none = kr_note_new(batch->call->conn->mem, &failure);

  if (none == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
  } else {
    fail_all(batch, &batch->unlocated, none);
    fail_all(batch, &batch->missed, none);
    fail_all(batch, &batch->sleeping, none);
    for (server = batch->servers; batch->read != NULL && server != NULL; server = server->hh.next) {
      fail_all(batch, &server->placed, none);
    }
  }
  kr_note_release(none);
  kr_batch_leave(batch);
}

/* ---- Begin and stop ------------------------------------------------------------------------- */

/* Each table's rows begin as one run. */
static bool make_runs(struct kr_batch *batch)
{
  for (uint32_t i = 0; i < batch->keys->table_count; i++) {
    const struct kr_keys_table *table = &batch->keys->tables[i];
    struct kr_run *run = kr_run_new(&batch->runs, i, table->from, table->to);

    if (run == NULL) {
      return false;
    }
    DL_APPEND(batch->unlocated, run);
  }
  return true;
}

void kr_batch_start(struct kr_batch *batch)
{
  struct keyroute_connection *conn = batch->call->conn;

  kr_batch_enter(batch);
  batch->since = kr_cache_tick(conn->cache);
  batch->alarm =
      kr_timer_start(conn->loop, kr_batch_remaining_ms(batch) + GRACE_MS, alarm_rang, batch);
  if (!make_runs(batch) || batch->alarm == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
  }
  kr_batch_leave(batch);
}

void kr_batch_stop(struct kr_batch *batch, int code)
{
  kr_batch_enter(batch);
  kr_batch_abort(batch, code);
  kr_batch_leave(batch);
}
