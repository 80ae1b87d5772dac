#ifndef ORDER_H
#define ORDER_H

#include "keyroute/keyroute.h"
#include "tools/line.h"
#include "tools/outcome.h"
#include "tools/rows.h"

struct order;

/* One call, about a row or a slice of rows. Main thread, but for what the library's callback sets
 * before it calls order_answer. */
struct turn {
  struct order *order;
  struct row *rows;
  size_t row_count;
  struct outcome outcome;
  void *got; /* what the call brought, the command knows which; NULL = nothing */
  bool done; /* under the order's lock */
};

/* What a command does about its rows. */
struct order_work {
  struct row_rules rules;
  size_t slice; /* rows of one call at most, at first */
  size_t jobs;  /* calls at once, if the command line does not say */
  bool answers; /* take prints them */
  bool eager;   /* a call is made with what a pipe has, rather than to wait for a slice of rows */

  /* What else may be wrong with the command line. Returns an exit status, or -1. NULL = nothing. */
  int (*check)(const struct line *line, struct keyroute_connection *conn);

  /* Start the call; order_answer is called once it is answered. What it returns, if not 0, is the
   * answer, and order_answer is not called. */
  int (*ask)(struct turn *turn);

  /* Print or keep what came out: main thread, in the order of the rows, each of them once. It tells
   * about each row by order_count. */
  void (*take)(struct turn *turn);

  /* Release what a call brought; NULL is accepted. */
  void (*release)(void *got);
};

/* A command's rows on their way. What is public here belongs to the main thread. */
struct order {
  const struct line *line;
  const struct order_work *work;
  void *payload; /* the command's own */
  struct keyroute_connection *conn;
  const char *table; /* canonical */
  struct rows *rows;
  size_t slice; /* rows of the next call at most; take may change it */
  struct order_ring *ring;
  size_t asked, missing, failed, unasked, unreadable;
};

/* Run a command over its rows: check all that can be checked, ask, take. Returns an exit status.
 * begin  called before the first row is asked about, when nothing is wrong; NULL = nothing to do
 * end    called with all taken, before memory is released; NULL = nothing to do */
int order_run(const struct order_work *work, struct line *line, void *payload,
              void (*begin)(const struct order *order), void (*end)(const struct order *order));

/* The call is answered. In the library's callback, once all else of the turn is set. */
void order_answer(struct turn *turn, int error, const struct keyroute_detail *detail);

/* The rows of a turn as keys of the library: free() them. */
struct keyroute_key *order_keys(const struct turn *turn);

/* One row of a turn is taken: how it ended, and, if it failed, one line about it. What is on stdout
 * by then is flushed before anything is said on stderr. */
void order_count(struct order *order, const struct row *row, int error, const char *message);

/* The same for a row that is well and was not found. */
void order_count_missing(struct order *order);

#endif
