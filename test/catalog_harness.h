#ifndef CATALOG_HARNESS_H
#define CATALOG_HARNESS_H

/* One catalog under test: the keys that it looks for, and where its root is. One a test: Check runs
 * each in a process of its own. */

#include "lib/bytes.h"
#include "lib/catalog.h"

/* Bytes of a literal, NULs inside included. */
#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

extern struct kr_mem *catalog_mem;
extern struct kr_servers *catalog_servers;

void catalog_set_up(const struct kr_catalog *tested);
void catalog_tear_down(void);

/* The key that is looked for. Release with kr_buf_clear. */
struct kr_buf catalog_key(const char *table, struct keyroute_bytes row, enum kr_position position);

void expect_catalog_key(const char *table, struct keyroute_bytes row, enum kr_position position,
                        struct keyroute_bytes want);

/* The keys between which all rows of a table are. */
void expect_catalog_bounds(const char *table, struct keyroute_bytes low,
                           struct keyroute_bytes high);

/* A good root is read, and not if an allocation fails, whichever. */
void expect_catalog_root_needs_memory(const struct kr_root *root);

#endif
