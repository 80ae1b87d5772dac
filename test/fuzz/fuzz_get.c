/* The answer to a read of the row "r": a GetResponse and the cell block behind it.
 * The input: bytes that a row may weigh, a fourth of them; the response's length (two bytes), the
 * response, the block. */
#include "lib/hbase_get.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

int FUZZ_ENTRY(get)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct kr_read read = {.max_versions = 1, .max_result_len = 4u * fuzz_u8(&input)};
  struct kr_get_region region = {.name = keyroute_string("t,,1."), .count = 1};
  struct keyroute_bytes row = keyroute_string("r");
  struct kr_gets gets = {
      .read = &read, .regions = &region, .region_count = 1, .rows = &row, .row_count = 1};
  size_t body_len = fuzz_u16(&input);
  struct kr_rpc_reply reply = {.body = fuzz_bytes(&input, body_len), .server = "rs1:16020"};
  struct kr_hbase_got got;
  struct kr_failure failure;

  reply.cells = fuzz_rest(&input);
  int error = kr_hbase_get_read(&got, mem, &reply, &gets, &failure);

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
