/*
 * The catalog of HBase 0.90 to 0.94: three tiers.
 *
 * The registry names the server of -ROOT-'s only region; -ROOT-'s rows name the regions of .META.,
 * and .META.'s rows those of all other tables. Both are alike (catalog_row.c), and so are the keys:
 *
 *     of .META.    Table2,RK10000,1600000000000.d41d8cd98f00b204e9800998ecf8427e.   or without hash
 *     of -ROOT-    .META.,Table2,RK10000,1600000000000,1      a region of .META. that begins there
 *                  .META.,,1                                  the first one, mostly the only one
 *
 *  1. A key is taken apart from both ends: the table ends at the first comma, the id begins behind
 *     the last one. What is between is the start key, which in -ROOT- is a row of .META. in turn.
 *  2. Servers order .META. by table, start key and id; -ROOT- by the row of .META. inside and by
 *     id. For a row of .META. they look for commas and fail where one is lacking: so every key made
 *     here has all of them. The search key of a row of .META. is that row and 14 nines.
 *  3. Which region of .META. holds a row is decided by its bytes, by servers (HRegion.checkRow)
 *     and by their own client, though inside a region rows stand in the order above.
 *  4. A server refuses row keys over 32767 bytes. A row that makes the key too long is cut, early
 *     enough for the key to fit into one of -ROOT- too.
 *  5. There is no last start key, so the last region of a table is looked for below the highest one
 *     that a server takes.
 *  6. A split parent stays, offline, and repeats its daughters in splitA and splitB. These are not
 *     read: daughters soon have rows of their own, with the same start key or a higher one and a
 *     larger id, and are met first.
 *  7. That a table is disabled is not said here: its regions keep their servers. (ZooKeeper knows.)
 *
 * Threads: the loop, for servers are interned there.
 * Source: HBase 0.94 KeyValue.MetaKeyComparator and RootKeyComparator, HRegionInfo,
 * HConnectionManager.locateRegionInMeta, RootRegionTracker
 */
#include "lib/bytes.h"
#include "lib/catalog_row.h"
#include "lib/meta_key.h"
#include "lib/region094.h"
#include "lib/root_text.h"
#include "lib/znode.h"

#include <string.h>

/* Room for a printed value in a message. */
enum { VALUE_TEXT = 200 };

static const char nines[] = "99999999999999";
static const char zeros[] = "00000000000000";
enum { ID_LEN = sizeof(nines) - 1 };

static const char root[] = "-ROOT-";
static const char meta[] = ".META.";

/* What a search key of .META. grows by on its way into one of -ROOT-. */
enum { META_EXTRA_LEN = sizeof(meta) - 1 + 2 + ID_LEN };

static bool is_meta(struct keyroute_bytes table)
{
  return kr_bytes_is(table, meta);
}

static struct keyroute_bytes parent(struct keyroute_bytes table)
{
  if (kr_bytes_is(table, root)) {
    return kr_bytes(NULL, 0);
  }
  return keyroute_string(is_meta(table) ? root : meta);
}

/* ---- Keys ---- */

/* How long a row may be for its search key to fit. */
static size_t row_room(struct keyroute_bytes table)
{
  return KR_META_KEY_MAX - table.len - 2 - ID_LEN - (is_meta(table) ? 0 : META_EXTRA_LEN);
}

/* A row behind all others: in .META. that of a table behind all others. */
static void append_last_row(struct kr_buf *key, struct keyroute_bytes table)
{
  size_t len = row_room(table);

  if (is_meta(table)) {
    kr_buf_text(key, "\xff,,");
    kr_buf_text(key, nines);
    return;
  }
  uint8_t *to = kr_buf_extend(key, len);

  if (to != NULL) {
    memset(to, 0xff, len);
  }
}

static void search_key(struct kr_buf *key, struct keyroute_bytes table, struct keyroute_bytes row,
                       enum kr_position position)
{
  size_t room = row_room(table);
  bool cut = row.len > room;
  bool last = position == KR_BEFORE && row.len == 0;

  kr_buf_bytes(key, table);
  kr_buf_u8(key, ',');
  if (last) {
    append_last_row(key, table);
  } else {
    kr_buf_bytes(key, kr_bytes(row.data, cut ? room : row.len));
  }
  kr_buf_u8(key, ',');
  kr_buf_text(key, position == KR_BEFORE && !cut && !last ? zeros : nines);
}

static void low_key(struct kr_buf *key, struct keyroute_bytes table)
{
  kr_buf_bytes(key, table);
  kr_buf_text(key, ",,");
}

/* -ROOT- holds nothing else, so its rows end where it does. */
static void high_key(struct kr_buf *key, struct keyroute_bytes table)
{
  if (!is_meta(table)) {
    kr_buf_bytes(key, table);
    kr_buf_text(key, " ,,");
  }
}

/* Take a row of -ROOT- apart: the row of .META. inside, and the id. False = it is none. */
static bool take_meta(struct keyroute_bytes *row, struct keyroute_bytes *id,
                      struct keyroute_bytes key)
{
  const char *text = key.data;
  size_t len = sizeof(meta); /* with the comma in place of the NUL */
  const char *last = key.len > len ? memrchr(text + len, ',', key.len - len) : NULL;

  if (last == NULL || memcmp(text, meta, len - 1) != 0 || text[len - 1] != ',') {
    return false;
  }
  *row = kr_bytes(text + len, (size_t)(last - text) - len);
  *id = kr_bytes(last + 1, key.len - (size_t)(last + 1 - text));
  return true;
}

static int compare_keys(struct keyroute_bytes a, struct keyroute_bytes b)
{
  struct keyroute_bytes rows[2], ids[2];

  if (!take_meta(&rows[0], &ids[0], a) || !take_meta(&rows[1], &ids[1], b)) {
    return kr_meta_key_compare(a, b);
  }
  int order = kr_meta_key_compare(rows[0], rows[1]);

  return order != 0 ? order : kr_bytes_compare(ids[0], ids[1]);
}

/* ---- Rows ---- */

static int parse_row(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                     struct keyroute_bytes table, const struct kr_row *row)
{
  return kr_catalog_row_read(out, mem, servers, table, row, kr_region094_info_parse);
}

/* ---- The root ---- */

/* NULL, or why the registry's value does not tell where -ROOT- is. */
static const char *read_place(struct kr_root_text *out, const struct kr_root_value *value)
{
  struct keyroute_bytes data;

  if (value->text) {
    return kr_root_text_parse(out, value->data) ? NULL : "is not host:port or host:port:startcode";
  }
  if (kr_znode_unwrap(&data, value->data) != 0) {
    return "ends inside its header";
  }
  return kr_root_text_parse_znode(out, data) ? NULL
                                             : "does not hold host,port,startcode or host:port";
}

static struct keyroute_location *make_root(struct kr_mem *mem, struct kr_servers *servers,
                                           const struct kr_root_text *place)
{
  struct kr_replica replica = {kr_servers_get(servers, place->host, place->port, place->start_code),
                               -1};
  struct kr_location_parts parts = {
      .name = keyroute_string("-ROOT-,,0"),
      .table_len = strlen(root),
      .encoded = keyroute_string("70236052"),
      .region_id = 0,
      .state = KR_STATE_OPEN,
      .replicas = &replica,
      .replica_count = 1,
  };
  struct keyroute_location *location = replica.server != NULL ? kr_location_new(mem, &parts) : NULL;

  kr_catalog_unplace(&replica, 1);
  return location;
}

static struct keyroute_location *parse_root(struct kr_failure *failure, struct kr_mem *mem,
                                            struct kr_servers *servers, const struct kr_root *from)
{
  char value[VALUE_TEXT];
  struct kr_root_text place;
  const char *trouble = read_place(&place, &from->values[0]);

  if (trouble != NULL) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: \"%s\" %s", from->place,
            kr_bytes_print(value, sizeof(value), from->values[0].data), trouble);
    return NULL;
  }
  struct keyroute_location *location = make_root(mem, servers, &place);

  if (location == NULL) {
    kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  return location;
}

const struct kr_catalog kr_catalog_root = {
    .family = "info",
    .root = root,
    .check_table = kr_table_name_check,
    .parent = parent,
    .search_key = search_key,
    .low_key = low_key,
    .high_key = high_key,
    .compare_keys = compare_keys,
    .parse_row = parse_row,
    .parse_root = parse_root,
};
