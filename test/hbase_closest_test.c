/* The row closest before a key: the request taken apart again, and answers good and bad. */
#include "lib/hbase_closest.h"

#include "test/failing_mem.h"
#include "test/made_cells.h"
#include "test/run_suite.h"

#define BYTES(text) kr_bytes(text, sizeof(text) - 1)

static struct kr_mem *mem;
static struct kr_buf body, block;
static struct kr_scan scan;
static struct kr_hbase_rows rows;
static struct kr_failure failure;

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&body, mem);
  kr_buf_init(&block, mem);
  scan = (struct kr_scan){
      .region = keyroute_string("hbase:meta,,1"),
      .start_row = keyroute_string("t,k,99999999999999"),
      .stop_row = keyroute_string("t,,"),
      .include_start = true,
      .include_stop = true,
      .reversed = true,
      .limit = 3,
      .family = "info",
  };
}

static void teardown(void)
{
  kr_buf_clear(&body);
  kr_buf_clear(&block);
  failing_mem_done(mem);
}

/* ---- The request ----------------------------------------------------------------------------- */

static Kr__Pb__GetRequest *written(void)
{
  body.len = 0;
  kr_hbase_closest_write(&body, &scan);
  ck_assert(!body.failed);
  Kr__Pb__GetRequest *request = kr__pb__get_request__unpack(NULL, body.len, body.data);

  ck_assert_ptr_nonnull(request);
  return request;
}

static void expect_row(struct keyroute_bytes want)
{
  Kr__Pb__GetRequest *request = written();

  ck_assert(kr_bytes_equal(kr_proto_bytes(request->get->row), want));
  kr__pb__get_request__free_unpacked(request, NULL);
}

START_TEST(test_hbase_closest__request_is_a_get_of_one_family)
{
  Kr__Pb__GetRequest *request = written();

  ck_assert(is_text(kr_proto_bytes(request->region->value), "hbase:meta,,1"));
  ck_assert(request->get->closest_row_before);
  ck_assert_uint_eq(request->get->n_column, 1);
  ck_assert(is_text(kr_proto_bytes(request->get->column[0]->family), "info"));
  ck_assert_uint_eq(request->get->column[0]->n_qualifier, 0);
  kr__pb__get_request__free_unpacked(request, NULL);
  expect_row(scan.start_row);
}
END_TEST

START_TEST(test_hbase_closest__excluded_key_asks_just_below)
{
  scan.start_row = keyroute_string("t,k,1.0f.");
  scan.include_start = false;

  expect_row(BYTES("t,k,1.0f-\xff"));
}
END_TEST

START_TEST(test_hbase_closest__key_behind_a_table_is_the_tables_highest)
{
  scan.start_row = BYTES("t\0");

  Kr__Pb__GetRequest *request = written();
  struct keyroute_bytes row = kr_proto_bytes(request->get->row);

  ck_assert_uint_eq(row.len, 32767);
  ck_assert_mem_eq(row.data, "t,\xff\xff\xff", 5);
  ck_assert_mem_eq((const char *)row.data + row.len - 16, "\xff,99999999999999", 16);
  kr__pb__get_request__free_unpacked(request, NULL);
}
END_TEST

static void write_scan(struct kr_buf *out)
{
  kr_hbase_closest_write(out, &scan);
}

START_TEST(test_hbase_closest__writing_without_memory_says_so)
{
  ck_assert_int_ge(mem_fail_each_write(mem, write_scan), 2);
}
END_TEST

/* ---- The answer ------------------------------------------------------------------------------ */

static int read_response(Kr__Pb__Result *result)
{
  struct kr_rpc_reply reply = made_get_reply(&body, result, &block);

  return kr_hbase_closest_read(&rows, mem, &reply, &scan, &failure);
}

static void expect_rows(Kr__Pb__Result *result, size_t count)
{
  ck_assert_msg(read_response(result) == 0, "%s", failure.message);
  ck_assert_uint_eq(rows.rows.count, count);
  ck_assert(rows.rows.more == (count > 0 && scan.limit > 1));
}

static void expect_refused(Kr__Pb__Result *result, const char *message)
{
  ck_assert_int_eq(read_response(result), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, message);
  ck_assert_str_eq(failure.server, "");
}

START_TEST(test_hbase_closest__cells_in_the_message_are_a_row)
{
  Kr__Pb__Cell cell = made_cell("t,c,1.0f.", "info", "server", 3, "a:1");
  Kr__Pb__Cell *cells[] = {&cell};
  Kr__Pb__Result result = KR__PB__RESULT__INIT;

  result.n_cell = 1;
  result.cell = cells;

  expect_rows(&result, 1);
  ck_assert(is_text(rows.rows.rows[0].key, "t,c,1.0f."));
  ck_assert(is_text(kr_row_find(&rows.rows.rows[0], "info", "server")->value, "a:1"));
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase_closest__cells_behind_the_message_are_a_row)
{
  Kr__Pb__Result result = made_result(2);

  made_key_value(&block, "t,c,1.0f.", "info", "server", 3, "a:1");
  made_key_value(&block, "t,c,1.0f.", "info", "x", 3, "");

  expect_rows(&result, 1);
  ck_assert_uint_eq(rows.rows.rows[0].cell_count, 2);
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase_closest__one_row_is_all_that_a_scan_of_one_wants)
{
  Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "t,c,1.0f.", "info", "server", 3, "a:1");
  scan.limit = 1;

  expect_rows(&result, 1);
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase_closest__no_result_and_an_empty_one_are_no_row)
{
  Kr__Pb__Result result = made_result(0);

  expect_rows(NULL, 0);
  kr_hbase_rows_clear(&rows, mem);
  body.len = 0;
  expect_rows(&result, 0);
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase_closest__row_behind_the_stop_row_is_no_row)
{
  Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "s,zz,1.0f.", "info", "server", 3, "a:1");

  expect_rows(&result, 0);
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase_closest__row_above_the_key_is_refused)
{
  Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "t,l,1.0f.", "info", "server", 3, "a:1");

  expect_refused(&result, "answer to Get: a row above the key that was asked for");
}
END_TEST

START_TEST(test_hbase_closest__excluded_row_is_refused)
{
  Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "t,k,1.0f.", "info", "server", 3, "a:1");
  scan.start_row = keyroute_string("t,k,1.0f.");
  scan.include_start = false;

  expect_refused(&result, "answer to Get: a row above the key that was asked for");
}
END_TEST

START_TEST(test_hbase_closest__cells_that_do_not_add_up_are_refused)
{
  Kr__Pb__Result result = made_result(2);
  Kr__Pb__Cell cell = made_cell("t,c,1.0f.", "info", "x", 3, "");
  Kr__Pb__Cell *cells[] = {&cell};

  made_key_value(&block, "t,c,1.0f.", "info", "server", 3, "a.long.name.of.a.server:16020");
  expect_refused(&result, "answer to Get: an unreadable cell");
  body.len = 0;
  result.associated_cell_count = INT32_MAX;
  expect_refused(&result, "answer to Get: more cells announced than sent");
  body.len = 0;
  result.associated_cell_count = -1;
  expect_refused(&result, "answer to Get: more cells announced than sent");
  body.len = 0;
  result.associated_cell_count = 0;
  expect_refused(&result, "answer to Get: more cells sent than announced");
  body.len = 0;
  result.associated_cell_count = 1;
  kr_buf_text(&block, "spare");
  expect_refused(&result, "answer to Get: more cells sent than announced");
  body.len = 0;
  result.n_cell = 1;
  result.cell = cells;
  expect_refused(&result, "answer to Get: cells both in the message and behind it");
}
END_TEST

START_TEST(test_hbase_closest__cells_of_two_rows_are_refused)
{
  Kr__Pb__Result result = made_result(2);

  made_key_value(&block, "t,c,1.0f.", "info", "server", 3, "a:1");
  made_key_value(&block, "t,b,1.0f.", "info", "server", 3, "a:1");

  expect_refused(&result, "answer to Get: cells of two rows in one");
}
END_TEST

START_TEST(test_hbase_closest__partial_row_is_refused)
{
  Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "t,c,1.0f.", "info", "server", 3, "a:1");
  result.has_partial = result.partial = true;

  expect_refused(&result, "answer to Get: a partial row, which was not asked for");
}
END_TEST

START_TEST(test_hbase_closest__unreadable_message_is_refused)
{
  struct kr_rpc_reply reply = made_cut_reply();

  ck_assert_int_eq(kr_hbase_closest_read(&rows, mem, &reply, &scan, &failure), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, "answer to Get: an unreadable message");
}
END_TEST

START_TEST(test_hbase_closest__reading_without_memory_says_so)
{
  Kr__Pb__Result result = made_result(1);
  int error = KEYROUTE_E_NO_MEMORY;

  made_key_value(&block, "t,c,1.0f.", "info", "server", 3, "a:1");
  for (long n = 1; error != 0; n++) {
    body.len = 0;
    struct kr_rpc_reply reply = made_get_reply(&body, &result, &block);

    mem_fail(n);
    error = kr_hbase_closest_read(&rows, mem, &reply, &scan, &failure);
    ck_assert(error == 0 || (error == KEYROUTE_E_NO_MEMORY && failure.code == error));
  }
  ck_assert(!mem_has_failed());
  mem_fail(0);
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase_closest");
  TCase *cases = tcase_create("hbase_closest");

  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_add_test(cases, test_hbase_closest__request_is_a_get_of_one_family);
  tcase_add_test(cases, test_hbase_closest__excluded_key_asks_just_below);
  tcase_add_test(cases, test_hbase_closest__key_behind_a_table_is_the_tables_highest);
  tcase_add_test(cases, test_hbase_closest__writing_without_memory_says_so);
  tcase_add_test(cases, test_hbase_closest__cells_in_the_message_are_a_row);
  tcase_add_test(cases, test_hbase_closest__cells_behind_the_message_are_a_row);
  tcase_add_test(cases, test_hbase_closest__one_row_is_all_that_a_scan_of_one_wants);
  tcase_add_test(cases, test_hbase_closest__no_result_and_an_empty_one_are_no_row);
  tcase_add_test(cases, test_hbase_closest__row_behind_the_stop_row_is_no_row);
  tcase_add_test(cases, test_hbase_closest__row_above_the_key_is_refused);
  tcase_add_test(cases, test_hbase_closest__excluded_row_is_refused);
  tcase_add_test(cases, test_hbase_closest__cells_that_do_not_add_up_are_refused);
  tcase_add_test(cases, test_hbase_closest__cells_of_two_rows_are_refused);
  tcase_add_test(cases, test_hbase_closest__partial_row_is_refused);
  tcase_add_test(cases, test_hbase_closest__unreadable_message_is_refused);
  tcase_add_test(cases, test_hbase_closest__reading_without_memory_says_so);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
