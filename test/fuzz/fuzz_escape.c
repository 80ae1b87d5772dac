/* Rows as text: what is escaped comes back the same, whatever the bytes; what is read as text is
 * never longer than it, and is written back to something that reads the same. */
#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* bytes -> text -> bytes, in a buffer that just fits. */
static void escape_and_back(struct keyroute_bytes bytes)
{
  size_t len = keyroute_escape(NULL, 0, bytes);
  char *text = malloc(len + 1);
  uint8_t *back = malloc(len + 1);
  size_t back_len = 0;

  FUZZ_CHECK(text != NULL && back != NULL);
  FUZZ_CHECK(len >= bytes.len && len <= 4 * bytes.len);
  FUZZ_CHECK(keyroute_escape(text, len + 1, bytes) == len && strlen(text) == len);
  if (len > 0) {
    fuzz_check_line(text);
  }
  FUZZ_CHECK(keyroute_unescape(back, &back_len, text) == 0);
  FUZZ_CHECK(kr_bytes_equal(kr_bytes(back, back_len), bytes));
  free(text);
  free(back);
}

/* Cut to a size: what is there is a whole number of characters of the whole text. */
static void escape_cut(struct keyroute_bytes bytes, size_t size)
{
  char *text = malloc(size);
  uint8_t *back = malloc(size);
  size_t back_len = 0;

  FUZZ_CHECK(text != NULL && back != NULL);
  size_t len = keyroute_escape(text, size, bytes);

  FUZZ_CHECK(strlen(text) < size);
  FUZZ_CHECK(keyroute_unescape(back, &back_len, text) == 0);
  FUZZ_CHECK(back_len <= bytes.len && memcmp(back, bytes.data, back_len) == 0);
  FUZZ_CHECK(len >= size || back_len == bytes.len);
  kr_bytes_print(text, size, bytes);
  FUZZ_CHECK(strlen(text) < size);
  free(text);
  free(back);
}

static void unescape(const char *text)
{
  size_t room = strlen(text);
  uint8_t *bytes = malloc(room + (room == 0));
  size_t len = 12345;
  int error;

  FUZZ_CHECK(bytes != NULL);
  error = keyroute_unescape(bytes, &len, text);
  FUZZ_CHECK(error == 0 || error == KEYROUTE_E_INVALID_ARGUMENT);
  if (error == 0) {
    FUZZ_CHECK(len <= room);
    escape_and_back(kr_bytes(bytes, len));
  } else {
    FUZZ_CHECK(len == 12345);
  }
  free(bytes);
}

int FUZZ_ENTRY(escape)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  size_t size = 8 + fuzz_u8(&input);
  struct keyroute_bytes bytes = fuzz_rest(&input);
  char *text = fuzz_text(bytes);

  escape_and_back(bytes);
  escape_cut(bytes, size);
  unescape(text);
  free(text);
  return 0;
}
