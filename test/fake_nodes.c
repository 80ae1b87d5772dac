/*
 * A publisher's means in arrays. Requests are decoded here by themselves: what bigtable_write.c
 * writes is read by other code.
 */
#include "test/fake_nodes.h"

#include "lib/bigtable_write.h"
#include "lib/bytes.h"
#include "test/must.h"
#include "test/read_fields.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

const struct kr_descriptor_replica fake_places[FAKE_NODES] = {
    {1, {"one", 3}, 1001}, {2, {"two", 3}, 1002}, {3, {"three", 5}, 1003}, {4, {"four", 4}, 1004}};

static int node_of(const struct kr_descriptor_replica *place)
{
  for (int i = 0; i < FAKE_NODES; i++) {
    if (kr_same_place(&fake_places[i], place)) {
      return i;
    }
  }
  ck_abort_msg("no such node");
}

/* ---- Tables ---------------------------------------------------------------------------------- */

struct fake_table *fake_nodes_table(struct fake_nodes *nodes, uint64_t id,
                                    const struct kr_descriptor_replica *node)
{
  for (size_t i = 0; i < nodes->table_count; i++) {
    if (nodes->tables[i].id == id && nodes->tables[i].node == node_of(node)) {
      return &nodes->tables[i];
    }
  }
  return NULL;
}

struct fake_table *fake_nodes_make(struct fake_nodes *nodes, uint64_t id,
                                   const struct kr_descriptor_replica *node)
{
  struct fake_table *table = &nodes->tables[nodes->table_count++];

  must_work(nodes->table_count <= 64);
  *table = (struct fake_table){.id = id, .node = node_of(node)};
  return table;
}

void fake_nodes_drop(struct fake_nodes *nodes, uint64_t id,
                     const struct kr_descriptor_replica *node)
{
  struct fake_table *table = fake_nodes_table(nodes, id, node);

  if (table != NULL) {
    free(table->rows);
    *table = nodes->tables[--nodes->table_count];
  }
}

static struct keyroute_bytes key_of(const struct fake_row *row)
{
  return kr_bytes(row->key, row->len);
}

static struct fake_row *find_row(struct fake_table *table, struct keyroute_bytes key)
{
  for (size_t i = 0; i < table->count; i++) {
    if (kr_bytes_equal(key_of(&table->rows[i]), key)) {
      return &table->rows[i];
    }
  }
  return NULL;
}

static struct fake_row *make_row(struct fake_table *table, struct keyroute_bytes key)
{
  struct fake_row *row = find_row(table, key);
  size_t at = 0;

  if (row != NULL) {
    return row;
  }
  table->rows = must(realloc(table->rows, (table->count + 1) * sizeof(*table->rows)));
  while (at < table->count && kr_bytes_compare(key_of(&table->rows[at]), key) < 0) {
    at++;
  }
  memmove(&table->rows[at + 1], &table->rows[at], (table->count - at) * sizeof(*table->rows));
  table->count++;
  table->rows[at] = (struct fake_row){.len = key.len};
  must_work(key.len <= sizeof(table->rows[at].key));
  memcpy(table->rows[at].key, key.data, key.len);
  return &table->rows[at];
}

static void remove_row(struct fake_table *table, struct keyroute_bytes key)
{
  struct fake_row *row = find_row(table, key);

  if (row != NULL) {
    size_t at = (size_t)(row - table->rows);

    table->count--;
    memmove(row, row + 1, (table->count - at) * sizeof(*row));
  }
}

const struct fake_cell *fake_row_cell(const struct fake_row *row, const char *qualifier)
{
  for (size_t i = 0; row != NULL && i < row->count; i++) {
    if (strcmp(row->cells[i].qualifier, qualifier) == 0) {
      return &row->cells[i];
    }
  }
  return NULL;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void copy_text(char *out, size_t size, struct keyroute_bytes text)
{
  must_work(text.len < size);
  memcpy(out, text.data, text.len);
  out[text.len] = '\0';
}

static void delete_cell(struct fake_row *row, const char *qualifier)
{
  for (size_t i = 0; i < row->count; i++) {
    if (strcmp(row->cells[i].qualifier, qualifier) == 0) {
      row->cells[i] = row->cells[--row->count];
    }
  }
}

static void mutate(struct fake_table *table, struct keyroute_bytes key,
                   struct keyroute_bytes mutation)
{
  struct kr_reader reader = kr_reader(mutation);
  struct keyroute_bytes body;
  uint64_t kind;
  char qualifier[16];

  must_work(read_field(&reader, &kind, &body));
  if (kind == 4) {
    remove_row(table, key);
    return;
  }
  struct fake_row *row = make_row(table, key);

  must_work(kr_bytes_equal(find_field(body, 1), keyroute_string("r")));
  copy_text(qualifier, sizeof(qualifier), find_field(body, 2));
  delete_cell(row, qualifier);
  if (kind == 1) {
    struct fake_cell *cell = &row->cells[row->count++];
    struct keyroute_bytes value = find_field(body, 4);

    must_work(row->count <= 6 && value.len <= sizeof(cell->value));
    memcpy(cell->qualifier, qualifier, sizeof(qualifier));
    memcpy(cell->value, value.data, value.len);
    cell->len = value.len;
  }
}

static void mutate_all(struct fake_table *table, struct keyroute_bytes param, uint64_t wanted)
{
  struct kr_reader reader = kr_reader(param);
  struct keyroute_bytes key = find_field(param, 2), value;
  uint64_t number;

  while (read_field(&reader, &number, &value)) {
    if (number == wanted) {
      mutate(table, key, value);
    }
  }
}

/* Does a row pass a chain of column range, one version and, perhaps, one value? */
static bool passes(const struct fake_row *row, struct keyroute_bytes chain)
{
  struct kr_reader reader = kr_reader(chain);
  const struct fake_cell *cell = NULL;
  struct keyroute_bytes filter, body;
  uint64_t number;

  while (read_field(&reader, &number, &filter)) {
    if ((body = find_field(filter, 7)).len > 0) {
      char qualifier[16];

      must_work(kr_bytes_equal(find_field(body, 2), find_field(body, 4)));
      copy_text(qualifier, sizeof(qualifier), find_field(body, 2));
      cell = fake_row_cell(row, qualifier);
    } else if ((body = find_field(filter, 15)).len > 0) {
      must_work(kr_bytes_equal(find_field(body, 1), find_field(body, 3)));
      if (cell != NULL && !kr_bytes_equal(kr_bytes(cell->value, cell->len), find_field(body, 1))) {
        return false;
      }
    }
  }
  return cell != NULL;
}

static void check_and_mutate(struct fake_table *table, struct keyroute_bytes param,
                             struct kr_buf *reply)
{
  bool matched = passes(find_row(table, find_field(param, 2)), find_field(find_field(param, 6), 1));

  mutate_all(table, param, matched ? 4 : 5);
  if (matched) {
    kr_buf_varint(reply, 1 << 3);
    kr_buf_varint(reply, 1);
  }
}

static int absent(struct kr_failure *failure)
{
  kr_fail(failure, KEYROUTE_E_REMOTE, "no such table");
  failure->fault = KEYROUTE_FAULT_NOT_SERVING;
  return failure->code;
}

static uint64_t id_of(struct keyroute_bytes text)
{
  char id[32];

  copy_text(id, sizeof(id), text);
  must_work(id[0] == 'r');
  return strtoull(id + 1, NULL, 10);
}

static struct fake_table *table_of(struct fake_nodes *nodes,
                                   const struct kr_descriptor_replica *node,
                                   struct keyroute_bytes region)
{
  const char *text = region.data;

  must_work(region.len > 3 && text[0] == '.' && text[region.len - 1] == '.');
  return fake_nodes_table(nodes, id_of(kr_bytes(text + 1, region.len - 2)), node);
}

static int create(struct fake_nodes *nodes, const struct kr_descriptor_replica *node,
                  struct keyroute_bytes param, struct kr_failure *failure)
{
  uint64_t id = id_of(find_field(param, 2));

  if (fake_nodes_table(nodes, id, node) != NULL) {
    kr_fail(failure, KEYROUTE_E_REMOTE, "the table is there");
    failure->fault = KEYROUTE_FAULT_REQUEST_FAILED;
    return failure->code;
  }
  must_work(find_field(param, 3).len > 0);
  fake_nodes_make(nodes, id, node);
  return 0;
}

static int answer(struct fake_nodes *nodes, const struct kr_descriptor_replica *node,
                  const struct kr_method *method, struct kr_buf *reply, struct kr_failure *failure)
{
  if (strcmp(method->name, KR_BIGTABLE_CREATE) == 0) {
    return create(nodes, node, method->param, failure);
  }
  struct fake_table *table = table_of(nodes, node, method->region);

  if (table == NULL) {
    return absent(failure);
  }
  if (strcmp(method->name, KR_BIGTABLE_DELETE) == 0) {
    fake_nodes_drop(nodes, table->id, node);
  } else if (strcmp(method->name, KR_BIGTABLE_MUTATE) == 0) {
    mutate_all(table, method->param, 3);
  } else if (strcmp(method->name, KR_BIGTABLE_CHECK) == 0) {
    check_and_mutate(table, method->param, reply);
  } else {
    must_work(strcmp(method->name, KR_BIGTABLE_GET_TABLE) == 0);
  }
  return 0;
}

/* ---- The means ------------------------------------------------------------------------------- */

static int unreachable(struct kr_failure *failure)
{
  kr_fail(failure, KEYROUTE_E_UNREACHABLE, "the node is down");
  return failure->code;
}

/* Count a request, or fail it. */
static int count(struct fake_nodes *nodes, const struct kr_descriptor_replica *node,
                 struct kr_failure *failure)
{
  nodes->requests++;
  if (node != NULL && nodes->down[node_of(node)]) {
    return unreachable(failure);
  }
  return nodes->requests == nodes->fail_at && !nodes->fail_after ? unreachable(failure) : 0;
}

/* It is done; the answer may be lost. */
static int done(struct fake_nodes *nodes, bool is_change, struct kr_failure *failure)
{
  if (is_change && nodes->changed != NULL) {
    nodes->changed();
  }
  return nodes->requests == nodes->fail_at && nodes->fail_after ? unreachable(failure) : 0;
}

static bool in_scan(const struct kr_scan *scan, struct keyroute_bytes key)
{
  int below = kr_bytes_compare(key, scan->start_row);

  return (below > 0 || (below == 0 && scan->include_start)) &&
         (scan->stop_row.len == 0 || kr_bytes_compare(key, scan->stop_row) < 0);
}

static void fill_row(struct kr_row *out, struct kr_cell *cells, const struct fake_row *row)
{
  *out = (struct kr_row){key_of(row), cells, row->count};
  for (size_t i = 0; i < row->count; i++) {
    cells[i] = (struct kr_cell){.row = key_of(row),
                                .family = keyroute_string("r"),
                                .qualifier = keyroute_string(row->cells[i].qualifier),
                                .value = kr_bytes(row->cells[i].value, row->cells[i].len),
                                .type = 4};
  }
}

/* At most three rows at a time, so that there are pages. */
static void answer_scan(const struct fake_table *table, const struct kr_scan *scan,
                        kr_publish_take take, void *arg)
{
  struct kr_cell cells[3][6];
  struct kr_row rows[3];
  struct kr_rows page = {.rows = rows};

  for (size_t i = 0; i < table->count; i++) {
    if (!in_scan(scan, key_of(&table->rows[i]))) {
      continue;
    }
    if (page.count == 3) {
      page.more = true;
      break;
    }
    fill_row(&rows[page.count], cells[page.count], &table->rows[i]);
    page.count++;
  }
  take(arg, &page);
}

static int scan(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
                const struct kr_scan *scan, kr_publish_take take, void *arg,
                struct kr_failure *failure)
{
  struct fake_nodes *nodes = (struct fake_nodes *)means;
  int error = count(nodes, node, failure);

  if (error != 0) {
    return error;
  }
  const struct fake_table *table = table_of(nodes, node, scan->region);

  if (table == NULL) {
    return absent(failure);
  }
  answer_scan(table, scan, take, arg);
  return done(nodes, false, failure);
}

static int call(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
                const struct kr_method *method, struct kr_buf *reply, struct kr_failure *failure)
{
  struct fake_nodes *nodes = (struct fake_nodes *)means;
  int error = count(nodes, node, failure);

  if (error != 0) {
    return error;
  }
  error = answer(nodes, node, method, reply, failure);
  int lost = done(nodes, error == 0 && strcmp(method->name, KR_BIGTABLE_GET_TABLE) != 0, failure);

  return lost != 0 ? lost : error;
}

static int read_root(struct kr_publish_means *means, struct kr_buf *data, int64_t *version,
                     struct kr_failure *failure)
{
  struct fake_nodes *nodes = (struct fake_nodes *)means;
  int error = count(nodes, NULL, failure);

  if (error != 0) {
    return error;
  }
  *version = nodes->root_version;
  kr_buf_bytes(data, kr_bytes(nodes->root, nodes->root_len));
  return done(nodes, false, failure);
}

static int write_root(struct kr_publish_means *means, struct keyroute_bytes data, int64_t version,
                      struct kr_failure *failure)
{
  struct fake_nodes *nodes = (struct fake_nodes *)means;
  int error = count(nodes, NULL, failure);

  if (error != 0) {
    return error;
  }
  must_work(version == nodes->root_version && data.len <= sizeof(nodes->root));
  memcpy(nodes->root, data.data, data.len);
  nodes->root_len = data.len;
  nodes->root_version++;
  return done(nodes, true, failure);
}

static int check(struct kr_publish_means *means, struct kr_failure *failure)
{
  struct fake_nodes *nodes = (struct fake_nodes *)means;

  if (nodes->not_mine) {
    kr_fail(failure, KEYROUTE_E_OVERLOADED, "the lock is lost");
    return failure->code;
  }
  if (nodes->writes_left == 0) {
    kr_fail(failure, KEYROUTE_E_CANCELLED, "the publisher died");
    return failure->code;
  }
  nodes->writes_left--;
  return 0;
}

static const struct kr_publish_ops ops = {scan, call, read_root, write_root, check};

void fake_nodes_init(struct fake_nodes *nodes, struct kr_mem *mem)
{
  *nodes = (struct fake_nodes){
      .means = {.ops = &ops, .mem = mem}, .root_version = -1, .writes_left = UINT64_MAX};
}

void fake_nodes_clear(struct fake_nodes *nodes)
{
  for (size_t i = 0; i < nodes->table_count; i++) {
    free(nodes->tables[i].rows);
  }
  nodes->table_count = 0;
}
