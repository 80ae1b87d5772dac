#ifndef KR_HEADS_H
#define KR_HEADS_H

#include "lib/bytes.h"

/*
 * Heads: four bytes of each of up to 32 sorted keys, side by side, and how many of them are not
 * above another one.
 *
 *  1. A head is the next four bytes of a key as a big-endian number, zeros behind a key that ends
 *     within them. So heads are in the order of their keys, and equal ones say nothing.
 *  2. The top bit is flipped: signed numbers are then in the order of unsigned bytes, and signed is
 *     what SSE2 compares.
 *  3. There is room for whole groups of KR_HEADS_GROUP. What is behind the last head is
 *     KR_HEADS_PAD, above which there is none.
 *
 * Two ways to count, by SSE2 and plainly, give the same; KR_HEADS_PLAIN asks for the plain one.
 * Branches are what a search of sorted numbers is slow by: here there is one, and it depends on how
 * many there are, not on the key.
 */
#include <string.h>

#if defined(__SSE2__) && !defined(KR_HEADS_PLAIN)
#include <emmintrin.h>
#define KR_HEADS_SSE2 1
#endif

enum { KR_HEAD_LEN = 4, KR_HEADS_GROUP = 16, KR_HEADS_MAX = 2 * KR_HEADS_GROUP };

#define KR_HEADS_PAD INT32_MAX

static inline int32_t kr_head_of(struct keyroute_bytes key, size_t cut_len)
{
  const uint8_t *at = key.data;
  size_t len = key.len > cut_len ? key.len - cut_len : 0;
  uint32_t head = 0;

  if (len >= 4) {
    head = kr_bytes_four(at + cut_len);
  } else if (len > 0) {
    at += cut_len;
    head = (uint32_t)at[0] << 24 | (len > 1 ? (uint32_t)at[1] << 16 : 0) |
           (len > 2 ? (uint32_t)at[2] << 8 : 0);
  }
  return (int32_t)(head ^ 0x80000000u);
}

/* Room for so many heads, in heads: a search looks at one group at least. */
static inline size_t kr_heads_room(size_t count)
{
  return count > KR_HEADS_GROUP ? KR_HEADS_MAX : KR_HEADS_GROUP;
}

/* A bit for each head of a group: is it above? */
static inline unsigned kr_heads_above_plain(const int32_t *heads, int32_t head)
{
  unsigned above = 0;

  for (unsigned i = 0; i < KR_HEADS_GROUP; i++) {
    above |= (unsigned)(heads[i] > head) << i;
  }
  return above;
}

#ifdef KR_HEADS_SSE2
static inline unsigned kr_heads_above(const int32_t *heads, int32_t head)
{
  const __m128i *four = (const __m128i *)(const void *)heads;
  __m128i than = _mm_set1_epi32(head);
  __m128i a = _mm_cmpgt_epi32(_mm_loadu_si128(four), than);
  __m128i b = _mm_cmpgt_epi32(_mm_loadu_si128(four + 1), than);
  __m128i c = _mm_cmpgt_epi32(_mm_loadu_si128(four + 2), than);
  __m128i d = _mm_cmpgt_epi32(_mm_loadu_si128(four + 3), than);

  /* Packing keeps the sign: 4 x 4 masks of 32 bits become 16 of 8. */
  return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
}
#else
static inline unsigned kr_heads_above(const int32_t *heads, int32_t head)
{
  return kr_heads_above_plain(heads, head);
}
#endif

/* How many of the heads are not above that one. */
static inline size_t kr_heads_not_above(const int32_t *heads, size_t count, int32_t head)
{
  uint64_t above = kr_heads_above(heads, head);

  if (count > KR_HEADS_GROUP) {
    above |= (uint64_t)kr_heads_above(heads + KR_HEADS_GROUP, head) << KR_HEADS_GROUP;
  }
  return (size_t)__builtin_ctzll(above | 1ull << count);
}

#endif
