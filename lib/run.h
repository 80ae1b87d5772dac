#ifndef KR_RUN_H
#define KR_RUN_H

#include "lib/keys.h"
#include "lib/note.h"

/* Rows that lie side by side and share a fate: those of positions from `from` to `to`, exclusive,
 * of one table, but for those that are done. */
struct kr_run {
  struct kr_run *prev, *next; /* the owner's: in one of its lists */
  uint32_t table;             /* which of the keys' tables */
  uint32_t from, to;
  uint32_t region_rows;               /* that the region above it held; 0 = not known */
  uint16_t tries;                     /* that have failed */
  bool sent;                          /* some of its rows have been sent before */
  int replica;                        /* of the location */
  struct keyroute_location *location; /* counted: holds all of them; NULL = not known */
  struct kr_note *note;               /* counted: how a try failed; NULL = none has */
  int64_t wake_us;                    /* the owner's */
};

/* What runs are of. */
struct kr_runs {
  struct kr_mem *mem;
  const struct kr_keys *keys;
  uint8_t *done; /* by position: this row belongs to no run any more */
};

/* False = out of memory. */
bool kr_runs_init(struct kr_runs *runs, struct kr_mem *mem, const struct kr_keys *keys);
void kr_runs_clear(struct kr_runs *runs);

/* NULL = out of memory. */
struct kr_run *kr_run_new(const struct kr_runs *runs, uint32_t table, uint32_t from, uint32_t to);
void kr_run_free(const struct kr_runs *runs, struct kr_run *run);

/* Leave out what is done at both ends. False = all is. */
bool kr_run_trim(const struct kr_runs *runs, struct kr_run *run);

/* The next row that is not done, at or behind a position; run->to = there is none. */
uint32_t kr_run_next(const struct kr_runs *runs, const struct kr_run *run, uint32_t position);

/* Its first row that is not below a key; run->to = all are. */
uint32_t kr_run_floor(const struct kr_runs *runs, const struct kr_run *run,
                      struct keyroute_bytes key);

/* Cut it in two: it keeps what is below `at`, the rest becomes a run that is like it otherwise. at
 * is inside it. NULL = out of memory; it is whole then. */
struct kr_run *kr_run_cut(const struct kr_runs *runs, struct kr_run *run, uint32_t at);

/* Forget where it is. */
void kr_run_displace(struct kr_run *run);

/* Keep how a try failed; NULL = forget it. note gets one more count. */
void kr_run_note(struct kr_run *run, struct kr_note *note);

#endif
