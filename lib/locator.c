/*
 * The story of a lookup: cache -> join a scan under way, or start one -> answer, or try again.
 *
 * A table's unfinished lookups stand in a queue, in the order they came. A flight (flight.c) is one
 * try at the catalog: it makes sure of the parent's region, scans it, checks and stores what it
 * met, and has a location or a failure. This file decides which lookups fly, who is served by what
 * a flight brought, and what becomes of the others. The parent's region is itself a lookup here,
 * whose owner is the flight: the recursion that ends at the registry.
 *
 *  1. A lookup is waiting (in no flight, no sleep), flying (member of a flight), sleeping (until
 *     its next try) or answered (its done is yet to run).
 *  2. A flight serves every lookup of its table whose row its regions cover, whatever their state.
 *     Its failure is shared by its members only; but that there is no such table, by all.
 *  3. A lookup waits for a flight in the same gap of the cache rather than fly itself, for what the
 *     flight finds may cover its row too. Passed over PATIENCE times it gets its own. So 64 threads
 *     on one cold region make one scan, and a cold table is still not read one region after
 *     another.
 *  4. Only lookups try again, and retry.c says when. A flight, and the lookup it makes, is one try.
 *  5. done runs when the outermost function of the locator returns: whoever it calls finds
 *     everything consistent, and the stack stays flat.
 *  6. A lookup that asks for fresh news is served only by what was sent after it began; and one
 *     that began after the cache was told to forget things, only by what was started since.
 */
#include "lib/locator.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/hash.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

/* How often a lookup lets a flight that may serve it go by. */
enum { PATIENCE = 2 };

/* Misses of one table closer together than this are worth a longer scan. */
enum { CLOSE_TOGETHER_US = 100000 };

/* A flight's own lookup is given this much more time, so that what stands in its way is told by the
 * one who met it rather than by an alarm. */
enum { GRACE_US = 20000 };

/* Rows of a lone miss's scan: enough to step over a split parent or two. */
enum { LONE_ROWS = 3 };

/* The unfinished lookups of one table. */
struct kr_queue {
  UT_hash_handle hh;
  struct keyroute_table *table; /* counted; the key */
  struct kr_lookup *lookups;
  struct kr_flight *flights;
  unsigned flight_count;
  bool is_root; /* its only region's place is known to the registry */
  bool busy;    /* somebody walks its lists */
};

struct kr_locator {
  struct kr_means means;
  struct kr_queue *queues;
  struct kr_lookup *answered; /* those whose done is yet to run, through prev and next */
  unsigned depth;             /* of functions of the locator on the stack */
  uint64_t random;
  const struct keyroute_table *last_missed; /* only compared */
  int64_t last_missed_us;
  bool closed;
};

static void pump(struct kr_queue *queue, struct kr_locator *locator);
static void pump_one(struct kr_queue *queue, struct kr_locator *locator, struct kr_lookup *lookup);

/* ---- Entering and leaving (invariant 5) ---- */

static void enter(struct kr_locator *locator)
{
  locator->depth++;
}

static void leave(struct kr_locator *locator)
{
  struct kr_lookup *lookup;

  while (locator->depth == 1 && (lookup = locator->answered) != NULL) {
    DL_DELETE(locator->answered, lookup);
    lookup->answered = false;
    lookup->done(lookup);
  }
  locator->depth--;
}

/* ---- Queues ---- */

static struct kr_queue *new_queue(struct kr_locator *locator, struct keyroute_table *table)
{
  struct kr_mem *mem = locator->means.mem;
  struct kr_queue *queue = kr_calloc(mem, sizeof(*queue));
  bool hash_failed = false;

  if (queue == NULL) {
    return NULL;
  }
  queue->table = kr_table_ref(table);
  queue->is_root = locator->means.catalog->parent(kr_table_name(table)).len == 0;
  HASH_ADD_PTR(locator->queues, table, queue);
  if (hash_failed) {
    kr_table_release(queue->table);
    kr_free(mem, queue);
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

static void drop_queue_if_unused(struct kr_locator *locator, struct kr_queue *queue)
{
  struct kr_mem *mem = locator->means.mem;

  if (queue->lookups == NULL && queue->flights == NULL && !queue->busy) {
    HASH_DEL(locator->queues, queue);
    kr_table_release(queue->table);
    kr_free(mem, queue);
  }
}

/* ---- Ending a lookup ---- */

static void stop_timer(struct kr_timer **timer)
{
  kr_timer_stop(*timer);
  *timer = NULL;
}

static void leave_flight(struct kr_lookup *lookup)
{
  if (lookup->flight != NULL) {
    lookup->flight->members--;
    lookup->flight = NULL;
  }
}

/* Take a lookup out of everything it stands in. */
static void take_out(struct kr_lookup *lookup)
{
  leave_flight(lookup);
  stop_timer(&lookup->sleep);
  stop_timer(&lookup->alarm);
  if (lookup->queue != NULL) {
    DL_DELETE(lookup->queue->lookups, lookup);
    lookup->queue = NULL;
  }
}

static void end_lookup(struct kr_lookup *lookup)
{
  take_out(lookup);
  lookup->answered = true;
  DL_APPEND(lookup->locator->answered, lookup);
}

static void end_found(struct kr_lookup *lookup, const struct keyroute_location *location,
                      enum keyroute_source source)
{
  lookup->location = keyroute_location_ref(location);
  lookup->source = source;
  lookup->failure.code = 0;
  lookup->failure.message[0] = '\0';
  if (source != KEYROUTE_SOURCE_CACHE && lookup->attempts == 0) {
    lookup->attempts = 1; /* another's try served it */
  }
  end_lookup(lookup);
}

static void end_failed(struct kr_lookup *lookup, const struct kr_failure *failure)
{
  lookup->failure = *failure;
  end_lookup(lookup);
}

static void end_with(struct kr_lookup *lookup, int code, const char *message)
{
  kr_fail(&lookup->failure, code, "%s", message);
  end_lookup(lookup);
}

static void end_no_memory(struct kr_lookup *lookup)
{
  end_with(lookup, KEYROUTE_E_NO_MEMORY, "out of memory");
}

static void end_closed(struct kr_lookup *lookup)
{
  end_with(lookup, KEYROUTE_E_CLOSED, "the connection is closed");
}

/* Say behind a failure how long it was fought with. */
static void add_deadline(struct kr_lookup *lookup)
{
  char *message = lookup->failure.message;
  size_t len = strlen(message);

  snprintf(message + len, sizeof(lookup->failure.message) - len, " (deadline of %lld ms, %u %s)",
           (long long)(lookup->deadline_us - lookup->began_us) / 1000, lookup->attempts,
           lookup->attempts == 1 ? "try" : "tries");
}

static struct kr_question question_of(const struct kr_lookup *lookup)
{
  return (struct kr_question){kr_table_name(lookup->table), lookup->row, lookup->position};
}

/* The deadline is there. What stood in the way last is the error; TIMEOUT is for when nothing had
 * answered. */
static void end_late(struct kr_lookup *lookup)
{
  struct kr_question question = question_of(lookup);

  if (lookup->failure.code == 0) {
    kr_check_no_answer(&lookup->failure, &question);
  }
  lookup->deadline = true;
  add_deadline(lookup);
  end_lookup(lookup);
}

/* ---- Trying again ---- */

/* splitmix64: spreading waits needs no better. */
static uint64_t next_random(struct kr_locator *locator)
{
  uint64_t z = locator->random += 0x9e3779b97f4a7c15u;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void slept(void *arg)
{
  struct kr_lookup *lookup = arg;
  struct kr_locator *locator = lookup->locator;

  lookup->sleep = NULL;
  lookup->waits_since_us = kr_clock_us();
  enter(locator);
  pump_one(lookup->queue, locator, lookup);
  leave(locator);
}

/* Put a lookup to sleep until its next try. */
static void sleep_for(struct kr_lookup *lookup, int64_t wait_ms)
{
  const struct kr_means *means = &lookup->locator->means;

  kr_stats_add(means->stats, KR_COUNT_RETRIES, 1);
  kr_trace_add(lookup->trace, "wait", kr_clock_us() - lookup->began_us, wait_ms * 1000, NULL,
               "%lld ms", (long long)wait_ms);
  lookup->sleep = kr_timer_start(means->loop, wait_ms, slept, lookup);
  if (lookup->sleep == NULL) {
    end_no_memory(lookup);
  }
}

/* A try has failed: end the lookup, or let it sleep. */
static void try_failed(struct kr_lookup *lookup, const struct kr_failure *failure)
{
  struct kr_locator *locator = lookup->locator;
  /* Rounded up: a wait that ends just before the deadline would be followed by one more try. */
  int64_t remaining_ms = (lookup->deadline_us - kr_clock_us() + 999) / 1000;
  int64_t wait_ms = -1;

  leave_flight(lookup);
  /* TIMEOUT is for when nothing had answered: what did answer is the better reason. */
  if (failure->code != KEYROUTE_E_TIMEOUT || lookup->failure.code == 0) {
    lookup->failure = *failure;
  }
  if (!lookup->single_try) {
    wait_ms = kr_retry_wait_ms(&locator->means.retry, lookup->attempts, failure,
                               remaining_ms > 0 ? remaining_ms : 0, next_random(locator));
  }
  if (wait_ms < 0) {
    end_lookup(lookup);
  } else {
    sleep_for(lookup, wait_ms);
  }
}

/* ---- Serving ---- */

/* Is it in no flight and no sleep? */
static bool waits(const struct kr_lookup *lookup)
{
  return lookup->flight == NULL && lookup->sleep == NULL;
}

/* Is this location what the lookup asked for, as far as servers go? */
static bool serves(const struct kr_lookup *lookup, const struct keyroute_location *location)
{
  struct kr_failure failure;

  return kr_check_replica(&failure, location, lookup->replica, kr_clock_us());
}

/* The cached location that serves a lookup, or NULL. Only good until the loop does something else:
 * it alone takes regions out. */
static struct keyroute_location *cached(const struct kr_lookup *lookup)
{
  struct keyroute_location *location;

  if (lookup->refresh) {
    return NULL;
  }
  kr_rcu_read_begin();
  location = kr_table_find(lookup->table, lookup->row, lookup->position);
  kr_rcu_read_end();
  return location != NULL && serves(lookup, location) ? location : NULL;
}

/* Was a flight's answer read late enough for a lookup (invariant 6)? */
static bool is_news(const struct kr_lookup *lookup, const struct kr_flight *flight)
{
  return lookup->since < flight->sent && lookup->epoch <= flight->epoch;
}

/* What a flight's answer means for one lookup of its table. */
static void serve(struct kr_lookup *lookup, const struct kr_flight *flight,
                  enum keyroute_source source)
{
  struct keyroute_location *found = cached(lookup);
  struct kr_failure failure;

  if (is_news(lookup, flight) &&
      kr_location_covers(flight->location, lookup->row, lookup->position)) {
    found = flight->location;
  }
  if (found == NULL) {
    lookup->passed_over++;
    return;
  }
  if (lookup->flight != flight) {
    int64_t waited_us = kr_clock_us() - lookup->waits_since_us;

    kr_trace_add(lookup->trace, "join", lookup->waits_since_us - lookup->began_us, waited_us, NULL,
                 "served by another lookup's scan");
  }
  if (kr_check_replica(&failure, found, lookup->replica, kr_clock_us())) {
    if (lookup->flight == NULL) {
      kr_stats_add(lookup->locator->means.stats, KR_COUNT_JOINS, 1); /* it only waited */
    }
    end_found(lookup, found, source);
  } else if (lookup->flight == flight) {
    try_failed(lookup, &failure);
  } else if (waits(lookup)) {
    /* Its own try would find the same. */
    lookup->attempts++;
    try_failed(lookup, &failure);
  }
}

/* A lookup that waits for its turn is told, should its deadline come first, what keeps others from
 * the catalog: that is not a matter of their rows. */
static void hear(struct kr_lookup *lookup, const struct kr_failure *failure)
{
  switch (failure->code) {
  case KEYROUTE_E_BOOTSTRAP:
  case KEYROUTE_E_RESOLVE:
  case KEYROUTE_E_UNREACHABLE:
  case KEYROUTE_E_PROTOCOL:
  case KEYROUTE_E_OVERLOADED:
  case KEYROUTE_E_AUTH:
    lookup->failure = *failure;
    break;
  default:
    break;
  }
}

/* What a flight's failure means for one lookup of its table. */
static void share_failure(struct kr_lookup *lookup, const struct kr_flight *flight)
{
  bool no_table = flight->failure.code == KEYROUTE_E_TABLE_NOT_FOUND;

  if (lookup->flight == flight) {
    try_failed(lookup, &flight->failure);
  } else if (no_table && is_news(lookup, flight)) {
    end_failed(lookup, &flight->failure);
  } else {
    hear(lookup, &flight->failure);
    lookup->passed_over++;
  }
}

static void remove_flight(struct kr_queue *queue, struct kr_flight *flight)
{
  DL_DELETE(queue->flights, flight);
  queue->flight_count--;
}

/* A flight has its result: serve the queue, let others fly. */
static void flight_ended(struct kr_flight *flight)
{
  struct kr_locator *locator = flight->locator;
  struct kr_queue *queue = flight->queue;
  enum keyroute_source source = queue->is_root ? KEYROUTE_SOURCE_REGISTRY : KEYROUTE_SOURCE_CATALOG;
  struct kr_lookup *lookup, *next;

  enter(locator);
  remove_flight(queue, flight);
  DL_FOREACH_SAFE (queue->lookups, lookup, next) {
    if (flight->location == NULL) {
      share_failure(lookup, flight);
    } else {
      serve(lookup, flight, source);
    }
  }
  kr_flight_free(flight);
  pump(queue, locator);
  leave(locator);
}

/* ---- Members' traces and counts ---- */

/* Of a flight that is made for another flight, those of the other. */
static void flight_step(struct kr_flight *flight, const char *name, int64_t began_us,
                        const char *server, const char *detail)
{
  const struct kr_lookup *lookup;
  int64_t took_us = kr_clock_us() - began_us;

  DL_FOREACH (flight->queue->lookups, lookup) {
    if (lookup->flight == flight && lookup->flight_of != NULL) {
      flight_step(lookup->flight_of, name, began_us, server, detail);
    } else if (lookup->flight == flight && lookup->trace != NULL) {
      int64_t at_us = began_us - lookup->began_us;

      kr_trace_add(lookup->trace, name, at_us > 0 ? at_us : 0, took_us, server, "%s", detail);
    }
  }
}

static void flight_sent(struct kr_flight *flight)
{
  struct kr_lookup *lookup;

  DL_FOREACH (flight->queue->lookups, lookup) {
    if (lookup->flight == flight) {
      lookup->rpcs++;
      if (lookup->flight_of != NULL) {
        flight_sent(lookup->flight_of);
      }
    }
  }
}

/* ---- Who flies ---- */

static void withdraw(struct kr_locator *locator, struct kr_lookup *lookup);

static const struct kr_flight_host host = {
    .locate = kr_locator_start,
    .withdraw = withdraw,
    .step = flight_step,
    .sent = flight_sent,
    .ended = flight_ended,
};

static void board(struct kr_lookup *lookup, struct kr_flight *flight)
{
  lookup->flight = flight;
  lookup->attempts++;
  flight->members++;
}

/* May this flight's result be the lookup's own, whatever it is? The root has one region, and so one
 * question. */
static bool same_question(const struct kr_lookup *lookup, const struct kr_flight *flight)
{
  bool same_row = flight->queue->is_root ||
                  (lookup->position == flight->position &&
                   kr_bytes_equal(lookup->row, kr_bytes(flight->row, flight->row_len)));

  return same_row && lookup->epoch <= flight->epoch &&
         (flight->sent == 0 || lookup->since < flight->sent);
}

/* Do two rows lie in the same gap between cached regions? */
static bool same_gap(const struct kr_lookup *lookup, const struct kr_flight *flight)
{
  bool same;

  kr_rcu_read_begin();
  same = kr_table_floor(lookup->table, lookup->row) ==
         kr_table_floor(lookup->table, kr_bytes(flight->row, flight->row_len));
  kr_rcu_read_end();
  return same;
}

/* How long a try of a lookup's own may take. */
static int64_t own_try_ms(const struct kr_lookup *lookup)
{
  int64_t whole_us = lookup->deadline_us - lookup->began_us;
  int64_t remaining_us = lookup->deadline_us - kr_clock_us();

  return kr_retry_try_ms(whole_us / 1000, remaining_us / 1000, lookup->locator->means.try_limit_ms);
}

/* Is a flight given about the time that the lookup would give its own? One made for somebody in
 * more of a hurry fails sooner, and would use up the tries of those who have time. */
static bool is_patient(const struct kr_lookup *lookup, const struct kr_flight *flight)
{
  return flight->try_ms >= own_try_ms(lookup) / 2;
}

/* Join a flight with the same question. */
static bool join(struct kr_queue *queue, struct kr_lookup *lookup)
{
  struct kr_flight *flight;

  DL_FOREACH (queue->flights, flight) {
    if (same_question(lookup, flight) && is_patient(lookup, flight)) {
      kr_stats_add(lookup->locator->means.stats, KR_COUNT_JOINS, 1);
      board(lookup, flight);
      return true;
    }
  }
  return false;
}

/* Is a flight under way that is worth waiting for (invariant 3)? */
static bool may_be_served(struct kr_queue *queue, struct kr_lookup *lookup)
{
  struct kr_flight *flight;

  if (lookup->passed_over >= PATIENCE || lookup->refresh) {
    return false;
  }
  DL_FOREACH (queue->flights, flight) {
    if (same_gap(lookup, flight)) {
      return true;
    }
  }
  return false;
}

/* How many rows to scan: more where neighbours are likely to be asked for too. The root is not
 * scanned for, and does not count as a table that was missed. */
static uint32_t choose_limit(struct kr_locator *locator, const struct kr_queue *queue)
{
  if (queue->is_root) {
    return LONE_ROWS;
  }
  int64_t now = kr_clock_us();
  bool close_together =
      queue->lookups->next != NULL ||
      (locator->last_missed == queue->table && now - locator->last_missed_us < CLOSE_TOGETHER_US);

  locator->last_missed = queue->table;
  locator->last_missed_us = now;
  if (close_together && locator->means.prefetch > LONE_ROWS) {
    return locator->means.prefetch;
  }
  return LONE_ROWS;
}

/* Start a flight for a lookup. May end both at once. */
static void fly(struct kr_locator *locator, struct kr_queue *queue, struct kr_lookup *lookup)
{
  struct kr_flight *flight =
      kr_flight_new(&locator->means, &host, locator, queue->table, lookup->row, lookup->position);

  if (flight == NULL) {
    end_with(lookup, KEYROUTE_E_NO_MEMORY, "out of memory");
    return;
  }
  flight->queue = queue;
  flight->limit = choose_limit(locator, queue);
  flight->try_ms = own_try_ms(lookup);
  flight->deadline_us = kr_clock_us() + 1000 * flight->try_ms;
  DL_APPEND(queue->flights, flight);
  queue->flight_count++;
  board(lookup, flight);
  kr_flight_start(flight);
}

/* Let one waiting lookup go as far as it can. */
static void advance(struct kr_locator *locator, struct kr_queue *queue, struct kr_lookup *lookup)
{
  struct keyroute_location *location = cached(lookup);

  if (location != NULL) {
    end_found(lookup, location, KEYROUTE_SOURCE_CATALOG); /* it came while the lookup waited */
  } else if (!join(queue, lookup) && !may_be_served(queue, lookup) &&
             queue->flight_count < locator->means.scans_per_table) {
    fly(locator, queue, lookup);
  }
}

/* Flights that no member waits for are given up, unless others may be served by them. */
static void drop_idle_flights(struct kr_queue *queue)
{
  struct kr_flight *flight, *next;

  DL_FOREACH_SAFE (queue->flights, flight, next) {
    if (flight->members == 0 && queue->lookups == NULL) {
      remove_flight(queue, flight);
      kr_flight_free(flight);
    }
  }
}

/* Let all of a queue's waiting lookups go as far as they can, first come first served. A flight
 * that ends at once comes back here, finds the queue busy, and has taken its lookup out of the
 * list. */
static void pump(struct kr_queue *queue, struct kr_locator *locator)
{
  struct kr_lookup *lookup;

  if (queue->busy) {
    return;
  }
  queue->busy = true;
  bool again = !locator->closed;

  while (again) {
    again = false;
    DL_FOREACH (queue->lookups, lookup) {
      if (waits(lookup)) {
        advance(locator, queue, lookup);
        if (lookup->queue == NULL) {
          again = true; /* it has left the list: where was the next one? */
          break;
        }
      }
    }
  }
  drop_idle_flights(queue);
  queue->busy = false;
  drop_queue_if_unused(locator, queue);
}

/* A lookup has left the queue. Nothing changes for those that are still there: whoever waits waits
 * for a flight that is under way, and goes on when that ends. So a hundred thousand lookups can
 * meet their deadline together without each walking over all the others. */
static void pump_if_empty(struct kr_queue *queue, struct kr_locator *locator)
{
  if (queue->lookups == NULL) {
    pump(queue, locator);
  }
}

/* Let one lookup that has just begun to wait go as far as it can. As above, nothing changes for the
 * others, also if a flight of its own ended at once. */
static void pump_one(struct kr_queue *queue, struct kr_locator *locator, struct kr_lookup *lookup)
{
  if (!queue->busy && !locator->closed) {
    queue->busy = true;
    advance(locator, queue, lookup);
    queue->busy = false;
    pump_if_empty(queue, locator);
  }
}

/* ---- From outside ---- */

static void deadline_passed(void *arg)
{
  struct kr_lookup *lookup = arg;
  struct kr_locator *locator = lookup->locator;
  struct kr_queue *queue = lookup->queue;

  lookup->alarm = NULL;
  enter(locator);
  end_late(lookup);
  pump_if_empty(queue, locator);
  leave(locator);
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
    end_no_memory(lookup);
    return;
  }
  lookup->queue = queue;
  DL_APPEND(queue->lookups, lookup);
  lookup->alarm =
      kr_timer_start(locator->means.loop, (remaining_us + 999) / 1000, deadline_passed, lookup);
  if (lookup->alarm == NULL) {
    end_no_memory(lookup);
    drop_queue_if_unused(locator, queue);
  } else {
    pump_one(queue, locator, lookup);
  }
}

void kr_locator_start(struct kr_locator *locator, struct kr_lookup *lookup)
{
  struct keyroute_location *location;

  enter(locator);
  lookup->locator = locator;
  lookup->waits_since_us = lookup->began_us;
  lookup->epoch = kr_cache_epoch(locator->means.cache);
  lookup->since = lookup->refresh ? kr_cache_tick(locator->means.cache) : 0;
  location = cached(lookup);
  if (locator->closed) {
    end_closed(lookup);
  } else if (location != NULL) {
    end_found(lookup, location, KEYROUTE_SOURCE_CACHE);
  } else if (lookup->cache_only) {
    struct kr_question question = question_of(lookup);

    kr_check_not_cached(&lookup->failure, &question);
    end_lookup(lookup);
  } else {
    enqueue(locator, lookup);
  }
  leave(locator);
}

void kr_locator_cancel(struct kr_locator *locator, struct kr_lookup *lookup)
{
  struct kr_queue *queue = lookup->queue;

  if (lookup->answered || queue == NULL) {
    return;
  }
  enter(locator);
  end_with(lookup, KEYROUTE_E_CANCELLED, "the call was cancelled");
  pump_if_empty(queue, locator);
  leave(locator);
}

/* Forget a flight's lookup of its parent: done will not run. */
static void withdraw(struct kr_locator *locator, struct kr_lookup *lookup)
{
  struct kr_queue *queue = lookup->queue;

  if (lookup->answered) {
    DL_DELETE(locator->answered, lookup);
    keyroute_location_release(lookup->location);
    return;
  }
  enter(locator);
  take_out(lookup);
  pump_if_empty(queue, locator);
  leave(locator);
}

/* Have a sleeping lookup try again soon. Not all at once, and not in this turn of the loop. */
static void wake_soon(struct kr_lookup *lookup)
{
  struct kr_locator *locator = lookup->locator;
  const struct kr_means *means = &locator->means;

  kr_timer_stop(lookup->sleep);
  lookup->sleep =
      kr_timer_start(means->loop, (int64_t)(next_random(locator) % (uint64_t)means->retry.pause_ms),
                     slept, lookup);
  if (lookup->sleep == NULL) {
    end_no_memory(lookup);
  }
}

static void forget_root(struct kr_locator *locator)
{
  struct keyroute_table *root =
      kr_cache_table(locator->means.cache, keyroute_string(locator->means.catalog->root));

  if (root != NULL) {
    kr_cache_clear_table(locator->means.cache, root);
    kr_table_release(root);
  }
}

void kr_locator_root_changed(struct kr_locator *locator)
{
  struct kr_queue *queue, *next_queue;
  struct kr_lookup *lookup, *next;

  enter(locator);
  forget_root(locator);
  HASH_ITER (hh, locator->queues, queue, next_queue) {
    DL_FOREACH_SAFE (queue->lookups, lookup, next) {
      if (lookup->sleep != NULL) {
        wake_soon(lookup);
      }
    }
    drop_queue_if_unused(locator, queue);
  }
  leave(locator);
}

/* End everything of one queue. Flights of lookups that are made for other flights go with those. */
static void close_queue(struct kr_queue *queue)
{
  struct kr_lookup *lookup, *next;

  queue->busy = true;
  DL_FOREACH_SAFE (queue->lookups, lookup, next) {
    if (lookup->flight_of == NULL) {
      end_closed(lookup);
    }
  }
  while (queue->flights != NULL) {
    struct kr_flight *flight = queue->flights;

    remove_flight(queue, flight);
    DL_FOREACH (queue->lookups, lookup) {
      if (lookup->flight == flight) {
        leave_flight(lookup);
      }
    }
    kr_flight_free(flight);
  }
  queue->busy = false;
}

void kr_locator_shutdown(struct kr_locator *locator)
{
  struct kr_queue *queue;

  enter(locator);
  locator->closed = true;
  while ((queue = locator->queues) != NULL) {
    /* Freeing a table's flights withdraws their lookups from the queues of the parents. */
    for (; queue != NULL; queue = queue->hh.next) {
      close_queue(queue);
    }
    for (queue = locator->queues; queue != NULL;) {
      struct kr_queue *next = queue->hh.next;

      drop_queue_if_unused(locator, queue);
      queue = next;
    }
  }
  leave(locator);
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
