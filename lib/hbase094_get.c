/*
 * One row of HBase 0.94 in one request: how what is to be read is said, and where its cells are.
 *
 *  1. Columns are grouped by family, as in hbase_get.c: one of which the whole is wanted goes
 *     without qualifiers, for that is how it is said; the empty qualifier is a qualifier.
 *  2. Everything has its place and nothing may be left out: no lock, no filter, all times where
 *     none are said.
 *  3. An answer's cells are only found and counted here. hbase_cells.c says what of them is
 *     believed, as of those of any generation.
 *
 * There are no replicas and no tags, and whoever asks for what a replica has gets what there is.
 *
 * Threads: any.  Source: HBase 0.94 client.Get, io.TimeRange, HRegionServer.get
 */
#include "lib/hbase094_get.h"

#include "lib/bytes.h"
#include "lib/hbase094_result.h"

enum { VERSION = 2 };

/* ---- Writing -------------------------------------------------------------------------------- */

static bool same_family(const struct kr_read *read, size_t a, size_t b)
{
  return kr_bytes_equal(read->columns[a].family, read->columns[b].family);
}

/* Is this the first column of its family? The families are few, so each is looked for. */
static bool begins_family(const struct kr_read *read, size_t index)
{
  for (size_t i = 0; i < index; i++) {
    if (same_family(read, i, index)) {
      return false;
    }
  }
  return true;
}

static uint32_t count_families(const struct kr_read *read)
{
  uint32_t count = 0;

  for (size_t i = 0; i < read->column_count; i++) {
    count += begins_family(read, i);
  }
  return count;
}

/* How many qualifiers a family goes with; 0 = the whole of it is wanted. */
static uint32_t count_qualifiers(const struct kr_read *read, size_t first)
{
  uint32_t count = 0;

  for (size_t i = first; i < read->column_count; i++) {
    if (same_family(read, first, i)) {
      if (read->columns[i].qualifier.data == NULL) {
        return 0;
      }
      count++;
    }
  }
  return count;
}

static void write_family(struct kr_buf *out, const struct kr_read *read, size_t first)
{
  uint32_t qualifiers = count_qualifiers(read, first);

  kr_write_vbytes(out, read->columns[first].family);
  kr_buf_u8(out, qualifiers > 0);
  if (qualifiers == 0) {
    return;
  }
  kr_buf_u32(out, qualifiers);
  for (size_t i = first; i < read->column_count; i++) {
    if (same_family(read, first, i)) {
      kr_write_vbytes(out, read->columns[i].qualifier);
    }
  }
}

static void write_times(struct kr_buf *out, const struct kr_read *read)
{
  kr_write_u64(out, (uint64_t)read->from_ms);
  kr_write_u64(out, read->to_ms > 0 ? (uint64_t)read->to_ms : INT64_MAX);
  kr_buf_u8(out, read->from_ms == 0 && read->to_ms == 0); /* all of them */
}

static void write_get(struct kr_buf *out, const struct kr_read *read, struct keyroute_bytes row)
{
  uint32_t versions = read->max_versions < INT32_MAX ? read->max_versions : INT32_MAX;

  kr_buf_u8(out, VERSION);
  kr_write_vbytes(out, row);
  kr_write_u64(out, UINT64_MAX); /* no lock */
  kr_buf_u32(out, versions);
  kr_buf_u8(out, false); /* a filter */
  kr_buf_u8(out, true);  /* through the block cache */
  write_times(out, read);
  kr_buf_u32(out, count_families(read));
  for (size_t i = 0; i < read->column_count; i++) {
    if (begins_family(read, i)) {
      write_family(out, read, i);
    }
  }
  kr_buf_u32(out, 0); /* attributes */
}

void kr_hbase094_get_write(struct kr_buf *out, const struct kr_gets *gets,
                           struct keyroute_bytes region, struct keyroute_bytes row)
{
  kr_buf_u32(out, 2);
  kr_write_bytes_param(out, region);
  kr_buf_u8(out, KR_WRITABLE_GET);
  kr_buf_u8(out, KR_WRITABLE_GET);
  write_get(out, gets->read, row);
}

/* ---- Reading -------------------------------------------------------------------------------- */

int kr_hbase094_get_read(struct keyroute_bytes *cells, size_t *count,
                         const struct kr_rpc_reply *reply, struct kr_failure *failure)
{
  const char *trouble = kr_hbase094_read_result(cells, reply->body);

  if (trouble == NULL) {
    trouble = kr_hbase094_count_cells(count, *cells);
  }
  return kr_hbase_unread(failure, trouble != NULL ? KEYROUTE_E_PROTOCOL : 0, "get", trouble);
}
