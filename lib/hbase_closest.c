/*
 * A reversed scan of hbase:meta where a server has only the row closest before a key.
 *
 * HBase 0.96 to 1.x: a Get that says closest_row_before, for one family. It is a scan of one row:
 * `more` is said of every row found, and whoever wants a second one asks below it. So it is a
 * request for each split parent that is met, and nothing is prefetched.
 *
 *  1. The key is included. A scan that excludes it asks for the key just below (meta_key.c).
 *  2. Servers look at the key's table and give no row of another one. So a key without a comma,
 *     which is behind all rows of a table, goes as the highest one that the table can have.
 *  3. There is no stop row. A row that is behind it is no row.
 *  4. A row above the key isn't believed. As for the rest, all that hbase_scan.c says of a row is
 *     true; but no result, or one without cells, is how servers say that there is none.
 *
 * Threads: any.
 * Source: Client.proto, HBase 0.98 HRegionServer.get, GetClosestRowBeforeTracker
 */
#include "lib/hbase_closest.h"

#include "lib/bytes.h"
#include "lib/hbase_cells.h"
#include "lib/hbase_rpc.h"
#include "lib/meta_key.h"
#include "lib/proto_alloc.h"

#include <string.h>

static const char nines[] = ",99999999999999";

/* ---- Writing -------------------------------------------------------------------------------- */

/* See invariant 2. */
static void write_last_key(struct kr_buf *out, struct keyroute_bytes table)
{
  size_t taken = table.len + sizeof(nines) - 1;
  size_t len = taken < KR_META_KEY_MAX ? KR_META_KEY_MAX - taken : 0;

  kr_buf_bytes(out, table);
  uint8_t *to = kr_buf_extend(out, len);

  if (to != NULL) {
    memset(to, 0xff, len);
  }
  kr_buf_text(out, nines);
}

static void write_key(struct kr_buf *out, const struct kr_scan *scan)
{
  struct keyroute_bytes table = kr_meta_key_table(scan->stop_row);

  if (table.len > 0 && kr_meta_key_table(scan->start_row).len == 0) {
    write_last_key(out, table);
  } else if (scan->include_start) {
    kr_buf_bytes(out, scan->start_row);
  } else {
    kr_meta_key_write_below(out, scan->start_row);
  }
}

static void write_request(struct kr_buf *out, const struct kr_scan *scan, struct keyroute_bytes key)
{
  Kr__Pb__GetRequest request = KR__PB__GET_REQUEST__INIT;
  Kr__Pb__RegionSpecifier region = kr_hbase_region(scan->region);
  Kr__Pb__Get get = KR__PB__GET__INIT;
  Kr__Pb__Column column = KR__PB__COLUMN__INIT;
  Kr__Pb__Column *columns[] = {&column};

  column.has_family = true;
  column.family = kr_proto_binary(keyroute_string(scan->family));
  get.has_row = true;
  get.row = kr_proto_binary(key);
  get.n_column = 1;
  get.column = columns;
  get.has_closest_row_before = true;
  get.closest_row_before = true;
  request.region = &region;
  request.get = &get;
  kr_hbase_write_message(out, &request.base);
}

void kr_hbase_closest_write(struct kr_buf *out, const struct kr_scan *scan)
{
  struct kr_buf key;

  kr_buf_init(&key, out->mem);
  write_key(&key, scan);
  if (key.failed) {
    out->failed = true;
  } else {
    write_request(out, scan, kr_buf_view(&key));
  }
  kr_buf_clear(&key);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Returns NULL, or what cannot be believed. */
static const char *count_cells(size_t *count, const Kr__Pb__Result *result,
                               struct keyroute_bytes block)
{
  int32_t behind = result != NULL ? result->associated_cell_count : 0;

  *count = result != NULL ? result->n_cell : 0;
  if (result != NULL && result->partial) {
    return "a partial row, which was not asked for";
  }
  if (*count > 0 && (behind > 0 || block.len > 0)) {
    return "cells both in the message and behind it";
  }
  if (behind < 0 || (size_t)behind > block.len / KR_CELL_MIN_LEN) {
    return "more cells announced than sent";
  }
  *count += (size_t)behind;
  return NULL;
}

/* Is the row one that the scan would have met? *trouble  it cannot have been */
static bool is_met(const struct kr_row *row, const struct kr_scan *scan, const char **trouble)
{
  int above = kr_meta_key_compare(row->key, scan->start_row);
  int below = scan->stop_row.len > 0 ? kr_meta_key_compare(scan->stop_row, row->key) : -1;

  if (above > 0 || (above == 0 && !scan->include_start)) {
    *trouble = "a row above the key that was asked for";
  }
  return below < 0 || (below == 0 && scan->include_stop);
}

/* A row and its cells, which have been counted, in one piece of memory. */
static int fill_row(struct kr_hbase_rows *out, struct kr_mem *mem, const Kr__Pb__Result *result,
                    size_t count, struct keyroute_bytes block, const struct kr_scan *scan,
                    const char **trouble)
{
  struct kr_reader reader = kr_reader(block);
  struct kr_row *row = kr_alloc(mem, sizeof(*row) + count * sizeof(struct kr_cell));

  if (row == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  out->memory = row;
  out->rows.rows = row;
  *trouble = kr_hbase_row_read(row, (struct kr_cell *)(row + 1), count,
                               result->n_cell > 0 ? result : NULL, &reader);
  if (*trouble == NULL && kr_reader_left(&reader) > 0) {
    *trouble = "more cells sent than announced";
  }
  if (*trouble == NULL) {
    out->rows.count = is_met(row, scan, trouble) ? 1 : 0;
    out->rows.more = out->rows.count > 0 && scan->limit > 1;
  }
  return *trouble == NULL ? 0 : KEYROUTE_E_PROTOCOL;
}

static int read_result(struct kr_hbase_rows *out, struct kr_mem *mem, const Kr__Pb__Result *result,
                       struct keyroute_bytes block, const struct kr_scan *scan,
                       const char **trouble)
{
  size_t count;

  *trouble = count_cells(&count, result, block);
  if (*trouble == NULL && count == 0 && block.len > 0) {
    *trouble = "more cells sent than announced";
  }
  if (*trouble != NULL) {
    return KEYROUTE_E_PROTOCOL;
  }
  return count > 0 ? fill_row(out, mem, result, count, block, scan, trouble) : 0;
}

int kr_hbase_closest_read(struct kr_hbase_rows *out, struct kr_mem *mem,
                          const struct kr_rpc_reply *reply, const struct kr_scan *scan,
                          struct kr_failure *failure)
{
  struct kr_hbase_rows rows = {.memory = NULL};
  const char *trouble = "an unreadable message";
  int error = KEYROUTE_E_PROTOCOL;
  bool is_short;
  Kr__Pb__GetResponse *response =
      kr_proto_unpack(&kr__pb__get_response__descriptor, mem, reply->body, &is_short);

  if (is_short) {
    error = KEYROUTE_E_NO_MEMORY;
  } else if (response != NULL) {
    rows.response = response;
    error = read_result(&rows, mem, response->result, reply->cells, scan, &trouble);
  }
  if (error == 0) {
    *out = rows;
  } else {
    kr_hbase_rows_clear(&rows, mem);
  }
  return kr_hbase_unread(failure, error, "Get", trouble);
}
