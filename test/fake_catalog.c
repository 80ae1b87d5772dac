/*
 * The catalog of the scripted region server.
 *
 * Rows stand in one sorted array: tests have hundreds, at most some ten thousand. The comparator,
 * the region names with their MD5 and the values are written here anew instead of taken from the
 * library, so that a mistake there does not cancel itself out.
 *
 * Source: HBase MetaCellComparator, RegionInfo.createRegionName, MetaTableAccessor; RFC 1321 (MD5)
 */
#include "test/fake_catalog.h"

#include "lib/proto/hbase.pb-c.h"
#include "test/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_catalog {
  struct fake_row *rows;
  size_t count, cap;
};

static void *copy_bytes(const void *data, size_t len)
{
  void *copy = must(malloc(len + 1));

  if (len > 0) {
    memcpy(copy, data, len);
  }
  ((char *)copy)[len] = '\0';
  return copy;
}

/* ---- MD5 ------------------------------------------------------------------------------------ */

static uint32_t rotate(uint32_t value, unsigned by)
{
  return value << by | value >> (32 - by);
}

/* floor(2^32 * abs(sin(i + 1))) without a math library would need a table; this is that table. */
static const uint32_t md5_sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static void md5_block(uint32_t state[4], const uint8_t *block)
{
  static const uint8_t shifts[4][4] = {
      {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

  for (unsigned i = 0; i < 64; i++) {
    unsigned round = i / 16;
    unsigned word = (round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i) % 16;
    uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                     : round == 1 ? (d & b) | (~d & c)
                     : round == 2 ? b ^ c ^ d
                                  : c ^ (b | ~d);
    const uint8_t *at = block + 4 * word;
    uint32_t input =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    uint32_t next = b + rotate(a + mixed + md5_sines[i] + input, shifts[round][i % 4]);

    a = d;
    d = c;
    c = b;
    b = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

/* 32 hex digits and a NUL. */
static void md5_hex(char out[33], const uint8_t *data, size_t len)
{
  uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  size_t padded = (len + 8) / 64 * 64 + 64;
  uint8_t *all = must(calloc(1, padded));

  if (len > 0) {
    memcpy(all, data, len);
  }
  all[len] = 0x80;
  for (unsigned i = 0; i < 8; i++) {
    all[padded - 8 + i] = (uint8_t)((uint64_t)len * 8 >> (8 * i));
  }
  for (size_t at = 0; at < padded; at += 64) {
    md5_block(state, all + at);
  }
  for (unsigned i = 0; i < 16; i++) {
    snprintf(out + 2 * i, 3, "%02x", (unsigned)(state[i / 4] >> (8 * (i % 4)) & 0xff));
  }
  free(all);
}

/* ---- Order ---------------------------------------------------------------------------------- */

static int compare_bytes(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
  size_t common = a_len < b_len ? a_len : b_len;
  int order = common > 0 ? memcmp(a, b, common) : 0;

  if (order != 0) {
    return order;
  }
  return a_len < b_len ? -1 : a_len > b_len;
}

/* Where the next comma is, or len. */
static size_t first_comma(const uint8_t *at, size_t len)
{
  const uint8_t *comma = len > 0 ? memchr(at, ',', len) : NULL;

  return comma != NULL ? (size_t)(comma - at) : len;
}

static size_t last_comma(const uint8_t *at, size_t len)
{
  const uint8_t *comma = len > 0 ? memrchr(at, ',', len) : NULL;

  return comma != NULL ? (size_t)(comma - at) : len;
}

int fake_catalog_compare(struct keyroute_bytes left, struct keyroute_bytes right)
{
  const uint8_t *a = left.data, *b = right.data;
  size_t a_len = left.len, b_len = right.len;
  size_t a_part = first_comma(a, a_len), b_part = first_comma(b, b_len);
  int order = compare_bytes(a, a_part, b, b_part);

  if (order != 0 || a_part == a_len || b_part == b_len) {
    return order != 0 ? order : (a_part < a_len) - (b_part < b_len);
  }
  a += a_part + 1;
  a_len -= a_part + 1;
  b += b_part + 1;
  b_len -= b_part + 1;
  a_part = last_comma(a, a_len);
  b_part = last_comma(b, b_len);
  order = compare_bytes(a, a_part, b, b_part);
  if (order != 0 || a_part == a_len || b_part == b_len) {
    return order != 0 ? order : (a_part < a_len) - (b_part < b_len);
  }
  return compare_bytes(a + a_part + 1, a_len - a_part - 1, b + b_part + 1, b_len - b_part - 1);
}

/* The index of the first row not below the key. */
static size_t lower_bound(const struct fake_catalog *catalog, struct keyroute_bytes key)
{
  size_t low = 0, high = catalog->count;

  while (low < high) {
    size_t middle = (low + high) / 2;
    const struct fake_row *row = &catalog->rows[middle];

    if (fake_catalog_compare((struct keyroute_bytes){row->key, row->key_len}, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool is_at(const struct fake_catalog *catalog, size_t index, struct keyroute_bytes key)
{
  return index < catalog->count &&
         fake_catalog_compare(
             (struct keyroute_bytes){catalog->rows[index].key, catalog->rows[index].key_len},
             key) == 0;
}

/* ---- Rows and cells ------------------------------------------------------------------------- */

static void clear_cell(struct fake_cell *cell)
{
  free(cell->family);
  free(cell->qualifier);
  free(cell->value);
}

static void clear_row(struct fake_row *row)
{
  for (size_t i = 0; i < row->cell_count; i++) {
    clear_cell(&row->cells[i]);
  }
  free(row->cells);
  free(row->key);
}

struct fake_catalog *fake_catalog_new(void)
{
  return must(calloc(1, sizeof(struct fake_catalog)));
}

void fake_catalog_clear(struct fake_catalog *catalog)
{
  for (size_t i = 0; i < catalog->count; i++) {
    clear_row(&catalog->rows[i]);
  }
  catalog->count = 0;
}

void fake_catalog_free(struct fake_catalog *catalog)
{
  fake_catalog_clear(catalog);
  free(catalog->rows);
  free(catalog);
}

static void remove_row(struct fake_catalog *catalog, size_t index)
{
  clear_row(&catalog->rows[index]);
  catalog->count--;
  memmove(&catalog->rows[index], &catalog->rows[index + 1],
          (catalog->count - index) * sizeof(struct fake_row));
}

void fake_catalog_delete_row(struct fake_catalog *catalog, struct keyroute_bytes key)
{
  size_t index = lower_bound(catalog, key);

  if (is_at(catalog, index, key)) {
    remove_row(catalog, index);
  }
}

static struct fake_row *get_row(struct fake_catalog *catalog, struct keyroute_bytes key)
{
  size_t index = lower_bound(catalog, key);

  if (!is_at(catalog, index, key)) {
    if (catalog->count == catalog->cap) {
      catalog->cap = catalog->cap > 0 ? 2 * catalog->cap : 16;
      catalog->rows = must(realloc(catalog->rows, catalog->cap * sizeof(struct fake_row)));
    }
    memmove(&catalog->rows[index + 1], &catalog->rows[index],
            (catalog->count - index) * sizeof(struct fake_row));
    catalog->count++;
    catalog->rows[index] = (struct fake_row){copy_bytes(key.data, key.len), key.len, NULL, 0};
  }
  return &catalog->rows[index];
}

static int compare_cell(const struct fake_cell *cell, const char *family, const char *qualifier)
{
  int order = strcmp(cell->family, family);

  return order != 0 ? order : strcmp(cell->qualifier, qualifier);
}

static size_t find_cell(const struct fake_row *row, const char *family, const char *qualifier)
{
  size_t index = 0;

  while (index < row->cell_count && compare_cell(&row->cells[index], family, qualifier) < 0) {
    index++;
  }
  return index;
}

static bool is_cell(const struct fake_row *row, size_t index, const char *family,
                    const char *qualifier)
{
  return index < row->cell_count && compare_cell(&row->cells[index], family, qualifier) == 0;
}

void fake_catalog_put_cell(struct fake_catalog *catalog, struct keyroute_bytes key,
                           const char *family, const char *qualifier, struct keyroute_bytes value)
{
  struct fake_row *row = get_row(catalog, key);
  size_t index = find_cell(row, family, qualifier);

  if (is_cell(row, index, family, qualifier)) {
    clear_cell(&row->cells[index]);
  } else {
    row->cells = must(realloc(row->cells, (row->cell_count + 1) * sizeof(struct fake_cell)));
    memmove(&row->cells[index + 1], &row->cells[index],
            (row->cell_count - index) * sizeof(struct fake_cell));
    row->cell_count++;
  }
  row->cells[index] = (struct fake_cell){
      .family = copy_bytes(family, strlen(family)),
      .qualifier = copy_bytes(qualifier, strlen(qualifier)),
      .value = copy_bytes(value.data, value.len),
      .value_len = value.len,
      .timestamp = 1700000000000,
  };
}

void fake_catalog_delete_cell(struct fake_catalog *catalog, struct keyroute_bytes key,
                              const char *family, const char *qualifier)
{
  size_t at = lower_bound(catalog, key);

  if (!is_at(catalog, at, key)) {
    return;
  }
  struct fake_row *row = &catalog->rows[at];
  size_t index = find_cell(row, family, qualifier);

  if (is_cell(row, index, family, qualifier)) {
    clear_cell(&row->cells[index]);
    row->cell_count--;
    memmove(&row->cells[index], &row->cells[index + 1],
            (row->cell_count - index) * sizeof(struct fake_cell));
  }
  if (row->cell_count == 0) {
    remove_row(catalog, at);
  }
}

/* ---- Regions -------------------------------------------------------------------------------- */

struct keyroute_bytes fake_region_name(const struct fake_region *region)
{
  return fake_region_replica_name(region, 0);
}

struct keyroute_bytes fake_region_replica_name(const struct fake_region *region, int replica)
{
  size_t size = strlen(region->table) + region->start.len + 80;
  char *name = must(malloc(size));
  char encoded[33];
  size_t len = (size_t)snprintf(name, size, "%s,", region->table);

  if (region->start.len > 0) {
    memcpy(name + len, region->start.data, region->start.len);
    len += region->start.len;
  }
  len += (size_t)snprintf(name + len, size - len, ",%lld", (long long)region->id);
  if (replica > 0) {
    len += (size_t)snprintf(name + len, size - len, "_%04X", (unsigned)replica & 0xffff);
  }
  md5_hex(encoded, (const uint8_t *)name, len);
  len += (size_t)snprintf(name + len, size - len, ".%s.", encoded);
  return (struct keyroute_bytes){name, len};
}

static ProtobufCBinaryData binary(struct keyroute_bytes bytes)
{
  return (ProtobufCBinaryData){bytes.len, (uint8_t *)bytes.data};
}

/* The value of info:regioninfo. */
static struct keyroute_bytes region_info(const struct fake_region *region)
{
  Kr__Pb__RegionInfo info = KR__PB__REGION_INFO__INIT;
  Kr__Pb__TableName table = KR__PB__TABLE_NAME__INIT;
  const char *colon = strchr(region->table, ':');
  const char *space = colon != NULL ? region->table : "default";
  size_t space_len = colon != NULL ? (size_t)(colon - region->table) : strlen(space);

  table.has_namespace_ = true;
  table.namespace_ = binary((struct keyroute_bytes){space, space_len});
  table.has_qualifier = true;
  table.qualifier = binary(keyroute_string(colon != NULL ? colon + 1 : region->table));
  info.has_region_id = true;
  info.region_id = (uint64_t)region->id;
  info.table_name = &table;
  info.has_start_key = true;
  info.start_key = binary(region->start);
  info.has_end_key = true;
  info.end_key = binary(region->end);
  info.has_offline = true;
  info.offline = region->offline;
  info.has_split = true;
  info.split = region->split;
  info.has_replica_id = true;
  size_t len = kr__pb__region_info__get_packed_size(&info);
  uint8_t *value = must(malloc(4 + len));

  memcpy(value, "PBUF", 4);
  kr__pb__region_info__pack(&info, value + 4);
  return (struct keyroute_bytes){value, 4 + len};
}

static void put_number(struct fake_catalog *catalog, struct keyroute_bytes key,
                       const char *qualifier, int64_t number)
{
  uint8_t value[8];

  for (unsigned i = 0; i < 8; i++) {
    value[i] = (uint8_t)((uint64_t)number >> (56 - 8 * i));
  }
  fake_catalog_put_cell(catalog, key, "info", qualifier, (struct keyroute_bytes){value, 8});
}

static void put_replica(struct fake_catalog *catalog, struct keyroute_bytes key,
                        const struct fake_region *region, int replica)
{
  int port =
      region->replica_ports != NULL ? region->replica_ports[replica] : region->port + replica;
  char suffix[8] = "";
  char name[64];
  char text[300];

  if (replica > 0) {
    snprintf(suffix, sizeof(suffix), "_%04X", (unsigned)replica & 0xffff);
  }
  snprintf(name, sizeof(name), "server%s", suffix);
  snprintf(text, sizeof(text), "%s:%d", region->host, port);
  fake_catalog_put_cell(catalog, key, "info", name, keyroute_string(text));
  snprintf(name, sizeof(name), "sn%s", suffix);
  snprintf(text, sizeof(text), "%s,%d,%lld", region->host, port, (long long)region->start_code);
  fake_catalog_put_cell(catalog, key, "info", name, keyroute_string(text));
  snprintf(name, sizeof(name), "state%s", suffix);
  fake_catalog_put_cell(catalog, key, "info", name, keyroute_string("OPEN"));
  snprintf(name, sizeof(name), "serverstartcode%s", suffix);
  put_number(catalog, key, name, region->start_code);
  snprintf(name, sizeof(name), "seqnumDuringOpen%s", suffix);
  put_number(catalog, key, name, region->seqnum);
}

void fake_catalog_put_region(struct fake_catalog *catalog, const struct fake_region *region)
{
  struct keyroute_bytes key = fake_region_name(region);
  struct keyroute_bytes info = region_info(region);

  fake_catalog_delete_row(catalog, key);
  fake_catalog_put_cell(catalog, key, "info", "regioninfo", info);
  for (int i = 0; region->host != NULL && i < (region->replicas > 1 ? region->replicas : 1); i++) {
    put_replica(catalog, key, region, i);
  }
  free((void *)info.data);
  free((void *)key.data);
}

/* ---- Scans ---------------------------------------------------------------------------------- */

static bool has_family(const struct fake_row *row, const char *family)
{
  for (size_t i = 0; i < row->cell_count; i++) {
    if (family == NULL || strcmp(row->cells[i].family, family) == 0) {
      return true;
    }
  }
  return false;
}

/* The half-open span of indexes [*low, *high) that a scan covers. */
static void find_span(const struct fake_catalog *catalog, const struct fake_scan *scan, size_t *low,
                      size_t *high)
{
  struct keyroute_bytes from = scan->reversed ? scan->stop : scan->start;
  struct keyroute_bytes to = scan->reversed ? scan->start : scan->stop;
  bool include_from = scan->reversed ? scan->include_stop : scan->include_start;
  bool include_to = scan->reversed ? scan->include_start : scan->include_stop;

  *low = from.len > 0 ? lower_bound(catalog, from) : 0;
  *high = to.len > 0 ? lower_bound(catalog, to) : catalog->count;
  if (from.len > 0 && !include_from && is_at(catalog, *low, from)) {
    (*low)++;
  }
  if (to.len > 0 && include_to && is_at(catalog, *high, to)) {
    (*high)++;
  }
}

size_t fake_catalog_scan(struct fake_catalog *catalog, const struct fake_scan *scan,
                         const struct fake_row **rows, bool *more)
{
  size_t low, high;
  size_t count = 0;

  find_span(catalog, scan, &low, &high);
  *more = false;
  for (size_t i = low; i < high; i++) {
    const struct fake_row *row = &catalog->rows[scan->reversed ? high - 1 - (i - low) : i];

    if (!has_family(row, scan->family)) {
      continue;
    }
    if (count == scan->limit) {
      *more = true;
      break;
    }
    rows[count++] = row;
  }
  return count;
}
