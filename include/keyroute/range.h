/*
 * Changing and showing a range directory: what layout range looks its keys up in.
 *
 * A directory has three tables: map, the sorted map of users' keys; meta2, whose rows say where the
 * ranges of map are; meta1, whose rows say where those of meta2 are, and which is one range whose
 * place a znode tells. Each range has a table of its own on each of its nodes, "r<id>".
 * keyroute_range(7) describes it all.
 *
 * The calls here are for those who run the nodes. Users' rows are theirs to copy: the tables of new
 * ranges of map stand, and are filled, before a call makes them known, and nobody writes to the old
 * ones any more. Tables of meta1 and meta2 are made, filled and deleted by the calls.
 *
 *  Readers     are right at each moment, whatever they knew before, also when a call ends in the
 *              middle.
 *  Publishers  One at a time: a call holds the znode "<keyroute.range.znode>.publisher" as long as
 *              it takes. Another one gets OVERLOADED, and is told who holds it. With registry
 *              static there is no such lock: whoever calls has to see to it.
 *  Ends        A call that was interrupted, by an error or by the death of its process, is seen to
 *              by the next one: undone, if readers could not have noticed, and else carried out.
 *              But a half made split or merge of map is carried out by the same call alone, made
 *              again: others get INVALID_ARGUMENT. Making a call again that was carried out changes
 *              nothing and succeeds (but for a merge in meta2, which would merge the next).
 *
 * Conventions as in keyroute.h. Calls that take a connection may be made by any thread, block up
 * to the deadline, and are refused in callbacks and peek sections. Source: keyroute_range(7).
 */
#ifndef KEYROUTE_RANGE_H
#define KEYROUTE_RANGE_H

#include "keyroute/keyroute.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest id that a range of map may have; the smallest is 2. An id is never used twice: a
 *  reader may know the old table. */
#define KEYROUTE_RANGE_ID_MAX 999999999999u

/** A node. Frozen. */
struct keyroute_range_node {
  uint64_t id;      /* its own number, whatever that is; a range names none twice */
  const char *host; /* a name, or an address, IPv6 without brackets. NULL = that of the node with
                     * this id, as the directory has it */
  int port;
};

/* ---- What the directory says ----------------------------------------------------------------- */

/** Some ranges, by start key. Immutable; any thread may look at it; it may outlive its
 *  connection. */
struct keyroute_ranges;

/** One range. Set size before the call. Grows at the end. */
struct keyroute_range {
  size_t size;
  const char *table;                /* "map", "meta2" or "meta1"; static */
  uint64_t id;                      /* its table on its nodes is "r<id>" */
  uint64_t generation;              /* of two that overlap the larger one is right */
  struct keyroute_bytes start, end; /* borrowed */
  size_t node_count;
  bool is_new; /* keyroute_range_interrupted: one that was to take the others' place */
};

/** List ranges as the directory's nodes have them now, nothing from the cache: also where they
 *  overlap, or leave holes, which is for the caller to see.
 *  out    free it with keyroute_ranges_free; untouched on error
 *  table  "map", "meta2" or "meta1"
 *  start  only ranges that begin at this key or above it
 *  limit  at most so many; 0 = 1000
 *  call   NULL = defaults; the deadline is all that counts
 *  Errors: INVALID_ARGUMENT no such table, or another layout than range; BOOTSTRAP there is no
 *  directory, or what says where meta1 is cannot be believed; CORRUPT a row cannot be believed;
 *  RESOLVE, UNREACHABLE, PROTOCOL, OVERLOADED, REMOTE, AUTH, TIMEOUT of nodes and ZooKeeper,
 *  CLOSED, NO_MEMORY. Nothing is tried again. */
KEYROUTE_EXTERN int keyroute_range_list(struct keyroute_ranges **out,
                                        struct keyroute_connection *conn, const char *table,
                                        struct keyroute_bytes start, size_t limit,
                                        const struct keyroute_call *call,
                                        struct keyroute_detail *detail);

/** The ranges of a change that was interrupted and not seen to yet: those that were to go, and then
 *  those that were to take their place. None is the rule. As keyroute_range_list. */
KEYROUTE_EXTERN int keyroute_range_interrupted(struct keyroute_ranges **out,
                                               struct keyroute_connection *conn,
                                               const struct keyroute_call *call,
                                               struct keyroute_detail *detail);

/** Release a list; NULL is accepted. */
KEYROUTE_EXTERN void keyroute_ranges_free(struct keyroute_ranges *ranges);

/** How many ranges it has. */
KEYROUTE_EXTERN size_t keyroute_ranges_count(const struct keyroute_ranges *ranges);

/** Read one range. Errors: INVALID_ARGUMENT no such range, or range->size is 0. */
KEYROUTE_EXTERN int keyroute_ranges_get(const struct keyroute_ranges *ranges, size_t index,
                                        struct keyroute_range *range);

/** Read one node of a range; the leaseholder comes first. node->host is borrowed from the list.
 *  Errors: INVALID_ARGUMENT no such range or node. */
KEYROUTE_EXTERN int keyroute_ranges_node(const struct keyroute_ranges *ranges, size_t index,
                                         size_t number, struct keyroute_range_node *node);

/** Whether there is more behind this list, and from which key to go on. *start is borrowed from the
 *  list, and untouched if there is no more. */
KEYROUTE_EXTERN bool keyroute_ranges_next(const struct keyroute_ranges *ranges,
                                          struct keyroute_bytes *start);

/* ---- Changes --------------------------------------------------------------------------------- */

/** What takes the place of a range. All zero (but for size) is a change in meta2, where it was
 *  before. Grows at the end. */
struct keyroute_range_change {
  size_t size;
  uint64_t id; /* of map: the new range's, the left one's in a split; 0 = a move keeps it, which it
                * must not where the range has been on that node before. Of meta1 and meta2: 0, for
                * they get ids of their own */
  uint64_t right_id;                       /* of map: the right one's */
  const struct keyroute_range_node *nodes; /* the leaseholder first; none = where the (left) range
                                            * was, but a move needs some */
  size_t node_count;
  const struct keyroute_range_node *right_nodes; /* the right one's */
  size_t right_node_count;
};

#define KEYROUTE_RANGE_CHANGE_INIT                                                                 \
  {                                                                                                \
    sizeof(struct keyroute_range_change), 0, 0, NULL, 0, NULL, 0                                   \
  }

/** Split a range in two.
 *  out     NULL, or receives the ranges that are there now: free it with keyroute_ranges_free;
 *          untouched on error
 *  table   "map" or "meta2"
 *  key     where the right one begins, inside the range; of meta2: a row, "\x02" and a key of map
 *  change  what takes its place; NULL = all zero
 *  call    NULL = defaults; the deadline is all that counts
 *  Errors: INVALID_ARGUMENT what is asked cannot be, and nothing was written (the message says why:
 *  a key that is not inside, an id that is in use, a table that does not stand, an unknown node,
 *  ...); HOLE, OVERLAP as the directory is; OVERLOADED somebody else publishes; CORRUPT also: a row
 *  that somebody else has changed meanwhile; all others as of keyroute_range_list. After any error
 *  but INVALID_ARGUMENT the change may have been made, or be half made: make it again.
 *  Memory, time: each call reads the whole directory once, some ms a thousand ranges. */
KEYROUTE_EXTERN int keyroute_range_split(struct keyroute_ranges **out,
                                         struct keyroute_connection *conn, const char *table,
                                         struct keyroute_bytes key,
                                         const struct keyroute_range_change *change,
                                         const struct keyroute_call *call,
                                         struct keyroute_detail *detail);

/** Merge the range that holds a key with the one behind it. As keyroute_range_split. */
KEYROUTE_EXTERN int keyroute_range_merge(struct keyroute_ranges **out,
                                         struct keyroute_connection *conn, const char *table,
                                         struct keyroute_bytes key,
                                         const struct keyroute_range_change *change,
                                         const struct keyroute_call *call,
                                         struct keyroute_detail *detail);

/** Move the range that holds a key. As keyroute_range_split, but table may be "meta1", too. */
KEYROUTE_EXTERN int keyroute_range_move(struct keyroute_ranges **out,
                                        struct keyroute_connection *conn, const char *table,
                                        struct keyroute_bytes key,
                                        const struct keyroute_range_change *change,
                                        const struct keyroute_call *call,
                                        struct keyroute_detail *detail);

/** The first ranges of a directory. Set size. Grows at the end. */
struct keyroute_range_init {
  size_t size;
  const struct keyroute_range_node *meta1, *meta2, *map; /* the leaseholder first */
  size_t meta1_count, meta2_count, map_count;
  uint64_t id;                 /* of the range of map */
  const char *const *families; /* make its table with these; none = it stands already */
  size_t family_count;
};

/** Make a directory: meta1, one range of meta2 and one of map, which holds every key. The znode is
 *  made last. As keyroute_range_split; INVALID_ARGUMENT also where there is a directory. */
KEYROUTE_EXTERN int keyroute_range_init(struct keyroute_ranges **out,
                                        struct keyroute_connection *conn,
                                        const struct keyroute_range_init *init,
                                        const struct keyroute_call *call,
                                        struct keyroute_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
