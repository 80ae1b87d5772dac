/*
 * The story of a change of the range directory, from what is asked to the last write.
 *
 *     read      where meta1 is, its rows, and the journal of an interrupted change
 *     recover   see to that one first (publish_change.c)
 *     census    which range is meant, which ids are free, where the nodes are
 *     plan      what takes its place, or why it cannot be: nothing is written until here
 *     look      are the tables of map's new ranges there? Do the nodes for the index answer?
 *     carry out step by step
 *
 *  1. Nothing else is published before the last old table has gone (publish_plan.c says why).
 *  2. Asking for what is there already is no error: so a command may be run again.
 *  3. Ids of the index are one above the largest that there is, and that one never goes: the ranges
 *     of a change have the largest of all.
 *
 * Threads: the one that publishes, which holds the lock (range_lock.c).
 */
#include "lib/publish.h"

#include "lib/bytes.h"
#include "lib/publish_census.h"
#include "lib/publish_change.h"

#include <inttypes.h>

/* How many ids are tried whose tables stand somewhere, left over. */
enum { IDS_TRIED = 100 };

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

/* ---- Requests -------------------------------------------------------------------------------- */

static int keep_after(struct kr_range_list *after, const struct kr_descriptor *ranges, size_t count,
                      struct kr_failure *failure)
{
  return kr_range_list_add(after, ranges, count)
             ? 0
             : kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
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
      (error = make_plan(&change, publisher->means, census, failure)) != 0) {
    return error;
  }
  if (change.level == KR_MAP) {
    error = kr_change_check_tables(publisher->means, change.news, change.new_count, failure);
  }
  if (error == 0) {
    /* Kept first: once it is made, nothing may fail. */
    error = keep_after(after, change.news, change.new_count, failure);
  }
  return error != 0 ? error : kr_change_carry_out(publisher, &change, failure);
}

/* Read the directory, and again if a change had been interrupted. *is_it as in
 * kr_change_recover. */
static int read_whole(struct kr_range_list *after, struct kr_directory *directory, bool *is_it,
                      struct kr_publisher *publisher, const struct kr_publish_request *request,
                      struct kr_failure *failure)
{
  int error = kr_directory_read(directory, publisher->means, failure);

  if (error == 0) {
    error = kr_directory_check(directory, failure);
  }
  publisher->root = directory->root;
  if (error != 0 || directory->journal == NULL) {
    return error;
  }
  error = kr_change_recover(is_it, publisher, request, failure);
  if (error == 0 && *is_it) {
    const struct kr_change *change = &directory->journal->change;

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
