/*
 * The writes of Bigtable nodes in memory. Each request is taken apart by hand; of filters the one
 * is known that the publisher sends: a chain of one column, one version and, perhaps, one value.
 */
#include "test/fake_bigtable_writes.h"

#include "lib/bigtable_write.h"
#include "test/made_chunks.h"
#include "test/must.h"
#include "test/read_fields.h"

#include <stdlib.h>
#include <string.h>

#define BIGTABLE "/google.bigtable.v2.Bigtable/"

enum { NOT_FOUND = 5, ALREADY_EXISTS = 6, FAILED_PRECONDITION = 9 };

struct fake_bigtable_writes {
  struct fake_bigtable *bigtable;
  struct kr_mem *mem;
  int left; /* atomic: nodes have threads of their own */
  struct target {
    struct fake_bigtable_writes *writes;
    int node;
  } targets[FAKE_BIGTABLE_NODES];
};

/* ---- Requests -------------------------------------------------------------------------------- */

/* The number behind the last "r" of ".../tables/r7", or of "r7". */
static uint64_t range_of(struct keyroute_bytes name)
{
  char text[256];

  must_work(name.len < sizeof(text));
  memcpy(text, name.data, name.len);
  text[name.len] = '\0';
  const char *slash = strrchr(text, '/');
  const char *id = slash != NULL ? slash + 1 : text;

  must_work(id[0] == 'r');
  return strtoull(id + 1, NULL, 10);
}

static void copy_text(char out[16], struct keyroute_bytes text)
{
  must_work(text.len < 16);
  memcpy(out, text.data, text.len);
  out[text.len] = '\0';
}

/* Do one mutation of a row: set a cell, delete a column, or the row. */
static void mutate(const struct target *target, uint64_t range, struct keyroute_bytes key,
                   struct keyroute_bytes mutation)
{
  struct fake_bigtable *bigtable = target->writes->bigtable;
  struct keyroute_bytes set = find_field(mutation, 1), column = find_field(mutation, 2);
  struct keyroute_bytes body = set.len > 0 ? set : column;
  char family[16], qualifier[16];

  if (body.len == 0) {
    fake_bigtable_remove(bigtable, target->node, range, key);
    return;
  }
  copy_text(family, find_field(body, 1));
  copy_text(qualifier, find_field(body, 2));
  fake_bigtable_put(bigtable, target->node, range, key, family, qualifier,
                    set.len > 0 ? find_field(set, 4) : kr_bytes(NULL, 0));
}

/* Do the mutations that stand in the fields of this number. */
static void mutate_all(const struct target *target, uint64_t range, struct keyroute_bytes request,
                       uint64_t wanted)
{
  struct kr_reader reader = kr_reader(request);
  struct keyroute_bytes key = find_field(request, 2), value;
  uint64_t number;

  while (read_field(&reader, &number, &value)) {
    if (number == wanted) {
      mutate(target, range, key, value);
    }
  }
}

static bool matches(const struct target *target, uint64_t range, struct keyroute_bytes request)
{
  struct keyroute_bytes chain = find_field(find_field(request, 6), 1), filter;
  struct kr_reader reader = kr_reader(chain);
  bool matched = false;
  struct kr_buf value;
  uint64_t number;

  kr_buf_init(&value, target->writes->mem);
  while (read_field(&reader, &number, &filter)) {
    struct keyroute_bytes column = find_field(filter, 7), range_of_values = find_field(filter, 15);

    if (column.len > 0) {
      char qualifier[16];

      copy_text(qualifier, find_field(column, 2));
      matched = fake_bigtable_get(target->writes->bigtable, target->node, range,
                                  find_field(request, 2), "r", qualifier, &value);
    } else if (range_of_values.len > 0) {
      matched = matched && kr_bytes_equal(kr_buf_view(&value), find_field(range_of_values, 1));
    }
  }
  kr_buf_clear(&value);
  return matched;
}

/* ---- Handlers -------------------------------------------------------------------------------- */

/* May one more be written? False = it was answered. */
static bool is_taken(const struct target *target, struct fake_grpc_call *call)
{
  int *left = &target->writes->left;

  if (__atomic_load_n(left, __ATOMIC_RELAXED) == 0) {
    fake_grpc_status(call, FAILED_PRECONDITION, "nothing more is written");
    return false;
  }
  if (__atomic_load_n(left, __ATOMIC_RELAXED) > 0) {
    __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED);
  }
  return true;
}

/* The table that a request names, by the field of that number; 0 = it was answered: not found. */
static uint64_t find_range(const struct target *target, struct fake_grpc_call *call)
{
  uint64_t range = range_of(find_field(fake_grpc_request(call), 1));

  if (fake_bigtable_stands(target->writes->bigtable, target->node, range)) {
    return range;
  }
  fake_grpc_status(call, NOT_FOUND, "table not found");
  return 0;
}

/* The same for a write: 0 also if it was refused. */
static uint64_t find_written(const struct target *target, struct fake_grpc_call *call)
{
  return is_taken(target, call) ? find_range(target, call) : 0;
}

static void mutate_row(void *arg, struct fake_grpc_call *call)
{
  uint64_t range = find_written(arg, call);

  if (range != 0) {
    mutate_all(arg, range, fake_grpc_request(call), 3);
    fake_grpc_message(call, kr_bytes(NULL, 0));
  }
}

static void check_and_mutate_row(void *arg, struct fake_grpc_call *call)
{
  const struct target *target = arg;
  uint64_t range = find_written(target, call);
  struct kr_buf answer;

  if (range == 0) {
    return;
  }
  bool matched = matches(target, range, fake_grpc_request(call));

  mutate_all(target, range, fake_grpc_request(call), matched ? 4 : 5);
  kr_buf_init(&answer, target->writes->mem);
  made_number(&answer, 1, matched);
  fake_grpc_message(call, kr_buf_view(&answer));
  kr_buf_clear(&answer);
}

static void create_table(void *arg, struct fake_grpc_call *call)
{
  const struct target *target = arg;
  uint64_t range = range_of(find_field(fake_grpc_request(call), 2));

  if (!is_taken(target, call)) {
    return;
  }
  if (fake_bigtable_stands(target->writes->bigtable, target->node, range)) {
    fake_grpc_status(call, ALREADY_EXISTS, "the table is there");
    return;
  }
  fake_bigtable_make(target->writes->bigtable, target->node, range);
  fake_grpc_message(call, kr_bytes(NULL, 0));
}

static void delete_table(void *arg, struct fake_grpc_call *call)
{
  const struct target *target = arg;
  uint64_t range = find_written(target, call);

  if (range != 0) {
    fake_bigtable_drop(target->writes->bigtable, target->node, range);
    fake_grpc_message(call, kr_bytes(NULL, 0));
  }
}

static void get_table(void *arg, struct fake_grpc_call *call)
{
  if (find_range(arg, call) != 0) {
    fake_grpc_message(call, kr_bytes(NULL, 0));
  }
}

struct fake_bigtable_writes *fake_bigtable_writes_start(struct fake_bigtable *bigtable, int nodes)
{
  struct fake_bigtable_writes *writes = must(calloc(1, sizeof(*writes)));

  writes->bigtable = bigtable;
  writes->mem = must(kr_mem_new(NULL));
  writes->left = -1;
  for (int i = 0; i < nodes; i++) {
    struct fake_grpc_server *server = fake_bigtable_server(bigtable, i);
    struct target *target = &writes->targets[i];

    *target = (struct target){writes, i};
    fake_grpc_server_handle(server, BIGTABLE KR_BIGTABLE_MUTATE, mutate_row, target);
    fake_grpc_server_handle(server, BIGTABLE KR_BIGTABLE_CHECK, check_and_mutate_row, target);
    fake_grpc_server_handle(server, KR_BIGTABLE_CREATE, create_table, target);
    fake_grpc_server_handle(server, KR_BIGTABLE_DELETE, delete_table, target);
    fake_grpc_server_handle(server, KR_BIGTABLE_GET_TABLE, get_table, target);
  }
  return writes;
}

void fake_bigtable_writes_limit(struct fake_bigtable_writes *writes, int left)
{
  __atomic_store_n(&writes->left, left, __ATOMIC_RELAXED);
}

void fake_bigtable_writes_free(struct fake_bigtable_writes *writes)
{
  kr_mem_release(writes->mem);
  free(writes);
}
