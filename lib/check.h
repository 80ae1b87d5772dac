#ifndef KR_CHECK_H
#define KR_CHECK_H

#include "lib/catalog.h"

/* What the rows of a reversed scan, nearest first, say about the row asked for. */
enum kr_verdict {
  KR_VERDICT_FOUND,  /* location holds it */
  KR_VERDICT_EMPTY,  /* no row at all: is it a hole, or is there no such table? */
  KR_VERDICT_BELOW,  /* none is live: look below the last one */
  KR_VERDICT_BEHIND, /* a hole: its upper bound is yet to be found */
  KR_VERDICT_FAILED  /* failure says why */
};

struct kr_checked {
  enum kr_verdict verdict;
  struct keyroute_location *location; /* FOUND, or NO_SERVER: borrowed from the rows */
  struct keyroute_bytes hole_start;   /* BEHIND: end of the last live region below the row */
  struct keyroute_bytes reach;        /* all rows from this one up to that asked for are judged so;
                                       * a view into question or rows */
  struct kr_failure failure;
};

/* What is asked of the rows. */
struct kr_question {
  struct keyroute_bytes table;
  struct keyroute_bytes row;
  enum kr_position position;
};

/* Can a row be believed, and is its region neither a split parent nor offline? */
bool kr_check_live(const struct kr_catalog_row *row);

/*  rows      nearest first
 *  complete  no further rows stand below the last one */
void kr_check_rows(struct kr_checked *out, const struct kr_question *question,
                   const struct kr_catalog_row *rows, size_t count, bool complete);

/* The failures that take a forward read to tell: made here so that all are worded in one place.
 *  next   the region behind the hole; NULL = there is none, or
 *  known  false: none was met as far as was looked */
void kr_check_hole(struct kr_failure *failure, const struct kr_question *question,
                   struct keyroute_bytes start, const struct keyroute_location *next, bool known);
void kr_check_no_table(struct kr_failure *failure, const struct kr_question *question);

/* Regions are kept from servers because of their table, which is `state`: "disabled". */
void kr_check_table_state(struct kr_failure *failure, const struct kr_question *question,
                          const char *state);

/* Failures that no row was read for. */
void kr_check_not_cached(struct kr_failure *failure, const struct kr_question *question);
void kr_check_no_answer(struct kr_failure *failure, const struct kr_question *question);

/* Has the replica that a call asks about (KEYROUTE_REPLICA_ANY: any) a server that is neither
 * dropped nor marked as failed? If not, failure says so: NO_SERVER or DEAD_SERVER. */
bool kr_check_replica(struct kr_failure *failure, const struct keyroute_location *location,
                      int replica, int64_t now_us);

#endif
