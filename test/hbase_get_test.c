/* One row: the request taken apart again, and answers good and bad. */
#include "lib/hbase_get.h"

#include "test/failing_mem.h"
#include "test/made_cells.h"
#include "test/run_suite.h"

static struct kr_mem *mem;
static struct kr_buf body, block;
static struct kr_read read_of;
static struct kr_get_region region;
static struct keyroute_bytes row;
static struct kr_gets gets;
static struct kr_hbase_got got;
static struct kr_failure failure;

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&body, mem);
  kr_buf_init(&block, mem);
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 1000};
  region = (struct kr_get_region){.name = keyroute_string("t,,1.0123."), .count = 1};
  row = keyroute_string("r");
  gets = (struct kr_gets){
      .read = &read_of, .regions = &region, .region_count = 1, .rows = &row, .row_count = 1};
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
  kr_hbase_get_write(&body, &gets);
  ck_assert(!body.failed);
  Kr__Pb__GetRequest *request = kr__pb__get_request__unpack(NULL, body.len, body.data);

  ck_assert_ptr_nonnull(request);
  return request;
}

static void forget(Kr__Pb__GetRequest *request)
{
  kr__pb__get_request__free_unpacked(request, NULL);
}

/* The columns of a request as "f:p,q g". */
static void expect_columns(const Kr__Pb__Get *get, const char *want)
{
  char have[200] = "";

  for (size_t i = 0; i < get->n_column; i++) {
    const Kr__Pb__Column *column = get->column[i];

    ck_assert(column->has_family);
    snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%.*s", i > 0 ? " " : "",
             (int)column->family.len, (const char *)column->family.data);
    for (size_t k = 0; k < column->n_qualifier; k++) {
      snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%.*s", k > 0 ? "," : ":",
               (int)column->qualifier[k].len, (const char *)column->qualifier[k].data);
    }
  }
  ck_assert_str_eq(have, want);
}

static struct keyroute_column column(const char *family, const char *qualifier)
{
  struct keyroute_bytes none = {NULL, 0};

  return (struct keyroute_column){keyroute_string(family),
                                  qualifier != NULL ? keyroute_string(qualifier) : none};
}

START_TEST(test_hbase_get__request_names_region_row_and_versions)
{
  read_of.max_versions = 3;

  Kr__Pb__GetRequest *request = written();

  ck_assert_int_eq(request->region->type,
                   KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME);
  ck_assert(is_text(kr_proto_bytes(request->region->value), "t,,1.0123."));
  ck_assert(is_text(kr_proto_bytes(request->get->row), "r"));
  ck_assert(request->get->has_max_versions && request->get->has_cache_blocks);
  ck_assert_uint_eq(request->get->max_versions, 3);
  ck_assert(request->get->cache_blocks);
  ck_assert(!request->get->has_consistency && !request->get->has_existence_only);
  ck_assert_ptr_null(request->get->time_range);
  ck_assert_uint_eq(request->get->n_column, 0);
  forget(request);
}
END_TEST

START_TEST(test_hbase_get__columns_are_grouped_by_family)
{
  const struct keyroute_column columns[] = {column("f", "p"), column("g", "x"), column("f", "q"),
                                            column("h", NULL), column("g", "y")};

  read_of.columns = columns;
  read_of.column_count = 5;

  Kr__Pb__GetRequest *request = written();

  expect_columns(request->get, "f:p,q g:x,y h");
  forget(request);
}
END_TEST

START_TEST(test_hbase_get__whole_family_beats_its_columns)
{
  const struct keyroute_column columns[] = {column("f", "p"), column("g", "x"), column("f", NULL),
                                            column("f", "q"), column("g", "y")};

  read_of.columns = columns;
  read_of.column_count = 5;

  Kr__Pb__GetRequest *request = written();

  expect_columns(request->get, "f g:x,y");
  forget(request);
}
END_TEST

START_TEST(test_hbase_get__empty_qualifier_is_a_qualifier)
{
  const struct keyroute_column columns[] = {column("f", "")};

  read_of.columns = columns;
  read_of.column_count = 1;

  Kr__Pb__GetRequest *request = written();

  ck_assert_uint_eq(request->get->column[0]->n_qualifier, 1);
  ck_assert_uint_eq(request->get->column[0]->qualifier[0].len, 0);
  forget(request);
}
END_TEST

START_TEST(test_hbase_get__time_range_is_sent_if_there_is_one)
{
  static const struct {
    int64_t from, to;
    bool has_to;
  } ranges[] = {{5, 0, false}, {0, 9, true}, {5, 9, true}, {5, INT64_MAX, true}};

  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
    read_of.from_ms = ranges[i].from;
    read_of.to_ms = ranges[i].to;
    Kr__Pb__GetRequest *request = written();
    const Kr__Pb__TimeRange *range = request->get->time_range;

    ck_assert_ptr_nonnull(range);
    ck_assert_uint_eq(range->from, (uint64_t)ranges[i].from);
    ck_assert(range->has_to == ranges[i].has_to);
    ck_assert(!range->has_to || range->to == (uint64_t)ranges[i].to);
    forget(request);
    kr_buf_clear(&body);
  }
}
END_TEST

START_TEST(test_hbase_get__read_of_a_replica_is_timeline)
{
  gets.timeline = true;

  Kr__Pb__GetRequest *request = written();

  ck_assert(request->get->has_consistency);
  ck_assert_uint_eq(request->get->consistency, 1);
  forget(request);
}
END_TEST

/* ---- The answer ------------------------------------------------------------------------------ */

static int read_response(Kr__Pb__Result *result)
{
  struct kr_rpc_reply reply = made_get_reply(&body, result, &block);
  int error = kr_hbase_get_read(&got, mem, &reply, &gets, &failure);

  ck_assert(error == 0 || failure.code == error);
  ck_assert(error != 0 || got.got.len == body.len + block.len);
  return error;
}

static void release(void)
{
  kr_free(mem, got.got.block);
  kr_hbase_got_clear(&got);
}

static void expect_refused(Kr__Pb__Result *result, const char *message)
{
  ck_assert_int_eq(read_response(result), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, message);
  ck_assert_str_eq(failure.server, "");
}

START_TEST(test_hbase_get__cells_in_the_message_are_read)
{
  Kr__Pb__Cell cell = made_cell("r", "f", "q", 3, "v");
  Kr__Pb__Cell *cells[] = {&cell};
  Kr__Pb__Result result = made_result(0);

  result.n_cell = 1;
  result.cell = cells;

  ck_assert_int_eq(read_response(&result), 0);
  ck_assert_uint_eq(got.got.row_count, 1);
  ck_assert_uint_eq(got.got.rows[0].cell_count, 1);
  expect_cell(&got.got.rows[0].cells[0], "r/f:q@3=v");
  release();
}
END_TEST

START_TEST(test_hbase_get__cells_behind_the_message_are_read)
{
  Kr__Pb__Result result = made_result(2);

  made_key_value(&block, "r", "f", "q", 4, "new");
  made_key_value(&block, "r", "f", "q", 3, "old");

  ck_assert_int_eq(read_response(&result), 0);
  ck_assert_uint_eq(got.got.rows[0].cell_count, 2);
  expect_cell(&got.got.rows[0].cells[0], "r/f:q@4=new");
  expect_cell(&got.got.rows[0].cells[1], "r/f:q@3=old");
  release();
}
END_TEST

START_TEST(test_hbase_get__answer_without_a_result_is_refused)
{
  expect_refused(NULL, "answer to Get: no result");
}
END_TEST

START_TEST(test_hbase_get__answer_about_another_row_is_refused)
{
  Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "s", "f", "q", 4, "v");

  expect_refused(&result, "answer to Get: a cell of another row than was asked for");
}
END_TEST

START_TEST(test_hbase_get__unreadable_message_is_refused)
{
  struct kr_rpc_reply reply = made_cut_reply();

  ck_assert_int_eq(kr_hbase_get_read(&got, mem, &reply, &gets, &failure), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, "answer to Get: an unreadable message");
}
END_TEST

START_TEST(test_hbase_get__row_over_the_limit_is_the_rows_failure)
{
  Kr__Pb__Result result = made_result(1);

  read_of.max_result_len = 6;
  made_key_value(&block, "r", "f", "q", 4, "value");

  ck_assert_int_eq(read_response(&result), 0);
  ck_assert_int_eq(got.got.rows[0].failure->code, KEYROUTE_E_TOO_LARGE);
  release();
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

static void write_gets(struct kr_buf *out)
{
  kr_hbase_get_write(out, &gets);
}

START_TEST(test_hbase_get__each_failed_allocation_is_told)
{
  const struct keyroute_column columns[] = {column("f", "p"), column("g", NULL)};
  Kr__Pb__Cell cell = made_cell("r", "f", "q", 3, "v");
  Kr__Pb__Cell *cells[] = {&cell};
  Kr__Pb__Result result = KR__PB__RESULT__INIT;
  bool failed = true;

  read_of.columns = columns;
  read_of.column_count = 2;
  result.n_cell = 1;
  result.cell = cells;
  struct kr_rpc_reply reply = made_get_reply(&body, &result, &block);

  ck_assert_int_gt(mem_fail_each_write(mem, write_gets), 0);
  for (long n = 1; failed; n++) {
    mem_fail(n);
    int error = kr_hbase_get_read(&got, mem, &reply, &gets, &failure);

    failed = mem_has_failed();
    ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
  }
  mem_fail(0);
  release();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase_get");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_hbase_get__request_names_region_row_and_versions);
  tcase_add_test(tcase, test_hbase_get__columns_are_grouped_by_family);
  tcase_add_test(tcase, test_hbase_get__whole_family_beats_its_columns);
  tcase_add_test(tcase, test_hbase_get__empty_qualifier_is_a_qualifier);
  tcase_add_test(tcase, test_hbase_get__time_range_is_sent_if_there_is_one);
  tcase_add_test(tcase, test_hbase_get__read_of_a_replica_is_timeline);
  tcase_add_test(tcase, test_hbase_get__cells_in_the_message_are_read);
  tcase_add_test(tcase, test_hbase_get__cells_behind_the_message_are_read);
  tcase_add_test(tcase, test_hbase_get__answer_without_a_result_is_refused);
  tcase_add_test(tcase, test_hbase_get__answer_about_another_row_is_refused);
  tcase_add_test(tcase, test_hbase_get__unreadable_message_is_refused);
  tcase_add_test(tcase, test_hbase_get__row_over_the_limit_is_the_rows_failure);
  tcase_add_test(tcase, test_hbase_get__each_failed_allocation_is_told);

  return run_suite(suite);
}
