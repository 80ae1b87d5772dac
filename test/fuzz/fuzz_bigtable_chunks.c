/* The answer to a ReadRows: messages of chunks; then what a scan and a read of the rows "a" to "h"
 * make of it.
 * The input: flags (1 = reversed), a fourth of the bytes that a row may weigh, a 64th of those that
 * all may; then messages, each behind its length in two bytes. */
#include "lib/bigtable_rows.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

enum { ROWS = 8 };

static const char letters[] = "abcdefgh";

/* What is kept is in order, inside the bytes, and within its bounds. */
static void check_rows(const struct kr_bigtable_chunks *chunks)
{
  struct keyroute_bytes before = {NULL, 0}, all = kr_buf_view(&chunks->bytes);

  for (size_t i = 0; i < kr_bigtable_chunks_count(chunks); i++) {
    const struct kr_bigtable_row *row = kr_bigtable_chunks_row(chunks, i);
    const struct kr_bigtable_cell *cells = kr_bigtable_chunks_cells(chunks, row);
    struct keyroute_bytes key = kr_bigtable_chunks_bytes(chunks, row->key);
    int order = kr_bytes_compare(before, key);

    fuzz_check_inside(key, all);
    FUZZ_CHECK(key.len > 0);
    FUZZ_CHECK(i == 0 || (chunks->limits.reversed ? order > 0 : order < 0));
    FUZZ_CHECK((row->len > chunks->limits.max_row_len) == row->too_large);
    FUZZ_CHECK((row->cell_count == 0) == row->too_large);
    for (size_t k = 0; k < row->cell_count; k++) {
      fuzz_check_inside(kr_bigtable_chunks_bytes(chunks, cells[k].family), all);
      fuzz_check_inside(kr_bigtable_chunks_bytes(chunks, cells[k].qualifier), all);
      fuzz_check_inside(kr_bigtable_chunks_bytes(chunks, cells[k].value), all);
      FUZZ_CHECK(cells[k].family.len > 0);
    }
    before = key;
  }
}

static void check_scan(struct kr_mem *mem, const struct kr_bigtable_chunks *chunks)
{
  struct kr_rows rows;
  void *memory;
  int error = kr_bigtable_rows_make(&rows, &memory, mem, chunks, 3);

  fuzz_check_error(error, 0, 0);
  if (error == 0) {
    FUZZ_CHECK(rows.count <= 3);
    kr_free(mem, memory);
  }
}

static void check_get(struct kr_mem *mem, const struct kr_bigtable_chunks *chunks)
{
  struct kr_read read = {.max_versions = 1, .max_result_len = chunks->limits.max_row_len};
  struct kr_get_region region = {kr_bytes("map,,1.r1.", 10), 0, ROWS};
  struct keyroute_bytes rows[ROWS];
  struct kr_gets gets = {
      .read = &read, .regions = &region, .region_count = 1, .rows = rows, .row_count = ROWS};
  struct kr_bigtable_answer answer = {.chunks = chunks};
  struct kr_bigtable_got got;

  for (size_t i = 0; i < ROWS; i++) {
    rows[i] = kr_bytes(&letters[ROWS - 1 - i], 1);
  }
  int error = kr_bigtable_got_make(&got, mem, &gets, &answer, "n1:7000");

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error == 0) {
    fuzz_check_got(&got.got, &gets);
    kr_free(mem, got.got.block);
    kr_bigtable_got_clear(&got);
  }
}

int FUZZ_ENTRY(bigtable_chunks)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct kr_bigtable_limits limits = {.reversed = (fuzz_u8(&input) & 1) != 0};
  struct kr_bigtable_chunks chunks;
  int error = 0;

  limits.max_row_len = 4u * fuzz_u8(&input);
  limits.max_len = 64u * fuzz_u8(&input);
  kr_bigtable_chunks_init(&chunks, mem, &limits);
  while (error == 0 && !fuzz_over(&input)) {
    size_t message_len = fuzz_u16(&input);

    error = kr_bigtable_chunks_take(&chunks, fuzz_bytes(&input, message_len));
  }
  FUZZ_CHECK(error == kr_bigtable_chunks_take(&chunks, kr_bytes(NULL, 0)));
  error = kr_bigtable_chunks_end(&chunks);
  FUZZ_CHECK((error == KEYROUTE_E_PROTOCOL) == (chunks.trouble != NULL));
  if (error == 0) {
    FUZZ_CHECK(kr_bigtable_chunks_held(&chunks) <= limits.max_len);
    check_rows(&chunks);
    check_scan(mem, &chunks);
    if (!limits.reversed) {
      check_get(mem, &chunks);
    }
  } else if (error != KEYROUTE_E_TOO_LARGE) {
    fuzz_check_error(error, KEYROUTE_E_PROTOCOL, KEYROUTE_E_PROTOCOL);
  }
  kr_bigtable_chunks_clear(&chunks);
  fuzz_mem_done(mem);
  return 0;
}
