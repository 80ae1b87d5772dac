/*
 * How much is it of the whole?
 *
 * Keys are bytes of any length, so that the size of a span of them is a matter of definition. Here
 * it is that of the numbers that their first eight bytes are, the first byte counting most; a
 * shorter key goes on with zeros, and unbounded is the whole. It says what fraction of keys made of
 * random bytes would fall into a region: exact for hashes as keys, and of no great use where all
 * keys begin alike, since then one region has it all. Nobody but the servers knows where the rows
 * are.
 */
#include "tools/share.h"

#include <stdio.h>
#include <string.h>

/* The first eight bytes of a key. */
static uint64_t number_of(struct keyroute_bytes key)
{
  const unsigned char *data = key.data;
  uint64_t number = 0;

  for (size_t i = 0; i < 8; i++) {
    number = number << 8 | (i < key.len ? data[i] : 0);
  }
  return number;
}

double share_of_keys(struct keyroute_bytes start, struct keyroute_bytes end)
{
  static const double all = 18446744073709551616.0; /* 2^64 */
  uint64_t from = number_of(start);
  uint64_t to = number_of(end);

  if (end.len == 0) {
    return from == 0 ? 1.0 : (double)(UINT64_MAX - from + 1) / all;
  }
  return to > from ? (double)(to - from) / all : 0.0;
}

void share_text(char out[SHARE_TEXT], double share)
{
  if (share >= 1.0) {
    strcpy(out, "100%");
  } else if (share < 0.0001) {
    strcpy(out, "<0.01%");
  } else {
    /* Cut, not rounded: what is less than all is never shown as 100.00%. */
    snprintf(out, SHARE_TEXT, "%u.%02u%%", (unsigned)(share * 100.0),
             (unsigned)(share * 10000.0) % 100);
  }
}

void share_bar(char out[SHARE_BAR_MAX + 1], size_t width, double share)
{
  size_t most = width < SHARE_BAR_MAX ? width : SHARE_BAR_MAX;
  size_t len = (size_t)(share * (double)most + 0.5);

  len = len < 1 ? 1 : len > most ? most : len;
  memset(out, '#', len);
  out[len] = '\0';
}
