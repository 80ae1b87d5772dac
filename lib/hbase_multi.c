/*
 * Many rows in one request: which of them each part of the answer is about, and what is believed.
 *
 * The request holds the rows region by region. Each has as its index its place among all rows; the
 * answer comes back region by region too, but within a region in any order, told apart by index.
 *
 * Three things may fail, and no more of the answer than need be:
 *  1. A region, with an exception in place of its results: all its rows share the one failure. A
 *     region that has moved away does so, while others on that server are read.
 *  2. A row, with an exception in place of its result, or with more bytes than allowed.
 *  3. The whole answer, wherever it does not add up: another number of regions than was asked for,
 *     another number of results than the region has rows, an index that is absent, of another
 *     region or met before, a result that is also an exception or neither, an exception of a region
 *     beside results, cells that are not those announced (hbase_cells.c). Cells stand in the block
 *     one after another with nothing to tell whose they are: once one count is wrong all that
 *     follows is guesswork, and rows given to the wrong keys are worse than none.
 *
 *  4. What is allocated goes by the rows asked for and by the bytes that came, never by a number
 *     that an answer holds.
 *  5. `atomic` is not sent: it is for writing. `processed` is not looked at, for the same reason.
 *
 * Threads: any.
 * Source: Client.proto; HBase RSRpcServices.multi, ResponseConverter.getResults
 */
#include "lib/hbase_multi.h"

#include "lib/hbase_get.h"
#include "lib/hbase_rpc.h"
#include "lib/proto_alloc.h"

/* ---- Writing -------------------------------------------------------------------------------- */

/* The messages that a request is made of, in one piece of memory. */
struct parts {
  Kr__Pb__RegionAction *regions;
  Kr__Pb__RegionAction **region_list;
  Kr__Pb__RegionSpecifier *names;
  Kr__Pb__Action *actions;
  Kr__Pb__Action **action_list;
  Kr__Pb__Get *gets;
};

/* Errors: NO_MEMORY. Release parts->regions. */
static int make_parts(struct parts *out, struct kr_mem *mem, const struct kr_gets *gets)
{
  size_t regions = gets->region_count;
  size_t rows = gets->row_count;

  out->regions = kr_alloc(
      mem, regions * (sizeof(*out->regions) + sizeof(*out->region_list) + sizeof(*out->names)) +
               rows * (sizeof(*out->actions) + sizeof(*out->action_list) + sizeof(*out->gets)));
  if (out->regions == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  out->region_list = (Kr__Pb__RegionAction **)(out->regions + regions);
  out->names = (Kr__Pb__RegionSpecifier *)(out->region_list + regions);
  out->actions = (Kr__Pb__Action *)(out->names + regions);
  out->action_list = (Kr__Pb__Action **)(out->actions + rows);
  out->gets = (Kr__Pb__Get *)(out->action_list + rows);
  return 0;
}

static void fill_row(struct parts *parts, size_t index, const struct kr_hbase_get *get,
                     struct keyroute_bytes row)
{
  Kr__Pb__Action *action = &parts->actions[index];

  parts->gets[index] = get->message;
  parts->gets[index].row = kr_proto_binary(row);
  kr__pb__action__init(action);
  action->has_index = true;
  action->index = (uint32_t)index;
  action->get = &parts->gets[index];
  parts->action_list[index] = action;
}

static void fill_region(struct parts *parts, size_t index, const struct kr_get_region *region)
{
  Kr__Pb__RegionAction *action = &parts->regions[index];

  parts->names[index] = kr_hbase_region(region->name);
  kr__pb__region_action__init(action);
  action->region = &parts->names[index];
  action->action = &parts->action_list[region->first];
  action->n_action = region->count;
  parts->region_list[index] = action;
}

static void write_parts(struct kr_buf *out, struct parts *parts, const struct kr_hbase_get *get,
                        const struct kr_gets *gets)
{
  Kr__Pb__MultiRequest request = KR__PB__MULTI_REQUEST__INIT;

  for (size_t i = 0; i < gets->row_count; i++) {
    fill_row(parts, i, get, gets->rows[i]);
  }
  for (size_t i = 0; i < gets->region_count; i++) {
    fill_region(parts, i, &gets->regions[i]);
  }
  request.regionaction = parts->region_list;
  request.n_regionaction = gets->region_count;
  kr_hbase_write_message(out, &request.base);
}

void kr_hbase_multi_write(struct kr_buf *out, const struct kr_gets *gets)
{
  struct kr_hbase_get get;
  struct parts parts;

  if (kr_hbase_get_init(&get, out->mem, gets) != 0) {
    out->failed = true;
    return;
  }
  if (make_parts(&parts, out->mem, gets) == 0) {
    write_parts(out, &parts, &get, gets);
    kr_free(out->mem, parts.regions);
  } else {
    out->failed = true;
  }
  kr_hbase_get_clear(&get);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* An answer being taken apart. */
struct answer {
  struct kr_hbase_got *got;
  const struct kr_gets *gets;
  struct kr_hbase_result *results; /* in the order of the answer */
  size_t count;
  bool *met; /* which rows */
  const char *trouble;
};

static int doubt(struct answer *answer, const char *trouble)
{
  answer->trouble = trouble;
  return KEYROUTE_E_PROTOCOL;
}

/* Errors: PROTOCOL, NO_MEMORY. */
static int take_row(struct answer *answer, const struct kr_get_region *region,
                    const Kr__Pb__ResultOrException *from)
{
  size_t index = from->index;

  if (!from->has_index || index < region->first || index - region->first >= region->count) {
    return doubt(answer, "a result of a row that was not asked for there");
  }
  if (answer->met[index]) {
    return doubt(answer, "two results of one row");
  }
  if ((from->result == NULL) == (from->exception == NULL)) {
    return doubt(answer, from->result != NULL ? "a result that is an exception too"
                                              : "neither a result nor an exception");
  }
  answer->met[index] = true;
  if (from->exception != NULL) {
    const struct kr_failure *failure = kr_hbase_got_exception(answer->got, from->exception);

    answer->got->rows[index].failure = failure;
    return failure != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
  }
  answer->results[answer->count++] = (struct kr_hbase_result){
      .message = from->result, .row = answer->gets->rows[index], .index = index};
  return 0;
}

static int fail_region(struct answer *answer, const struct kr_get_region *region,
                       const Kr__Pb__NameBytesPair *exception)
{
  const struct kr_failure *failure = kr_hbase_got_exception(answer->got, exception);

  for (size_t i = 0; i < region->count; i++) {
    answer->got->rows[region->first + i].failure = failure;
  }
  return failure != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

static int take_region(struct answer *answer, const struct kr_get_region *region,
                       const Kr__Pb__RegionActionResult *from)
{
  int error = 0;

  if (from->exception != NULL) {
    return from->n_resultorexception == 0
               ? fail_region(answer, region, from->exception)
               : doubt(answer, "results of a region beside its exception");
  }
  if (from->n_resultorexception != region->count) {
    return doubt(answer, "not as many results of a region as rows were asked for");
  }
  for (size_t i = 0; error == 0 && i < region->count; i++) {
    error = take_row(answer, region, from->resultorexception[i]);
  }
  return error;
}

/* What each part is about, then the cells. */
static int take_regions(struct answer *answer, const Kr__Pb__MultiResponse *response,
                        struct keyroute_bytes block)
{
  const struct kr_gets *gets = answer->gets;
  int error = 0;

  if (response->n_regionactionresult != gets->region_count) {
    return doubt(answer, "not as many regions as were asked for");
  }
  for (size_t i = 0; error == 0 && i < gets->region_count; i++) {
    error = take_region(answer, &gets->regions[i], response->regionactionresult[i]);
  }
  if (error != 0) {
    return error;
  }
  return kr_hbase_got_results(answer->got, answer->results, answer->count, block,
                              gets->read->max_result_len, &answer->trouble);
}

static int read_response(struct answer *answer, struct kr_mem *mem,
                         const Kr__Pb__MultiResponse *response, struct keyroute_bytes block)
{
  size_t rows = answer->gets->row_count;

  answer->results = kr_calloc(mem, rows * (sizeof(*answer->results) + sizeof(*answer->met)));
  if (answer->results == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  answer->met = (bool *)(answer->results + rows);
  int error = take_regions(answer, response, block);

  kr_free(mem, answer->results);
  return error;
}

int kr_hbase_multi_read(struct kr_hbase_got *out, struct kr_mem *mem,
                        const struct kr_rpc_reply *reply, const struct kr_gets *gets,
                        struct kr_failure *failure)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  struct kr_hbase_got got;
  struct answer answer = {.got = &got, .gets = gets, .trouble = "an unreadable message"};
  bool is_short;
  Kr__Pb__MultiResponse *response =
      kr_proto_unpack(&kr__pb__multi_response__descriptor, mem, reply->body, &is_short);

  if (response == NULL) {
    return kr_hbase_unread(failure, is_short ? KEYROUTE_E_NO_MEMORY : KEYROUTE_E_PROTOCOL, "Multi",
                           answer.trouble);
  }
  int error = kr_hbase_got_init(&got, mem, gets->row_count, reply);

  if (error == 0) {
    error = read_response(&answer, mem, response, reply->cells);
    if (error == 0) {
      *out = got;
    } else {
      kr_hbase_got_clear(&got);
    }
  }
  kr__pb__multi_response__free_unpacked(response, &allocator);
  return kr_hbase_unread(failure, error, "Multi", answer.trouble);
}
