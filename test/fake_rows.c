/*
 * The rows of the scripted region servers.
 *
 * Each table is a sorted array of rows, each row a sorted array of cells. Rows that are generated
 * stand nowhere: a hundred thousand of them cost nothing until one is read.
 *
 * Source: HBase CellComparatorImpl (order of cells), Get, client TimeRange
 */
#include "test/fake_rows.h"

#include "test/must.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { GENERATED_DIGITS = 6, PUT = 4 };

struct row {
  struct keyroute_bytes key;
  struct fake_key_value *cells; /* their bytes are ours; `row` is not set */
  size_t count;
};

struct table {
  struct table *next;
  char *name;
  char **families;
  size_t family_count;
  struct row *rows;
  size_t count, cap;
  char *prefix; /* NULL = no rows are generated */
  size_t generated, value_len;
};

struct fake_rows {
  pthread_mutex_t lock; /* over all below */
  unsigned refs;
  struct table *tables;
};

/* ---- Lifetime ------------------------------------------------------------------------------- */

static void free_bytes(struct keyroute_bytes bytes)
{
  free((void *)(uintptr_t)bytes.data);
}

static void clear_cell(struct fake_key_value *cell)
{
  free_bytes(cell->family);
  free_bytes(cell->qualifier);
  free_bytes(cell->value);
  free_bytes(cell->tags);
}

static void clear_cells(struct row *row)
{
  for (size_t i = 0; i < row->count; i++) {
    clear_cell(&row->cells[i]);
  }
  free(row->cells);
  row->cells = NULL;
  row->count = 0;
}

static void free_table(struct table *table)
{
  for (size_t i = 0; i < table->count; i++) {
    clear_cells(&table->rows[i]);
    free_bytes(table->rows[i].key);
  }
  for (size_t i = 0; i < table->family_count; i++) {
    free(table->families[i]);
  }
  free(table->rows);
  free(table->families);
  free(table->prefix);
  free(table->name);
  free(table);
}

struct fake_rows *fake_rows_new(void)
{
  struct fake_rows *rows = must(calloc(1, sizeof(*rows)));

  pthread_mutex_init(&rows->lock, NULL);
  rows->refs = 1;
  return rows;
}

struct fake_rows *fake_rows_ref(struct fake_rows *rows)
{
  pthread_mutex_lock(&rows->lock);
  rows->refs++;
  pthread_mutex_unlock(&rows->lock);
  return rows;
}

void fake_rows_release(struct fake_rows *rows)
{
  if (rows == NULL) {
    return;
  }
  pthread_mutex_lock(&rows->lock);
  bool last = --rows->refs == 0;

  pthread_mutex_unlock(&rows->lock);
  if (!last) {
    return;
  }
  while (rows->tables != NULL) {
    struct table *table = rows->tables;

    rows->tables = table->next;
    free_table(table);
  }
  pthread_mutex_destroy(&rows->lock);
  free(rows);
}

/* ---- Tables, rows and cells ----------------------------------------------------------------- */

static struct table *find_table(const struct fake_rows *rows, const char *name)
{
  struct table *table = rows->tables;

  while (table != NULL && strcmp(table->name, name) != 0) {
    table = table->next;
  }
  return table;
}

static struct table *get_table(struct fake_rows *rows, const char *name)
{
  struct table *table = find_table(rows, name);

  if (table == NULL) {
    table = must(calloc(1, sizeof(*table)));
    table->name = must(strdup(name));
    table->next = rows->tables;
    rows->tables = table;
  }
  return table;
}

static bool has_family(const struct table *table, struct keyroute_bytes family)
{
  for (size_t i = 0; i < table->family_count; i++) {
    if (fake_bytes_equal(keyroute_string(table->families[i]), family)) {
      return true;
    }
  }
  return false;
}

static void add_family(struct table *table, struct keyroute_bytes family)
{
  if (!has_family(table, family)) {
    table->families =
        must(realloc(table->families, (table->family_count + 1) * sizeof(*table->families)));
    table->families[table->family_count++] = (char *)(uintptr_t)fake_bytes_copy(family).data;
  }
}

/* The index of the first row not below the key. */
static size_t lower_row(const struct table *table, struct keyroute_bytes key)
{
  size_t low = 0, high = table->count;

  while (low < high) {
    size_t middle = (low + high) / 2;

    if (fake_bytes_compare(table->rows[middle].key, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static struct row *find_row(const struct table *table, struct keyroute_bytes key)
{
  size_t index = lower_row(table, key);

  return index < table->count && fake_bytes_equal(table->rows[index].key, key) ? &table->rows[index]
                                                                               : NULL;
}

static struct row *get_row(struct table *table, struct keyroute_bytes key)
{
  size_t index = lower_row(table, key);

  if (index == table->count || !fake_bytes_equal(table->rows[index].key, key)) {
    if (table->count == table->cap) {
      table->cap = table->cap > 0 ? 2 * table->cap : 16;
      table->rows = must(realloc(table->rows, table->cap * sizeof(*table->rows)));
    }
    memmove(&table->rows[index + 1], &table->rows[index],
            (table->count - index) * sizeof(*table->rows));
    table->count++;
    table->rows[index] = (struct row){.key = fake_bytes_copy(key)};
  }
  return &table->rows[index];
}

static int compare_column(const struct fake_key_value *a, const struct fake_key_value *b)
{
  int order = fake_bytes_compare(a->family, b->family);

  return order != 0 ? order : fake_bytes_compare(a->qualifier, b->qualifier);
}

/* By family and qualifier; the newest version first. */
static int compare_cell(const struct fake_key_value *a, const struct fake_key_value *b)
{
  int order = compare_column(a, b);

  return order != 0 ? order : (a->timestamp < b->timestamp) - (a->timestamp > b->timestamp);
}

static void put_cell(struct row *row, const struct fake_key_value *cell)
{
  size_t index = 0;

  while (index < row->count && compare_cell(&row->cells[index], cell) < 0) {
    index++;
  }
  if (index < row->count && compare_cell(&row->cells[index], cell) == 0) {
    clear_cell(&row->cells[index]);
  } else {
    row->cells = must(realloc(row->cells, (row->count + 1) * sizeof(*row->cells)));
    memmove(&row->cells[index + 1], &row->cells[index], (row->count - index) * sizeof(*row->cells));
    row->count++;
  }
  row->cells[index] = (struct fake_key_value){
      .family = fake_bytes_copy(cell->family),
      .qualifier = fake_bytes_copy(cell->qualifier),
      .value = fake_bytes_copy(cell->value),
      .tags = fake_bytes_copy(cell->tags),
      .timestamp = cell->timestamp,
      .type = cell->type,
  };
}

void fake_rows_put_cell(struct fake_rows *rows, const char *name, const struct fake_key_value *cell)
{
  pthread_mutex_lock(&rows->lock);
  struct table *table = get_table(rows, name);

  add_family(table, cell->family);
  put_cell(get_row(table, cell->row), cell);
  pthread_mutex_unlock(&rows->lock);
}

void fake_rows_put(struct fake_rows *rows, const char *table, struct keyroute_bytes row,
                   const char *family, const char *qualifier, int64_t timestamp,
                   struct keyroute_bytes value)
{
  struct fake_key_value cell = {
      .row = row,
      .family = keyroute_string(family),
      .qualifier = keyroute_string(qualifier),
      .value = value,
      .timestamp = timestamp,
      .type = PUT,
  };

  fake_rows_put_cell(rows, table, &cell);
}

void fake_rows_delete(struct fake_rows *rows, const char *name, struct keyroute_bytes key,
                      const char *family, const char *qualifier)
{
  struct fake_key_value column = {.family = keyroute_string(family),
                                  .qualifier = keyroute_string(qualifier)};

  pthread_mutex_lock(&rows->lock);
  struct table *table = find_table(rows, name);
  struct row *row = table != NULL ? find_row(table, key) : NULL;
  size_t kept = 0;

  for (size_t i = 0; row != NULL && i < row->count; i++) {
    if (compare_column(&row->cells[i], &column) == 0) {
      clear_cell(&row->cells[i]);
    } else {
      row->cells[kept++] = row->cells[i];
    }
  }
  if (row != NULL) {
    row->count = kept;
  }
  pthread_mutex_unlock(&rows->lock);
}

/* The empty row stays, and hides the one that would be generated. */
void fake_rows_delete_row(struct fake_rows *rows, const char *name, struct keyroute_bytes key)
{
  pthread_mutex_lock(&rows->lock);
  clear_cells(get_row(get_table(rows, name), key));
  pthread_mutex_unlock(&rows->lock);
}

void fake_rows_add_family(struct fake_rows *rows, const char *table, const char *family)
{
  pthread_mutex_lock(&rows->lock);
  add_family(get_table(rows, table), keyroute_string(family));
  pthread_mutex_unlock(&rows->lock);
}

void fake_rows_generate(struct fake_rows *rows, const char *name, const char *prefix, size_t count,
                        size_t value_len)
{
  pthread_mutex_lock(&rows->lock);
  struct table *table = get_table(rows, name);

  add_family(table, keyroute_string("f"));
  free(table->prefix);
  table->prefix = must(strdup(prefix));
  table->generated = count;
  table->value_len = value_len;
  pthread_mutex_unlock(&rows->lock);
}

/* ---- Rows that are made when read ----------------------------------------------------------- */

static bool is_generated(const struct table *table, struct keyroute_bytes key)
{
  size_t prefix_len = table->prefix != NULL ? strlen(table->prefix) : 0;
  size_t number = 0;

  if (table->prefix == NULL || key.len != prefix_len + GENERATED_DIGITS ||
      memcmp(key.data, table->prefix, prefix_len) != 0) {
    return false;
  }
  const char *digits = (const char *)key.data + prefix_len;

  for (size_t i = 0; i < GENERATED_DIGITS; i++) {
    if (digits[i] < '0' || digits[i] > '9') {
      return false;
    }
    number = 10 * number + (size_t)(digits[i] - '0');
  }
  return number < table->generated;
}

static struct row generated_row(const struct table *table, struct keyroute_bytes key)
{
  size_t len = table->value_len > 0 ? table->value_len : key.len;
  uint8_t *value = must(malloc(len));
  struct row row = {.key = key};

  for (size_t i = 0; i < len; i++) {
    value[i] = ((const uint8_t *)key.data)[i % key.len];
  }
  struct fake_key_value cell = {
      .family = keyroute_string("f"),
      .qualifier = keyroute_string("q"),
      .value = {value, len},
      .timestamp = 1,
      .type = PUT,
  };

  put_cell(&row, &cell);
  free(value);
  return row;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool names_qualifier(const Kr__Pb__Column *column, struct keyroute_bytes qualifier)
{
  for (size_t i = 0; i < column->n_qualifier; i++) {
    if (fake_bytes_equal(fake_bytes(column->qualifier[i]), qualifier)) {
      return true;
    }
  }
  return column->n_qualifier == 0;
}

static bool names_column(const Kr__Pb__Get *get, const struct fake_key_value *cell)
{
  for (size_t i = 0; i < get->n_column; i++) {
    if (fake_bytes_equal(fake_bytes(get->column[i]->family), cell->family) &&
        names_qualifier(get->column[i], cell->qualifier)) {
      return true;
    }
  }
  return get->n_column == 0;
}

static bool in_time(const Kr__Pb__Get *get, int64_t timestamp)
{
  const Kr__Pb__TimeRange *range = get->time_range;

  return range == NULL || ((!range->has_from || timestamp >= (int64_t)range->from) &&
                           (!range->has_to || timestamp < (int64_t)range->to));
}

/* The cells wanted, as views into the row. Returns how many; list has room for all. */
static size_t select_cells(const struct row *row, const Kr__Pb__Get *get,
                           const struct fake_key_value **list)
{
  size_t count = 0, versions = 0;

  for (size_t i = 0; i < row->count; i++) {
    const struct fake_key_value *cell = &row->cells[i];

    if (i > 0 && compare_column(&row->cells[i - 1], cell) != 0) {
      versions = 0;
    }
    if (names_column(get, cell) && in_time(get, cell->timestamp) && versions < get->max_versions) {
      versions++;
      list[count++] = cell;
    }
  }
  return count;
}

static struct keyroute_bytes copy_to(uint8_t **at, struct keyroute_bytes from)
{
  struct keyroute_bytes copy = {*at, from.len};

  if (from.len > 0) {
    memcpy(*at, from.data, from.len);
  }
  *at += from.len;
  return copy;
}

/* Copy cells and their bytes into one allocation, so that they outlive the lock. */
static struct fake_key_value *copy_cells(struct keyroute_bytes row,
                                         const struct fake_key_value *const *list, size_t count)
{
  size_t size = row.len + (count + 1) * sizeof(struct fake_key_value);

  for (size_t i = 0; i < count; i++) {
    size += list[i]->family.len + list[i]->qualifier.len + list[i]->value.len + list[i]->tags.len;
  }
  struct fake_key_value *cells = must(malloc(size));
  uint8_t *at = (uint8_t *)(cells + count + 1);
  struct keyroute_bytes key = copy_to(&at, row);

  for (size_t i = 0; i < count; i++) {
    cells[i] = *list[i];
    cells[i].row = key;
    cells[i].family = copy_to(&at, list[i]->family);
    cells[i].qualifier = copy_to(&at, list[i]->qualifier);
    cells[i].value = copy_to(&at, list[i]->value);
    cells[i].tags = copy_to(&at, list[i]->tags);
  }
  return cells;
}

static void read_row(struct fake_result *out, const struct row *row, const Kr__Pb__Get *get)
{
  const struct fake_key_value **list = must(calloc(row->count + 1, sizeof(*list)));
  size_t count = select_cells(row, get, list);

  out->existence_only = get->existence_only;
  out->exists = count > 0;
  out->count = get->existence_only ? 0 : count;
  out->cells = copy_cells(row->key, list, out->count);
  free(list);
}

/* The first column of a family that the table does not have, or NULL. */
static const Kr__Pb__Column *strange_column(const struct table *table, const Kr__Pb__Get *get)
{
  for (size_t i = 0; table != NULL && table->family_count > 0 && i < get->n_column; i++) {
    if (!has_family(table, fake_bytes(get->column[i]->family))) {
      return get->column[i];
    }
  }
  return NULL;
}

static void get_locked(struct fake_result *out, const struct table *table, const Kr__Pb__Get *get)
{
  struct keyroute_bytes key = fake_bytes(get->row);
  const struct row *row = table != NULL ? find_row(table, key) : NULL;
  struct row made = {.key = key};

  if (row == NULL && table != NULL && is_generated(table, key)) {
    made = generated_row(table, key);
  }
  read_row(out, row != NULL ? row : &made, get);
  clear_cells(&made);
}

bool fake_rows_get(struct fake_result *out, struct fake_rows *rows, const char *name,
                   const Kr__Pb__Get *get, char family[64])
{
  pthread_mutex_lock(&rows->lock);
  const struct table *table = find_table(rows, name);
  const Kr__Pb__Column *strange = strange_column(table, get);

  *out = (struct fake_result){0};
  if (strange != NULL) {
    snprintf(family, 64, "%.*s", (int)strange->family.len, (const char *)strange->family.data);
  } else {
    get_locked(out, table, get);
  }
  pthread_mutex_unlock(&rows->lock);
  return strange == NULL;
}
