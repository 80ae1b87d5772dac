/*
 * The catalog of a range directory: one sorted map, cut into ranges, and an index of two levels.
 *
 * The registry holds the descriptor of meta1, the one range that is never split; meta1's rows are
 * those of meta2's ranges, and meta2's rows those of the map's, which holds what users store:
 *
 *     in meta1    \x01 and the start key of a range of meta2       which is a row key of meta2
 *     in meta2    \x02 and the start key of a range of the map     which is a user's row key
 *
 * In family r, qualifier d stands the range's descriptor (descriptor.c): id, generation, bounds,
 * replicas. What a table is to HBase is a prefix of keys here, or the whole map.
 *
 *  1. Rows are keyed such that a reversed scan from the level's byte and the key meets the range
 *     that holds the key first. Keys have the order of their bytes, there is nothing else to them.
 *  2. A row is believed only if its descriptor begins where its key says.
 *  3. Of two ranges that hold one key the larger generation is right: whoever makes a range gives
 *     it one above those of the ranges that it takes keys from. So the generation is what the
 *     region id is elsewhere, and what the sequence number is: a range that moved has a larger one.
 *  4. All replicas of a range serve one table of their nodes, "r" and the range's id. That is the
 *     encoded name, and the end of the region's name: "map,START,GENERATION.rID.".
 *  5. No descriptor has a start key of more than KR_DESCRIPTOR_KEY_MAX bytes. Whatever a longer row
 *     has behind one byte more cannot tell, and is cut.
 *  6. Nodes have no start codes: that one is another process now, nobody says.
 *
 * Threads: the loop, for servers are interned there.  Source: keyroute_range(7)
 */
#include "lib/bytes.h"

#include "lib/catalog.h"
#include "lib/descriptor.h"
#include "lib/root_text.h"

#include <stdio.h>
#include <string.h>

/* Room for a printed value in a message. */
enum { VALUE_TEXT = 200 };

/* Room for ",GENERATION.rID." */
enum { TAIL_LEN = 48 };

static const char meta1[] = "meta1";
static const char meta2[] = "meta2";
static const char map[] = "map";

/* That of meta1 where nobody says it. */
enum { META1_ID = 1 };

_Static_assert(KR_DESCRIPTOR_REPLICAS_MAX <= KR_REPLICAS_MAX &&
                   KR_DESCRIPTOR_KEY_MAX <= KR_LOCATION_KEY_MAX,
               "a location has room for all");

/* ---- Tables ---- */

/* As kr_table_name_check. */
static int check_table(struct keyroute_bytes *out, const char *name, const char **reason)
{
  if (name == NULL ||
      (strcmp(name, map) != 0 && strcmp(name, meta2) != 0 && strcmp(name, meta1) != 0)) {
    *reason = "a range directory has the tables map, meta2 and meta1; a table of the store's own "
              "is a prefix of the keys of map";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  *out = keyroute_string(name);
  return 0;
}

/* ---- Keys ---- */

/* What the keys of a table's ranges begin with. */
enum { LEVEL_META2 = 1, LEVEL_MAP = 2 };

static bool is_meta2(struct keyroute_bytes table)
{
  return kr_bytes_is(table, meta2);
}

static uint8_t level_of(struct keyroute_bytes table)
{
  return is_meta2(table) ? LEVEL_META2 : LEVEL_MAP;
}

static struct keyroute_bytes parent(struct keyroute_bytes table)
{
  if (kr_bytes_is(table, meta1)) {
    return kr_bytes(NULL, 0);
  }
  return keyroute_string(is_meta2(table) ? meta1 : meta2);
}

static void low_key(struct kr_buf *key, struct keyroute_bytes table)
{
  kr_buf_u8(key, level_of(table));
}

static void high_key(struct kr_buf *key, struct keyroute_bytes table)
{
  kr_buf_u8(key, (uint8_t)(level_of(table) + 1));
}

static void search_key(struct kr_buf *key, struct keyroute_bytes table, struct keyroute_bytes row,
                       enum kr_position position)
{
  bool cut = row.len > KR_DESCRIPTOR_KEY_MAX + 1;

  if (position == KR_BEFORE && row.len == 0) {
    high_key(key, table); /* below which the last range is */
    return;
  }
  low_key(key, table);
  kr_buf_bytes(key, kr_bytes(row.data, cut ? KR_DESCRIPTOR_KEY_MAX + 1 : row.len));
}

/* ---- Descriptors ---- */

/* The servers of all replicas, counted. False = out of memory. */
static bool place(struct kr_replica *replicas, struct kr_servers *servers,
                  const struct kr_descriptor *descriptor)
{
  for (size_t i = 0; i < descriptor->replica_count; i++) {
    const struct kr_descriptor_replica *from = &descriptor->replicas[i];

    replicas[i] = (struct kr_replica){kr_servers_get(servers, from->host, from->port, 0),
                                      (int64_t)descriptor->generation};
    if (replicas[i].server == NULL) {
      return false;
    }
  }
  return true;
}

/* Write the region's name. Returns its encoded part, which is the table's on the nodes. */
static struct keyroute_bytes write_name(struct kr_buf *name, struct keyroute_bytes table,
                                        const struct kr_descriptor *descriptor)
{
  char tail[TAIL_LEN];

  snprintf(tail, sizeof(tail), ",%llu.r%llu.", (unsigned long long)descriptor->generation,
           (unsigned long long)descriptor->id);
  kr_buf_bytes(name, table);
  kr_buf_u8(name, ',');
  kr_buf_bytes(name, descriptor->start_key);
  kr_buf_text(name, tail);
  if (name->failed) {
    return kr_bytes(NULL, 0);
  }
  size_t len = strlen(strrchr(tail, 'r')) - 1; /* without the last dot */

  return kr_bytes(name->data + name->len - 1 - len, len);
}

/* NULL = out of memory. */
static struct keyroute_location *make_location(struct kr_mem *mem, struct kr_servers *servers,
                                               struct keyroute_bytes table,
                                               const struct kr_descriptor *descriptor)
{
  struct kr_replica replicas[KR_DESCRIPTOR_REPLICAS_MAX] = {{NULL, 0}};
  struct keyroute_location *location = NULL;
  struct kr_buf name;

  kr_buf_init(&name, mem);
  struct kr_location_parts parts = {
      .encoded = write_name(&name, table, descriptor),
      .table_len = table.len,
      .start_len = descriptor->start_key.len,
      .end_key = descriptor->end_key,
      .region_id = (int64_t)descriptor->generation,
      .one_name = true,
      .replicas = replicas,
      .replica_count = (int)descriptor->replica_count,
  };

  parts.name = kr_buf_view(&name);
  if (place(replicas, servers, descriptor) && !name.failed) {
    location = kr_location_new(mem, &parts);
  }
  for (size_t i = 0; i < descriptor->replica_count; i++) {
    kr_server_release(replicas[i].server);
  }
  kr_buf_clear(&name);
  return location;
}

/* ---- Rows ---- */

static void fail_row(struct kr_catalog_row *out, const char *reason)
{
  char key[VALUE_TEXT];

  kr_fail(&out->failure, KEYROUTE_E_CORRUPT, "index row %s: %s",
          kr_bytes_print(key, sizeof(key), out->key), reason);
}

/* The descriptor that a row holds. Errors: CORRUPT with the reason, NO_MEMORY. */
static int read_descriptor(struct kr_descriptor **out, struct kr_mem *mem, const struct kr_row *row,
                           const char **reason)
{
  const struct kr_cell *cell = kr_row_find(row, KR_DESCRIPTOR_FAMILY, KR_DESCRIPTOR_QUALIFIER);

  if (cell == NULL) {
    *reason = "it has no descriptor";
    return KEYROUTE_E_CORRUPT;
  }
  return kr_descriptor_read(out, mem, cell->value, reason);
}

/* Believe a row, or say why not. Errors: NO_MEMORY. */
static int believe(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                   struct keyroute_bytes table, const struct kr_row *row)
{
  struct kr_descriptor *descriptor = NULL;
  const char *reason = NULL;
  int error = read_descriptor(&descriptor, mem, row, &reason);

  if (error == 0 && !kr_bytes_equal(descriptor->start_key, out->start_key)) {
    reason = "its descriptor names another start key";
  } else if (error == 0) {
    out->location = make_location(mem, servers, table, descriptor);
    error = out->location != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
  }
  kr_free(mem, descriptor);
  if (reason != NULL) {
    fail_row(out, reason);
  }
  return error == KEYROUTE_E_NO_MEMORY ? error : 0;
}

static int parse_row(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                     struct keyroute_bytes table, const struct kr_row *row)
{
  const uint8_t *key = row->key.data;

  memset(out, 0, sizeof(*out));
  out->key = row->key;
  if (row->key.len == 0 || key[0] != level_of(table)) {
    fail_row(out, "it is of another level");
    return 0;
  }
  out->start_key = kr_bytes(key + 1, row->key.len - 1);
  return believe(out, mem, servers, table, row);
}

/* ---- The root ---- */

/* The place of meta1 that somebody wrote down. Errors: CORRUPT with the reason, NO_MEMORY. */
static int read_text(struct keyroute_location **out, struct kr_mem *mem, struct kr_servers *servers,
                     struct keyroute_bytes text, const char **reason)
{
  struct kr_root_text place;

  if (!kr_root_text_parse(&place, text) || place.start_code != 0) {
    *reason = "is not host:port";
    return KEYROUTE_E_CORRUPT;
  }
  struct kr_descriptor_replica replica = {.host = place.host, .port = place.port};
  struct kr_descriptor descriptor = {.id = META1_ID, .replicas = &replica, .replica_count = 1};

  *out = make_location(mem, servers, keyroute_string(meta1), &descriptor);
  return *out != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

/* The same of what the znode holds. */
static int read_znode(struct keyroute_location **out, struct kr_mem *mem,
                      struct kr_servers *servers, struct keyroute_bytes value, const char **reason)
{
  struct kr_descriptor *descriptor = NULL;
  int error = kr_descriptor_read(&descriptor, mem, value, reason);

  if (error == 0 && (descriptor->start_key.len > 0 || descriptor->end_key.len > 0)) {
    *reason = "its descriptor is not that of meta1";
    error = KEYROUTE_E_CORRUPT;
  } else if (error == 0) {
    *out = make_location(mem, servers, keyroute_string(meta1), descriptor);
    error = *out != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
  }
  kr_free(mem, descriptor);
  return error;
}

static struct keyroute_location *parse_root(struct kr_failure *failure, struct kr_mem *mem,
                                            struct kr_servers *servers, const struct kr_root *root)
{
  const struct kr_root_value *value = &root->values[0];
  struct keyroute_location *location = NULL;
  const char *reason = NULL;
  char text[VALUE_TEXT];
  int error = value->text ? read_text(&location, mem, servers, value->data, &reason)
                          : read_znode(&location, mem, servers, value->data, &reason);

  if (error == KEYROUTE_E_CORRUPT && value->text) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: \"%s\" %s", root->place,
            kr_bytes_print(text, sizeof(text), value->data), reason);
  } else if (error == KEYROUTE_E_CORRUPT) {
    kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "%s: %s", root->place, reason);
  } else if (error != 0) {
    kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  return location;
}

const struct kr_catalog kr_catalog_range = {
    .family = KR_DESCRIPTOR_FAMILY,
    .root = meta1,
    .check_table = check_table,
    .parent = parent,
    .search_key = search_key,
    .low_key = low_key,
    .high_key = high_key,
    .compare_keys = kr_bytes_compare,
    .parse_row = parse_row,
    .parse_root = parse_root,
};
