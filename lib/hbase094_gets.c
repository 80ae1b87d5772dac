/*
 * Many rows of one server where a request takes one: as many requests, sent one behind the other
 * without waiting, over the one connection there is. What came of them is put together as if it had
 * been one answer.
 *
 *  1. It ends once: when the last request has ended, or with the first failure that is about all of
 *     them. Those still under way are forgotten then, before the callback runs.
 *  2. What a server says of one request is that row's alone, and so is that its answer was too long
 *     or that no room was left to send it. That there is no connection, no time or no memory is
 *     everybody's; so is an answer that cannot be read. One row alone has no failure of its own.
 *  3. Cells wait as they came, one row's behind the other's, until all are there; hbase_cells.c
 *     then reads them as it would a cell block. Together they may not be longer than an answer.
 *
 * HBase 0.94 has a `multi` of its own, with classes in classes; for reads it saves nothing but some
 * bytes, since its server gets the rows one by one as well.
 *
 * Threads: the loop.
 */
#include "lib/hbase094_gets.h"

#include "lib/hbase094_get.h"

struct part {
  struct kr_hbase094_gets *owner;
  struct kr_rpc_request *rpc; /* NULL = it has ended */
};

struct kr_hbase094_gets {
  struct kr_mem *mem;
  struct kr_gets *gets; /* a copy */
  size_t max_len;
  kr_get_cb cb;
  void *arg;
  struct part *parts; /* one for each row; behind them messages and results */
  size_t waiting;     /* parts that have not ended */
  Kr__Pb__Result *messages;
  struct kr_hbase_result *results;
  size_t answered;
  struct kr_buf block; /* their cells */
  struct kr_hbase_got got;
};

static void free_gets(struct kr_hbase094_gets *gets)
{
  struct kr_mem *mem = gets->mem;

  kr_buf_clear(&gets->block);
  kr_hbase_got_clear(&gets->got);
  kr_free(mem, gets->parts);
  kr_free(mem, gets->gets);
  kr_free(mem, gets);
}

bool kr_hbase094_gets_cancel(struct kr_hbase094_gets *gets)
{
  bool sent = gets->waiting < gets->gets->row_count;

  for (size_t i = 0; i < gets->gets->row_count; i++) {
    if (gets->parts[i].rpc != NULL) {
      sent = kr_rpc_cancel(gets->parts[i].rpc) || sent;
    }
  }
  free_gets(gets);
  return sent;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void end_failed(struct kr_hbase094_gets *gets, const struct kr_failure *failure)
{
  kr_get_cb cb = gets->cb;
  void *arg = gets->arg;

  kr_hbase094_gets_cancel(gets);
  cb(arg, failure, NULL);
}

static void end_unread(struct kr_hbase094_gets *gets, int error, const char *trouble,
                       const char *server)
{
  struct kr_failure failure;

  kr_hbase_unread(&failure, error, "get", trouble);
  kr_fail_name_server(&failure, server);
  failure.sent = true;
  end_failed(gets, &failure);
}

/* All have ended. */
static void end_good(struct kr_hbase094_gets *gets, const char *server)
{
  static const struct kr_failure none;
  const char *trouble = NULL;

  gets->got.server = server;
  int error =
      kr_hbase_got_results(&gets->got, gets->results, gets->answered, kr_buf_view(&gets->block),
                           gets->gets->read->max_result_len, &trouble);

  if (error != 0) {
    end_unread(gets, error, trouble, server);
  } else {
    gets->cb(gets->arg, &none, &gets->got.got);
    free_gets(gets);
  }
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Is this failure one row's alone? */
static bool is_own(const struct kr_hbase094_gets *gets, const struct kr_failure *failure)
{
  return gets->gets->row_count > 1 &&
         (failure->code == KEYROUTE_E_REMOTE || failure->code == KEYROUTE_E_OVERLOADED ||
          failure->code == KEYROUTE_E_AUTH || failure->code == KEYROUTE_E_TOO_LARGE);
}

static void take_failure(struct kr_hbase094_gets *gets, size_t index,
                         const struct kr_failure *failure)
{
  struct kr_failure shortage;

  if (!is_own(gets, failure)) {
    end_failed(gets, failure);
    return;
  }
  gets->got.rows[index].failure = kr_hbase_got_failure(&gets->got, failure);
  if (gets->got.rows[index].failure == NULL) {
    kr_fail(&shortage, KEYROUTE_E_NO_MEMORY, "out of memory");
    end_failed(gets, &shortage);
  } else if (gets->waiting == 0) {
    end_good(gets, failure->server);
  }
}

/* Keep a row's cells until all are there. Errors: NO_MEMORY, TOO_LARGE told in failure. */
static int keep_cells(struct kr_hbase094_gets *gets, size_t index, struct keyroute_bytes cells,
                      size_t count, struct kr_failure *failure)
{
  Kr__Pb__Result *message = &gets->messages[gets->answered];

  if (cells.len > gets->max_len - gets->block.len) {
    return kr_fail(failure, KEYROUTE_E_TOO_LARGE,
                   "answers of more than %zu bytes together (keyroute.frame.max.bytes)",
                   gets->max_len);
  }
  kr__pb__result__init(message);
  message->has_associated_cell_count = true;
  message->associated_cell_count = (int32_t)count;
  gets->results[gets->answered++] =
      (struct kr_hbase_result){.message = message, .row = gets->gets->rows[index], .index = index};
  kr_buf_bytes(&gets->block, cells);
  gets->got.got.len += cells.len;
  if (gets->block.failed) {
    return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "answer to get: out of memory");
  }
  return 0;
}

/* Returns whether the reply could be believed. */
static bool take_reply(struct kr_hbase094_gets *gets, size_t index,
                       const struct kr_rpc_reply *reply)
{
  struct keyroute_bytes cells;
  struct kr_failure failure;
  size_t count;
  int error = kr_hbase094_get_read(&cells, &count, reply, &failure);

  if (error == 0) {
    error = keep_cells(gets, index, cells, count, &failure);
  }
  if (error != 0) {
    kr_fail_name_server(&failure, reply->server);
    failure.sent = true;
    end_failed(gets, &failure);
  } else if (gets->waiting == 0) {
    end_good(gets, reply->server);
  }
  return error != KEYROUTE_E_PROTOCOL;
}

static bool answered(void *arg, const struct kr_failure *failure, const struct kr_rpc_reply *reply)
{
  struct part *part = arg;
  struct kr_hbase094_gets *gets = part->owner;
  size_t index = (size_t)(part - gets->parts);

  part->rpc = NULL;
  gets->waiting--;
  if (failure->code == 0) {
    return take_reply(gets, index, reply);
  }
  take_failure(gets, index, failure);
  return true;
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* NULL = out of memory. */
static struct kr_hbase094_gets *new_gets(struct kr_mem *mem, const struct kr_gets *from)
{
  static const struct kr_rpc_reply none;
  struct kr_hbase094_gets *gets = kr_calloc(mem, sizeof(*gets));
  size_t count = from->row_count;

  if (gets == NULL) {
    return NULL;
  }
  gets->mem = mem;
  kr_buf_init(&gets->block, mem);
  gets->gets = kr_gets_copy(mem, from);
  gets->parts = kr_calloc(
      mem, count * (sizeof(*gets->parts) + sizeof(*gets->messages) + sizeof(*gets->results)));
  if (gets->gets == NULL || gets->parts == NULL ||
      kr_hbase_got_init(&gets->got, mem, count, &none) != 0) {
    gets->got.mem = mem;
    free_gets(gets);
    return NULL;
  }
  gets->messages = (Kr__Pb__Result *)(gets->parts + count);
  gets->results = (struct kr_hbase_result *)(gets->messages + count);
  return gets;
}

/* Send the request for one row. False = out of memory. */
static bool start_part(struct kr_hbase094_gets *gets, struct kr_rpc *rpc, const char *host,
                       int port, struct keyroute_bytes region, size_t index, int64_t timeout_ms)
{
  struct part *part = &gets->parts[index];
  struct kr_rpc_call call = {.method = "get", .timeout_ms = timeout_ms};
  struct kr_buf param;

  kr_buf_init(&param, gets->mem);
  kr_hbase094_get_write(&param, gets->gets, region, gets->gets->rows[index]);
  call.param = kr_buf_view(&param);
  part->owner = gets;
  if (!param.failed) {
    part->rpc = kr_rpc_start(rpc, host, port, &call, answered, part);
  }
  gets->waiting += part->rpc != NULL;
  kr_buf_clear(&param);
  return part->rpc != NULL;
}

struct kr_hbase094_gets *kr_hbase094_gets_start(struct kr_mem *mem, struct kr_rpc *rpc,
                                                const char *host, int port,
                                                const struct kr_gets *from, size_t max_len,
                                                int64_t timeout_ms, kr_get_cb cb, void *arg)
{
  struct kr_hbase094_gets *gets = new_gets(mem, from);
  bool good = gets != NULL;

  if (gets != NULL) {
    gets->max_len = max_len;
    gets->cb = cb;
    gets->arg = arg;
  }
  for (size_t i = 0; good && i < from->region_count; i++) {
    const struct kr_get_region *region = &gets->gets->regions[i];

    for (size_t at = 0; good && at < region->count; at++) {
      good = start_part(gets, rpc, host, port, region->name, region->first + at, timeout_ms);
    }
  }
  if (!good && gets != NULL) {
    kr_hbase094_gets_cancel(gets);
  }
  return good ? gets : NULL;
}
