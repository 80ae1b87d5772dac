#ifndef KR_BYTES_H
#define KR_BYTES_H

#include "keyroute/keyroute.h"

#include <string.h>

/* For what a hit is made of, where a call would take as long as what is called. */
#define KR_ALWAYS_INLINE static inline __attribute__((always_inline))

/* Order of unsigned bytes; a prefix sorts first. Negative, 0, positive. */
int kr_bytes_compare(struct keyroute_bytes a, struct keyroute_bytes b);

static inline struct keyroute_bytes kr_bytes(const void *data, size_t len)
{
  return (struct keyroute_bytes){data, len};
}

/* Inline, for most that differ do so in length. */
static inline bool kr_bytes_equal(struct keyroute_bytes a, struct keyroute_bytes b)
{
  return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Is it that text? Inline, for of a literal compilers know how long it is. */
static inline bool kr_bytes_is(struct keyroute_bytes bytes, const char *text)
{
  return kr_bytes_equal(bytes, kr_bytes(text, strlen(text)));
}

/* The bytes from there on, of which there are as many at least. By the address: those of an empty
 * key may be nowhere, and C has no NULL + 0. */
static inline struct keyroute_bytes kr_bytes_from(struct keyroute_bytes bytes, size_t at)
{
  return kr_bytes((const void *)((uintptr_t)bytes.data + at), bytes.len - at);
}

/* Eight or four bytes as a number whose order is theirs, the big-endian one. Written out, for
 * compilers make one load of that and none of a loop. */
static inline uint64_t kr_bytes_eight(const uint8_t *at)
{
  return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 | (uint64_t)at[2] << 40 |
         (uint64_t)at[3] << 32 | (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
         (uint64_t)at[6] << 8 | (uint64_t)at[7];
}

static inline uint32_t kr_bytes_four(const uint8_t *at)
{
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

/* Is a before b? The same as kr_bytes_compare(a, b) < 0, for hits: without a call, for keys that
 * are short or differ early. The last eight bytes may overlap others, which were equal. */
KR_ALWAYS_INLINE bool kr_bytes_below(struct keyroute_bytes a, struct keyroute_bytes b)
{
  const uint8_t *in_a = a.data, *in_b = b.data;
  size_t len = a.len < b.len ? a.len : b.len, at = 0;

  while (len - at >= 8 || (at > 0 && at < len)) {
    size_t from = len - at >= 8 ? at : len - 8;
    uint64_t of_a = kr_bytes_eight(in_a + from), of_b = kr_bytes_eight(in_b + from);

    if (of_a != of_b) {
      return of_a < of_b;
    }
    at = from + 8;
  }
  for (; at < len; at++) {
    if (in_a[at] != in_b[at]) {
      return in_a[at] < in_b[at];
    }
  }
  return a.len < b.len;
}

/* Are so many bytes the same? As kr_bytes_below, without a call; its branches depend on the length
 * alone. */
KR_ALWAYS_INLINE bool kr_bytes_same(const uint8_t *a, const uint8_t *b, size_t len)
{
  uint64_t differ = 0;

  if (len >= 8) {
    differ = (kr_bytes_eight(a) ^ kr_bytes_eight(b)) |
             (kr_bytes_eight(a + len - 8) ^ kr_bytes_eight(b + len - 8));
    for (size_t at = 8; at + 8 < len; at += 8) {
      differ |= kr_bytes_eight(a + at) ^ kr_bytes_eight(b + at);
    }
  } else if (len >= 4) {
    differ = (kr_bytes_four(a) ^ kr_bytes_four(b)) |
             (kr_bytes_four(a + len - 4) ^ kr_bytes_four(b + len - 4));
  } else {
    for (size_t at = 0; at < len; at++) {
      differ |= (uint64_t)(a[at] ^ b[at]);
    }
  }
  return differ == 0;
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
