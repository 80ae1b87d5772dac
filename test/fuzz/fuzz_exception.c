/* An exception as a server sends it.
 * The input: flags, the length of the class's name, the class's name, the text. */
#include "lib/exception.h"

#include "test/fuzz/fuzz.h"

#include <stdlib.h>

int FUZZ_ENTRY(exception)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  unsigned flags = fuzz_u8(&input);
  char *class_name = fuzz_text(fuzz_bytes(&input, fuzz_u8(&input)));
  char *text = fuzz_text(fuzz_rest(&input));
  struct kr_exception exception = {
      .class_name = (flags & 4) != 0 ? NULL : class_name,
      .text = (flags & 8) != 0 ? NULL : text,
      .do_not_retry = (flags & 1) != 0,
      .server_overloaded = (flags & 2) != 0,
  };
  struct kr_failure failure;

  kr_exception_map(&failure, &exception);
  fuzz_check_failure(&failure);
  FUZZ_CHECK(failure.code == KEYROUTE_E_REMOTE || failure.code == KEYROUTE_E_OVERLOADED ||
             failure.code == KEYROUTE_E_AUTH);
  FUZZ_CHECK(failure.wait_ms <= 24 * 3600 * 1000);
  FUZZ_CHECK(failure.wait_ms == 0 || failure.code == KEYROUTE_E_OVERLOADED);
  FUZZ_CHECK(failure.server[0] == '\0');
  free(class_name);
  free(text);
  return 0;
}
