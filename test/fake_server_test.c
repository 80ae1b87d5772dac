/* The scripted region server itself, where it reads rows: it is handed requests and its answers are
 * taken apart, without a socket. */
#include "test/fake_server_state.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX 4096

static struct fake_server *server;
static unsigned conn;
static struct fake_exchange {
  Kr__Pb__ResponseHeader *header; /* NULL = no answer */
  uint8_t *frame;
  ProtobufCBinaryData body, block;
  bool closes;
} last;

static const struct fake_region low = {.table = "t", .end = {"m", 1}, .id = 1};
static const struct fake_region high = {.table = "t", .start = {"m", 1}, .id = 2};

/* ---- Asking --------------------------------------------------------------------------------- */

static void forget_last(void)
{
  if (last.header != NULL) {
    kr__pb__response_header__free_unpacked(last.header, NULL);
  }
  free(last.frame);
  last = (struct fake_exchange){.header = NULL};
}

/* Hand bytes in, and take the answer apart. */
static void exchange(struct keyroute_bytes bytes)
{
  forget_last();
  struct keyroute_bytes got = fake_server_exchange(server, conn, bytes, &last.closes);

  last.frame = (uint8_t *)(uintptr_t)got.data;
  if (got.len > 4) {
    const uint8_t *at = last.frame + 4;
    ProtobufCBinaryData head = fake_in_piece(&at, last.frame + got.len);

    last.header = kr__pb__response_header__unpack(NULL, head.len, head.data);
    ck_assert_ptr_nonnull(last.header);
    if (last.header->exception == NULL) {
      last.body = fake_in_piece(&at, last.frame + got.len);
      last.block =
          (ProtobufCBinaryData){(size_t)(last.frame + got.len - at), (uint8_t *)(uintptr_t)at};
    }
  }
}

static void hello(bool with_codec)
{
  Kr__Pb__ConnectionHeader header = KR__PB__CONNECTION_HEADER__INIT;
  struct fake_out out = {0};
  char codec[] = "org.apache.hadoop.hbase.codec.KeyValueCodec";

  header.cell_block_codec_class = with_codec ? codec : NULL;
  fake_out_bytes(&out, "HBas\0\x50", 6);
  fake_out_int(&out, protobuf_c_message_get_packed_size(&header.base), 4);
  fake_out_packed(&out, &header.base);
  conn = fake_server_accept(server);
  exchange((struct keyroute_bytes){out.data, out.len});
  free(out.data);
}

static void call(const char *method, struct keyroute_bytes param, struct keyroute_bytes cells)
{
  Kr__Pb__RequestHeader header = KR__PB__REQUEST_HEADER__INIT;
  Kr__Pb__CellBlockMeta meta = KR__PB__CELL_BLOCK_META__INIT;
  struct fake_out inner = {0}, out = {0};

  header.has_call_id = header.has_request_param = header.request_param = true;
  header.call_id = 5;
  header.method_name = (char *)(uintptr_t)method;
  meta.has_length = true;
  meta.length = (uint32_t)cells.len;
  header.cell_block_meta = cells.len > 0 ? &meta : NULL;
  fake_out_message(&inner, &header.base);
  fake_out_varint(&inner, param.len);
  fake_out_bytes(&inner, param.data, param.len);
  fake_out_bytes(&inner, cells.data, cells.len);
  fake_out_int(&out, inner.len, 4);
  fake_out_bytes(&out, inner.data, inner.len);
  exchange((struct keyroute_bytes){out.data, out.len});
  free(inner.data);
  free(out.data);
}

static void call_message(const char *method, const ProtobufCMessage *message)
{
  struct fake_out param = {0};

  fake_out_packed(&param, message);
  call(method, (struct keyroute_bytes){param.data, param.len}, (struct keyroute_bytes){NULL, 0});
  free(param.data);
}

static Kr__Pb__RegionSpecifier specify(struct keyroute_bytes name)
{
  Kr__Pb__RegionSpecifier specifier = KR__PB__REGION_SPECIFIER__INIT;

  specifier.has_type = specifier.has_value = true;
  specifier.type = KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME;
  specifier.value = fake_binary(name);
  return specifier;
}

static Kr__Pb__Get make_get(const char *row)
{
  Kr__Pb__Get get = KR__PB__GET__INIT;

  get.has_row = true;
  get.row = fake_binary(keyroute_string(row));
  return get;
}

/* Ask for a row of a region's replica. */
static void ask(const struct fake_region *region, int replica, Kr__Pb__Get *get)
{
  Kr__Pb__GetRequest request = KR__PB__GET_REQUEST__INIT;
  struct keyroute_bytes name = fake_region_replica_name(region, replica);
  Kr__Pb__RegionSpecifier specifier = specify(name);

  request.region = &specifier;
  request.get = get;
  call_message("Get", &request.base);
  free((void *)(uintptr_t)name.data);
}

static void ask_row(const struct fake_region *region, const char *row)
{
  Kr__Pb__Get get = make_get(row);

  ask(region, 0, &get);
}

/* Ask for two rows of low and one of high: indexes 10, 11 and 12. */
static void ask_many(const char *first, const char *second, const char *third)
{
  struct keyroute_bytes names[] = {fake_region_name(&low), fake_region_name(&high)};
  Kr__Pb__RegionSpecifier specifiers[] = {specify(names[0]), specify(names[1])};
  Kr__Pb__Get gets[] = {make_get(first), make_get(second), make_get(third)};
  Kr__Pb__MultiRequest request = KR__PB__MULTI_REQUEST__INIT;
  Kr__Pb__Action actions[3], *lists[3];
  Kr__Pb__RegionAction regions[2], *region_list[] = {&regions[0], &regions[1]};

  for (unsigned i = 0; i < 3; i++) {
    kr__pb__action__init(&actions[i]);
    actions[i].has_index = true;
    actions[i].index = 10 + i;
    actions[i].get = &gets[i];
    lists[i] = &actions[i];
  }
  for (unsigned i = 0; i < 2; i++) {
    kr__pb__region_action__init(&regions[i]);
    regions[i].region = &specifiers[i];
    regions[i].action = &lists[2 * i];
    regions[i].n_action = 2 - i;
  }
  request.regionaction = region_list;
  request.n_regionaction = 2;
  call_message("Multi", &request.base);
  free((void *)(uintptr_t)names[0].data);
  free((void *)(uintptr_t)names[1].data);
}

/* ---- What came of it ------------------------------------------------------------------------ */

static void check_exception(const char *class_end, const char *text)
{
  ck_assert_ptr_nonnull(last.header);
  ck_assert_ptr_nonnull(last.header->exception);
  ck_assert_ptr_nonnull(strstr(last.header->exception->exception_class_name, class_end));
  ck_assert_ptr_nonnull(strstr(last.header->exception->stack_trace, text));
}

static Kr__Pb__GetResponse *get_response(void)
{
  ck_assert_ptr_nonnull(last.header);
  ck_assert_ptr_null(last.header->exception);
  Kr__Pb__GetResponse *response = kr__pb__get_response__unpack(NULL, last.body.len, last.body.data);

  ck_assert_ptr_nonnull(response);
  return response;
}

static Kr__Pb__MultiResponse *multi_response(void)
{
  ck_assert_ptr_nonnull(last.header);
  ck_assert_ptr_null(last.header->exception);
  Kr__Pb__MultiResponse *response =
      kr__pb__multi_response__unpack(NULL, last.body.len, last.body.data);

  ck_assert_ptr_nonnull(response);
  return response;
}

/* The values of the cells in the answer's block, a comma behind each. */
static const char *block_values(void)
{
  static char values[BLOCK_MAX];
  size_t len = 0;

  values[0] = '\0';
  for (size_t at = 0; at + 12 <= last.block.len;) {
    const uint8_t *cell = last.block.data + at;
    size_t cell_len = (size_t)cell[2] << 8 | cell[3];
    size_t value_len = (size_t)cell[10] << 8 | cell[11];

    len += (size_t)snprintf(values + len, sizeof(values) - len, "%.*s,", (int)value_len,
                            (const char *)cell + 4 + cell_len - value_len);
    at += 4 + cell_len;
  }
  return values;
}

/* The cells that a Get counts, and their values. */
static void check_values(int count, const char *values)
{
  Kr__Pb__GetResponse *response = get_response();

  ck_assert_int_eq(response->result->associated_cell_count, count);
  ck_assert_str_eq(block_values(), values);
  kr__pb__get_response__free_unpacked(response, NULL);
}

/* A Multi as text: "10 11 | 12", "!" behind an exception. */
static const char *multi_text(void)
{
  static char text[BLOCK_MAX];
  Kr__Pb__MultiResponse *response = multi_response();
  size_t len = 0;

  text[0] = '\0';
  for (size_t i = 0; i < response->n_regionactionresult; i++) {
    const Kr__Pb__RegionActionResult *part = response->regionactionresult[i];

    len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? "| " : "",
                            part->exception != NULL ? "! " : "");
    for (size_t k = 0; k < part->n_resultorexception; k++) {
      const Kr__Pb__ResultOrException *piece = part->resultorexception[k];

      len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u%s ",
                              piece->result != NULL ? "" : "?", piece->index,
                              piece->exception != NULL ? "!" : "");
    }
  }
  kr__pb__multi_response__free_unpacked(response, NULL);
  return text;
}

static void put(const char *row, const char *family, const char *qualifier, int64_t timestamp,
                const char *value)
{
  fake_server_put_row_cell(server, "t", keyroute_string(row), family, qualifier, timestamp,
                           keyroute_string(value));
}

static void set_up(void)
{
  server = fake_server_new();
  hello(true);
  fake_server_host_region(server, &low, 0);
  fake_server_host_region(server, &high, 0);
  put("a", "f", "q", 1, "a1");
  put("b", "f", "q", 1, "b1");
  put("x", "f", "q", 1, "x1");
}

static void tear_down(void)
{
  forget_last();
  fake_server_free(server);
}

/* ---- Regions -------------------------------------------------------------------------------- */

START_TEST(test_fake_server__names_replica_as_hbase_does)
{
  struct fake_region region = {.table = "t", .start = keyroute_string("a"), .id = 123};

  struct keyroute_bytes primary = fake_region_name(&region);
  struct keyroute_bytes replica = fake_region_replica_name(&region, 1);

  ck_assert_uint_eq(primary.len, strlen("t,a,123.") + 33);
  ck_assert_ptr_nonnull(strstr(primary.data, "t,a,123."));
  ck_assert_uint_eq(replica.len, strlen("t,a,123_0001.") + 33);
  ck_assert_ptr_nonnull(strstr(replica.data, "t,a,123_0001."));
  ck_assert_str_ne((const char *)primary.data + 8, (const char *)replica.data + 13);
  free((void *)(uintptr_t)primary.data);
  free((void *)(uintptr_t)replica.data);
}
END_TEST

START_TEST(test_fake_server__serves_only_what_it_hosts)
{
  struct fake_region other = {.table = "u", .id = 3};

  ask_row(&other, "a");
  check_exception(".NotServingRegionException", "is not online");
  fake_server_unhost_region(server, &low, 0);
  ask_row(&low, "a");
  check_exception(".NotServingRegionException", "is not online");
  fake_server_host_region(server, &low, 0);
  ask_row(&low, "a");
  check_values(1, "a1,");
}
END_TEST

START_TEST(test_fake_server__tells_where_region_went)
{
  fake_server_move_region(server, &low, "elsewhere", 16020, 99, 7);

  ask_row(&low, "a");

  check_exception(".exceptions.RegionMovedException",
                  "Region moved to: hostname=elsewhere port=16020 startCode=99. "
                  "As of locationSeqNum=7.");
  ck_assert_str_eq(last.header->exception->hostname, "elsewhere");
}
END_TEST

START_TEST(test_fake_server__finds_region_by_encoded_name)
{
  struct keyroute_bytes name = fake_region_name(&high);
  Kr__Pb__GetRequest request = KR__PB__GET_REQUEST__INIT;
  Kr__Pb__RegionSpecifier specifier =
      specify((struct keyroute_bytes){(const char *)name.data + name.len - 33, 32});
  Kr__Pb__Get get = make_get("x");

  specifier.type = KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__ENCODED_REGION_NAME;
  request.region = &specifier;
  request.get = &get;
  call_message("Get", &request.base);

  check_values(1, "x1,");
  free((void *)(uintptr_t)name.data);
}
END_TEST

START_TEST(test_fake_server__refuses_row_of_other_region)
{
  ask_row(&high, "a");
  check_exception(".regionserver.WrongRegionException", "row='a'");
  ask_row(&low, "m");
  check_exception(".regionserver.WrongRegionException", "row='m'");
}
END_TEST

START_TEST(test_fake_server__marks_answer_of_replica_stale)
{
  Kr__Pb__Get get = make_get("a");

  fake_server_host_region(server, &low, 1);
  ask(&low, 1, &get);

  Kr__Pb__GetResponse *response = get_response();

  ck_assert(response->result->stale);
  ck_assert_int_eq(response->result->associated_cell_count, 1);
  kr__pb__get_response__free_unpacked(response, NULL);
}
END_TEST

START_TEST(test_fake_server__moved_region_keeps_its_rows)
{
  struct fake_server *first = server;
  struct fake_server *second = fake_server_new();
  unsigned first_conn = conn;

  fake_server_set_rows(second, fake_server_rows(first));
  fake_server_hand_over_region(first, first, second, &low);
  ask_row(&low, "a");
  check_exception(".RegionMovedException", "hostname=127.0.0.1");
  server = second;
  hello(true);
  ask_row(&low, "a");
  check_values(1, "a1,");
  fake_server_free(second);
  server = first;
  conn = first_conn;
}
END_TEST

/* ---- Get ------------------------------------------------------------------------------------ */

/* A Get with one column; qualifier NULL = the whole family. */
static void ask_column(const char *row, const char *family, const char *qualifier,
                       uint32_t max_versions, Kr__Pb__TimeRange *range)
{
  Kr__Pb__Get get = make_get(row);
  Kr__Pb__Column column = KR__PB__COLUMN__INIT, *columns[] = {&column};
  ProtobufCBinaryData name = fake_binary(keyroute_string(qualifier != NULL ? qualifier : ""));

  column.has_family = true;
  column.family = fake_binary(keyroute_string(family));
  column.qualifier = &name;
  column.n_qualifier = qualifier != NULL;
  get.column = columns;
  get.n_column = 1;
  get.has_max_versions = true;
  get.max_versions = max_versions;
  get.time_range = range;
  ask(&low, 0, &get);
}

static void put_versions(void)
{
  put("c", "f", "q", 10, "old");
  put("c", "f", "q", 30, "new");
  put("c", "f", "q", 20, "mid");
  put("c", "f", "r", 10, "r");
  put("c", "g", "q", 10, "g");
}

START_TEST(test_fake_server__reads_columns_and_versions_asked_for)
{
  put_versions();

  ask_row(&low, "c");
  check_values(3, "new,r,g,");
  ask_column("c", "f", NULL, 1, NULL);
  check_values(2, "new,r,");
  ask_column("c", "f", "q", 2, NULL);
  check_values(2, "new,mid,");
  ask_column("c", "g", NULL, 9, NULL);
  check_values(1, "g,");
  ask_column("c", "g", "none", 9, NULL);
  check_values(0, "");
}
END_TEST

START_TEST(test_fake_server__time_range_ends_before_its_end)
{
  Kr__Pb__TimeRange range = KR__PB__TIME_RANGE__INIT;

  put_versions();
  range.has_from = range.has_to = true;
  range.from = 10;
  range.to = 30;
  ask_column("c", "f", "q", 9, &range);

  check_values(2, "mid,old,");
}
END_TEST

START_TEST(test_fake_server__refuses_family_of_no_table)
{
  ask_column("a", "strange", NULL, 1, NULL);

  check_exception(".NoSuchColumnFamilyException", "strange");
  ck_assert(last.header->exception->do_not_retry);
}
END_TEST

START_TEST(test_fake_server__existence_is_told_without_cells)
{
  Kr__Pb__Get get = make_get("a");
  Kr__Pb__GetResponse *response;

  get.has_existence_only = get.existence_only = true;
  ask(&low, 0, &get);
  response = get_response();
  ck_assert(response->result->exists);
  ck_assert_int_eq(response->result->associated_cell_count, 0);
  kr__pb__get_response__free_unpacked(response, NULL);
  get.row = fake_binary(keyroute_string("absent"));
  ask(&low, 0, &get);
  response = get_response();
  ck_assert(response->result->has_exists && !response->result->exists);
  kr__pb__get_response__free_unpacked(response, NULL);
}
END_TEST

START_TEST(test_fake_server__client_without_codec_gets_cells_inline)
{
  struct fake_key_value cell = {
      .row = keyroute_string("a"),
      .family = keyroute_string("f"),
      .qualifier = keyroute_string("tagged"),
      .value = keyroute_string("v"),
      .tags = keyroute_string("tags"),
      .timestamp = 1,
      .type = 4,
  };

  fake_rows_put_cell(fake_server_rows(server), "t", &cell);
  hello(false);
  ask_row(&low, "a");

  Kr__Pb__GetResponse *response = get_response();

  ck_assert_uint_eq(last.block.len, 0);
  ck_assert(!response->result->has_associated_cell_count);
  ck_assert_uint_eq(response->result->n_cell, 2);
  ck_assert_uint_eq(response->result->cell[1]->tags.len, 4);
  kr__pb__get_response__free_unpacked(response, NULL);
}
END_TEST

START_TEST(test_fake_server__generated_rows_hold_their_key)
{
  fake_rows_generate(fake_server_rows(server), "t", "row", 100000, 0);

  ask_row(&high, "row099999");
  check_values(1, "row099999,");
  ask_row(&high, "row100000");
  check_values(0, "");
  put("row000007", "f", "q", 1, "own");
  ask_row(&high, "row000007");
  check_values(1, "own,");
  fake_rows_delete_row(fake_server_rows(server), "t", keyroute_string("row000008"));
  ask_row(&high, "row000008");
  check_values(0, "");
}
END_TEST

START_TEST(test_fake_server__deleted_cells_are_gone)
{
  put_versions();
  fake_rows_delete(fake_server_rows(server), "t", keyroute_string("c"), "f", "q");

  ask_column("c", "f", NULL, 9, NULL);

  check_values(1, "r,");
}
END_TEST

START_TEST(test_fake_server__remembers_last_get)
{
  struct fake_seen_get seen;

  ask_column("c", "f", "q", 3, NULL);
  seen = fake_server_last_get(server);

  ck_assert_str_eq(seen.row, "c");
  ck_assert_str_eq(seen.columns, "f:q");
  ck_assert_uint_eq(seen.max_versions, 3);
  ck_assert(!seen.has_time_range);
  ck_assert_int_eq(strncmp(seen.region, "t,,1.", 5), 0);
  ck_assert_uint_eq(fake_server_counts(server).gets, 1);
  ck_assert_uint_eq(fake_server_counts(server).rows_read, 1);
}
END_TEST

/* ---- Multi ---------------------------------------------------------------------------------- */

START_TEST(test_fake_server__multi_answers_each_index)
{
  ask_many("a", "b", "x");

  ck_assert_str_eq(multi_text(), "10 11 | 12 ");
  ck_assert_str_eq(block_values(), "a1,b1,x1,");
  ck_assert_uint_eq(fake_server_counts(server).multis, 1);
  ck_assert_uint_eq(fake_server_counts(server).rows_read, 3);
  ck_assert_uint_eq(fake_server_counts(server).most_multis, 1);
}
END_TEST

START_TEST(test_fake_server__region_fails_as_a_whole)
{
  fake_server_unhost_region(server, &low, 0);

  ask_many("a", "b", "x");

  ck_assert_str_eq(multi_text(), "! | 12 ");
  ck_assert_str_eq(block_values(), "x1,");
}
END_TEST

START_TEST(test_fake_server__row_fails_alone)
{
  ask_many("a", "z", "x");

  ck_assert_str_eq(multi_text(), "10 ?11! | 12 ");
  ck_assert_str_eq(block_values(), "a1,x1,");
}
END_TEST

START_TEST(test_fake_server__remembers_last_multi)
{
  struct fake_seen_multi seen;

  ask_many("a", "b", "x");
  seen = fake_server_last_multi(server);

  ck_assert_uint_eq(seen.regions, 2);
  ck_assert_uint_eq(seen.rows, 3);
  ck_assert_uint_eq(seen.region_rows[0], 2);
  ck_assert_str_eq(seen.row[2], "x");
  ck_assert_int_eq(strncmp(seen.region[1], "t,m,2.", 6), 0);
}
END_TEST

/* ---- Faults --------------------------------------------------------------------------------- */

static void fault(enum fake_what what, const char *method)
{
  fake_server_fault(server, &(struct fake_fault){.what = what, .method = method});
}

START_TEST(test_fake_server__fault_waits_for_its_method)
{
  fault(FAKE_EXCEPTION, NULL);
  fault(FAKE_CLOSE, "Multi");
  fault(FAKE_EXCEPTION, "Get");

  ask_row(&low, "a");
  check_exception("java.io.IOException", "");
  ask_row(&low, "a");
  check_values(1, "a1,");
  ask_many("a", "b", "x");
  ck_assert(last.closes && last.header == NULL);
  ck_assert_uint_eq(fake_server_executed(server, "Multi"), 0);
}
END_TEST

START_TEST(test_fake_server__fault_waits_for_its_row)
{
  fake_server_fault(
      server, &(struct fake_fault){
                  .what = FAKE_EXCEPTION, .method = "*", .times = 2, .row = keyroute_string("b")});

  ask_row(&low, "a");
  check_values(1, "a1,");
  ask_many("a", "b", "x");
  ck_assert_str_eq(multi_text(), "10 ?11! | 12 ");
  ask_row(&low, "b");
  check_exception("java.io.IOException", "");
  ask_row(&low, "b");
  check_values(1, "b1,");
}
END_TEST

START_TEST(test_fake_server__fault_waits_for_its_region)
{
  fake_server_fault(
      server, &(struct fake_fault){.what = FAKE_EXCEPTION, .method = "Multi", .region = &high});

  ask_many("a", "b", "x");
  ck_assert_str_eq(multi_text(), "10 11 | ! ");
  ask_many("a", "b", "x");
  ck_assert_str_eq(multi_text(), "10 11 | 12 ");
}
END_TEST

START_TEST(test_fake_server__multi_answers_are_spoilt)
{
  static const struct {
    enum fake_what what;
    const char *text, *values;
  } cases[] = {
      {FAKE_FEWER_REGIONS, "10 11 ", "a1,b1,"},
      {FAKE_MORE_REGIONS, "10 11 | 12 | ", "a1,b1,x1,"},
      {FAKE_LOST_RESULT, "11 | 12 ", "b1,x1,"},
      {FAKE_INDEX_TWICE, "10 11 10 | 12 ", "a1,b1,a1,x1,"},
      {FAKE_WRONG_INDEX, "1000000 11 | 12 ", "a1,b1,x1,"},
      {FAKE_RESULT_AND_EXCEPTION, "10! 11 | 12 ", "a1,b1,x1,"},
      {FAKE_NO_RESULT, "?10 11 | 12 ", "b1,x1,"},
      {FAKE_ANY_ORDER, "11 10 | 12 ", "b1,a1,x1,"},
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fault(cases[i].what, "Multi");
    ask_many("a", "b", "x");
    ck_assert_str_eq(multi_text(), cases[i].text);
    ck_assert_str_eq(block_values(), cases[i].values);
  }
}
END_TEST

START_TEST(test_fake_server__counts_and_bytes_are_spoilt)
{
  fault(FAKE_BAD_COUNTS, "Get");
  ask_row(&low, "a");
  check_values(2, "a1,");
  fault(FAKE_SPARE_BYTES, "Get");
  ask_row(&low, "a");
  ck_assert_int_eq(memcmp(last.block.data + last.block.len - 5, "spare", 5), 0);
  fault(FAKE_BAD_MESSAGE, "Multi");
  ask_many("a", "b", "x");
  ck_assert_ptr_null(kr__pb__multi_response__unpack(NULL, last.body.len, last.body.data));
  fault(FAKE_BAD_COUNTS, "Multi");
  ask_many("a", "b", "x");
  Kr__Pb__MultiResponse *response = multi_response();

  ck_assert_int_eq(
      response->regionactionresult[1]->resultorexception[0]->result->associated_cell_count, 2);
  kr__pb__multi_response__free_unpacked(response, NULL);
}
END_TEST

START_TEST(test_fake_server__lost_answer_keeps_multi_in_flight)
{
  fault(FAKE_NEVER, "Multi");
  ask_many("a", "b", "x");
  ask_many("a", "b", "x");
  ck_assert_uint_eq(fake_server_counts(server).most_multis, 2);
  fake_server_hang_up(server, conn);
  hello(true);
  ask_many("a", "b", "x");
  ck_assert_uint_eq(fake_server_counts(server).most_multis, 2);
}
END_TEST

START_TEST(test_fake_server__spoilt_row_is_the_one_named)
{
  fake_server_fault(server, &(struct fake_fault){.what = FAKE_LOST_RESULT,
                                                 .method = "Multi",
                                                 .row = keyroute_string("b")});

  ask_many("a", "b", "x");

  ck_assert_str_eq(multi_text(), "10 | 12 ");
}
END_TEST

/* ---- Other methods -------------------------------------------------------------------------- */

/* A Mutate of low, as far as the server reads it: the region, then bytes. */
static void mutate(void)
{
  struct keyroute_bytes name = fake_region_name(&low);
  Kr__Pb__GetRequest request = KR__PB__GET_REQUEST__INIT;
  Kr__Pb__RegionSpecifier specifier = specify(name);
  struct fake_out param = {0};

  request.region = &specifier;
  fake_out_packed(&param, &request.base);
  fake_out_bytes(&param, "\x12\x01?", 3);
  call("Mutate", (struct keyroute_bytes){param.data, param.len}, keyroute_string("cells"));
  free(param.data);
  free((void *)(uintptr_t)name.data);
}

START_TEST(test_fake_server__answers_other_methods_as_told)
{
  fake_server_answer_method(server, "Mutate", keyroute_string("body"),
                            keyroute_string("cells out"));

  mutate();
  struct fake_seen_call seen = fake_server_last_call(server);

  ck_assert_uint_eq(last.body.len, 4);
  ck_assert_uint_eq(last.block.len, 9);
  ck_assert_str_eq(seen.method, "Mutate");
  ck_assert_str_eq(seen.cells, "cells");
  ck_assert_int_eq(strncmp(seen.region, "t,,1.", 5), 0);
  ck_assert_int_eq(memcmp(seen.param + seen.param_len - 3, "\x12\x01?", 3), 0);
}
END_TEST

START_TEST(test_fake_server__tells_what_was_executed)
{
  static const struct {
    enum fake_what what;
    unsigned executed;
  } cases[] = {
      {FAKE_ANSWER, 1},
      {FAKE_EXCEPTION, 1},
      {FAKE_NEVER, 2},
      {FAKE_APPLY_CLOSE, 3},
  };

  for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fault(cases[i].what, "Mutate");
    mutate();
    ck_assert_uint_eq(fake_server_executed(server, "Mutate"), cases[i].executed);
    ck_assert_uint_eq(fake_server_seen(server, "Mutate"), i + 1);
  }
  ck_assert(last.closes && last.header == NULL);
}
END_TEST

START_TEST(test_fake_server__region_gone_executes_nothing)
{
  fake_server_unhost_region(server, &low, 0);

  mutate();

  check_exception(".NotServingRegionException", "is not online");
  ck_assert_uint_eq(fake_server_executed(server, "Mutate"), 0);
  ck_assert_uint_eq(fake_server_counts(server).calls, 1);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("fake_server");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, set_up, tear_down);
  tcase_add_test(tcase, test_fake_server__names_replica_as_hbase_does);
  tcase_add_test(tcase, test_fake_server__serves_only_what_it_hosts);
  tcase_add_test(tcase, test_fake_server__tells_where_region_went);
  tcase_add_test(tcase, test_fake_server__finds_region_by_encoded_name);
  tcase_add_test(tcase, test_fake_server__refuses_row_of_other_region);
  tcase_add_test(tcase, test_fake_server__marks_answer_of_replica_stale);
  tcase_add_test(tcase, test_fake_server__moved_region_keeps_its_rows);
  tcase_add_test(tcase, test_fake_server__reads_columns_and_versions_asked_for);
  tcase_add_test(tcase, test_fake_server__time_range_ends_before_its_end);
  tcase_add_test(tcase, test_fake_server__refuses_family_of_no_table);
  tcase_add_test(tcase, test_fake_server__existence_is_told_without_cells);
  tcase_add_test(tcase, test_fake_server__client_without_codec_gets_cells_inline);
  tcase_add_test(tcase, test_fake_server__generated_rows_hold_their_key);
  tcase_add_test(tcase, test_fake_server__deleted_cells_are_gone);
  tcase_add_test(tcase, test_fake_server__remembers_last_get);
  tcase_add_test(tcase, test_fake_server__multi_answers_each_index);
  tcase_add_test(tcase, test_fake_server__region_fails_as_a_whole);
  tcase_add_test(tcase, test_fake_server__row_fails_alone);
  tcase_add_test(tcase, test_fake_server__remembers_last_multi);
  tcase_add_test(tcase, test_fake_server__fault_waits_for_its_method);
  tcase_add_test(tcase, test_fake_server__fault_waits_for_its_row);
  tcase_add_test(tcase, test_fake_server__fault_waits_for_its_region);
  tcase_add_test(tcase, test_fake_server__multi_answers_are_spoilt);
  tcase_add_test(tcase, test_fake_server__counts_and_bytes_are_spoilt);
  tcase_add_test(tcase, test_fake_server__lost_answer_keeps_multi_in_flight);
  tcase_add_test(tcase, test_fake_server__spoilt_row_is_the_one_named);
  tcase_add_test(tcase, test_fake_server__answers_other_methods_as_told);
  tcase_add_test(tcase, test_fake_server__tells_what_was_executed);
  tcase_add_test(tcase, test_fake_server__region_gone_executes_nothing);

  return run_suite(suite);
}
