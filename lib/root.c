/*
 * The root's place, which the registry knows: how often it is asked for, and what news of it mean.
 *
 *  1. The root is not read over and over: after a failure the next read waits for a moment. Many in
 *     a hurry, with a dead server and no news yet, would ask without end.
 *  2. When the registry says that the root may be elsewhere, what is known of it is forgotten,
 *     those who sleep try again soon, and if scans are under way the root is looked for at once.
 *  3. Whenever it is found on another server, scans of it that are under way elsewhere go on there:
 *     the old server may never answer.
 */
#include "lib/root.h"

#include "lib/check.h"
#include "lib/clock.h"
#include "lib/locator_state.h"
#include "lib/outcome.h"

#include <utlist.h>

/* How long nobody asks again where the root is after it could not be learnt. */
enum { PAUSE_MS = 25 };

/* How long the root is looked for once it is said to be elsewhere. */
enum { NEWS_MS = 10000 };

/* Could the root be learnt, and is it on a server that may be asked? */
void kr_root_note(struct kr_locator *locator, const struct kr_flight *flight)
{
  struct kr_failure failure;
  int64_t now = kr_clock_us();
  bool good = flight->location != NULL && kr_check_replica(&failure, flight->location, 0, now);

  locator->root_failed_us = good ? 0 : now;
}

static void root_pause_over(void *arg)
{
  struct kr_locator *locator = arg;
  struct kr_queue *queue, *next;

  kr_locator_enter(locator);
  locator->root_pause = NULL;
  HASH_ITER (hh, locator->queues, queue, next) {
    if (queue->is_root) {
      kr_locator_line_up(locator, queue);
    }
  }
  kr_locator_leave(locator);
}

/* Must the root not be asked for yet (invariant 1)? */
bool kr_root_must_pause(struct kr_locator *locator)
{
  int64_t over_ms = PAUSE_MS - (kr_clock_us() - locator->root_failed_us) / 1000;

  if (locator->root_failed_us == 0 || over_ms <= 0) {
    return false;
  }
  if (locator->root_pause == NULL) {
    locator->root_pause = kr_timer_start(locator->means.loop, over_ms, root_pause_over, locator);
  }
  return locator->root_pause != NULL;
}

/* Scans of the root on another server than it is on now will not be answered, or not soon. */
void kr_root_reroute(struct kr_locator *locator, const struct keyroute_location *root)
{
  struct kr_server *server = kr_location_server(root, 0);
  struct kr_queue *queue, *next_queue;
  struct kr_flight *flight, *next;

  HASH_ITER (hh, locator->queues, queue, next_queue) {
    DL_FOREACH_SAFE (queue->flights, flight, next) {
      kr_flight_reroute(flight, server);
    }
  }
}

static void news_done(struct kr_lookup *news)
{
  keyroute_location_release(news->location);
  kr_table_release(news->table);
  news->table = NULL;
}

/* The root's table, counted; NULL = out of memory. */
static struct keyroute_table *root_table(struct kr_locator *locator)
{
  return kr_cache_table(locator->means.cache, keyroute_string(locator->means.catalog->root));
}

/* The lookup of the root that scans under way have need of; NULL = it is looked for already, or
 * there is no memory: then they end by their own time. */
static struct kr_lookup *news_lookup(struct kr_locator *locator)
{
  struct keyroute_table *root;
  int64_t now = kr_clock_us();

  if (locator->news.table != NULL) {
    return NULL;
  }
  root = root_table(locator);
  if (root == NULL) {
    return NULL;
  }
  locator->news = (struct kr_lookup){
      .table = root,
      .began_us = now,
      .deadline_us = now + NEWS_MS * INT64_C(1000),
      .done = news_done,
  };
  return &locator->news;
}

static void forget_root(struct kr_locator *locator)
{
  struct keyroute_table *root = root_table(locator);

  locator->means.root_changed_us = kr_clock_us();
  locator->root_failed_us = 0;
  if (root != NULL) {
    kr_cache_clear_table(locator->means.cache, root);
    kr_table_release(root);
  }
}

struct kr_lookup *kr_root_changed(struct kr_locator *locator)
{
  struct kr_queue *queue, *next_queue;
  struct kr_lookup *lookup, *next;
  bool scans = false;

  forget_root(locator);
  HASH_ITER (hh, locator->queues, queue, next_queue) {
    scans = scans || queue->flights != NULL;
    DL_FOREACH_SAFE (queue->sleeping, lookup, next) {
      kr_lookup_wake_soon(lookup);
    }
  }
  return scans && !locator->closed ? news_lookup(locator) : NULL;
}
