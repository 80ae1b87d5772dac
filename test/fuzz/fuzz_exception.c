/* An exception as a server sends it.
 * The input: flags, the length of the class's name, the class's name, the text. */
#include "lib/exception.h"

#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Where the text says that the region is. */
static void check_moved(const char *text)
{
  struct kr_place moved = {.seqnum = -99};

  if (kr_exception_moved(&moved, text)) {
    FUZZ_CHECK(strstr(text, moved.host) != NULL && moved.host[0] != '\0' && moved.port > 0);
    FUZZ_CHECK(moved.start_code >= 0 && moved.seqnum >= -1);
  } else {
    FUZZ_CHECK(moved.seqnum == -99);
  }
}

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
  FUZZ_CHECK(keyroute_fault_kind(kr_exception_fault(class_name)) != KEYROUTE_KIND_NONE);
  check_moved(text);
  free(class_name);
  free(text);
  return 0;
}
