#ifndef READ_FIELDS_H
#define READ_FIELDS_H

/* Messages of Protocol Buffers as doubles take them apart: field by field, without a description of
 * them. What is no message ends the test. */

#include "lib/buf.h"
#include "lib/bytes.h"
#include "test/must.h"

/* The next field; of a number, value.len is the number. False = there are no more. */
static inline bool read_field(struct kr_reader *reader, uint64_t *number,
                              struct keyroute_bytes *value)
{
  if (kr_reader_left(reader) == 0) {
    return false;
  }
  uint64_t tag = kr_read_varint(reader);

  *number = tag >> 3;
  *value = kr_bytes(NULL, 0);
  if ((tag & 7) == 2) {
    *value = kr_read_bytes(reader, kr_read_varint(reader));
  } else {
    must_work((tag & 7) == 0);
    value->len = (size_t)kr_read_varint(reader);
  }
  must_work(!reader->bad);
  return true;
}

/* The value of a field that occurs once; empty if it does not. */
static inline struct keyroute_bytes find_field(struct keyroute_bytes message, uint64_t wanted)
{
  struct kr_reader reader = kr_reader(message);
  struct keyroute_bytes value, found = {NULL, 0};
  uint64_t number;

  while (read_field(&reader, &number, &value)) {
    if (number == wanted) {
      found = value;
    }
  }
  return found;
}

#endif
