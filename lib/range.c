/*
 * The public calls that change and show a range directory: check what is asked, get hold of
 * ZooKeeper and the nodes, hand over to publish.c or directory.c.
 *
 *  1. Nothing goes by way of the cache or the locator: what is to be changed is read where it is.
 *  2. All is done in the caller's thread, one request after another.
 *  3. What a call is to give out is made before anything is written.
 *
 * Threads: the caller's, never the loop.
 */
#include "keyroute/range.h"

#include "lib/bytes.h"
#include "lib/call.h"
#include "lib/clock.h"
#include "lib/directory.h"
#include "lib/publish.h"
#include "lib/publish_begin.h"
#include "lib/publish_conn.h"
#include "lib/ranges.h"

#include <inttypes.h>
#include <string.h>

enum { LIMIT_DEFAULT = 1000 };
enum { HOST_MAX = 255 };

/* ---- Checking -------------------------------------------------------------------------------- */

static int check_level(enum kr_level *out, const char *table, struct kr_failure *failure)
{
  for (int level = KR_META1; table != NULL && level <= KR_MAP; level++) {
    if (strcmp(table, kr_level_name((enum kr_level)level)) == 0) {
      *out = (enum kr_level)level;
      return 0;
    }
  }
  return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                 "a range directory has the tables map, meta2 and meta1");
}

static int check_key(struct keyroute_bytes key, struct kr_failure *failure)
{
  if (key.len > 0 && key.data == NULL) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the key has a length and no data");
  }
  if (key.len > KR_DESCRIPTOR_KEY_MAX) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the key has %zu bytes, not at most %d",
                   key.len, KR_DESCRIPTOR_KEY_MAX);
  }
  return 0;
}

static int check_host(const struct keyroute_range_node *node, struct kr_failure *failure)
{
  size_t len = strnlen(node->host, HOST_MAX + 1);

  if (len == 0 || len > HOST_MAX) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the host of node %" PRIu64 " is empty or too long", node->id);
  }
  for (size_t i = 0; i < len; i++) {
    if (node->host[i] <= ' ' || node->host[i] > '~') {
      return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                     "the host of node %" PRIu64 " holds strange bytes", node->id);
    }
  }
  if (node->port < 1 || node->port > UINT16_MAX) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "the port %d of node %" PRIu64 " is not 1 to 65535", node->port, node->id);
  }
  return 0;
}

/* Take an application's nodes over: *out, kr_free; views into its hosts.
 *  placed  each has to say where it is */
static int take_nodes(struct kr_descriptor_replica **out, struct kr_nodes *nodes,
                      struct kr_mem *mem, const struct keyroute_range_node *given, size_t count,
                      bool placed, struct kr_failure *failure)
{
  if (count > KR_DESCRIPTOR_REPLICAS_MAX || (count > 0 && given == NULL)) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "there are %zu nodes, not at most %d",
                   count, KR_DESCRIPTOR_REPLICAS_MAX);
  }
  struct kr_descriptor_replica *list = kr_calloc(mem, count * sizeof(*list));
  int error = list != NULL ? 0 : kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");

  for (size_t i = 0; i < count && error == 0; i++) {
    list[i].node_id = given[i].id;
    if (given[i].host != NULL) {
      error = check_host(&given[i], failure);
      list[i].host = keyroute_string(given[i].host);
      list[i].port = (uint16_t)given[i].port;
    } else if (placed) {
      error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "node %" PRIu64 " has no host",
                      given[i].id);
    }
  }
  *out = list;
  *nodes = (struct kr_nodes){list, count};
  return error;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What every call here begins and ends with. */
struct visit {
  struct keyroute_connection *conn;
  struct kr_terms terms;
  struct kr_failure failure;
  struct kr_publish_conn publish;
};

static int begin(struct visit *visit, struct keyroute_connection *conn,
                 const struct keyroute_call *call, struct keyroute_detail *detail)
{
  int error = kr_call_may_wait(conn, conn, detail);

  memset(visit, 0, sizeof(*visit));
  visit->conn = conn;
  if (error == 0) {
    error = kr_call_terms(&visit->terms, conn, call, 0, detail);
  }
  if (error == 0 && strcmp(conn->settings->layout, "range") != 0) {
    error = kr_fail_invalid(detail, "the connection is not of layout range");
  }
  if (error == 0 && !kr_connection_enter(conn)) {
    error = kr_fail_closed(conn, detail);
  }
  visit->terms.began_us = kr_clock_us();
  return error;
}

/* Get hold of ZooKeeper, and of the lock where something is to change. */
static int reach(struct visit *visit, bool changes)
{
  return kr_publish_conn_open(&visit->publish, visit->conn,
                              visit->terms.began_us + visit->terms.deadline_ms * 1000, changes,
                              &visit->failure);
}

/* Tell how it went, give the ranges out or free them, and leave. */
static int end(struct visit *visit, int error, struct keyroute_ranges **out,
               struct keyroute_ranges *ranges, struct keyroute_detail *detail)
{
  struct keyroute_detail whole = KEYROUTE_DETAIL_INIT;

  if (visit->publish.conn != NULL) {
    kr_publish_conn_close(&visit->publish);
  }
  whole.error = error;
  whole.elapsed_us = kr_clock_us() - visit->terms.began_us;
  if (error != 0) {
    memcpy(whole.server, visit->failure.server, sizeof(whole.server));
    memcpy(whole.message, visit->failure.message, sizeof(whole.message));
  }
  kr_detail_take(detail, &whole);
  if (error == 0 && out != NULL) {
    *out = ranges;
  } else {
    keyroute_ranges_free(ranges);
  }
  kr_connection_leave(visit->conn);
  return error;
}

/* ---- Showing --------------------------------------------------------------------------------- */

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

static int read_directory(struct kr_directory *directory, struct visit *visit)
{
  int error = kr_directory_read(directory, &visit->publish.means, &visit->failure);

  if (error == 0 && directory->root == NULL) {
    error = kr_fail(&visit->failure, KEYROUTE_E_BOOTSTRAP, "there is no range directory");
  }
  return error;
}

static int list_level(struct listing *listing, struct visit *visit)
{
  struct kr_directory directory = {.means = &visit->publish.means};
  int error = read_directory(&directory, visit);
  int outcome = KR_VISIT_ON;

  if (error == 0 && listing->ranges->level == KR_MAP) {
    error = kr_directory_walk(&directory, listing->start, list_range, listing, &visit->failure);
  } else if (error == 0 && listing->ranges->level == KR_META1) {
    outcome = list_range(listing, directory.root, &visit->failure);
  }
  for (size_t i = 0; error == 0 && outcome == KR_VISIT_ON && listing->ranges->level == KR_META2 &&
                     i < directory.meta2_count;
       i++) {
    outcome = list_range(listing, directory.meta2[i], &visit->failure);
  }
  kr_directory_clear(&directory);
  return error != 0 ? error : outcome < 0 ? outcome : 0;
}

int keyroute_range_list(struct keyroute_ranges **out, struct keyroute_connection *conn,
                        const char *table, struct keyroute_bytes start, size_t limit,
                        const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct listing listing = {.start = start, .limit = limit > 0 ? limit : LIMIT_DEFAULT};
  enum kr_level level = KR_MAP;
  struct visit visit;

  if (out == NULL) {
    keyroute_detail_clear(detail);
    return kr_fail_invalid(detail, "out is NULL");
  }
  int error = begin(&visit, conn, call, detail);

  if (error != 0) {
    return error;
  }
  error = check_level(&level, table, &visit.failure);
  if (error == 0) {
    error = check_key(start, &visit.failure);
  }
  listing.ranges = kr_ranges_new(conn->mem, level);
  if (error == 0 && listing.ranges == NULL) {
    error = kr_fail(&visit.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  if (error == 0 && (error = reach(&visit, false)) == 0) {
    error = list_level(&listing, &visit);
  }
  return end(&visit, error, out, listing.ranges, detail);
}

static int list_note(struct keyroute_ranges *ranges, struct visit *visit)
{
  struct kr_directory directory = {.means = &visit->publish.means};
  int error = read_directory(&directory, visit);
  const struct kr_change *change = directory.note != NULL ? &directory.note->change : NULL;
  bool good = true;

  if (error == 0 && change != NULL) {
    ranges->level = change->level;
    ranges->new_from = change->old_count;
    good = kr_range_list_add(&ranges->list, change->olds, change->old_count) &&
           kr_range_list_add(&ranges->list, change->news, change->new_count);
  }
  kr_directory_clear(&directory);
  return error != 0 || good ? error
                            : kr_fail(&visit->failure, KEYROUTE_E_NO_MEMORY, "out of memory");
}

int keyroute_range_interrupted(struct keyroute_ranges **out, struct keyroute_connection *conn,
                               const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct keyroute_ranges *ranges;
  struct visit visit;

  if (out == NULL) {
    keyroute_detail_clear(detail);
    return kr_fail_invalid(detail, "out is NULL");
  }
  int error = begin(&visit, conn, call, detail);

  if (error != 0) {
    return error;
  }
  ranges = kr_ranges_new(conn->mem, KR_MAP);
  error = ranges != NULL ? reach(&visit, false)
                         : kr_fail(&visit.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  if (error == 0) {
    error = list_note(ranges, &visit);
  }
  return end(&visit, error, out, ranges, detail);
}

/* ---- Changing -------------------------------------------------------------------------------- */

/* Copy as much of a change as its size says is there; *out is the default. */
static int take_change(struct keyroute_range_change *out, const struct keyroute_range_change *given,
                       struct kr_failure *failure)
{
  if (given == NULL || given->size == 0) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "there is no change, or its size is not set");
  }
  memcpy(out, given, given->size < sizeof(*out) ? given->size : sizeof(*out));
  return 0;
}

static int check_ids(const struct kr_publish_request *request, struct kr_failure *failure)
{
  if (request->level != KR_MAP && (request->ids[0] != 0 || request->ids[1] != 0)) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "ranges of %s get ids of their own",
                   kr_level_name(request->level));
  }
  return 0;
}

static int change_range(struct keyroute_ranges *ranges, struct visit *visit,
                        struct kr_publish_request *request,
                        const struct keyroute_range_change *given)
{
  struct kr_mem *mem = visit->conn->mem;
  struct kr_descriptor_replica *lists[2] = {NULL, NULL};
  struct keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT;
  struct kr_failure *failure = &visit->failure;
  int error = take_change(&change, given, failure);

  if (error == 0) {
    request->ids[0] = change.id;
    request->ids[1] = change.right_id;
    error = check_ids(request, failure);
  }
  if (error == 0) {
    error = take_nodes(&lists[0], &request->nodes[0], mem, change.nodes, change.node_count, false,
                       failure);
  }
  if (error == 0) {
    error = take_nodes(&lists[1], &request->nodes[1], mem, change.right_nodes,
                       change.right_node_count, false, failure);
  }
  if (error == 0 && (error = reach(visit, true)) == 0) {
    error = kr_publish(&ranges->list, &visit->publish.means, request, failure);
  }
  kr_free(mem, lists[0]);
  kr_free(mem, lists[1]);
  return error;
}

static int publish(struct keyroute_ranges **out, struct keyroute_connection *conn,
                   enum kr_publish_kind kind, const char *table, struct keyroute_bytes key,
                   const struct keyroute_range_change *change, const struct keyroute_call *call,
                   struct keyroute_detail *detail)
{
  struct kr_publish_request request = {.kind = kind, .key = key};
  struct keyroute_ranges *ranges = NULL;
  struct visit visit;
  int error = begin(&visit, conn, call, detail);

  if (error != 0) {
    return error;
  }
  error = check_level(&request.level, table, &visit.failure);
  if (error == 0) {
    error = check_key(key, &visit.failure);
  }
  if (error == 0 && request.level == KR_META1 && kind != KR_PUBLISH_MOVE) {
    error = kr_fail(&visit.failure, KEYROUTE_E_INVALID_ARGUMENT,
                    "meta1 is one range, which can only be moved");
  }
  if (error == 0) {
    ranges = kr_ranges_new(conn->mem, request.level);
    error = ranges != NULL ? change_range(ranges, &visit, &request, change)
                           : kr_fail(&visit.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  return end(&visit, error, out, ranges, detail);
}

int keyroute_range_split(struct keyroute_ranges **out, struct keyroute_connection *conn,
                         const char *table, struct keyroute_bytes key,
                         const struct keyroute_range_change *change,
                         const struct keyroute_call *call, struct keyroute_detail *detail)
{
  return publish(out, conn, KR_PUBLISH_SPLIT, table, key, change, call, detail);
}

int keyroute_range_merge(struct keyroute_ranges **out, struct keyroute_connection *conn,
                         const char *table, struct keyroute_bytes key,
                         const struct keyroute_range_change *change,
                         const struct keyroute_call *call, struct keyroute_detail *detail)
{
  return publish(out, conn, KR_PUBLISH_MERGE, table, key, change, call, detail);
}

int keyroute_range_move(struct keyroute_ranges **out, struct keyroute_connection *conn,
                        const char *table, struct keyroute_bytes key,
                        const struct keyroute_range_change *change,
                        const struct keyroute_call *call, struct keyroute_detail *detail)
{
  return publish(out, conn, KR_PUBLISH_MOVE, table, key, change, call, detail);
}

/* ---- The beginning --------------------------------------------------------------------------- */

static int check_families(const struct kr_publish_beginning *beginning, struct kr_failure *failure)
{
  for (size_t i = 0; i < beginning->family_count; i++) {
    if (beginning->families == NULL || beginning->families[i] == NULL ||
        beginning->families[i][0] == '\0') {
      return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "a column family has no name");
    }
  }
  return 0;
}

/* With registry static, meta1 is where that says. */
static int check_place(const struct visit *visit, const struct kr_nodes *meta1,
                       struct kr_failure *failure)
{
  struct kr_descriptor_replica place = kr_publish_conn_static(visit->conn);

  if (place.host.data != NULL && (meta1->count != 1 || !kr_same_place(&meta1->list[0], &place))) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "meta1 is to be on %s, as keyroute.registry.static.root says",
                   visit->conn->settings->static_root);
  }
  return 0;
}

static int make_directory(struct keyroute_ranges *ranges, struct visit *visit,
                          const struct keyroute_range_init *init)
{
  struct kr_mem *mem = visit->conn->mem;
  struct kr_failure *failure = &visit->failure;
  struct kr_descriptor_replica *lists[3] = {NULL, NULL, NULL};
  struct kr_publish_beginning beginning = {
      .map_id = init->id, .families = init->families, .family_count = init->family_count};
  int error = check_families(&beginning, failure);

  if (error == 0) {
    error =
        take_nodes(&lists[0], &beginning.meta1, mem, init->meta1, init->meta1_count, true, failure);
  }
  if (error == 0) {
    error =
        take_nodes(&lists[1], &beginning.meta2, mem, init->meta2, init->meta2_count, true, failure);
  }
  if (error == 0) {
    error = take_nodes(&lists[2], &beginning.map, mem, init->map, init->map_count, true, failure);
  }
  if (error == 0 && (error = check_place(visit, &beginning.meta1, failure)) == 0 &&
      (error = reach(visit, true)) == 0) {
    error = kr_publish_begin(&ranges->list, &visit->publish.means, &beginning, failure);
  }
  for (size_t i = 0; i < 3; i++) {
    kr_free(mem, lists[i]);
  }
  return error;
}

int keyroute_range_init(struct keyroute_ranges **out, struct keyroute_connection *conn,
                        const struct keyroute_range_init *init, const struct keyroute_call *call,
                        struct keyroute_detail *detail)
{
  struct keyroute_range_init whole = {.size = sizeof(whole)};
  struct keyroute_ranges *ranges = NULL;
  struct visit visit;
  int error = begin(&visit, conn, call, detail);

  if (error != 0) {
    return error;
  }
  if (init == NULL || init->size == 0) {
    error = kr_fail(&visit.failure, KEYROUTE_E_INVALID_ARGUMENT,
                    "there is no beginning, or its size is not set");
  } else {
    memcpy(&whole, init, init->size < sizeof(whole) ? init->size : sizeof(whole));
    ranges = kr_ranges_new(conn->mem, KR_META1);
    error = ranges != NULL ? 0 : kr_fail(&visit.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  if (error == 0) {
    ranges->each_level = true;
    error = make_directory(ranges, &visit, &whole);
  }
  return end(&visit, error, out, ranges, detail);
}
