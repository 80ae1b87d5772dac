/*
 * The requests of a batch: rows that are placed go to their servers, many in one request, a few
 * requests to each server at a time, all servers side by side.
 *
 *  1. What is sent next is taken when there is room for it, not before: runs that are placed
 *     meanwhile go with it. So a batch of cold rows, which is located region by region, needs few
 *     requests all the same.
 *  2. A request has as many rows as the last answers of its server let it have (batch_take.c); but
 *     never so many bytes that it could not wait in the queue beside the others.
 *  3. Two requests a server keep it busy while one is on the wire. REQUESTS_MAX of the batch bound
 *     the memory of what comes. Servers take turns.
 *  4. What is placed may have been reported since, by whomever: it is looked at again when its turn
 *     comes, and looked up again if so.
 *
 * Threads: the loop.  Source: HBase Client.proto, ClientService.Multi; AsyncRequestFutureImpl
 */
#include "lib/batch_send.h"

#include "lib/batch_take.h"
#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/heal.h"

#include <stdio.h>
#include <utlist.h>

enum { REQUESTS_PER_SERVER = 2, REQUESTS_MAX = 32 };

/* Rows of the first request to a server. */
enum { ROWS_FIRST = 100 };

/* What a row of a request takes beside its key and the columns: tags, lengths, options. */
enum { ROW_OVERHEAD = 64 };

/* ---- Servers -------------------------------------------------------------------------------- */

/* NULL = out of memory. */
static struct kr_batch_server *get_server(struct kr_batch *batch, struct kr_server *server)
{
  struct kr_mem *mem = batch->call->conn->mem;
  struct kr_batch_server *found;
  bool hash_failed = false;

  HASH_FIND_PTR(batch->servers, &server, found);
  if (found != NULL || (found = kr_calloc(mem, sizeof(*found))) == NULL) {
    return found;
  }
  found->rows_max = ROWS_FIRST;
  found->server = server;
  HASH_ADD_PTR(batch->servers, server, found);
  if (hash_failed) {
    kr_free(mem, found);
    return NULL;
  }
  kr_server_ref(server);
  return found;
}

static void line_up(struct kr_batch *batch, struct kr_batch_server *server)
{
  if (!server->in_line && server->placed != NULL && server->requests < REQUESTS_PER_SERVER) {
    server->in_line = true;
    DL_APPEND(batch->line, server);
  }
}

void kr_batch_place(struct kr_batch *batch, struct kr_run *run)
{
  struct kr_batch_server *server =
      get_server(batch, kr_location_server(run->location, run->replica));

  if (server == NULL) {
    kr_batch_unlocated(batch, run);
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    return;
  }
  DL_APPEND(server->placed, run);
  batch->ahead++;
  if (batch->read == NULL) {
    batch->left -= run->to - run->from;
  } else {
    line_up(batch, server);
  }
}

/* ---- Making a request ----------------------------------------------------------------------- */

/* How much may be put into a request. */
struct room {
  uint32_t rows;
  size_t len;
};

/* Does a run still belong where it was placed? */
static bool still_there(const struct kr_run *run, const struct kr_batch_server *server)
{
  return !kr_location_retired(run->location) &&
         kr_location_live_server(run->location, run->replica) == server->server;
}

static size_t read_len(const struct kr_read *read)
{
  size_t len = ROW_OVERHEAD;

  for (size_t i = 0; i < read->column_count; i++) {
    len += read->columns[i].family.len + read->columns[i].qualifier.len + 8;
  }
  return len;
}

/* The position behind the rows of a run that there is room for, which they take. At least one row
 * fits into a request that is empty. */
static uint32_t fit(const struct kr_batch_request *request, const struct kr_run *run,
                    size_t row_len, struct room *room, uint32_t *rows)
{
  const struct kr_runs *runs = &request->batch->runs;
  uint32_t at = kr_run_next(runs, run, run->from);

  *rows = 0;
  while (at < run->to) {
    size_t len = row_len + kr_keys_row(runs->keys, at).len;

    if ((room->rows == 0 || len > room->len) && request->rows + *rows > 0) {
      break;
    }
    room->rows -= room->rows > 0;
    room->len -= len < room->len ? len : room->len;
    ++*rows;
    at = kr_run_next(runs, run, at + 1);
  }
  return at;
}

static size_t region_name_len(const struct kr_run *run)
{
  return keyroute_location_region_name(run->location, run->replica, NULL, 0);
}

/* Take one run of a server, or as much of it as there is room for. False = there is none. */
static bool take_run(struct kr_batch_request *request, struct kr_run *run, size_t row_len,
                     struct room *room)
{
  struct kr_batch *batch = request->batch;
  struct kr_batch_server *server = request->server;
  size_t name_len = region_name_len(run);
  uint32_t rows;

  room->len -= name_len < room->len ? name_len : room->len;
  uint32_t at = fit(request, run, row_len, room, &rows);
  struct kr_run *rest = NULL;

  if (rows == 0) {
    return false;
  }
  if (at < run->to && (rest = kr_run_cut(&batch->runs, run, at)) == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    return false;
  }
  DL_DELETE(server->placed, run);
  if (rest != NULL) {
    DL_PREPEND(server->placed, rest);
  } else {
    batch->ahead--;
  }
  DL_APPEND(request->runs, run);
  request->rows += rows;
  request->regions++;
  return true;
}

/* Take what goes into a request. */
static void take_runs(struct kr_batch_request *request)
{
  struct kr_batch *batch = request->batch;
  struct kr_batch_server *server = request->server;
  size_t queue_len = batch->call->conn->settings->max_queue_len;
  struct room room = {server->rows_max, queue_len / (2 * REQUESTS_PER_SERVER)};
  size_t row_len = read_len(batch->read);
  struct kr_run *run;

  while ((run = server->placed) != NULL) {
    if (!still_there(run, server)) {
      DL_DELETE(server->placed, run);
      batch->ahead--;
      kr_batch_unlocated(batch, run);
    } else if (!kr_run_trim(&batch->runs, run)) {
      DL_DELETE(server->placed, run);
      batch->ahead--;
      kr_run_free(&batch->runs, run);
    } else if (!take_run(request, run, row_len, &room)) {
      break;
    }
  }
}

/* Memory for what a transport is told: regions, rows, names of regions. */
static size_t told_size(const struct kr_batch_request *request)
{
  size_t size = request->regions * sizeof(struct kr_get_region) +
                request->rows * sizeof(struct keyroute_bytes);
  const struct kr_run *run;

  DL_FOREACH (request->runs, run) {
    size += region_name_len(run);
  }
  return size;
}

/* Tell a transport what to get, in such memory. */
static struct kr_gets tell(const struct kr_batch_request *request, void *room)
{
  const struct kr_runs *runs = &request->batch->runs;
  struct kr_get_region *regions = room;
  struct keyroute_bytes *rows = (struct keyroute_bytes *)(regions + request->regions);
  uint8_t *name = (uint8_t *)(rows + request->rows);
  struct kr_gets gets = {
      .read = request->batch->read,
      .timeline = request->batch->replica != 0,
      .regions = regions,
      .rows = rows,
  };
  const struct kr_run *run;

  DL_FOREACH (request->runs, run) {
    struct kr_get_region *region = &regions[gets.region_count++];
    size_t len = region_name_len(run);

    keyroute_location_region_name(run->location, run->replica, name, len);
    *region = (struct kr_get_region){.name = kr_bytes(name, len), .first = gets.row_count};
    name += len;
    for (uint32_t at = kr_run_next(runs, run, run->from); at < run->to;
         at = kr_run_next(runs, run, at + 1)) {
      rows[gets.row_count++] = kr_keys_row(runs->keys, at);
    }
    region->count = gets.row_count - region->first;
  }
  return gets;
}

/* Count what is about to be sent, and what of it is sent once more. */
static void count_request(struct kr_batch_request *request)
{
  struct kr_stats *stats = request->batch->call->conn->stats;
  const struct kr_runs *runs = &request->batch->runs;
  uint64_t again = 0;
  struct kr_run *run;

  DL_FOREACH (request->runs, run) {
    for (uint32_t at = kr_run_next(runs, run, run->from); run->sent && at < run->to;
         at = kr_run_next(runs, run, at + 1)) {
      again++;
    }
    run->sent = true;
  }
  kr_stats_add(stats, KR_COUNT_REQUESTS, 1);
  kr_stats_add(stats, KR_COUNT_ROWS_RETRIED, again);
  request->batch->call->detail.rpcs++;
}

static void got(void *arg, const struct kr_failure *failure, struct kr_got *answer);

/* Hand a request to the transport. False = out of memory, or the connection is being closed. */
static bool start(struct kr_batch_request *request)
{
  struct kr_batch *batch = request->batch;
  struct keyroute_connection *conn = batch->call->conn;
  const struct kr_server *server = request->server->server;
  void *room = kr_alloc(conn->mem, told_size(request));

  if (room == NULL) {
    return false;
  }
  struct kr_gets gets = tell(request, room);

  request->sent_us = kr_clock_us();
  request->request = conn->transport->ops->get(
      conn->transport, server->host, server->port, &gets,
      kr_heal_try_ms(conn, batch->call->began_us, batch->call->deadline_us, false), got, request);
  kr_free(conn->mem, room);
  return request->request != NULL;
}

/* Forget a request, whose runs have gone elsewhere. */
static void free_request(struct kr_batch_request *request)
{
  struct kr_batch *batch = request->batch;

  DL_DELETE(batch->requests, request);
  batch->request_count--;
  request->server->requests--;
  line_up(batch, request->server);
  kr_free(batch->call->conn->mem, request);
}

/* What is left of it has not been answered. */
static void give_back(struct kr_batch_request *request)
{
  struct kr_run *run;

  while ((run = request->runs) != NULL) {
    DL_DELETE(request->runs, run);
    kr_batch_unlocated(request->batch, run);
  }
}

static void send_one(struct kr_batch *batch, struct kr_batch_server *server)
{
  struct keyroute_connection *conn = batch->call->conn;
  struct kr_batch_request *request = kr_calloc(conn->mem, sizeof(*request));

  if (request == NULL) {
    kr_batch_abort(batch, KEYROUTE_E_NO_MEMORY);
    return;
  }
  request->batch = batch;
  request->server = server;
  server->requests++;
  batch->request_count++;
  DL_APPEND(batch->requests, request);
  take_runs(request);
  if (request->rows == 0) {
    free_request(request);
  } else if (start(request)) {
    count_request(request);
    line_up(batch, server);
  } else {
    kr_batch_abort(batch, kr_connection_closed(conn) ? KEYROUTE_E_CLOSED : KEYROUTE_E_NO_MEMORY);
    give_back(request);
    free_request(request);
  }
}

void kr_batch_send(struct kr_batch *batch)
{
  struct kr_batch_server *server;

  while (batch->code == 0 && batch->request_count < REQUESTS_MAX &&
         (server = batch->line) != NULL) {
    DL_DELETE(batch->line, server);
    server->in_line = false;
    send_one(batch, server);
  }
}

void kr_batch_send_drop(struct kr_batch *batch)
{
  struct kr_transport *transport = batch->call->conn->transport;
  struct kr_batch_request *request;

  while ((request = batch->requests) != NULL) {
    transport->ops->cancel(transport, request->request);
    give_back(request);
    free_request(request);
  }
}

/* ---- What comes back ------------------------------------------------------------------------ */

static void trace_request(const struct kr_batch_request *request, const char *what)
{
  struct kr_call *call = request->batch->call;
  const struct kr_server *server = request->server->server;
  char address[300];

  kr_server_print(address, sizeof(address), server->host, server->port);
  if (call->trace != NULL) {
    kr_trace_add(call->trace, request->rows == 1 ? "get" : "multi",
                 request->sent_us - call->began_us, kr_clock_us() - request->sent_us, address,
                 "%u rows of %u regions: %s", request->rows, request->regions, what);
  }
  snprintf(call->detail.server, sizeof(call->detail.server), "%.*s",
           (int)sizeof(call->detail.server) - 1, address);
}

static void got(void *arg, const struct kr_failure *failure, struct kr_got *answer)
{
  struct kr_batch_request *request = arg;
  struct kr_batch *batch = request->batch;

  kr_batch_enter(batch);
  trace_request(request, failure->code == 0 ? "answered" : failure->message);
  if (failure->code == 0) {
    kr_batch_take_answer(request, answer);
  } else {
    kr_batch_take_failure(request, failure);
  }
  give_back(request);
  free_request(request);
  kr_batch_leave(batch);
}
