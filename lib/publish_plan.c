/*
 * In which order is a change of the range directory written?
 *
 * Readers ask at any moment, and whoever writes may be gone after any of the steps. Every range has
 * a table of its own on each of its nodes; a reader who asks where the table is gone looks the
 * range up anew. So, in this order:
 *
 *     JOURNAL  the whole change is written down, for whoever comes next
 *     MAKE     the new tables (of meta1 and meta2; those of map stand, and are full, beforehand)
 *     COPY     what the old ones hold
 *     PUT ...  the rows above, those of higher keys first (a merge: the row, then the one to go)
 *     DROP     the old tables
 *     FORGET   what was written down
 *
 *  1. Until the first row is written nobody knows of the new tables, so all can be undone. From
 *     then on it can only be carried out.
 *  2. Old and new tables hold the same while rows are written. Which of two overlapping rows a
 *     reader believes does not matter then; it believes the larger generation, which is the new
 *     range's: it is larger than that of each it takes keys from.
 *  3. Split, [a,z) into [a,m) and [m,z): row m first. Were it row a, [m,z) would be a hole.
 *     Merge: row a first, then row m goes, for the same reason.
 *  4. The old tables of meta2 are gone before anything else is changed: a reader with an old place
 *     of meta2 would else believe an old index for good.
 *  5. Ranges of meta1 and meta2 get a new id when they are moved, too. A table that were made anew
 *     where one of that name had been would be believed while it is empty yet, by a reader who knew
 *     the range there and was never told that it went. The same is asked of whoever moves a range
 *     of map back; else it may keep its id. A table that a new range has under the same id on the
 *     same node is neither made nor dropped.
 *  6. Where meta1 is moved, what was written down moves with its rows: the registry is switched,
 *     and whoever comes next reads the new one.
 *
 * Threads: any.
 */
#include "lib/publish_plan.h"

#include "lib/bytes.h"

#include <inttypes.h>

/* ---- Levels ---- */

const char *kr_level_name(enum kr_level level)
{
  static const char *const names[] = {"meta1", "meta2", "map"};

  return names[level];
}

void kr_level_key(struct kr_buf *out, enum kr_level level, struct keyroute_bytes start)
{
  kr_buf_u8(out, level == KR_META2 ? 1 : 2);
  kr_buf_bytes(out, start);
}

/* ---- Comparing ---- */

bool kr_same_place(const struct kr_descriptor_replica *a, const struct kr_descriptor_replica *b)
{
  return a->port == b->port && kr_bytes_equal(a->host, b->host);
}

bool kr_same_nodes(const struct kr_descriptor *range, const struct kr_nodes *nodes)
{
  if (range->replica_count != nodes->count) {
    return false;
  }
  for (size_t i = 0; i < nodes->count; i++) {
    if (range->replicas[i].node_id != nodes->list[i].node_id ||
        !kr_same_place(&range->replicas[i], &nodes->list[i])) {
      return false;
    }
  }
  return true;
}

bool kr_same_range(const struct kr_descriptor *a, const struct kr_descriptor *b)
{
  struct kr_nodes nodes = {b->replicas, b->replica_count};

  return a->id == b->id && a->generation == b->generation &&
         kr_bytes_equal(a->start_key, b->start_key) && kr_bytes_equal(a->end_key, b->end_key) &&
         kr_same_nodes(a, &nodes);
}

bool kr_has_table(const struct kr_descriptor *range, uint64_t id,
                  const struct kr_descriptor_replica *node)
{
  if (range->id != id) {
    return false;
  }
  for (size_t i = 0; i < range->replica_count; i++) {
    if (kr_same_place(&range->replicas[i], node)) {
      return true;
    }
  }
  return false;
}

static bool any_has_table(const struct kr_descriptor *ranges, size_t count, uint64_t id,
                          const struct kr_descriptor_replica *node)
{
  for (size_t i = 0; i < count; i++) {
    if (kr_has_table(&ranges[i], id, node)) {
      return true;
    }
  }
  return false;
}

/* ---- Changes ---- */

static int check_nodes(const struct kr_descriptor *range, struct kr_failure *failure)
{
  for (size_t i = 0; i < range->replica_count; i++) {
    for (size_t j = 0; j < i; j++) {
      if (kr_same_place(&range->replicas[i], &range->replicas[j])) {
        return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                       "node %.*s:%u is named twice for range r%" PRIu64,
                       (int)range->replicas[i].host.len, (const char *)range->replicas[i].host.data,
                       range->replicas[i].port, range->id);
      }
    }
  }
  return 0;
}

static int check_id(enum kr_level level, uint64_t id, struct kr_failure *failure)
{
  if (level == KR_MAP && (id < 2 || id > KR_RANGE_ID_MAX)) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the id %" PRIu64 " is not 2 to %" PRIu64,
                   id, KR_RANGE_ID_MAX);
  }
  return 0;
}

static int next_generation(uint64_t *out, const struct kr_descriptor *a,
                           const struct kr_descriptor *b, struct kr_failure *failure)
{
  uint64_t most = a->generation > b->generation ? a->generation : b->generation;

  if (most >= INT64_MAX) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the generation %" PRIu64 " is the last: there is none above it", most);
  }
  *out = most + 1;
  return 0;
}

static struct kr_descriptor descriptor(const struct kr_descriptor *old, uint64_t id,
                                       uint64_t generation, const struct kr_nodes *nodes)
{
  bool given = nodes != NULL && nodes->count > 0;

  return (struct kr_descriptor){
      .id = id,
      .generation = generation,
      .start_key = old->start_key,
      .end_key = old->end_key,
      .replicas = given ? nodes->list : old->replicas,
      .replica_count = given ? nodes->count : old->replica_count,
  };
}

static int check_split_key(enum kr_level level, const struct kr_descriptor *old,
                           struct keyroute_bytes key, struct kr_failure *failure)
{
  char text[128], start[128], end[128];

  kr_bytes_print(text, sizeof(text), key);
  if (level == KR_META1) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "meta1 is one range, and never split");
  }
  if (!kr_descriptor_holds(old, key) || kr_bytes_equal(old->start_key, key)) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the key \"%s\" is not inside %s's range r%" PRIu64 ", \"%s\" to \"%s\"", text,
                   kr_level_name(level), old->id,
                   kr_bytes_print(start, sizeof(start), old->start_key),
                   kr_bytes_print(end, sizeof(end), old->end_key));
  }
  if (level == KR_META2 && ((const uint8_t *)key.data)[0] != 2) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the key \"%s\" is none of meta2's, which begin with \\x02", text);
  }
  return 0;
}

int kr_plan_split(struct kr_change *out, enum kr_level level, const struct kr_descriptor *old,
                  struct keyroute_bytes key, const uint64_t ids[2], const struct kr_nodes nodes[2],
                  struct kr_failure *failure)
{
  struct kr_change change = {.level = level, .olds = {*old}, .old_count = 1, .new_count = 2};
  uint64_t generation = 0;
  int error = check_split_key(level, old, key, failure);

  for (size_t i = 0; i < 2 && error == 0; i++) {
    error = check_id(level, ids[i], failure);
  }
  if (error == 0) {
    error = next_generation(&generation, old, old, failure);
  }
  if (error == 0 && (ids[0] == ids[1] || ids[0] == old->id || ids[1] == old->id)) {
    error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                    "the ids %" PRIu64 " and %" PRIu64
                    " are to be new, and different: range r%" PRIu64 " is split",
                    ids[0], ids[1], old->id);
  }
  for (size_t i = 0; i < 2 && error == 0; i++) {
    change.news[i] = descriptor(old, ids[i], generation, &nodes[i]);
    error = check_nodes(&change.news[i], failure);
  }
  if (error == 0) {
    change.news[0].end_key = key;
    change.news[1].start_key = key;
    *out = change;
  }
  return error;
}

int kr_plan_merge(struct kr_change *out, enum kr_level level, const struct kr_descriptor *left,
                  const struct kr_descriptor *right, uint64_t id, const struct kr_nodes *nodes,
                  struct kr_failure *failure)
{
  struct kr_change change = {
      .level = level, .olds = {*left, *right}, .old_count = 2, .new_count = 1};
  uint64_t generation = 0;

  if (left->end_key.len == 0 || !kr_bytes_equal(left->end_key, right->start_key)) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "%s's ranges r%" PRIu64 " and r%" PRIu64 " are not side by side",
                   kr_level_name(level), left->id, right->id);
  }
  int error = check_id(level, id, failure);

  if (error == 0) {
    error = next_generation(&generation, left, right, failure);
  }
  if (error == 0 && (id == left->id || id == right->id)) {
    error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                    "the id %" PRIu64 " is to be new: it is that of a range to be merged", id);
  }
  if (error == 0) {
    change.news[0] = descriptor(left, id, generation, nodes);
    change.news[0].end_key = right->end_key;
    error = check_nodes(&change.news[0], failure);
  }
  if (error == 0) {
    *out = change;
  }
  return error;
}

int kr_plan_move(struct kr_change *out, enum kr_level level, const struct kr_descriptor *old,
                 uint64_t id, const struct kr_nodes *nodes, struct kr_failure *failure)
{
  struct kr_change change = {.level = level, .olds = {*old}, .old_count = 1, .new_count = 1};
  uint64_t generation = 0;
  int error = check_id(level, id, failure);

  if (error == 0) {
    error = next_generation(&generation, old, old, failure);
  }
  if (error == 0 && nodes->count == 0) {
    error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "no node is named for range r%" PRIu64,
                    old->id);
  }
  if (error == 0) {
    change.news[0] = descriptor(old, id, generation, nodes);
    error = check_nodes(&change.news[0], failure);
  }
  if (error == 0) {
    *out = change;
  }
  return error;
}

/* ---- Steps ---- */

void kr_plan_init(struct kr_plan *plan, struct kr_mem *mem)
{
  *plan = (struct kr_plan){.mem = mem};
}

void kr_plan_clear(struct kr_plan *plan)
{
  kr_free(plan->mem, plan->steps);
  plan->steps = NULL;
  plan->count = plan->room = 0;
}

bool kr_step_switches(const struct kr_step *step)
{
  return step->kind == KR_STEP_PUT || step->kind == KR_STEP_REMOVE || step->kind == KR_STEP_ROOT;
}

static void add(struct kr_plan *plan, struct kr_step step)
{
  if (plan->count == plan->room && !plan->failed) {
    size_t room = plan->room > 0 ? 2 * plan->room : 16;
    struct kr_step *steps = kr_realloc(plan->mem, plan->steps, room * sizeof(*steps));

    plan->failed = steps == NULL;
    if (steps != NULL) {
      plan->steps = steps;
      plan->room = room;
    }
  }
  if (!plan->failed) {
    plan->steps[plan->count++] = step;
  }
}

/* MAKE or DROP the tables of some ranges, but for those that others have, too. */
static void add_tables(struct kr_plan *plan, enum kr_step_kind kind, enum kr_level level,
                       const struct kr_descriptor *ranges, size_t count,
                       const struct kr_descriptor *others, size_t other_count)
{
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < ranges[i].replica_count; j++) {
      const struct kr_descriptor_replica *node = &ranges[i].replicas[j];

      if (!any_has_table(others, other_count, ranges[i].id, node)) {
        add(plan,
            (struct kr_step){.kind = kind, .level = level, .range = &ranges[i], .node = node});
      }
    }
  }
}

/* Do two ranges have keys in common? */
static bool share_keys(const struct kr_descriptor *a, const struct kr_descriptor *b)
{
  return (a->end_key.len == 0 || kr_bytes_compare(b->start_key, a->end_key) < 0) &&
         (b->end_key.len == 0 || kr_bytes_compare(a->start_key, b->end_key) < 0);
}

/* Fill every table that the steps so far make. */
static void add_copies(struct kr_plan *plan, const struct kr_change *change)
{
  size_t made = plan->count;

  for (size_t i = 0; i < made; i++) {
    struct kr_step step = plan->steps[i];

    if (step.kind != KR_STEP_MAKE) {
      continue;
    }
    step.kind = KR_STEP_COPY;
    for (size_t j = 0; j < change->old_count; j++) {
      step.from = &change->olds[j];
      if (share_keys(step.range, step.from)) {
        add(plan, step);
      }
    }
  }
}

static void add_switch(struct kr_plan *plan, const struct kr_change *change)
{
  const struct kr_descriptor *olds = change->olds, *news = change->news;
  struct kr_step put = {.kind = change->level == KR_META1 ? KR_STEP_ROOT : KR_STEP_PUT,
                        .level = change->level,
                        .range = &news[0],
                        .from = &olds[0]};

  if (change->new_count == 2) {
    add(plan, (struct kr_step){.kind = KR_STEP_PUT, .level = change->level, .range = &news[1]});
  }
  add(plan, put);
  if (change->old_count == 2) {
    add(plan, (struct kr_step){.kind = KR_STEP_REMOVE, .level = change->level, .from = &olds[1]});
  }
}

void kr_plan_carry_out(struct kr_plan *plan, const struct kr_change *change)
{
  const struct kr_descriptor *olds = change->olds, *news = change->news;

  add(plan, (struct kr_step){.kind = KR_STEP_JOURNAL, .level = change->level});
  if (change->level != KR_MAP) {
    add_tables(plan, KR_STEP_MAKE, change->level, news, change->new_count, olds, change->old_count);
    add_copies(plan, change);
  }
  add_switch(plan, change);
  add_tables(plan, KR_STEP_DROP, change->level, olds, change->old_count, news, change->new_count);
  add(plan, (struct kr_step){.kind = KR_STEP_FORGET, .level = change->level});
}

void kr_plan_undo(struct kr_plan *plan, const struct kr_change *change)
{
  if (change->level != KR_MAP) {
    add_tables(plan, KR_STEP_DROP, change->level, change->news, change->new_count, change->olds,
               change->old_count);
  }
  add(plan, (struct kr_step){.kind = KR_STEP_FORGET, .level = change->level});
}

void kr_plan_begin(struct kr_plan *plan, const struct kr_descriptor *meta1,
                   const struct kr_descriptor *meta2, const struct kr_descriptor *map,
                   bool make_map)
{
  add_tables(plan, KR_STEP_MAKE, KR_META1, meta1, 1, NULL, 0);
  add_tables(plan, KR_STEP_MAKE, KR_META2, meta2, 1, NULL, 0);
  if (make_map) {
    add_tables(plan, KR_STEP_MAKE, KR_MAP, map, 1, NULL, 0);
  }
  add(plan, (struct kr_step){.kind = KR_STEP_PUT, .level = KR_MAP, .range = map});
  add(plan, (struct kr_step){.kind = KR_STEP_PUT, .level = KR_META2, .range = meta2});
  add(plan, (struct kr_step){.kind = KR_STEP_ROOT, .level = KR_META1, .range = meta1});
}
