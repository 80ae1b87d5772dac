/*
 * The catalog of HBase 0.96 and later: two tiers.
 *
 * The registry names the server of hbase:meta's only region; hbase:meta's rows name those of all
 * other tables. A row's key is the region's name, "table,start,id.encoded."; what is in it says
 * catalog_row.c, and that regioninfo is "PBUF" and a RegionInfo is all that is left to know here.
 *
 * A row whose key is a table's name alone has in family table, of HBase 2.0 and later:
 *
 *   state                 TableState, without the "PBUF": enabled, disabled, or on the way
 *
 *  1. Servers order rows by table, start key and id, each by its own bytes. So the search key
 *     `table,row,` + 14 nines sorts behind every region of the table that starts at or below the
 *     row, for ids have 13 digits and nines are the highest. For KR_BEFORE, 14 zeros sort before
 *     every region that starts at the row. Releases take names with one comma apart differently, so
 *     bounds have both.
 *  2. A server refuses row keys over 32767 bytes. A row that makes the key too long is cut: a
 *     region's name is a row key itself, so no start key is long enough for the rest to matter.
 *
 * Threads: the loop, for servers are interned there.
 * Source: HBase MetaCellComparator, RegionInfo.createRegionName,
 * AsyncNonMetaRegionLocator, MetaTableAccessor.getTableState; the znode: ZNodePaths,
 * MetaTableLocator, MetaRegionServer in ZooKeeper.proto
 */
#include "lib/bytes.h"
#include "lib/catalog_row.h"
#include "lib/meta_key.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/proto_alloc.h"
#include "lib/root_text.h"
#include "lib/znode.h"

#include <string.h>

/* Room for a printed key in a message. */
enum { KEY_TEXT = 200 };

static const char nines[] = "99999999999999";
static const char zeros[] = "00000000000000";

static const char meta[] = "hbase:meta";

static struct keyroute_bytes parent(struct keyroute_bytes table)
{
  return kr_bytes_is(table, meta) ? kr_bytes(NULL, 0) : keyroute_string(meta);
}

static void search_key(struct kr_buf *key, struct keyroute_bytes table, struct keyroute_bytes row,
                       enum kr_position position)
{
  size_t room = KR_META_KEY_MAX - table.len - 2 - (sizeof(nines) - 1);
  bool cut = row.len > room;
  bool before = position == KR_BEFORE && !cut;

  kr_buf_bytes(key, table);
  if (position == KR_BEFORE && row.len == 0) {
    kr_buf_u8(key, 0); /* behind the table's last region, before any other table */
    return;
  }
  kr_buf_u8(key, ',');
  kr_buf_bytes(key, kr_bytes(row.data, cut ? room : row.len));
  kr_buf_u8(key, ',');
  kr_buf_text(key, before ? zeros : nines);
}

static void low_key(struct kr_buf *key, struct keyroute_bytes table)
{
  kr_buf_bytes(key, table);
  kr_buf_text(key, ",,");
}

static void high_key(struct kr_buf *key, struct keyroute_bytes table)
{
  kr_buf_bytes(key, table);
  kr_buf_text(key, " ,,");
}

/* ---- Rows ---- */

static int parse_row(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                     struct keyroute_bytes table, const struct kr_row *row)
{
  return kr_catalog_row_read(out, mem, servers, table, row, kr_region_info_parse);
}

/* ---- The state of a table ---- */

static const char state_family[] = "table";

static void state_key(struct kr_buf *key, struct keyroute_bytes table)
{
  kr_buf_bytes(key, table);
}

/* What a value says, as parse_state. Enabled tables have regions without servers too, but that is
 * not the table's doing. */
static const char *name_state(const Kr__Pb__TableState *message)
{
  static const char *const names[] = {
      [KR__PB__TABLE_STATE__STATE__DISABLED] = "disabled",
      [KR__PB__TABLE_STATE__STATE__DISABLING] = "being disabled",
      [KR__PB__TABLE_STATE__STATE__ENABLING] = "being enabled",
  };
  /* protobuf-c keeps numbers it has no name for, negative ones too. */
  size_t number = (size_t)message->state;

  return message->has_state && number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

static const char *parse_state(struct kr_mem *mem, struct keyroute_bytes table,
                               const struct kr_row *row)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  const struct kr_cell *cell = kr_row_find(row, state_family, "state");
  const char *state = NULL;
  bool is_short;

  if (cell == NULL || !kr_bytes_equal(row->key, table)) {
    return NULL;
  }
  Kr__Pb__TableState *message =
      kr_proto_unpack(&kr__pb__table_state__descriptor, mem, cell->value, &is_short);

  if (message != NULL) {
    state = name_state(message);
    kr__pb__table_state__free_unpacked(message, &allocator);
  }
  return state;
}

/* ---- The root ---- */

/* A root that somebody wrote down. Errors: as parse_root_replica. */
static int parse_root_text(struct kr_replica *out, struct kr_failure *failure,
                           struct kr_servers *servers, const struct kr_root_value *value,
                           const char *place_name)
{
  char text[KEY_TEXT];
  struct kr_root_text place;

  *out = (struct kr_replica){NULL, -1};
  if (!kr_root_text_parse(&place, value->data)) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: \"%s\" is not host:port or host:port:startcode",
            place_name, kr_bytes_print(text, sizeof(text), value->data));
    return KEYROUTE_E_BOOTSTRAP;
  }
  out->server = kr_servers_get(servers, place.host, place.port, place.start_code);
  return out->server != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

/* One replica of hbase:meta. Errors: BOOTSTRAP told in failure, NO_MEMORY. */
static int parse_root_replica(struct kr_replica *out, struct kr_failure *failure,
                              struct kr_mem *mem, struct kr_servers *servers,
                              const struct kr_root_value *value, const char *place_name)
{
  struct kr_meta_region_server *place = NULL;
  const char *reason = NULL;

  if (value->text) {
    return parse_root_text(out, failure, servers, value, place_name);
  }
  int error = kr_meta_region_server_parse(&place, mem, value->data, &reason);

  *out = (struct kr_replica){NULL, -1};
  if (error == KEYROUTE_E_CORRUPT) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: %s", place_name, reason);
    return KEYROUTE_E_BOOTSTRAP;
  }
  if (error != 0) {
    return error;
  }
  if (place->state != KR_STATE_OPEN) {
    char address[300];

    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: hbase:meta is %s, not OPEN, on %s", place_name,
            kr_region_state_name(place->state),
            kr_server_print(address, sizeof(address), place->host.data, place->port));
    error = KEYROUTE_E_BOOTSTRAP;
  } else {
    out->server = kr_servers_get(servers, place->host, (uint16_t)place->port, place->start_code);
    error = out->server != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
  }
  kr_free(mem, place);
  return error;
}

/* All replicas of hbase:meta. *count is how many there are, at least 1. Errors: as
 * parse_root_replica. */
static int parse_root_replicas(struct kr_replica *replicas, int *count, struct kr_failure *failure,
                               struct kr_mem *mem, struct kr_servers *servers,
                               const struct kr_root *root)
{
  int error = 0;

  *count = 1;
  for (int i = 0; i < KR_REPLICAS_MAX; i++) {
    replicas[i] = (struct kr_replica){NULL, -1};
  }
  for (size_t i = 0; i < root->count && error == 0; i++) {
    const struct kr_root_value *value = &root->values[i];
    struct kr_failure lesser;

    if (value->replica < 0 || value->replica >= KR_REPLICAS_MAX ||
        replicas[value->replica].server != NULL) {
      continue; /* no replica's number, or one that has been read */
    }
    error = parse_root_replica(&replicas[value->replica], value->replica == 0 ? failure : &lesser,
                               mem, servers, value, root->place);
    if (error == KEYROUTE_E_BOOTSTRAP && value->replica > 0) {
      error = 0; /* as in Java, only the primary has to be readable */
    }
    *count = value->replica >= *count ? value->replica + 1 : *count;
  }
  return error;
}

static struct keyroute_location *parse_root(struct kr_failure *failure, struct kr_mem *mem,
                                            struct kr_servers *servers, const struct kr_root *root)
{
  struct kr_replica replicas[KR_REPLICAS_MAX];
  struct keyroute_location *location = NULL;
  int count;
  int error = parse_root_replicas(replicas, &count, failure, mem, servers, root);

  if (error == 0) {
    struct kr_location_parts parts = {
        .name = keyroute_string("hbase:meta,,1"),
        .table_len = strlen(meta),
        .encoded = keyroute_string("1588230740"),
        .region_id = 1,
        .state = KR_STATE_OPEN,
        .replicas = replicas,
        .replica_count = count,
    };

    location = kr_location_new(mem, &parts);
    error = location != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
  }
  if (error == KEYROUTE_E_NO_MEMORY) {
    kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  kr_catalog_unplace(replicas, count);
  return location;
}

const struct kr_catalog kr_catalog_meta = {
    .family = "info",
    .root = meta,
    .check_table = kr_table_name_check,
    .parent = parent,
    .search_key = search_key,
    .low_key = low_key,
    .high_key = high_key,
    .compare_keys = kr_meta_key_compare,
    .parse_row = parse_row,
    .state_family = state_family,
    .state_key = state_key,
    .parse_state = parse_state,
    .parse_root = parse_root,
};
