#ifndef FAKE_FRAME_H
#define FAKE_FRAME_H

/* The bytes of the scripted region server: numbers, messages, cells and whole replies, written and
 * read without the library, so that its mistakes do not cancel out. */

#include "keyroute/keyroute.h"
#include "lib/proto/hbase.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_FATAL_ID 0xffffffffu /* about the connection, not about one call */

/* Bytes that grow; free() the data. */
struct fake_out {
  uint8_t *data;
  size_t len, cap;
};

uint8_t *fake_out_extend(struct fake_out *out, size_t len);
void fake_out_bytes(struct fake_out *out, const void *data, size_t len);
void fake_out_int(struct fake_out *out, uint64_t value, unsigned width); /* big-endian */
void fake_out_varint(struct fake_out *out, uint64_t value);
void fake_out_packed(struct fake_out *out, const ProtobufCMessage *message);
/* Behind its length. */
void fake_out_message(struct fake_out *out, const ProtobufCMessage *message);

/* A cell as it goes over the wire; views. */
struct fake_key_value {
  struct keyroute_bytes row, family, qualifier, value, tags;
  int64_t timestamp;
  uint8_t type; /* 4 = PUT */
};

/* As KeyValueCodec writes it, which knows no tags. */
void fake_out_key_value(struct fake_out *out, const struct fake_key_value *cell);

/* The same as a message, which borrows the bytes. */
void fake_cell_message(Kr__Pb__Cell *out, const struct fake_key_value *cell);

/* A reply: header, message, cells. Takes the bytes of both. */
struct fake_out fake_reply(uint32_t call_id, struct fake_out *body, struct fake_out *block);

/* What a server says instead of an answer. */
struct fake_exception {
  char class_name[200];
  char text[400];
  bool do_not_retry, overloaded;
  const char *host; /* where the region went; NULL = unknown; borrowed */
  int port;
};

/* An exception of a class, with a text. */
struct fake_exception fake_exception_of(const char *class_name, const char *text);

struct fake_out fake_exception_reply(uint32_t call_id, const struct fake_exception *exception);

/* The same inside of an answer. The memory is the caller's: free_unpacked. */
Kr__Pb__NameBytesPair *fake_exception_message(const struct fake_exception *exception);

/* Bytes as a message has them; borrowed. */
ProtobufCBinaryData fake_binary(struct keyroute_bytes bytes);
struct keyroute_bytes fake_bytes(ProtobufCBinaryData binary);
bool fake_bytes_equal(struct keyroute_bytes a, struct keyroute_bytes b);
int fake_bytes_compare(struct keyroute_bytes a, struct keyroute_bytes b);

/* A copy, with a NUL behind it; free() its data. */
struct keyroute_bytes fake_bytes_copy(struct keyroute_bytes bytes);

/* Read a varint; moves *at. Zero past the end. */
uint64_t fake_in_varint(const uint8_t **at, const uint8_t *end);
/* The next piece behind its length; moves *at. Nonsense ends the test. */
ProtobufCBinaryData fake_in_piece(const uint8_t **at, const uint8_t *end);

#endif
