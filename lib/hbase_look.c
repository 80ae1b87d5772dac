/*
 * A look at hbase:meta on one server, which may not know how to look down.
 *
 * Servers answer reversed scans since HBase 0.98. Those before pass over the word, as protobuf has
 * it, and scan up from the key, away from the stop row: mostly that gives nothing, just as a table
 * that is not there does. What they all have is a Get of the row at a key or closest before it,
 * which 2.0 has no more. Only answers tell which a server has:
 *
 *     Scan    a row on the way, or whether the region has more rows:        it looks down
 *             no row, a row out of the way, an exception that is final:     unclear, so
 *     Get     a row; or none, after an answer that can't be a scan's:       it doesn't look down
 *             an exception that is final:                                   it does
 *
 *  1. What was found out is kept with the connection (kr_rpc_marks): that is asked twice once at
 *     the most, and then once for each scan, either way. A server that is started anew has to be
 *     connected to anew. Servers since 1.1, and 0.98.24, are never asked twice: they say whether
 *     there is more.
 *  2. Where a server looks down the answer is the scan's, whatever it was. Else it is the Get's.
 *  3. A region made between scan and Get can make a server of 0.98 or 1.0 seem not to look down;
 *     then answers are right still, and only take more requests.
 *  4. Both have one time.
 *  5. A reply that cannot be read fails this look only, since its frame was sound; but the
 *     connection takes no further requests, so that the next try gets a new one. An answer that is
 *     too large to be kept is such a reply: a look asks for a few rows of some kilobytes.
 *
 * Threads: the loop.
 */
#include "lib/hbase_look.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/hbase_closest.h"
#include "lib/meta_key.h"
#include "lib/server.h"

#include <string.h>

/* Above what users' tables get, so that a busy server still tells where its regions are.
 * Source: HBase HConstants.SYSTEMTABLE_QOS */
enum { CATALOG_PRIORITY = 200 };

/* What a connection is marked with. */
enum { UNKNOWN, LOOKS_DOWN, HAS_CLOSEST };

struct kr_hbase_look {
  struct kr_mem *mem;
  struct kr_rpc *rpc;
  const struct kr_log *log;
  struct kr_rpc_request *request;
  kr_scan_cb cb;
  void *arg;
  int64_t deadline_us;
  struct kr_scan scan;       /* a copy */
  struct kr_failure refusal; /* of a scan that is in doubt; code 0 = it gave no row */
  unsigned further;          /* requests sent after the first one */
  int port;
  char *host;
  uint8_t bytes[]; /* the scan's, and the host */
};

static const struct kr_failure none;
static const struct kr_rows no_rows;

/* ---- What is known of the server ------------------------------------------------------------- */

static uint32_t known(const struct kr_hbase_look *look)
{
  const uint32_t *marks = kr_rpc_marks(look->rpc, look->host, look->port);

  return marks != NULL ? *marks : UNKNOWN;
}

static void learn(const struct kr_hbase_look *look, uint32_t what)
{
  uint32_t *marks = kr_rpc_marks(look->rpc, look->host, look->port);
  char address[300];

  if (marks == NULL || *marks != UNKNOWN) {
    return;
  }
  *marks = what;
  if (what == HAS_CLOSEST) {
    kr_log_line(look->log, KEYROUTE_LOG_INFO,
                "%s has no reversed scans: it is asked for the row closest before a key",
                kr_server_print(address, sizeof(address), look->host, look->port));
  }
}

/* Is it worth asking in another way? */
static bool is_unclear(const struct kr_hbase_look *look)
{
  return look->scan.reversed && known(look) != LOOKS_DOWN;
}

/* How the answer to a scan down begins: not at all, within what was to be scanned, at the key
 * itself, as a scan up may too, or where no scan down comes to. */
enum beginning { NOWHERE, WITHIN, AT_THE_KEY, ASTRAY };

static enum beginning begins(const struct kr_rows *rows, const struct kr_scan *scan)
{
  if (rows->count == 0) {
    return NOWHERE;
  }
  struct keyroute_bytes key = rows->rows[0].key;
  int order = kr_meta_key_compare(key, scan->start_row);

  if (order > 0 || kr_meta_key_compare(key, scan->stop_row) < 0) {
    return ASTRAY;
  }
  return order == 0 ? AT_THE_KEY : WITHIN;
}

/* Is it an exception that the same request would meet again? One that the connection has ended with
 * is about more than the request. */
static bool is_refusal(const struct kr_hbase_look *look, const struct kr_failure *failure)
{
  return failure->code == KEYROUTE_E_REMOTE && failure->final &&
         kr_rpc_marks(look->rpc, look->host, look->port) != NULL;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void end(struct kr_hbase_look *look, const struct kr_failure *failure,
                const struct kr_rows *rows)
{
  kr_scan_cb cb = look->cb;
  void *arg = look->arg;
  struct kr_rows own = *rows;

  own.further = look->further;
  kr_free(look->mem, look);
  cb(arg, failure, &own);
}

static bool end_found(struct kr_hbase_look *look, struct kr_hbase_rows *rows)
{
  struct kr_mem *mem = look->mem;

  end(look, &none, &rows->rows);
  kr_hbase_rows_clear(rows, mem);
  return true;
}

/* Returns whether the connection is to be believed any longer (invariant 5). */
static bool end_failed(struct kr_hbase_look *look, const struct kr_failure *failure)
{
  struct kr_failure own = *failure;
  bool believed = !kr_fail_scan(&own);

  end(look, &own, &no_rows);
  return believed;
}

static bool end_unread(struct kr_hbase_look *look, struct kr_failure *failure,
                       const struct kr_rpc_reply *reply)
{
  bool believed = failure->code != KEYROUTE_E_PROTOCOL;

  kr_fail_name_server(failure, reply->server);
  failure->sent = true;
  end(look, failure, &no_rows);
  return believed;
}

/* The server looks down after all: the scan's answer stands. */
static bool end_as_scanned(struct kr_hbase_look *look)
{
  struct kr_failure refusal = look->refusal;

  end(look, &refusal, &no_rows);
  return true;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Param's memory goes. Returns whether there was enough of it. */
static bool send(struct kr_hbase_look *look, const char *method, struct kr_buf *param, kr_rpc_cb cb)
{
  int64_t left_ms = (look->deadline_us - kr_clock_us() + 999) / 1000;
  struct kr_rpc_call call = {.method = method,
                             .param = kr_buf_view(param),
                             .priority = CATALOG_PRIORITY,
                             .timeout_ms = left_ms > 0 ? left_ms : 1};

  look->request = param->failed
                      ? NULL
                      : kr_rpc_start(look->rpc, look->host, look->port, &call, cb, (void *)look);
  kr_buf_clear(param);
  return look->request != NULL;
}

static bool closest_answered(void *arg, const struct kr_failure *failure,
                             const struct kr_rpc_reply *reply)
{
  struct kr_hbase_look *look = arg;
  struct kr_hbase_rows rows;
  struct kr_failure unread;

  if (failure->code != 0 && is_refusal(look, failure) && known(look) != HAS_CLOSEST) {
    learn(look, LOOKS_DOWN);
    return end_as_scanned(look);
  }
  if (failure->code != 0) {
    return end_failed(look, failure);
  }
  if (kr_hbase_closest_read(&rows, look->mem, reply, &look->scan, &unread) != 0) {
    return end_unread(look, &unread, reply);
  }
  if (rows.rows.count > 0 || look->refusal.code != 0) {
    learn(look, HAS_CLOSEST);
  }
  return end_found(look, &rows);
}

static bool send_closest(struct kr_hbase_look *look)
{
  struct kr_buf param;

  kr_buf_init(&param, look->mem);
  kr_hbase_closest_write(&param, &look->scan);
  return send(look, "Get", &param, closest_answered);
}

/* The scan is in doubt. */
static void ask_otherwise(struct kr_hbase_look *look)
{
  struct kr_failure failure;

  if (send_closest(look)) {
    look->further++;
  } else {
    kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    end(look, &failure, &no_rows);
  }
}

/* The rows of a scan down are there, from a server of which it is not known that it can. */
static bool take_unclear(struct kr_hbase_look *look, struct kr_hbase_rows *rows,
                         const struct kr_rpc_reply *reply)
{
  enum beginning beginning = begins(&rows->rows, &look->scan);

  if (rows->tells_more || beginning == WITHIN) {
    learn(look, LOOKS_DOWN);
    return end_found(look, rows);
  }
  if (beginning == AT_THE_KEY) {
    return end_found(look, rows);
  }
  if (beginning == ASTRAY) {
    kr_fail(&look->refusal, KEYROUTE_E_PROTOCOL,
            "answer to Scan: a row that is not on the way down from the key asked for");
    kr_fail_name_server(&look->refusal, reply->server);
    look->refusal.sent = true;
  }
  kr_hbase_rows_clear(rows, look->mem);
  ask_otherwise(look);
  return true;
}

static bool scan_answered(void *arg, const struct kr_failure *failure,
                          const struct kr_rpc_reply *reply)
{
  struct kr_hbase_look *look = arg;
  struct kr_hbase_rows rows;
  struct kr_failure unread;

  if (failure->code != 0 && is_refusal(look, failure) && is_unclear(look)) {
    look->refusal = *failure;
    ask_otherwise(look);
    return true;
  }
  if (failure->code != 0) {
    return end_failed(look, failure);
  }
  if (kr_hbase_scan_read(&rows, look->mem, reply, look->scan.limit, &unread) != 0) {
    return end_unread(look, &unread, reply);
  }
  return is_unclear(look) ? take_unclear(look, &rows, reply) : end_found(look, &rows);
}

static bool send_scan(struct kr_hbase_look *look)
{
  struct kr_buf param;

  kr_buf_init(&param, look->mem);
  kr_hbase_scan_write(&param, &look->scan);
  return send(look, "Scan", &param, scan_answered);
}

/* ---- Start and end --------------------------------------------------------------------------- */

/* A text with its NUL. */
static char *copy_text(uint8_t **to, const char *from)
{
  return (char *)(uintptr_t)kr_bytes_put(to, kr_bytes(from, strlen(from) + 1)).data;
}

/* NULL = out of memory. */
static struct kr_hbase_look *new_look(struct kr_mem *mem, const char *host,
                                      const struct kr_scan *scan)
{
  struct kr_hbase_look *look =
      kr_calloc(mem, sizeof(*look) + scan->region.len + scan->start_row.len + scan->stop_row.len +
                         strlen(scan->family) + 1 + strlen(host) + 1);

  if (look == NULL) {
    return NULL;
  }
  uint8_t *to = look->bytes;

  look->mem = mem;
  look->scan = *scan;
  look->scan.region = kr_bytes_put(&to, scan->region);
  look->scan.start_row = kr_bytes_put(&to, scan->start_row);
  look->scan.stop_row = kr_bytes_put(&to, scan->stop_row);
  look->scan.family = copy_text(&to, scan->family);
  look->host = copy_text(&to, host);
  return look;
}

struct kr_hbase_look *kr_hbase_look_start(struct kr_mem *mem, struct kr_rpc *rpc,
                                          const struct kr_log *log, const char *host, int port,
                                          const struct kr_scan *scan, int64_t timeout_ms,
                                          kr_scan_cb cb, void *arg)
{
  struct kr_hbase_look *look = new_look(mem, host, scan);

  if (look == NULL) {
    return NULL;
  }
  look->rpc = rpc;
  look->log = log;
  look->port = port;
  look->deadline_us = kr_clock_us() + 1000 * timeout_ms;
  look->cb = cb;
  look->arg = arg;
  bool sent = scan->reversed && known(look) == HAS_CLOSEST ? send_closest(look) : send_scan(look);

  if (!sent) {
    kr_free(mem, look);
    return NULL;
  }
  return look;
}

bool kr_hbase_look_cancel(struct kr_hbase_look *look)
{
  bool sent = kr_rpc_cancel(look->request);

  kr_free(look->mem, look);
  return sent;
}
