/*
 * Scans of -ROOT- and .META. by what HBase 0.94 has for them.
 *
 * Down, there is getClosestRowBefore: the row at a key or the one closest before it, in one request
 * that leaves nothing on the server. It is a reversed scan of one row, so `more` is said of every
 * row found: whoever wants a second one asks below it. Up, there are scanners: opened, read once
 * and closed, three requests for one answer. Going up is for what lookups rarely ask: whether a
 * table has any region, where a hole ends. Nothing is prefetched, neither way.
 *
 *  1. getClosestRowBefore includes its key. What is to exclude it asks for the key just below
 *     (meta_key.c). Up, the key just behind another one is that and a NUL.
 *  2. It knows no end. Some releases answer with a row of the table before; that is no row here, as
 *     it is none where a stop row stands at the table's beginning. Other stop rows are not asked
 *     for downwards.
 *  3. Of the rows of one answer all that hbase_scan.c says is true: one key to a row, which is not
 *     empty, no more rows than asked for.
 *  4. A scanner that has reached its stop row, or the region's end, answers fewer rows than asked
 *     for. So there is never more behind them in this region.
 *
 * Threads: any.  Source: HBase 0.94 client.Scan, ipc.HRegionInterface, HRegionServer
 */
#include "lib/hbase094_scan.h"

#include "lib/bytes.h"
#include "lib/hbase094_result.h"
#include "lib/meta_key.h"

/* Of a Scan. */
enum { VERSION = 2 };

/* ---- Writing -------------------------------------------------------------------------------- */

/* A key as a byte array: itself, or what stands directly behind or below it. */
static void write_key(struct kr_buf *out, struct keyroute_bytes key, bool itself, bool below)
{
  struct kr_buf beside;

  kr_buf_init(&beside, out->mem);
  if (itself) {
    kr_buf_bytes(&beside, key);
  } else if (below) {
    kr_meta_key_write_below(&beside, key);
  } else {
    kr_buf_bytes(&beside, key);
    kr_buf_u8(&beside, 0);
  }
  kr_write_vbytes(out, kr_buf_view(&beside));
  out->failed = out->failed || beside.failed;
  kr_buf_clear(&beside);
}

void kr_hbase094_closest_write(struct kr_buf *out, const struct kr_scan *scan)
{
  kr_buf_u32(out, 3);
  kr_write_bytes_param(out, scan->region);
  kr_buf_u8(out, KR_WRITABLE_BYTES);
  write_key(out, scan->start_row, scan->include_start, true);
  kr_write_bytes_param(out, keyroute_string(scan->family));
}

static void write_all_times(struct kr_buf *out)
{
  kr_write_u64(out, 0);
  kr_write_u64(out, INT64_MAX);
  kr_buf_u8(out, true);
}

static void write_scan(struct kr_buf *out, const struct kr_scan *scan)
{
  bool has_stop = scan->stop_row.len > 0;

  kr_buf_u8(out, VERSION);
  write_key(out, scan->start_row, scan->include_start, false);
  write_key(out, scan->stop_row, !scan->include_stop || !has_stop, false);
  kr_buf_u32(out, 1);           /* versions */
  kr_buf_u32(out, UINT32_MAX);  /* cells of a row in one result: all of them */
  kr_buf_u32(out, scan->limit); /* caching */
  kr_buf_u8(out, true);         /* through the block cache */
  kr_buf_u8(out, false);        /* a filter */
  write_all_times(out);
  kr_buf_u32(out, 1); /* families; of that one no qualifiers, which means all */
  kr_write_vbytes(out, keyroute_string(scan->family));
  kr_buf_u32(out, 0);
  kr_buf_u32(out, 0); /* attributes */
}

void kr_hbase094_open_write(struct kr_buf *out, const struct kr_scan *scan)
{
  kr_buf_u32(out, 2);
  kr_write_bytes_param(out, scan->region);
  kr_buf_u8(out, KR_WRITABLE_SCAN);
  kr_buf_u8(out, KR_WRITABLE_SCAN);
  write_scan(out, scan);
}

void kr_hbase094_next_write(struct kr_buf *out, int64_t scanner, uint32_t rows)
{
  kr_buf_u32(out, 2);
  kr_write_long_param(out, scanner);
  kr_write_int_param(out, rows < INT32_MAX ? (int32_t)rows : INT32_MAX);
}

void kr_hbase094_close_write(struct kr_buf *out, int64_t scanner)
{
  kr_buf_u32(out, 1);
  kr_write_long_param(out, scanner);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Room for rows, and behind them for their cells. Errors: NO_MEMORY. */
static int make_room(struct kr_hbase094_rows *out, struct kr_mem *mem, size_t rows, size_t cells)
{
  out->memory = kr_alloc(mem, rows * sizeof(struct kr_row) + cells * sizeof(struct kr_cell));
  out->rows.rows = out->memory;
  return out->memory != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

/* Read a row's cells, which have been counted, and check that they are of one row. */
static const char *read_row(struct kr_row *row, struct kr_cell *cells, struct keyroute_bytes bytes)
{
  struct kr_reader reader = kr_reader(bytes);
  size_t count = 0;

  while (kr_reader_left(&reader) > 0) {
    cells[count] = kr_cell_read(&reader);
    if (!kr_bytes_equal(cells[count].row, cells[0].row)) {
      return "cells of two rows in one";
    }
    count++;
  }
  *row = (struct kr_row){cells[0].row, cells, count};
  return row->key.len > 0 ? NULL : "a row without a key";
}

static int end_read(struct kr_hbase094_rows *rows, struct kr_mem *mem, int error,
                    const char *method, const char *trouble, struct kr_failure *failure)
{
  if (trouble != NULL) {
    error = kr_fail(failure, KEYROUTE_E_PROTOCOL, "answer to %s: %s", method, trouble);
  } else if (error != 0) {
    kr_fail(failure, error, "answer to %s: out of memory", method);
  }
  if (error != 0) {
    kr_hbase094_rows_clear(rows, mem);
  }
  return error;
}

static bool begins_with(struct keyroute_bytes key, struct keyroute_bytes prefix)
{
  return key.len >= prefix.len && kr_bytes_equal(kr_bytes(key.data, prefix.len), prefix);
}

int kr_hbase094_closest_read(struct kr_hbase094_rows *out, struct kr_mem *mem,
                             const struct kr_rpc_reply *reply, struct keyroute_bytes table,
                             uint32_t limit, struct kr_failure *failure)
{
  struct keyroute_bytes bytes;
  size_t cells = 0;
  const char *trouble = kr_hbase094_read_result(&bytes, reply->body);
  int error = 0;

  *out = (struct kr_hbase094_rows){.memory = NULL};
  if (trouble == NULL) {
    trouble = kr_hbase094_count_cells(&cells, bytes);
  }
  if (trouble == NULL && cells > 0) {
    error = make_room(out, mem, 1, cells);
    struct kr_row *row = out->memory;

    if (error == 0) {
      trouble = read_row(row, (struct kr_cell *)(row + 1), bytes);
      out->rows.count = trouble == NULL && begins_with(row->key, table) ? 1 : 0;
      out->rows.more = out->rows.count < limit && out->rows.count > 0;
    }
  }
  return end_read(out, mem, error, "getClosestRowBefore", trouble, failure);
}

/* Count the rows that are to be kept, and their cells. All are checked. */
static const char *count_rows(size_t *rows, size_t *cells, struct keyroute_bytes body)
{
  struct kr_reader reader;
  const char *trouble = kr_hbase094_read_results(rows, &reader, body);

  *cells = 0;
  for (size_t i = 0; i < *rows && trouble == NULL; i++) {
    struct keyroute_bytes row = kr_hbase094_next_result(&reader);
    size_t count;

    if (reader.bad || row.len == 0) {
      return reader.bad ? "an unreadable row" : "a row without cells";
    }
    trouble = kr_hbase094_count_cells(&count, row);
    *cells += count;
  }
  if (trouble == NULL && kr_reader_left(&reader) > 0) {
    trouble = "more cells sent than announced";
  }
  return trouble;
}

static const char *read_rows(struct kr_row *rows, size_t count, struct keyroute_bytes body)
{
  struct kr_cell *cells = (struct kr_cell *)(rows + count);
  struct kr_reader reader;
  const char *trouble = kr_hbase094_read_results(&count, &reader, body);

  for (size_t i = 0; i < count && trouble == NULL; i++) {
    trouble = read_row(&rows[i], cells, kr_hbase094_next_result(&reader));
    cells += trouble == NULL ? rows[i].cell_count : 0;
  }
  return trouble;
}

int kr_hbase094_next_read(struct kr_hbase094_rows *out, struct kr_mem *mem,
                          const struct kr_rpc_reply *reply, uint32_t limit,
                          struct kr_failure *failure)
{
  size_t count, cells;
  const char *trouble = count_rows(&count, &cells, reply->body);
  int error = 0;

  *out = (struct kr_hbase094_rows){.memory = NULL};
  if (trouble == NULL && count > 0) {
    error = make_room(out, mem, count, cells);
    if (error == 0) {
      trouble = read_rows(out->memory, count, reply->body);
      out->rows.count = count < limit ? count : limit;
    }
  }
  return end_read(out, mem, error, "next", trouble, failure);
}

int kr_hbase094_open_read(int64_t *scanner, const struct kr_rpc_reply *reply,
                          struct kr_failure *failure)
{
  struct kr_hbase094_rows none = {.memory = NULL};
  const char *trouble = kr_hbase094_read_long(scanner, reply->body);

  return end_read(&none, NULL, 0, "openScanner", trouble, failure);
}

void kr_hbase094_rows_clear(struct kr_hbase094_rows *rows, struct kr_mem *mem)
{
  if (rows->memory != NULL) {
    kr_free(mem, rows->memory);
  }
}
