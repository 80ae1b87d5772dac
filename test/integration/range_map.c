/*
 * A range directory made for tests.
 *
 *  1. Ranges of map begin at a row or just above one; the rows never change, and a row's value is
 *     made of its key: so whatever happens to ranges, what a reader has to be told is known.
 *  2. Changes are published in the order that keyroute_range(7) wants: tables stand and are full
 *     before the index names them, of the rows of the index the upper one is written first, and the
 *     old tables go last. A reader that has an old location therefore meets a table that is
 *     complete, or none.
 *  3. One thread makes changes; what other threads may look at does not change.
 *
 * meta1 is r1 on node 0, meta2's are r2 to r4; ids above are map's.
 */
#include "test/integration/range_map.h"

#include "test/integration/range_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Keys ---- */

static int compare(struct keyroute_bytes a, struct keyroute_bytes b)
{
  int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_keys(const void *a, const void *b)
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

/* The next key there can be. */
static struct range_key key_above(const struct range_key *key)
{
  struct range_key above = *key;

  above.data[above.len++] = 0;
  return above;
}

/* As a row of meta2. */
static struct range_key index_key(const struct range_key *start)
{
  struct range_key key = {.data = {2}, .len = start->len + 1};

  memcpy(key.data + 1, start->data, start->len);
  return key;
}

static void make_rows(struct range_map *map, size_t count)
{
  map->rows = calloc(count, sizeof(map->rows[0]));
  ck_assert_ptr_nonnull(map->rows);
  while (map->row_count < count) {
    for (size_t i = map->row_count; i < count; i++) {
      map->rows[i] = make_key(&map->seed);
    }
    qsort(map->rows, count, sizeof(map->rows[0]), compare_keys);
    map->row_count = 1;
    for (size_t i = 1; i < count; i++) {
      if (compare_keys(&map->rows[i], &map->rows[map->row_count - 1]) != 0) {
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
  return bsearch(&key, map->rows, map->row_count, sizeof(key), compare_keys) != NULL;
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

/* ---- The index ---- */

static void put_descriptor(const struct range *parent, const char *level, const struct range *range)
{
  char start[RANGE_TEXT_MAX], end[RANGE_TEXT_MAX];

  range_command("put-descriptor %d r%llu %s %llu %llu %s %s %d", parent->node,
                (unsigned long long)parent->id, level, (unsigned long long)range->id,
                (unsigned long long)range->generation,
                range_text(start, range_bytes(&range->start)),
                range_text(end, range_bytes(&range->end)), range->node);
}

/* A change may end here. */
static void stop(const struct range_map *map)
{
  if (map->stopped != NULL) {
    map->stopped();
  }
}

static const struct range meta1 = {.id = 1, .generation = 1};

/* The range of meta2 that has the row of a range of map. */
static const struct range *parent_of(const struct range_map *map, const struct range_key *start)
{
  struct range_key key = index_key(start);
  size_t i = RANGE_META2 - 1;

  while (i > 0 && compare_keys(&key, &map->meta2[i].start) < 0) {
    i--;
  }
  return &map->meta2[i];
}

static void publish(const struct range_map *map, const struct range *range)
{
  put_descriptor(parent_of(map, &range->start), "map", range);
  stop(map);
}

static void unpublish(const struct range_map *map, const struct range *range)
{
  const struct range *parent = parent_of(map, &range->start);
  struct range_key key = index_key(&range->start);
  char text[RANGE_TEXT_MAX];

  range_command("delete %d r%llu %s", parent->node, (unsigned long long)parent->id,
                range_text(text, range_bytes(&key)));
  stop(map);
}

static void create(const struct range *range, const char *family)
{
  range_command("create %d r%llu %s", range->node, (unsigned long long)range->id, family);
}

static void drop(const struct range_map *map, const struct range *range)
{
  range_command("drop %d r%llu", range->node, (unsigned long long)range->id);
  stop(map);
}

/* Bring to one range what another has of a span. */
static void copy(const struct range *from, const struct range_key *start,
                 const struct range_key *end, const struct range *to)
{
  char first[RANGE_TEXT_MAX], last[RANGE_TEXT_MAX];

  range_command("copy %d r%llu %s %s %d r%llu", from->node, (unsigned long long)from->id,
                range_text(first, range_bytes(start)), range_text(last, range_bytes(end)), to->node,
                (unsigned long long)to->id);
}

/* ---- Making it ---- */

static void make_ranges(struct range_map *map, size_t count, size_t rows_each)
{
  map->count = count;
  map->room = count;
  map->ranges = calloc(count, sizeof(map->ranges[0]));
  ck_assert_ptr_nonnull(map->ranges);
  for (size_t i = 0; i < count; i++) {
    struct range *range = &map->ranges[i];

    *range = (struct range){.id = map->next_id++, .generation = 1, .node = (int)(i % RANGE_NODES)};
    if (i > 0) {
      const struct range_key *row = &map->rows[i * rows_each];
      range->start = i % 2 == 0 ? *row : key_above(row - 1);
      range[-1].end = range->start;
    }
    create(range, "f");
    for (size_t j = 0; j < rows_each; j++) {
      put_row(range, &map->rows[i * rows_each + j]);
    }
  }
}

/* The second of meta2 begins with a row, the third just above one, which then is in the second. */
static void make_index(struct range_map *map)
{
  struct range_key second = index_key(&map->ranges[map->count / 3].start);
  struct range_key last = index_key(&map->ranges[map->count * 2 / 3].start);

  create(&meta1, "r");
  map->meta2[1].start = second;
  map->meta2[2].start = key_above(&last);
  for (int i = 0; i < RANGE_META2; i++) {
    struct range *range = &map->meta2[i];

    range->id = 2 + (uint64_t)i;
    range->generation = 1;
    range->node = (i + 1) % RANGE_NODES;
    if (i > 0) {
      map->meta2[i - 1].end = range->start;
    }
    create(range, "r");
  }
  for (int i = 0; i < RANGE_META2; i++) {
    put_descriptor(&meta1, "meta2", &map->meta2[i]);
  }
}

/* Tell ZooKeeper where meta1 is. */
static void make_znode(const struct range_map *map)
{
  unsigned char bytes[256];
  size_t len = 0;
  unsigned byte;

  range_command("descriptor 1 1 \"\" \"\" 0");
  for (const char *hex = nodes_answer(range_nodes); sscanf(hex, "%2x", &byte) == 1; hex += 2) {
    ck_assert_uint_lt(len, sizeof(bytes));
    bytes[len++] = (unsigned char)byte;
  }
  zookeeper_put(range_zookeeper, map->znode, bytes, len);
}

void range_map_make(struct range_map *map, const char *znode, size_t ranges, size_t rows_each,
                    unsigned seed)
{
  *map = (struct range_map){.znode = znode, .next_id = 2 + RANGE_META2, .seed = seed};
  make_rows(map, ranges * rows_each);
  make_ranges(map, ranges, rows_each);
  make_index(map);
  for (size_t i = 0; i < map->count; i++) {
    publish(map, &map->ranges[i]);
  }
  make_znode(map);
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

/* ---- Changes ---- */

static void insert(struct range_map *map, size_t index)
{
  if (map->count == map->room) {
    map->room *= 2;
    map->ranges = realloc(map->ranges, map->room * sizeof(map->ranges[0]));
    ck_assert_ptr_nonnull(map->ranges);
  }
  memmove(&map->ranges[index + 1], &map->ranges[index],
          (map->count - index) * sizeof(map->ranges[0]));
  map->count++;
}

static void take_out(struct range_map *map, size_t index)
{
  map->count--;
  memmove(&map->ranges[index], &map->ranges[index + 1],
          (map->count - index) * sizeof(map->ranges[0]));
}

void range_map_split(struct range_map *map, size_t index, const struct range_key *key)
{
  struct range old = map->ranges[index], left = old, right = old;

  left.id = map->next_id++;
  right.id = map->next_id++;
  left.generation = right.generation = old.generation + 1;
  left.moved = right.moved = false;
  left.end = right.start = *key;
  right.node = (old.node + 1) % RANGE_NODES;
  create(&left, "f");
  create(&right, "f");
  copy(&old, &left.start, &left.end, &left);
  copy(&old, &right.start, &right.end, &right);
  publish(map, &right);
  publish(map, &left);
  drop(map, &old);
  insert(map, index);
  map->ranges[index] = left;
  map->ranges[index + 1] = right;
}

void range_map_merge(struct range_map *map, size_t index)
{
  struct range left = map->ranges[index], right = map->ranges[index + 1], merged = left;

  merged.id = map->next_id++;
  merged.moved = false;
  merged.generation = (left.generation > right.generation ? left.generation : right.generation) + 1;
  merged.end = right.end;
  create(&merged, "f");
  copy(&left, &left.start, &left.end, &merged);
  copy(&right, &right.start, &right.end, &merged);
  publish(map, &merged);
  unpublish(map, &right);
  drop(map, &left);
  drop(map, &right);
  take_out(map, index + 1);
  map->ranges[index] = merged;
}

void range_map_move(struct range_map *map, size_t index)
{
  struct range old = map->ranges[index], moved = old;

  moved.id = old.moved ? map->next_id++ : old.id;
  moved.moved = !old.moved;
  moved.generation++;
  moved.node = (old.node + 1) % RANGE_NODES;
  create(&moved, "f");
  copy(&old, &old.start, &old.end, &moved);
  publish(map, &moved);
  drop(map, &old);
  map->ranges[index] = moved;
}

void range_map_move_meta2(struct range_map *map, size_t index)
{
  struct range old = map->meta2[index], moved = old;

  moved.id = map->next_id++;
  moved.generation++;
  moved.node = (old.node + 1) % RANGE_NODES;
  create(&moved, "r");
  copy(&old, &old.start, &old.end, &moved);
  put_descriptor(&meta1, "meta2", &moved);
  stop(map);
  drop(map, &old);
  map->meta2[index] = moved;
}
