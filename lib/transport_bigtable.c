/*
 * The transport for range directories: a scan, a get or a call becomes calls of Bigtable's methods.
 *
 * Nothing is decided here. Calls, threads and bounds are bigtable_bundle.c's, what is asked is
 * bigtable_read.c's, what came is bigtable_chunks.c's and bigtable_rows.c's, what went wrong is
 * bigtable_status.c's.
 *
 *  1. A request is the transport's until its callback is about to run or it is cancelled.
 *  2. Rows live as long as the callback that gets them.
 *  3. A read of one region fails as that region does. Of many, each region's rows fail by
 *     themselves; but where all failed alike it is the request that has, and an answer that was too
 *     large is always that of the request: whoever asked may ask for less.
 *  4. An answer too large to be kept is nonsense to a scan, which asks for a few rows of some
 *     kilobytes, and worth another try.
 *  5. A scan without a row within its bounds is answered without asking anybody: servers call that
 *     an error.
 *
 * Threads: the loop.
 */
#include "lib/transport_bigtable.h"

#include "lib/bigtable_bundle.h"
#include "lib/bigtable_read.h"
#include "lib/bigtable_rows.h"
#include "lib/bytes.h"
#include "lib/wire.h"

#include <string.h>

#define SERVICE "/google.bigtable.v2.Bigtable/"
#define READ_ROWS SERVICE "ReadRows"

struct transport {
  struct kr_transport base;
  struct kr_mem *mem; /* counted */
  struct kr_bigtable_client *client;
  const char *instance;
};

/* Of every request: the name of its table, or of the instance. */
enum { FIRST_FIELD = 1 };

static const struct kr_rows no_rows;

/* A scan, a get, or any other method; cb is which. */
struct kr_request {
  struct kr_request_head head;
  struct kr_mem *mem;
  struct kr_bigtable_bundle *bundle;
  struct kr_buf table; /* the full name of that which the last call is about */
  void *arg;
  union {
    kr_scan_cb scan;
    kr_get_cb get;
    kr_reply_cb reply;
  } cb;
  uint32_t limit;       /* of a scan */
  struct kr_gets *gets; /* of a get */
  char *method;         /* of a call: its path */
};

static void free_request(struct kr_request *request)
{
  kr_free(request->mem, request->gets);
  kr_free(request->mem, request->method);
  kr_buf_clear(&request->table);
  kr_free(request->mem, request);
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* One of so many calls; NULL = out of memory. */
static struct kr_request *new_request(struct transport *transport, const char *host, int port,
                                      size_t calls, void *arg)
{
  struct kr_request *request = kr_calloc(transport->mem, sizeof(*request));

  if (request == NULL) {
    return NULL;
  }
  request->head.transport = &transport->base;
  request->mem = transport->mem;
  kr_buf_init(&request->table, transport->mem);
  request->arg = arg;
  request->bundle = kr_bigtable_bundle_new(transport->client, host, port, calls);
  if (request->bundle == NULL) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* Send a request. Returns it, or NULL when out of memory: it is gone then. */
static struct kr_request *send_request(struct kr_request *request, int64_t timeout_ms,
                                       kr_bigtable_cb ended)
{
  if (!kr_bigtable_bundle_start(request->bundle, timeout_ms, ended, request)) {
    free_request(request);
    return NULL;
  }
  return request;
}

/* Bytes that may stand in a header as they are; all others are written %XX. Source: RFC 3986 */
static bool is_plain(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("-_.~", c) != NULL);
}

/* Append "table_name=...", by which a service before the servers routes. */
static void write_params(struct kr_buf *out, const struct kr_buf *table)
{
  static const char digits[] = "0123456789ABCDEF";

  kr_buf_text(out, "table_name=");
  for (size_t i = 0; i < table->len; i++) {
    uint8_t c = table->data[i];

    if (is_plain((char)c)) {
      kr_buf_u8(out, c);
    } else {
      kr_buf_u8(out, '%');
      kr_buf_u8(out, (uint8_t)digits[c >> 4]);
      kr_buf_u8(out, (uint8_t)digits[c & 15]);
    }
  }
  kr_buf_u8(out, '\0');
}

/* The full name of the table that the next call is about. */
static struct keyroute_bytes name_table(struct kr_request *request, const char *instance,
                                        struct keyroute_bytes region)
{
  kr_buf_clear(&request->table);
  kr_bigtable_table_write(&request->table, instance, region);
  return kr_buf_view(&request->table);
}

/* Add a call, whose table was named if it has a region, to a request. False = out of memory. */
static bool add_call(struct kr_request *request, struct kr_bigtable_call *call)
{
  struct kr_buf params;

  kr_buf_init(&params, request->mem);
  if (strncmp(call->method, SERVICE, strlen(SERVICE)) == 0 && call->region.len > 0) {
    write_params(&params, &request->table);
    call->params = (const char *)params.data;
  }
  bool good = !params.failed && !request->table.failed;

  if (good) {
    kr_bigtable_bundle_add(request->bundle, call);
  }
  kr_buf_clear(&params);
  return good;
}

/* A request that could not be made: it is gone. */
static struct kr_request *abandon(struct kr_request *request)
{
  kr_bigtable_bundle_cancel(request->bundle);
  free_request(request);
  return NULL;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static void hand_on_rows(const struct kr_request *request, const struct kr_bigtable_chunks *chunks,
                         const char *server)
{
  struct kr_failure failure = {.code = 0};
  struct kr_rows rows;
  void *memory;

  if (kr_bigtable_rows_make(&rows, &memory, request->mem, chunks, request->limit) == 0) {
    request->cb.scan(request->arg, &failure, &rows);
    kr_free(request->mem, memory);
    return;
  }
  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "answer to ReadRows: out of memory");
  kr_fail_name_server(&failure, server);
  failure.sent = true;
  request->cb.scan(request->arg, &failure, &no_rows);
}

static void scan_failed(const struct kr_request *request, const struct kr_failure *failure)
{
  struct kr_failure own = *failure;

  kr_fail_scan(&own);
  request->cb.scan(request->arg, &own, &no_rows);
}

static void scan_ended(void *arg, const struct kr_failure *failure,
                       const struct kr_bigtable_bundle *bundle, size_t count)
{
  struct kr_request request = *(struct kr_request *)arg;
  const struct kr_bigtable_outcome *outcome = NULL;

  free_request(arg);
  if (failure->code == 0 && count > 0) {
    outcome = kr_bigtable_bundle_outcome(bundle, 0);
    failure = &outcome->failure;
  }
  if (failure->code != 0) {
    scan_failed(&request, failure);
  } else if (outcome != NULL) {
    hand_on_rows(&request, &outcome->chunks, kr_bigtable_bundle_server(bundle));
  } else {
    request.cb.scan(request.arg, failure, &no_rows);
  }
}

static struct kr_request *transport_scan(struct kr_transport *base, const char *host, int port,
                                         const struct kr_scan *scan, int64_t timeout_ms,
                                         kr_scan_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  bool is_empty = kr_bigtable_scan_is_empty(scan);
  struct kr_request *request = new_request(transport, host, port, is_empty ? 0 : 1, arg);
  struct kr_bigtable_call call = {
      .method = READ_ROWS,
      .region = scan->region,
      .limits = {.reversed = scan->reversed, .max_row_len = SIZE_MAX},
      .rows = true,
  };

  if (request == NULL) {
    return NULL;
  }
  request->cb.scan = cb;
  request->limit = scan->limit;
  if (!is_empty) {
    kr_bigtable_scan_write(kr_bigtable_bundle_message(request->bundle),
                           name_table(request, transport->instance, scan->region), scan);
    if (!add_call(request, &call)) {
      return abandon(request);
    }
  }
  return send_request(request, timeout_ms, scan_ended);
}

/* ---- Get ------------------------------------------------------------------------------------- */

/* What is the whole request's failure, if it has one (invariant 3); NULL = it has none. */
static const struct kr_failure *common_failure(const struct kr_bigtable_bundle *bundle,
                                               size_t count)
{
  const struct kr_failure *first = &kr_bigtable_bundle_outcome(bundle, 0)->failure;
  bool alike = first->code != 0;

  for (size_t i = 0; i < count; i++) {
    const struct kr_failure *failure = &kr_bigtable_bundle_outcome(bundle, i)->failure;

    if (failure->code == KEYROUTE_E_TOO_LARGE || failure->code == KEYROUTE_E_NO_MEMORY) {
      return failure;
    }
    alike = alike && failure->code == first->code && failure->code != KEYROUTE_E_REMOTE;
  }
  return alike || count == 1 ? first : NULL;
}

/* Put what came of all regions together and hand it on. */
static int hand_on_got(const struct kr_request *request, const struct kr_bigtable_bundle *bundle)
{
  size_t count = request->gets->region_count;
  struct kr_bigtable_answer *answers = kr_alloc(request->mem, count * sizeof(*answers));
  const struct kr_failure none = {.code = 0};
  struct kr_bigtable_got got;

  if (answers == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    const struct kr_bigtable_outcome *outcome = kr_bigtable_bundle_outcome(bundle, i);

    answers[i].chunks = &outcome->chunks;
    answers[i].failure = outcome->failure.code != 0 ? &outcome->failure : NULL;
  }
  int error = kr_bigtable_got_make(&got, request->mem, request->gets, answers,
                                   kr_bigtable_bundle_server(bundle));

  kr_free(request->mem, answers);
  if (error == 0) {
    request->cb.get(request->arg, &none, &got.got);
    kr_bigtable_got_clear(&got);
  }
  return error;
}

static void get_failed(const struct kr_request *request, int error, const char *server)
{
  struct kr_failure failure;

  kr_fail(&failure, error, "answer to ReadRows: %s",
          error == KEYROUTE_E_NO_MEMORY ? "out of memory" : "a row that was not asked for");
  kr_fail_name_server(&failure, server);
  failure.sent = true;
  request->cb.get(request->arg, &failure, NULL);
}

static void get_ended(void *arg, const struct kr_failure *failure,
                      const struct kr_bigtable_bundle *bundle, size_t count)
{
  struct kr_request *request = arg;

  if (failure->code == 0) {
    const struct kr_failure *common = common_failure(bundle, count);

    failure = common != NULL && common->code != 0 ? common : failure;
  }
  if (failure->code != 0) {
    request->cb.get(request->arg, failure, NULL);
  } else {
    int error = hand_on_got(request, bundle);

    if (error != 0) {
      get_failed(request, error, kr_bigtable_bundle_server(bundle));
    }
  }
  free_request(request);
}

static bool add_region(struct transport *transport, struct kr_request *request,
                       const struct kr_get_region *region)
{
  struct kr_bigtable_call call = {
      .method = READ_ROWS,
      .region = region->name,
      .limits = {.max_row_len = request->gets->read->max_result_len},
      .rows = true,
  };

  kr_bigtable_get_write(kr_bigtable_bundle_message(request->bundle),
                        name_table(request, transport->instance, region->name), request->gets,
                        region);
  return add_call(request, &call);
}

static struct kr_request *transport_get(struct kr_transport *base, const char *host, int port,
                                        const struct kr_gets *gets, int64_t timeout_ms,
                                        kr_get_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_request *request = new_request(transport, host, port, gets->region_count, arg);

  if (request == NULL) {
    return NULL;
  }
  request->cb.get = cb;
  request->gets = kr_gets_copy(transport->mem, gets);
  bool good = request->gets != NULL;

  for (size_t i = 0; good && i < gets->region_count; i++) {
    good = add_region(transport, request, &request->gets->regions[i]);
  }
  return good ? send_request(request, timeout_ms, get_ended) : abandon(request);
}

/* ---- Any other method ------------------------------------------------------------------------ */

static void call_ended(void *arg, const struct kr_failure *failure,
                       const struct kr_bigtable_bundle *bundle, size_t count)
{
  struct kr_request request = *(struct kr_request *)arg;
  struct keyroute_bytes none = {NULL, 0}, reply = none;

  free_request(arg);
  if (failure->code == 0 && count > 0) {
    const struct kr_bigtable_outcome *outcome = kr_bigtable_bundle_outcome(bundle, 0);

    failure = &outcome->failure;
    reply = failure->code == 0 ? kr_buf_view(&outcome->reply) : none;
  }
  request.cb.reply(request.arg, failure, reply, none);
}

/* The path of a method; NULL = out of memory. */
static char *make_path(struct kr_mem *mem, const char *name)
{
  struct kr_buf path;

  kr_buf_init(&path, mem);
  if (strchr(name, '/') == NULL) {
    kr_buf_text(&path, SERVICE);
  }
  kr_buf_bytes(&path, kr_bytes(name, strlen(name) + 1));
  if (path.failed) {
    kr_buf_clear(&path);
  }
  return (char *)path.data;
}

/* The first field, and what the caller has of the others. */
static void write_call(struct kr_request *request, const char *instance,
                       const struct kr_method *method)
{
  struct kr_buf *out = kr_bigtable_bundle_message(request->bundle);

  kr_wire_put_bytes(out, FIRST_FIELD,
                    method->region.len > 0 ? name_table(request, instance, method->region)
                                           : keyroute_string(instance));
  kr_buf_bytes(out, method->param);
}

static struct kr_request *transport_call(struct kr_transport *base, const char *host, int port,
                                         const struct kr_method *method, int64_t timeout_ms,
                                         kr_reply_cb cb, void *arg)
{
  struct transport *transport = (struct transport *)base;
  struct kr_request *request = new_request(transport, host, port, 1, arg);
  struct kr_bigtable_call call = {.region = method->region};

  if (request == NULL) {
    return NULL;
  }
  request->cb.reply = cb;
  request->method = make_path(transport->mem, method->name);
  call.method = request->method;
  write_call(request, transport->instance, method);
  if (request->method == NULL || !add_call(request, &call)) {
    return abandon(request);
  }
  return send_request(request, timeout_ms, call_ended);
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool transport_cancel(struct kr_transport *base, struct kr_request *request)
{
  (void)base;
  bool sent = kr_bigtable_bundle_cancel(request->bundle);

  free_request(request);
  return sent;
}

static void transport_shutdown(struct kr_transport *base)
{
  kr_bigtable_bundle_shutdown(((struct transport *)base)->client);
}

static void transport_free(struct kr_transport *base)
{
  struct transport *transport = (struct transport *)base;
  struct kr_mem *mem = transport->mem;

  kr_bigtable_client_free(transport->client);
  kr_free(mem, transport);
  kr_mem_release(mem);
}

static const struct kr_transport_ops ops = {
    .scan = transport_scan,
    .get = transport_get,
    .call = transport_call,
    .cancel = transport_cancel,
    .shutdown = transport_shutdown,
    .free = transport_free,
};

int kr_transport_bigtable_new(struct kr_transport **out, struct kr_mem *mem, struct kr_loop *loop,
                              const char *instance, const struct kr_settings *settings,
                              struct kr_stats *stats, const struct kr_grpc_module *module,
                              struct keyroute_detail *detail)
{
  struct transport *transport = kr_calloc(mem, sizeof(*transport));

  if (transport == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  int error =
      kr_bigtable_client_new(&transport->client, mem, loop, settings, stats, module, detail);

  if (error != 0) {
    kr_free(mem, transport);
    return error;
  }
  transport->base.ops = &ops;
  transport->mem = kr_mem_ref(mem);
  transport->instance = instance;
  *out = &transport->base;
  return 0;
}
