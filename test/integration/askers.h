#ifndef KEYROUTE_TEST_ASKERS_H
#define KEYROUTE_TEST_ASKERS_H

#include "test/integration/answers.h"

/* Threads that locate rows without pause, from the cache and past it, while somebody else breaks
 * the cluster or changes its catalog. All they are told is kept for a judge. */
struct askers;

struct askers_options {
  struct keyroute_connection *conn;
  const char *const *tables; /* up to a NULL; rows are letters */
  unsigned threads;
  int64_t deadline_ms;
  bool before;         /* ask for the region before, too */
  bool timed;          /* keep what askers_back needs: memory grows */
  const char *excused; /* a table that may be away for a while, or NULL */
  bool complain;       /* report a few of the answers as wrong, whether they are or not */
};

struct askers *askers_start(const struct askers_options *options);

/* Let every thread end its call, and wait for them. */
void askers_stop(struct askers *askers);

void askers_free(struct askers *askers);

/* What came out; complete after askers_stop. */
struct askers_counts {
  uint64_t asked, failed;     /* failed: an error where none is excused */
  uint64_t read, read_failed; /* of these, not answered by the cache */
  uint64_t excused;           /* errors about the excused table */
  int64_t worst_us;           /* the slowest call, by its own detail */
  uint64_t misplaced;         /* answers whose region is not the row's */
  uint64_t reported;          /* answers reported as wrong */
  uint64_t again;             /* handles given out in a call that began after their report */
};

struct askers_counts askers_counts(const struct askers *askers);

struct answers *askers_answers(struct askers *askers);

/* When, after a moment, calls past the cache succeeded again: the first one, and the last thread's
 * first one. INT64_MAX = never. Times as answers_now_ms. After askers_stop, and with
 * options.timed. */
void askers_back(const struct askers *askers, int64_t after_ms, int64_t *first_ms,
                 int64_t *last_ms);

#endif
