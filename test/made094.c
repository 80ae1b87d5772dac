#include "test/made094.h"

#include "lib/bytes.h"
#include "lib/region.h"
#include "test/must.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_catalog(const struct made094 *region)
{
  return strcmp(region->table, ".META.") == 0 || strcmp(region->table, "-ROOT-") == 0;
}

void made094_name(struct kr_buf *out, const struct made094 *region)
{
  char text[80];

  kr_buf_text(out, region->table);
  kr_buf_u8(out, ',');
  kr_buf_bytes(out, region->start);
  snprintf(text, sizeof(text), ",%" PRId64, region->id);
  kr_buf_text(out, text);
  if (!region->old && !is_catalog(region)) {
    char encoded[33];

    kr_region_encoded_name(encoded, keyroute_string(region->table), region->start, region->id, 0);
    snprintf(text, sizeof(text), ".%s.", encoded);
    kr_buf_text(out, text);
  }
}

/* ---- Writables ---- */

static void write_len(struct kr_buf *out, size_t len)
{
  must_work(len < 1 << 24);
  if (len > UINT16_MAX) {
    kr_buf_u8(out, 0x8d);
    kr_buf_u8(out, (uint8_t)(len >> 16));
    kr_buf_u8(out, (uint8_t)(len >> 8));
  } else if (len > 255) {
    kr_buf_u8(out, 0x8e);
    kr_buf_u8(out, (uint8_t)(len >> 8));
  } else if (len > 127) {
    kr_buf_u8(out, 0x8f);
  }
  kr_buf_u8(out, (uint8_t)len);
}

static void write_bytes(struct kr_buf *out, struct keyroute_bytes bytes)
{
  write_len(out, bytes.len);
  kr_buf_bytes(out, bytes);
}

static void write_int64(struct kr_buf *out, int64_t value)
{
  kr_buf_u32(out, (uint32_t)((uint64_t)value >> 32));
  kr_buf_u32(out, (uint32_t)value);
}

/* A table with one value and no family. */
static void write_descriptor(struct kr_buf *out, const char *table)
{
  kr_buf_u32(out, 5);
  write_bytes(out, keyroute_string(table));
  kr_buf_bytes(out, kr_bytes("\0\0\0\0\0\1\0\0\0\7IS_META\0\0\0\5false\0\0\0\0", 30));
}

void made094_info(struct kr_buf *out, const struct made094 *region)
{
  struct kr_buf name;

  kr_buf_init(&name, out->mem);
  made094_name(&name, region);
  kr_buf_u8(out, region->old ? 0 : 1);
  write_bytes(out, region->end);
  kr_buf_u8(out, region->offline);
  write_int64(out, region->id);
  write_bytes(out, kr_buf_view(&name));
  kr_buf_u8(out, region->split);
  write_bytes(out, region->start);
  if (region->old) {
    write_descriptor(out, region->table);
  } else {
    write_bytes(out, keyroute_string(region->table));
  }
  kr_buf_u32(out, 0x703b1874);
  kr_buf_clear(&name);
}

void made094_cell(struct kr_buf *out, struct keyroute_bytes row, const char *family,
                  struct keyroute_bytes qualifier, int64_t timestamp, struct keyroute_bytes value)
{
  size_t key_len = 2 + row.len + 1 + strlen(family) + qualifier.len + 8 + 1;

  kr_buf_u32(out, (uint32_t)(8 + key_len + value.len));
  kr_buf_u32(out, (uint32_t)key_len);
  kr_buf_u32(out, (uint32_t)value.len);
  kr_buf_u8(out, (uint8_t)(row.len >> 8));
  kr_buf_u8(out, (uint8_t)row.len);
  kr_buf_bytes(out, row);
  kr_buf_u8(out, (uint8_t)strlen(family));
  kr_buf_text(out, family);
  kr_buf_bytes(out, qualifier);
  write_int64(out, timestamp);
  kr_buf_u8(out, 4);
  kr_buf_bytes(out, value);
}

/* ---- Frames ---- */

static unsigned digit(char c)
{
  static const char digits[] = "0123456789abcdef";
  const char *found = strchr(digits, c);

  must_work(c != '\0' && found != NULL);
  return (unsigned)(found - digits);
}

void made094_hex(struct kr_buf *out, const char *hex)
{
  for (; *hex != '\0'; hex++) {
    if (*hex != ' ') {
      unsigned high = digit(*hex++);

      kr_buf_u8(out, (uint8_t)(high << 4 | digit(*hex)));
    }
  }
}

void made094_reply(struct kr_buf *out, uint32_t id, int32_t state, struct keyroute_bytes body)
{
  kr_buf_u32(out, id);
  kr_buf_u8(out, state == 0 ? 2 : 3);
  kr_buf_u32(out, (uint32_t)(13 + body.len));
  kr_buf_u32(out, (uint32_t)state);
  kr_buf_bytes(out, body);
}

void made094_exception(struct kr_buf *out, uint32_t id, int32_t state, const char *class_name,
                       const char *text)
{
  struct kr_buf body;

  kr_buf_init(&body, out->mem);
  kr_buf_u32(&body, (uint32_t)strlen(class_name));
  kr_buf_text(&body, class_name);
  kr_buf_u32(&body, (uint32_t)strlen(text));
  kr_buf_text(&body, text);
  made094_reply(out, id, state, kr_buf_view(&body));
  kr_buf_clear(&body);
}

/* ---- Order ---- */

static struct keyroute_bytes span(const char *from, const char *to)
{
  return kr_bytes(from, (size_t)(to - from));
}

int made094_compare_meta(struct keyroute_bytes a, struct keyroute_bytes b)
{
  struct keyroute_bytes keys[] = {a, b}, parts[2][3];
  int order = 0;

  for (int i = 0; i < 2; i++) {
    const char *begin = keys[i].data, *end = begin + keys[i].len;
    const char *first = keys[i].len > 0 ? memchr(begin, ',', keys[i].len) : NULL;

    if (first == NULL) {
      parts[i][0].data = NULL;
      continue;
    }
    const char *last = memrchr(first + 1, ',', (size_t)(end - first - 1));

    must_work(last != NULL); /* a server would look for it in vain */
    parts[i][0] = span(begin, first);
    parts[i][1] = span(first + 1, last);
    parts[i][2] = span(last + 1, end);
  }
  if (parts[0][0].data == NULL || parts[1][0].data == NULL) {
    return (parts[0][0].data != NULL) - (parts[1][0].data != NULL);
  }
  for (int i = 0; i < 3 && order == 0; i++) {
    order = kr_bytes_compare(parts[0][i], parts[1][i]);
  }
  return order;
}

int made094_compare_root(struct keyroute_bytes a, struct keyroute_bytes b)
{
  struct keyroute_bytes keys[] = {a, b}, rows[2], ids[2];

  for (int i = 0; i < 2; i++) {
    const char *end = (const char *)keys[i].data + keys[i].len;
    const char *row = (const char *)keys[i].data + strlen(".META.,");

    must_work(keys[i].len >= 7 && memcmp(keys[i].data, ".META.,", 7) == 0);
    const char *last = memrchr(row, ',', (size_t)(end - row));

    must_work(last != NULL);
    rows[i] = span(row, last);
    ids[i] = span(last + 1, end);
  }
  int order = made094_compare_meta(rows[0], rows[1]);

  return order != 0 ? order : kr_bytes_compare(ids[0], ids[1]);
}
