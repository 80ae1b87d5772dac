#ifndef MADE_CHUNKS_H
#define MADE_CHUNKS_H

/* For tests of ReadRows: answers as a node sends them, chunk by chunk. */

#include "lib/buf.h"
#include "lib/bytes.h"

#include <stdbool.h>

/* A chunk as a test writes it down; NULL = the field is not there. */
struct made_chunk {
  const char *key, *family, *qualifier;
  int64_t micros;
  const char *value;
  int32_t value_size;
  bool reset, commit;
  const char *label;
};

static inline void made_field(struct kr_buf *out, unsigned number, struct keyroute_bytes bytes)
{
  kr_buf_varint(out, number << 3 | 2);
  kr_buf_varint(out, bytes.len);
  kr_buf_bytes(out, bytes);
}

static inline void made_number(struct kr_buf *out, unsigned number, uint64_t value)
{
  if (value != 0) {
    kr_buf_varint(out, number << 3);
    kr_buf_varint(out, value);
  }
}

/* A StringValue or a BytesValue, which is empty where its text is. */
static inline void made_wrapped(struct kr_buf *out, unsigned number, struct keyroute_bytes bytes)
{
  struct kr_buf inner;

  kr_buf_init(&inner, out->mem);
  if (bytes.len > 0) {
    made_field(&inner, 1, bytes);
  }
  made_field(out, number, kr_buf_view(&inner));
  kr_buf_clear(&inner);
}

static inline struct keyroute_bytes made_text(const char *text)
{
  return text != NULL ? keyroute_string(text) : kr_bytes(NULL, 0);
}

/* Append a chunk to a ReadRowsResponse. */
static inline void made_chunk(struct kr_buf *out, const struct made_chunk *chunk)
{
  struct kr_buf inner;

  kr_buf_init(&inner, out->mem);
  if (chunk->key != NULL) {
    made_field(&inner, 1, made_text(chunk->key));
  }
  if (chunk->family != NULL) {
    made_wrapped(&inner, 2, made_text(chunk->family));
  }
  if (chunk->qualifier != NULL) {
    made_wrapped(&inner, 3, made_text(chunk->qualifier));
  }
  made_number(&inner, 4, (uint64_t)chunk->micros);
  if (chunk->label != NULL) {
    made_field(&inner, 5, made_text(chunk->label));
  }
  if (chunk->value != NULL) {
    made_field(&inner, 6, made_text(chunk->value));
  }
  made_number(&inner, 7, (uint64_t)(int64_t)chunk->value_size);
  made_number(&inner, 8, chunk->reset);
  made_number(&inner, 9, chunk->commit);
  made_field(out, 1, kr_buf_view(&inner));
  kr_buf_clear(&inner);
}

/* A whole row of one cell. */
static inline void made_row(struct kr_buf *out, const char *key, const char *family,
                            const char *qualifier, int64_t micros, const char *value)
{
  made_chunk(out, &(struct made_chunk){key, family, qualifier, micros, value, .commit = true});
}

/* That rows up to a key were looked at. */
static inline void made_scanned(struct kr_buf *out, const char *key)
{
  made_field(out, 2, made_text(key));
}

#endif
