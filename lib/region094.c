/*
 * HRegionInfo as a Writable: what a region is, in the words of HBase before 0.96.
 *
 *     byte version | bytes end key | bool offline | int64 id | bytes region name | bool split |
 *     bytes start key | bytes table name                         | int32 hash    version 1
 *                     | int32 version | bytes table name | ...   | int32 hash    version 0
 *
 *  1. Version 0, of HBase before 0.92, holds the whole description of the table. Its name comes
 *     first; the rest has no length, is of no use here, and is not looked at.
 *  2. A value of version 1 ends behind the hash. The hash is one of Java's, and not looked at.
 *  3. The region's name repeats table, start key and id. It is not looked at: the row's key is the
 *     same name, and the catalog holds that against what is said here.
 *  4. There are no replicas and no namespaces.
 *
 * Pure: any thread.  Source: HBase 0.94 HRegionInfo, migration.HRegionInfo090x, HTableDescriptor
 */
#include "lib/region094.h"

#include "lib/bytes.h"
#include "lib/writable.h"

/* Versions of the description of a table; those below never existed. */
enum { DESCRIPTOR_MIN = 3 };

static struct keyroute_bytes read_table(struct kr_reader *reader, uint8_t version)
{
  if (version == 0 && kr_read_u32(reader) < DESCRIPTOR_MIN) {
    reader->bad = true;
  }
  struct keyroute_bytes table = kr_read_vbytes(reader);

  if (version == 0) {
    size_t left = kr_reader_left(reader);

    kr_read_bytes(reader, left > 4 ? left - 4 : 0);
  }
  return table;
}

/* Views into the value. False = it is not one. */
static bool read_info(struct kr_region_info *out, struct keyroute_bytes value)
{
  struct kr_reader reader = kr_reader(value);
  uint8_t version = kr_read_u8(&reader);

  out->end_key = kr_read_vbytes(&reader);
  out->offline = kr_read_bool(&reader);
  out->id = (int64_t)kr_read_u64(&reader);
  kr_read_vbytes(&reader); /* the name */
  out->split = kr_read_bool(&reader);
  out->start_key = kr_read_vbytes(&reader);
  out->table = read_table(&reader, version);
  out->replica = 0;
  kr_read_u32(&reader); /* the hash */
  return !reader.bad && kr_reader_left(&reader) == 0 && version <= 1 && out->table.len > 0 &&
         out->id >= 0;
}

int kr_region094_info_parse(struct kr_region_info **out, struct kr_mem *mem,
                            struct keyroute_bytes value)
{
  struct kr_region_info views;

  if (!read_info(&views, value)) {
    return KEYROUTE_E_CORRUPT;
  }
  struct kr_region_info *info =
      kr_alloc(mem, sizeof(*info) + views.table.len + views.start_key.len + views.end_key.len);

  if (info == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  uint8_t *at = (uint8_t *)(info + 1);

  *info = views;
  info->table = kr_bytes_put(&at, views.table);
  info->start_key = kr_bytes_put(&at, views.start_key);
  info->end_key = kr_bytes_put(&at, views.end_key);
  *out = info;
  return 0;
}
