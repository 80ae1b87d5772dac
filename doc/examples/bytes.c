#include <keyroute/keyroute.h>
#include <stdio.h>

int main(void)
{
  char row[16];
  char text[64];
  size_t len = 0;

  int error = keyroute_unescape(row, &len, "a\\x00b");
  if (error != 0) {
    fprintf(stderr, "%s\n", keyroute_strerror(error));
    return 1;
  }
  keyroute_escape(text, sizeof(text), (struct keyroute_bytes){row, len});
  printf("%zu bytes: %s\n", len, text);
  return 0;
}
