#ifndef KR_CATALOG_H
#define KR_CATALOG_H

#include "lib/error.h"
#include "lib/location.h"
#include "lib/registry.h"
#include "lib/scan.h"
#include "lib/table_name.h"

/* Knows how the locations of regions are keyed and written: which table is a table's parent, which
 * key to look for there, what a row of it says. Pure: no I/O, no state but interned servers. */

/* A catalog row, believed or not. */
struct kr_catalog_row {
  /* Views into the reply: the key, and where it has the region start, whatever the rest of the row
   * says; data NULL = the key does not tell. */
  struct keyroute_bytes key, start_key;
  struct keyroute_location *location; /* counted; NULL = it cannot be believed, see failure */
  bool offline;
  bool split; /* a parent whose daughters have taken over */
  struct kr_failure failure;
};

struct kr_catalog {
  const char *family; /* of the columns that hold locations */
  const char *root;   /* the table whose only region's place the registry knows */
  bool unsettled;     /* of what kind it is is not known yet, but will be once the root is found:
                       * but for root, check_table, parent and search_key
                       * everything is NULL */

  /* Can a table have this name? Any thread. */
  kr_table_name_checker check_table;

  /* The table whose rows say where this one's regions are; empty = the registry says,
   * for it is the root. */
  struct keyroute_bytes (*parent)(struct keyroute_bytes table);

  /* The row of the parent from which a reversed scan meets the wanted region first. With KR_BEFORE
   * that row itself is not meant. */
  void (*search_key)(struct kr_buf *key, struct keyroute_bytes table, struct keyroute_bytes row,
                     enum kr_position position);

  /* Bounds of the table's rows in the parent: the first possible, and the first behind them. */
  void (*low_key)(struct kr_buf *key, struct keyroute_bytes table);
  void (*high_key)(struct kr_buf *key, struct keyroute_bytes table);

  /* The order of the parent's rows. */
  int (*compare_keys)(struct keyroute_bytes a, struct keyroute_bytes b);

  /* Read a row. Sets out->location, or out->failure with CORRUPT and the reason, also when the row
   * belongs to another table than asked for. Errors: NO_MEMORY. */
  int (*parse_row)(struct kr_catalog_row *out, struct kr_mem *mem, struct kr_servers *servers,
                   struct keyroute_bytes table, const struct kr_row *row);

  /* Where the parent says that a whole table is kept from its servers: the family, the key of the
   * one row, and what that row says: "disabled" or the like, static; NULL = nothing that explains
   * it, or it cannot be read. state_family is NULL where a catalog keeps no such thing. */
  const char *state_family;
  void (*state_key)(struct kr_buf *key, struct keyroute_bytes table);
  const char *(*parse_state)(struct kr_mem *mem, struct keyroute_bytes table,
                             const struct kr_row *row);

  /* Read what the registry keeps into the location of the root's region. Errors: BOOTSTRAP with the
   * reason, NO_MEMORY; failure tells. */
  struct keyroute_location *(*parse_root)(struct kr_failure *failure, struct kr_mem *mem,
                                          struct kr_servers *servers, const struct kr_root *root);
};

/* Two tiers: hbase:meta, whose place the registry knows, and user tables. */
extern const struct kr_catalog kr_catalog_meta;

/* Three tiers: -ROOT-, whose place the registry knows, .META., and user tables. */
extern const struct kr_catalog kr_catalog_root;

/* A range directory: meta1, whose place the registry knows, meta2, and the map. */
extern const struct kr_catalog kr_catalog_range;

#endif
