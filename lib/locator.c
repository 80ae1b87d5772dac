/*
 * The story of a lookup: cache -> join a scan under way, or start one -> answer, or try again.
 *
 * A table's unfinished lookups stand in a queue (queue.c). A flight (flight.c) is one try at the
 * catalog: it makes sure of the parent's region, scans it, checks and stores what it met, and has a
 * location or a failure. This file decides which lookups fly. serve.c says who is served by what a
 * flight brought, outcome.c what becomes of each, root.c how often the root is asked for. The
 * parent's region is itself a lookup here, whose owner is the flight: the recursion that ends at
 * the registry.
 *
 *  1. A lookup is ready, hopes for a flight, is member of one, sleeps until its next try, or is
 *     answered (its done is yet to run).
 *  2. Two limits hold: flights of one table, and flights of the connection. Those that wait for
 *     either stand in line, tables in turn, lookups of a table first come first served. Flights for
 *     a parent's region are in no limit: those who wait for them hold places already.
 *  3. Only lookups try again, and retry.c says when. A flight, and the lookup it makes, is one try.
 *  4. What a function from outside sets off is done when the outermost one returns, flights first,
 *     then answers: whoever is called finds everything consistent, and the stack stays flat.
 */
#include "lib/locator.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/locator_state.h"
#include "lib/outcome.h"
#include "lib/root.h"
#include "lib/serve.h"

#include <utlist.h>

/* Misses of one table closer together than this are worth a longer scan. */
enum { CLOSE_TOGETHER_US = 100000 };

/* A flight's own lookup is given this much more time, so that what stands in its way is told by the
 * one who met it rather than by an alarm. */
enum { GRACE_US = 20000 };

/* Rows of a lone miss's scan: enough to step over a split parent or two. */
enum { LONE_ROWS = 3 };

static void run_line(struct kr_locator *locator);

/* ---- Entering and leaving (invariant 4) ---- */

void kr_locator_enter(struct kr_locator *locator)
{
  locator->depth++;
}

void kr_locator_leave(struct kr_locator *locator)
{
  bool outermost = locator->depth == 1;

  if (outermost) {
    run_line(locator);
  }
  while (outermost && locator->answered != NULL) {
    struct kr_lookup *lookup = locator->answered;

    DL_DELETE(locator->answered, lookup);
    lookup->state = KR_LOOKUP_OUTSIDE;
    lookup->done(lookup);
    run_line(locator);
  }
  locator->depth--;
}

/* ---- Queues ---- */

static struct kr_queue *new_queue(struct kr_locator *locator, struct keyroute_table *table)
{
  struct kr_mem *mem = locator->means.mem;
  bool is_root = locator->means.catalog->parent(kr_table_name(table)).len == 0;
  struct kr_queue *queue = kr_queue_new(mem, table, is_root);
  bool hash_failed = false;

  if (queue == NULL) {
    return NULL;
  }
  HASH_ADD_PTR(locator->queues, table, queue);
  if (hash_failed) {
    kr_queue_free(mem, queue);
    return NULL;
  }
  return queue;
}

static struct kr_queue *get_queue(struct kr_locator *locator, struct keyroute_table *table)
{
  struct kr_queue *queue;

  HASH_FIND_PTR(locator->queues, &table, queue);
  return queue != NULL ? queue : new_queue(locator, table);
}

static void leave_line(struct kr_locator *locator, struct kr_queue *queue)
{
  if (queue->line == KR_LINE_NEXT) {
    DL_DELETE(locator->line, queue);
  } else if (queue->line == KR_LINE_STALLED) {
    DL_DELETE(locator->stalled, queue);
  }
  queue->line = KR_LINE_NONE;
}

/* Have a queue looked at when the outermost function returns. Those that wait for the budget are
 * once there is some; but not if nobody is left in them, for their own flights may be what fills
 * it. */
void kr_locator_line_up(struct kr_locator *locator, struct kr_queue *queue)
{
  if (queue->line == KR_LINE_STALLED && queue->count == 0) {
    leave_line(locator, queue);
  }
  if (queue->line == KR_LINE_NONE) {
    queue->line = KR_LINE_NEXT;
    DL_APPEND(locator->line, queue);
  }
}

static void remove_flight(struct kr_locator *locator, struct kr_flight *flight)
{
  DL_DELETE(flight->queue->flights, flight);
  flight->queue->flight_count--;
  locator->flight_count -= flight->counted;
}

/* Flights of a queue that nobody is left in are given up, and the queue with them. */
static void drop_if_unused(struct kr_locator *locator, struct kr_queue *queue)
{
  struct kr_mem *mem = locator->means.mem;

  if (queue->count > 0) {
    return;
  }
  while (queue->flights != NULL) {
    struct kr_flight *flight = queue->flights;

    remove_flight(locator, flight);
    kr_flight_free(flight);
  }
  leave_line(locator, queue);
  HASH_DEL(locator->queues, queue);
  kr_queue_free(mem, queue);
}

/* ---- The end of a flight ---- */

/* A flight has its result: serve the queue, let others fly. */
static void flight_ended(struct kr_flight *flight)
{
  struct kr_locator *locator = flight->locator;
  struct kr_queue *queue = flight->queue;

  kr_locator_enter(locator);
  remove_flight(locator, flight);
  if (queue->is_root) {
    kr_root_note(locator, flight);
  }
  if (flight->location != NULL) {
    kr_serve_all(flight);
  } else {
    kr_serve_failure(flight);
  }
  kr_serve_disband(flight);
  if (queue->is_root && locator->root_failed_us == 0) {
    kr_root_reroute(locator, flight->location);
  }
  kr_flight_free(flight);
  kr_locator_line_up(locator, queue);
  kr_locator_leave(locator);
}

/* ---- Members' traces and counts ---- */

/* All of these go on with the other flight where a member is there for one. */
static bool flight_traced(const struct kr_flight *flight)
{
  const struct kr_lookup *lookup;

  DL_FOREACH (flight->members, lookup) {
    if (lookup->trace != NULL || (lookup->flight_of != NULL && flight_traced(lookup->flight_of))) {
      return true;
    }
  }
  return false;
}

static void flight_step(struct kr_flight *flight, const char *name, int64_t began_us,
                        const char *server, const char *detail)
{
  const struct kr_lookup *lookup;
  int64_t took_us = kr_clock_us() - began_us;

  DL_FOREACH (flight->members, lookup) {
    if (lookup->flight_of != NULL) {
      flight_step(lookup->flight_of, name, began_us, server, detail);
    } else if (lookup->trace != NULL) {
      int64_t at_us = began_us - lookup->began_us;

      kr_trace_add(lookup->trace, name, at_us > 0 ? at_us : 0, took_us, server, "%s", detail);
    }
  }
}

static void flight_sent(struct kr_flight *flight)
{
  struct kr_lookup *lookup;

  DL_FOREACH (flight->members, lookup) {
    lookup->rpcs++;
    if (lookup->flight_of != NULL) {
      flight_sent(lookup->flight_of);
    }
  }
}

/* ---- Who flies ---- */

static void withdraw(struct kr_locator *locator, struct kr_lookup *lookup);

static const struct kr_flight_host host = {
    .locate = kr_locator_start,
    .withdraw = withdraw,
    .traced = flight_traced,
    .step = flight_step,
    .sent = flight_sent,
    .ended = flight_ended,
};

static void board(struct kr_lookup *lookup, struct kr_flight *flight)
{
  lookup->attempts++;
  kr_queue_move(lookup, KR_LOOKUP_FLYING, flight);
}

/* How long a try of a lookup's own may take. */
static int64_t own_try_ms(const struct kr_lookup *lookup, int64_t now_us)
{
  int64_t whole_us = lookup->deadline_us - lookup->began_us;
  int64_t remaining_us = lookup->deadline_us - now_us;

  return kr_retry_try_ms(whole_us / 1000, remaining_us / 1000, lookup->locator->means.try_limit_ms);
}

/* How many rows to scan: more where neighbours are likely to be asked for too and are not known.
 * The root is not scanned for, and does not count as a table that was missed. */
static uint32_t choose_limit(struct kr_locator *locator, struct kr_queue *queue,
                             const struct kr_lookup *lookup, int64_t now_us)
{
  uint32_t prefetch = locator->means.prefetch;

  if (queue->is_root) {
    return LONE_ROWS;
  }
  int64_t last = kr_table_missed(queue->table, now_us);
  bool close_together = queue->count > 1 || (last != 0 && now_us - last < CLOSE_TOGETHER_US);

  if (!close_together || prefetch <= LONE_ROWS ||
      kr_table_knows_below(queue->table, lookup->row, lookup->position, prefetch - 1)) {
    return LONE_ROWS;
  }
  return prefetch;
}

/* Start a flight for a lookup. May end both at once. */
static void fly(struct kr_locator *locator, struct kr_queue *queue, struct kr_lookup *lookup)
{
  struct kr_flight *flight =
      kr_flight_new(&locator->means, &host, locator, queue->table, lookup->row, lookup->position);
  int64_t now_us = kr_clock_us();

  if (flight == NULL) {
    kr_lookup_no_memory(lookup);
    return;
  }
  flight->queue = queue;
  flight->is_root = queue->is_root;
  flight->limit = choose_limit(locator, queue, lookup, now_us);
  flight->try_ms = own_try_ms(lookup, now_us);
  flight->deadline_us = now_us + 1000 * flight->try_ms;
  flight->counted = !queue->is_root && lookup->flight_of == NULL;
  DL_APPEND(queue->flights, flight);
  queue->flight_count++;
  locator->flight_count += flight->counted;
  board(lookup, flight);
  kr_flight_start(flight);
}

/* A flight that asks what a lookup does, and has a good part of its time left; NULL = none. */
static struct kr_flight *same_question(const struct kr_queue *queue, const struct kr_lookup *lookup)
{
  return queue->flights != NULL
             ? kr_queue_same_question(queue, lookup, own_try_ms(lookup, kr_clock_us()) / 2)
             : NULL;
}

/* See whether a lookup that is ready needs no flight of its own: then it leaves the list. */
static bool settle(struct kr_locator *locator, struct kr_queue *queue, struct kr_lookup *lookup)
{
  struct keyroute_location *location = kr_serve_cached(lookup);
  struct kr_flight *flight;

  if (location != NULL) {
    kr_lookup_found(lookup, location,
                    KEYROUTE_SOURCE_CATALOG); /* it came while the lookup waited */
  } else if ((flight = same_question(queue, lookup)) != NULL) {
    kr_stats_add(locator->means.stats, KR_COUNT_JOINS, 1);
    board(lookup, flight);
  } else if ((flight = kr_queue_hope(queue, lookup)) != NULL) {
    kr_queue_move(lookup, KR_LOOKUP_HOPING, flight);
  } else {
    return false;
  }
  return true;
}

/* The next queue to look at; NULL = nothing can be done now. Those that wait for the budget come
 * only when there is some. */
static struct kr_queue *next_in_line(struct kr_locator *locator, bool *was_stalled)
{
  struct kr_queue *queue = locator->line;

  *was_stalled = false;
  if (queue == NULL && locator->flight_count < locator->means.scans_max) {
    queue = locator->stalled;
    *was_stalled = true;
  }
  if (queue != NULL) {
    leave_line(locator, queue);
  }
  return queue;
}

/* Does a flight for this lookup have to wait for the connection's budget? First come first served:
 * tables that wait already go first. */
static bool must_stall(const struct kr_locator *locator, const struct kr_queue *queue,
                       const struct kr_lookup *lookup, bool was_stalled)
{
  if (queue->is_root || lookup->flight_of != NULL) {
    return false;
  }
  return locator->flight_count >= locator->means.scans_max ||
         (locator->stalled != NULL && !was_stalled);
}

/* Let one queue go as far as it can, but with one flight at most: then it is the others' turn. */
static void run_queue(struct kr_locator *locator, struct kr_queue *queue, bool was_stalled)
{
  struct kr_lookup *lookup;

  while ((lookup = queue->ready) != NULL && settle(locator, queue, lookup)) {
  }
  if (lookup == NULL || queue->flight_count >= locator->means.scans_per_table) {
    drop_if_unused(locator, queue); /* else the end of one of its flights brings it back */
  } else if (queue->is_root && kr_root_must_pause(locator)) {
    return; /* its end brings the queue back */
  } else if (must_stall(locator, queue, lookup, was_stalled)) {
    leave_line(locator, queue);
    queue->line = KR_LINE_STALLED;
    DL_APPEND(locator->stalled, queue);
  } else {
    fly(locator, queue, lookup);
    kr_locator_line_up(locator, queue);
  }
}

static void run_line(struct kr_locator *locator)
{
  struct kr_queue *queue;
  bool was_stalled;

  while (!locator->closed && (queue = next_in_line(locator, &was_stalled)) != NULL) {
    run_queue(locator, queue, was_stalled);
  }
}

/* ---- From outside ---- */

static void deadline_passed(void *arg)
{
  struct kr_lookup *lookup = arg;
  struct kr_locator *locator = lookup->locator;

  kr_locator_enter(locator);
  lookup->alarm = NULL;
  kr_lookup_late(lookup);
  kr_locator_leave(locator);
}

/* A lookup that the cache does not serve gets a place in its queue and an alarm. */
static void enqueue(struct kr_locator *locator, struct kr_lookup *lookup)
{
  struct kr_queue *queue = get_queue(locator, lookup->table);
  int64_t remaining_us = lookup->deadline_us - kr_clock_us();

  if (lookup->flight_of != NULL) {
    remaining_us += GRACE_US;
  }
  if (queue == NULL) {
    kr_lookup_no_memory(lookup);
    return;
  }
  kr_queue_add(queue, lookup);
  kr_locator_line_up(locator, queue);
  lookup->alarm =
      kr_timer_start(locator->means.loop, (remaining_us + 999) / 1000, deadline_passed, lookup);
  if (lookup->alarm == NULL) {
    kr_lookup_no_memory(lookup);
  }
}

void kr_locator_start(struct kr_locator *locator, struct kr_lookup *lookup)
{
  struct keyroute_location *location;

  kr_locator_enter(locator);
  lookup->locator = locator;
  lookup->waits_since_us = lookup->began_us;
  lookup->epoch = kr_cache_epoch(locator->means.cache);
  lookup->since = lookup->refresh ? kr_cache_tick(locator->means.cache) : 0;
  location = kr_serve_cached(lookup);
  if (locator->closed) {
    kr_lookup_closed(lookup);
  } else if (location != NULL) {
    kr_lookup_found(lookup, location, KEYROUTE_SOURCE_CACHE);
  } else if (lookup->cache_only) {
    struct kr_question question = kr_lookup_question(lookup);

    kr_check_not_cached(&lookup->failure, &question);
    kr_lookup_end(lookup);
  } else {
    enqueue(locator, lookup);
  }
  kr_locator_leave(locator);
}

void kr_locator_cancel(struct kr_locator *locator, struct kr_lookup *lookup)
{
  if (lookup->queue == NULL) {
    return;
  }
  kr_locator_enter(locator);
  kr_lookup_end_early(lookup, KEYROUTE_E_CANCELLED);
  kr_locator_leave(locator);
}

/* Forget a flight's lookup of its parent: done will not run. */
static void withdraw(struct kr_locator *locator, struct kr_lookup *lookup)
{
  kr_locator_enter(locator);
  if (lookup->state == KR_LOOKUP_ANSWERED) {
    DL_DELETE(locator->answered, lookup);
    keyroute_location_release(lookup->location);
  } else {
    kr_lookup_take_out(lookup);
  }
  lookup->state = KR_LOOKUP_OUTSIDE;
  kr_locator_leave(locator);
}

void kr_locator_root_changed(struct kr_locator *locator)
{
  kr_locator_enter(locator);
  struct kr_lookup *news = kr_root_changed(locator);

  if (news != NULL) {
    kr_locator_start(locator, news);
  }
  kr_locator_leave(locator);
}

/* ---- Closing ---- */

/* End everything of one queue. Flights of lookups that are made for other flights go with those. */
static void close_queue(struct kr_locator *locator, struct kr_queue *queue)
{
  struct kr_lookup *lookup, *next;

  for (lookup = kr_queue_first(queue); lookup != NULL; lookup = next) {
    next = kr_queue_next(lookup);
    if (lookup->flight_of == NULL) {
      kr_lookup_closed(lookup);
    }
  }
  while (queue->flights != NULL) {
    struct kr_flight *flight = queue->flights;

    remove_flight(locator, flight);
    kr_serve_disband(flight);
    kr_flight_free(flight);
  }
}

void kr_locator_shutdown(struct kr_locator *locator)
{
  struct kr_queue *queue, *next;

  kr_locator_enter(locator);
  locator->closed = true;
  kr_timer_stop(locator->root_pause);
  locator->root_pause = NULL;
  while (locator->queues != NULL) {
    /* Freeing a table's flights withdraws their lookups from the queues of the parents. */
    HASH_ITER (hh, locator->queues, queue, next) {
      close_queue(locator, queue);
    }
    HASH_ITER (hh, locator->queues, queue, next) {
      drop_if_unused(locator, queue);
    }
  }
  kr_locator_leave(locator);
}

struct kr_locator *kr_locator_new(const struct kr_means *means)
{
  struct kr_locator *locator = kr_calloc(means->mem, sizeof(*locator));

  if (locator != NULL) {
    locator->means = *means;
    locator->random = (uint64_t)kr_clock_us() ^ (uint64_t)(uintptr_t)locator;
  }
  return locator;
}

void kr_locator_free(struct kr_locator *locator)
{
  if (locator != NULL) {
    kr_free(locator->means.mem, locator);
  }
}
