/* ZooKeeper ensembles: what is accepted is written down as text that parses to the same hosts. */
#include "lib/connect_string.h"

#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_same(const struct kr_connect_string *a, const struct kr_connect_string *b)
{
  FUZZ_CHECK(a->count == b->count);
  for (size_t i = 0; i < a->count; i++) {
    FUZZ_CHECK(strcmp(a->hosts[i].host, b->hosts[i].host) == 0);
    FUZZ_CHECK(a->hosts[i].port == b->hosts[i].port);
  }
}

static void check_string(struct kr_mem *mem, const struct kr_connect_string *string)
{
  struct kr_connect_string *again = NULL;
  char reason[64] = "";
  char *text = kr_connect_string_format(string);

  FUZZ_CHECK(string->count > 0 && string->chroot != NULL);
  FUZZ_CHECK(string->chroot[0] == '\0' || string->chroot[0] == '/');
  for (size_t i = 0; i < string->count; i++) {
    fuzz_check_line(string->hosts[i].host);
    FUZZ_CHECK(string->hosts[i].port >= 1 && string->hosts[i].port <= 65535);
  }
  if (text == NULL) {
    FUZZ_CHECK(fuzz_mem_failed());
    return;
  }
  int error = kr_connect_string_parse(&again, mem, text, 1, reason, sizeof(reason));

  fuzz_check_error(error, 0, 0);
  if (error == 0) {
    check_same(string, again);
    FUZZ_CHECK(again->chroot[0] == '\0');
  }
  kr_connect_string_free(again);
  kr_free(mem, text);
}

int FUZZ_ENTRY(connect_string)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  char *text = fuzz_text(fuzz_rest(&input));
  struct kr_connect_string *string = NULL;
  char reason[64] = "";
  int error = kr_connect_string_parse(&string, mem, text, 2181, reason, sizeof(reason));

  fuzz_check_error(error, 0, KEYROUTE_E_INVALID_ARGUMENT);
  FUZZ_CHECK((string != NULL) == (error == 0));
  if (error == 0) {
    check_string(mem, string);
  } else if (error == KEYROUTE_E_INVALID_ARGUMENT) {
    fuzz_check_line(reason);
  }
  kr_connect_string_free(string);
  free(text);
  fuzz_mem_done(mem);
  return 0;
}
