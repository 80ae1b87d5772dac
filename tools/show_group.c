/*
 * How is the spread of rows written?
 *
 *  1. The table has a line for each server, and one with - for a server if there are rows that are
 *     on none: whoever adds up the rows gets all that were asked about. The bar is the share again,
 *     of plain # signs; on a terminal it fills the line.
 *  2. JSON has an object for each region, with its server and its rows, and one for each row that
 *     failed, as locate has it. Each line says all about itself.
 */
#include "tools/show_group.h"

#include "tools/record.h"
#include "tools/share.h"
#include "tools/table.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 5 };
static const struct table_column columns[COLUMNS] = {
    {"SERVER", 24}, {"REGIONS", 7}, {"ROWS", 10}, {"SHARE", 7}, {"", 0}};
enum { BEFORE_BAR = 24 + 7 + 10 + 7 + 4 * 2, BAR_LEAST = 10, BAR_DEFAULT = 24 };

/* ---- JSON ----------------------------------------------------------------------------------- */

static void print_region(const struct output *output, const char *table,
                         const struct tally_region *region)
{
  struct record *line = record_new();
  struct record *rows = record_list();

  record_put_text(line, "table", table);
  record_put(line, "region", record_region(region->location, region->replica, output->hex));
  record_put_server(line, region->location, region->replica);
  record_put_number(line, "row_count", (long long)region->row_count);
  for (size_t i = 0; i < region->kept; i++) {
    record_add_own(rows, text_bytes(row_bytes(&region->rows[i]), output->hex));
  }
  record_put(line, "rows", rows);
  record_print(line);
}

void show_group_failure(const struct output *output, const char *table, struct keyroute_bytes row,
                        int error, const char *message)
{
  if (!output->json) {
    return;
  }
  struct record *line = record_new();
  record_put_text(line, "table", table);
  record_put_own(line, "row", text_bytes(row, output->hex));
  record_put_error(line, error, message, false);
  record_print(line);
}

/* ---- The table ------------------------------------------------------------------------------ */

static size_t bar_width(void)
{
  struct winsize about = {.ws_col = 0};

  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &about) != 0 || about.ws_col == 0) {
    return BAR_DEFAULT;
  }
  return about.ws_col > BEFORE_BAR + BAR_LEAST ? (size_t)about.ws_col - BEFORE_BAR : BAR_LEAST;
}

static void print_server(const char *server, const char *regions, size_t rows, size_t all)
{
  char count[24];
  char share[SHARE_TEXT];
  char bar[SHARE_BAR_MAX + 1];
  double part = (double)rows / (double)all;
  const char *texts[COLUMNS] = {server, regions, count, share, bar};

  snprintf(count, sizeof(count), "%zu", rows);
  share_text(share, part);
  share_bar(bar, bar_width(), part);
  table_line(columns, COLUMNS, 0, texts);
}

/* The regions from the first on that are on one server; returns how many. */
static size_t print_next(const struct tally *tally, size_t first, size_t all)
{
  const struct tally_region *region = tally->regions[first];
  char *server = text_server(region->location, region->replica);
  char regions[24];
  size_t count = 0;
  size_t rows = 0;

  while (first + count < tally->region_count &&
         tally_same_server(region, tally->regions[first + count])) {
    rows += tally->regions[first + count]->row_count;
    count++;
  }
  snprintf(regions, sizeof(regions), "%zu", count);
  print_server(server, regions, rows, all);
  free(server);
  return count;
}

static void print_table(const struct tally *tally, size_t failed)
{
  size_t all = tally->row_count + failed;

  table_header(columns, COLUMNS, 0);
  for (size_t i = 0; i < tally->region_count;) {
    i += print_next(tally, i, all);
  }
  if (failed > 0) {
    print_server("-", "-", failed, all);
  }
}

void show_group(const struct output *output, const char *table, const struct tally *tally,
                size_t failed)
{
  if (!output->json) {
    print_table(tally, failed);
    return;
  }
  for (size_t i = 0; i < tally->region_count; i++) {
    print_region(output, table, tally->regions[i]);
  }
}
