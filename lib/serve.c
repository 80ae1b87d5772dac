/*
 * What a flight brought, and for whom.
 *
 *  1. A location serves every lookup of the table whose row it covers, whatever the lookup's state:
 *     so do the regions met beside the wanted one, by way of the cache.
 *  2. A lookup that asks for fresh news is served only by what was sent after it began; and one
 *     that began after the cache was told to forget things, only by what was started since.
 *  3. A failure is its members' only. That there is no such table is an answer to all.
 *  4. Whoever hoped in vain is ready for a flight of its own, sooner or later (queue.c).
 */
#include "lib/serve.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/outcome.h"
#include "lib/queue.h"

/* Is this location what the lookup asked for, as far as servers go? */
static bool serves(const struct kr_lookup *lookup, const struct keyroute_location *location)
{
  struct kr_failure failure;

  return kr_check_replica(&failure, location, lookup->replica, kr_clock_us());
}

/* The cached location that serves a lookup, or NULL. Only good until the loop does something else:
 * it alone takes regions out. */
struct keyroute_location *kr_serve_cached(const struct kr_lookup *lookup)
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

/* What a region that a flight brought means for one lookup whose row it covers. */
static void serve(struct kr_lookup *lookup, struct kr_flight *flight,
                  struct keyroute_location *region)
{
  const struct kr_means *means = flight->means;
  bool is_member = lookup->state == KR_LOOKUP_FLYING && lookup->flight == flight;
  /* What was met beside the wanted region is given out from the cache only. */
  bool is_answer = region == flight->location && kr_flight_is_news(flight, lookup);
  struct keyroute_location *found = is_answer ? region : kr_serve_cached(lookup);
  struct kr_failure failure;

  if (found == NULL) {
    return;
  }
  if (!is_member) {
    kr_trace_add(lookup->trace, "join", lookup->waits_since_us - lookup->began_us,
                 kr_clock_us() - lookup->waits_since_us, NULL, "served by another lookup's scan");
  }
  if (kr_check_replica(&failure, found, lookup->replica, kr_clock_us())) {
    if (lookup->state != KR_LOOKUP_FLYING) {
      kr_stats_add(means->stats, KR_COUNT_JOINS, 1); /* it only waited */
    }
    kr_lookup_found(lookup, found,
                    flight->at == NULL ? KEYROUTE_SOURCE_REGISTRY : KEYROUTE_SOURCE_CATALOG);
  } else if (is_member) {
    kr_lookup_try_failed(lookup, &failure, kr_buf_view(&flight->reach));
  } else if (lookup->state == KR_LOOKUP_READY || lookup->state == KR_LOOKUP_HOPING) {
    /* Its own try would find the same. */
    lookup->attempts++;
    kr_lookup_try_failed(lookup, &failure, keyroute_location_start_key(found));
  }
}

/* Returns how many rows somebody waited for in the region. */
static size_t serve_covered(struct kr_flight *flight, struct keyroute_location *region)
{
  struct kr_lookup *lookup = kr_queue_first_in(flight->queue, region);
  size_t rows = 0;

  while (lookup != NULL) {
    struct kr_lookup *next = kr_queue_next_in(lookup, region);

    rows += next == NULL || !kr_bytes_equal(lookup->row, next->row);
    serve(lookup, flight, region);
    lookup = next;
  }
  return rows;
}

void kr_serve_all(struct kr_flight *flight)
{
  size_t rows = serve_covered(flight, flight->location);
  size_t wanted = rows > 0; /* regions that somebody waited for */

  flight->queue->heard.code = 0;
  for (size_t i = 0; i < flight->row_count; i++) {
    const struct kr_catalog_row *row = &flight->rows[i];

    if (kr_check_live(row) && row->location != flight->location) {
      size_t more = serve_covered(flight, row->location);

      rows += more;
      wanted += more > 0;
    }
  }
  kr_queue_learn(flight->queue, rows, wanted);
}

/* Whoever waits for its turn is told, should its deadline come first, what keeps others from the
 * catalog: that is not a matter of their rows. */
static void hear(struct kr_queue *queue, const struct kr_failure *failure)
{
  switch (failure->code) {
  case KEYROUTE_E_BOOTSTRAP:
  case KEYROUTE_E_RESOLVE:
  case KEYROUTE_E_UNREACHABLE:
  case KEYROUTE_E_PROTOCOL:
  case KEYROUTE_E_OVERLOADED:
  case KEYROUTE_E_AUTH:
    queue->heard = *failure;
    queue->heard_us = kr_clock_us();
    break;
  default:
    break;
  }
}

/* There is no such table: an answer to all who ask about it. */
static void end_no_table(struct kr_flight *flight)
{
  struct kr_lookup *lookup, *next;

  for (lookup = kr_queue_first(flight->queue); lookup != NULL; lookup = next) {
    next = kr_queue_next(lookup);
    if (kr_flight_is_news(flight, lookup)) {
      kr_lookup_failed(lookup, &flight->failure);
    }
  }
}

void kr_serve_failure(struct kr_flight *flight)
{
  while (flight->members != NULL) {
    kr_lookup_try_failed(flight->members, &flight->failure, kr_buf_view(&flight->reach));
  }
  hear(flight->queue, &flight->failure);
  if (flight->failure.code == KEYROUTE_E_TABLE_NOT_FOUND) {
    end_no_table(flight);
  }
}

/* Those whom a flight did not serve are ready for another. */
void kr_serve_disband(struct kr_flight *flight)
{
  while (flight->members != NULL) {
    kr_queue_move(flight->members, KR_LOOKUP_READY, NULL);
  }
  while (flight->hopers != NULL) {
    flight->hopers->passed_over++;
    kr_queue_move(flight->hopers, KR_LOOKUP_READY, NULL);
  }
}
