#ifndef FAKE_CATALOG_H
#define FAKE_CATALOG_H

/* The rows of a catalog table in memory, as a region server of HBase would hold them: sorted, with
 * cells by family and qualifier. For tests: written on its own, so that the library's idea of order
 * and of region names is checked against a second one. Not thread-safe; out of memory aborts. */

#include "keyroute/keyroute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_catalog;

struct fake_cell {
  char *family, *qualifier;
  uint8_t *value;
  size_t value_len;
  int64_t timestamp;
};

struct fake_row {
  uint8_t *key;
  size_t key_len;
  struct fake_cell *cells; /* sorted by family, then qualifier */
  size_t cell_count;
};

/* One region as the master would write it into the catalog. */
struct fake_region {
  const char *table; /* "t" or "ns:t" */
  struct keyroute_bytes start, end;
  int64_t id;
  const char *host; /* NULL = no server: the cells server and serverstartcode are left out */
  int port;
  int64_t start_code;
  bool offline, split;
  int64_t seqnum;
  int replicas;             /* how many in all, 0 means 1 */
  const int *replica_ports; /* replica n is on [n]; NULL = on port + n */
};

struct fake_catalog *fake_catalog_new(void);
void fake_catalog_free(struct fake_catalog *catalog);
void fake_catalog_clear(struct fake_catalog *catalog);

/* Write a region's row key, "table,start,id.encoded."; the memory is the caller's, free() it. */
struct keyroute_bytes fake_region_name(const struct fake_region *region);

/* The name of a replica's region, "table,start,id_000N.encoded."; of the primary as above. */
struct keyroute_bytes fake_region_replica_name(const struct fake_region *region, int replica);

/* Make the row of a region, or replace it as a whole. */
void fake_catalog_put_region(struct fake_catalog *catalog, const struct fake_region *region);

/* Set one cell; the row is made if there is none. */
void fake_catalog_put_cell(struct fake_catalog *catalog, struct keyroute_bytes row,
                           const char *family, const char *qualifier, struct keyroute_bytes value);

/* What is not there is not an error. A row that has lost its last cell is gone. */
void fake_catalog_delete_cell(struct fake_catalog *catalog, struct keyroute_bytes row,
                              const char *family, const char *qualifier);
void fake_catalog_delete_row(struct fake_catalog *catalog, struct keyroute_bytes row);

/* The order of rows: table, start key, id, each compared as bytes. */
int fake_catalog_compare(struct keyroute_bytes a, struct keyroute_bytes b);

/* What to scan: as HBase's Scan. */
struct fake_scan {
  struct keyroute_bytes start, stop; /* empty = from or to the end in that direction */
  bool include_start, include_stop, reversed;
  const char *family; /* NULL = all; rows without a cell of it are passed over */
  size_t limit;
};

/* The rows of a scan, at most limit of them. rows has room for limit; *more tells whether the
 * region has further rows in the span. Borrowed until the catalog changes. Returns how many. */
size_t fake_catalog_scan(struct fake_catalog *catalog, const struct fake_scan *scan,
                         const struct fake_row **rows, bool *more);

#endif
