/*
 * A change that is planned: how is it carried out, and how is one seen to that was interrupted?
 *
 *  1. One that was interrupted before its first row was switched is undone, whoever finds it. Its
 *     new tables of the index are dropped where the node answers; nobody has heard of them.
 *  2. One that was interrupted later is carried out: at once if it is of the index, which nobody
 *     but a publisher writes, or if only old tables are left to go. But rows of users may have been
 *     written to an old range in the belief that the change had failed. So in map it is only
 *     whoever asks for the very same change again that has it carried out; anybody else is told.
 *
 * Threads: the one that publishes, which holds the lock (range_lock.c).
 */
#include "lib/publish_change.h"

#include "lib/bytes.h"

#include <inttypes.h>

/* ---- Tables ---------------------------------------------------------------------------------- */

int kr_change_check_tables(struct kr_publish_means *means, const struct kr_descriptor *ranges,
                           size_t count, struct kr_failure *failure)
{
  int error = 0;

  for (size_t i = 0; i < count; i++) {
    const struct kr_descriptor *range = &ranges[i];

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

/* ---- Carrying out ---------------------------------------------------------------------------- */

static int do_steps(struct kr_publisher *publisher, const struct kr_plan *plan, size_t from,
                    struct kr_failure *failure)
{
  bool switched = from > 0;
  int error = plan->failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory") : 0;

  for (size_t i = from; i < plan->count && error == 0; i++) {
    const struct kr_step *step = &plan->steps[i];

    if (kr_step_switches(step) && !switched && publisher->change != NULL) {
      error = kr_step_check_journal(publisher, failure);
      switched = true;
    }
    if (error == 0) {
      error = kr_step_do(publisher, step, failure);
    }
  }
  return error;
}

int kr_change_carry_out(struct kr_publisher *publisher, const struct kr_change *change,
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
    return change->old_count == 2 && kr_descriptor_holds(&olds[0], request->key) &&
           (!is_map || news[0].id == request->ids[0]);
  case KR_PUBLISH_MOVE:
    return change->old_count == 1 && change->new_count == 1 &&
           kr_descriptor_holds(&olds[0], request->key) &&
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

int kr_change_recover(bool *is_it, struct kr_publisher *publisher,
                      const struct kr_publish_request *request, struct kr_failure *failure)
{
  const struct kr_change *change = &publisher->directory->journal->change;
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
