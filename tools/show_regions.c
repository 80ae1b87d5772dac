/*
 * How is a listing of regions written?
 *
 *  1. In the order of keys, a line for each region and each thing that is wrong: holes, overlaps,
 *     rows of the catalog that cannot be believed. What is wrong stands where the state of a region
 *     stands, and so does the code of an error that ends the listing: whoever reads stdout alone
 *     knows that it is not whole.
 *  2. The regions of an overlap are named both, with a + between them.
 *  3. JSON objects say by "kind" what they are; the one of an error has none.
 */
#include "tools/show_regions.h"

#include "tools/cli.h"
#include "tools/record.h"
#include "tools/share.h"
#include "tools/table.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };
static const struct table_column columns[COLUMNS] = {{"START", 16}, {"END", 16},    {"SERVER", 24},
                                                     {"STATE", 7},  {"REGION", 32}, {"SHARE", 0}};

static const struct {
  const char *name, *word;
} kinds[] = {
    [KEYROUTE_SPAN_REGION] = {"REGION", "region"},
    [KEYROUTE_SPAN_HOLE] = {"HOLE", "hole"},
    [KEYROUTE_SPAN_OVERLAP] = {"OVERLAP", "overlap"},
    [KEYROUTE_SPAN_CORRUPT] = {"CORRUPT", "corrupt"},
};

const char *show_span_kind(enum keyroute_span_kind kind)
{
  return kinds[kind].name;
}

void show_regions_header(const struct output *output)
{
  if (!output->json) {
    table_header(columns, COLUMNS, 0);
  }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_region(struct record *line, const struct output *output,
                       const struct keyroute_span *span)
{
  const struct keyroute_location *location = span->location;
  const char *state = keyroute_location_state(location);

  record_put(line, "region", record_region(location, 0, output->hex));
  record_put_server(line, location, 0);
  if (keyroute_location_replica_count(location) > 1) {
    record_put_replicas(line, location);
  }
  if (state != NULL) {
    record_put_text(line, "state", state);
  }
  if (span->offline) {
    record_put_true(line, "offline");
  }
}

static void put_both(struct record *line, const struct output *output,
                     const struct keyroute_span *span)
{
  struct record *regions = record_list();

  record_add(regions, record_region(span->location, 0, output->hex));
  record_add(regions, record_region(span->other, 0, output->hex));
  record_put(line, "regions", regions);
}

static void print_json(const struct output *output, const char *table,
                       const struct keyroute_span *span)
{
  struct record *line = record_new();

  record_put_text(line, "table", table);
  record_put_text(line, "kind", kinds[span->kind].word);
  record_put_own(line, "start", text_bytes(span->start, output->hex));
  if (span->kind != KEYROUTE_SPAN_CORRUPT) {
    record_put_own(line, "end", text_bytes(span->end, output->hex));
    record_put_real(line, "share", share_of_keys(span->start, span->end));
  }
  if (span->kind == KEYROUTE_SPAN_REGION) {
    put_region(line, output, span);
  } else if (span->kind == KEYROUTE_SPAN_OVERLAP) {
    put_both(line, output, span);
  }
  if (span->message != NULL && span->message[0] != '\0') {
    record_put_text(line, "message", span->message);
  }
  record_print(line);
}

/* ---- The table ------------------------------------------------------------------------------ */

static const char *state_of(const struct keyroute_span *span)
{
  const char *state = NULL;

  if (span->kind != KEYROUTE_SPAN_REGION) {
    return kinds[span->kind].name;
  }
  state = span->offline ? "OFFLINE" : keyroute_location_state(span->location);
  return state != NULL ? state : "-";
}

/* The encoded names of the regions of a span; "-" if there are none. */
static char *names_of(const struct keyroute_span *span)
{
  if (span->location == NULL) {
    return cli_copy("-");
  }
  char *name = text_encoded_name(span->location, 0);
  if (span->other == NULL) {
    return name;
  }
  char *other = text_encoded_name(span->other, 0);
  size_t size = strlen(name) + strlen(other) + 2;
  char *both = cli_alloc(size);
  snprintf(both, size, "%s+%s", name, other);
  free(name);
  free(other);
  return both;
}

static void print_table(const struct output *output, const struct keyroute_span *span)
{
  char share[SHARE_TEXT] = "-";
  char *start = text_word(span->start, output->hex);
  char *end = text_word(span->end, output->hex);
  char *names = names_of(span);
  char *server = span->kind == KEYROUTE_SPAN_REGION ? text_server(span->location, 0) : NULL;
  bool is_span = span->kind != KEYROUTE_SPAN_CORRUPT;
  const char *texts[COLUMNS] = {start,
                                is_span ? end : "-",
                                server != NULL ? server : "-",
                                state_of(span),
                                names[0] != '\0' ? names : "-",
                                share};

  if (is_span) {
    share_text(share, share_of_keys(span->start, span->end));
  }
  table_line(columns, COLUMNS, 0, texts);
  free(start);
  free(end);
  free(names);
  free(server);
}

/* ---- Both ----------------------------------------------------------------------------------- */

void show_span(const struct output *output, const char *table, const struct keyroute_span *span)
{
  if (output->json) {
    print_json(output, table, span);
  } else {
    print_table(output, span);
  }
}

static struct record *page_record(const struct output *output, const char *table,
                                  struct keyroute_bytes start)
{
  struct record *line = record_new();

  record_put_text(line, "table", table);
  record_put_own(line, "start", text_bytes(start, output->hex));
  return line;
}

void show_regions_error(const struct output *output, const char *table, struct keyroute_bytes start,
                        const struct outcome *outcome)
{
  if (output->json) {
    struct record *line = page_record(output, table, start);

    record_put_error(line, outcome->error, outcome_message(outcome), outcome->deadline);
    record_put_figures(line, outcome, output->trace);
    record_print(line);
    return;
  }
  char *key = text_word(start, output->hex);
  const char *texts[COLUMNS] = {key, "-", "-", keyroute_errname(outcome->error), "-", "-"};
  table_line(columns, COLUMNS, 0, texts);
  if (output->trace) {
    table_steps(outcome);
  }
  free(key);
}

void show_regions_steps(const struct output *output, const char *table, struct keyroute_bytes start,
                        const struct outcome *outcome)
{
  if (output->json) {
    struct record *line = page_record(output, table, start);

    record_put_figures(line, outcome, true);
    record_print(line);
  } else {
    table_steps(outcome);
  }
}
