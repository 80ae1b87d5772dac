/*
 * What becomes of one lookup: it ends with a location or a failure, or sleeps until its next try.
 *
 *  1. A lookup that ends leaves queue, flight and timers first; its done runs when the outermost
 *     function of the locator leaves.
 *  2. The failure it ends with is the last one that stood in its way. TIMEOUT, which says that
 *     nothing had answered, never hides a more telling one; and one that only waited for its turn
 *     is told what kept others of its table from the catalog.
 *  3. Whether and when it tries again is retry.c's to say.
 */
#include "lib/outcome.h"

#include "lib/clock.h"
#include "lib/locator_state.h"
#include "lib/random.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

/* ---- Ending a lookup ---- */

static void stop_timer(struct kr_timer **timer)
{
  kr_timer_stop(*timer);
  *timer = NULL;
}

/* Take a lookup out of everything it stands in. */
void kr_lookup_take_out(struct kr_lookup *lookup)
{
  struct kr_queue *queue = lookup->queue;

  stop_timer(&lookup->sleep);
  stop_timer(&lookup->alarm);
  if (queue != NULL) {
    kr_queue_remove(lookup);
    if (queue->count == 0) {
      kr_locator_line_up(lookup->locator, queue);
    }
  }
}

void kr_lookup_end(struct kr_lookup *lookup)
{
  kr_lookup_take_out(lookup);
  lookup->state = KR_LOOKUP_ANSWERED;
  DL_APPEND(lookup->locator->answered, lookup);
}

void kr_lookup_found(struct kr_lookup *lookup, const struct keyroute_location *location,
                     enum keyroute_source source)
{
  lookup->location = keyroute_location_ref(location);
  lookup->source = source;
  lookup->failure.code = 0;
  lookup->failure.message[0] = '\0';
  if (source != KEYROUTE_SOURCE_CACHE && lookup->attempts == 0) {
    lookup->attempts = 1; /* another's try served it */
  }
  kr_lookup_end(lookup);
}

void kr_lookup_failed(struct kr_lookup *lookup, const struct kr_failure *failure)
{
  lookup->failure = *failure;
  kr_lookup_end(lookup);
}

void kr_lookup_end_early(struct kr_lookup *lookup, int code)
{
  kr_fail(&lookup->failure, code, "%s", kr_early_end(code));
  kr_lookup_end(lookup);
}

void kr_lookup_no_memory(struct kr_lookup *lookup)
{
  kr_lookup_end_early(lookup, KEYROUTE_E_NO_MEMORY);
}

void kr_lookup_closed(struct kr_lookup *lookup)
{
  kr_lookup_end_early(lookup, KEYROUTE_E_CLOSED);
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

struct kr_question kr_lookup_question(const struct kr_lookup *lookup)
{
  return (struct kr_question){kr_table_name(lookup->table), lookup->row, lookup->position};
}

/* The deadline is there. What stood in the way last is the error: in the lookup's own way, else in
 * the way of others of its table. TIMEOUT is for when nothing had answered. */
void kr_lookup_late(struct kr_lookup *lookup)
{
  const struct kr_queue *queue = lookup->queue;
  struct kr_question question = kr_lookup_question(lookup);
  bool silence = lookup->failure.code == 0 || lookup->failure.code == KEYROUTE_E_TIMEOUT;

  if (silence && queue->heard.code != 0 && queue->heard_us >= lookup->began_us) {
    lookup->failure = queue->heard;
  } else if (lookup->failure.code == 0) {
    kr_check_no_answer(&lookup->failure, &question);
  }
  lookup->deadline = true;
  add_deadline(lookup);
  kr_lookup_end(lookup);
}

/* ---- Trying again ---- */

static void slept(void *arg)
{
  struct kr_lookup *lookup = arg;
  struct kr_locator *locator = lookup->locator;

  kr_locator_enter(locator);
  lookup->sleep = NULL;
  lookup->waits_since_us = kr_clock_us();
  kr_queue_move(lookup, KR_LOOKUP_READY, NULL);
  kr_locator_line_up(locator, lookup->queue);
  kr_locator_leave(locator);
}

/* Put a lookup to sleep until its next try. */
static void sleep_for(struct kr_lookup *lookup, int64_t wait_ms)
{
  const struct kr_means *means = &lookup->locator->means;

  kr_stats_add(means->stats, KR_COUNT_RETRIES, 1);
  kr_trace_add(lookup->trace, "wait", kr_clock_us() - lookup->began_us, wait_ms * 1000, NULL,
               "%lld ms", (long long)wait_ms);
  kr_queue_move(lookup, KR_LOOKUP_SLEEPING, NULL);
  lookup->sleep = kr_timer_start(means->loop, wait_ms, slept, lookup);
  if (lookup->sleep == NULL) {
    kr_lookup_no_memory(lookup);
  }
}

/* A try has failed: end the lookup, or let it sleep. */
void kr_lookup_try_failed(struct kr_lookup *lookup, const struct kr_failure *failure,
                          struct keyroute_bytes reach)
{
  struct kr_locator *locator = lookup->locator;
  int64_t remaining_ms = kr_retry_remaining_ms(lookup->deadline_us, kr_clock_us());
  int64_t wait_ms = -1;

  /* TIMEOUT is for when nothing had answered: what did answer is the better reason. */
  if (failure->code != KEYROUTE_E_TIMEOUT || lookup->failure.code == 0) {
    lookup->failure = *failure;
  }
  if (lookup->reach != NULL) {
    lookup->reach->len = 0;
    kr_buf_bytes(lookup->reach, reach);
  }
  if (!lookup->single_try) {
    wait_ms =
        kr_retry_wait_ms(&locator->means.retry, lookup->attempts, failure,
                         remaining_ms > 0 ? remaining_ms : 0, kr_random_next(&locator->random));
  }
  if (wait_ms < 0) {
    kr_lookup_end(lookup);
  } else {
    sleep_for(lookup, wait_ms);
  }
}

/* Have a sleeping lookup try again soon. Not all at once, and not in this turn of the loop. */
void kr_lookup_wake_soon(struct kr_lookup *lookup)
{
  struct kr_locator *locator = lookup->locator;
  const struct kr_means *means = &locator->means;

  kr_timer_stop(lookup->sleep);
  lookup->sleep = kr_timer_start(
      means->loop, (int64_t)(kr_random_next(&locator->random) % (uint64_t)means->retry.pause_ms),
      slept, lookup);
  if (lookup->sleep == NULL) {
    kr_lookup_no_memory(lookup);
  }
}
