#ifndef MADE_CELLS_H
#define MADE_CELLS_H

/* For tests of answers: cells as they stand in a cell block and in a message, and what an answer is
 * read from. */

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/hbase_rpc.h"
#include "lib/proto_alloc.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MADE_SERVER "rs1.example:16020"

/* Append a KeyValue of type PUT. */
static inline void made_key_value(struct kr_buf *out, const char *row, const char *family,
                                  const char *qualifier, int64_t timestamp, const char *value)
{
  uint32_t key_len = (uint32_t)(12 + strlen(row) + strlen(family) + strlen(qualifier));

  kr_buf_u32(out, 8 + key_len + (uint32_t)strlen(value));
  kr_buf_u32(out, key_len);
  kr_buf_u32(out, (uint32_t)strlen(value));
  kr_buf_u8(out, (uint8_t)(strlen(row) >> 8));
  kr_buf_u8(out, (uint8_t)strlen(row));
  kr_buf_text(out, row);
  kr_buf_u8(out, (uint8_t)strlen(family));
  kr_buf_text(out, family);
  kr_buf_text(out, qualifier);
  kr_buf_u32(out, (uint32_t)((uint64_t)timestamp >> 32));
  kr_buf_u32(out, (uint32_t)timestamp);
  kr_buf_u8(out, 4);
  kr_buf_text(out, value);
}

static inline ProtobufCBinaryData made_binary(const char *text)
{
  return kr_proto_binary(keyroute_string(text));
}

/* The same cell inside a message. */
static inline Kr__Pb__Cell made_cell(const char *row, const char *family, const char *qualifier,
                                     int64_t timestamp, const char *value)
{
  Kr__Pb__Cell cell = KR__PB__CELL__INIT;

  cell.has_row = cell.has_family = cell.has_qualifier = cell.has_value = true;
  cell.row = made_binary(row);
  cell.family = made_binary(family);
  cell.qualifier = made_binary(qualifier);
  cell.value = made_binary(value);
  cell.has_timestamp = true;
  cell.timestamp = (uint64_t)timestamp;
  cell.has_cell_type = true;
  cell.cell_type = 4;
  return cell;
}

/* A result of so many cells of the cell block. */
static inline Kr__Pb__Result made_result(int32_t cells)
{
  Kr__Pb__Result result = KR__PB__RESULT__INIT;

  result.has_associated_cell_count = true;
  result.associated_cell_count = cells;
  return result;
}

/* The reply that holds a message, written into body, and a cell block. */
static inline struct kr_rpc_reply made_reply(struct kr_buf *body, const ProtobufCMessage *message,
                                             const struct kr_buf *block)
{
  struct kr_rpc_reply reply = {.server = MADE_SERVER};

  kr_hbase_write_message(body, message);
  ck_assert(!body->failed && !block->failed);
  reply.body = kr_buf_view(body);
  reply.cells = kr_buf_view(block);
  return reply;
}

/* The same of a Get with that result, NULL = none. */
static inline struct kr_rpc_reply made_get_reply(struct kr_buf *body, Kr__Pb__Result *result,
                                                 const struct kr_buf *block)
{
  Kr__Pb__GetResponse response = KR__PB__GET_RESPONSE__INIT;

  response.result = result;
  return made_reply(body, &response.base, block);
}

/* A reply whose message ends inside a field. */
static inline struct kr_rpc_reply made_cut_reply(void)
{
  return (struct kr_rpc_reply){.body = kr_bytes("\x0a\x05x", 3), .server = MADE_SERVER};
}

static inline bool is_text(struct keyroute_bytes have, const char *want)
{
  return kr_bytes_equal(have, keyroute_string(want));
}

/* What one cell of a result says, as "row/family:qualifier@timestamp=value". */
static inline void expect_cell(const struct keyroute_cell *cell, const char *want)
{
  char have[600];

  snprintf(have, sizeof(have), "%.*s/%.*s:%.*s@%lld=%.*s", (int)cell->row.len,
           (const char *)cell->row.data, (int)cell->family.len, (const char *)cell->family.data,
           (int)cell->qualifier.len, (const char *)cell->qualifier.data, (long long)cell->timestamp,
           (int)cell->value.len, (const char *)cell->value.data);
  ck_assert_str_eq(have, want);
  ck_assert_int_eq(cell->type, 4);
}

#endif
