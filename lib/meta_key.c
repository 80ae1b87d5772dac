/*
 * Row keys of HBase's catalogs, of whatever generation.
 *
 *     Table2,RK10000,1600000000000.d41d8cd98f00b204e9800998ecf8427e.   or without hash
 *
 *  1. A key is taken apart from both ends: the table ends at the first comma, the id begins behind
 *     the last one. What is between is the start key, commas and all. Bytes alone would order keys
 *     wrongly where a start key holds one below the comma.
 *  2. The key just below another one, for who cannot exclude that, is it with its last byte one
 *     lower and 0xff behind. Region names end in a dot or a digit, so no comma comes or goes, and
 *     no name lies in between.
 *
 * Pure functions.  Source: HBase MetaCellComparator, KeyValue.MetaComparator
 */
#include "lib/meta_key.h"

#include "lib/bytes.h"

#include <string.h>

struct kr_meta_key kr_meta_key_split(struct keyroute_bytes key)
{
  const char *data = key.len > 0 ? key.data : "";
  const char *end = data + key.len;
  const char *first = memchr(data, ',', key.len);
  struct kr_meta_key parts = {.table = kr_bytes(data, key.len)};

  if (first != NULL) {
    const char *rest = first + 1;
    const char *last = memrchr(rest, ',', (size_t)(end - rest));

    parts.table.len = (size_t)(first - data);
    parts.start = kr_bytes(rest, (size_t)((last != NULL ? last : end) - rest));
    if (last != NULL) {
      parts.id = kr_bytes(last + 1, (size_t)(end - last - 1));
    }
  }
  return parts;
}

static int compare_parts(struct keyroute_bytes a, struct keyroute_bytes b)
{
  int order = kr_bytes_compare(a, b);

  return order != 0 ? order : (a.data != NULL) - (b.data != NULL);
}

int kr_meta_key_compare(struct keyroute_bytes a, struct keyroute_bytes b)
{
  struct kr_meta_key left = kr_meta_key_split(a), right = kr_meta_key_split(b);
  int order = compare_parts(left.table, right.table);

  if (order == 0) {
    order = compare_parts(left.start, right.start);
  }
  return order != 0 ? order : compare_parts(left.id, right.id);
}

void kr_meta_key_write_below(struct kr_buf *out, struct keyroute_bytes key)
{
  const uint8_t *data = key.data;

  if (key.len == 0 || data[key.len - 1] == 0) {
    kr_buf_bytes(out, kr_bytes(data, key.len > 0 ? key.len - 1 : 0));
    return;
  }
  kr_buf_bytes(out, kr_bytes(data, key.len - 1));
  kr_buf_u8(out, (uint8_t)(data[key.len - 1] - 1));
  kr_buf_u8(out, 0xff);
}

struct keyroute_bytes kr_meta_key_table(struct keyroute_bytes key)
{
  const char *data = key.data;
  const char *comma = key.len > 0 ? memchr(data, ',', key.len) : NULL;

  return kr_bytes(data, comma != NULL ? (size_t)(comma + 1 - data) : 0);
}
