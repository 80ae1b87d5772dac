/*
 * One row in one request: how what is to be read is said, and how the answer is read.
 *
 *  1. Columns are grouped by family: a family goes once, with its qualifiers. Where one of its
 *     columns is the whole family it goes without any, for that is how HBase says so; a qualifier
 *     beside it would make the server read that one alone.
 *  2. The empty qualifier is a qualifier.
 *  3. A time range goes only if there is one, and its end only if it has one.
 *  4. What has a default is said all the same where that default is not ours to rely on: versions,
 *     and that blocks are cached.
 *  5. An answer without a result isn't believed: servers send an empty one for a row that does not
 *     exist. hbase_cells.c says what of a result is believed.
 *
 * Servers put the cells of a Get into the message, unless the client says that it is of version 1.3
 * or later; in the cell block they are read as well.
 *
 * Threads: any.  Source: Client.proto; HBase RSRpcServices.get, ProtobufUtil.toGet
 */
#include "lib/hbase_get.h"

#include "lib/bytes.h"
#include "lib/hbase_rpc.h"
#include "lib/proto_alloc.h"

#define TIMELINE 1

/* ---- Writing -------------------------------------------------------------------------------- */

/* Room for the columns of a read: at most as many families and qualifiers as columns. */
struct columns {
  Kr__Pb__Column *columns;
  Kr__Pb__Column **list;
  ProtobufCBinaryData *qualifiers;
  size_t count;
};

static bool has_family(const struct columns *made, struct keyroute_bytes family)
{
  for (size_t i = 0; i < made->count; i++) {
    if (kr_bytes_equal(kr_proto_bytes(made->columns[i].family), family)) {
      return true;
    }
  }
  return false;
}

/* Add a family with what columns from `first` on want of it. */
static void add_family(struct columns *made, const struct kr_read *read, size_t first)
{
  Kr__Pb__Column *column = &made->columns[made->count];
  struct keyroute_bytes family = read->columns[first].family;
  bool whole = false;

  kr__pb__column__init(column);
  column->has_family = true;
  column->family = kr_proto_binary(family);
  column->qualifier = made->qualifiers;
  for (size_t i = first; i < read->column_count; i++) {
    if (kr_bytes_equal(read->columns[i].family, family)) {
      whole = whole || read->columns[i].qualifier.data == NULL;
      *made->qualifiers++ = kr_proto_binary(read->columns[i].qualifier);
      column->n_qualifier++;
    }
  }
  column->n_qualifier = whole ? 0 : column->n_qualifier;
  made->list[made->count++] = column;
}

/* The families are few, so each is looked for among those there are. */
static int fill_columns(struct kr_hbase_get *out, const struct kr_read *read)
{
  size_t count = read->column_count;
  struct columns made = {.columns = NULL};

  if (count == 0) {
    return 0;
  }
  out->columns = kr_alloc(
      out->mem, count * (sizeof(*made.columns) + sizeof(*made.list) + sizeof(*made.qualifiers)));
  if (out->columns == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  made.columns = out->columns;
  made.list = (Kr__Pb__Column **)(made.columns + count);
  made.qualifiers = (ProtobufCBinaryData *)(made.list + count);
  for (size_t i = 0; i < count; i++) {
    if (!has_family(&made, read->columns[i].family)) {
      add_family(&made, read, i);
    }
  }
  out->message.column = made.list;
  out->message.n_column = made.count;
  return 0;
}

static void fill_time_range(struct kr_hbase_get *out, const struct kr_read *read)
{
  kr__pb__time_range__init(&out->time_range);
  out->time_range.has_from = true;
  out->time_range.from = (uint64_t)read->from_ms;
  out->time_range.has_to = read->to_ms > 0;
  out->time_range.to = (uint64_t)read->to_ms;
  out->message.time_range = read->from_ms > 0 || read->to_ms > 0 ? &out->time_range : NULL;
}

int kr_hbase_get_init(struct kr_hbase_get *out, struct kr_mem *mem, const struct kr_gets *gets)
{
  out->mem = mem;
  out->columns = NULL;
  kr__pb__get__init(&out->message);
  out->message.has_row = true;
  out->message.has_max_versions = true;
  out->message.max_versions = gets->read->max_versions;
  out->message.has_cache_blocks = true;
  out->message.cache_blocks = true;
  out->message.has_consistency = gets->timeline;
  out->message.consistency = TIMELINE;
  fill_time_range(out, gets->read);
  return fill_columns(out, gets->read);
}

void kr_hbase_get_clear(struct kr_hbase_get *get)
{
  kr_free(get->mem, get->columns);
}

void kr_hbase_get_write(struct kr_buf *out, const struct kr_gets *gets)
{
  Kr__Pb__GetRequest request = KR__PB__GET_REQUEST__INIT;
  Kr__Pb__RegionSpecifier region = kr_hbase_region(gets->regions[0].name);
  struct kr_hbase_get get;

  if (kr_hbase_get_init(&get, out->mem, gets) != 0) {
    out->failed = true;
    return;
  }
  get.message.row = kr_proto_binary(gets->rows[0]);
  request.region = &region;
  request.get = &get.message;
  kr_hbase_write_message(out, &request.base);
  kr_hbase_get_clear(&get);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int read_response(struct kr_hbase_got *got, const Kr__Pb__GetResponse *response,
                         const struct kr_rpc_reply *reply, const struct kr_gets *gets,
                         const char **trouble)
{
  struct kr_hbase_result result = {.message = response->result, .row = gets->rows[0]};

  if (result.message == NULL) {
    *trouble = "no result";
    return KEYROUTE_E_PROTOCOL;
  }
  return kr_hbase_got_results(got, &result, 1, reply->cells, gets->read->max_result_len, trouble);
}

int kr_hbase_get_read(struct kr_hbase_got *out, struct kr_mem *mem,
                      const struct kr_rpc_reply *reply, const struct kr_gets *gets,
                      struct kr_failure *failure)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  const char *trouble = "an unreadable message";
  struct kr_hbase_got got;
  bool is_short;
  Kr__Pb__GetResponse *response =
      kr_proto_unpack(&kr__pb__get_response__descriptor, mem, reply->body, &is_short);

  if (response == NULL) {
    return kr_hbase_unread(failure, is_short ? KEYROUTE_E_NO_MEMORY : KEYROUTE_E_PROTOCOL, "Get",
                           trouble);
  }
  int error = kr_hbase_got_init(&got, mem, 1, reply);

  if (error == 0) {
    error = read_response(&got, response, reply, gets, &trouble);
    if (error == 0) {
      *out = got;
    } else {
      kr_hbase_got_clear(&got);
    }
  }
  kr__pb__get_response__free_unpacked(response, &allocator);
  return kr_hbase_unread(failure, error, "Get", trouble);
}
