/*
 * keyroute group: how are these rows spread over servers and regions?
 *
 * Rows are located in batches, and counted by region, so that memory is bounded by the regions of
 * the table. JSON tells each region's rows as well, and has to keep them until the end: a region is
 * one line, whatever batches its rows were in.
 */
#include "keyroute/keyroute.h"

#include "tools/cli.h"
#include "tools/line.h"
#include "tools/order.h"
#include "tools/rows.h"
#include "tools/show_group.h"
#include "tools/tally.h"

#include <stdlib.h>

enum { BATCH_ROWS = 10000 };

/* The library's callback, on its loop thread. */
static void answer(void *payload, int error, struct keyroute_groups *groups,
                   const struct keyroute_detail *detail)
{
  struct turn *turn = payload;

  turn->got = groups;
  order_answer(turn, error, detail);
}

static int ask(struct turn *turn)
{
  const struct line *line = turn->order->line;
  struct keyroute_key *keys = order_keys(turn);
  int error = keyroute_group_async(NULL, turn->order->conn, keys, turn->row_count, &line->call,
                                   answer, turn);
  free(keys);
  return error;
}

static void take_region(struct turn *turn, const struct keyroute_region_group *group)
{
  struct tally *tally = turn->order->payload;
  struct tally_region *region = tally_region(tally, group->location, group->replica);

  tally_count(tally, region, group->row_count);
  for (size_t i = 0; turn->order->line->output.json && i < group->row_count; i++) {
    tally_keep(region, &turn->rows[group->rows[i]]);
  }
}

static void take_failure(struct turn *turn, size_t index, int error, const char *message)
{
  struct order *order = turn->order;
  const struct row *row = &turn->rows[index];

  show_group_failure(&order->line->output, order->table, row_bytes(row), error, message);
  order_count(order, row, error, message);
}

static void take(struct turn *turn)
{
  const struct keyroute_groups *groups = turn->got;

  for (size_t i = 0; i < turn->row_count; i++) {
    int error = groups != NULL ? keyroute_groups_error(groups, i) : turn->outcome.error;

    if (error != 0) {
      take_failure(turn, i, error,
                   groups != NULL ? keyroute_groups_message(groups, i)
                                  : outcome_message(&turn->outcome));
    } else {
      order_count(turn->order, &turn->rows[i], 0, "");
    }
  }
  for (size_t i = 0; groups != NULL && i < keyroute_groups_region_count(groups); i++) {
    struct keyroute_region_group group = {.size = sizeof(group)};

    if (keyroute_groups_region(groups, i, &group) == 0) {
      take_region(turn, &group);
    }
  }
}

static void release(void *got)
{
  keyroute_groups_free(got);
}

static void end(const struct order *order)
{
  struct tally *tally = order->payload;

  tally_sort(tally);
  show_group(&order->line->output, order->table, tally, order->failed);
}

int cmd_group(int argc, char **argv)
{
  static const struct order_work work = {
      .slice = BATCH_ROWS, .jobs = 2, .ask = ask, .take = take, .release = release};
  struct tally tally = {0};
  struct line line;
  int status = line_parse(&line, COMMAND_GROUP, argc, argv);

  if (status == -1) {
    status = order_run(&work, &line, &tally, NULL, end);
  }
  tally_free(&tally);
  line_free(&line);
  return status;
}
