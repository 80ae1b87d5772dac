#ifndef KR_RESULT_H
#define KR_RESULT_H

#include "lib/location.h"
#include "lib/read.h"

/* What was read of one row. */
struct kr_result_row {
  const struct keyroute_cell *cells; /* in one of the blocks */
  uint32_t cell_count;
  int16_t error; /* KEYROUTE_E_... */
  uint8_t replica;
  bool stale;
  struct keyroute_location *location; /* counted; NULL = it failed */
  const char *message;                /* in one of the texts; NULL = it was read */
};

/* A result; immutable once it is given out. */
struct keyroute_result {
  struct kr_mem *mem;           /* counted */
  struct kr_cell_block *blocks; /* what cells are in */
  struct kr_cell_block *texts;  /* messages */
  size_t count, failed;
  struct kr_result_row rows[];
};

struct keyroute_result *kr_result_new(struct kr_mem *mem, size_t count); /* NULL = out of memory */

/* Have a result keep a block; NULL is accepted. */
void kr_result_keep(struct keyroute_result *result, struct kr_cell_block *block);

/* A row was read: its cells are in a block that the result keeps. location gets one more count. */
void kr_result_set(struct keyroute_result *result, size_t index, const struct kr_got_row *row,
                   struct keyroute_location *location, int replica);

/* Keep a message for rows to share. NULL = out of memory, which kr_result_fail accepts. */
const char *kr_result_text(struct keyroute_result *result, const char *message);

/* A row has failed. message  from kr_result_text */
void kr_result_fail(struct keyroute_result *result, size_t index, int error, const char *message);

#endif
