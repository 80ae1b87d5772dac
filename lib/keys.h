#ifndef KR_KEYS_H
#define KR_KEYS_H

#include "lib/cache.h"

/* The rows that a call is about, in the order in which regions hold them. */

/* A table of theirs: its rows are at positions from `from` to `to`, exclusive. */
struct kr_keys_table {
  struct keyroute_table *table; /* counted */
  uint32_t from, to;
};

struct kr_keys {
  struct kr_mem *mem;
  const struct keyroute_key *keys; /* as they were given; their tables' names are not used */
  struct keyroute_key *copy;       /* the same, where they are owned */
  uint32_t *order;                 /* position -> index of a key; by table, then by row */
  struct kr_keys_table *tables;    /* as they first occur */
  uint32_t count, table_count;
};

/* Check the keys, and sort them. conn  whose tables, cache and memory
 *  reads  they are to be read, so that a row may be neither empty nor too long
 *  copy   keep copies; else they must outlive *out
 *  detail NULL or filled in. Errors: INVALID_ARGUMENT, naming the key; NO_MEMORY. */
int kr_keys_new(struct kr_keys *out, const struct keyroute_connection *conn,
                const struct keyroute_key *keys, size_t count, bool reads, bool copy,
                struct keyroute_detail *detail);
void kr_keys_clear(struct kr_keys *keys); /* zeros are accepted */

/* The row at a position. */
struct keyroute_bytes kr_keys_row(const struct kr_keys *keys, uint32_t position);

#endif
