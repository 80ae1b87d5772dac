#ifndef KR_QUEUE_H
#define KR_QUEUE_H

#include "lib/flight.h"
#include "lib/hash.h"

/* The unfinished lookups of one table by state and by row, and the flights made for them. Who
 * flies, and what becomes of a result, is the locator's to decide. Loop thread. */
RB_HEAD(kr_lookup_tree, kr_lookup);

/* Which of the locator's lines a queue stands in. */
enum kr_line { KR_LINE_NONE, KR_LINE_NEXT, KR_LINE_STALLED };

struct kr_queue {
  UT_hash_handle hh;            /* the locator's, by table */
  struct kr_queue *prev, *next; /* in one of the locator's lines */
  enum kr_line line;
  struct keyroute_table *table; /* counted; the key */
  bool is_root;                 /* its only region's place is known to the registry */
  struct kr_lookup_tree by_row; /* all of them */
  size_t count;
  struct kr_lookup *ready;    /* first come first served */
  struct kr_lookup *sleeping; /* in the order in which they went to sleep */
  struct kr_flight *flights;
  unsigned flight_count;
  double rows_per_region;  /* that somebody waited for, as the last flights found */
  struct kr_failure heard; /* what kept the last flight from the catalog; code 0 = nothing did */
  int64_t heard_us;
};

struct kr_queue *kr_queue_new(struct kr_mem *mem, struct keyroute_table *table, bool is_root);
void kr_queue_free(struct kr_mem *mem, struct kr_queue *queue); /* empty */

/* Put a lookup in as ready, or take it out of queue, flight and list. */
void kr_queue_add(struct kr_queue *queue, struct kr_lookup *lookup);
void kr_queue_remove(struct kr_lookup *lookup);

/* To the end of the list of another state. flight is for HOPING and FLYING. */
void kr_queue_move(struct kr_lookup *lookup, enum kr_lookup_state state, struct kr_flight *flight);

/* The lookups, in any state, that a region covers: the first, and the one behind another. */
struct kr_lookup *kr_queue_first_in(struct kr_queue *queue, const struct keyroute_location *region);
struct kr_lookup *kr_queue_next_in(struct kr_lookup *lookup,
                                   const struct keyroute_location *region);

/* All of them by row: the first, and the one behind another; or NULL. */
struct kr_lookup *kr_queue_first(struct kr_queue *queue);
struct kr_lookup *kr_queue_next(struct kr_lookup *lookup);

/* A flight under way whose result, whatever it is, would be the lookup's own; or NULL. One that is
 * given less time than try_ms fails sooner, and would use up the tries of those who have time. */
struct kr_flight *kr_queue_same_question(const struct kr_queue *queue,
                                         const struct kr_lookup *lookup, int64_t try_ms);

/* A flight under way that is worth waiting for, since it may cover the lookup's row; or NULL. */
struct kr_flight *kr_queue_hope(const struct kr_queue *queue, struct kr_lookup *lookup);

/* A flight has found that so many rows of waiting lookups lie in so many regions. */
void kr_queue_learn(struct kr_queue *queue, size_t rows, size_t regions);

/* Was a flight's answer read late enough for a lookup? */
bool kr_flight_is_news(const struct kr_flight *flight, const struct kr_lookup *lookup);

#endif
