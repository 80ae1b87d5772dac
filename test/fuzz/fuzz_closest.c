/* The answer to "the row closest before a key": a GetResponse and the cell block behind it.
 * The input: whether the key itself is wanted, the response's length (two bytes), the response, the
 * block. */
#include "lib/hbase_closest.h"

#include "lib/bytes.h"
#include "lib/meta_key.h"
#include "test/fuzz/fuzz.h"

/* It lies on the way down, and its cells are its own. */
static void check_row(const struct kr_row *row, const struct kr_scan *scan)
{
  int order = kr_meta_key_compare(row->key, scan->start_row);

  FUZZ_CHECK(row->key.len > 0 && row->cell_count > 0);
  FUZZ_CHECK(order < 0 || (order == 0 && scan->include_start));
  FUZZ_CHECK(kr_meta_key_compare(row->key, scan->stop_row) >= 0);
  for (size_t i = 0; i < row->cell_count; i++) {
    FUZZ_CHECK(kr_bytes_equal(row->cells[i].row, row->key));
  }
}

int FUZZ_ENTRY(closest)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct kr_scan scan = {
      .start_row = keyroute_string("t,k,1600000000001.0f."),
      .stop_row = keyroute_string("t,,"),
      .include_start = fuzz_u8(&input) % 2 == 0,
      .include_stop = true,
      .reversed = true,
      .limit = 3,
      .family = "info",
  };
  size_t body_len = fuzz_u16(&input);
  struct kr_rpc_reply reply = {.body = fuzz_bytes(&input, body_len)};
  struct kr_hbase_rows rows = {.response = NULL};
  struct kr_failure failure;

  reply.cells = fuzz_rest(&input);
  int error = kr_hbase_closest_read(&rows, mem, &reply, &scan, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error == 0) {
    FUZZ_CHECK(rows.rows.count <= 1 && rows.rows.more == (rows.rows.count == 1));
    for (size_t i = 0; i < rows.rows.count; i++) {
      check_row(&rows.rows.rows[i], &scan);
    }
    kr_hbase_rows_clear(&rows, mem);
  } else {
    FUZZ_CHECK(rows.response == NULL);
    fuzz_check_failure(&failure);
  }
  fuzz_mem_done(mem);
  return 0;
}
