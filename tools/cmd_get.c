/*
 * keyroute get: what do these rows hold, read from the servers that have them?
 *
 *  1. Rows that are arguments are read one a call, and so are those of a file with --trace: each
 *     tells how it went.
 *  2. Other rows of a file or a pipe are read in batches, which the library sends to all servers
 *     side by side. A pipe's batch is what has come by then, so that nobody waits for a full one.
 *  3. A batch is made smaller where rows are large: its answer shall stay below BATCH_BYTES or so.
 *     What is kept at a time is that, times the batches under way.
 *  4. A row that does not exist is no trouble, but was not found: the exit status tells.
 */
#include "keyroute/keyroute.h"

#include "tools/cli.h"
#include "tools/connect.h"
#include "tools/line.h"
#include "tools/order.h"
#include "tools/rows.h"
#include "tools/show_get.h"

#include <stdlib.h>

enum { BATCH_FIRST = 20, BATCH_ROWS = 1000, BATCH_BYTES = 8 * 1024 * 1024, ROW_MAX = 32767 };

/* The library's callback, on its loop thread. */
static void answer(void *payload, int error, struct keyroute_result *result,
                   const struct keyroute_detail *detail)
{
  struct turn *turn = payload;

  turn->got = result;
  order_answer(turn, error, detail);
}

static int ask(struct turn *turn)
{
  const struct line *line = turn->order->line;

  return keyroute_get_async(NULL, turn->order->conn, line->table, row_bytes(turn->rows),
                            &line->read, &line->call, answer, turn);
}

static int ask_many(struct turn *turn)
{
  const struct line *line = turn->order->line;
  struct keyroute_key *keys = order_keys(turn);
  int error = keyroute_get_many_async(NULL, turn->order->conn, keys, turn->row_count, &line->read,
                                      &line->call, answer, turn);
  free(keys);
  return error;
}

static size_t cell_bytes(const struct keyroute_cell *cell)
{
  return sizeof(*cell) + cell->row.len + cell->family.len + cell->qualifier.len + cell->value.len;
}

/* Print one row of a turn. Returns how many bytes it has. */
static size_t take_row(struct turn *turn, size_t index, bool alone)
{
  struct order *order = turn->order;
  const struct row *row = &turn->rows[index];
  const struct keyroute_result *result = turn->got;
  struct show_row about = {.table = order->table, .row = row_bytes(row), .index = index};
  size_t count = 0;
  size_t bytes = 0;

  about.error = result != NULL ? keyroute_result_error(result, index) : turn->outcome.error;
  if (about.error == 0) {
    const struct keyroute_cell *cells = keyroute_result_cells(result, index, &count);

    about.result = result;
    for (size_t i = 0; i < count; i++) {
      bytes += cell_bytes(&cells[i]);
    }
  } else {
    about.message =
        result != NULL ? keyroute_result_message(result, index) : outcome_message(&turn->outcome);
  }
  about.outcome = alone ? &turn->outcome : NULL;
  show_get(&order->line->output, &about);
  if (about.error == 0 && count == 0) {
    order_count_missing(order);
  } else {
    order_count(order, row, about.error, about.message);
  }
  return bytes;
}

static void take(struct turn *turn)
{
  take_row(turn, 0, true);
}

static void take_many(struct turn *turn)
{
  size_t bytes = 0;

  for (size_t i = 0; i < turn->row_count; i++) {
    bytes += take_row(turn, i, false);
  }
  size_t each = bytes / turn->row_count + 1;
  size_t fit = BATCH_BYTES / each;
  turn->order->slice = fit < 1 ? 1 : fit > BATCH_ROWS ? BATCH_ROWS : fit;
}

static void release(void *got)
{
  keyroute_result_free(got);
}

/* Would the library take what is to be read? The cache is asked, nobody else. */
static int check(const struct line *line, struct keyroute_connection *conn)
{
  struct keyroute_call call = line->call;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result = NULL;

  call.flags = KEYROUTE_CACHE_ONLY;
  int error =
      keyroute_get(&result, conn, line->table, keyroute_string("a"), &line->read, &call, &detail);
  int status = error == KEYROUTE_E_INVALID_ARGUMENT ? connect_fail(error, &detail) : -1;
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  return status;
}

static void begin(const struct order *order)
{
  show_get_header(&order->line->output);
}

int cmd_get(int argc, char **argv)
{
  static const struct order_work one = {.rules = {.min_len = 1, .max_len = ROW_MAX},
                                        .slice = 1,
                                        .jobs = 1,
                                        .answers = true,
                                        .check = check,
                                        .ask = ask,
                                        .take = take,
                                        .release = release};
  static const struct order_work many = {.rules = {.min_len = 1, .max_len = ROW_MAX},
                                         .slice = BATCH_FIRST,
                                         .jobs = 2,
                                         .answers = true,
                                         .eager = true,
                                         .check = check,
                                         .ask = ask_many,
                                         .take = take_many,
                                         .release = release};
  struct line line;
  int status = line_parse(&line, COMMAND_GET, argc, argv);

  if (status == -1) {
    bool alone = line.rows_from == NULL || line.output.trace;

    status = order_run(alone ? &one : &many, &line, NULL, begin, NULL);
  }
  line_free(&line);
  return status;
}
