/*
 * Bigtable nodes in memory, behind scripted gRPC servers.
 *
 * A table is a list of cells in the order of row, family and qualifier, one version each. Of
 * filters those are known that the library sends. What is asked for is taken apart with protobuf-c,
 * what is answered is written by made_chunks.h: each cell a chunk, each row a message.
 */
#include "test/fake_bigtable.h"

#include "lib/bytes.h"
#include "lib/proto/bigtable.pb-c.h"
#include "lib/proto_alloc.h"
#include "test/made_chunks.h"
#include "test/must.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define READ_ROWS "/google.bigtable.v2.Bigtable/ReadRows"
#define HINT "type.googleapis.com/keyroute.RangeDescriptor"

enum { NOT_FOUND = 5, MAGIC_LEN = 4, HINTS_MAX = 8 };

struct cell {
  struct cell *next; /* in order */
  struct keyroute_bytes key;
  char family[16], qualifier[16];
  struct keyroute_bytes value;
};

struct table {
  struct table *next;
  uint64_t range;
  struct cell *cells;
  struct fake_bigtable_fault fault; /* times 0 = none */
};

struct node {
  struct fake_bigtable *bigtable;
  struct fake_grpc_server *server;
  struct table *tables;
  const struct kr_descriptor *hints[HINTS_MAX];
  size_t hint_count;
  unsigned reads;
};

struct fake_bigtable {
  pthread_mutex_t lock; /* of everything but the servers */
  struct kr_mem *mem;
  int count;
  struct node nodes[FAKE_BIGTABLE_NODES];
};

/* ---- Tables ---------------------------------------------------------------------------------- */

static struct keyroute_bytes copy(struct keyroute_bytes bytes)
{
  void *data = must(malloc(bytes.len + 1));

  if (bytes.len > 0) {
    memcpy(data, bytes.data, bytes.len);
  }
  return kr_bytes(data, bytes.len);
}

static void free_cell(struct cell *cell)
{
  free((void *)(uintptr_t)cell->key.data);
  free((void *)(uintptr_t)cell->value.data);
  free(cell);
}

static struct table **find_table(struct node *node, uint64_t range)
{
  struct table **at = &node->tables;

  while (*at != NULL && (*at)->range != range) {
    at = &(*at)->next;
  }
  return at;
}

static struct table *get_table(struct node *node, uint64_t range)
{
  struct table *table = *find_table(node, range);

  must_work(table != NULL);
  return table;
}

static void free_table(struct table *table)
{
  while (table->cells != NULL) {
    struct cell *cell = table->cells;

    table->cells = cell->next;
    free_cell(cell);
  }
  free(table);
}

/* Where a cell is, or would be. *found  whether it is there */
static struct cell **find_cell(struct table *table, struct keyroute_bytes key, const char *family,
                               const char *qualifier, bool *found)
{
  struct cell **at = &table->cells;
  int order = -1;

  for (; *at != NULL; at = &(*at)->next) {
    order = kr_bytes_compare((*at)->key, key);
    order = order != 0 ? order : strcmp((*at)->family, family);
    order = order != 0 ? order : strcmp((*at)->qualifier, qualifier);
    if (order >= 0) {
      break;
    }
  }
  *found = *at != NULL && order == 0;
  return at;
}

void fake_bigtable_make(struct fake_bigtable *bigtable, int node, uint64_t range)
{
  struct table *table = must(calloc(1, sizeof(*table)));

  pthread_mutex_lock(&bigtable->lock);
  must_work(*find_table(&bigtable->nodes[node], range) == NULL);
  table->range = range;
  table->next = bigtable->nodes[node].tables;
  bigtable->nodes[node].tables = table;
  pthread_mutex_unlock(&bigtable->lock);
}

void fake_bigtable_drop(struct fake_bigtable *bigtable, int node, uint64_t range)
{
  pthread_mutex_lock(&bigtable->lock);
  struct table **at = find_table(&bigtable->nodes[node], range);
  struct table *table = *at;

  must_work(table != NULL);
  *at = table->next;
  pthread_mutex_unlock(&bigtable->lock);
  free_table(table);
}

void fake_bigtable_put(struct fake_bigtable *bigtable, int node, uint64_t range,
                       struct keyroute_bytes key, const char *family, const char *qualifier,
                       struct keyroute_bytes value)
{
  bool found;

  pthread_mutex_lock(&bigtable->lock);
  struct cell **at =
      find_cell(get_table(&bigtable->nodes[node], range), key, family, qualifier, &found);

  if (found) {
    struct cell *old = *at;

    *at = old->next;
    free_cell(old);
  }
  if (value.data != NULL) {
    struct cell *cell = must(calloc(1, sizeof(*cell)));

    cell->key = copy(key);
    cell->value = copy(value);
    snprintf(cell->family, sizeof(cell->family), "%s", family);
    snprintf(cell->qualifier, sizeof(cell->qualifier), "%s", qualifier);
    cell->next = *at;
    *at = cell;
  }
  pthread_mutex_unlock(&bigtable->lock);
}

bool fake_bigtable_stands(struct fake_bigtable *bigtable, int node, uint64_t range)
{
  pthread_mutex_lock(&bigtable->lock);
  bool stands = *find_table(&bigtable->nodes[node], range) != NULL;

  pthread_mutex_unlock(&bigtable->lock);
  return stands;
}

bool fake_bigtable_get(struct fake_bigtable *bigtable, int node, uint64_t range,
                       struct keyroute_bytes key, const char *family, const char *qualifier,
                       struct kr_buf *value)
{
  bool found;

  pthread_mutex_lock(&bigtable->lock);
  struct cell **at =
      find_cell(get_table(&bigtable->nodes[node], range), key, family, qualifier, &found);

  if (found) {
    kr_buf_bytes(value, (*at)->value);
  }
  pthread_mutex_unlock(&bigtable->lock);
  return found;
}

void fake_bigtable_remove(struct fake_bigtable *bigtable, int node, uint64_t range,
                          struct keyroute_bytes key)
{
  pthread_mutex_lock(&bigtable->lock);
  struct cell **at = &get_table(&bigtable->nodes[node], range)->cells;

  while (*at != NULL) {
    struct cell *cell = *at;

    if (kr_bytes_equal(cell->key, key)) {
      *at = cell->next;
      free_cell(cell);
    } else {
      at = &cell->next;
    }
  }
  pthread_mutex_unlock(&bigtable->lock);
}

void fake_bigtable_publish(struct fake_bigtable *bigtable, int node, uint64_t index, int level,
                           const struct kr_descriptor *range)
{
  struct kr_buf key, value;

  kr_buf_init(&key, bigtable->mem);
  kr_buf_init(&value, bigtable->mem);
  kr_buf_u8(&key, (uint8_t)level);
  kr_buf_bytes(&key, range->start_key);
  kr_descriptor_write(&value, range);
  must_work(!key.failed && !value.failed);
  fake_bigtable_put(bigtable, node, index, kr_buf_view(&key), "r", "d", kr_buf_view(&value));
  kr_buf_clear(&key);
  kr_buf_clear(&value);
}

/* ---- What a request asks for ----------------------------------------------------------------- */

static bool is_in_range(const Kr__Bigtable__RowRange *range, struct keyroute_bytes key)
{
  return (!range->has_start_key_closed ||
          kr_bytes_compare(key, kr_proto_bytes(range->start_key_closed)) >= 0) &&
         (!range->has_start_key_open ||
          kr_bytes_compare(key, kr_proto_bytes(range->start_key_open)) > 0) &&
         (!range->has_end_key_closed ||
          kr_bytes_compare(key, kr_proto_bytes(range->end_key_closed)) <= 0) &&
         (!range->has_end_key_open ||
          kr_bytes_compare(key, kr_proto_bytes(range->end_key_open)) < 0);
}

static bool is_asked_for(const Kr__Bigtable__RowSet *rows, struct keyroute_bytes key)
{
  for (size_t i = 0; i < rows->n_row_keys; i++) {
    if (kr_bytes_equal(kr_proto_bytes(rows->row_keys[i]), key)) {
      return true;
    }
  }
  for (size_t i = 0; i < rows->n_row_ranges; i++) {
    if (is_in_range(rows->row_ranges[i], key)) {
      return true;
    }
  }
  return false;
}

static bool is_column(const Kr__Bigtable__ColumnRange *range, const struct cell *cell)
{
  struct keyroute_bytes qualifier = keyroute_string(cell->qualifier);

  return kr_bytes_equal(kr_proto_bytes(range->family_name), keyroute_string(cell->family)) &&
         (!range->has_start_qualifier_closed ||
          kr_bytes_compare(qualifier, kr_proto_bytes(range->start_qualifier_closed)) >= 0) &&
         (!range->has_end_qualifier_closed ||
          kr_bytes_compare(qualifier, kr_proto_bytes(range->end_qualifier_closed)) <= 0);
}

static bool passes(const Kr__Bigtable__RowFilter *filter, const struct cell *cell)
{
  if (filter->chain != NULL) {
    for (size_t i = 0; i < filter->chain->n_filters; i++) {
      if (!passes(filter->chain->filters[i], cell)) {
        return false;
      }
    }
    return true;
  }
  if (filter->interleave != NULL) {
    for (size_t i = 0; i < filter->interleave->n_filters; i++) {
      if (passes(filter->interleave->filters[i], cell)) {
        return true;
      }
    }
    return false;
  }
  return filter->column_range_filter == NULL || is_column(filter->column_range_filter, cell);
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Append a row's cells, of which the first is given. Returns whether any passes. */
static bool write_row(struct kr_buf *out, const Kr__Bigtable__RowFilter *filter,
                      const struct cell *first)
{
  const struct cell *last = NULL;

  for (const struct cell *cell = first; cell != NULL && kr_bytes_equal(cell->key, first->key);
       cell = cell->next) {
    last = passes(filter, cell) ? cell : last;
  }
  for (const struct cell *cell = first; last != NULL; cell = cell->next) {
    if (passes(filter, cell)) {
      struct kr_buf chunk;

      kr_buf_init(&chunk, out->mem);
      made_field(&chunk, 1, cell->key);
      made_wrapped(&chunk, 2, keyroute_string(cell->family));
      made_wrapped(&chunk, 3, keyroute_string(cell->qualifier));
      made_number(&chunk, 4, 1000);
      made_field(&chunk, 6, cell->value);
      made_number(&chunk, 9, cell == last);
      made_field(out, 1, kr_buf_view(&chunk));
      kr_buf_clear(&chunk);
    }
    if (cell == last) {
      break;
    }
  }
  return last != NULL;
}

/* The next row to answer with, in the order asked for; NULL = there is none. */
static const struct cell *next_row(const struct table *table,
                                   const Kr__Bigtable__ReadRowsRequest *request,
                                   const struct cell *before)
{
  const struct cell *found = NULL;

  for (const struct cell *cell = table->cells; cell != NULL; cell = cell->next) {
    int order = before != NULL ? kr_bytes_compare(cell->key, before->key) : 0;
    bool is_behind = before == NULL || (request->reversed ? order < 0 : order > 0);

    if (is_behind && is_asked_for(request->rows, cell->key) &&
        (found == NULL || (request->reversed && !kr_bytes_equal(found->key, cell->key)))) {
      found = cell;
    }
    if (found != NULL && !request->reversed) {
      break;
    }
  }
  return found;
}

static void answer_rows(struct fake_grpc_call *call, struct kr_mem *mem, const struct table *table,
                        const Kr__Bigtable__ReadRowsRequest *request)
{
  int64_t rows = 0;
  struct kr_buf message;

  kr_buf_init(&message, mem);
  for (const struct cell *at = next_row(table, request, NULL);
       at != NULL && (request->rows_limit == 0 || rows < request->rows_limit);
       at = next_row(table, request, at)) {
    message.len = 0;
    if (write_row(&message, request->filter, at)) {
      must_work(!message.failed);
      fake_grpc_message(call, kr_buf_view(&message));
      rows++;
    }
  }
  kr_buf_clear(&message);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void add_detail(struct kr_buf *details, const char *type, struct keyroute_bytes value)
{
  struct kr_buf any;

  kr_buf_init(&any, details->mem);
  made_field(&any, 1, keyroute_string(type));
  made_field(&any, 2, value);
  made_field(details, 3, kr_buf_view(&any));
  kr_buf_clear(&any);
}

static void add_wait(struct kr_buf *details, int64_t wait_ms)
{
  struct kr_buf delay, info;

  kr_buf_init(&delay, details->mem);
  kr_buf_init(&info, details->mem);
  made_number(&delay, 1, (uint64_t)(wait_ms / 1000));
  made_number(&delay, 2, (uint64_t)(wait_ms % 1000 * 1000000));
  made_field(&info, 1, kr_buf_view(&delay));
  add_detail(details, "type.googleapis.com/google.rpc.RetryInfo", kr_buf_view(&info));
  kr_buf_clear(&delay);
  kr_buf_clear(&info);
}

static void add_hint(struct kr_buf *details, const struct kr_descriptor *descriptor)
{
  struct kr_buf encoded;

  kr_buf_init(&encoded, details->mem);
  kr_descriptor_write(&encoded, descriptor);
  must_work(encoded.len > MAGIC_LEN);
  add_detail(details, HINT, kr_bytes(encoded.data + MAGIC_LEN, encoded.len - MAGIC_LEN));
  kr_buf_clear(&encoded);
}

static void refuse(struct fake_grpc_call *call, struct kr_mem *mem,
                   const struct fake_bigtable_fault *fault)
{
  struct kr_buf details;
  char text[32];

  kr_buf_init(&details, mem);
  if (fault->wait_ms > 0) {
    add_wait(&details, fault->wait_ms);
  }
  if (fault->moved != NULL) {
    add_hint(&details, fault->moved);
  }
  if (details.len > 0) {
    fake_grpc_trailer(call, "grpc-status-details-bin", kr_buf_view(&details));
  }
  if (fault->pushback_ms > 0) {
    snprintf(text, sizeof(text), "%" PRId64, fault->pushback_ms);
    fake_grpc_trailer(call, "grpc-retry-pushback-ms", keyroute_string(text));
  }
  fake_grpc_status(call, fault->code, fault->text != NULL ? fault->text : "");
  kr_buf_clear(&details);
}

static void play_fault(struct fake_grpc_call *call, struct kr_mem *mem,
                       const struct fake_bigtable_fault *fault)
{
  if (fault->breaks) {
    fake_grpc_break(call);
  } else if (fault->code == 0) {
    fake_grpc_hang(call);
  } else {
    refuse(call, mem, fault);
  }
}

static void refuse_table(struct fake_grpc_call *call, const struct node *node, uint64_t range)
{
  struct fake_bigtable_fault fault = {.code = NOT_FOUND, .text = "table not found"};

  for (size_t i = 0; i < node->hint_count; i++) {
    if (node->hints[i]->id == range) {
      fault.moved = node->hints[i];
    }
  }
  refuse(call, node->bigtable->mem, &fault);
}

/* ---- The server ------------------------------------------------------------------------------ */

/* The range whose table a request names. */
static uint64_t range_of(const Kr__Bigtable__ReadRowsRequest *request)
{
  struct keyroute_bytes name = kr_proto_bytes(request->table_name);
  const char *slash = memrchr(name.data, '/', name.len);
  int64_t range;

  must_work(slash != NULL && slash[1] == 'r');
  size_t used = (size_t)(slash + 2 - (const char *)name.data);

  must_work(kr_bytes_number(&range, kr_bytes(slash + 2, name.len - used), INT64_MAX) ==
            name.len - used);
  return (uint64_t)range;
}

static void answer(struct fake_grpc_call *call, struct node *node,
                   const Kr__Bigtable__ReadRowsRequest *request)
{
  uint64_t range = range_of(request);
  struct table *table = *find_table(node, range);

  node->reads++;
  if (table == NULL) {
    refuse_table(call, node, range);
    return;
  }
  if (table->fault.times == 0 || table->fault.rows_before) {
    answer_rows(call, node->bigtable->mem, table, request);
  }
  if (table->fault.times > 0) {
    table->fault.times--;
    play_fault(call, node->bigtable->mem, &table->fault);
  }
}

static void read_rows(void *arg, struct fake_grpc_call *call)
{
  struct node *node = arg;
  struct keyroute_bytes message = fake_grpc_request(call);
  Kr__Bigtable__ReadRowsRequest *request =
      kr__bigtable__read_rows_request__unpack(NULL, message.len, message.data);

  if (message.len == 0) { /* cancelled before it came */
    kr__bigtable__read_rows_request__free_unpacked(request, NULL);
    return;
  }
  must_work(request != NULL && request->rows != NULL && request->filter != NULL);
  must_work(kr_bytes_equal(fake_grpc_metadata(call, "bigtable-features"), keyroute_string("CAE=")));
  pthread_mutex_lock(&node->bigtable->lock);
  answer(call, node, request);
  pthread_mutex_unlock(&node->bigtable->lock);
  kr__bigtable__read_rows_request__free_unpacked(request, NULL);
}

struct fake_bigtable *fake_bigtable_start(int nodes)
{
  struct fake_bigtable *bigtable = must(calloc(1, sizeof(*bigtable)));

  must_work(nodes <= FAKE_BIGTABLE_NODES);
  pthread_mutex_init(&bigtable->lock, NULL);
  bigtable->mem = must(kr_mem_new(NULL));
  bigtable->count = nodes;
  for (int i = 0; i < nodes; i++) {
    struct node *node = &bigtable->nodes[i];

    node->bigtable = bigtable;
    node->server = fake_grpc_server_start(0);
    fake_grpc_server_handle(node->server, READ_ROWS, read_rows, node);
  }
  return bigtable;
}

void fake_bigtable_stop(struct fake_bigtable *bigtable)
{
  for (int i = 0; i < bigtable->count; i++) {
    struct node *node = &bigtable->nodes[i];

    fake_grpc_server_free(node->server);
    while (node->tables != NULL) {
      struct table *table = node->tables;

      node->tables = table->next;
      free_table(table);
    }
  }
  kr_mem_release(bigtable->mem);
  pthread_mutex_destroy(&bigtable->lock);
  free(bigtable);
}

struct fake_grpc_server *fake_bigtable_server(struct fake_bigtable *bigtable, int node)
{
  return bigtable->nodes[node].server;
}

int fake_bigtable_port(struct fake_bigtable *bigtable, int node)
{
  return fake_grpc_server_port(bigtable->nodes[node].server);
}

unsigned fake_bigtable_reads(struct fake_bigtable *bigtable, int node)
{
  pthread_mutex_lock(&bigtable->lock);
  unsigned reads = bigtable->nodes[node].reads;

  pthread_mutex_unlock(&bigtable->lock);
  return reads;
}

void fake_bigtable_fault(struct fake_bigtable *bigtable, int node, uint64_t range,
                         const struct fake_bigtable_fault *fault)
{
  pthread_mutex_lock(&bigtable->lock);
  get_table(&bigtable->nodes[node], range)->fault = *fault;
  pthread_mutex_unlock(&bigtable->lock);
}

void fake_bigtable_hint(struct fake_bigtable *bigtable, int node,
                        const struct kr_descriptor *descriptor)
{
  struct node *at = &bigtable->nodes[node];

  pthread_mutex_lock(&bigtable->lock);
  must_work(at->hint_count < HINTS_MAX);
  at->hints[at->hint_count++] = descriptor;
  pthread_mutex_unlock(&bigtable->lock);
}
