/*
 * How does a directory begin? With one range on each level, which holds all keys.
 *
 *  1. Tables are made and rows written from map upwards; what says where meta1 is comes last. So
 *     there is a directory once it is whole, and not before.
 *  2. One that was interrupted is made again: its tables may stand, and its rows be written.
 *
 * Threads: the one that publishes, which holds the lock (range_lock.c).
 */
#include "lib/publish_begin.h"

#include "lib/publish_change.h"

#include <inttypes.h>

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
  struct kr_descriptor *meta2_list[] = {&meta2};
  struct kr_directory directory = {
      .means = publisher->means, .version = -1, .meta2 = meta2_list, .meta2_count = 1};
  struct kr_plan plan;

  directory.root = &meta1;
  publisher->directory = &directory;
  publisher->root = &meta1;
  kr_plan_init(&plan, publisher->means->mem);
  kr_plan_begin(&plan, &meta1, &meta2, &map, beginning->family_count > 0);
  int error =
      beginning->family_count > 0 ? 0 : kr_change_check_tables(publisher->means, &map, 1, failure);

  if (error == 0 && !kr_range_list_add(after, (struct kr_descriptor[]){meta1, meta2, map}, 3)) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
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
