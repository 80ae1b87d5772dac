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
 *
 * Pure: any thread. Source: hbase-client RegionInfo, RegionInfoBuilder; HBase.proto
 */
#include "lib/region.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/proto_alloc.h"

#include <md5.h>
#include <stdio.h>
#include <string.h>

#define PBUF_MAGIC 0x50425546u /* "PBUF" */
#define REPLICA_MAX 0xffff     /* four hex digits in a name */

/* ---- Names ----------------------------------------------------------------------------------- */

/* Read ".encoded.", or nothing at all. */
static bool parse_encoded(struct keyroute_bytes *encoded, struct keyroute_bytes rest)
{
  const char *text = rest.data;

  if (rest.len == 0) {
    *encoded = rest;
    return true;
  }
  if (rest.len != KR_REGION_ENCODED_LEN + 2 || text[0] != '.' ||
      text[KR_REGION_ENCODED_LEN + 1] != '.') {
    return false;
  }
  for (size_t i = 1; i <= KR_REGION_ENCODED_LEN; i++) {
    if (text[i] == '\0' || strchr("0123456789abcdef", text[i]) == NULL) {
      return false;
    }
  }
  *encoded = kr_bytes(text + 1, KR_REGION_ENCODED_LEN);
  return true;
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
  return (size_t)snprintf(out, KR_REGION_ID_ROOM, replica > 0 ? "%lld_%04X" : "%lld", (long long)id,
                          (unsigned)replica);
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

/* ---- RegionInfo ------------------------------------------------------------------------------ */

/* HBase requires region_id and both parts of the table's name; the rest has defaults. */
static bool believable(const Kr__Pb__RegionInfo *message)
{
  const Kr__Pb__TableName *table = message->table_name;

  return message->has_region_id && message->region_id <= INT64_MAX && table != NULL &&
         table->has_namespace_ && table->namespace_.len > 0 && table->has_qualifier &&
         table->qualifier.len > 0 && message->replica_id >= 0 && message->replica_id <= REPLICA_MAX;
}

/* Copy bytes to *at, move it behind them, and give the copy. */
static struct keyroute_bytes place(char **at, struct keyroute_bytes bytes)
{
  char *to = *at;

  if (bytes.len > 0) {
    memcpy(to, bytes.data, bytes.len);
  }
  *at += bytes.len;
  return kr_bytes(to, bytes.len);
}

static struct keyroute_bytes place_table(char **at, const Kr__Pb__TableName *table)
{
  char *to = *at;

  if (!kr_bytes_equal(kr_proto_bytes(table->namespace_), keyroute_string("default"))) {
    place(at, kr_proto_bytes(table->namespace_));
    place(at, kr_bytes(":", 1));
  }
  place(at, kr_proto_bytes(table->qualifier));
  return kr_bytes(to, (size_t)(*at - to));
}

/* Copy what a message says into one allocation; NULL = out of memory. */
static struct kr_region_info *info_new(struct kr_mem *mem, const Kr__Pb__RegionInfo *message)
{
  const Kr__Pb__TableName *table = message->table_name;
  size_t room = table->namespace_.len + 1 + table->qualifier.len + message->start_key.len +
                message->end_key.len;
  struct kr_region_info *info = kr_alloc(mem, sizeof(*info) + room);

  if (info == NULL) {
    return NULL;
  }
  char *at = (char *)(info + 1);

  info->table = place_table(&at, table);
  info->start_key = place(&at, kr_proto_bytes(message->start_key));
  info->end_key = place(&at, kr_proto_bytes(message->end_key));
  info->id = (int64_t)message->region_id;
  info->replica = message->replica_id;
  info->offline = message->offline;
  info->split = message->split;
  return info;
}

int kr_region_info_parse(struct kr_region_info **out, struct kr_mem *mem,
                         struct keyroute_bytes value)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  struct kr_reader reader = kr_reader(value);

  if (kr_read_u32(&reader) != PBUF_MAGIC) {
    return KEYROUTE_E_CORRUPT;
  }
  struct keyroute_bytes body = kr_read_bytes(&reader, kr_reader_left(&reader));
  bool is_short;
  Kr__Pb__RegionInfo *message =
      kr_proto_unpack(&kr__pb__region_info__descriptor, mem, body, &is_short);

  if (message == NULL) {
    return is_short ? KEYROUTE_E_NO_MEMORY : KEYROUTE_E_CORRUPT;
  }
  int error = believable(message) ? 0 : KEYROUTE_E_CORRUPT;

  if (error == 0) {
    struct kr_region_info *info = info_new(mem, message);

    if (info != NULL) {
      *out = info;
    } else {
      error = KEYROUTE_E_NO_MEMORY;
    }
  }
  kr__pb__region_info__free_unpacked(message, &allocator);
  return error;
}
