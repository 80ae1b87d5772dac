/* Frames of HBase's protobuf RPC, and the rows in them, fed in pieces, cut short and spoilt. */
#include "lib/hbase_rpc.h"

#include "lib/hbase_scan.h"
#include "lib/proto/hbase.pb-c.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Row "r", family "f", qualifier "q", time 1, PUT, value "val". */
static const uint8_t cell[] = {0, 0,   0,   26, 0, 0, 0, 15, 0, 0, 0, 3, 0,   1,   'r',
                               1, 'f', 'q', 0,  0, 0, 0, 0,  0, 0, 1, 4, 'v', 'a', 'l'};

static struct kr_mem *mem;

static void setup(void)
{
  mem = kr_mem_new(NULL);
}

static void teardown(void)
{
  kr_mem_release(mem);
}

static void write_length(struct kr_buf *buf)
{
  for (unsigned i = 0; i < 4; i++) {
    buf->data[i] = (uint8_t)((buf->len - 4) >> (24 - 8 * i));
  }
}

static void write_delimited(struct kr_buf *out, const ProtobufCMessage *message)
{
  kr_buf_varint(out, protobuf_c_message_get_packed_size(message));
  kr_hbase_write_message(out, message);
}

/* A reply to call 7 that holds `cells` times the cell above, announced as one row. */
static void write_reply(struct kr_buf *out, uint32_t cells)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  Kr__Pb__CellBlockMeta meta = KR__PB__CELL_BLOCK_META__INIT;
  Kr__Pb__ScanResponse response = KR__PB__SCAN_RESPONSE__INIT;

  header.has_call_id = true;
  header.call_id = 7;
  header.cell_block_meta = &meta;
  meta.has_length = true;
  meta.length = cells * (uint32_t)sizeof(cell);
  response.n_cells_per_result = 1;
  response.cells_per_result = &cells;
  kr_buf_u32(out, 0);
  write_delimited(out, &header.base);
  write_delimited(out, &response.base);
  for (uint32_t i = 0; i < cells; i++) {
    kr_buf_bytes(out, (struct keyroute_bytes){cell, sizeof(cell)});
  }
  write_length(out);
}

/* What a connection does with bytes; in a copy of exactly their size, for the sanitizer. */
static int read_all(const uint8_t *data, size_t len, size_t *rows)
{
  uint8_t *copy = malloc(len > 0 ? len : 1);
  struct kr_rpc_reply reply;
  struct kr_hbase_rows found;
  struct kr_failure failure;
  size_t frame_len;

  memcpy(copy, data, len);
  int error = kr_hbase_codec.frame(&frame_len, (struct keyroute_bytes){copy, len}, &failure);

  if (error == 0 && (frame_len == 0 || frame_len > len)) {
    error = 1; /* not whole yet */
  }
  if (error == 0) {
    error = kr_hbase_codec.reply(&reply, mem, (struct keyroute_bytes){copy, frame_len}, &failure);
  }
  if (error == 0 && reply.failure.code == 0) {
    error = kr_hbase_scan_read(&found, mem, &reply, 10, &failure);
    if (error == 0) {
      *rows = found.rows.count;
      kr_hbase_rows_clear(&found, mem);
    }
  }
  free(copy);
  return error;
}

START_TEST(test_hbase_rpc__good_reply_is_read)
{
  struct kr_buf buf;
  size_t rows = 0;

  kr_buf_init(&buf, mem);
  write_reply(&buf, 3);

  ck_assert_int_eq(read_all(buf.data, buf.len, &rows), 0);
  ck_assert_uint_eq(rows, 1);
  kr_buf_clear(&buf);
}
END_TEST

START_TEST(test_hbase_rpc__frame_is_awaited_until_it_is_whole)
{
  struct kr_buf buf;
  size_t rows = 0;

  kr_buf_init(&buf, mem);
  write_reply(&buf, 1);

  for (size_t len = 0; len < buf.len; len++) {
    ck_assert_int_eq(read_all(buf.data, len, &rows), 1);
  }
  kr_buf_clear(&buf);
}
END_TEST

START_TEST(test_hbase_rpc__frame_shorter_than_its_parts_is_refused)
{
  struct kr_buf buf;
  size_t rows = 0;

  kr_buf_init(&buf, mem);
  write_reply(&buf, 1);

  for (size_t len = 5; len < buf.len; len++) {
    buf.len = len;
    write_length(&buf);
    ck_assert_int_eq(read_all(buf.data, len, &rows), KEYROUTE_E_PROTOCOL);
  }
  kr_buf_clear(&buf);
}
END_TEST

START_TEST(test_hbase_rpc__lengths_out_of_range_are_refused)
{
  static const uint32_t lengths[] = {0, 0xffffffff, 0x80000000};

  for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    uint8_t head[4];
    struct kr_failure failure;
    size_t len;

    for (unsigned k = 0; k < 4; k++) {
      head[k] = (uint8_t)(lengths[i] >> (24 - 8 * k));
    }
    ck_assert_int_eq(kr_hbase_codec.frame(&len, (struct keyroute_bytes){head, 4}, &failure),
                     KEYROUTE_E_PROTOCOL);
  }
}
END_TEST

START_TEST(test_hbase_rpc__reply_about_the_connection_needs_an_exception)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  struct kr_buf buf;
  size_t rows = 0;

  header.has_call_id = true;
  header.call_id = 0xffffffff;
  kr_buf_init(&buf, mem);
  kr_buf_u32(&buf, 0);
  write_delimited(&buf, &header.base);
  kr_buf_u8(&buf, 0);
  write_length(&buf);

  ck_assert_int_eq(read_all(buf.data, buf.len, &rows), KEYROUTE_E_PROTOCOL);
  kr_buf_clear(&buf);
}
END_TEST

START_TEST(test_hbase_rpc__header_is_read_before_the_frame_is_whole)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  struct kr_buf buf;
  size_t head_len, whole = 0;

  kr_buf_init(&buf, mem);
  write_reply(&buf, 3);

  for (size_t len = 4; len < buf.len; len++) {
    ck_assert_int_eq(kr_hbase_codec.head(&reply, &head_len, mem,
                                         (struct keyroute_bytes){buf.data, len}, &failure),
                     0);
    ck_assert(head_len == whole || whole == 0);
    whole = head_len;
    ck_assert(whole == 0 || reply.id == 7);
    ck_assert_int_eq(reply.failure.code, 0);
  }
  ck_assert_uint_gt(whole, 4);
  kr_buf_clear(&buf);
}
END_TEST

START_TEST(test_hbase_rpc__request_carries_region_message_and_cell_block)
{
  struct kr_buf param, frame;

  kr_buf_init(&param, mem);
  kr_buf_init(&frame, mem);
  kr_hbase_write_region(&param, keyroute_string("t,,1.01."));
  kr_buf_bytes(&param, (struct keyroute_bytes){"\x12\x00", 2}); /* field 2, an empty message */
  const struct kr_rpc_call call = {.method = "Mutate",
                                   .param = kr_buf_view(&param),
                                   .cells = {cell, sizeof(cell)},
                                   .timeout_ms = 5};

  kr_hbase_codec.request(&frame, 7, &call);
  struct kr_reader reader = kr_reader(kr_buf_view(&frame));

  ck_assert_uint_eq(kr_read_u32(&reader), frame.len - 4);
  size_t header_len = kr_read_varint(&reader);
  Kr__Pb__RequestHeader *header = kr__pb__request_header__unpack(NULL, header_len, reader.at);

  kr_read_bytes(&reader, header_len);
  size_t request_len = kr_read_varint(&reader);
  Kr__Pb__GetRequest *request = kr__pb__get_request__unpack(NULL, request_len, reader.at);

  kr_read_bytes(&reader, request_len);
  ck_assert_str_eq(header->method_name, "Mutate");
  ck_assert_uint_eq(header->cell_block_meta->length, sizeof(cell));
  ck_assert(!header->has_priority);
  ck_assert_uint_eq(request->region->value.len, 8);
  ck_assert_int_eq(memcmp(request->region->value.data, "t,,1.01.", 8), 0);
  ck_assert_ptr_nonnull(request->get);
  ck_assert_uint_eq(kr_reader_left(&reader), sizeof(cell));
  ck_assert_int_eq(memcmp(reader.at, cell, sizeof(cell)), 0);
  kr__pb__request_header__free_unpacked(header, NULL);
  kr__pb__get_request__free_unpacked(request, NULL);
  kr_buf_clear(&param);
  kr_buf_clear(&frame);
}
END_TEST

START_TEST(test_hbase_rpc__spoilt_replies_do_no_harm)
{
  struct kr_buf buf;
  unsigned seed = 11;
  size_t rows = 0;

  kr_buf_init(&buf, mem);
  write_reply(&buf, 2);
  uint8_t *spoilt = malloc(buf.len);

  for (int round = 0; round < 50000; round++) {
    memcpy(spoilt, buf.data, buf.len);
    for (int i = rand_r(&seed) % 4; i >= 0; i--) {
      spoilt[4 + (size_t)rand_r(&seed) % (buf.len - 4)] = (uint8_t)rand_r(&seed);
    }
    read_all(spoilt, buf.len, &rows);
    ck_assert_uint_le(rows, 10);
  }
  free(spoilt);
  kr_buf_clear(&buf);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase_rpc");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_hbase_rpc__good_reply_is_read);
  tcase_add_test(tcase, test_hbase_rpc__frame_is_awaited_until_it_is_whole);
  tcase_add_test(tcase, test_hbase_rpc__frame_shorter_than_its_parts_is_refused);
  tcase_add_test(tcase, test_hbase_rpc__lengths_out_of_range_are_refused);
  tcase_add_test(tcase, test_hbase_rpc__reply_about_the_connection_needs_an_exception);
  tcase_add_test(tcase, test_hbase_rpc__header_is_read_before_the_frame_is_whole);
  tcase_add_test(tcase, test_hbase_rpc__request_carries_region_message_and_cell_block);
  tcase_add_test(tcase, test_hbase_rpc__spoilt_replies_do_no_harm);

  return run_suite(suite);
}
