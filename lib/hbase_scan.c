/*
 * A whole scan in one request: what is sent, and what of the answer is believed.
 *
 * The request opens a scanner, asks for its first rows and closes it: no lease remains on the
 * server and no second request is needed. `small` says the same to 1.x servers. It is read by
 * position (PREAD), through the block cache; partial rows and heartbeats are not announced, so the
 * server sends whole rows. limit_of_rows isn't sent: number_of_rows already bounds the one batch
 * there is, and servers before 2.0 do not know the other.
 *
 * All versions that the catalog keeps of a cell are asked for, and all but the newest skipped here.
 * A server that is asked for one only seeks the next column behind each cell, though most have no
 * second version; as long as a row has not been flushed, that is most of its work on it.
 *
 * Of the answer:
 *  1. Rows stand in the message or in the cell block, never in both. The counts of cells must use
 *     up the block exactly; they are added up and held against its size before anything is
 *     allocated.
 *  2. All cells of a result have one row key, which is not empty.
 *  3. A result without cells is not believed, though it could be skipped: it stands for a row that
 *     nobody can name, and a lookup that lost a row would call the table gone.
 *  4. Nor is a result marked partial. It was not announced, so no server sends one; taken as whole
 *     it would be a region without a server.
 *  5. More rows than asked for are cut off: the one who asked may have room for no more.
 *  6. `more` comes from a heartbeat or from more_results_in_region, and only when rows are lacking.
 *     more_results and scanner_id mean nothing here: servers send both for a closed scanner.
 *  7. Of the versions of a column the first is kept: it is the newest.
 *  8. Whether rows come in order and lie within the bounds is for the reader of rows to judge.
 *
 * Threads: any.  Source: Client.proto, HBase RSRpcServices.scan, ResponseConverter.getResults
 */
#include "lib/hbase_scan.h"

#include "lib/bytes.h"
#include "lib/hbase_cells.h"
#include "lib/hbase_rpc.h"
#include "lib/proto_alloc.h"

/* What catalogs keep of a cell unless told otherwise. (HConstants.DEFAULT_HBASE_META_VERSIONS) */
enum { VERSIONS = 3 };

/* ---- Writing -------------------------------------------------------------------------------- */

static void fill_scan(Kr__Pb__Scan *out, const struct kr_scan *scan)
{
  out->has_start_row = scan->start_row.len > 0;
  out->start_row = kr_proto_binary(scan->start_row);
  out->has_stop_row = scan->stop_row.len > 0;
  out->stop_row = kr_proto_binary(scan->stop_row);
  out->has_include_start_row = true;
  out->include_start_row = scan->include_start;
  out->has_include_stop_row = true;
  out->include_stop_row = scan->include_stop;
  out->has_max_result_size = scan->max_len > 0;
  out->max_result_size = scan->max_len;
  out->has_reversed = true;
  out->reversed = scan->reversed;
  out->has_max_versions = true;
  out->max_versions = VERSIONS;
  out->has_cache_blocks = true;
  out->cache_blocks = true;
  out->has_small = true;
  out->small = true;
  out->has_caching = true;
  out->caching = scan->limit;
  out->has_read_type = true;
  out->read_type = KR__PB__SCAN__READ_TYPE__PREAD;
}

void kr_hbase_scan_write(struct kr_buf *out, const struct kr_scan *scan)
{
  Kr__Pb__ScanRequest request = KR__PB__SCAN_REQUEST__INIT;
  Kr__Pb__RegionSpecifier region = kr_hbase_region(scan->region);
  Kr__Pb__Scan message = KR__PB__SCAN__INIT;
  Kr__Pb__Column column = KR__PB__COLUMN__INIT;
  Kr__Pb__Column *columns[] = {&column};

  column.has_family = true;
  column.family = kr_proto_binary(keyroute_string(scan->family));
  fill_scan(&message, scan);
  message.n_column = 1;
  message.column = columns;
  request.region = &region;
  request.scan = &message;
  request.has_number_of_rows = true;
  request.number_of_rows = scan->limit;
  request.has_close_scanner = true;
  request.close_scanner = true;
  kr_hbase_write_message(out, &request.base);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static size_t row_count(const Kr__Pb__ScanResponse *response)
{
  return response->n_results > 0 ? response->n_results : response->n_cells_per_result;
}

static size_t cells_of_row(const Kr__Pb__ScanResponse *response, size_t index)
{
  return response->n_results > 0 ? response->results[index]->n_cell
                                 : response->cells_per_result[index];
}

static bool any_partial(const Kr__Pb__ScanResponse *response)
{
  for (size_t i = 0; i < response->n_partial_flag_per_result; i++) {
    if (response->partial_flag_per_result[i]) {
      return true;
    }
  }
  for (size_t i = 0; i < response->n_results; i++) {
    if (response->results[i]->partial) {
      return true;
    }
  }
  return false;
}

/* Count all cells. Returns NULL, or what cannot be believed. */
static const char *count_cells(uint64_t *count, const Kr__Pb__ScanResponse *response,
                               struct keyroute_bytes block)
{
  *count = 0;
  if (any_partial(response)) {
    return "a partial row, which was not asked for";
  }
  if (response->n_results > 0 && (response->n_cells_per_result > 0 || block.len > 0)) {
    return "rows both in the message and behind it";
  }
  for (size_t i = 0; i < row_count(response); i++) {
    if (cells_of_row(response, i) == 0) {
      return "a row without cells";
    }
    *count += cells_of_row(response, i);
  }
  if (response->n_results == 0 && *count > block.len / KR_CELL_MIN_LEN) {
    return "more cells announced than sent";
  }
  return NULL;
}

/* Are both of one column? Versions come one after another, the newest first. */
static bool is_same_column(const struct kr_cell *a, const struct kr_cell *b)
{
  return kr_bytes_equal(a->qualifier, b->qualifier) && kr_bytes_equal(a->family, b->family);
}

const char *kr_hbase_row_read(struct kr_row *row, struct kr_cell *cells, size_t count,
                              const Kr__Pb__Result *result, struct kr_reader *block)
{
  size_t kept = 0;

  for (size_t i = 0; i < count; i++) {
    struct kr_cell cell =
        result != NULL ? kr_hbase_inline_cell(result->cell[i]) : kr_cell_read(block);

    if (block->bad) {
      return "an unreadable cell";
    }
    if (kept > 0 && !kr_bytes_equal(cell.row, cells[0].row)) {
      return "cells of two rows in one";
    }
    if (kept == 0 || !is_same_column(&cell, &cells[kept - 1])) {
      cells[kept++] = cell;
    }
  }
  *row = (struct kr_row){cells[0].row, cells, kept};
  return row->key.len > 0 ? NULL : "a row without a key";
}

/* Read all rows into room for them. All are checked, also those that will be cut off. */
static const char *read_rows(struct kr_row *rows, struct kr_cell *cells,
                             const Kr__Pb__ScanResponse *response, struct keyroute_bytes block)
{
  struct kr_reader reader = kr_reader(block);

  for (size_t i = 0; i < row_count(response); i++) {
    const Kr__Pb__Result *result = response->n_results > 0 ? response->results[i] : NULL;
    size_t count = cells_of_row(response, i);
    const char *trouble = kr_hbase_row_read(&rows[i], cells, count, result, &reader);

    if (trouble != NULL) {
      return trouble;
    }
    cells += count;
  }
  return kr_reader_left(&reader) == 0 ? NULL : "more cells sent than announced";
}

/* Rows first, then the cells of them all, in one piece of memory. */
static int fill_rows(struct kr_hbase_rows *out, struct kr_mem *mem,
                     const Kr__Pb__ScanResponse *response, struct keyroute_bytes block,
                     const char **trouble)
{
  size_t count = row_count(response);
  uint64_t cell_count;

  *trouble = count_cells(&cell_count, response, block);
  if (*trouble != NULL) {
    return KEYROUTE_E_PROTOCOL;
  }
  struct kr_row *rows =
      kr_alloc(mem, count * sizeof(struct kr_row) + (size_t)cell_count * sizeof(struct kr_cell));

  if (rows == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  out->memory = rows;
  out->rows.rows = rows;
  out->rows.count = count;
  *trouble = read_rows(rows, (struct kr_cell *)(rows + count), response, block);
  return *trouble == NULL ? 0 : KEYROUTE_E_PROTOCOL;
}

static void finish_rows(struct kr_hbase_rows *out, const Kr__Pb__ScanResponse *response,
                        uint32_t limit)
{
  struct kr_rows *rows = &out->rows;
  bool more = (response->has_more_results_in_region && response->more_results_in_region) ||
              (response->has_heartbeat_message && response->heartbeat_message);

  rows->more = more && rows->count < limit;
  rows->count = rows->count < limit ? rows->count : limit;
  out->tells_more = response->has_more_results_in_region;
}

int kr_hbase_scan_read(struct kr_hbase_rows *out, struct kr_mem *mem,
                       const struct kr_rpc_reply *reply, uint32_t limit, struct kr_failure *failure)
{
  struct kr_hbase_rows rows = {.memory = NULL};
  const char *trouble = "an unreadable message";
  int error = KEYROUTE_E_PROTOCOL;
  bool is_short;
  Kr__Pb__ScanResponse *response =
      kr_proto_unpack(&kr__pb__scan_response__descriptor, mem, reply->body, &is_short);

  if (is_short) {
    error = KEYROUTE_E_NO_MEMORY;
  } else if (response != NULL) {
    rows.response = response;
    error = fill_rows(&rows, mem, response, reply->cells, &trouble);
  }
  if (error == 0) {
    finish_rows(&rows, response, limit);
    *out = rows;
  } else if (error == KEYROUTE_E_NO_MEMORY) {
    kr_fail(failure, error, "answer to Scan: out of memory");
  } else {
    kr_fail(failure, error, "answer to Scan: %s", trouble);
  }
  if (error != 0) {
    kr_hbase_rows_clear(&rows, mem);
  }
  return error;
}

void kr_hbase_rows_clear(struct kr_hbase_rows *rows, struct kr_mem *mem)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);

  kr_free(mem, rows->memory);
  if (rows->response != NULL) {
    protobuf_c_message_free_unpacked(rows->response, &allocator);
  }
}
