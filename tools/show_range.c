/*
 * How are the ranges of a directory written?
 *
 *  1. A line a range, in the order of tables and keys. What is wrong with their chain stands where
 *     it is met.
 *  2. JSON objects say by "kind" what they are; the one of an error has none.
 */
#include "tools/show_range.h"

#include "tools/cli.h"
#include "tools/outcome.h"
#include "tools/record.h"
#include "tools/table.h"
#include "tools/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 7 };
static const struct table_column columns[COLUMNS] = {
    {"TABLE", 5},  {"KIND", 7},        {"START", 16}, {"END", 16},
    {"RANGE", 14}, {"GENERATION", 10}, {"NODES", 0}};

void show_range_header(const struct output *output)
{
  if (!output->json) {
    table_header(columns, COLUMNS, 0);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static struct record *begin_record(const struct output *output, const char *table, const char *kind,
                                   struct keyroute_bytes start, struct keyroute_bytes end)
{
  struct record *line = record_new();

  record_put_text(line, "table", table);
  record_put_text(line, "kind", kind);
  record_put_own(line, "start", text_bytes(start, output->hex));
  record_put_own(line, "end", text_bytes(end, output->hex));
  return line;
}

static void print_json(const struct output *output, const struct keyroute_ranges *ranges,
                       size_t index, const struct keyroute_range *range, const char *kind)
{
  struct record *line = begin_record(output, range->table, kind, range->start, range->end);
  struct record *nodes = record_list();

  for (size_t i = 0; i < range->node_count; i++) {
    struct keyroute_range_node node;
    struct record *one = record_new();

    keyroute_ranges_node(ranges, index, i, &node);
    record_put_number(one, "id", (long long)node.id);
    record_put_text(one, "host", node.host);
    record_put_number(one, "port", node.port);
    record_add(nodes, one);
  }
  record_put_number(line, "id", (long long)range->id);
  record_put_number(line, "generation", (long long)range->generation);
  record_put(line, "nodes", nodes);
  record_print(line);
}

/* ---- The table ------------------------------------------------------------------------------- */

/* "1=host:port,2=[::1]:port" */
static char *nodes_text(const struct keyroute_ranges *ranges, size_t index, size_t count)
{
  char *text = cli_alloc(count * 320 + 1);
  size_t len = 0;

  for (size_t i = 0; i < count; i++) {
    struct keyroute_range_node node;

    keyroute_ranges_node(ranges, index, i, &node);
    const char *format =
        strchr(node.host, ':') != NULL ? "%s%" PRIu64 "=[%s]:%d" : "%s%" PRIu64 "=%s:%d";
    len +=
        (size_t)snprintf(text + len, 320, format, i > 0 ? "," : "", node.id, node.host, node.port);
  }
  return text;
}

static void print_line(const struct output *output, const char *table, const char *kind,
                       struct keyroute_bytes start, struct keyroute_bytes end,
                       const char *const more[3])
{
  char *first = text_word(start, output->hex);
  char *last = text_word(end, output->hex);
  const char *texts[COLUMNS] = {table, kind, first, last, more[0], more[1], more[2]};

  table_line(columns, COLUMNS, 0, texts);
  free(first);
  free(last);
}

static void print_table(const struct output *output, const struct keyroute_ranges *ranges,
                        size_t index, const struct keyroute_range *range, const char *kind)
{
  char id[32], generation[32];
  char *nodes = nodes_text(ranges, index, range->node_count);

  snprintf(id, sizeof(id), "r%" PRIu64, range->id);
  snprintf(generation, sizeof(generation), "%" PRIu64, range->generation);
  print_line(output, range->table, kind, range->start, range->end,
             (const char *const[3]){id, generation, nodes});
  free(nodes);
}

/* ---- Both ------------------------------------------------------------------------------------ */

void show_range(const struct output *output, const struct keyroute_ranges *ranges, size_t index,
                const char *kind)
{
  struct keyroute_range range = {.size = sizeof(range)};

  if (keyroute_ranges_get(ranges, index, &range) != 0) {
    return;
  }
  if (output->json) {
    print_json(output, ranges, index, &range, kind);
  } else {
    print_table(output, ranges, index, &range, kind);
  }
}

void show_range_wrong(const struct output *output, const char *kind, const char *table,
                      struct keyroute_bytes start, struct keyroute_bytes end)
{
  if (output->json) {
    record_print(begin_record(output, table, kind, start, end));
  } else {
    print_line(output, table, kind, start, end, (const char *const[3]){"-", "-", "-"});
  }
}

static void print_error(const struct output *output, int error, const char *message, bool deadline)
{
  if (output->json) {
    struct record *line = record_new();

    record_put_error(line, error, message, deadline);
    record_print(line);
  }
}

int show_range_failure(const struct line *line, int error, const struct keyroute_detail *detail)
{
  const char *message = detail->message[0] != '\0' ? detail->message : keyroute_strerror(error);

  print_error(&line->output, error, message, detail->deadline);
  if (cli_flush() == 0 && !line->quiet) {
    cli_complain("%s: %s", keyroute_errname(error), message);
  }
  return outcome_unasked(error) ? CLI_TROUBLE : CLI_NOT_FOUND;
}
