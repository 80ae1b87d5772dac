/*
 * How is a Bigtable node asked to change a row, or to make a table?
 *
 *  1. A cell replaces all versions of its column: the column is deleted in the same request, in
 *     front of it. So whoever reads without a limit of versions sees one, and a request that is
 *     sent twice leaves what it leaves when sent once.
 *  2. Timestamps are the node's (-1).
 *  3. A check compares the newest value alone. The column is picked by a range of one qualifier,
 *     the value by a range of one value: those are plain bytes, where the other filters are regular
 *     expressions.
 *
 * Encoded by hand (wire.c): a message is a few fields, and each is written once.
 *
 * Pure: any thread.
 * Source: google/bigtable/v2/bigtable.proto, data.proto; google/bigtable/admin/v2
 */
#include "lib/bigtable_write.h"

#include "lib/bytes.h"
#include "lib/wire.h"

#include <string.h>

/* Field numbers. */
enum {
  MUTATE_ROW = 2,
  MUTATE_MUTATIONS = 3,
  CHECK_ROW = 2,
  CHECK_TRUE = 4,
  CHECK_FALSE = 5,
  CHECK_FILTER = 6,
  CHECKED_MATCHED = 1,
  MUTATION_SET_CELL = 1,
  MUTATION_DELETE_COLUMN = 2,
  MUTATION_DELETE_ROW = 4,
  CELL_FAMILY = 1,
  CELL_QUALIFIER = 2,
  CELL_TIMESTAMP = 3,
  CELL_VALUE = 4,
  FILTER_CHAIN = 1,
  FILTER_COLUMNS = 7,
  FILTER_VERSIONS = 12,
  FILTER_VALUES = 15,
  CHAIN_FILTERS = 1,
  COLUMNS_FAMILY = 1,
  COLUMNS_START = 2,
  COLUMNS_END = 4,
  VALUES_START = 1,
  VALUES_END = 3,
  CREATE_ID = 2,
  CREATE_TABLE = 3,
  TABLE_FAMILIES = 3,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2
};

/* ---- Mutations ------------------------------------------------------------------------------- */

static void put_set_cell(struct kr_buf *out, unsigned field, const struct kr_cell *cell)
{
  struct kr_buf set, mutation;

  kr_buf_init(&set, out->mem);
  kr_buf_init(&mutation, out->mem);
  kr_wire_put_bytes(&set, CELL_FAMILY, cell->family);
  kr_wire_put_bytes(&set, CELL_QUALIFIER, cell->qualifier);
  kr_wire_put_number(&set, CELL_TIMESTAMP, UINT64_MAX);
  kr_wire_put_bytes(&set, CELL_VALUE, cell->value);
  kr_wire_put_message(&mutation, MUTATION_SET_CELL, &set);
  kr_wire_put_message(out, field, &mutation);
}

static void put_delete_column(struct kr_buf *out, unsigned field, const struct kr_cell *cell)
{
  struct kr_buf column, mutation;

  kr_buf_init(&column, out->mem);
  kr_buf_init(&mutation, out->mem);
  kr_wire_put_bytes(&column, CELL_FAMILY, cell->family);
  kr_wire_put_bytes(&column, CELL_QUALIFIER, cell->qualifier);
  kr_wire_put_message(&mutation, MUTATION_DELETE_COLUMN, &column);
  kr_wire_put_message(out, field, &mutation);
}

static void put_delete_row(struct kr_buf *out, unsigned field)
{
  struct kr_buf mutation;

  kr_buf_init(&mutation, out->mem);
  kr_wire_put_bytes(&mutation, MUTATION_DELETE_ROW, kr_bytes(NULL, 0));
  kr_wire_put_message(out, field, &mutation);
}

static void put_change(struct kr_buf *out, unsigned field, const struct kr_bigtable_change *change)
{
  for (size_t i = 0; i < change->cell_count; i++) {
    put_delete_column(out, field, &change->cells[i]);
    put_set_cell(out, field, &change->cells[i]);
  }
  if (change->cell_count == 0) {
    put_delete_row(out, field);
  }
}

void kr_bigtable_write_mutate(struct kr_buf *out, const struct kr_bigtable_change *change)
{
  kr_wire_put_bytes(out, MUTATE_ROW, change->row);
  put_change(out, MUTATE_MUTATIONS, change);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* One filter behind the others of a chain. */
static void chain_message(struct kr_buf *chain, unsigned field, struct kr_buf *message)
{
  struct kr_buf filter;

  kr_buf_init(&filter, chain->mem);
  kr_wire_put_message(&filter, field, message);
  kr_wire_put_message(chain, CHAIN_FILTERS, &filter);
}

static void chain_column(struct kr_buf *chain, struct keyroute_bytes family,
                         struct keyroute_bytes qualifier)
{
  struct kr_buf range;

  kr_buf_init(&range, chain->mem);
  kr_wire_put_bytes(&range, COLUMNS_FAMILY, family);
  kr_wire_put_bytes(&range, COLUMNS_START, qualifier);
  kr_wire_put_bytes(&range, COLUMNS_END, qualifier);
  chain_message(chain, FILTER_COLUMNS, &range);
}

static void chain_newest(struct kr_buf *chain)
{
  struct kr_buf filter;

  kr_buf_init(&filter, chain->mem);
  kr_wire_put_number(&filter, FILTER_VERSIONS, 1);
  kr_wire_put_message(chain, CHAIN_FILTERS, &filter);
}

static void chain_value(struct kr_buf *chain, struct keyroute_bytes value)
{
  struct kr_buf range;

  kr_buf_init(&range, chain->mem);
  kr_wire_put_bytes(&range, VALUES_START, value);
  kr_wire_put_bytes(&range, VALUES_END, value);
  chain_message(chain, FILTER_VALUES, &range);
}

void kr_bigtable_write_check(struct kr_buf *out, const struct kr_bigtable_change *change,
                             const char *family, const char *qualifier,
                             const struct keyroute_bytes *value)
{
  struct kr_buf chain, filter;

  kr_buf_init(&chain, out->mem);
  kr_buf_init(&filter, out->mem);
  chain_column(&chain, keyroute_string(family), keyroute_string(qualifier));
  chain_newest(&chain);
  if (value != NULL) {
    chain_value(&chain, *value);
  }
  kr_wire_put_message(&filter, FILTER_CHAIN, &chain);
  kr_wire_put_bytes(out, CHECK_ROW, change->row);
  kr_wire_put_message(out, CHECK_FILTER, &filter);
  put_change(out, value != NULL ? CHECK_TRUE : CHECK_FALSE, change);
}

bool kr_bigtable_read_check(bool *made, struct keyroute_bytes message, bool absent)
{
  struct kr_reader reader = kr_reader(message);
  bool matched = false;

  while (kr_reader_left(&reader) > 0 && !reader.bad) {
    struct kr_wire_field field = kr_wire_read(&reader);

    if (field.tag >> 3 == CHECKED_MATCHED) {
      reader.bad = reader.bad || field.tag != KR_WIRE_NUMBER(CHECKED_MATCHED);
      matched = field.number != 0;
    }
  }
  if (reader.bad) {
    return false;
  }
  *made = matched != absent;
  return true;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

void kr_bigtable_write_create(struct kr_buf *out, const char *table_id, const char *const *families,
                              size_t count)
{
  struct kr_buf table;

  kr_buf_init(&table, out->mem);
  for (size_t i = 0; i < count; i++) {
    struct kr_buf entry;

    kr_buf_init(&entry, out->mem);
    kr_wire_put_bytes(&entry, ENTRY_KEY, keyroute_string(families[i]));
    kr_wire_put_bytes(&entry, ENTRY_VALUE, kr_bytes(NULL, 0));
    kr_wire_put_message(&table, TABLE_FAMILIES, &entry);
  }
  kr_wire_put_bytes(out, CREATE_ID, keyroute_string(table_id));
  kr_wire_put_message(out, CREATE_TABLE, &table);
}
