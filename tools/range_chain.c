/*
 * keyroute range show: the ranges of a directory, and what is wrong with them.
 *
 *  1. Tables are read page by page, and the chain of ranges is judged here: each begins where the
 *     one before ends.
 *  2. A chain that is broken, or a change that was interrupted, is exit status 1.
 */
#include "tools/range_chain.h"

#include "tools/cli.h"
#include "tools/show_range.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chain of ranges as far as it has been looked at. */
struct chain {
  const struct line *line;
  const char *table;
  char *end; /* where the last range ended; NULL = none has been seen */
  size_t end_len;
  bool unbounded; /* it has no end */
  size_t wrong;
};

static void set_end(struct chain *chain, struct keyroute_bytes end)
{
  char *copy = cli_copy_bytes(end);

  free(chain->end);
  chain->end = copy;
  chain->end_len = end.len;
  chain->unbounded = end.len == 0;
}

static void tell_wrong(struct chain *chain, const char *kind, struct keyroute_bytes start,
                       struct keyroute_bytes end)
{
  char *from = text_word(start, chain->line->output.hex);
  char *to = text_word(end, chain->line->output.hex);

  chain->wrong++;
  show_range_wrong(&chain->line->output, kind, chain->table, start, end);
  if (!chain->line->quiet && cli_flush() == 0) {
    cli_complain("%s: %s from %s to %s", chain->table, kind, from, to);
  }
  free(from);
  free(to);
}

/* Does a range begin where the one before ends? */
static void look_at(struct chain *chain, const struct keyroute_range *range)
{
  struct keyroute_bytes end = {chain->end, chain->end_len};
  bool first = chain->end == NULL;
  int side = first ? 0 : chain->unbounded ? -1 : row_compare(range->start, end);

  if (first && chain->line->start_text == NULL && range->start.len > 0) {
    tell_wrong(chain, "hole", end, range->start);
  } else if (side > 0) {
    tell_wrong(chain, "hole", end, range->start);
  } else if (side < 0) {
    bool inside = range->end.len > 0 && (chain->unbounded || row_compare(range->end, end) < 0);

    tell_wrong(chain, "overlap", range->start, inside ? range->end : end);
  }
  /* What a shorter range inside leaves over is still the longer one's. */
  if (first || range->end.len == 0 || (!chain->unbounded && row_compare(range->end, end) > 0)) {
    set_end(chain, range->end);
  }
}

static void print_page(struct chain *chain, const struct keyroute_ranges *ranges)
{
  for (size_t i = 0; i < keyroute_ranges_count(ranges) && !ferror(stdout); i++) {
    struct keyroute_range range = {.size = sizeof(range)};

    if (keyroute_ranges_get(ranges, i, &range) == 0) {
      look_at(chain, &range);
      show_range(&chain->line->output, ranges, i, "range");
    }
  }
}

static void end_chain(struct chain *chain)
{
  struct keyroute_bytes end = {chain->end, chain->end_len};
  bool nothing = chain->end == NULL && chain->line->start_text == NULL;

  if (nothing || (chain->end != NULL && !chain->unbounded)) {
    tell_wrong(chain, "hole", end, keyroute_string(""));
  }
}

/* List one table. Returns an exit status, or -1 for go on. */
static int list_table(struct keyroute_connection *conn, struct chain *chain)
{
  const struct line *line = chain->line;
  struct keyroute_bytes start = row_bytes(&line->start);
  struct keyroute_ranges *ranges = NULL, *before = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int status = -1;
  bool more = true;

  while (more && status == -1) {
    int error = keyroute_range_list(&ranges, conn, chain->table, start, 0, &line->call, &detail);

    keyroute_ranges_free(before); /* start was in it */
    before = ranges;
    if (error != 0) {
      before = NULL;
      status = show_range_failure(line, error, &detail);
    } else {
      print_page(chain, ranges);
      more = keyroute_ranges_next(ranges, &start);
      status = ferror(stdout) ? CLI_TROUBLE : -1;
    }
    cli_flush();
  }
  keyroute_ranges_free(before);
  keyroute_detail_clear(&detail);
  if (status == -1) {
    end_chain(chain);
  }
  return status;
}

/* The ranges of a change that was interrupted. */
static int list_interrupted(struct keyroute_connection *conn, const struct line *line)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_ranges *ranges = NULL;
  int error = keyroute_range_interrupted(&ranges, conn, &line->call, &detail);
  int status = error != 0 ? show_range_failure(line, error, &detail) : -1;

  for (size_t i = 0; i < keyroute_ranges_count(ranges); i++) {
    struct keyroute_range range = {.size = sizeof(range)};

    keyroute_ranges_get(ranges, i, &range);
    show_range(&line->output, ranges, i, range.is_new ? "new" : "old");
    status = CLI_NOT_FOUND;
  }
  if (status == CLI_NOT_FOUND && error == 0 && !line->quiet && cli_flush() == 0) {
    cli_complain("a change was interrupted: these old ranges were to give way to the new ones");
  }
  keyroute_ranges_free(ranges);
  keyroute_detail_clear(&detail);
  return status;
}

int range_chain_show(struct keyroute_connection *conn, const struct line *line)
{
  static const char *const tables[] = {"meta1", "meta2", "map"};
  int status = -1;
  size_t wrong = 0;

  show_range_header(&line->output);
  for (size_t i = 0; i < 3 && status == -1; i++) {
    struct chain chain = {.line = line, .table = tables[i]};

    if (line->table == NULL || strcmp(line->table, tables[i]) == 0) {
      status = list_table(conn, &chain);
    }
    wrong += chain.wrong;
    free(chain.end);
  }
  if (status == -1) {
    status = list_interrupted(conn, line);
  }
  return status != -1 ? status : wrong > 0 ? CLI_NOT_FOUND : CLI_FOUND;
}
