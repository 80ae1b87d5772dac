/* The value of info:regioninfo, alone. */
#include "lib/region.h"

#include "test/fuzz/fuzz.h"

int FUZZ_ENTRY(region)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes value = fuzz_rest(&input);
  struct kr_region_info *info = NULL;
  int error = kr_region_info_parse(&info, mem, value);

  fuzz_check_error(error, 0, KEYROUTE_E_CORRUPT);
  FUZZ_CHECK((info != NULL) == (error == 0));
  if (info != NULL) {
    char encoded[33];

    FUZZ_CHECK(info->table.len > 0 && info->id >= 0);
    FUZZ_CHECK(info->replica >= 0 && info->replica <= 0xffff);
    FUZZ_CHECK(info->table.len + info->start_key.len + info->end_key.len <= value.len + 1);
    kr_region_encoded_name(encoded, info->table, info->start_key, info->id, info->replica);
    fuzz_check_line(encoded);
  }
  kr_free(mem, info);
  fuzz_mem_done(mem);
  return 0;
}
