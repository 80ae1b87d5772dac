/* The answer to a read of the rows "a", "b", ... of some regions: a MultiResponse and the cell
 * block behind it.
 * The input: bytes that a row may weigh, a fourth of them; how many rows each of four regions has,
 * in two bits each; the response's length (two bytes), the response, the block. */
#include "lib/hbase_multi.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

enum { REGIONS = 4, ROWS_EACH = 4 };

static const char letters[] = "abcdefghijklmnop";

static void make_gets(struct kr_gets *gets, struct kr_get_region *regions,
                      struct keyroute_bytes *rows, uint8_t counts)
{
  gets->regions = regions;
  gets->rows = rows;
  for (; gets->region_count < REGIONS; counts >>= 2) {
    size_t count = 1 + counts % ROWS_EACH;

    regions[gets->region_count++] =
        (struct kr_get_region){keyroute_string("t,,1."), gets->row_count, count};
    for (size_t i = 0; i < count; i++, gets->row_count++) {
      rows[gets->row_count] = kr_bytes(&letters[gets->row_count], 1);
    }
  }
}

int FUZZ_ENTRY(multi)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct kr_read read = {.max_versions = 1, .max_result_len = 4u * fuzz_u8(&input)};
  struct kr_get_region regions[REGIONS];
  struct keyroute_bytes rows[REGIONS * ROWS_EACH];
  struct kr_gets gets = {.read = &read};
  struct kr_rpc_reply reply = {.server = "rs1:16020"};
  struct kr_hbase_got got;
  struct kr_failure failure;

  make_gets(&gets, regions, rows, fuzz_u8(&input));
  size_t body_len = fuzz_u16(&input);

  reply.body = fuzz_bytes(&input, body_len);
  reply.cells = fuzz_rest(&input);
  int error = kr_hbase_multi_read(&got, mem, &reply, &gets, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error == 0) {
    fuzz_check_got(&got.got, &gets);
    kr_free(mem, got.got.block);
    kr_hbase_got_clear(&got);
  } else {
    FUZZ_CHECK(failure.code == error);
    fuzz_check_failure(&failure);
  }
  fuzz_mem_done(mem);
  return 0;
}
