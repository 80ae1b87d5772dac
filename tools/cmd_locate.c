/*
 * keyroute locate: which server holds these rows?
 *
 * One row a call: lookups are cheap, and each has an answer, and steps, of its own.
 */
#include "keyroute/keyroute.h"

#include "tools/cli.h"
#include "tools/line.h"
#include "tools/order.h"
#include "tools/rows.h"
#include "tools/show_locate.h"

/* The library's callback, on its loop thread. */
static void answer(void *payload, int error, struct keyroute_location *location,
                   const struct keyroute_detail *detail)
{
  struct turn *turn = payload;

  turn->got = error == 0 ? keyroute_location_ref(location) : NULL;
  order_answer(turn, error, detail);
}

static int ask(struct turn *turn)
{
  const struct order *order = turn->order;

  return keyroute_locate_async(NULL, order->conn, order->line->table, row_bytes(turn->rows),
                               &order->line->call, answer, turn);
}

static void take(struct turn *turn)
{
  struct order *order = turn->order;
  struct keyroute_bytes row = row_bytes(turn->rows);

  show_locate(&order->line->output, order->table, row, &turn->outcome, turn->got);
  order_count(order, turn->rows, turn->outcome.error, outcome_message(&turn->outcome));
}

static void begin(const struct order *order)
{
  show_locate_header(&order->line->output);
}

static void release(void *got)
{
  keyroute_location_release(got);
}

int cmd_locate(int argc, char **argv)
{
  static const struct order_work work = {
      .slice = 1, .jobs = 1, .answers = true, .ask = ask, .take = take, .release = release};
  struct line line;
  int status = line_parse(&line, COMMAND_LOCATE, argc, argv);

  if (status == -1) {
    status = order_run(&work, &line, NULL, begin, NULL);
  }
  line_free(&line);
  return status;
}
