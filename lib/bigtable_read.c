/*
 * What is asked of a Bigtable node: the request of ReadRows for a scan of an index, and for rows of
 * users.
 *
 *  1. A range of rows has its lower bound first, whichever way it is read. A scan that is reversed
 *     starts at the upper one.
 *  2. Bounds are always sent where there are any: some servers look at every row within them before
 *     they think of the limit.
 *  3. A range without a row in it is an error to servers, so whoever sends asks first.
 *  4. Filters name families and columns as ranges of qualifiers, never as regular expressions:
 *     names hold any byte, and nothing needs quoting.
 *  5. No cell passes twice: a column named twice, or beside its whole family, is sent once.
 *  6. Of each column the newest versions within the timestamps: so the limit comes last.
 *  7. Timestamps are milliseconds here and microseconds there.
 *
 * Threads: any.  Source: google/bigtable/v2/bigtable.proto, data.proto
 */
#include "lib/bigtable_read.h"

#include "lib/bytes.h"
#include "lib/proto/bigtable.pb-c.h"
#include "lib/proto_alloc.h"

#include <stdlib.h>
#include <string.h>

typedef Kr__Bigtable__RowFilter row_filter;

/* Columns, timestamps, versions. */
enum { LINKS_MAX = 3 };

/* The greatest number of whole ms in microseconds. */
#define MICROS_MAX (INT64_MAX / 1000 * 1000)

/* ---- Names ----------------------------------------------------------------------------------- */

/* What stands between the last two dots; all of it if there are no two. */
static struct keyroute_bytes table_id(struct keyroute_bytes region)
{
  const char *text = region.data;
  const char *end = region.len > 0 ? memrchr(text, '.', region.len) : NULL;
  const char *before = end != NULL && end > text ? memrchr(text, '.', (size_t)(end - text)) : NULL;

  return before != NULL ? kr_bytes(before + 1, (size_t)(end - before) - 1) : region;
}

void kr_bigtable_table_write(struct kr_buf *out, const char *instance, struct keyroute_bytes region)
{
  kr_buf_text(out, instance);
  kr_buf_text(out, "/tables/");
  kr_buf_bytes(out, table_id(region));
}

/* Append the request to `out`, with the full name of its table. */
static void write_request(struct kr_buf *out, Kr__Bigtable__ReadRowsRequest *request,
                          struct keyroute_bytes table)
{
  request->has_table_name = true;
  request->table_name = kr_proto_binary(table);
  uint8_t *to = kr_buf_extend(out, protobuf_c_message_get_packed_size(&request->base));

  if (to != NULL) {
    protobuf_c_message_pack(&request->base, to);
  }
}

/* ---- Filters --------------------------------------------------------------------------------- */

static void limit_versions(row_filter *out, uint32_t versions)
{
  kr__bigtable__row_filter__init(out);
  out->has_cells_per_column_limit_filter = true;
  out->cells_per_column_limit_filter = versions < INT32_MAX ? (int32_t)versions : INT32_MAX;
}

/* One column, or with no qualifier a whole family. */
static void choose_column(row_filter *out, Kr__Bigtable__ColumnRange *range,
                          const struct keyroute_column *column)
{
  kr__bigtable__column_range__init(range);
  range->has_family_name = true;
  range->family_name = kr_proto_binary(column->family);
  if (column->qualifier.data != NULL) {
    range->has_start_qualifier_closed = true;
    range->start_qualifier_closed = kr_proto_binary(column->qualifier);
    range->has_end_qualifier_closed = true;
    range->end_qualifier_closed = kr_proto_binary(column->qualifier);
  }
  kr__bigtable__row_filter__init(out);
  out->column_range_filter = range;
}

static int64_t micros(int64_t ms)
{
  return ms < MICROS_MAX / 1000 ? ms * 1000 : MICROS_MAX;
}

static void choose_times(row_filter *out, Kr__Bigtable__TimestampRange *range,
                         const struct kr_read *read)
{
  kr__bigtable__timestamp_range__init(range);
  range->has_start_timestamp_micros = read->from_ms > 0;
  range->start_timestamp_micros = micros(read->from_ms);
  range->has_end_timestamp_micros = read->to_ms > 0;
  range->end_timestamp_micros = micros(read->to_ms);
  kr__bigtable__row_filter__init(out);
  out->timestamp_range_filter = range;
}

/* A chain of one is its only link. */
static row_filter *join_links(row_filter *out, Kr__Bigtable__RowFilter__Chain *chain,
                              row_filter **links, size_t count)
{
  if (count == 1) {
    return links[0];
  }
  kr__bigtable__row_filter__chain__init(chain);
  chain->n_filters = count;
  chain->filters = links;
  kr__bigtable__row_filter__init(out);
  out->chain = chain;
  return out;
}

/* ---- A scan ---------------------------------------------------------------------------------- */

/* One end of a range of rows; no key = there is none. */
struct bound {
  struct keyroute_bytes key;
  bool closed;
};

static void find_bounds(struct bound *low, struct bound *high, const struct kr_scan *scan)
{
  struct bound start = {scan->start_row, scan->include_start};
  struct bound stop = {scan->stop_row, scan->include_stop};

  *low = scan->reversed ? stop : start;
  *high = scan->reversed ? start : stop;
}

bool kr_bigtable_scan_is_empty(const struct kr_scan *scan)
{
  struct bound low, high;

  find_bounds(&low, &high, scan);
  int order = kr_bytes_compare(low.key, high.key);

  return high.key.len > 0 && (order > 0 || (order == 0 && !(low.closed && high.closed)));
}

static void fill_range(Kr__Bigtable__RowRange *range, const struct kr_scan *scan)
{
  struct bound low, high;

  find_bounds(&low, &high, scan);
  kr__bigtable__row_range__init(range);
  range->has_start_key_closed = low.key.len > 0 && low.closed;
  range->start_key_closed = kr_proto_binary(low.key);
  range->has_start_key_open = low.key.len > 0 && !low.closed;
  range->start_key_open = range->start_key_closed;
  range->has_end_key_closed = high.key.len > 0 && high.closed;
  range->end_key_closed = kr_proto_binary(high.key);
  range->has_end_key_open = high.key.len > 0 && !high.closed;
  range->end_key_open = range->end_key_closed;
}

void kr_bigtable_scan_write(struct kr_buf *out, struct keyroute_bytes table,
                            const struct kr_scan *scan)
{
  Kr__Bigtable__ReadRowsRequest request = KR__BIGTABLE__READ_ROWS_REQUEST__INIT;
  Kr__Bigtable__RowSet rows = KR__BIGTABLE__ROW_SET__INIT;
  Kr__Bigtable__RowRange range, *ranges[] = {&range};
  Kr__Bigtable__ColumnRange family;
  Kr__Bigtable__RowFilter__Chain chain;
  row_filter columns, versions, whole, *links[] = {&columns, &versions};
  struct keyroute_column column = {.family = keyroute_string(scan->family)};

  fill_range(&range, scan);
  rows.n_row_ranges = 1;
  rows.row_ranges = ranges;
  choose_column(&columns, &family, &column);
  limit_versions(&versions, 1);
  request.rows = &rows;
  request.filter = join_links(&whole, &chain, links, 2);
  request.has_rows_limit = true;
  request.rows_limit = scan->limit;
  request.has_reversed = scan->reversed;
  request.reversed = scan->reversed;
  write_request(out, &request, table);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* What a request for rows is made of; the arrays are in one piece of memory. */
struct parts {
  ProtobufCBinaryData *keys;
  const struct keyroute_column **columns; /* in order, each once */
  Kr__Bigtable__ColumnRange *ranges;
  row_filter *filters, **filter_list; /* one for each column */
  Kr__Bigtable__RowFilter__Interleave any_column;
  row_filter any, times, versions, whole;
  Kr__Bigtable__TimestampRange time_range;
  Kr__Bigtable__RowFilter__Chain chain;
  row_filter *links[LINKS_MAX];
};

/* Errors: NO_MEMORY. Release parts->keys. */
static int make_parts(struct parts *parts, struct kr_mem *mem, size_t keys, size_t columns)
{
  parts->keys =
      kr_alloc(mem, keys * sizeof(*parts->keys) +
                        columns * (sizeof(*parts->columns) + sizeof(*parts->ranges) +
                                   sizeof(*parts->filters) + sizeof(*parts->filter_list)));
  if (parts->keys == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  parts->ranges = (Kr__Bigtable__ColumnRange *)(parts->keys + keys);
  parts->filters = (row_filter *)(parts->ranges + columns);
  parts->filter_list = (row_filter **)(parts->filters + columns);
  parts->columns = (const struct keyroute_column **)(parts->filter_list + columns);
  return 0;
}

/* By family, the whole family first, then by qualifier. */
static int compare_columns(const void *left, const void *right)
{
  const struct keyroute_column *a = *(const struct keyroute_column *const *)left;
  const struct keyroute_column *b = *(const struct keyroute_column *const *)right;
  int order = kr_bytes_compare(a->family, b->family);

  if (order == 0) {
    order = (a->qualifier.data != NULL) - (b->qualifier.data != NULL);
  }
  return order != 0 ? order : kr_bytes_compare(a->qualifier, b->qualifier);
}

/* Does a column bring what one before it brings already? */
static bool is_covered(const struct keyroute_column *before, const struct keyroute_column *column)
{
  return kr_bytes_equal(before->family, column->family) &&
         (before->qualifier.data == NULL ||
          (column->qualifier.data != NULL && kr_bytes_equal(before->qualifier, column->qualifier)));
}

/* Put the columns in order, each once. Returns how many there are. */
static size_t sort_columns(struct parts *parts, const struct kr_read *read)
{
  size_t count = 0;

  for (size_t i = 0; i < read->column_count; i++) {
    parts->columns[i] = &read->columns[i];
  }
  qsort(parts->columns, read->column_count, sizeof(parts->columns[0]), compare_columns);
  for (size_t i = 0; i < read->column_count; i++) {
    if (count == 0 || !is_covered(parts->columns[count - 1], parts->columns[i])) {
      parts->columns[count++] = parts->columns[i];
    }
  }
  return count;
}

/* The filter that lets the columns pass; NULL = all pass. */
static row_filter *fill_columns(struct parts *parts, const struct kr_read *read)
{
  size_t count = read->column_count > 0 ? sort_columns(parts, read) : 0;

  for (size_t i = 0; i < count; i++) {
    choose_column(&parts->filters[i], &parts->ranges[i], parts->columns[i]);
    parts->filter_list[i] = &parts->filters[i];
  }
  if (count < 2) {
    return count > 0 ? parts->filters : NULL;
  }
  kr__bigtable__row_filter__interleave__init(&parts->any_column);
  parts->any_column.n_filters = count;
  parts->any_column.filters = parts->filter_list;
  kr__bigtable__row_filter__init(&parts->any);
  parts->any.interleave = &parts->any_column;
  return &parts->any;
}

static row_filter *fill_filter(struct parts *parts, const struct kr_read *read)
{
  row_filter *columns = fill_columns(parts, read);
  size_t count = 0;

  if (columns != NULL) {
    parts->links[count++] = columns;
  }
  if (read->from_ms > 0 || read->to_ms > 0) {
    choose_times(&parts->times, &parts->time_range, read);
    parts->links[count++] = &parts->times;
  }
  limit_versions(&parts->versions, read->max_versions);
  parts->links[count++] = &parts->versions;
  return join_links(&parts->whole, &parts->chain, parts->links, count);
}

void kr_bigtable_get_write(struct kr_buf *out, struct keyroute_bytes table,
                           const struct kr_gets *gets, const struct kr_get_region *region)
{
  Kr__Bigtable__ReadRowsRequest request = KR__BIGTABLE__READ_ROWS_REQUEST__INIT;
  Kr__Bigtable__RowSet rows = KR__BIGTABLE__ROW_SET__INIT;
  struct parts parts;

  if (make_parts(&parts, out->mem, region->count, gets->read->column_count) != 0) {
    out->failed = true;
    return;
  }
  for (size_t i = 0; i < region->count; i++) {
    parts.keys[i] = kr_proto_binary(gets->rows[region->first + i]);
  }
  rows.n_row_keys = region->count;
  rows.row_keys = parts.keys;
  request.rows = &rows;
  request.filter = fill_filter(&parts, gets->read);
  write_request(out, &request, table);
  kr_free(out->mem, parts.keys);
}
