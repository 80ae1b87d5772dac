/*
 * The unfinished lookups of one table, and which of them are worth a flight of their own.
 *
 * A scan of the catalog brings the region of the row it was made for and some regions below. Of
 * many lookups that miss together most can wait for another's scan. How many regions lie between
 * two rows nobody knows beforehand, so a lookup hopes, and each hope in vain makes it harder to
 * please:
 *
 *   passed over   waits for
 *   never         any flight in the same gap between cached regions: they may share one region
 *   once          a flight above it whose rows will reach it, or one below it in the same region,
 *                 as far as can be told from how many waiting rows there are in between, and from
 *                 how many of them the last flights found in one region
 *   more often    nobody: it gets its own
 *
 * So 64 threads on one cold region make one scan, 64 rows one below the other make one scan for
 * each ten, and nobody waits for more than two flights before it stands in line for its own.
 *
 *  1. A lookup in a queue is in the tree, and in exactly one list: the queue's ready or sleeping,
 *     or a flight's members or hopers. Its state says which.
 *  2. The tree is ordered by row, at equal rows "the region before" first, then by address. "The
 *     region before the end of the table" is the last of all. So the lookups that a region covers
 *     stand side by side.
 *  3. ready is first come first served: who was passed over goes to its end, and nobody is put in
 *     front of another.
 */
#include "lib/queue.h"

#include "lib/bytes.h"

#include <utlist.h>

/* How often a lookup lets a flight that may serve it go by. */
enum { PATIENCE = 2 };

/* Lookups walked over to find out how many rows lie between one and a flight. */
enum { STEPS_MAX = 256 };

/* ---- Order ---- */

/* A row and a side of it. */
struct place {
  struct keyroute_bytes row;
  enum kr_position position;
};

static struct place place_of(const struct kr_lookup *lookup)
{
  return (struct place){lookup->row, lookup->position};
}

static struct place place_of_flight(const struct kr_flight *flight)
{
  return (struct place){kr_bytes(flight->row, flight->row_len), flight->position};
}

static bool is_top(struct place place)
{
  return place.position == KR_BEFORE && place.row.len == 0;
}

static int compare_places(struct place a, struct place b)
{
  if (is_top(a) || is_top(b)) {
    return is_top(a) - is_top(b);
  }
  int order = kr_bytes_compare(a.row, b.row);

  return order != 0 ? order : (a.position == KR_AT) - (b.position == KR_AT);
}

static int compare(const struct kr_lookup *a, const struct kr_lookup *b)
{
  int order = compare_places(place_of(a), place_of(b));

  return order != 0 ? order : (a > b) - (a < b);
}

RB_GENERATE_STATIC(kr_lookup_tree, kr_lookup, by_row, compare)

/* ---- Lists ---- */

struct kr_queue *kr_queue_new(struct kr_mem *mem, struct keyroute_table *table, bool is_root)
{
  struct kr_queue *queue = kr_calloc(mem, sizeof(*queue));

  if (queue != NULL) {
    queue->table = kr_table_ref(table);
    queue->is_root = is_root;
    queue->rows_per_region = 1;
    RB_INIT(&queue->by_row);
  }
  return queue;
}

void kr_queue_free(struct kr_mem *mem, struct kr_queue *queue)
{
  kr_table_release(queue->table);
  kr_free(mem, queue);
}

/* The list that a lookup stands in; NULL = none of a queue's. */
static struct kr_lookup **list_of(struct kr_lookup *lookup)
{
  switch (lookup->state) {
  case KR_LOOKUP_READY:
    return &lookup->queue->ready;
  case KR_LOOKUP_SLEEPING:
    return &lookup->queue->sleeping;
  case KR_LOOKUP_HOPING:
    return &lookup->flight->hopers;
  case KR_LOOKUP_FLYING:
    return &lookup->flight->members;
  case KR_LOOKUP_OUTSIDE:
  case KR_LOOKUP_ANSWERED:
    break;
  }
  return NULL;
}

void kr_queue_move(struct kr_lookup *lookup, enum kr_lookup_state state, struct kr_flight *flight)
{
  struct kr_lookup **list = list_of(lookup);

  if (list != NULL) {
    DL_DELETE(*list, lookup);
  }
  lookup->state = state;
  lookup->flight = flight;
  list = list_of(lookup);
  if (list != NULL) {
    DL_APPEND(*list, lookup);
  }
}

void kr_queue_add(struct kr_queue *queue, struct kr_lookup *lookup)
{
  lookup->queue = queue;
  RB_INSERT(kr_lookup_tree, &queue->by_row, lookup);
  queue->count++;
  kr_queue_move(lookup, KR_LOOKUP_READY, NULL);
}

void kr_queue_remove(struct kr_lookup *lookup)
{
  struct kr_queue *queue = lookup->queue;

  kr_queue_move(lookup, KR_LOOKUP_OUTSIDE, NULL);
  RB_REMOVE(kr_lookup_tree, &queue->by_row, lookup);
  queue->count--;
  lookup->queue = NULL;
}

/* ---- Whom a region covers ---- */

static struct kr_lookup *if_covered(struct kr_lookup *lookup,
                                    const struct keyroute_location *region)
{
  bool covered = lookup != NULL && kr_location_covers(region, lookup->row, lookup->position);

  return covered ? lookup : NULL;
}

struct kr_lookup *kr_queue_first_in(struct kr_queue *queue, const struct keyroute_location *region)
{
  /* Its address is below that of any other. */
  struct place start = {keyroute_location_start_key(region), KR_AT};
  struct kr_lookup *at = RB_ROOT(&queue->by_row);
  struct kr_lookup *first = NULL;

  while (at != NULL) {
    if (compare_places(place_of(at), start) >= 0) {
      first = at;
      at = RB_LEFT(at, by_row);
    } else {
      at = RB_RIGHT(at, by_row);
    }
  }
  return if_covered(first, region);
}

struct kr_lookup *kr_queue_first(struct kr_queue *queue)
{
  return RB_MIN(kr_lookup_tree, &queue->by_row);
}

struct kr_lookup *kr_queue_next(struct kr_lookup *lookup)
{
  return RB_NEXT(kr_lookup_tree, NULL, lookup);
}

struct kr_lookup *kr_queue_next_in(struct kr_lookup *lookup, const struct keyroute_location *region)
{
  return if_covered(kr_queue_next(lookup), region);
}

/* ---- Joining and hoping ---- */

bool kr_flight_is_news(const struct kr_flight *flight, const struct kr_lookup *lookup)
{
  return lookup->epoch <= flight->epoch && (flight->sent == 0 || lookup->since < flight->sent);
}

struct kr_flight *kr_queue_same_question(const struct kr_queue *queue,
                                         const struct kr_lookup *lookup, int64_t try_ms)
{
  struct kr_flight *flight;

  DL_FOREACH (queue->flights, flight) {
    /* The root has one region, and so one question. */
    if ((queue->is_root || compare_places(place_of(lookup), place_of_flight(flight)) == 0) &&
        kr_flight_is_news(flight, lookup) && flight->try_ms >= try_ms) {
      return flight;
    }
  }
  return NULL;
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

static struct kr_flight *flight_in_the_gap(const struct kr_queue *queue,
                                           const struct kr_lookup *lookup)
{
  struct kr_flight *flight;

  DL_FOREACH (queue->flights, flight) {
    if (kr_flight_is_news(flight, lookup) && same_gap(lookup, flight)) {
      return flight;
    }
  }
  return NULL;
}

/* The nearest flight above a lookup, or below it. */
static struct kr_flight *nearest_flight(const struct kr_queue *queue,
                                        const struct kr_lookup *lookup, bool above)
{
  struct kr_flight *flight, *nearest = NULL;
  int side = above ? 1 : -1;

  DL_FOREACH (queue->flights, flight) {
    struct place place = place_of_flight(flight);

    if (kr_flight_is_news(flight, lookup) && side * compare_places(place, place_of(lookup)) > 0 &&
        (nearest == NULL || side * compare_places(place, place_of_flight(nearest)) < 0)) {
      nearest = flight;
    }
  }
  return nearest;
}

/* How many rows that somebody waits for lie between a lookup and a place above or below it. Counts
 * STEPS_MAX lookups at most. */
static size_t rows_between(struct kr_lookup *lookup, struct place end, bool above)
{
  size_t rows = 0;
  int side = above ? 1 : -1;
  struct kr_lookup *at = lookup;

  for (int steps = 0; steps < STEPS_MAX; steps++) {
    struct kr_lookup *next =
        above ? RB_NEXT(kr_lookup_tree, NULL, at) : RB_PREV(kr_lookup_tree, NULL, at);

    if (next == NULL || side * compare_places(place_of(next), end) >= 0) {
      return rows;
    }
    rows += compare_places(place_of(next), place_of(at)) != 0;
    at = next;
  }
  return STEPS_MAX;
}

/* Will a flight's rows, as far as can be told, reach down to a lookup? */
static bool reaches_down(const struct kr_flight *flight, struct kr_lookup *lookup)
{
  struct place place = place_of_flight(flight);
  size_t known;

  kr_rcu_read_begin();
  known = kr_table_count_above(lookup->table, lookup->row, is_top(place) ? NULL : &place.row,
                               flight->limit);
  kr_rcu_read_end();
  double unknown = (double)(rows_between(lookup, place, true) + 1) / flight->queue->rows_per_region;

  return (double)known + unknown < (double)flight->limit;
}

/* Is a lookup, as far as can be told, in the region of a flight's row below it? */
static bool reaches_up(const struct kr_flight *flight, struct kr_lookup *lookup)
{
  return same_gap(lookup, flight) && (double)(rows_between(lookup, place_of_flight(flight), false) +
                                              1) < flight->queue->rows_per_region;
}

struct kr_flight *kr_queue_hope(const struct kr_queue *queue, struct kr_lookup *lookup)
{
  if (lookup->refresh || lookup->passed_over >= PATIENCE) {
    return NULL;
  }
  if (lookup->passed_over == 0) {
    return flight_in_the_gap(queue, lookup);
  }
  struct kr_flight *above = nearest_flight(queue, lookup, true);
  struct kr_flight *below = nearest_flight(queue, lookup, false);

  if (above != NULL && reaches_down(above, lookup)) {
    return above;
  }
  return below != NULL && reaches_up(below, lookup) ? below : NULL;
}

void kr_queue_learn(struct kr_queue *queue, size_t rows, size_t regions)
{
  if (regions > 0) {
    queue->rows_per_region = (queue->rows_per_region + (double)rows / (double)regions) / 2;
  }
}
