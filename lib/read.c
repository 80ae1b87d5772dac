/*
 * What an application wants to read of rows: checked and copied.
 *
 *  1. What HBase would refuse at each server is refused here once, before anything is sent: a row
 *     that is empty or too long for its int16 length, a column without a family.
 *  2. A copy is one piece of memory: the array of columns, then their bytes.
 *
 * Threads: any.  Source: HBase client.Get, client.Mutation.checkRow, HConstants.MAX_ROW_LENGTH
 */
#include "lib/read.h"

#include "lib/bytes.h"

#include <inttypes.h>
#include <string.h>

/* Lengths of HBase's keys: of a row in 16 bits with sign, of a family in 8. */
enum { ROW_MAX = INT16_MAX, FAMILY_MAX = INT8_MAX };

enum { COLUMNS_MAX = 1 << 20 };

static int check_columns(const struct keyroute_read *read, struct keyroute_detail *detail)
{
  if (read->column_count > COLUMNS_MAX || (read->columns == NULL && read->column_count > 0)) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          read->columns == NULL ? "%zu columns, but no array of them"
                                                : "%zu columns are too many",
                          read->column_count);
  }
  for (size_t i = 0; i < read->column_count; i++) {
    const struct keyroute_column *column = &read->columns[i];

    if (column->family.data == NULL || column->family.len == 0 || column->family.len > FAMILY_MAX) {
      return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                            "column %zu: the family has %zu bytes, not 1 to %d", i,
                            column->family.len, FAMILY_MAX);
    }
    if (column->qualifier.data == NULL && column->qualifier.len > 0) {
      return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                            "column %zu: the qualifier has a length but no data", i);
    }
  }
  return 0;
}

static int check_bounds(const struct keyroute_read *read, struct keyroute_detail *detail)
{
  if (read->max_versions < 0) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "%d versions", read->max_versions);
  }
  if (read->from_ms < 0 || read->to_ms < 0 || (read->to_ms > 0 && read->from_ms >= read->to_ms)) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "timestamps from %" PRId64 " to %" PRId64, read->from_ms, read->to_ms);
  }
  return 0;
}

int kr_read_check(struct kr_read *out, const struct keyroute_read *given, size_t frame_len,
                  struct keyroute_detail *detail)
{
  struct keyroute_read read = KEYROUTE_READ_INIT;

  if (given != NULL) {
    memcpy(&read, given, given->size < sizeof(read) ? given->size : sizeof(read));
    read.size = given->size;
  }
  if (read.size == 0) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the read's size is not set");
  }
  int error = check_columns(&read, detail);

  if (error != 0 || (error = check_bounds(&read, detail)) != 0) {
    return error;
  }
  *out = (struct kr_read){
      .columns = read.columns,
      .column_count = read.column_count,
      .max_versions = read.max_versions > 0 ? (uint32_t)read.max_versions : 1,
      .from_ms = read.from_ms,
      .to_ms = read.to_ms,
      .max_result_len = read.max_result_bytes > 0 ? read.max_result_bytes : frame_len,
  };
  return 0;
}

int kr_read_check_row(struct keyroute_bytes row, struct keyroute_detail *detail)
{
  if (row.data == NULL && row.len > 0) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the row has a length but no data");
  }
  if (row.len == 0 || row.len > ROW_MAX) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the row has %zu bytes, not 1 to %d",
                          row.len, ROW_MAX);
  }
  return 0;
}

size_t kr_read_size(const struct kr_read *read)
{
  size_t size = read->column_count * sizeof(read->columns[0]);

  for (size_t i = 0; i < read->column_count; i++) {
    size += read->columns[i].family.len + read->columns[i].qualifier.len;
  }
  return size;
}

void kr_read_copy(struct kr_read *out, void *room, const struct kr_read *read)
{
  struct keyroute_column *columns = room;
  uint8_t *to = (uint8_t *)(columns + read->column_count);

  *out = *read;
  out->columns = columns;
  for (size_t i = 0; i < read->column_count; i++) {
    columns[i].family = kr_bytes_put(&to, read->columns[i].family);
    columns[i].qualifier = kr_bytes_put(&to, read->columns[i].qualifier);
    if (read->columns[i].qualifier.data == NULL) {
      columns[i].qualifier.data = NULL; /* the whole family */
    }
  }
}

static size_t gets_size(const struct kr_gets *gets)
{
  size_t size = sizeof(*gets) + gets->region_count * sizeof(gets->regions[0]) +
                gets->row_count * sizeof(gets->rows[0]);

  for (size_t i = 0; i < gets->region_count; i++) {
    size += gets->regions[i].name.len;
  }
  for (size_t i = 0; i < gets->row_count; i++) {
    size += gets->rows[i].len;
  }
  return size;
}

struct kr_gets *kr_gets_copy(struct kr_mem *mem, const struct kr_gets *gets)
{
  struct kr_gets *out = kr_alloc(mem, gets_size(gets));

  if (out == NULL) {
    return NULL;
  }
  struct kr_get_region *regions = (struct kr_get_region *)(out + 1);
  struct keyroute_bytes *rows = (struct keyroute_bytes *)(regions + gets->region_count);
  uint8_t *to = (uint8_t *)(rows + gets->row_count);

  *out = *gets;
  out->regions = regions;
  out->rows = rows;
  for (size_t i = 0; i < gets->region_count; i++) {
    regions[i] = gets->regions[i];
    regions[i].name = kr_bytes_put(&to, gets->regions[i].name);
  }
  for (size_t i = 0; i < gets->row_count; i++) {
    rows[i] = kr_bytes_put(&to, gets->rows[i]);
  }
  return out;
}
