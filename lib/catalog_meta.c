/*
 * The catalog of HBase 0.96 and later: two tiers.
 *
 * The registry names the server of hbase:meta's only region; hbase:meta's rows name those of all
 * other tables. A row's key is the region's name, "table,start,id.encoded."; its family info holds:
 *
 *   regioninfo            "PBUF" + RegionInfo: table, start key, end key, id, offline, split
 *   server                "host:port"                     server_0001 ... for the other replicas
 *   serverstartcode       int64, big-endian               serverstartcode_0001 ...
 *   seqnumDuringOpen      int64, big-endian               seqnumDuringOpen_0001 ...
 *   state                 text                            (the primary's)
 *
 * A row whose key is a table's name alone has in family table, of HBase 2.0 and later:
 *
 *   state                 TableState, without the "PBUF": enabled, disabled, or on the way
 *
 *  1. A row is believed only if its regioninfo says the same table, start key and id as its key.
 *  2. A region without a server cell, or with an empty one, or without a start code, is on no
 *     server. A server cell that cannot be read makes the row CORRUPT for the primary; another
 *     replica is then merely on no server.
 *  3. Servers order rows by table, start key and id, each by its own bytes. So the search key
 *     `table,row,` + 14 nines sorts behind every region of the table that starts at or below the
 *     row, for ids have 13 digits and nines are the highest. For KR_BEFORE, 14 zeros sort before
 *     every region that starts at the row. Releases take names with one comma apart differently, so
 *     bounds have both.
 *  4. A server refuses row keys over 32767 bytes. A row that makes the key too long is cut: a
 *     region's name is a row key itself, so no start key is long enough for the rest to matter.
 *
 * Source: HBase CatalogFamilyFormat, MetaCellComparator, RegionInfo.createRegionName,
 * AsyncNonMetaRegionLocator, MetaTableAccessor.getTableState; the znode: ZNodePaths,
 * MetaTableLocator, MetaRegionServer in ZooKeeper.proto
 */
#include "lib/bytes.h"

#include "lib/catalog.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/proto_alloc.h"
#include "lib/region.h"
#include "lib/znode.h"

#include <string.h>

/* HConstants.MAX_ROW_LENGTH */
enum { ROW_KEY_MAX = 32767 };

/* A name in DNS is no longer. */
enum { HOST_MAX = 255 };

/* Room for a printed key in a message. */
enum { KEY_TEXT = 200 };

static const char nines[] = "99999999999999";
static const char zeros[] = "00000000000000";

static const char meta[] = "hbase:meta";

static struct keyroute_bytes parent(struct keyroute_bytes table)
{
  return kr_bytes_equal(table, keyroute_string(meta)) ? kr_bytes(NULL, 0) : keyroute_string(meta);
}

static void search_key(struct kr_buf *key, struct keyroute_bytes table, struct keyroute_bytes row,
                       enum kr_position position)
{
  size_t room = ROW_KEY_MAX - table.len - 2 - (sizeof(nines) - 1);
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

/* The parts of a row key: the table ends at the first comma, the id begins behind the last one.
 * Data NULL = there is no such part. */
struct key_parts {
  struct keyroute_bytes table, start, id;
};

static struct key_parts split_key(struct keyroute_bytes key)
{
  const char *data = key.len > 0 ? key.data : "";
  const char *end = data + key.len;
  const char *first = memchr(data, ',', key.len);
  struct key_parts parts = {.table = kr_bytes(data, key.len)};

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

/* A part that is not there sorts before one that is empty. */
static int compare_parts(struct keyroute_bytes a, struct keyroute_bytes b)
{
  int order = kr_bytes_compare(a, b);

  return order != 0 ? order : (a.data != NULL) - (b.data != NULL);
}

static int compare_keys(struct keyroute_bytes a, struct keyroute_bytes b)
{
  struct key_parts left = split_key(a), right = split_key(b);
  int order = compare_parts(left.table, right.table);

  if (order == 0) {
    order = compare_parts(left.start, right.start);
  }
  return order != 0 ? order : compare_parts(left.id, right.id);
}

/* ---- Rows ---- */

static void fail_row(struct kr_catalog_row *out, const char *reason)
{
  char key[KEY_TEXT];

  kr_fail(&out->failure, KEYROUTE_E_CORRUPT, "catalog row %s: %s",
          kr_bytes_print(key, sizeof(key), out->key), reason);
}

/* What a row's key and its regioninfo say, if they agree. Errors: CORRUPT (told in out->failure),
 * NO_MEMORY. */
static int parse_names(struct kr_catalog_row *out, struct kr_mem *mem, struct keyroute_bytes table,
                       const struct kr_row *row, struct kr_region_name *name,
                       struct kr_region_info **info)
{
  const struct kr_cell *cell = kr_row_find(row, "info", "regioninfo");

  if (kr_region_name_parse(name, row->key) != 0) {
    fail_row(out, "its key is not a region name");
    return KEYROUTE_E_CORRUPT;
  }
  if (!kr_bytes_equal(name->table, table)) {
    fail_row(out, "it belongs to another table");
    return KEYROUTE_E_CORRUPT;
  }
  if (cell == NULL || cell->value.len == 0) {
    fail_row(out, "it has no regioninfo");
    return KEYROUTE_E_CORRUPT;
  }
  int error = kr_region_info_parse(info, mem, cell->value);

  if (error == KEYROUTE_E_CORRUPT) {
    fail_row(out, "its regioninfo cannot be read");
  }
  return error;
}

/* Why the regioninfo is not the one of this row; NULL = it is. */
static const char *disagreement(const struct kr_region_name *name,
                                const struct kr_region_info *info)
{
  if (!kr_bytes_equal(info->table, name->table)) {
    return "its regioninfo names another table";
  }
  if (!kr_bytes_equal(info->start_key, name->start_key)) {
    return "its regioninfo names another start key";
  }
  if (info->id != name->id) {
    return "its regioninfo names another region id";
  }
  if (info->replica != 0) {
    return "its regioninfo is that of a replica";
  }
  if (info->end_key.len > 0 && kr_bytes_compare(info->end_key, info->start_key) <= 0) {
    return "its regioninfo ends at or below its start key";
  }
  return NULL;
}

/* The replica a qualifier speaks of: "server" 0, "server_0001" 1; -1 = of something else. */
static int replica_of(struct keyroute_bytes qualifier, const char *column)
{
  size_t len = strlen(column);
  const char *text = qualifier.data;
  int replica = 0;

  if (qualifier.len < len || memcmp(text, column, len) != 0) {
    return -1;
  }
  if (qualifier.len == len) {
    return 0;
  }
  if (qualifier.len != len + 5 || text[len] != '_') {
    return -1;
  }
  for (size_t i = len + 1; i < qualifier.len; i++) {
    static const char digits[] = "0123456789ABCDEF";
    const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;

    if (digit == NULL) {
      return -1;
    }
    replica = replica * 16 + (int)(digit - digits);
  }
  return replica > 0 && replica < KR_REPLICAS_MAX ? replica : -1;
}

/* What the columns of one replica say. */
struct placed {
  struct keyroute_bytes server; /* "host:port" */
  int64_t start_code;
  bool has_start_code;
  int64_t seqnum;
};

static bool read_int64(int64_t *out, struct keyroute_bytes value)
{
  struct kr_reader reader = kr_reader(value);
  uint64_t number = kr_read_u64(&reader);

  if (reader.bad || kr_reader_left(&reader) > 0) {
    return false;
  }
  *out = (int64_t)number;
  return true;
}

/* Sort a row's cells by replica. Returns how many replicas there are, at least 1. */
static int collect(struct placed *placed, const struct kr_row *row, struct keyroute_bytes *state)
{
  int count = 1;

  for (int i = 0; i < KR_REPLICAS_MAX; i++) {
    placed[i] = (struct placed){.seqnum = -1};
  }
  for (size_t i = 0; i < row->cell_count; i++) {
    const struct kr_cell *cell = &row->cells[i];
    int replica;

    if (kr_bytes_equal(cell->qualifier, keyroute_string("state"))) {
      *state = cell->value;
    } else if ((replica = replica_of(cell->qualifier, "server")) >= 0) {
      placed[replica].server = cell->value;
      count = replica >= count ? replica + 1 : count;
    } else if ((replica = replica_of(cell->qualifier, "serverstartcode")) >= 0) {
      placed[replica].has_start_code = read_int64(&placed[replica].start_code, cell->value);
    } else if ((replica = replica_of(cell->qualifier, "seqnumDuringOpen")) >= 0) {
      read_int64(&placed[replica].seqnum, cell->value);
    }
  }
  return count;
}

/* A number at *at, which moves behind it. False = none, or above max. */
static bool take_number(int64_t *out, const char **at, const char *end, int64_t max)
{
  size_t digits = kr_bytes_number(out, kr_bytes(*at, (size_t)(end - *at)), max);

  *at += digits;
  return digits > 0;
}

/* Take "host:port" apart. */
static bool split_address(struct keyroute_bytes text, struct keyroute_bytes *host, uint16_t *port)
{
  const char *data = text.data;
  const char *colon = text.len > 0 ? memrchr(data, ':', text.len) : NULL;
  const char *end = data + text.len;
  int64_t number = 0;

  if (colon == NULL || colon == data || end - colon > 1 + 5 || text.len > HOST_MAX + 1 + 5 ||
      memchr(data, '\0', text.len) != NULL) {
    return false;
  }
  const char *at = colon + 1;

  if (!take_number(&number, &at, end, UINT16_MAX) || at < end || number == 0) {
    return false;
  }
  *host = kr_bytes(data, (size_t)(colon - data));
  *port = (uint16_t)number;
  return true;
}

/* Make replicas out of what the columns say. Errors: CORRUPT the primary's server, NO_MEMORY. */
static int place(struct kr_replica *replicas, struct kr_servers *servers,
                 const struct placed *placed, int count)
{
  for (int i = 0; i < count; i++) {
    struct keyroute_bytes host;
    uint16_t port;

    replicas[i] = (struct kr_replica){NULL, placed[i].seqnum};
    if (placed[i].server.len == 0 || !placed[i].has_start_code) {
      continue;
    }
    if (!split_address(placed[i].server, &host, &port)) {
      if (i == 0) {
        return KEYROUTE_E_CORRUPT;
      }
      continue;
    }
    replicas[i].server = kr_servers_get(servers, host, port, placed[i].start_code);
    if (replicas[i].server == NULL) {
      return KEYROUTE_E_NO_MEMORY;
    }
  }
  return 0;
}

static void unplace(struct kr_replica *replicas, int count)
{
  for (int i = 0; i < count; i++) {
    kr_server_release(replicas[i].server);
  }
}

static int make_location(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                         const struct kr_row *row, const struct kr_region_name *name,
                         const struct kr_region_info *info)
{
  struct placed placed[KR_REPLICAS_MAX];
  struct kr_replica replicas[KR_REPLICAS_MAX] = {{NULL, 0}};
  struct keyroute_bytes state = {NULL, 0};
  int count = collect(placed, row, &state);
  int error = place(replicas, servers, placed, count);

  if (error == KEYROUTE_E_CORRUPT) {
    fail_row(out, "its server is not host:port");
  }
  if (error == 0) {
    struct kr_location_parts parts = {
        .name = row->key,
        .table_len = name->table.len,
        .start_len = name->start_key.len,
        .encoded = name->encoded,
        .end_key = info->end_key,
        .region_id = info->id,
        .state = kr_region_state_parse(state),
        .replicas = replicas,
        .replica_count = count,
    };

    out->location = kr_location_new(mem, &parts);
    error = out->location != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
  }
  unplace(replicas, count);
  return error;
}

static int parse_row(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                     struct keyroute_bytes table, const struct kr_row *row)
{
  struct kr_region_name name;
  struct kr_region_info *info = NULL;
  struct key_parts parts = split_key(row->key);

  memset(out, 0, sizeof(*out));
  out->key = row->key;
  if (kr_bytes_equal(parts.table, table)) {
    out->start_key = parts.start;
  }
  int error = parse_names(out, mem, table, row, &name, &info);

  if (error == 0) {
    const char *reason = disagreement(&name, info);

    out->offline = info->offline;
    out->split = info->split;
    if (reason != NULL) {
      fail_row(out, reason);
    } else {
      error = make_location(out, mem, servers, row, &name, info);
    }
  }
  kr_free(mem, info);
  return error == KEYROUTE_E_NO_MEMORY ? error : 0;
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

/* Take "host:port" or "host:port:startcode" apart; an IPv6 address has brackets. */
static bool split_root(struct keyroute_bytes text, struct keyroute_bytes *host, int64_t *port,
                       int64_t *start_code)
{
  const char *at = text.data;
  const char *end = at + text.len;
  bool brackets = text.len > 0 && at[0] == '[';
  const char *first = at + brackets;
  const char *last = memchr(at, brackets ? ']' : ':', text.len);

  if (last == NULL || last == first) {
    return false;
  }
  *host = kr_bytes(first, (size_t)(last - first));
  *start_code = 0;
  at = last + brackets;
  if (at == end || *at++ != ':' || !take_number(port, &at, end, UINT16_MAX) || *port == 0) {
    return false;
  }
  if (at < end && (*at++ != ':' || !take_number(start_code, &at, end, INT64_MAX))) {
    return false;
  }
  return at == end && host->len <= HOST_MAX && memchr(host->data, '\0', host->len) == NULL;
}

/* A root that somebody wrote down. Errors: as parse_root_replica. */
static int parse_root_text(struct kr_replica *out, struct kr_failure *failure,
                           struct kr_servers *servers, const struct kr_root_value *value,
                           const char *place_name)
{
  char text[KEY_TEXT];
  struct keyroute_bytes host;
  int64_t port, start_code;

  *out = (struct kr_replica){NULL, -1};
  if (!split_root(value->data, &host, &port, &start_code)) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: \"%s\" is not host:port or host:port:startcode",
            place_name, kr_bytes_print(text, sizeof(text), value->data));
    return KEYROUTE_E_BOOTSTRAP;
  }
  out->server = kr_servers_get(servers, host, (uint16_t)port, start_code);
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
  unplace(replicas, count);
  return location;
}

const struct kr_catalog kr_catalog_meta = {
    .family = "info",
    .root = meta,
    .parent = parent,
    .search_key = search_key,
    .low_key = low_key,
    .high_key = high_key,
    .compare_keys = compare_keys,
    .parse_row = parse_row,
    .state_family = state_family,
    .state_key = state_key,
    .parse_state = parse_state,
    .parse_root = parse_root,
};
