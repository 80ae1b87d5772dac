/*
 * Where the rows of a batch are: from the cache, or by lookups.
 *
 * A run is looked at from its end. The location of its last row holds all rows of the run from the
 * region's start key on: they are cut off and placed, and the rest is looked at in the same way. So
 * it costs one step a region, not one a row; and downwards, for that is the way in which scans of
 * the catalog bring neighbours.
 *
 *  1. Where the cache has no answer for the last row, none of the rows down to the next region that
 *     it knows has one. That gap is cut off to be looked up, and what is below it goes on.
 *  2. A gap has one lookup at a time, for its last row, of one try: rows that cannot be located now
 *     do not hold up the others. A lookup takes 1.4 kB, so there are few at once, and gaps that
 *     wait for one look into the cache again before.
 *  3. When it fails, that is the failure of all rows that it is known to hold for (`reach`: of the
 *     same offline region, the same hole, or of all where the catalog cannot be read): they sleep,
 *     and the rest of the gap goes on. So a region of which ten thousand rows are asked for
 *     costs one lookup a try, be it there or not.
 *  4. A gap that seems to span many regions is cut in halves, to be looked up side by side, as
 *     long as there are lookups to spare. The first tells how large regions are, so that a table of
 *     one costs one.
 *  5. With KEYROUTE_REFRESH only what was read since the batch began will do: be it by a lookup of
 *     its own, or met beside one.
 *  6. In one turn of the loop only so much is done; so many rows are placed ahead of the requests
 *     that they fill them, and no more.
 *  7. A hit is counted once for the rows of a region that are placed together, a miss once for a
 *     lookup: as for one call of keyroute_locate each.
 *
 * Threads: the loop.
 */
#include "lib/batch_find.h"

#include "lib/batch_send.h"
#include "lib/bytes.h"
#include "lib/check.h"
#include "lib/clock.h"
#include "lib/heal.h"
#include "lib/random.h"

#include <utlist.h>

enum { LOOKUPS_MAX = 8 };

/* Steps in one turn of the loop: some hundred µs. */
enum { STEPS_MAX = 1024 };

/* A run of so many regions, as far as can be told, is worth two lookups at once: a scan brings some
 * ten. */
enum { REGIONS_WORTH_TWO = 32 };

/* Runs placed and not yet sent; each takes 64 bytes. */
enum { AHEAD_MAX = 16384 };

struct kr_batch_lookup {
  struct kr_batch_lookup *prev, *next; /* in the batch's list */
  struct kr_lookup lookup;
  struct kr_buf reach;
  struct kr_batch *batch;
  struct kr_run *run; /* its last row is looked up; NULL = the answer is not wanted any more */
  bool dropped;
};

static struct keyroute_table *table_of(const struct kr_batch *batch, const struct kr_run *run)
{
  return batch->keys->tables[run->table].table;
}

static struct keyroute_bytes last_row(const struct kr_batch *batch, const struct kr_run *run)
{
  return kr_keys_row(batch->keys, run->to - 1);
}

/* Cut off the part of a run from `at` on, and have the rest looked at next. The whole run if it
 * begins there. NULL = out of memory; the run has been put away. */
static struct kr_run *cut_off(struct kr_batch *batch, struct kr_run *run, uint32_t at)
{
  if (at <= run->from) {
    return run;
  }
  struct kr_run *upper = kr_run_cut(&batch->runs, run, at);

  DL_PREPEND(batch->unlocated, run);
  if (upper == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
  }
  return upper;
}

/* Have what is below a key looked at next; as cut_off. The last row is not below the key. */
static struct kr_run *cut_off_from(struct kr_batch *batch, struct kr_run *run,
                                   struct keyroute_bytes key)
{
  uint32_t at = kr_run_floor(&batch->runs, run, key);

  return cut_off(batch, run, at < run->to ? at : run->to - 1);
}

/* ---- The cache ------------------------------------------------------------------------------ */

/* The cached location that serves the last row of a run, or NULL. Good until the loop does
 * something else. */
static struct keyroute_location *find_cached(const struct kr_batch *batch, const struct kr_run *run)
{
  struct keyroute_location *location;
  struct kr_failure failure;

  kr_rcu_read_begin();
  location = kr_table_find(table_of(batch, run), last_row(batch, run), KR_AT);
  kr_rcu_read_end();
  if (location == NULL ||
      ((batch->flags & KEYROUTE_REFRESH) != 0 && kr_location_sent(location) < batch->since)) {
    return NULL;
  }
  return kr_check_replica(&failure, location, batch->replica, kr_clock_us()) ? location : NULL;
}

/* The lowest row that is missing from the cache as the last row of a run is, and all in between. */
static struct keyroute_bytes find_gap(const struct kr_batch *batch, const struct kr_run *run)
{
  struct keyroute_bytes row = last_row(batch, run);
  const struct keyroute_location *below;

  kr_rcu_read_begin();
  below = kr_table_floor(table_of(batch, run), row);
  kr_rcu_read_end();
  if (below == NULL) {
    return kr_bytes(NULL, 0);
  }
  return kr_location_covers(below, row, KR_AT) ? keyroute_location_start_key(below)
                                               : keyroute_location_end_key(below);
}

/* The last row of a run is in a region: so are all from the region's start key on. */
static void place(struct kr_batch *batch, struct kr_run *run, struct keyroute_location *location)
{
  struct kr_run *held = cut_off_from(batch, run, keyroute_location_start_key(location));

  if (held == NULL) {
    return;
  }
  if (held != run) {
    run->region_rows = held->to - held->from;
  }
  held->location = keyroute_location_ref(location);
  held->replica = kr_heal_replica(location, batch->replica);
  if (kr_location_server(location, held->replica) != NULL) {
    kr_batch_place(batch, held);
  } else {
    kr_batch_unlocated(batch, held); /* its servers were dropped this very moment */
  }
}

/* ---- Lookups -------------------------------------------------------------------------------- */

static void count_lookup(struct kr_batch *batch, const struct kr_lookup *lookup)
{
  struct keyroute_detail *detail = &batch->call->detail;
  bool hit = lookup->source == KEYROUTE_SOURCE_CACHE;

  kr_stats_add(batch->call->conn->stats, hit ? KR_COUNT_HITS : KR_COUNT_MISSES, 1);
  detail->attempts += lookup->attempts;
  detail->rpcs += lookup->rpcs;
  if (lookup->location != NULL && detail->source != KEYROUTE_SOURCE_CATALOG) {
    detail->source = lookup->source;
  }
}

static void lookup_failed(struct kr_batch *batch, struct kr_run *run,
                          const struct kr_failure *failure, const struct kr_buf *reach)
{
  struct keyroute_connection *conn = batch->call->conn;
  struct kr_note *note = kr_note_new(conn->mem, failure);
  int64_t remaining_ms = kr_batch_remaining_ms(batch);
  int64_t wait_ms = -1;

  run = reach->failed ? cut_off(batch, run, run->to - 1)
                      : cut_off_from(batch, run, kr_buf_view(reach));
  if (note == NULL || run == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    kr_note_release(note);
    if (run != NULL) {
      kr_batch_unlocated(batch, run);
    }
    return;
  }
  if (remaining_ms > 0) {
    wait_ms = kr_retry_wait_ms(&conn->retry, run->tries + 1, failure, remaining_ms,
                               kr_random_next(&conn->random));
  }
  kr_batch_try_failed(batch, run, note, wait_ms);
  kr_note_release(note);
}

static void looked(struct kr_lookup *lookup)
{
  struct kr_batch_lookup *made = lookup->arg;
  struct kr_batch *batch = made->batch;

  kr_batch_enter(batch);
  DL_DELETE(batch->lookups, made);
  batch->lookup_count--;
  count_lookup(batch, lookup);
  if (made->run != NULL && lookup->location != NULL) {
    place(batch, made->run, lookup->location);
  } else if (made->run != NULL) {
    lookup_failed(batch, made->run, &lookup->failure, &made->reach);
  }
  keyroute_location_release(lookup->location);
  kr_buf_clear(&made->reach);
  kr_free(batch->call->conn->mem, made);
  kr_batch_leave(batch);
}

static void fill_lookup(struct kr_batch_lookup *made, struct kr_batch *batch, struct kr_run *run)
{
  kr_buf_init(&made->reach, batch->call->conn->mem);
  made->batch = batch;
  made->run = run;
  made->lookup = (struct kr_lookup){
      .table = table_of(batch, run),
      .row = last_row(batch, run),
      .position = KR_AT,
      .replica = batch->replica,
      .refresh = (batch->flags & KEYROUTE_REFRESH) != 0,
      .single_try = true,
      .began_us = batch->call->began_us,
      .deadline_us = batch->call->deadline_us,
      .trace = batch->call->trace,
      .reach = &made->reach,
      .done = looked,
      .arg = made,
  };
}

/* Look up the last row of a run. */
static void look_up(struct kr_batch *batch, struct kr_run *run)
{
  struct kr_batch_lookup *made = kr_calloc(batch->call->conn->mem, sizeof(*made));

  if (made == NULL) {
    kr_batch_unlocated(batch, run);
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    return;
  }
  fill_lookup(made, batch, run);
  DL_APPEND(batch->lookups, made);
  batch->lookup_count++;
  kr_locator_start(batch->call->conn->locator, &made->lookup);
}

/* A lookup that is not yet dropped; NULL = there is none. */
static struct kr_batch_lookup *next_to_drop(const struct kr_batch *batch)
{
  struct kr_batch_lookup *made;

  DL_FOREACH (batch->lookups, made) {
    if (!made->dropped) {
      return made;
    }
  }
  return NULL;
}

/* Those that have their answer cannot be cancelled: it comes, and is not wanted. One that is may
 * bring others to their end, of this batch too. CLOSED comes from the locator, which ends all. */
void kr_batch_find_drop(struct kr_batch *batch)
{
  struct kr_batch_lookup *made;

  DL_FOREACH (batch->lookups, made) {
    if (made->run != NULL) {
      kr_batch_unlocated(batch, made->run);
      made->run = NULL;
    }
  }
  while (batch->code != KEYROUTE_E_CLOSED && (made = next_to_drop(batch)) != NULL) {
    made->dropped = true;
    kr_locator_cancel(batch->call->conn->locator, &made->lookup);
  }
}

/* ---- The course ----------------------------------------------------------------------------- */

/* The cache does not have the last row of a run. */
static void miss(struct kr_batch *batch, struct kr_run *run)
{
  struct kr_question question = {kr_table_name(table_of(batch, run)), last_row(batch, run), KR_AT};
  struct kr_failure failure;
  struct kr_buf everything = {0};

  if ((batch->flags & KEYROUTE_CACHE_ONLY) != 0) {
    kr_stats_add(batch->call->conn->stats, KR_COUNT_MISSES, 1);
    kr_check_not_cached(&failure, &question);
    lookup_failed(batch, run, &failure, &everything);
  } else if (batch->lookup_count < LOOKUPS_MAX) {
    look_up(batch, run);
  } else {
    DL_APPEND(batch->missed, run);
  }
}

/* Is a run so long that its halves are better looked up side by side? Only if nobody else waits for
 * a lookup. */
static bool is_worth_two(const struct kr_batch *batch, const struct kr_run *run)
{
  return run->region_rows > 0 && (run->to - run->from) / REGIONS_WORTH_TWO >= run->region_rows &&
         batch->lookup_count + 1 < LOOKUPS_MAX && batch->unlocated == NULL && batch->missed == NULL;
}

/* One step with a run. What is fresh is not to be seen in the gaps of the cache: where only that
 * will do, all of the run is one. */
static void step(struct kr_batch *batch, struct kr_run *run)
{
  if (!kr_run_trim(&batch->runs, run)) {
    kr_run_free(&batch->runs, run);
    return;
  }
  struct keyroute_location *location = find_cached(batch, run);

  if (location != NULL) {
    kr_stats_add(batch->call->conn->stats, KR_COUNT_HITS, 1);
    if (batch->call->detail.source == KEYROUTE_SOURCE_NONE) {
      batch->call->detail.source = KEYROUTE_SOURCE_CACHE;
    }
    place(batch, run, location);
    return;
  }
  if ((batch->flags & KEYROUTE_REFRESH) == 0) {
    run = cut_off_from(batch, run, find_gap(batch, run));
  }
  if (run != NULL && is_worth_two(batch, run)) {
    run = cut_off(batch, run, run->from + (run->to - run->from) / 2);
  }
  if (run != NULL) {
    miss(batch, run);
  }
}

/* The next run to take a step with; NULL = nothing can be done now. */
static struct kr_run *next_run(struct kr_batch *batch)
{
  struct kr_run **list = batch->lookup_count < LOOKUPS_MAX && batch->missed != NULL
                             ? &batch->missed
                             : &batch->unlocated;
  struct kr_run *run = *list;

  if (run != NULL) {
    DL_DELETE(*list, run);
  }
  return run;
}

static void turn_over(void *arg)
{
  struct kr_batch *batch = arg;

  kr_batch_enter(batch);
  batch->turn = NULL;
  kr_batch_leave(batch);
}

void kr_batch_find(struct kr_batch *batch)
{
  unsigned ahead_max = batch->read != NULL ? AHEAD_MAX : UINT32_MAX;
  unsigned steps = 0;
  struct kr_run *run;

  while (batch->code == 0 && batch->turn == NULL && batch->ahead < ahead_max &&
         (run = next_run(batch)) != NULL) {
    step(batch, run);
    if (++steps == STEPS_MAX) {
      batch->turn = kr_timer_start(batch->call->conn->loop, 0, turn_over, batch);
      if (batch->turn == NULL) {
        kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
      }
    }
  }
}
