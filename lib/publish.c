/*
 * The story of a change of the range directory, from what is asked to the last write.
 *
 *     read      where meta1 is, its rows, and the note of an interrupted change
 *     recover   see to that one first
 *     census    which range is meant, which ids are free, where the nodes are
 *     plan      what takes its place, or why it cannot be: nothing is written until here
 *     look      are the tables of map's new ranges there? Do the nodes for the index answer?
 *     carry out step by step
 *
 *  1. A change that was interrupted before its first row was switched is undone, whoever finds it.
 *     Its new tables of the index are dropped where the node answers; nobody has heard of them.
 *  2. One that was interrupted later is carried out: at once if it is of the index, which nobody
 *     but a publisher writes, or if only old tables are left to go. But rows of users may have been
 *     written to an old range in the belief that the change had failed. So in map it is only
 *     whoever asks for the very same change again that has it carried out; anybody else is told.
 *  3. Nothing else is published before the last old table has gone (publish_plan.c says why).
 *  4. Asking for what is there already is no error: so a command may be run again.
 *  5. Ids of the index are one above the largest that there is, and that one never goes: the ranges
 *     of a change have the largest of all.
 *
 * Threads: the one that publishes, which holds the lock (range_lock.c).
 */
#include "lib/publish.h"

#include "lib/bytes.h"
#include "lib/publish_census.h"
#include "lib/publish_step.h"

#include <inttypes.h>

/* How many ids are tried whose tables stand somewhere, left over. */
enum { IDS_TRIED = 100 };

/* ---- Carrying out ---------------------------------------------------------------------------- */

static int do_steps(struct kr_publisher *publisher, const struct kr_plan *plan, size_t from,
                    struct kr_failure *failure)
{
  bool switched = from > 0;
  int error = plan->failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory") : 0;

  for (size_t i = from; i < plan->count && error == 0; i++) {
    const struct kr_step *step = &plan->steps[i];

    if (kr_step_switches(step) && !switched && publisher->change != NULL) {
      error = kr_step_check_note(publisher, failure);
      switched = true;
    }
    if (error == 0) {
      error = kr_step_do(publisher, step, failure);
    }
  }
  return error;
}

static int carry_out(struct kr_publisher *publisher, const struct kr_change *change,
                     struct kr_failure *failure)
{
  struct kr_plan plan;

  kr_plan_init(&plan, publisher->means->mem);
  kr_plan_carry_out(&plan, change);
  publisher->change = change;
  int error = do_steps(publisher, &plan, 0, failure);

  kr_plan_clear(&plan);
  return error;
}

/* ---- Recovering ------------------------------------------------------------------------------ */

/* How far did it get? *first is the first step to be done, of those that switch or follow them; 0
 * if nothing was switched. *whole: all that was to be switched was. */
static int find_progress(size_t *first, bool *whole, struct kr_publisher *publisher,
                         const struct kr_plan *plan, struct kr_failure *failure)
{
  size_t done = 0, wanted = 0, next = 0;
  int error = 0;

  for (size_t i = 0; i < plan->count && error == 0; i++) {
    bool is_done = false;

    if (!kr_step_switches(&plan->steps[i])) {
      continue;
    }
    wanted++;
    error = kr_step_is_done(&is_done, publisher, &plan->steps[i], failure);
    if (is_done && done + 1 == wanted) {
      done++;
      next = i + 1;
    }
  }
  *first = next;
  *whole = done == wanted;
  return error;
}

/* Does a failure say that a node is not there? */
static bool is_away(int error)
{
  return error == KEYROUTE_E_UNREACHABLE || error == KEYROUTE_E_RESOLVE ||
         error == KEYROUTE_E_TIMEOUT;
}

static int undo(struct kr_publisher *publisher, const struct kr_change *change,
                struct kr_failure *failure)
{
  struct kr_plan plan;

  kr_plan_init(&plan, publisher->means->mem);
  kr_plan_undo(&plan, change);
  int error = plan.failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory") : 0;

  for (size_t i = 0; i < plan.count && error == 0; i++) {
    error = kr_step_do(publisher, &plan.steps[i], failure);
    if (plan.steps[i].kind == KR_STEP_DROP && is_away(error)) {
      error = 0;
    }
  }
  kr_plan_clear(&plan);
  return error;
}

static bool is_inside(const struct kr_descriptor *range, struct keyroute_bytes key)
{
  return kr_bytes_compare(range->start_key, key) <= 0 &&
         (range->end_key.len == 0 || kr_bytes_compare(key, range->end_key) < 0);
}

/* Is a change what a request asks for? Of the index, ids are not asked for. */
static bool is_asked_for(const struct kr_change *change, const struct kr_publish_request *request)
{
  const struct kr_descriptor *olds = change->olds, *news = change->news;
  bool is_map = change->level == KR_MAP;

  if (request == NULL || change->level != request->level) {
    return false;
  }
  switch (request->kind) {
  case KR_PUBLISH_SPLIT:
    return change->new_count == 2 && kr_bytes_equal(news[1].start_key, request->key) &&
           (!is_map || (news[0].id == request->ids[0] && news[1].id == request->ids[1]));
  case KR_PUBLISH_MERGE:
    return change->old_count == 2 && is_inside(&olds[0], request->key) &&
           (!is_map || news[0].id == request->ids[0]);
  case KR_PUBLISH_MOVE:
    return change->old_count == 1 && change->new_count == 1 && is_inside(&olds[0], request->key) &&
           kr_same_nodes(&news[0], &request->nodes[0]);
  }
  return false;
}

static int refuse_half_made(const struct kr_change *change, struct kr_failure *failure)
{
  const struct kr_descriptor *olds = change->olds, *news = change->news;
  char key[128];

  if (change->new_count == 2) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the split of map's range r%" PRIu64 " at \"%s\" into r%" PRIu64 " and r%" PRIu64
                   " was interrupted half-way: have it made again first",
                   olds[0].id, kr_bytes_print(key, sizeof(key), news[1].start_key), news[0].id,
                   news[1].id);
  }
  return kr_fail(
      failure, KEYROUTE_E_INVALID_ARGUMENT,
      "the merge of map's ranges r%" PRIu64 " and r%" PRIu64 ", from \"%s\" on, into r%" PRIu64
      " was interrupted half-way: have it made again first",
      olds[0].id, olds[1].id, kr_bytes_print(key, sizeof(key), news[0].start_key), news[0].id);
}

/* See to the change that the note tells of. *is_it: it was what the request asks for, and is made
 * now. */
static int recover(bool *is_it, struct kr_publisher *publisher,
                   const struct kr_publish_request *request, struct kr_failure *failure)
{
  const struct kr_change *change = &publisher->directory->note->change;
  bool asked = is_asked_for(change, request), whole = false;
  struct kr_plan plan;
  size_t first = 0;

  kr_plan_init(&plan, publisher->means->mem);
  kr_plan_carry_out(&plan, change);
  publisher->change = change;
  int error = plan.failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                          : find_progress(&first, &whole, publisher, &plan, failure);

  if (error == 0 && first == 0) {
    error = undo(publisher, change, failure);
  } else if (error == 0 && change->level == KR_MAP && !whole && !asked) {
    error = refuse_half_made(change, failure);
  } else if (error == 0) {
    error = do_steps(publisher, &plan, first, failure);
    *is_it = asked && error == 0;
  }
  publisher->change = NULL;
  kr_plan_clear(&plan);
  return error;
}

/* ---- Planning -------------------------------------------------------------------------------- */

static bool is_where_asked(const struct kr_descriptor *range, const struct kr_nodes *nodes)
{
  return nodes->count == 0 || kr_same_nodes(range, nodes);
}

/* Do two ranges meet at the key of a split, which are what it asks for? Of the index no ids are
 * asked for. */
static bool is_split(const struct kr_census *census)
{
  const struct kr_publish_request *request = census->request;
  const struct kr_descriptor *right = census->holder, *left = census->before;

  if (left == NULL || !kr_bytes_equal(right->start_key, request->key) ||
      !kr_bytes_equal(left->end_key, request->key)) {
    return false;
  }
  if (request->level == KR_MAP) {
    return left->id == request->ids[0] && right->id == request->ids[1];
  }
  return is_where_asked(left, &census->nodes[0]) && is_where_asked(right, &census->nodes[1]);
}

/* Is what is asked for there already? (Of merges in the index it cannot be told.) */
static bool is_there(const struct kr_census *census)
{
  const struct kr_publish_request *request = census->request;
  const struct kr_descriptor *holder = census->holder;

  switch (request->kind) {
  case KR_PUBLISH_SPLIT:
    return is_split(census);
  case KR_PUBLISH_MERGE:
    return request->level == KR_MAP && holder->id == request->ids[0];
  case KR_PUBLISH_MOVE:
    return kr_same_nodes(holder, &census->nodes[0]) &&
           (request->level != KR_MAP || request->ids[0] == 0 || request->ids[0] == holder->id);
  }
  return false;
}

static int check_census(const struct kr_census *census, struct kr_failure *failure)
{
  const struct kr_publish_request *request = census->request;
  const struct kr_descriptor *holder = census->holder, *next = census->next;
  const char *level = kr_level_name(request->level);
  char key[128];

  if (holder == NULL) {
    return kr_fail(failure, KEYROUTE_E_HOLE, "no range of %s holds the key \"%s\"", level,
                   kr_bytes_print(key, sizeof(key), request->key));
  }
  if (census->overlaps ||
      (next != NULL &&
       (holder->end_key.len == 0 || kr_bytes_compare(next->start_key, holder->end_key) < 0))) {
    return kr_fail(failure, KEYROUTE_E_OVERLAP,
                   "%s's range r%" PRIu64 " at \"%s\" overlaps another one", level, holder->id,
                   kr_bytes_print(key, sizeof(key), holder->start_key));
  }
  return 0;
}

static int check_ids(const struct kr_census *census, struct kr_failure *failure)
{
  bool keeps = census->request->kind == KR_PUBLISH_MOVE && census->used_id == census->holder->id &&
               census->used_by == KR_MAP;

  if (census->request->level == KR_MAP && census->used_id > 0 && !keeps) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the id %" PRIu64 " is in use: a range of %s has it", census->used_id,
                   kr_level_name(census->used_by));
  }
  return 0;
}

/* An id whose table stands on none of the nodes. */
static int choose_id(uint64_t *id, struct kr_publish_means *means, uint64_t above,
                     const struct kr_nodes *nodes, struct kr_failure *failure)
{
  for (uint64_t next = above + 1; next <= above + IDS_TRIED; next++) {
    bool stands = false;
    int error = 0;

    for (size_t i = 0; i < nodes->count && error == 0 && !stands; i++) {
      error = kr_directory_stands(&stands, means, next, &nodes->list[i], failure);
    }
    if (error != 0) {
      return error;
    }
    if (!stands) {
      *id = next;
      return 0;
    }
  }
  return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                 "the nodes have left over tables of all ids from %" PRIu64 " on", above + 1);
}

/* The ids of the new ranges: the caller's, or this library's. */
static int set_ids(uint64_t ids[2], struct kr_publish_means *means, const struct kr_census *census,
                   struct kr_failure *failure)
{
  const struct kr_publish_request *request = census->request;
  const struct kr_descriptor *holder = census->holder;
  struct kr_nodes old = {holder->replicas, holder->replica_count};
  uint64_t above = census->top_id;
  int error = 0;

  if (request->level == KR_MAP) {
    bool keeps = request->kind == KR_PUBLISH_MOVE && request->ids[0] == 0;

    ids[0] = keeps ? holder->id : request->ids[0];
    ids[1] = request->ids[1];
    return 0;
  }
  for (size_t i = 0; i < (request->kind == KR_PUBLISH_SPLIT ? 2 : 1) && error == 0; i++) {
    const struct kr_nodes *nodes = census->nodes[i].count > 0 ? &census->nodes[i] : &old;

    error = choose_id(&ids[i], means, above, nodes, failure);
    above = ids[i];
  }
  return error;
}

static int make_plan(struct kr_change *out, struct kr_publish_means *means,
                     const struct kr_census *census, struct kr_failure *failure)
{
  const struct kr_publish_request *request = census->request;
  enum kr_level level = request->level;
  uint64_t ids[2] = {0, 0};
  int error = set_ids(ids, means, census, failure);

  if (error != 0) {
    return error;
  }
  switch (request->kind) {
  case KR_PUBLISH_SPLIT:
    return kr_plan_split(out, level, census->holder, request->key, ids, census->nodes, failure);
  case KR_PUBLISH_MERGE:
    if (census->next == NULL) {
      return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                     "%s's range r%" PRIu64 " is the last: none is behind it to merge with",
                     kr_level_name(level), census->holder->id);
    }
    return kr_plan_merge(out, level, census->holder, census->next, ids[0], &census->nodes[0],
                         failure);
  case KR_PUBLISH_MOVE:
    return kr_plan_move(out, level, census->holder, ids[0], &census->nodes[0], failure);
  }
  return 0;
}

/* Do the tables of map's new ranges stand? */
static int check_tables(struct kr_publish_means *means, const struct kr_change *change,
                        struct kr_failure *failure)
{
  int error = 0;

  for (size_t i = 0; i < change->new_count && change->level == KR_MAP; i++) {
    const struct kr_descriptor *range = &change->news[i];

    for (size_t j = 0; j < range->replica_count && error == 0; j++) {
      const struct kr_descriptor_replica *node = &range->replicas[j];
      bool stands = false;

      error = kr_directory_stands(&stands, means, range->id, node, failure);
      if (error == 0 && !stands) {
        error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                        "there is no table r%" PRIu64
                        " on %.*s:%u: it has to stand, and to be filled, beforehand",
                        range->id, (int)node->host.len, (const char *)node->host.data, node->port);
      }
    }
  }
  return error;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static int keep_after(struct kr_range_list *after, const struct kr_descriptor *ranges, size_t count,
                      struct kr_failure *failure)
{
  for (size_t i = 0; i < count; i++) {
    if (!kr_range_list_add(after, &ranges[i])) {
      return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    }
  }
  return 0;
}

/* What is there already: the ranges that the request would have made. */
static int keep_there(struct kr_range_list *after, const struct kr_census *census,
                      struct kr_failure *failure)
{
  int error =
      census->request->kind == KR_PUBLISH_SPLIT ? keep_after(after, census->before, 1, failure) : 0;

  return error != 0 ? error : keep_after(after, census->holder, 1, failure);
}

static int make_change(struct kr_range_list *after, struct kr_publisher *publisher,
                       const struct kr_census *census, struct kr_failure *failure)
{
  struct kr_change change;
  int error = check_census(census, failure);

  if (error == 0 && is_there(census)) {
    return keep_there(after, census, failure);
  }
  if (error != 0 || (error = check_ids(census, failure)) != 0 ||
      (error = make_plan(&change, publisher->means, census, failure)) != 0 ||
      (error = check_tables(publisher->means, &change, failure)) != 0) {
    return error;
  }
  /* Kept first: once it is made, nothing may fail. */
  error = keep_after(after, change.news, change.new_count, failure);
  return error != 0 ? error : carry_out(publisher, &change, failure);
}

/* Read the directory, and again if a change had been interrupted. *is_it as in recover. */
static int read_whole(struct kr_range_list *after, struct kr_directory *directory, bool *is_it,
                      struct kr_publisher *publisher, const struct kr_publish_request *request,
                      struct kr_failure *failure)
{
  int error = kr_directory_read(directory, publisher->means, failure);

  if (error == 0 && directory->root == NULL) {
    error = kr_fail(failure, KEYROUTE_E_BOOTSTRAP,
                    "there is no range directory: it has to be begun first");
  }
  publisher->root = directory->root;
  if (error != 0 || directory->note == NULL) {
    return error;
  }
  error = recover(is_it, publisher, request, failure);
  if (error == 0 && *is_it) {
    const struct kr_change *change = &directory->note->change;

    return keep_after(after, change->news, change->new_count, failure);
  }
  if (error == 0) {
    kr_directory_clear(directory);
    error = kr_directory_read(directory, publisher->means, failure);
    publisher->root = directory->root;
  }
  return error;
}

int kr_publish(struct kr_range_list *after, struct kr_publish_means *means,
               const struct kr_publish_request *request, struct kr_failure *failure)
{
  struct kr_directory directory = {.means = means};
  struct kr_publisher publisher = {.means = means, .directory = &directory};
  bool is_it = false;

  if (request->level == KR_META1 && means->fixed) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "with registry static nobody could be told where meta1 moves");
  }
  int error = read_whole(after, &directory, &is_it, &publisher, request, failure);

  if (error == 0 && !is_it) {
    struct kr_census census;

    error = kr_census_take(&census, &directory, request, failure);
    if (error == 0) {
      error = make_change(after, &publisher, &census, failure);
    }
    kr_census_clear(&census);
  }
  kr_directory_clear(&directory);
  if (error != 0) {
    kr_range_list_clear(after);
  }
  return error;
}

/* ---- The beginning --------------------------------------------------------------------------- */

static struct kr_descriptor first_range(uint64_t id, const struct kr_nodes *nodes)
{
  return (struct kr_descriptor){
      .id = id, .generation = 1, .replicas = nodes->list, .replica_count = nodes->count};
}

static int refuse_existing(const struct kr_directory *directory, struct kr_failure *failure)
{
  const struct kr_descriptor_replica *node = &directory->root->replicas[0];

  return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                 "there is a range directory already: its meta1 is r%" PRIu64 " on %.*s:%u",
                 directory->root->id, (int)node->host.len, (const char *)node->host.data,
                 node->port);
}

static int check_nodes(const struct kr_nodes *nodes, enum kr_level level,
                       struct kr_failure *failure)
{
  if (nodes->count == 0) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "no node is named for %s",
                   kr_level_name(level));
  }
  for (size_t i = 0; i < nodes->count; i++) {
    for (size_t j = 0; j < i; j++) {
      if (kr_same_place(&nodes->list[i], &nodes->list[j])) {
        return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "a node is named twice for %s",
                       kr_level_name(level));
      }
    }
  }
  return 0;
}

static int check_beginning(const struct kr_publish_beginning *beginning, struct kr_failure *failure)
{
  int error = check_nodes(&beginning->meta1, KR_META1, failure);

  if (error == 0) {
    error = check_nodes(&beginning->meta2, KR_META2, failure);
  }
  if (error == 0) {
    error = check_nodes(&beginning->map, KR_MAP, failure);
  }
  if (error == 0 && (beginning->map_id < 2 || beginning->map_id > KR_RANGE_ID_MAX)) {
    error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the id %" PRIu64 " is not 2 to %" PRIu64,
                    beginning->map_id, KR_RANGE_ID_MAX);
  }
  return error;
}

/* Do the steps, but for tables that an interrupted beginning has made. */
static int do_beginning(struct kr_publisher *publisher, const struct kr_plan *plan,
                        struct kr_failure *failure)
{
  int error = plan->failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory") : 0;

  for (size_t i = 0; i < plan->count && error == 0; i++) {
    const struct kr_step *step = &plan->steps[i];
    bool stands = false;

    if (step->kind == KR_STEP_MAKE) {
      error = kr_directory_stands(&stands, publisher->means, step->range->id, step->node, failure);
    }
    if (error == 0 && !stands) {
      error = kr_step_do(publisher, step, failure);
    }
  }
  return error;
}

static int begin_directory(struct kr_range_list *after, struct kr_publisher *publisher,
                           const struct kr_publish_beginning *beginning, struct kr_failure *failure)
{
  struct kr_descriptor meta1 = first_range(1, &beginning->meta1);
  struct kr_descriptor meta2 = first_range(KR_RANGE_ID_MAX + 1, &beginning->meta2);
  struct kr_descriptor map = first_range(beginning->map_id, &beginning->map);
  struct kr_change made = {.level = KR_MAP, .news = {map}, .new_count = 1};
  struct kr_descriptor *meta2_list[] = {&meta2};
  struct kr_directory directory = {
      .means = publisher->means, .version = -1, .meta2 = meta2_list, .meta2_count = 1};
  struct kr_plan plan;

  directory.root = &meta1;
  publisher->directory = &directory;
  publisher->root = &meta1;
  kr_plan_init(&plan, publisher->means->mem);
  kr_plan_begin(&plan, &meta1, &meta2, &map, beginning->family_count > 0);
  int error = beginning->family_count > 0 ? 0 : check_tables(publisher->means, &made, failure);

  if (error == 0) {
    error = keep_after(after, (struct kr_descriptor[]){meta1, meta2, map}, 3, failure);
  }
  if (error == 0) {
    error = do_beginning(publisher, &plan, failure);
  }
  kr_plan_clear(&plan);
  return error;
}

int kr_publish_begin(struct kr_range_list *after, struct kr_publish_means *means,
                     const struct kr_publish_beginning *beginning, struct kr_failure *failure)
{
  struct kr_directory directory = {.means = means};
  struct kr_publisher publisher = {
      .means = means, .families = beginning->families, .family_count = beginning->family_count};
  int error = check_beginning(beginning, failure);

  if (error == 0 && !means->fixed) {
    error = kr_directory_read(&directory, means, failure);
    if (directory.root != NULL) {
      error = refuse_existing(&directory, failure);
    }
    kr_directory_clear(&directory);
  }
  if (error == 0) {
    error = begin_directory(after, &publisher, beginning, failure);
  }
  if (error != 0) {
    kr_range_list_clear(after);
  }
  return error;
}
