/* Cells: whatever is read as a KeyValue is written back to the same bytes, and its parts lie in
 * them. */
#include "lib/cell.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

static void write_u64(struct kr_buf *out, uint64_t value)
{
  kr_buf_u32(out, (uint32_t)(value >> 32));
  kr_buf_u32(out, (uint32_t)value);
}

static void write_cell(struct kr_buf *out, const struct kr_cell *cell)
{
  uint32_t key_len = (uint32_t)(12 + cell->row.len + cell->family.len + cell->qualifier.len);

  kr_buf_u32(out, 8 + key_len + (uint32_t)cell->value.len);
  kr_buf_u32(out, key_len);
  kr_buf_u32(out, (uint32_t)cell->value.len);
  kr_buf_u8(out, (uint8_t)(cell->row.len >> 8));
  kr_buf_u8(out, (uint8_t)cell->row.len);
  kr_buf_bytes(out, cell->row);
  kr_buf_u8(out, (uint8_t)cell->family.len);
  kr_buf_bytes(out, cell->family);
  kr_buf_bytes(out, cell->qualifier);
  write_u64(out, (uint64_t)cell->timestamp);
  kr_buf_u8(out, cell->type);
  kr_buf_bytes(out, cell->value);
}

static void check_cell(struct kr_mem *mem, const struct kr_cell *cell, struct keyroute_bytes bytes)
{
  struct kr_row row = {cell->row, cell, 1};
  struct kr_buf again;

  fuzz_check_inside(cell->row, bytes);
  fuzz_check_inside(cell->family, bytes);
  fuzz_check_inside(cell->qualifier, bytes);
  fuzz_check_inside(cell->value, bytes);
  kr_row_find(&row, "info", "server");
  kr_buf_init(&again, mem);
  write_cell(&again, cell);
  FUZZ_CHECK(again.failed ? fuzz_mem_failed() : kr_bytes_equal(kr_buf_view(&again), bytes));
  kr_buf_clear(&again);
}

int FUZZ_ENTRY(cell)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct kr_reader reader = kr_reader(fuzz_rest(&input));

  while (kr_reader_left(&reader) > 0) {
    const uint8_t *began = reader.at;
    struct kr_cell cell = kr_cell_read(&reader);

    FUZZ_CHECK(reader.at <= reader.end);
    if (reader.bad) {
      FUZZ_CHECK(cell.row.len == 0 && cell.value.len == 0);
    } else {
      check_cell(mem, &cell, kr_bytes(began, (size_t)(reader.at - began)));
    }
  }
  fuzz_mem_done(mem);
  return 0;
}
