/*
 * The ranges and rows of a range directory made for tests. Ranges of map begin at a row or just
 * above one; the rows never change, and a row's value is made of its key: so whatever happens to
 * ranges, what a reader has to be told is known.
 */
#include "test/integration/range_map.h"

#include "test/integration/range_tables.h"
#include "test/integration/real_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Keys ---- */

static int compare(struct keyroute_bytes a, struct keyroute_bytes b)
{
  int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

int range_key_compare(const void *a, const void *b)
{
  return compare(range_bytes(a), range_bytes(b));
}

/* Of one byte to eight; those that awkward code would stumble over come often. */
static struct range_key make_key(unsigned *seed)
{
  static const unsigned char awkward[] = {0x00, 0x01, 0x02, 0x03, 0x7F, 0x80, 0xFE, 0xFF};
  struct range_key key = {.len = 1 + (unsigned)rand_r(seed) % 8};

  for (size_t i = 0; i < key.len; i++) {
    unsigned dice = (unsigned)rand_r(seed);
    key.data[i] = dice % 4 == 0 ? awkward[dice / 4 % sizeof(awkward)] : (unsigned char)(dice >> 8);
  }
  return key;
}

struct range_key range_key_above(const struct range_key *key)
{
  struct range_key above = *key;

  above.data[above.len++] = 0;
  return above;
}

static void make_rows(struct range_map *map, size_t count)
{
  map->rows = calloc(count, sizeof(map->rows[0]));
  ck_assert_ptr_nonnull(map->rows);
  while (map->row_count < count) {
    for (size_t i = map->row_count; i < count; i++) {
      map->rows[i] = make_key(&map->seed);
    }
    qsort(map->rows, count, sizeof(map->rows[0]), range_key_compare);
    map->row_count = 1;
    for (size_t i = 1; i < count; i++) {
      if (range_key_compare(&map->rows[i], &map->rows[map->row_count - 1]) != 0) {
        map->rows[map->row_count++] = map->rows[i];
      }
    }
  }
}

bool range_map_has(const struct range_map *map, struct keyroute_bytes row)
{
  struct range_key key = {.len = row.len};

  if (row.len > sizeof(key.data)) {
    return false;
  }
  memcpy(key.data, row.data, row.len);
  return bsearch(&key, map->rows, map->row_count, sizeof(key), range_key_compare) != NULL;
}

struct range_key range_map_key(const struct range_map *map, unsigned *seed)
{
  return rand_r(seed) % 2 == 0 ? map->rows[(size_t)rand_r(seed) % map->row_count] : make_key(seed);
}

/* ---- Rows ---- */

static void put_row(const struct range *range, const struct range_key *row)
{
  char text[RANGE_TEXT_MAX];

  range_text(text, range_bytes(row));
  range_command("put %d r%llu %s v%s", range->node, (unsigned long long)range->id, text, text);
}

static bool has_value(struct keyroute_bytes row, struct keyroute_bytes value)
{
  return value.len == row.len + 1 && *(const char *)value.data == 'v' &&
         memcmp((const char *)value.data + 1, row.data, row.len) == 0;
}

bool range_map_right(const struct range_map *map, struct keyroute_bytes row,
                     const struct keyroute_result *result, size_t index, char *text)
{
  const struct keyroute_location *location = keyroute_result_location(result, index);
  char key[RANGE_TEXT_MAX], encoded[32] = "";
  size_t count = 0;
  const struct keyroute_cell *cells = keyroute_result_cells(result, index, &count);
  bool expected = range_map_has(map, row);

  if (expected ? count == 1 && has_value(row, cells[0].value) : count == 0) {
    return true;
  }
  keyroute_location_encoded_name(location, 0, encoded, sizeof(encoded) - 1);
  snprintf(text, RANGE_WRONG_MAX, "row %s, %s: %zu cells from %s on port %d", range_text(key, row),
           expected ? "which is there" : "which is not", count, encoded,
           keyroute_location_port(location, 0));
  return false;
}

/* ---- Ranges ---- */

static void make_range(struct range_map *map, size_t index, size_t rows_each)
{
  struct range *range = &map->ranges[index];
  const struct range_key *rows = &map->rows[index * rows_each];

  *range =
      (struct range){.id = map->next_id++, .generation = 1, .node = (int)(index % RANGE_NODES)};
  if (index > 0) {
    range->start = index % 2 == 0 ? *rows : range_key_above(rows - 1);
    range[-1].end = range->start;
  }
  range_create(range, "f");
  for (size_t i = 0; i < rows_each; i++) {
    put_row(range, &rows[i]);
  }
}

void range_map_make(struct range_map *map, const char *znode, size_t ranges, size_t rows_each,
                    unsigned seed)
{
  *map = (struct range_map){
      .znode = znode, .next_id = RANGE_FIRST_ID, .seed = seed, .count = ranges, .room = ranges};
  make_rows(map, ranges * rows_each);
  map->ranges = calloc(ranges, sizeof(map->ranges[0]));
  ck_assert_ptr_nonnull(map->ranges);
  for (size_t i = 0; i < ranges; i++) {
    make_range(map, i, rows_each);
  }
}

void range_map_clear(struct range_map *map)
{
  range_command("drop-all");
  zookeeper_delete(range_zookeeper, map->znode);
  free(map->ranges);
  free(map->rows);
}

size_t range_map_find(const struct range_map *map, struct keyroute_bytes row)
{
  size_t low = 0, high = map->count;

  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (compare(row, range_bytes(&map->ranges[middle].start)) < 0) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return low;
}
