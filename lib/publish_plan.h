#ifndef KR_PUBLISH_PLAN_H
#define KR_PUBLISH_PLAN_H

#include "lib/descriptor.h"
#include "lib/error.h"

/* What is to be written, and in which order, so that ranges of the directory give way to others.
 * Pure: no I/O, no memory but the list of steps. */

/* Whose ranges: the table's. */
enum kr_level { KR_META1, KR_META2, KR_MAP };

const char *kr_level_name(enum kr_level level); /* "meta1" */

/* The row, in the table above, of the range of a level that begins at a key. Not of meta1. */
void kr_level_key(struct kr_buf *out, enum kr_level level, struct keyroute_bytes start);

/* Ranges of callers have ids from 2 to this one; those above are meta2's own. */
#define KR_RANGE_ID_MAX UINT64_C(999999999999)

enum { KR_CHANGE_RANGES = 2 };

/* Ranges of one level that give way to others with the same keys; both in the order of keys. What
 * the descriptors point to is borrowed. */
struct kr_change {
  enum kr_level level;
  struct kr_descriptor olds[KR_CHANGE_RANGES];
  struct kr_descriptor news[KR_CHANGE_RANGES];
  size_t old_count, new_count;
};

/* Where a range is to be; count 0 = where the first of the old ones is. */
struct kr_nodes {
  const struct kr_descriptor_replica *list;
  size_t count;
};

/* Plan a change. Whether ids are used elsewhere is the caller's to know.
 *  key  where the right one begins
 *  ids  of the left and the right one; id  of the new one, which a move of map may keep
 * Errors: INVALID_ARGUMENT, with the reason in failure. */
int kr_plan_split(struct kr_change *out, enum kr_level level, const struct kr_descriptor *old,
                  struct keyroute_bytes key, const uint64_t ids[2], const struct kr_nodes nodes[2],
                  struct kr_failure *failure);
int kr_plan_merge(struct kr_change *out, enum kr_level level, const struct kr_descriptor *left,
                  const struct kr_descriptor *right, uint64_t id, const struct kr_nodes *nodes,
                  struct kr_failure *failure);
int kr_plan_move(struct kr_change *out, enum kr_level level, const struct kr_descriptor *old,
                 uint64_t id, const struct kr_nodes *nodes, struct kr_failure *failure);

/* Is it the very place, whatever the node calls itself? */
bool kr_same_place(const struct kr_descriptor_replica *a, const struct kr_descriptor_replica *b);

/* Is a range on these nodes, in this order? Do two descriptors say the same? */
bool kr_same_nodes(const struct kr_descriptor *range, const struct kr_nodes *nodes);
bool kr_same_range(const struct kr_descriptor *a, const struct kr_descriptor *b);

/* Is the table of a range on a node the same that another range has there? */
bool kr_has_table(const struct kr_descriptor *range, uint64_t id,
                  const struct kr_descriptor_replica *node);

/* ---- Steps ----------------------------------------------------------------------------------- */

/* One step is one thing that may have been done or not when all stops. */
enum kr_step_kind {
  KR_STEP_JOURNAL, /* write the whole change down, in meta1 */
  KR_STEP_MAKE,    /* make the table of range on node */
  KR_STEP_COPY,    /* bring there what the table of from has of range's keys */
  KR_STEP_PUT,     /* make range's row say so; it has said from, NULL = nothing */
  KR_STEP_REMOVE,  /* remove the row that says from */
  KR_STEP_ROOT,    /* make the registry say where meta1 is */
  KR_STEP_DROP,    /* delete the table of range on node */
  KR_STEP_FORGET   /* remove what was written down */
};

struct kr_step {
  enum kr_step_kind kind;
  enum kr_level level; /* of range and from */
  const struct kr_descriptor *range, *from;
  const struct kr_descriptor_replica *node;
};

struct kr_plan {
  struct kr_mem *mem; /* borrowed */
  struct kr_step *steps;
  size_t count, room;
  bool failed; /* memory was short: it is not whole */
};

void kr_plan_init(struct kr_plan *plan, struct kr_mem *mem);
void kr_plan_clear(struct kr_plan *plan);

/* Does a step change what readers are told? */
bool kr_step_switches(const struct kr_step *step);

/* Add the steps that carry a change out, all that there are; or that undo it as long as no step has
 * switched anything. Steps point into the change. */
void kr_plan_carry_out(struct kr_plan *plan, const struct kr_change *change);
void kr_plan_undo(struct kr_plan *plan, const struct kr_change *change);

/* Add the steps that make a directory of one range on each level.
 *  make_map  make the table of map's range, too */
void kr_plan_begin(struct kr_plan *plan, const struct kr_descriptor *meta1,
                   const struct kr_descriptor *meta2, const struct kr_descriptor *map,
                   bool make_map);

#endif
