/*
 * The rows of HBase's catalogs: a region's name as the key; in family info, what it is and where.
 *
 *   regioninfo            table, start key, end key, id, offline, split; in its generation's way
 *   server                "host:port"                     server_0001 ... for the other replicas
 *   serverstartcode       int64, big-endian               serverstartcode_0001 ...
 *   seqnumDuringOpen      int64, big-endian               seqnumDuringOpen_0001 ...
 *   state                 text                            (the primary's)
 *
 *  1. A row is believed only if its regioninfo says the same table, start key and id as its key.
 *  2. A region without a server cell, or with an empty one, or without a start code, is on no
 *     server. A server cell that cannot be read makes the row CORRUPT for the primary; another
 *     replica is then merely on no server.
 *  3. What an older generation does not write is simply not there: replicas, sequence numbers,
 *     states.
 *  4. A key that no location has room for (location.h) makes the row CORRUPT. No server takes a row
 *     half as long.
 *
 * Threads: the loop, for servers are interned there.  Source: HBase CatalogFamilyFormat
 */
#include "lib/catalog_row.h"

#include "lib/bytes.h"
#include "lib/meta_key.h"

#include <string.h>

/* Room for a printed key in a message. */
enum { KEY_TEXT = 200 };

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
                       const struct kr_row *row, kr_info_parser parse_info,
                       struct kr_region_name *name, struct kr_region_info **info)
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
  int error = parse_info(info, mem, cell->value);

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
  if (info->start_key.len > KR_LOCATION_KEY_MAX) {
    return "its regioninfo has too long a start key";
  }
  if (info->end_key.len > KR_LOCATION_KEY_MAX) {
    return "its regioninfo has too long an end key";
  }
  if (info->end_key.len > 0 && kr_bytes_compare(info->end_key, info->start_key) <= 0) {
    return "its regioninfo ends at or below its start key";
  }
  return NULL;
}

/* The replica that what stands behind a column's name speaks of: "" 0, "_0001" 1; -1 = none. */
static int replica_behind(struct keyroute_bytes end)
{
  const char *text = end.data;
  int replica = 0;

  if (end.len == 0) {
    return 0;
  }
  if (end.len != 5 || text[0] != '_') {
    return -1;
  }
  for (size_t i = 1; i < end.len; i++) {
    static const char digits[] = "0123456789ABCDEF";
    const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;

    if (digit == NULL) {
      return -1;
    }
    replica = replica * 16 + (int)(digit - digits);
  }
  return replica > 0 && replica < KR_REPLICAS_MAX ? replica : -1;
}

/* The replica a qualifier speaks of: "server" 0, "server_0001" 1; -1 = of something else. Inline,
 * for each cell is held against each column, and of a literal compilers know how long it is. */
static inline int replica_of(struct keyroute_bytes qualifier, const char *column)
{
  size_t len = strlen(column);

  if (qualifier.len < len || memcmp(qualifier.data, column, len) != 0) {
    return -1;
  }
  return replica_behind(kr_bytes_from(qualifier, len));
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

/* The columns of all replicas. Most rows have those of one: only what is made need be blanked. */
struct columns {
  int made; /* so many, from the primary on */
  struct placed placed[KR_REPLICAS_MAX];
};

static struct placed *columns_of(struct columns *columns, int replica)
{
  while (columns->made <= replica) {
    columns->placed[columns->made++] = (struct placed){.seqnum = -1};
  }
  return &columns->placed[replica];
}

/* Sort a row's cells by replica. Returns how many replicas there are, at least 1. */
static int collect(struct columns *columns, const struct kr_row *row, struct keyroute_bytes *state)
{
  int count = 1;

  columns->made = 0;
  columns_of(columns, 0);
  for (size_t i = 0; i < row->cell_count; i++) {
    const struct kr_cell *cell = &row->cells[i];
    int replica;

    if (kr_bytes_is(cell->qualifier, "state")) {
      *state = cell->value;
    } else if ((replica = replica_of(cell->qualifier, "server")) >= 0) {
      columns_of(columns, replica)->server = cell->value;
      count = replica >= count ? replica + 1 : count;
    } else if ((replica = replica_of(cell->qualifier, "serverstartcode")) >= 0) {
      struct placed *placed = columns_of(columns, replica);

      placed->has_start_code = read_int64(&placed->start_code, cell->value);
    } else if ((replica = replica_of(cell->qualifier, "seqnumDuringOpen")) >= 0) {
      read_int64(&columns_of(columns, replica)->seqnum, cell->value);
    }
  }
  return count;
}

/* Take "host:port" apart. */
static bool split_address(struct keyroute_bytes text, struct keyroute_bytes *host, uint16_t *port)
{
  const char *data = text.data;
  const char *colon = text.len > 0 ? memrchr(data, ':', text.len) : NULL;
  int64_t number = 0;

  if (colon == NULL || colon == data || text.len > KR_HOST_MAX + 1 + 5 ||
      memchr(data, '\0', text.len) != NULL) {
    return false;
  }
  struct keyroute_bytes digits = kr_bytes(colon + 1, (size_t)(data + text.len - colon - 1));

  if (digits.len == 0 || digits.len > 5 ||
      kr_bytes_number(&number, digits, UINT16_MAX) != digits.len || number == 0) {
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
    replicas[i] = (struct kr_replica){NULL, placed[i].seqnum};
  }
  for (int i = 0; i < count; i++) {
    struct keyroute_bytes host;
    uint16_t port;

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

void kr_catalog_unplace(struct kr_replica *replicas, int count)
{
  for (int i = 0; i < count; i++) {
    kr_server_release(replicas[i].server);
  }
}

static int make_location(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                         const struct kr_row *row, const struct kr_region_name *name,
                         const struct kr_region_info *info)
{
  struct columns columns;
  struct kr_replica replicas[KR_REPLICAS_MAX];
  struct keyroute_bytes state = {NULL, 0};
  int count = collect(&columns, row, &state);
  int error = place(replicas, servers, columns.placed, count);

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
  kr_catalog_unplace(replicas, count);
  return error;
}

int kr_catalog_row_read(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                        struct keyroute_bytes table, const struct kr_row *row,
                        kr_info_parser parse_info)
{
  struct kr_region_name name;
  struct kr_region_info *info = NULL;
  struct kr_meta_key parts = kr_meta_key_split(row->key);

  memset(out, 0, sizeof(*out));
  out->key = row->key;
  if (kr_bytes_equal(parts.table, table)) {
    out->start_key = parts.start;
  }
  int error = parse_names(out, mem, table, row, parse_info, &name, &info);

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
