#ifndef KR_WIRE_H
#define KR_WIRE_H

#include "lib/buf.h"

/* Fields of Protocol Buffers one by one, for messages that are read or written without a generated
 * type. Source: Protocol Buffers Encoding */

/* The tags of a field with this number, by what stands behind them. */
#define KR_WIRE_NUMBER(field) ((field) << 3)
#define KR_WIRE_BYTES(field) ((field) << 3 | 2)

/* ---- Writing: look at out->failed afterwards ------------------------------------------------- */

void kr_wire_put_number(struct kr_buf *out, unsigned field, uint64_t number);
void kr_wire_put_bytes(struct kr_buf *out, unsigned field, struct keyroute_bytes bytes);

/* A message inside another one; it is cleared. */
void kr_wire_put_message(struct kr_buf *out, unsigned field, struct kr_buf *message);

/* ---- Reading --------------------------------------------------------------------------------- */

struct kr_wire_field {
  uint64_t tag;
  uint64_t number;             /* with KR_WIRE_NUMBER */
  struct keyroute_bytes bytes; /* with KR_WIRE_BYTES: a view */
};

/* The next field, whatever it is; one of fixed width is stepped over. What is none is bad. Inline,
 * for it is what reading rows does most. */
static inline struct kr_wire_field kr_wire_read(struct kr_reader *reader)
{
  struct kr_wire_field field = {.tag = kr_read_varint(reader)};

  switch (field.tag & 7) {
  case 0:
    field.number = kr_read_varint(reader);
    break;
  case 1:
    kr_read_bytes(reader, 8);
    break;
  case 2:
    field.bytes = kr_read_bytes(reader, kr_read_varint(reader));
    break;
  case 5:
    kr_read_bytes(reader, 4);
    break;
  default:
    reader->bad = true;
  }
  return field;
}

#endif
