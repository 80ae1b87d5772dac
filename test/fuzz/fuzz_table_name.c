/* Table names: the canonical spelling of what is accepted is accepted, and its own. */
#include "lib/table_name.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int FUZZ_ENTRY(table_name)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  char *name = fuzz_text(fuzz_rest(&input));
  struct keyroute_bytes canonical = kr_bytes("untouched", 9), again;
  const char *reason = NULL;
  int error = kr_table_name_check(&canonical, name, &reason);

  FUZZ_CHECK(error == 0 || error == KEYROUTE_E_INVALID_ARGUMENT);
  if (error == 0) {
    char *copy = fuzz_text(canonical);

    fuzz_check_inside(canonical, keyroute_string(name));
    FUZZ_CHECK(canonical.len > 0 && memchr(canonical.data, ',', canonical.len) == NULL);
    FUZZ_CHECK(kr_table_name_check(&again, copy, &reason) == 0);
    FUZZ_CHECK(kr_bytes_equal(again, canonical));
    free(copy);
  } else {
    FUZZ_CHECK(canonical.len == 9);
    fuzz_check_line(reason);
  }
  free(name);
  return 0;
}
