/* The status that a call ended with, and its details.
 * The input: the code, flags (1 = connecting, 2 = resolving, 4 = too long, 8 = pushed back), the
 * text's length, the text, the details. */
#include "lib/bigtable_status.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

static const struct keyroute_bytes region = {"map,k5,7.r12.", 13};

/* A place is named in full, and with the fault that it belongs to; or not at all. */
static void check_place(const struct kr_failure *failure)
{
  bool named = failure->moved.host[0] != '\0';

  FUZZ_CHECK(named == (failure->fault == KEYROUTE_FAULT_MOVED));
  FUZZ_CHECK(named == (failure->kind == KEYROUTE_KIND_HINT));
  FUZZ_CHECK(strnlen(failure->moved.host, KR_HOST_MAX + 1) <= KR_HOST_MAX);
  FUZZ_CHECK(!named || (failure->moved.port > 0 && failure->moved.seqnum >= 0));
}

int FUZZ_ENTRY(bigtable_status)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct kr_grpc_status status = {.code = (int8_t)fuzz_u8(&input)};
  unsigned flags = fuzz_u8(&input);
  struct kr_failure failure;

  status.connecting = (flags & 1) != 0;
  status.resolving = (flags & 2) != 0;
  status.too_long = (flags & 4) != 0;
  status.pushback_ms = (flags & 8) != 0 ? 700 : -1;
  status.message = fuzz_bytes(&input, fuzz_u8(&input));
  status.details = fuzz_rest(&input);
  kr_bigtable_status_map(&failure, mem, &status, region);
  fuzz_check_failure(&failure);
  FUZZ_CHECK(failure.wait_ms <= 24 * 3600 * 1000);
  FUZZ_CHECK(failure.server[0] == '\0');
  check_place(&failure);
  fuzz_mem_done(mem);
  return 0;
}
