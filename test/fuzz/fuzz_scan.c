/* The answer to a scan: a ScanResponse and the cell block behind it.
 * The input: the limit, the response's length (two bytes), the response, the block. */
#include "lib/hbase_scan.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

static void check_row(const struct kr_row *row, struct keyroute_bytes block, bool inside)
{
  FUZZ_CHECK(row->key.len > 0 && row->cell_count > 0);
  for (size_t i = 0; i < row->cell_count; i++) {
    const struct kr_cell *cell = &row->cells[i];

    FUZZ_CHECK(kr_bytes_equal(cell->row, row->key));
    if (inside) {
      fuzz_check_inside(cell->row, block);
      fuzz_check_inside(cell->family, block);
      fuzz_check_inside(cell->qualifier, block);
      fuzz_check_inside(cell->value, block);
    }
  }
}

static size_t count_cells(const struct kr_rows *rows)
{
  size_t count = 0;

  for (size_t i = 0; i < rows->count; i++) {
    count += rows->rows[i].cell_count;
  }
  return count;
}

int FUZZ_ENTRY(scan)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  uint32_t limit = 1u + fuzz_u8(&input);
  size_t body_len = fuzz_u16(&input);
  struct kr_rpc_reply reply = {.body = fuzz_bytes(&input, body_len)};
  struct kr_hbase_rows rows = {.response = NULL};
  struct kr_failure failure;

  reply.cells = fuzz_rest(&input);
  int error = kr_hbase_scan_read(&rows, mem, &reply, limit, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error == 0) {
    FUZZ_CHECK(rows.rows.count <= limit && (!rows.rows.more || rows.rows.count < limit));
    FUZZ_CHECK(reply.cells.len == 0 || count_cells(&rows.rows) <= reply.cells.len / 24);
    for (size_t i = 0; i < rows.rows.count; i++) {
      check_row(&rows.rows.rows[i], reply.cells, reply.cells.len > 0);
    }
    kr_hbase_rows_clear(&rows, mem);
  } else {
    FUZZ_CHECK(rows.response == NULL);
    fuzz_check_failure(&failure);
  }
  fuzz_mem_done(mem);
  return 0;
}
