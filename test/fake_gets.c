/*
 * How the scripted region server answers Get: one row of one region, from the rows it was given.
 *
 * A replica's answer is marked stale, and is given whatever consistency was asked for: HBase does
 * not refuse it. A client without a codec gets its cells inside the message.
 *
 * Source: HBase RSRpcServices.get, ProtobufUtil.toResult and toResultNoData, HRegion.get
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <stdio.h>
#include <string.h>

/* ---- Reading -------------------------------------------------------------------------------- */

static void say_no_family(struct fake_exception *wrong, const struct fake_hosted *hosted,
                          const char *family)
{
  *wrong =
      fake_exception_of("org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException", NULL);
  snprintf(wrong->text, sizeof(wrong->text),
           "Column family %s does not exist in region %.200s in table '%.80s'", family,
           (const char *)hosted->name.data, hosted->table);
  wrong->do_not_retry = true;
}

static void say_not_played(struct fake_exception *wrong, const char *class_name, const char *text)
{
  *wrong = fake_exception_of(class_name, text);
  wrong->do_not_retry = true;
}

bool fake_read_row(struct fake_result *out, struct fake_server *server,
                   const struct fake_hosted *hosted, const Kr__Pb__Get *get,
                   struct fake_exception *wrong)
{
  char family[64];

  if (get == NULL) {
    say_not_played(wrong, "org.apache.hadoop.hbase.DoNotRetryIOException", "only Gets are played");
  } else if (get->closest_row_before) {
    say_not_played(wrong, "org.apache.hadoop.hbase.exceptions.UnknownProtocolException",
                   "getClosestRowBefore was removed in hbase-2.0.0");
  } else if (fake_hosted_covers(hosted, fake_bytes(get->row), wrong)) {
    if (fake_rows_get(out, server->rows, hosted->table, get, family)) {
      out->stale = hosted->replica > 0;
      server->counts.rows_read++;
      return true;
    }
    say_no_family(wrong, hosted, family);
  }
  return false;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static ProtobufCBinaryData own(ProtobufCBinaryData borrowed)
{
  return fake_binary(fake_bytes_copy(fake_bytes(borrowed)));
}

static Kr__Pb__Cell *make_cell(const struct fake_key_value *from)
{
  Kr__Pb__Cell *cell = must(malloc(sizeof(*cell)));

  fake_cell_message(cell, from);
  cell->row = own(cell->row);
  cell->family = own(cell->family);
  cell->qualifier = own(cell->qualifier);
  cell->value = own(cell->value);
  cell->tags = own(cell->tags);
  return cell;
}

Kr__Pb__Result *fake_result_message(const struct fake_result *from, bool inlined)
{
  Kr__Pb__Result *result = must(malloc(sizeof(*result)));

  kr__pb__result__init(result);
  result->has_exists = from->existence_only;
  result->exists = from->exists;
  result->has_stale = result->stale = from->stale;
  if (inlined) {
    result->cell = must(calloc(from->count + 1, sizeof(Kr__Pb__Cell *)));
    for (size_t i = 0; i < from->count; i++) {
      result->cell[result->n_cell++] = make_cell(&from->cells[i]);
    }
  } else {
    result->has_associated_cell_count = true;
    result->associated_cell_count = (int32_t)from->count;
  }
  return result;
}

void fake_out_result_cells(struct fake_out *block, const struct fake_result *result)
{
  for (size_t i = 0; i < result->count; i++) {
    fake_out_key_value(block, &result->cells[i]);
  }
}

struct fake_out fake_spoilt_reply(struct fake_out *body, struct fake_out *block,
                                  const struct fake_request *request,
                                  const struct fake_fault *fault)
{
  if (fault->what == FAKE_BAD_MESSAGE) {
    fake_out_bytes(body, "bad", 3);
    memset(body->data, 0xff, body->len);
  } else if (fault->what == FAKE_SPARE_BYTES) {
    fake_out_bytes(block, "spare", 5);
  }
  return fake_reply(request->call_id, body, block);
}

/* ---- Get ------------------------------------------------------------------------------------ */

static struct fake_out write_result(const struct fake_result *result, bool inlined,
                                    const struct fake_request *request,
                                    const struct fake_fault *fault)
{
  Kr__Pb__GetResponse response = KR__PB__GET_RESPONSE__INIT;
  struct fake_out body = {0}, block = {0};
  Kr__Pb__Result *message = fake_result_message(result, inlined);

  message->associated_cell_count += fault->what == FAKE_BAD_COUNTS;
  response.result = fault->what != FAKE_NO_RESULT ? message : NULL;
  fake_out_packed(&body, &response.base);
  if (!inlined && response.result != NULL) {
    fake_out_result_cells(&block, result);
  }
  kr__pb__result__free_unpacked(message, NULL);
  return fake_spoilt_reply(&body, &block, request, fault);
}

/* Read what a Get asks for; else false, and what is wrong. */
static bool read_any(struct fake_result *out, struct fake_server *server,
                     const Kr__Pb__GetRequest *message, struct fake_exception *wrong)
{
  if (fake_get_is_closest(message)) {
    return fake_read_closest(out, server, message->get, wrong);
  }
  const struct fake_hosted *hosted = fake_find_hosted(server, message->region, wrong);

  return hosted != NULL && fake_read_row(out, server, hosted, message->get, wrong);
}

static struct fake_out answer_get(struct fake_server *server, const struct fake_request *request,
                                  const struct fake_fault *fault)
{
  struct fake_exception wrong;
  struct fake_result result;

  if (!read_any(&result, server, request->message, &wrong)) {
    return fake_exception_reply(request->call_id, &wrong);
  }
  bool inlined = fake_encoding_for(server, request) == FAKE_INLINE;
  struct fake_out bytes = write_result(&result, inlined, request, fault);

  free(result.cells);
  fake_note_executed(server, request->header->method_name);
  return bytes;
}

/* ---- What was seen -------------------------------------------------------------------------- */

/* One more column, behind a comma. */
static void note_column(struct fake_seen_get *seen, ProtobufCBinaryData family,
                        const ProtobufCBinaryData *qualifier)
{
  size_t len = strlen(seen->columns);
  char name[80], more[80] = "";

  fake_note_bytes(name, sizeof(name), family);
  if (qualifier != NULL) {
    fake_note_bytes(more, sizeof(more), *qualifier);
  }
  snprintf(seen->columns + len, sizeof(seen->columns) - len, "%s%s%s%s", len > 0 ? "," : "", name,
           qualifier != NULL ? ":" : "", more);
}

static void note_columns(struct fake_seen_get *seen, const Kr__Pb__Get *get)
{
  for (size_t i = 0; i < get->n_column; i++) {
    const Kr__Pb__Column *column = get->column[i];

    if (column->n_qualifier == 0) {
      note_column(seen, column->family, NULL);
    }
    for (size_t k = 0; k < column->n_qualifier; k++) {
      note_column(seen, column->family, &column->qualifier[k]);
    }
  }
}

void fake_note_get(struct fake_seen_get *seen, const struct fake_request *request,
                   const Kr__Pb__RegionSpecifier *region, const Kr__Pb__Get *get)
{
  *seen = (struct fake_seen_get){.priority = request->header->priority,
                                 .timeout_ms = request->header->timeout,
                                 .call_id = request->header->call_id};
  if (region != NULL) {
    fake_note_bytes(seen->region, sizeof(seen->region), region->value);
  }
  if (get != NULL) {
    seen->row_len = fake_note_bytes(seen->row, sizeof(seen->row), get->row);
    note_columns(seen, get);
    seen->max_versions = get->max_versions;
    seen->has_time_range = get->time_range != NULL;
    seen->from = seen->has_time_range ? (int64_t)get->time_range->from : 0;
    seen->to = seen->has_time_range ? (int64_t)get->time_range->to : 0;
    seen->existence_only = get->existence_only;
    seen->cache_blocks = get->cache_blocks;
    seen->closest_row_before = get->closest_row_before;
    seen->consistency = get->consistency;
  }
}

void fake_run_get(struct fake_server *server, struct fake_request *request)
{
  Kr__Pb__GetRequest *message =
      kr__pb__get_request__unpack(NULL, request->param.len, request->param.data);

  must_work(message != NULL);
  struct fake_target target = {message->region, message->get != NULL ? &message->get->row : NULL};

  server->counts.gets++;
  fake_note_get(&server->seen_get, request, message->region, message->get);
  request->message = message;
  request->targets = &target;
  request->target_count = 1;
  fake_play(server, request, answer_get);
  kr__pb__get_request__free_unpacked(message, NULL);
}
