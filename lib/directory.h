#ifndef KR_DIRECTORY_H
#define KR_DIRECTORY_H

#include "lib/publish_means.h"
#include "lib/publish_journal.h"

/* What the range directory says, read from its nodes and not from any cache. */
struct kr_directory {
  struct kr_publish_means *means; /* borrowed */
  struct kr_descriptor *root;     /* meta1; NULL = there is no directory */
  int64_t version;                /* of what says so */
  struct kr_descriptor **meta2;   /* its ranges by start key, as their rows are */
  size_t meta2_count, meta2_room;
  struct kr_journal *journal; /* of a change that was interrupted; NULL = none */
};

/* Read where meta1 is, and what it holds. kr_directory_clear, also after an error. */
int kr_directory_read(struct kr_directory *out, struct kr_publish_means *means,
                      struct kr_failure *failure);
void kr_directory_clear(struct kr_directory *directory);

/* 0, or BOOTSTRAP: there is no directory, and where one would be. */
int kr_directory_check(const struct kr_directory *directory, struct kr_failure *failure);

/* The range of meta2 that holds a row: of two the one of the larger generation. NULL = none. */
const struct kr_descriptor *kr_directory_meta2(const struct kr_directory *directory,
                                               struct keyroute_bytes row);

/* What a visitor returns, but for an error (and failure is set). */
enum { KR_VISIT_ON = 0, KR_VISIT_ENOUGH = 1 };

/* Gets the ranges of map that begin at a key or above it, in order, as rows say. The descriptor is
 * borrowed for the call. Errors: of reading, the visitor's, CORRUPT a row cannot be believed. */
typedef int (*kr_visit)(void *arg, const struct kr_descriptor *range, struct kr_failure *failure);
int kr_directory_walk(struct kr_directory *directory, struct keyroute_bytes start, kr_visit visit,
                      void *arg, struct kr_failure *failure);

/* What the row of a range of this level says that begins at a key. *out  kr_free; NULL = there is
 * no such row. */
int kr_directory_row(struct kr_descriptor **out, struct kr_directory *directory,
                     enum kr_level level, struct keyroute_bytes start, struct kr_failure *failure);

/* ---- Tables of ranges ------------------------------------------------------------------------ */

/* The name by which a transport knows the table of a range. */
void kr_directory_table(struct kr_buf *out, uint64_t id);

/* All rows of a range's table from start on, below stop (empty = all), at one of its nodes. */
typedef int (*kr_visit_row)(void *arg, const struct kr_row *row, struct kr_failure *failure);
int kr_directory_rows(struct kr_publish_means *means, uint64_t id,
                      const struct kr_descriptor_replica *node, struct keyroute_bytes start,
                      struct keyroute_bytes stop, kr_visit_row visit, void *arg,
                      struct kr_failure *failure);

/* Does the node have the table of a range? */
int kr_directory_stands(bool *out, struct kr_publish_means *means, uint64_t id,
                        const struct kr_descriptor_replica *node, struct kr_failure *failure);

/* Does a failure say that there is no such table? */
bool kr_directory_is_absent(const struct kr_failure *failure);

#endif
