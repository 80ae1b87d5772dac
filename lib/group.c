/*
 * Rows by server and region: the object that keyroute_group gives out.
 *
 *  1. Servers are in the order of host, port and start code; the regions of one stand together, by
 *     table and start key; the rows of one by row. What came in several runs is one region here,
 *     as long as it is the same region on the same server.
 *  2. It is two pieces of memory: one of servers, regions and indexes of rows, and the result that
 *     tells of rows that failed, if there are any. Locations are counted; names of servers are
 *     theirs.
 *  3. It does not change. Any thread may read it, and it may outlive its connection.
 */
#include "lib/group.h"

#include "lib/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct region {
  struct keyroute_location *location; /* counted */
  int replica;
  size_t first_row, row_count;
};

struct server {
  const struct kr_server *server; /* a location's */
  size_t first_region, region_count, row_count;
};

struct keyroute_groups {
  struct kr_mem *mem;             /* counted */
  struct keyroute_result *result; /* NULL = no row failed */
  struct server *servers;
  struct region *regions;
  size_t *rows;
  size_t server_count, region_count, row_count;
};

/* ---- Order ---------------------------------------------------------------------------------- */

static int order_numbers(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

static int compare_servers(const struct kr_server *a, const struct kr_server *b)
{
  int order = strcmp(a->host, b->host);

  if (order == 0) {
    order = order_numbers(a->port, b->port);
  }
  return order != 0 ? order : order_numbers(a->start_code, b->start_code);
}

/* Of two runs: the order in which their regions stand, 0 = they are one region on one server. */
static int compare_regions(const struct kr_run *a, const struct kr_run *b)
{
  int order = compare_servers(kr_location_server(a->location, a->replica),
                              kr_location_server(b->location, b->replica));

  if (order == 0) {
    order = kr_bytes_compare(keyroute_location_table(a->location),
                             keyroute_location_table(b->location));
  }
  if (order == 0) {
    order = kr_bytes_compare(keyroute_location_start_key(a->location),
                             keyroute_location_start_key(b->location));
  }
  if (order == 0) {
    order = order_numbers(a->location->region_id, b->location->region_id);
  }
  return order != 0 ? order : a->replica - b->replica;
}

static int compare_runs(const void *a, const void *b)
{
  const struct kr_run *first = *(struct kr_run *const *)a;
  const struct kr_run *second = *(struct kr_run *const *)b;
  int order = compare_regions(first, second);

  return order != 0 ? order : order_numbers(first->from, second->from);
}

/* All runs that were placed, in order. NULL = out of memory. */
static struct kr_run **sorted_runs(const struct kr_batch *batch)
{
  struct kr_run **runs = kr_alloc(batch->call->conn->mem, batch->ahead * sizeof(struct kr_run *));
  const struct kr_batch_server *server;
  struct kr_run *run;
  size_t count = 0;

  if (runs == NULL) {
    return NULL;
  }
  for (server = batch->servers; server != NULL; server = server->hh.next) {
    DL_FOREACH (server->placed, run) {
      runs[count++] = run;
    }
  }
  qsort(runs, count, sizeof(runs[0]), compare_runs);
  return runs;
}

/* ---- Making --------------------------------------------------------------------------------- */

/* Room for as many servers as the batch knows, regions as it has runs, and all rows. */
static struct keyroute_groups *new_groups(const struct kr_batch *batch)
{
  struct kr_mem *mem = batch->call->conn->mem;
  size_t servers = HASH_COUNT(batch->servers), regions = batch->ahead;
  struct keyroute_groups *groups =
      kr_calloc(mem, sizeof(*groups) + servers * sizeof(struct server) +
                         regions * sizeof(struct region) + batch->keys->count * sizeof(size_t));

  if (groups != NULL) {
    groups->mem = kr_mem_ref(mem);
    groups->servers = (struct server *)(groups + 1);
    groups->regions = (struct region *)(groups->servers + servers);
    groups->rows = (size_t *)(groups->regions + regions);
  }
  return groups;
}

static void add_region(struct keyroute_groups *groups, const struct kr_run *run)
{
  const struct kr_server *server = kr_location_server(run->location, run->replica);
  struct server *last =
      groups->server_count > 0 ? &groups->servers[groups->server_count - 1] : NULL;

  if (last == NULL || compare_servers(last->server, server) != 0) {
    last = &groups->servers[groups->server_count++];
    last->server = server;
    last->first_region = groups->region_count;
  }
  last->region_count++;
  groups->regions[groups->region_count++] = (struct region){
      .location = keyroute_location_ref(run->location),
      .replica = run->replica,
      .first_row = groups->row_count,
  };
}

/* Add the rows of a run to the last region. */
static void add_rows(struct keyroute_groups *groups, const struct kr_keys *keys,
                     const struct kr_run *run)
{
  for (uint32_t at = run->from; at < run->to; at++) {
    groups->rows[groups->row_count++] = keys->order[at];
  }
  groups->regions[groups->region_count - 1].row_count += run->to - run->from;
  groups->servers[groups->server_count - 1].row_count += run->to - run->from;
}

struct keyroute_groups *kr_groups_new(struct kr_batch *batch)
{
  struct kr_run **runs = sorted_runs(batch);
  struct keyroute_groups *groups = runs != NULL ? new_groups(batch) : NULL;

  for (size_t i = 0; groups != NULL && i < batch->ahead; i++) {
    if (i == 0 || compare_regions(runs[i - 1], runs[i]) != 0) {
      add_region(groups, runs[i]);
    }
    add_rows(groups, batch->keys, runs[i]);
  }
  kr_free(batch->call->conn->mem, runs);
  if (groups != NULL && batch->result->failed > 0) {
    groups->result = batch->result;
    batch->result = NULL;
  }
  return groups;
}

void keyroute_groups_free(struct keyroute_groups *groups)
{
  if (groups == NULL) {
    return;
  }
  struct kr_mem *mem = groups->mem;

  for (size_t i = 0; i < groups->region_count; i++) {
    keyroute_location_release(groups->regions[i].location);
  }
  keyroute_result_free(groups->result);
  kr_free(mem, groups);
  kr_mem_release(mem);
}

/* ---- Reading -------------------------------------------------------------------------------- */

size_t keyroute_groups_server_count(const struct keyroute_groups *groups)
{
  return groups != NULL ? groups->server_count : 0;
}

size_t keyroute_groups_region_count(const struct keyroute_groups *groups)
{
  return groups != NULL ? groups->region_count : 0;
}

size_t keyroute_groups_failed(const struct keyroute_groups *groups)
{
  return groups != NULL ? keyroute_result_failed(groups->result) : 0;
}

int keyroute_groups_server(const struct keyroute_groups *groups, size_t index,
                           struct keyroute_server_group *server)
{
  if (groups == NULL || server == NULL || server->size == 0 || index >= groups->server_count) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  const struct server *from = &groups->servers[index];
  struct keyroute_server_group whole = {
      .size = server->size,
      .host = from->server->host,
      .port = from->server->port,
      .start_code = from->server->start_code,
      .first_region = from->first_region,
      .region_count = from->region_count,
      .row_count = from->row_count,
  };

  memcpy(server, &whole, server->size < sizeof(whole) ? server->size : sizeof(whole));
  return 0;
}

int keyroute_groups_region(const struct keyroute_groups *groups, size_t index,
                           struct keyroute_region_group *region)
{
  if (groups == NULL || region == NULL || region->size == 0 || index >= groups->region_count) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  const struct region *from = &groups->regions[index];
  struct keyroute_region_group whole = {
      .size = region->size,
      .location = from->location,
      .replica = from->replica,
      .rows = groups->rows + from->first_row,
      .row_count = from->row_count,
  };

  memcpy(region, &whole, region->size < sizeof(whole) ? region->size : sizeof(whole));
  return 0;
}

int keyroute_groups_error(const struct keyroute_groups *groups, size_t index)
{
  if (groups == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (groups->result == NULL) {
    return index < groups->row_count ? 0 : KEYROUTE_E_INVALID_ARGUMENT;
  }
  return keyroute_result_error(groups->result, index);
}

const char *keyroute_groups_message(const struct keyroute_groups *groups, size_t index)
{
  return groups != NULL ? keyroute_result_message(groups->result, index) : "";
}
