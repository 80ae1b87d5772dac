/*
 * A range directory in memory, for the locator's tests.
 *
 * The library's own encoder writes the descriptors; the tables' rows are those of fake_catalog.c,
 * whose order is that of bytes as long as no key has a comma.
 */
#include "test/range_world.h"

#include "lib/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct range range_meta1 = {1, 1, "", "", 1};
const struct range range_meta2 = {2, 1, "", "", 2};

/* The judge has no other way to it: a process has one. */
static struct range_world *only;

static struct range_table *find_table(const struct range_world *range, uint64_t id, unsigned node)
{
  for (size_t i = 0; i < range->table_count; i++) {
    if (range->tables[i].id == id && range->tables[i].node == node) {
      return (struct range_table *)(uintptr_t)&range->tables[i];
    }
  }
  return NULL;
}

/* "map,START,GENERATION.rID." -> ID */
static uint64_t id_of_name(const char *name)
{
  const char *last = strrchr(name, 'r');

  ck_assert_ptr_nonnull(last);
  return strtoull(last + 1, NULL, 10);
}

static struct range_table *table_of(const struct kr_request *request)
{
  ck_assert_int_eq(request->host[0], 'n');
  return find_table(only, id_of_name(request->region), (unsigned)atoi(request->host + 1));
}

/* As a node: a table that it does not have is not found. */
static void judge(struct kr_failure *failure, const struct kr_request *request)
{
  unsigned level = request->region[4] == '1' ? 1 : 2;

  only->reads[level]++;
  if (table_of(request) == NULL) {
    only->not_found++;
    kr_fail(failure, KEYROUTE_E_REMOTE, "table r%llu not found",
            (unsigned long long)id_of_name(request->region));
    failure->kind = KEYROUTE_KIND_REFRESH;
  }
}

static struct fake_catalog *rows_of(const struct kr_request *request)
{
  return table_of(request)->rows;
}

struct range_world *range_world_new(void)
{
  struct range_world *range = calloc(1, sizeof(*range));

  ck_assert_ptr_nonnull(range);
  only = range;
  range->world = world_new();
  range->world->means.catalog = &kr_catalog_range;
  range->world->judge = judge;
  range->world->rows_of = rows_of;
  kr_buf_init(&range->root, range->world->mem);
  range_make_table(range, range_meta1.id, range_meta1.node);
  range_make_table(range, range_meta2.id, range_meta2.node);
  range_write_znode(range, &range_meta1);
  range_write_row(range, &range_meta1, &range_meta2);
  world_start(range->world);
  return range;
}

void range_world_free(struct range_world *range)
{
  kr_buf_clear(&range->root);
  while (range->table_count > 0) {
    range_drop_table(range, range->tables[0].id, range->tables[0].node);
  }
  world_free(range->world);
  free(range);
}

/* ---- Tables ---- */

void range_make_table(struct range_world *range, uint64_t id, unsigned node)
{
  ck_assert_uint_lt(range->table_count, RANGE_TABLES_MAX);
  ck_assert_ptr_null(find_table(range, id, node));
  range->tables[range->table_count++] =
      (struct range_table){.id = id, .node = node, .rows = fake_catalog_new()};
}

void range_drop_table(struct range_world *range, uint64_t id, unsigned node)
{
  struct range_table *table = find_table(range, id, node);

  ck_assert_ptr_nonnull(table);
  fake_catalog_free(table->rows);
  *table = range->tables[--range->table_count];
}

bool range_has_table(const struct range_world *range, uint64_t id, unsigned node)
{
  return find_table(range, id, node) != NULL;
}

/* A row's key is its level's byte, that of the table above, and the start key. */
static struct keyroute_bytes row_key(char *room, size_t size, const struct range *index,
                                     const char *start)
{
  int len = snprintf(room, size, "%c%s", index->id == range_meta1.id ? 1 : 2, start);

  return kr_bytes(room, (size_t)len);
}

/* The rows of an index table. */
static struct fake_catalog *rows_on(const struct range_world *range, const struct range *index)
{
  struct range_table *table = find_table(range, index->id, index->node);

  ck_assert_ptr_nonnull(table);
  return table->rows;
}

void range_copy_rows(struct range_world *range, const struct range *from, const struct range *to)
{
  struct fake_scan scan = {.start = keyroute_string(to->start),
                           .stop = keyroute_string(to->end),
                           .include_start = true,
                           .limit = RANGE_TABLES_MAX};
  const struct fake_row *rows[RANGE_TABLES_MAX];
  bool more;
  size_t count = fake_catalog_scan(rows_on(range, from), &scan, rows, &more);

  for (size_t i = 0; i < count; i++) {
    const struct fake_cell *cell = &rows[i]->cells[0];

    fake_catalog_put_cell(rows_on(range, to), kr_bytes(rows[i]->key, rows[i]->key_len),
                          cell->family, cell->qualifier, kr_bytes(cell->value, cell->value_len));
  }
}

/* ---- Writes ---- */

static void encode(struct kr_buf *out, const struct range *row)
{
  char host[16];
  struct kr_descriptor_replica replica = {.node_id = row->node, .port = 8086};
  struct kr_descriptor descriptor = {
      .id = row->id,
      .generation = row->generation,
      .start_key = keyroute_string(row->start),
      .end_key = keyroute_string(row->end),
      .replicas = &replica,
      .replica_count = 1,
  };

  snprintf(host, sizeof(host), "n%u", row->node);
  replica.host = keyroute_string(host);
  out->len = 0;
  kr_descriptor_write(out, &descriptor);
  ck_assert(!out->failed);
}

void range_write_row(struct range_world *range, const struct range *index, const struct range *row)
{
  char key[80];
  struct kr_buf value;

  kr_buf_init(&value, range->world->mem);
  encode(&value, row);
  fake_catalog_put_cell(rows_on(range, index), row_key(key, sizeof(key), index, row->start), "r",
                        "d", kr_buf_view(&value));
  kr_buf_clear(&value);
}

void range_delete_row(struct range_world *range, const struct range *index, const char *start)
{
  char key[80];

  fake_catalog_delete_row(rows_on(range, index), row_key(key, sizeof(key), index, start));
}

void range_write_znode(struct range_world *range, const struct range *meta1)
{
  encode(&range->root, meta1);
  range->world->root_value = kr_buf_view(&range->root);
}

void range_publish(struct range_world *range, const struct range *row)
{
  range_make_table(range, row->id, row->node);
  range_write_row(range, &range_meta2, row);
}

/* ---- Locations ---- */

uint64_t range_id(const struct keyroute_location *location)
{
  char name[40] = "";

  keyroute_location_encoded_name(location, 0, name, sizeof(name) - 1);
  return id_of_name(name);
}

unsigned range_node(const struct keyroute_location *location)
{
  return (unsigned)atoi(keyroute_location_host(location, 0) + 1);
}
