/*
 * The public calls that change a range directory: check what is asked, get hold of ZooKeeper and
 * the nodes, hand over to publish.c or publish_begin.c.
 *
 *  1. Nothing goes by way of the cache or the locator: what is to be changed is read where it is.
 *  2. All is done in the caller's thread, one request after another.
 *  3. What a call is to give out is made before anything is written.
 *
 * Threads: the caller's, never the loop.
 */
#include "keyroute/range.h"

#include "lib/publish.h"
#include "lib/publish_begin.h"
#include "lib/range_call.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(KEYROUTE_RANGE_ID_MAX == KR_RANGE_ID_MAX, "one largest id");

/* ---- Nodes ----------------------------------------------------------------------------------- */

static int check_host(const struct keyroute_range_node *node, struct kr_failure *failure)
{
  size_t len = strnlen(node->host, KR_HOST_MAX + 1);

  if (len == 0 || len > KR_HOST_MAX) {
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

/* No node before this one has its number. */
static int check_once(const struct keyroute_range_node *given, size_t at,
                      struct kr_failure *failure)
{
  for (size_t i = 0; i < at; i++) {
    if (given[i].id == given[at].id) {
      return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "node %" PRIu64 " is named twice",
                     given[at].id);
    }
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
    error = check_once(given, i, failure);
    list[i].node_id = given[i].id;
    if (error == 0 && given[i].host != NULL) {
      error = check_host(&given[i], failure);
      list[i].host = keyroute_string(given[i].host);
      list[i].port = (uint16_t)given[i].port;
    } else if (error == 0 && placed) {
      error = kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "node %" PRIu64 " has no host",
                      given[i].id);
    }
  }
  *out = list;
  *nodes = (struct kr_nodes){list, count};
  return error;
}

/* ---- Changing -------------------------------------------------------------------------------- */

/* Copy as much of a change as its size says is there; *out is the default. */
static int take_change(struct keyroute_range_change *out, const struct keyroute_range_change *given,
                       struct kr_failure *failure)
{
  if (given == NULL) {
    return 0;
  }
  if (given->size == 0) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the change's size is not set");
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

static int change_range(struct keyroute_ranges *ranges, struct kr_range_call *range_call,
                        struct kr_publish_request *request,
                        const struct keyroute_range_change *given)
{
  struct kr_mem *mem = range_call->conn->mem;
  struct kr_descriptor_replica *lists[2] = {NULL, NULL};
  struct keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT;
  struct kr_failure *failure = &range_call->failure;
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
  if (error == 0 && (error = kr_range_call_reach(range_call, true)) == 0) {
    error = kr_publish(&ranges->list, &range_call->publish.means, request, failure);
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
  struct kr_range_call range_call;
  int error = kr_range_call_begin(&range_call, conn, call, detail);

  if (error != 0) {
    return error;
  }
  error = kr_range_call_check_table(&request.level, table, &range_call.failure);
  if (error == 0) {
    error = kr_range_call_check_key(key, &range_call.failure);
  }
  if (error == 0 && request.level == KR_META1 && kind != KR_PUBLISH_MOVE) {
    error = kr_fail(&range_call.failure, KEYROUTE_E_INVALID_ARGUMENT,
                    "meta1 is one range, which can only be moved");
  }
  if (error == 0) {
    ranges = kr_ranges_new(conn->mem, request.level);
    error = ranges != NULL ? change_range(ranges, &range_call, &request, change)
                           : kr_fail(&range_call.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  return kr_range_call_end(&range_call, error, out, ranges, detail);
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
static int check_place(const struct kr_range_call *range_call, const struct kr_nodes *meta1,
                       struct kr_failure *failure)
{
  struct kr_descriptor_replica place = kr_publish_conn_static(range_call->conn);

  if (place.host.data != NULL && (meta1->count != 1 || !kr_same_place(&meta1->list[0], &place))) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                   "meta1 is to be on %s, as keyroute.registry.static.root says",
                   range_call->conn->settings->static_root);
  }
  return 0;
}

static int make_directory(struct keyroute_ranges *ranges, struct kr_range_call *range_call,
                          const struct keyroute_range_init *init)
{
  struct kr_mem *mem = range_call->conn->mem;
  struct kr_failure *failure = &range_call->failure;
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
  if (error == 0 && (error = check_place(range_call, &beginning.meta1, failure)) == 0 &&
      (error = kr_range_call_reach(range_call, true)) == 0) {
    error = kr_publish_begin(&ranges->list, &range_call->publish.means, &beginning, failure);
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
  struct kr_range_call range_call;
  int error = kr_range_call_begin(&range_call, conn, call, detail);

  if (error != 0) {
    return error;
  }
  if (init == NULL || init->size == 0) {
    error = kr_fail(&range_call.failure, KEYROUTE_E_INVALID_ARGUMENT,
                    "there is no beginning, or its size is not set");
  } else {
    memcpy(&whole, init, init->size < sizeof(whole) ? init->size : sizeof(whole));
    ranges = kr_ranges_new(conn->mem, KR_META1);
    error =
        ranges != NULL ? 0 : kr_fail(&range_call.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  if (error == 0) {
    ranges->each_level = true;
    error = make_directory(ranges, &range_call, &whole);
  }
  return kr_range_call_end(&range_call, error, out, ranges, detail);
}
