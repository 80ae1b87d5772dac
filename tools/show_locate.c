/*
 * How is the place of a row written? As one line of a table for people, or as one JSON object for
 * programs: one row asked is one line (with --replica all, the table has one for each replica),
 * also if there is no answer. Whoever counts lines is never wrong.
 */
#include "tools/show_locate.h"

#include "tools/record.h"
#include "tools/table.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 7 };
static const struct table_column columns[COLUMNS] = {
    {"ROW", 16}, {"REPLICA", 7}, {"SERVER", 24}, {"START", 16},
    {"END", 16}, {"REGION", 32}, {"RESULT", 0},
};

void show_locate_header(const struct output *output)
{
  if (!output->json) {
    table_header(columns, COLUMNS, output->row_width);
  }
}

static void print_json(const struct output *output, const char *table, struct keyroute_bytes row,
                       const struct outcome *outcome, const struct keyroute_location *location)
{
  struct record *line = record_new();

  record_put_text(line, "table", table);
  record_put_own(line, "row", text_bytes(row, output->hex));
  if (outcome->error != 0) {
    record_put_error(line, outcome->error, outcome_message(outcome), outcome->deadline);
  } else {
    record_put(line, "region", record_region(location, output->replica, output->hex));
    record_put_server(line, location, output->replica);
    if (output->all_replicas) {
      record_put_replicas(line, location);
    }
    record_put_text(line, "source", text_source(outcome->source));
  }
  record_put_figures(line, outcome, output->trace);
  record_print(line);
}

static void print_replica(const struct output *output, const char *row,
                          const struct outcome *outcome, const struct keyroute_location *location,
                          int replica)
{
  char number[16];
  char *start = text_word(keyroute_location_start_key(location), output->hex);
  char *end = text_word(keyroute_location_end_key(location), output->hex);
  char *server = text_server(location, replica);
  char *region = text_encoded_name(location, replica);
  const char *texts[COLUMNS] = {row,
                                number,
                                server != NULL ? server : "-",
                                start,
                                end,
                                region[0] != '\0' ? region : "-",
                                text_source(outcome->source)};

  snprintf(number, sizeof(number), "%d", replica);
  table_line(columns, COLUMNS, output->row_width, texts);
  free(start);
  free(end);
  free(server);
  free(region);
}

static void print_failure(const struct output *output, const char *row, int error)
{
  char number[16] = "-";
  const char *texts[COLUMNS] = {row, number, "-", "-", "-", "-", keyroute_errname(error)};

  if (!output->all_replicas) {
    snprintf(number, sizeof(number), "%d", output->replica);
  }
  table_line(columns, COLUMNS, output->row_width, texts);
}

static void print_table(const struct output *output, struct keyroute_bytes row,
                        const struct outcome *outcome, const struct keyroute_location *location)
{
  char *word = text_word(row, output->hex);

  if (outcome->error != 0) {
    print_failure(output, word, outcome->error);
  } else if (output->all_replicas) {
    for (int i = 0; i < keyroute_location_replica_count(location); i++) {
      print_replica(output, word, outcome, location, i);
    }
  } else {
    print_replica(output, word, outcome, location, output->replica);
  }
  if (output->trace) {
    table_steps(outcome);
  }
  free(word);
}

void show_locate(const struct output *output, const char *table, struct keyroute_bytes row,
                 const struct outcome *outcome, const struct keyroute_location *location)
{
  if (output->json) {
    print_json(output, table, row, outcome, location);
  } else {
    print_table(output, row, outcome, location);
  }
}
