/*
 * The world a locator lives in, by hand.
 *
 *  1. Nothing answers inside the call that starts it: answers come from timers of the fake loop, or
 *     from the test.
 *  2. Scans are answered from fake_catalog.c, which orders rows by code of its own.
 *  3. The doubles use malloc, so that failing allocations fail the library's only. The timers of
 *     answers are the exception, and a scan without one is refused as a transport would.
 */
#include "test/locator_harness.h"

#include "lib/bytes.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* ---- The transport ---- */

static char *copy_text(struct keyroute_bytes bytes)
{
  char *copy = calloc(1, bytes.len + 1);

  ck_assert_ptr_nonnull(copy);
  if (bytes.len > 0) {
    memcpy(copy, bytes.data, bytes.len);
  }
  return copy;
}

static void request_free(struct kr_request *request)
{
  kr_timer_stop(request->timer);
  free(request->region);
  free(request->start);
  free(request->stop);
  free(request);
}

static void take_request(struct kr_request *request)
{
  DL_DELETE(request->world->requests, request);
  request->world->in_flight--;
}

static void finish(struct kr_request *request, const struct kr_failure *failure,
                   const struct kr_rows *rows)
{
  kr_scan_cb cb = request->cb;
  void *arg = request->arg;

  take_request(request);
  request_free(request);
  cb(arg, failure, rows);
}

static void finish_failed(struct kr_request *request, const struct kr_failure *failure)
{
  struct kr_failure copy = *failure;
  struct kr_rows none = {.count = 0};

  if (copy.server[0] == '\0') {
    snprintf(copy.server, sizeof(copy.server), "%s:%d", request->host, request->port);
  }
  finish(request, &copy, &none);
}

/* Rows of the fake catalog as the library's. The cells are the caller's to free. */
static struct kr_cell *convert(struct kr_row *to, const struct fake_row *from)
{
  struct kr_cell *cells = calloc(from->cell_count + 1, sizeof(*cells));

  ck_assert_ptr_nonnull(cells);
  for (size_t i = 0; i < from->cell_count; i++) {
    const struct fake_cell *cell = &from->cells[i];

    cells[i] = (struct kr_cell){
        .row = kr_bytes(from->key, from->key_len),
        .family = keyroute_string(cell->family),
        .qualifier = keyroute_string(cell->qualifier),
        .value = kr_bytes(cell->value, cell->value_len),
        .type = 4,
    };
  }
  *to = (struct kr_row){kr_bytes(from->key, from->key_len), cells, from->cell_count};
  return cells;
}

static void finish_from_catalog(struct kr_request *request)
{
  struct world *world = request->world;
  const struct kr_failure none = {.code = 0};
  const struct fake_row *found[64];
  struct kr_row rows[64];
  struct kr_cell *cells[64];
  struct fake_scan scan = {
      .start = kr_bytes(request->start, request->start_len),
      .stop = kr_bytes(request->stop, request->stop_len),
      .include_start = request->include_start,
      .include_stop = request->include_stop,
      .reversed = request->reversed,
      .family = request->family,
      .limit = request->limit,
  };
  bool more;

  ck_assert_uint_le(request->limit, 64);
  struct fake_catalog *catalog = world->rows_of != NULL ? world->rows_of(request) : world->catalog;
  size_t count = world->stop_early ? 0 : fake_catalog_scan(catalog, &scan, found, &more);

  for (size_t i = 0; i < count; i++) {
    cells[i] = convert(&rows[i], found[i]);
  }
  struct kr_rows answer = {.rows = rows, .count = count, .more = world->stop_early};

  finish(request, &none, &answer);
  for (size_t i = 0; i < count; i++) {
    free(cells[i]);
  }
}

static void decide(struct kr_request *request)
{
  struct kr_failure failure = {.code = 0};

  if (request->world->judge != NULL) {
    request->world->judge(&failure, request);
  }
  if (failure.code != 0) {
    finish_failed(request, &failure);
  } else {
    finish_from_catalog(request);
  }
}

static void answer_due(void *arg)
{
  struct kr_request *request = arg;

  request->timer = NULL;
  decide(request);
}

static void request_timed_out(void *arg)
{
  struct kr_request *request = arg;
  struct kr_failure failure;

  request->timer = NULL;
  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "no reply from %s", request->host);
  finish_failed(request, &failure);
}

static struct kr_request *scan(struct kr_transport *transport, const char *host, int port,
                               const struct kr_scan *scan, int64_t timeout_ms, kr_scan_cb cb,
                               void *arg)
{
  struct world *world = (struct world *)transport;
  bool answers = world->latency_ms >= 0 && world->latency_ms < timeout_ms;
  struct kr_request *request = calloc(1, sizeof(*request));

  ck_assert_ptr_nonnull(request);
  ck_assert_int_gt(timeout_ms, 0);
  request->timer = kr_timer_start(world->loop, answers ? world->latency_ms : timeout_ms,
                                  answers ? answer_due : request_timed_out, request);
  if (request->timer == NULL) {
    free(request);
    return NULL;
  }
  request->world = world;
  request->number = ++world->scans;
  snprintf(request->host, sizeof(request->host), "%s", host);
  request->port = port;
  snprintf(request->family, sizeof(request->family), "%s", scan->family);
  request->region = copy_text(scan->region);
  request->start = copy_text(scan->start_row);
  request->start_len = scan->start_row.len;
  request->stop = copy_text(scan->stop_row);
  request->stop_len = scan->stop_row.len;
  request->include_start = scan->include_start;
  request->include_stop = scan->include_stop;
  request->reversed = scan->reversed;
  request->limit = world->last_limit = scan->limit;
  request->cb = cb;
  request->arg = arg;
  DL_APPEND(world->requests, request);
  world->in_flight++;
  world->most_in_flight =
      world->in_flight > world->most_in_flight ? world->in_flight : world->most_in_flight;
  return request;
}

static bool cancel_scan(struct kr_transport *transport, struct kr_request *request)
{
  struct world *world = (struct world *)transport;

  world->cancels++;
  take_request(request);
  request_free(request);
  return true;
}

static const struct kr_transport_ops transport_ops = {
    .scan = scan,
    .cancel = cancel_scan,
};

void answer_scan(struct world *world)
{
  ck_assert_ptr_nonnull(world->requests);
  decide(world->requests);
  fake_loop_run();
}

void fail_scan(struct world *world, const struct kr_failure *failure)
{
  ck_assert_ptr_nonnull(world->requests);
  finish_failed(world->requests, failure);
  fake_loop_run();
}

/* ---- The registry ---- */

/* A znode as HBase writes it, behind no header. */
static size_t pack_root(uint8_t *out, size_t size, const struct world *world)
{
  Kr__Pb__ServerName server = KR__PB__SERVER_NAME__INIT;
  Kr__Pb__MetaRegionServer message = KR__PB__META_REGION_SERVER__INIT;

  server.host_name = (char *)(uintptr_t)world->meta_host;
  server.has_port = true;
  server.port = (uint32_t)world->meta_port;
  server.has_start_code = true;
  server.start_code = (uint64_t)world->meta_start_code;
  message.server = &server;
  message.has_state = world->meta_state >= 0;
  message.state = (Kr__Pb__MetaRegionServer__State)world->meta_state;
  ck_assert_uint_le(4 + kr__pb__meta_region_server__get_packed_size(&message), size);
  memcpy(out, "PBUF", 4);
  return 4 + kr__pb__meta_region_server__pack(&message, out + 4);
}

static void read_free(struct kr_root_read *read)
{
  DL_DELETE(read->world->reads, read);
  kr_timer_stop(read->timer);
  free(read);
}

static void finish_root(struct kr_root_read *read, const struct kr_failure *failure)
{
  struct world *world = read->world;
  kr_root_cb cb = read->cb;
  void *arg = read->arg;
  uint8_t data[256];
  struct kr_root_value value = {.data = kr_bytes(data, pack_root(data, sizeof(data), world))};

  if (world->root_value.len > 0) {
    value.data = world->root_value;
  }
  struct kr_root root = {.failure = *failure,
                         .values = &value,
                         .count = 1,
                         .place = "znode /hbase/meta-region-server"};

  read_free(read);
  cb(arg, &root);
}

static void root_due(void *arg)
{
  struct kr_root_read *read = arg;

  read->timer = NULL;
  finish_root(read, &read->world->root_failure);
}

static void root_timed_out(void *arg)
{
  struct kr_root_read *read = arg;

  struct kr_failure failure;

  read->timer = NULL;
  kr_fail(&failure, KEYROUTE_E_TIMEOUT, "nothing answered");
  finish_root(read, &failure);
}

static struct kr_root_read *read_root(struct kr_registry *registry, int64_t timeout_ms,
                                      kr_root_cb cb, void *arg)
{
  char *member = (char *)registry;
  struct world *world = (struct world *)(void *)(member - offsetof(struct world, registry));
  bool answers = world->root_latency_ms >= 0 && world->root_latency_ms < timeout_ms;
  struct kr_root_read *read = calloc(1, sizeof(*read));

  ck_assert_ptr_nonnull(read);
  read->timer = kr_timer_start(world->loop, answers ? world->root_latency_ms : timeout_ms,
                               answers ? root_due : root_timed_out, read);
  if (read->timer == NULL) {
    free(read);
    return NULL;
  }
  read->world = world;
  read->cb = cb;
  read->arg = arg;
  world->root_reads++;
  DL_APPEND(world->reads, read);
  return read;
}

static void cancel_root(struct kr_registry *registry, struct kr_root_read *read)
{
  (void)registry;
  read->world->root_cancels++;
  read_free(read);
}

static const struct kr_registry_ops registry_ops = {
    .read_root = read_root,
    .cancel = cancel_root,
};

void answer_root(struct world *world)
{
  ck_assert_ptr_nonnull(world->reads);
  finish_root(world->reads, &world->root_failure);
  fake_loop_run();
}

/* ---- The world ---- */

struct world *world_new(void)
{
  struct world *world = calloc(1, sizeof(*world));

  ck_assert_ptr_nonnull(world);
  world->transport.ops = &transport_ops;
  world->registry.ops = &registry_ops;
  world->mem = failing_mem_new();
  ck_assert_int_eq(kr_loop_new(&world->loop, world->mem), 0);
  world->stats = kr_stats_new(world->mem);
  world->cache = kr_cache_new(world->mem, world->stats);
  world->servers = kr_servers_new(world->mem);
  world->sweeper = kr_sweeper_new(world->mem, world->loop, world->cache, world->servers, 1000);
  world->catalog = fake_catalog_new();
  world->meta_host = "m";
  world->meta_port = 16020;
  world->meta_start_code = 1;
  world->meta_state = KR__PB__META_REGION_SERVER__STATE__OPEN;
  world->means = (struct kr_means){
      .mem = world->mem,
      .loop = world->loop,
      .log = &world->log,
      .stats = world->stats,
      .cache = world->cache,
      .servers = world->servers,
      .sweeper = world->sweeper,
      .catalog = &kr_catalog_meta,
      .transport = &world->transport,
      .registry = &world->registry,
      .retry = {15, 100, 100, 10000},
      .try_limit_ms = 60000,
      .failed_server_ms = 2000,
      .scans_per_table = 8,
      .scans_max = 32,
      .prefetch = 10,
  };
  return world;
}

void world_start(struct world *world)
{
  world->locator = kr_locator_new(&world->means);
  ck_assert_ptr_nonnull(world->locator);
}

struct kr_reports *world_add_reports(struct world *world, int64_t failed_server_ms)
{
  struct kr_reports_means means = {
      .mem = world->mem,
      .log = &world->log,
      .stats = world->stats,
      .cache = world->cache,
      .servers = world->servers,
      .failed_server_ms = failed_server_ms,
  };

  world->means.reports = kr_reports_new(&means);
  ck_assert_ptr_nonnull(world->means.reports);
  return world->means.reports;
}

void world_free(struct world *world)
{
  kr_locator_shutdown(world->locator);
  kr_sweeper_shutdown(world->sweeper);
  fake_loop_run();
  ck_assert_ptr_null(world->requests);
  ck_assert_ptr_null(world->reads);
  ck_assert_uint_eq(fake_timer_count(), 0);
  kr_locator_free(world->locator);
  /* Those that found no memory are counted too. */
  ck_assert_uint_ge(kr_stats_read(world->stats, KR_COUNT_REGISTRY_READS),
                    (uint64_t)world->root_reads);
  kr_sweeper_free(world->sweeper);
  kr_cache_free(world->cache);
  kr_servers_free(world->servers);
  kr_stats_free(world->stats);
  kr_loop_free(world->loop);
  fake_catalog_free(world->catalog);
  failing_mem_done(world->mem);
  free(world);
}

void put(struct world *world, const struct fake_region *region)
{
  fake_catalog_put_region(world->catalog, region);
}

static struct fake_region plain(const char *table, const char *start, const char *end, int64_t id)
{
  return (struct fake_region){
      .table = table,
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .host = "h",
      .port = 16020,
      .start_code = 1,
      .seqnum = 2,
  };
}

void put_region(struct world *world, const char *table, const char *start, const char *end,
                int64_t id)
{
  struct fake_region region = plain(table, start, end, id);

  put(world, &region);
}

void put_dead(struct world *world, const char *start, const char *end, int64_t id, bool split)
{
  struct fake_region region = {
      .table = "t",
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .host = "h",
      .port = 16020,
      .start_code = 1,
      .offline = true,
      .split = split,
  };

  put(world, &region);
}

void drop_region(struct world *world, const char *table, const char *start, int64_t id)
{
  struct fake_region region = plain(table, start, "", id);
  struct keyroute_bytes name = fake_region_name(&region);

  fake_catalog_delete_row(world->catalog, name);
  free((void *)(uintptr_t)name.data);
}

/* ---- Lookups ---- */

static void ask_done(struct kr_lookup *lookup)
{
  struct ask *ask = lookup->arg;

  ask->done++;
  ask->order = ++ask->world->order;
  ask->done_us = kr_clock_us();
  if (ask->then != NULL) {
    ask->then(ask);
  }
}

void ask_init(struct ask *ask, struct world *world, const char *table, const char *row)
{
  *ask = (struct ask){.world = world};
  snprintf(ask->row, sizeof(ask->row), "%s", row);
  ask->lookup = (struct kr_lookup){
      .table = kr_cache_table(world->cache, keyroute_string(table)),
      .row = keyroute_string(ask->row),
      .began_us = kr_clock_us(),
      .deadline_us = kr_clock_us() + 30000000,
      .done = ask_done,
      .arg = ask,
  };
  ck_assert_ptr_nonnull(ask->lookup.table);
}

void ask_start(struct ask *ask)
{
  kr_locator_start(ask->world->locator, &ask->lookup);
  fake_loop_run();
}

void ask(struct ask *ask, struct world *world, const char *table, const char *row)
{
  ask_init(ask, world, table, row);
  ask_start(ask);
}

void ask_clear(struct ask *ask)
{
  kr_table_release(ask->lookup.table);
  keyroute_location_release(ask->lookup.location);
  kr_trace_free(ask->lookup.trace);
}

void expect_found(const struct ask *ask, int64_t id)
{
  ck_assert_int_eq(ask->done, 1);
  ck_assert_msg(ask->lookup.failure.code == 0, "%s: %s", keyroute_errname(ask->lookup.failure.code),
                ask->lookup.failure.message);
  ck_assert_ptr_nonnull(ask->lookup.location);
  ck_assert_int_eq(keyroute_location_region_id(ask->lookup.location), id);
}

void expect_failed(const struct ask *ask, int code)
{
  ck_assert_int_eq(ask->done, 1);
  ck_assert_ptr_null(ask->lookup.location);
  ck_assert_msg(ask->lookup.failure.code == code, "%s, not %s: %s",
                keyroute_errname(ask->lookup.failure.code), keyroute_errname(code),
                ask->lookup.failure.message);
  ck_assert_str_ne(ask->lookup.failure.message, "");
}

void expect_message(const struct ask *ask, const char *text)
{
  ck_assert_msg(strstr(ask->lookup.failure.message, text) != NULL, "%s",
                ask->lookup.failure.message);
}

int failing_code;

void fail_always(struct kr_failure *failure, const struct kr_request *request)
{
  (void)request;
  kr_fail(failure, failing_code, "always");
}
