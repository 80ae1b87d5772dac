/*
 * How is what a row holds written?
 *
 *  1. In the table, a line for each cell: row, column, timestamp, value. A row that was read and
 *     holds nothing has one line of - for all three, a row that failed the code of the error in the
 *     place of the value: no cell has - for a column, since there is a colon in each.
 *  2. As JSON, one object for each row; one without cells has an empty list of them.
 *  3. Values are bytes, and written as keys are. The value ends its line, and keeps its blanks but
 *     for those at its ends, which would be lost: \x20.
 *  4. A call about one row tells how it went; of a call about many nobody can say what one row
 *     cost, so that the figures are left out.
 */
#include "tools/show_get.h"

#include "tools/cli.h"
#include "tools/record.h"
#include "tools/table.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUT = 4 }; /* HBase KeyValue.Type */

enum { COLUMNS = 4 };
static const struct table_column columns[COLUMNS] = {
    {"ROW", 16}, {"COLUMN", 24}, {"TIMESTAMP", 13}, {"VALUE", 0}};

void show_get_header(const struct output *output)
{
  if (!output->json) {
    table_header(columns, COLUMNS, output->row_width);
  }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static struct record *cell_record(const struct output *output, const struct keyroute_cell *from)
{
  struct record *cell = record_new();

  record_put_own(cell, "family", text_bytes(from->family, false));
  record_put_own(cell, "qualifier", text_bytes(from->qualifier, false));
  record_put_number(cell, "timestamp", from->timestamp);
  if (from->type != PUT) {
    record_put_number(cell, "type", from->type);
  }
  record_put_own(cell, "value", text_bytes(from->value, output->hex));
  return cell;
}

static void put_cells(struct record *line, const struct output *output,
                      const struct show_row *about)
{
  size_t count = 0;
  const struct keyroute_cell *cells = keyroute_result_cells(about->result, about->index, &count);
  struct record *list = record_list();

  for (size_t i = 0; i < count; i++) {
    record_add(list, cell_record(output, &cells[i]));
  }
  record_put(line, "cells", list);
}

static void put_place(struct record *line, const struct output *output,
                      const struct show_row *about)
{
  const struct keyroute_location *location = keyroute_result_location(about->result, about->index);
  int replica = keyroute_result_replica(about->result, about->index);

  if (keyroute_result_stale(about->result, about->index)) {
    record_put_true(line, "stale");
  }
  record_put(line, "region", record_region(location, replica, output->hex));
  record_put_server(line, location, replica);
}

static void print_json(const struct output *output, const struct show_row *about)
{
  const struct outcome *outcome = about->outcome;
  struct record *line = record_new();

  record_put_text(line, "table", about->table);
  record_put_own(line, "row", text_bytes(about->row, output->hex));
  if (about->error != 0) {
    record_put_error(line, about->error, about->message, outcome != NULL && outcome->deadline);
  } else {
    put_cells(line, output, about);
    put_place(line, output, about);
    if (outcome != NULL) {
      record_put_text(line, "source", text_source(outcome->source));
    }
  }
  if (outcome != NULL) {
    record_put_figures(line, outcome, output->trace);
  }
  record_print(line);
}

/* ---- The table ------------------------------------------------------------------------------ */

static char *column_text(const struct keyroute_cell *cell)
{
  struct keyroute_bytes name = {NULL, cell->family.len + 1 + cell->qualifier.len};
  char *bytes = cli_alloc(name.len);

  memcpy(bytes, cell->family.data, cell->family.len);
  bytes[cell->family.len] = ':';
  if (cell->qualifier.len > 0) {
    memcpy(bytes + cell->family.len + 1, cell->qualifier.data, cell->qualifier.len);
  }
  name.data = bytes;
  char *text = text_word(name, false);
  free(bytes);
  return text;
}

static void print_cell(const struct output *output, const char *row,
                       const struct keyroute_cell *cell)
{
  char timestamp[24];
  char *column = column_text(cell);
  char *value = text_phrase(cell->value, output->hex);
  const char *texts[COLUMNS] = {row, column, timestamp, value};

  snprintf(timestamp, sizeof(timestamp), "%lld", (long long)cell->timestamp);
  table_line(columns, COLUMNS, output->row_width, texts);
  free(column);
  free(value);
}

static void print_table(const struct output *output, const struct show_row *about)
{
  size_t count = 0;
  const struct keyroute_cell *cells = NULL;
  char *row = text_word(about->row, output->hex);

  if (about->error == 0) {
    cells = keyroute_result_cells(about->result, about->index, &count);
  }
  for (size_t i = 0; i < count; i++) {
    print_cell(output, row, &cells[i]);
  }
  if (count == 0) {
    const char *why = about->error != 0 ? keyroute_errname(about->error) : "-";
    const char *texts[COLUMNS] = {row, "-", "-", why};

    table_line(columns, COLUMNS, output->row_width, texts);
  }
  if (output->trace && about->outcome != NULL) {
    table_steps(about->outcome);
  }
  free(row);
}

void show_get(const struct output *output, const struct show_row *about)
{
  if (output->json) {
    print_json(output, about);
  } else {
    print_table(output, about);
  }
}
