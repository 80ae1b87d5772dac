#ifndef KR_BYTES_H
#define KR_BYTES_H

#include "keyroute/keyroute.h"

/* For what a hit is made of, where a call would take as long as what is called. */
#define KR_ALWAYS_INLINE static inline __attribute__((always_inline))

/* Order of unsigned bytes; a prefix sorts first. Negative, 0, positive. */
int kr_bytes_compare(struct keyroute_bytes a, struct keyroute_bytes b);
bool kr_bytes_equal(struct keyroute_bytes a, struct keyroute_bytes b);

static inline struct keyroute_bytes kr_bytes(const void *data, size_t len)
{
  return (struct keyroute_bytes){data, len};
}

/* Eight bytes as a number whose order is theirs. */
static inline uint64_t kr_bytes_eight(const uint8_t *at)
{
  return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
         (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
         (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

/* Is a before b? The same as kr_bytes_compare(a, b) < 0, for hits: without a call where two short
 * keys differ early, as most do. */
static inline bool kr_bytes_below(struct keyroute_bytes a, struct keyroute_bytes b)
{
  const uint8_t *in_a = a.data, *in_b = b.data;
  size_t left = a.len < b.len ? a.len : b.len;

  for (; left >= 8; left -= 8, in_a += 8, in_b += 8) {
    uint64_t of_a = kr_bytes_eight(in_a), of_b = kr_bytes_eight(in_b);

    if (of_a != of_b) {
      return of_a < of_b;
    }
  }
  for (; left > 0; left--, in_a++, in_b++) {
    if (*in_a != *in_b) {
      return *in_a < *in_b;
    }
  }
  return a.len < b.len;
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
