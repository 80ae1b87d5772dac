/*
 * Many rows at once: checked, and put into the order in which regions hold them.
 *
 * Everything that is done with many rows is done with runs of them that lie side by side: one
 * lookup finds the region of thousands. So they are sorted once, by table and by row, in the thread
 * of whoever asks: the loop does not stand still for it.
 *
 *  1. Keys stay where they are and as they were given. The order is an array of their indexes, of 4
 *     bytes a row, while it is made 8. Rows that are equal stay in the order of their indexes.
 *  2. A table's name is checked where it first occurs in a run of keys that point to it: callers
 *     have one string for thousands of rows.
 *  3. The sort is a merge that looks first whether there is something to be merged: rows that come
 *     sorted, as they often do, cost one comparison each.
 *  4. A copy is one piece of memory: the array, then the bytes of the rows.
 *
 * Threads: any, one at a time.
 */
#include "lib/keys.h"

#include "lib/bytes.h"
#include "lib/call.h"
#include "lib/read.h"

#include <string.h>

/* Room for a printed name or row in a message. */
enum { KEY_TEXT = 160 };

struct keyroute_bytes kr_keys_row(const struct kr_keys *keys, uint32_t position)
{
  return keys->keys[keys->order[position]].row;
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* Say which key it is that a detail speaks of. Returns its error. */
static int blame(struct keyroute_detail *detail, const struct keyroute_key *key, size_t index,
                 const struct keyroute_detail *why)
{
  char table[KEY_TEXT], row[KEY_TEXT];
  struct keyroute_bytes name = keyroute_string(key->table != NULL ? key->table : "");
  struct keyroute_bytes bytes = key->row.data != NULL ? key->row : keyroute_string("");

  return kr_detail_fail(detail, why->error, "key %zu, table %s, row %s: %.300s", index,
                        kr_bytes_print(table, sizeof(table), name),
                        kr_bytes_print(row, sizeof(row), bytes), why->message);
}

/* ---- Tables --------------------------------------------------------------------------------- */

/* A table's name while the keys are counted. */
struct name {
  UT_hash_handle hh;
  const char *given; /* the last string that it was seen as */
  uint32_t number;
  uint32_t count;
  struct keyroute_bytes bytes; /* canonical, a view into a key's string */
};

struct names {
  struct kr_mem *mem;
  kr_table_name_checker checker;
  struct name *by_name;
  struct name *last; /* of the key before */
};

static void free_names(struct names *names)
{
  struct kr_mem *mem = names->mem;
  struct name *name, *next;

  HASH_ITER (hh, names->by_name, name, next) {
    HASH_DEL(names->by_name, name);
    kr_free(mem, name);
  }
}

/* NULL = out of memory. */
static struct name *add_name(struct names *names, struct keyroute_bytes bytes)
{
  struct kr_mem *mem = names->mem;
  struct name *name = kr_calloc(mem, sizeof(*name));
  bool hash_failed = false;

  if (name == NULL) {
    return NULL;
  }
  name->bytes = bytes;
  name->number = HASH_COUNT(names->by_name);
  HASH_ADD_KEYPTR(hh, names->by_name, name->bytes.data, (unsigned)name->bytes.len, name);
  if (hash_failed) {
    kr_free(mem, name);
    return NULL;
  }
  return name;
}

/* Find out a key's table. Errors: INVALID_ARGUMENT, NO_MEMORY. */
static int name_table(struct names *names, const char *given, struct keyroute_detail *detail)
{
  struct keyroute_bytes bytes;
  struct name *name;

  if (names->last != NULL && names->last->given == given) {
    return 0;
  }
  int error = kr_call_check_table(&bytes, names->checker, given, detail);

  if (error != 0) {
    return error;
  }
  HASH_FIND(hh, names->by_name, bytes.data, (unsigned)bytes.len, name);
  if (name == NULL && (name = add_name(names, bytes)) == NULL) {
    return kr_fail_no_memory(detail);
  }
  name->given = given;
  names->last = name;
  return 0;
}

/* Check all keys, and number their tables. */
static int check_keys(const struct kr_keys *keys, bool reads, struct names *names,
                      uint32_t *table_of, struct keyroute_detail *detail)
{
  struct keyroute_detail why = KEYROUTE_DETAIL_INIT;

  for (uint32_t i = 0; i < keys->count; i++) {
    const struct keyroute_key *key = &keys->keys[i];
    int error = name_table(names, key->table, &why);

    if (error == 0) {
      error = reads ? kr_read_check_row(key->row, &why)
                    : kr_call_check_bytes(key->row, "the row", &why);
    }
    if (error != 0) {
      return error == KEYROUTE_E_NO_MEMORY ? kr_fail_no_memory(detail)
                                           : blame(detail, key, i, &why);
    }
    table_of[i] = names->last->number;
    names->last->count++;
  }
  return 0;
}

/* Get the tables, each with room for its rows. False = out of memory. */
static bool get_tables(struct kr_keys *keys, struct kr_cache *cache, const struct names *names)
{
  uint32_t from = 0;

  keys->tables = kr_calloc(keys->mem, HASH_COUNT(names->by_name) * sizeof(keys->tables[0]));
  if (keys->tables == NULL) {
    return false;
  }
  /* uthash keeps the order in which they were added: that of their numbers. */
  for (const struct name *name = names->by_name; name != NULL; name = name->hh.next) {
    struct kr_keys_table *table = &keys->tables[name->number];

    table->table = kr_cache_table(cache, name->bytes);
    if (table->table == NULL) {
      return false;
    }
    keys->table_count++;
    table->from = table->to = from;
    from += name->count;
  }
  return true;
}

/* ---- Sorting -------------------------------------------------------------------------------- */

static int compare(const struct kr_keys *keys, uint32_t a, uint32_t b)
{
  return kr_bytes_compare(keys->keys[a].row, keys->keys[b].row);
}

/* Sort count indexes by their rows; room for half of them. */
static void sort(const struct kr_keys *keys, uint32_t *order, uint32_t count, uint32_t *room)
{
  uint32_t half = count / 2, left = 0, right = half;

  if (count < 2) {
    return;
  }
  sort(keys, order, half, room);
  sort(keys, order + half, count - half, room);
  if (compare(keys, order[half - 1], order[half]) <= 0) {
    return;
  }
  memcpy(room, order, half * sizeof(*order));
  for (uint32_t to = 0; left < half; to++) {
    bool take_left = right == count || compare(keys, room[left], order[right]) <= 0;

    order[to] = take_left ? room[left++] : order[right++];
  }
}

/* Put the indexes into their tables' places, then each table's in order. table_of is room later. */
static void put_in_order(struct kr_keys *keys, uint32_t *table_of)
{
  for (uint32_t i = 0; i < keys->count; i++) {
    keys->order[keys->tables[table_of[i]].to++] = i;
  }
  for (uint32_t i = 0; i < keys->table_count; i++) {
    const struct kr_keys_table *table = &keys->tables[i];

    sort(keys, keys->order + table->from, table->to - table->from, table_of);
  }
}

/* ---- The whole ------------------------------------------------------------------------------ */

/* False = out of memory. */
static bool copy_keys(struct kr_keys *keys)
{
  size_t size = keys->count * sizeof(keys->copy[0]);

  for (uint32_t i = 0; i < keys->count; i++) {
    size += keys->keys[i].row.len;
  }
  keys->copy = kr_alloc(keys->mem, size);
  if (keys->copy == NULL) {
    return false;
  }
  uint8_t *to = (uint8_t *)(keys->copy + keys->count);

  for (uint32_t i = 0; i < keys->count; i++) {
    struct keyroute_bytes row = keys->keys[i].row;

    keys->copy[i] = (struct keyroute_key){NULL, kr_bytes(to, row.len)};
    if (row.len > 0) {
      memcpy(to, row.data, row.len);
      to += row.len;
    }
  }
  keys->keys = keys->copy;
  return true;
}

static int fill(struct kr_keys *keys, const struct keyroute_connection *conn, bool reads, bool copy,
                uint32_t *table_of, struct keyroute_detail *detail)
{
  struct names names = {.mem = keys->mem, .checker = conn->check_table};
  int error = check_keys(keys, reads, &names, table_of, detail);

  if (error == 0 && (!get_tables(keys, conn->cache, &names) || (copy && !copy_keys(keys)))) {
    error = kr_fail_no_memory(detail);
  }
  free_names(&names);
  if (error == 0) {
    put_in_order(keys, table_of);
  }
  return error;
}

int kr_keys_new(struct kr_keys *out, const struct keyroute_connection *conn,
                const struct keyroute_key *keys, size_t count, bool reads, bool copy,
                struct keyroute_detail *detail)
{
  struct kr_mem *mem = conn->mem;
  int error;

  *out = (struct kr_keys){.mem = mem, .keys = keys};
  if (keys == NULL && count > 0) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "%zu keys, but no array of them",
                          count);
  }
  if (count > UINT32_MAX) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "%zu keys are too many", count);
  }
  out->count = (uint32_t)count;
  out->order = kr_alloc(mem, count * sizeof(out->order[0]));
  uint32_t *table_of = kr_alloc(mem, count * sizeof(table_of[0]));

  error = out->order != NULL && table_of != NULL ? fill(out, conn, reads, copy, table_of, detail)
                                                 : kr_fail_no_memory(detail);
  kr_free(mem, table_of);
  if (error != 0) {
    kr_keys_clear(out);
  }
  return error;
}

void kr_keys_clear(struct kr_keys *keys)
{
  if (keys->mem == NULL) {
    return;
  }
  for (uint32_t i = 0; i < keys->table_count; i++) {
    kr_table_release(keys->tables[i].table);
  }
  kr_free(keys->mem, keys->tables);
  kr_free(keys->mem, keys->order);
  kr_free(keys->mem, keys->copy);
  *keys = (struct kr_keys){0};
}
