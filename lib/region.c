/*
 * What a region is called, and what its RegionInfo says.
 *
 * A catalog row's key is the region's name, "table,start,id.encoded.", and its column
 * info:regioninfo repeats the name's parts as a message, with the end key that a name lacks.
 *
 *  1. A table's name holds no comma and an id holds none, but a start key holds any byte: the table
 *     ends at the first comma, the id begins behind the last, whatever stands between is start key.
 *  2. What is not there, too large or left over makes the whole name or value CORRUPT. Whether a
 *     value fits its row is for the catalog to say.
 *  3. A RegionInfo is read field by field (wire.h), not unpacked: each row of the catalog has one,
 *     of which protobuf-c would make six pieces of memory.
 *
 * Pure: any thread. Source: hbase-client RegionInfo, RegionInfoBuilder; HBase.proto
 */
#include "lib/region.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/wire.h"

#include <md5.h>
#include <stdio.h>
#include <string.h>

#define PBUF_MAGIC 0x50425546u /* "PBUF" */
#define REPLICA_MAX 0xffff     /* four hex digits in a name */

/* ---- Names ----------------------------------------------------------------------------------- */

/* Those of an MD5: no capitals. Without a branch, for nobody can tell which way it would go. */
static unsigned is_hex_digit(char digit)
{
  return (unsigned)((uint8_t)(digit - '0') < 10) | (unsigned)((uint8_t)(digit - 'a') < 6);
}

/* Read ".encoded.", or nothing at all. */
static bool parse_encoded(struct keyroute_bytes *encoded, struct keyroute_bytes rest)
{
  const char *text = rest.data;
  unsigned all_digits = 1;

  if (rest.len == 0) {
    *encoded = rest;
    return true;
  }
  if (rest.len != KR_REGION_ENCODED_LEN + 2 || text[0] != '.' ||
      text[KR_REGION_ENCODED_LEN + 1] != '.') {
    return false;
  }
  for (size_t i = 1; i <= KR_REGION_ENCODED_LEN; i++) {
    all_digits &= is_hex_digit(text[i]);
  }
  *encoded = kr_bytes(text + 1, KR_REGION_ENCODED_LEN);
  return all_digits != 0;
}

/* Read what stands behind the last comma: "id" or "id.encoded.". */
static bool parse_tail(struct kr_region_name *out, struct keyroute_bytes tail)
{
  size_t digits = kr_bytes_number(&out->id, tail, INT64_MAX);

  return digits > 0 && parse_encoded(&out->encoded,
                                     kr_bytes((const char *)tail.data + digits, tail.len - digits));
}

int kr_region_name_parse(struct kr_region_name *out, struct keyroute_bytes name)
{
  const char *begin = name.data;
  const char *first = name.len > 0 ? memchr(begin, ',', name.len) : NULL;
  const char *last = name.len > 0 ? memrchr(begin, ',', name.len) : NULL;
  struct kr_region_name parsed;

  if (first == NULL || first == begin || first == last) {
    return KEYROUTE_E_CORRUPT;
  }
  parsed.table = kr_bytes(begin, (size_t)(first - begin));
  parsed.start_key = kr_bytes(first + 1, (size_t)(last - first - 1));
  if (!parse_tail(&parsed, kr_bytes(last + 1, (size_t)(begin + name.len - last - 1)))) {
    return KEYROUTE_E_CORRUPT;
  }
  *out = parsed;
  return 0;
}

static void hash(MD5_CTX *md5, struct keyroute_bytes bytes)
{
  if (bytes.len > 0) {
    MD5Update(md5, bytes.data, bytes.len);
  }
}

size_t kr_region_id_text(char out[KR_REGION_ID_ROOM], int64_t id, int replica)
{
  char digits[20];
  size_t len = 0, at = sizeof(digits);

  for (uint64_t left = (uint64_t)id; len == 0 || left > 0; left /= 10) {
    digits[--at] = (char)('0' + left % 10);
    len++;
  }
  memcpy(out, digits + at, len);
  if (replica > 0) {
    len += (size_t)snprintf(out + len, KR_REGION_ID_ROOM - len, "_%04X", (unsigned)replica);
  }
  return len;
}

void kr_region_encoded_name(char out[KR_REGION_ENCODED_LEN + 1], struct keyroute_bytes table,
                            struct keyroute_bytes start_key, int64_t id, int replica)
{
  char id_text[KR_REGION_ID_ROOM];
  size_t id_len = kr_region_id_text(id_text, id, replica);
  MD5_CTX md5;

  MD5Init(&md5);
  hash(&md5, table);
  hash(&md5, kr_bytes(",", 1));
  hash(&md5, start_key);
  hash(&md5, kr_bytes(",", 1));
  hash(&md5, kr_bytes(id_text, id_len));
  MD5End(&md5, out);
}

void kr_region_hash(char out[KR_REGION_ENCODED_LEN + 1], struct keyroute_bytes name)
{
  MD5_CTX md5;

  MD5Init(&md5);
  hash(&md5, name);
  MD5End(&md5, out);
}

/* ---- RegionInfo ------------------------------------------------------------------------------ */

/* What a message's fields are written with. */
enum {
  INFO_ID = KR_WIRE_NUMBER(1),
  INFO_TABLE = KR_WIRE_BYTES(2),
  INFO_START_KEY = KR_WIRE_BYTES(3),
  INFO_END_KEY = KR_WIRE_BYTES(4),
  INFO_OFFLINE = KR_WIRE_NUMBER(5),
  INFO_SPLIT = KR_WIRE_NUMBER(6),
  INFO_REPLICA = KR_WIRE_NUMBER(7),
  INFO_LAST = 7,
  TABLE_NAMESPACE = KR_WIRE_BYTES(1),
  TABLE_QUALIFIER = KR_WIRE_BYTES(2),
  TABLE_LAST = 2
};

/* What a message says: views into it. */
struct fields {
  struct keyroute_bytes namespace, qualifier, start_key, end_key;
  uint64_t id;
  int32_t replica;
  bool has_id, offline, split;
};

/* A field of a newer server is passed over; one that is known but of another kind is nonsense. */
static void pass_over(struct kr_reader *reader, uint64_t tag, unsigned last)
{
  reader->bad = reader->bad || tag >> 3 <= last;
}

static bool read_table(struct fields *out, struct keyroute_bytes message)
{
  struct kr_reader reader = kr_reader(message);

  while (kr_reader_left(&reader) > 0) {
    struct kr_wire_field field = kr_wire_read(&reader);

    if (field.tag == TABLE_NAMESPACE) {
      out->namespace = field.bytes;
    } else if (field.tag == TABLE_QUALIFIER) {
      out->qualifier = field.bytes;
    } else {
      pass_over(&reader, field.tag, TABLE_LAST);
    }
  }
  return !reader.bad;
}

static void read_field(struct fields *out, struct kr_reader *reader)
{
  struct kr_wire_field field = kr_wire_read(reader);

  switch (field.tag) {
  case INFO_ID:
    out->has_id = true;
    out->id = field.number;
    break;
  case INFO_TABLE:
    reader->bad = reader->bad || !read_table(out, field.bytes);
    break;
  case INFO_START_KEY:
    out->start_key = field.bytes;
    break;
  case INFO_END_KEY:
    out->end_key = field.bytes;
    break;
  case INFO_OFFLINE:
    out->offline = field.number != 0;
    break;
  case INFO_SPLIT:
    out->split = field.number != 0;
    break;
  case INFO_REPLICA:
    out->replica = (int32_t)field.number;
    break;
  default:
    pass_over(reader, field.tag, INFO_LAST);
  }
}

/* HBase requires region_id and both parts of the table's name; the rest has defaults. */
static bool believable(const struct fields *fields)
{
  return fields->has_id && fields->id <= INT64_MAX && fields->namespace.len > 0 &&
         fields->qualifier.len > 0 && fields->replica >= 0 && fields->replica <= REPLICA_MAX;
}

static bool read_info(struct fields *out, struct keyroute_bytes value)
{
  struct kr_reader reader = kr_reader(value);

  *out = (struct fields){.has_id = false};
  if (kr_read_u32(&reader) != PBUF_MAGIC) {
    return false;
  }
  while (kr_reader_left(&reader) > 0) {
    read_field(out, &reader);
  }
  return !reader.bad && believable(out);
}

static struct keyroute_bytes put_table(uint8_t **to, const struct fields *fields)
{
  const uint8_t *begin = *to;

  if (!kr_bytes_is(fields->namespace, "default")) {
    kr_bytes_put(to, fields->namespace);
    kr_bytes_put(to, kr_bytes(":", 1));
  }
  kr_bytes_put(to, fields->qualifier);
  return kr_bytes(begin, (size_t)(*to - begin));
}

int kr_region_info_parse(struct kr_region_info **out, struct kr_mem *mem,
                         struct keyroute_bytes value)
{
  struct fields fields;

  if (!read_info(&fields, value)) {
    return KEYROUTE_E_CORRUPT;
  }
  struct kr_region_info *info =
      kr_alloc(mem, sizeof(*info) + fields.namespace.len + 1 + fields.qualifier.len +
                        fields.start_key.len + fields.end_key.len);

  if (info == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  uint8_t *to = (uint8_t *)(info + 1);

  info->table = put_table(&to, &fields);
  info->start_key = kr_bytes_put(&to, fields.start_key);
  info->end_key = kr_bytes_put(&to, fields.end_key);
  info->id = (int64_t)fields.id;
  info->replica = fields.replica;
  info->offline = fields.offline;
  info->split = fields.split;
  *out = info;
  return 0;
}
