/*
 * The public calls that show a range directory: keyroute_range_list and keyroute_range_interrupted.
 *
 *  1. What is shown is read where it is, from the nodes (directory.c): nothing goes by way of the
 *     cache or the locator.
 *  2. All is done in the caller's thread, one request after another. No lock is taken.
 *
 * Threads: the caller's, never the loop.
 */
#include "keyroute/range.h"

#include "lib/bytes.h"
#include "lib/directory.h"
#include "lib/range_call.h"

enum { LIMIT_DEFAULT = 1000 };

struct listing {
  struct keyroute_ranges *ranges;
  struct keyroute_bytes start;
  size_t limit;
};

static int list_range(void *arg, const struct kr_descriptor *range, struct kr_failure *failure)
{
  struct listing *listing = arg;
  struct keyroute_ranges *ranges = listing->ranges;
  bool full = ranges->list.count == listing->limit;

  if (kr_bytes_compare(range->start_key, listing->start) < 0) {
    return KR_VISIT_ON;
  }
  bool good = full ? kr_ranges_set_next(ranges, range->start_key)
                   : kr_range_list_add(&ranges->list, range, 1);

  return !good  ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
         : full ? KR_VISIT_ENOUGH
                : KR_VISIT_ON;
}

static int read_directory(struct kr_directory *directory, struct kr_range_call *range_call)
{
  int error = kr_directory_read(directory, &range_call->publish.means, &range_call->failure);

  return error == 0 ? kr_directory_check(directory, &range_call->failure) : error;
}

/* The ranges of meta2 are all in the directory that was read. */
static int list_meta2(struct listing *listing, const struct kr_directory *directory,
                      struct kr_failure *failure)
{
  int outcome = KR_VISIT_ON;

  for (size_t i = 0; i < directory->meta2_count && outcome == KR_VISIT_ON; i++) {
    outcome = list_range(listing, directory->meta2[i], failure);
  }
  return outcome;
}

static int list_level(struct listing *listing, struct kr_directory *directory,
                      struct kr_failure *failure)
{
  int outcome = KR_VISIT_ON;

  switch (listing->ranges->level) {
  case KR_META1:
    outcome = list_range(listing, directory->root, failure);
    break;
  case KR_META2:
    outcome = list_meta2(listing, directory, failure);
    break;
  case KR_MAP:
    outcome = kr_directory_walk(directory, listing->start, list_range, listing, failure);
  }
  return outcome < 0 ? outcome : 0;
}

static int list_table(struct listing *listing, struct kr_range_call *range_call)
{
  struct kr_directory directory = {.means = &range_call->publish.means};
  int error = read_directory(&directory, range_call);

  if (error == 0) {
    error = list_level(listing, &directory, &range_call->failure);
  }
  kr_directory_clear(&directory);
  return error;
}

/* Begin a call that is of no use where nothing is given out. Errors: as kr_range_call_begin. */
static int begin(struct kr_range_call *range_call, struct keyroute_ranges *const *out,
                 struct keyroute_connection *conn, const struct keyroute_call *call,
                 struct keyroute_detail *detail)
{
  if (out == NULL) {
    keyroute_detail_clear(detail);
    return kr_fail_invalid(detail, "out is NULL");
  }
  return kr_range_call_begin(range_call, conn, call, detail);
}

int keyroute_range_list(struct keyroute_ranges **out, struct keyroute_connection *conn,
                        const char *table, struct keyroute_bytes start, size_t limit,
                        const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct listing listing = {.start = start, .limit = limit > 0 ? limit : LIMIT_DEFAULT};
  enum kr_level level = KR_MAP;
  struct kr_range_call range_call;
  int error = begin(&range_call, out, conn, call, detail);

  if (error != 0) {
    return error;
  }
  error = kr_range_call_check_table(&level, table, &range_call.failure);
  if (error == 0) {
    error = kr_range_call_check_key(start, &range_call.failure);
  }
  listing.ranges = kr_ranges_new(conn->mem, level);
  if (error == 0 && listing.ranges == NULL) {
    error = kr_fail(&range_call.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  if (error == 0 && (error = kr_range_call_reach(&range_call, false)) == 0) {
    error = list_table(&listing, &range_call);
  }
  return kr_range_call_end(&range_call, error, out, listing.ranges, detail);
}

/* The change that the journal tells of, if it does. */
static int list_journal(struct keyroute_ranges *ranges, struct kr_range_call *range_call)
{
  struct kr_directory directory = {.means = &range_call->publish.means};
  int error = read_directory(&directory, range_call);
  const struct kr_change *change = directory.journal != NULL ? &directory.journal->change : NULL;
  bool good = true;

  if (error == 0 && change != NULL) {
    ranges->level = change->level;
    ranges->new_from = change->old_count;
    good = kr_range_list_add(&ranges->list, change->olds, change->old_count) &&
           kr_range_list_add(&ranges->list, change->news, change->new_count);
  }
  kr_directory_clear(&directory);
  return error != 0 || good ? error
                            : kr_fail(&range_call->failure, KEYROUTE_E_NO_MEMORY, "out of memory");
}

int keyroute_range_interrupted(struct keyroute_ranges **out, struct keyroute_connection *conn,
                               const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct keyroute_ranges *ranges;
  struct kr_range_call range_call;
  int error = begin(&range_call, out, conn, call, detail);

  if (error != 0) {
    return error;
  }
  ranges = kr_ranges_new(conn->mem, KR_MAP);
  error = ranges != NULL ? kr_range_call_reach(&range_call, false)
                         : kr_fail(&range_call.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  if (error == 0) {
    error = list_journal(ranges, &range_call);
  }
  return kr_range_call_end(&range_call, error, out, ranges, detail);
}
