/* Properties set one by one: which values are taken, and what becomes of ${...}.
 * The input: lines "name=value". Each is set twice, in options whose allocations fail as the first
 * byte says and in others: what the first ones take they take as the others do. */
#include "keyroute/keyroute.h"

#include "test/failing_mem.h"
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Each change costs as much as all that stands: no more than a fuzzer has patience for. */
enum { LINES_MAX = 12 };

static void check_same(const struct keyroute_options *a, const struct keyroute_options *b,
                       const char *name)
{
  const char *one = keyroute_options_get(a, name);
  const char *two = keyroute_options_get(b, name);

  FUZZ_CHECK((one == NULL) == (two == NULL));
  FUZZ_CHECK(one == NULL || strcmp(one, two) == 0);
}

static void set(struct keyroute_options *options, struct keyroute_options *sound, const char *name,
                const char *value)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int error = keyroute_options_set(options, name, value, &detail);

  fuzz_check_error(error, 0, KEYROUTE_E_INVALID_ARGUMENT);
  FUZZ_CHECK(detail.error == error);
  if (error != 0) {
    fuzz_check_line(detail.message);
  }
  if (error != KEYROUTE_E_NO_MEMORY) {
    FUZZ_CHECK(keyroute_options_set(sound, name, value, NULL) == error);
  }
  check_same(options, sound, name);
}

static void set_lines(struct keyroute_options *options, struct keyroute_options *sound, char *text)
{
  char *rest = text;

  for (int i = 0; i < LINES_MAX && rest != NULL; i++) {
    char *line = strsep(&rest, "\n");
    char *equals = strchr(line, '=');

    if (equals != NULL) {
      *equals = '\0';
      set(options, sound, line, equals + 1);
    }
  }
}

int FUZZ_ENTRY(property)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  unsigned fails = fuzz_u8(&input);
  char *text = fuzz_text(fuzz_rest(&input));
  struct keyroute_options *options = NULL;
  struct keyroute_options *sound = NULL;

  mem_fail(0);
  FUZZ_CHECK(keyroute_options_new(&options, &failing_allocator) == 0);
  FUZZ_CHECK(keyroute_options_new(&sound, NULL) == 0);
  mem_fail(fails);
  set_lines(options, sound, text);
  keyroute_options_free(options);
  keyroute_options_free(sound);
  free(text);
  mem_fail(0);
  FUZZ_CHECK(mem_live() == 0);
  return 0;
}
