/*
 * Results: how the cells of an answer become those of the rows that were asked for.
 *
 * The cells of a result stand in the message, or in the cell block behind it, which holds those of
 * all results in the order of the results. What an application gets outlives the frame: so all is
 * copied, into one piece of memory for the whole answer.
 *
 *     kr_cell_block | keyroute_cell of all rows | bytes
 *
 *  1. Two passes over the same bytes: the first checks and counts, the second copies. Nothing is
 *     allocated for what an answer only claims.
 *  2. The cells announced must use up the block exactly: else no cell can be said to be of the row
 *     that it is taken for.
 *  3. All cells of a result are of the row asked for, byte by byte. One that is not condemns the
 *     whole answer, for it shows that answers are mixed up.
 *  4. A result marked partial isn't believed: nobody asked for parts, and taken as whole it would
 *     be a row that lacks cells. One without cells is good: there is no such row.
 *  5. A row with more bytes in its cells than allowed is not copied; it fails alone.
 *  6. The row is copied once for all its cells, and a family that follows its like is not copied
 *     again. Whether cells come in order isn't checked: servers sort them.
 *
 * Threads: any.
 * Source: Client.proto, Cell.proto; HBase ProtobufUtil.toResult, ResponseConverter.buildException
 */
#include "lib/hbase_cells.h"

#include "lib/bytes.h"
#include "lib/exception.h"
#include "lib/proto_alloc.h"

#include <inttypes.h>
#include <string.h>

#define PUT 4

/* Of an exception's text: more than is shown of it. */
#define TEXT_MAX 2048

struct kr_hbase_failed {
  struct kr_failure failure;
  struct kr_hbase_failed *next;
};

/* Where the copies go. */
struct room {
  struct kr_cell_block block;
  struct keyroute_cell cells[];
};

struct writer {
  struct keyroute_cell *cell;
  uint8_t *at;
};

/* What the copies take. */
struct total {
  uint64_t cells;
  uint64_t len;
};

/* ---- Rows and their failures ----------------------------------------------------------------- */

int kr_hbase_got_init(struct kr_hbase_got *out, struct kr_mem *mem, size_t row_count,
                      const struct kr_rpc_reply *reply)
{
  struct kr_got_row *rows = kr_calloc(mem, row_count * sizeof(*rows));

  if (rows == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  *out = (struct kr_hbase_got){.mem = mem, .rows = rows, .server = reply->server};
  out->got.rows = rows;
  out->got.row_count = row_count;
  out->got.len = reply->body.len + reply->cells.len;
  return 0;
}

void kr_hbase_got_clear(struct kr_hbase_got *got)
{
  while (got->failed != NULL) {
    struct kr_hbase_failed *failed = got->failed;

    got->failed = failed->next;
    kr_free(got->mem, failed);
  }
  kr_free(got->mem, got->rows);
  got->rows = NULL;
}

/* Room for one more failure; NULL = out of memory. */
static struct kr_failure *new_failure(struct kr_hbase_got *got)
{
  struct kr_hbase_failed *failed = kr_alloc(got->mem, sizeof(*failed));

  if (failed == NULL) {
    return NULL;
  }
  failed->next = got->failed;
  got->failed = failed;
  return &failed->failure;
}

/* Bytes that nobody has ended with a NUL, as text of at most size - 1. */
static void copy_text(char *out, size_t size, struct keyroute_bytes from)
{
  size_t len = from.len < size ? from.len : size - 1;

  if (len > 0) {
    memcpy(out, from.data, len);
  }
  out[len] = '\0';
}

const struct kr_failure *kr_hbase_got_exception(struct kr_hbase_got *got,
                                                const Kr__Pb__NameBytesPair *exception)
{
  struct kr_failure *failure = new_failure(got);
  char text[TEXT_MAX];

  if (failure != NULL) {
    copy_text(text, sizeof(text), kr_proto_bytes(exception->value));
    kr_exception_map(failure, &(struct kr_exception){.class_name = exception->name, .text = text});
    kr_fail_name_server(failure, got->server);
  }
  return failure;
}

const struct kr_failure *kr_hbase_got_failure(struct kr_hbase_got *got,
                                              const struct kr_failure *failure)
{
  struct kr_failure *copied = new_failure(got);

  if (copied != NULL) {
    *copied = *failure;
  }
  return copied;
}

static const struct kr_failure *too_large(struct kr_hbase_got *got, uint64_t len, size_t max_len)
{
  struct kr_failure *failure = new_failure(got);

  if (failure != NULL) {
    kr_fail(failure, KEYROUTE_E_TOO_LARGE,
            "a row of %" PRIu64 " bytes, over the limit of %zu for one row", len, max_len);
    kr_fail_name_server(failure, got->server);
    failure->sent = true;
  }
  return failure;
}

/* ---- Reading cells --------------------------------------------------------------------------- */

struct kr_cell kr_hbase_inline_cell(const Kr__Pb__Cell *from)
{
  return (struct kr_cell){
      .row = kr_proto_bytes(from->row),
      .family = kr_proto_bytes(from->family),
      .qualifier = kr_proto_bytes(from->qualifier),
      .value = kr_proto_bytes(from->value),
      .timestamp = (int64_t)from->timestamp,
      .type = from->has_cell_type ? (uint8_t)from->cell_type : PUT,
  };
}

/* The next cell of a result: views. */
static struct keyroute_cell read_cell(const Kr__Pb__Result *result, size_t index,
                                      struct kr_reader *block)
{
  bool is_inline = index < result->n_cell;
  struct kr_cell cell = is_inline ? kr_hbase_inline_cell(result->cell[index]) : kr_cell_read(block);

  return (struct keyroute_cell){
      .row = cell.row,
      .family = cell.family,
      .qualifier = cell.qualifier,
      .value = cell.value,
      .tags = is_inline ? kr_proto_bytes(result->cell[index]->tags) : kr_bytes(NULL, 0),
      .timestamp = cell.timestamp,
      .type = cell.type,
  };
}

/* Will the family be copied, or does the cell before this one have it already? */
static bool is_new_family(const struct keyroute_cell *cell, const struct keyroute_cell *before)
{
  return before == NULL || !kr_bytes_equal(cell->family, before->family);
}

/* ---- First pass: checking and counting ------------------------------------------------------- */

static const char *count_cells(struct kr_hbase_result *result, struct keyroute_bytes block)
{
  const Kr__Pb__Result *message = result->message;
  int32_t in_block = message->has_associated_cell_count ? message->associated_cell_count : 0;

  if (message->partial) {
    return "a partial row, which was not asked for";
  }
  if (in_block < 0 || (uint32_t)in_block > block.len / KR_CELL_MIN_LEN) {
    return "more cells announced than sent";
  }
  if (in_block > 0 && message->n_cell > 0) {
    return "cells of a row both in the message and behind it";
  }
  result->cell_count = in_block > 0 ? (size_t)in_block : message->n_cell;
  return NULL;
}

static const char *measure(struct kr_hbase_result *result, struct total *total,
                           struct kr_reader *block, size_t max_len)
{
  struct keyroute_cell cell, before = {.type = PUT};
  uint64_t copied_len = result->row.len;

  result->len = 0;
  for (size_t i = 0; i < result->cell_count; i++) {
    cell = read_cell(result->message, i, block);
    if (block->bad) {
      return "an unreadable cell";
    }
    if (!kr_bytes_equal(cell.row, result->row)) {
      return "a cell of another row than was asked for";
    }
    uint64_t len = (uint64_t)cell.qualifier.len + cell.value.len + cell.tags.len;

    result->len += len + cell.row.len + cell.family.len;
    copied_len += len + (is_new_family(&cell, i > 0 ? &before : NULL) ? cell.family.len : 0);
    before = cell;
  }
  if (result->cell_count > 0 && result->len <= max_len) {
    total->cells += result->cell_count;
    total->len += copied_len;
  }
  return NULL;
}

static const char *measure_all(struct total *total, struct kr_hbase_result *results, size_t count,
                               struct keyroute_bytes block, size_t max_len)
{
  struct kr_reader reader = kr_reader(block);

  *total = (struct total){0, 0};
  for (size_t i = 0; i < count; i++) {
    const char *trouble = count_cells(&results[i], block);

    if (trouble == NULL) {
      trouble = measure(&results[i], total, &reader, max_len);
    }
    if (trouble != NULL) {
      return trouble;
    }
  }
  return kr_reader_left(&reader) == 0 ? NULL : "more cells sent than announced";
}

/* ---- Second pass: copying -------------------------------------------------------------------- */

/* Copy the cells of a result; or, where none is wanted, only move over them. */
static void copy_cells(struct writer *to, const struct kr_hbase_result *result,
                       struct kr_reader *block, bool wanted)
{
  struct keyroute_bytes row = {NULL, 0};
  const struct keyroute_cell *before = NULL;

  for (size_t i = 0; i < result->cell_count; i++) {
    struct keyroute_cell cell = read_cell(result->message, i, block);

    if (!wanted) {
      continue;
    }
    row = i == 0 ? kr_bytes_put(&to->at, cell.row) : row;
    cell.row = row;
    cell.family =
        is_new_family(&cell, before) ? kr_bytes_put(&to->at, cell.family) : before->family;
    cell.qualifier = kr_bytes_put(&to->at, cell.qualifier);
    cell.value = kr_bytes_put(&to->at, cell.value);
    cell.tags = kr_bytes_put(&to->at, cell.tags);
    *to->cell = cell;
    before = to->cell++;
  }
}

/* NULL = out of memory. */
static struct room *new_room(struct kr_mem *mem, const struct total *total)
{
  uint64_t size = sizeof(struct room) + total->cells * sizeof(struct keyroute_cell) + total->len;

  return size <= SIZE_MAX / 2 ? kr_alloc(mem, (size_t)size) : NULL;
}

static void copy_all(struct kr_hbase_got *got, struct room *room, const struct total *total,
                     const struct kr_hbase_result *results, size_t count,
                     struct keyroute_bytes block)
{
  struct kr_reader reader = kr_reader(block);
  struct writer to = {room->cells, (uint8_t *)(room->cells + total->cells)};

  room->block.next = NULL;
  got->got.block = &room->block;
  for (size_t i = 0; i < count; i++) {
    struct kr_got_row *row = &got->rows[results[i].index];

    if (row->failure == NULL && results[i].cell_count > 0) {
      row->cells = to.cell;
      row->cell_count = results[i].cell_count;
    }
    copy_cells(&to, &results[i], &reader, row->failure == NULL);
  }
}

/* Say of each row what is true of it without its cells. Errors: NO_MEMORY. */
static int judge_rows(struct kr_hbase_got *got, const struct kr_hbase_result *results, size_t count,
                      size_t max_len)
{
  for (size_t i = 0; i < count; i++) {
    struct kr_got_row *row = &got->rows[results[i].index];

    row->stale = results[i].message->stale;
    if (results[i].len > max_len) {
      row->failure = too_large(got, results[i].len, max_len);
      if (row->failure == NULL) {
        return KEYROUTE_E_NO_MEMORY;
      }
    }
  }
  return 0;
}

int kr_hbase_got_results(struct kr_hbase_got *got, struct kr_hbase_result *results, size_t count,
                         struct keyroute_bytes block, size_t max_len, const char **trouble)
{
  struct total total;

  *trouble = measure_all(&total, results, count, block, max_len);
  if (*trouble != NULL) {
    return KEYROUTE_E_PROTOCOL;
  }
  if (judge_rows(got, results, count, max_len) != 0) {
    return KEYROUTE_E_NO_MEMORY;
  }
  if (total.cells > 0) {
    struct room *room = new_room(got->mem, &total);

    if (room == NULL) {
      return KEYROUTE_E_NO_MEMORY;
    }
    copy_all(got, room, &total, results, count, block);
  }
  return 0;
}

int kr_hbase_unread(struct kr_failure *failure, int error, const char *method, const char *trouble)
{
  if (error == KEYROUTE_E_NO_MEMORY) {
    kr_fail(failure, error, "answer to %s: out of memory", method);
  } else if (error != 0) {
    kr_fail(failure, error, "answer to %s: %s", method, trouble);
  }
  return error;
}
