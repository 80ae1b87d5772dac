/*
 * How the catalog spells the end of a region's name, which is all of it that table and start key do
 * not tell.
 *
 *   "5.7b520268c67d8870e20f6d880327ab7e."   the usual one: the id, and the MD5 of all before it
 *   "007.2ea1....", "5.0000...."            an id with zeros in front, or another hash: nobody
 *                                           knows why, but so the servers call it
 *   "6.r12."                                a range's
 *   "123", "1"                              of before HBase 0.92; of catalog regions, whose encoded
 *                                           name is known from elsewhere
 *
 * The usual one need not be kept, as it can be made anew; any other is, byte for byte:
 *
 *   uint32 length of the tail | uint32 length of the encoded name | tail | encoded name
 *
 *  1. The highest bit of the second length says that the tail shows the encoded name, before its
 *     closing dot; it is not written once more then.
 *  2. The bytes stand where they may: they are copied, never read in place as numbers.
 *
 * Pure: any thread. Source: HBase RegionInfo.createRegionName; keyroute_range(7)
 */
#include "lib/spelling.h"

#include "lib/region.h"

#include <string.h>

#define INSIDE (1u << 31)

struct lengths {
  uint32_t tail, encoded;
};

bool kr_spelling_is_usual(const struct kr_spelling *spelling, struct keyroute_bytes name,
                          int64_t id)
{
  const char *tail = spelling->tail.data;
  size_t len = spelling->tail.len;
  char id_text[KR_REGION_ID_ROOM], encoded[KR_REGION_ENCODED_LEN + 1];
  size_t id_len = kr_region_id_text(id_text, id, 0);

  /* First what costs less than a hash: no other spelling passes. */
  if (len != id_len + 1 + KR_REGION_ENCODED_LEN + 1 || memcmp(tail, id_text, id_len) != 0 ||
      tail[id_len] != '.' || tail[len - 1] != '.') {
    return false;
  }
  kr_region_hash(encoded, kr_bytes(name.data, name.len - len + id_len));
  return memcmp(tail + id_len + 1, encoded, KR_REGION_ENCODED_LEN) == 0;
}

bool kr_spelling_shows_encoded(const struct kr_spelling *spelling)
{
  const uint8_t *tail = spelling->tail.data;
  const uint8_t *encoded = spelling->encoded.data;

  return spelling->encoded.len > 0 && encoded >= tail && encoded < tail + spelling->tail.len;
}

size_t kr_spelling_kept_len(const struct kr_spelling *spelling)
{
  return sizeof(struct lengths) + spelling->tail.len +
         (kr_spelling_shows_encoded(spelling) ? 0 : spelling->encoded.len);
}

void kr_spelling_keep(uint8_t **to, const struct kr_spelling *spelling)
{
  struct lengths lengths = {(uint32_t)spelling->tail.len, (uint32_t)spelling->encoded.len};
  bool inside = kr_spelling_shows_encoded(spelling);

  lengths.encoded |= inside ? INSIDE : 0;
  kr_bytes_put(to, kr_bytes(&lengths, sizeof(lengths)));
  kr_bytes_put(to, spelling->tail);
  if (!inside) {
    kr_bytes_put(to, spelling->encoded);
  }
}

struct kr_spelling kr_spelling_kept(const uint8_t *at)
{
  struct lengths lengths;

  memcpy(&lengths, at, sizeof(lengths));
  const uint8_t *tail = at + sizeof(lengths);
  const uint8_t *encoded = tail + lengths.tail;
  size_t encoded_len = lengths.encoded & ~INSIDE;

  if ((lengths.encoded & INSIDE) != 0) {
    encoded -= encoded_len + 1;
  }
  return (struct kr_spelling){kr_bytes(tail, lengths.tail), kr_bytes(encoded, encoded_len)};
}
