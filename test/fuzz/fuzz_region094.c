/* The value of info:regioninfo of HBase before 0.96, alone. */
#include "lib/region094.h"

#include "test/fuzz/fuzz.h"

int FUZZ_ENTRY(region094)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes value = fuzz_rest(&input);
  struct kr_region_info *info = NULL;
  int error = kr_region094_info_parse(&info, mem, value);

  fuzz_check_error(error, 0, KEYROUTE_E_CORRUPT);
  FUZZ_CHECK((info != NULL) == (error == 0));
  if (info != NULL) {
    FUZZ_CHECK(info->table.len > 0 && info->id >= 0 && info->replica == 0);
    FUZZ_CHECK(info->table.len + info->start_key.len + info->end_key.len < value.len);
  }
  kr_free(mem, info);
  fuzz_mem_done(mem);
  return 0;
}
