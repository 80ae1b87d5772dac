/* Numbers and byte arrays as Hadoop writes them: a number read is written in no more bytes, and
 * read again it is the same. */
#include "lib/writable.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

static void check_number(struct kr_mem *mem, int64_t number, size_t len)
{
  struct kr_buf written;

  kr_buf_init(&written, mem);
  kr_write_vint(&written, number);
  if (!written.failed) {
    struct kr_reader again = kr_reader(kr_buf_view(&written));

    FUZZ_CHECK(written.len <= len && kr_read_vint(&again) == number);
    FUZZ_CHECK(!again.bad && kr_reader_left(&again) == 0);
  }
  kr_buf_clear(&written);
}

int FUZZ_ENTRY(writable)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes rest = fuzz_rest(&input);
  struct kr_reader numbers = kr_reader(rest);
  struct kr_reader arrays = kr_reader(rest);

  for (size_t left = rest.len; left > 0; left = kr_reader_left(&numbers)) {
    int64_t number = kr_read_vint(&numbers);

    if (!numbers.bad) {
      check_number(mem, number, left - kr_reader_left(&numbers));
    }
  }
  while (kr_reader_left(&arrays) > 0) {
    fuzz_check_inside(kr_read_vbytes(&arrays), rest);
    fuzz_check_inside(kr_read_string(&arrays), rest);
  }
  fuzz_mem_done(mem);
  return 0;
}
