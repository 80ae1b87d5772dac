/*
 * How many rows does each region of each server hold?
 *
 * Batches of rows are counted one after another, and each finds the same regions again: a tree of
 * tsearch tells which are known. A region that moves between two batches is counted on both
 * servers, as it was found.
 */
#include "tools/tally.h"

#include "tools/cli.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(int64_t a, int64_t b)
{
  return (a > b) - (a < b);
}

static int compare_servers(const struct tally_region *a, const struct tally_region *b)
{
  const struct keyroute_location *x = a->location;
  const struct keyroute_location *y = b->location;
  int order = strcmp(keyroute_location_host(x, a->replica), keyroute_location_host(y, b->replica));

  if (order == 0) {
    order = compare_numbers(keyroute_location_port(x, a->replica),
                            keyroute_location_port(y, b->replica));
  }
  return order != 0 ? order
                    : compare_numbers(keyroute_location_start_code(x, a->replica),
                                      keyroute_location_start_code(y, b->replica));
}

/* By server, then by key, then by what tells regions and replicas of the same start key apart. */
static int compare_regions(const void *left, const void *right)
{
  const struct tally_region *a = left;
  const struct tally_region *b = right;
  int order = compare_servers(a, b);

  if (order == 0) {
    order = row_compare(keyroute_location_start_key(a->location),
                        keyroute_location_start_key(b->location));
  }
  if (order == 0) {
    order =
        row_compare(keyroute_location_end_key(a->location), keyroute_location_end_key(b->location));
  }
  if (order == 0) {
    order = compare_numbers(keyroute_location_region_id(a->location),
                            keyroute_location_region_id(b->location));
  }
  return order != 0 ? order : compare_numbers(a->replica, b->replica);
}

static int compare_places(const void *left, const void *right)
{
  return compare_regions(*(struct tally_region *const *)left, *(struct tally_region *const *)right);
}

static int compare_rows(const void *left, const void *right)
{
  return row_compare(row_bytes(left), row_bytes(right));
}

static void add_region(struct tally *tally, struct tally_region *region)
{
  size_t count = tally->region_count;

  if ((count & (count - 1)) == 0) { /* full: its room is the next power of two */
    size_t room = count > 0 ? 2 * count : 1;

    tally->regions = cli_realloc(tally->regions, room * sizeof(struct tally_region *));
  }
  tally->regions[tally->region_count++] = region;
}

struct tally_region *tally_region(struct tally *tally, struct keyroute_location *location,
                                  int replica)
{
  struct tally_region wanted = {.location = location, .replica = replica};
  void *found = tfind(&wanted, &tally->tree, compare_regions);

  if (found != NULL) {
    return *(struct tally_region **)found;
  }
  struct tally_region *region = cli_alloc(sizeof(*region));
  *region = wanted;
  region->location = keyroute_location_ref(location);
  if (tsearch(region, &tally->tree, compare_regions) == NULL) {
    cli_complain("out of memory");
    exit(CLI_TROUBLE);
  }
  add_region(tally, region);
  return region;
}

void tally_count(struct tally *tally, struct tally_region *region, size_t rows)
{
  region->row_count += rows;
  tally->row_count += rows;
}

void tally_keep(struct tally_region *region, struct row *row)
{
  size_t kept = region->kept;

  if ((kept & (kept - 1)) == 0) { /* as above */
    size_t room = kept > 0 ? 2 * kept : 1;

    region->rows = cli_realloc(region->rows, room * sizeof(*region->rows));
  }
  region->rows[region->kept++] = *row;
  *row = (struct row){.data = NULL};
}

void tally_sort(struct tally *tally)
{
  if (tally->region_count > 0) {
    qsort(tally->regions, tally->region_count, sizeof(struct tally_region *), compare_places);
  }
  for (size_t i = 0; i < tally->region_count; i++) {
    struct tally_region *region = tally->regions[i];

    if (region->kept > 0) {
      qsort(region->rows, region->kept, sizeof(*region->rows), compare_rows);
    }
  }
}

bool tally_same_server(const struct tally_region *a, const struct tally_region *b)
{
  return compare_servers(a, b) == 0;
}

static void keep_node(void *node)
{
  (void)node;
}

void tally_free(struct tally *tally)
{
  tdestroy(tally->tree, keep_node);
  for (size_t i = 0; i < tally->region_count; i++) {
    struct tally_region *region = tally->regions[i];

    for (size_t j = 0; j < region->kept; j++) {
      free(region->rows[j].data);
    }
    free(region->rows);
    keyroute_location_release(region->location);
    free(region);
  }
  free(tally->regions);
  *tally = (struct tally){0};
}
