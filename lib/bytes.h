#ifndef KR_BYTES_H
#define KR_BYTES_H

#include "keyroute/keyroute.h"

/* Order of unsigned bytes; a prefix sorts first. Negative, 0, positive. */
int kr_bytes_compare(struct keyroute_bytes a, struct keyroute_bytes b);
bool kr_bytes_equal(struct keyroute_bytes a, struct keyroute_bytes b);

static inline struct keyroute_bytes kr_bytes(const void *data, size_t len)
{
  return (struct keyroute_bytes){data, len};
}

/* Read the decimal number at the front of a text. Returns how many digits it has; 0 if there is
 * none, or it is above max. */
size_t kr_bytes_number(int64_t *out, struct keyroute_bytes text, int64_t max);

/* For messages: the escaped bytes, and where they do not fit as many as do with "..." behind. out
 * has size bytes of room, NUL included; size >= 8. Returns out. */
char *kr_bytes_print(char *out, size_t size, struct keyroute_bytes bytes);

/* Copy bytes to where *to points, which moves behind them; the copy. */
struct keyroute_bytes kr_bytes_put(uint8_t **to, struct keyroute_bytes bytes);

#endif
