/* From results to rows: what is copied, what is refused, and what a row may weigh. */
#include "lib/hbase_cells.h"

#include "lib/exception.h"
#include "test/failing_mem.h"
#include "test/made_cells.h"
#include "test/run_suite.h"

#include <stdlib.h>

#define NO_LIMIT SIZE_MAX

static struct kr_mem *mem;
static struct kr_buf block;
static struct kr_hbase_got got;
static const char *trouble;

static const struct kr_rpc_reply no_reply = {.server = MADE_SERVER};

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&block, mem);
}

static void teardown(void)
{
  kr_buf_clear(&block);
  failing_mem_done(mem);
}

/* Read results whose rows are "a", "b" and so on; what is left over is released on failure. */
static int read_results(const Kr__Pb__Result *messages, size_t count, size_t max_len)
{
  struct kr_hbase_result results[4];
  static const char *const rows[] = {"a", "b", "c", "d"};

  for (size_t i = 0; i < count; i++) {
    results[i] = (struct kr_hbase_result){
        .message = &messages[i], .row = keyroute_string(rows[i]), .index = i};
  }
  int error = kr_hbase_got_init(&got, mem, count, &no_reply);

  if (error == 0) {
    error = kr_hbase_got_results(&got, results, count, kr_buf_view(&block), max_len, &trouble);
    if (error != 0) {
      ck_assert_ptr_null(got.got.block);
      kr_hbase_got_clear(&got);
    }
  }
  return error;
}

static void release(void)
{
  kr_free(mem, got.got.block);
  kr_hbase_got_clear(&got);
}

START_TEST(test_hbase_cells__block_is_shared_out_in_the_order_of_results)
{
  const Kr__Pb__Result results[] = {made_result(2), made_result(0), made_result(1)};

  made_key_value(&block, "a", "f", "p", 7, "one");
  made_key_value(&block, "a", "f", "q", 1ll << 40, "two");
  made_key_value(&block, "c", "", "", 0, "");

  ck_assert_int_eq(read_results(results, 3, NO_LIMIT), 0);
  ck_assert_uint_eq(got.got.row_count, 3);
  ck_assert_uint_eq(got.got.rows[0].cell_count, 2);
  expect_cell(&got.got.rows[0].cells[0], "a/f:p@7=one");
  expect_cell(&got.got.rows[0].cells[1], "a/f:q@1099511627776=two");
  ck_assert_uint_eq(got.got.rows[1].cell_count, 0);
  ck_assert_ptr_null(got.got.rows[1].cells);
  ck_assert_uint_eq(got.got.rows[2].cell_count, 1);
  expect_cell(&got.got.rows[2].cells[0], "c/:@0=");
  release();
}
END_TEST

START_TEST(test_hbase_cells__inline_cells_are_read_with_their_tags)
{
  Kr__Pb__Cell cells[] = {made_cell("a", "f", "q", -1, "v"), made_cell("a", "g", "q", 5, "w")};
  Kr__Pb__Cell *list[] = {&cells[0], &cells[1]};
  Kr__Pb__Result result = KR__PB__RESULT__INIT;

  cells[1].has_tags = true;
  cells[1].tags = made_binary("tag");
  cells[1].has_cell_type = false;
  result.n_cell = 2;
  result.cell = list;

  ck_assert_int_eq(read_results(&result, 1, NO_LIMIT), 0);
  ck_assert_uint_eq(got.got.rows[0].cell_count, 2);
  expect_cell(&got.got.rows[0].cells[0], "a/f:q@-1=v");
  expect_cell(&got.got.rows[0].cells[1], "a/g:q@5=w");
  ck_assert_uint_eq(got.got.rows[0].cells[0].tags.len, 0);
  ck_assert(is_text(got.got.rows[0].cells[1].tags, "tag"));
  release();
}
END_TEST

START_TEST(test_hbase_cells__cells_outlive_the_answer)
{
  const Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "a", "f", "q", 1, "value");

  ck_assert_int_eq(read_results(&result, 1, NO_LIMIT), 0);
  memset(block.data, 'x', block.len);
  kr_buf_clear(&block);
  expect_cell(&got.got.rows[0].cells[0], "a/f:q@1=value");
  release();
}
END_TEST

START_TEST(test_hbase_cells__row_and_family_are_kept_once)
{
  const Kr__Pb__Result result = made_result(3);
  const struct keyroute_cell *cells;

  made_key_value(&block, "a", "f", "p", 1, "");
  made_key_value(&block, "a", "f", "q", 1, "");
  made_key_value(&block, "a", "g", "q", 1, "");

  ck_assert_int_eq(read_results(&result, 1, NO_LIMIT), 0);
  cells = got.got.rows[0].cells;
  ck_assert_ptr_eq(cells[0].row.data, cells[2].row.data);
  ck_assert_ptr_eq(cells[0].family.data, cells[1].family.data);
  ck_assert_ptr_ne(cells[1].family.data, cells[2].family.data);
  expect_cell(&cells[2], "a/g:q@1=");
  release();
}
END_TEST

START_TEST(test_hbase_cells__row_that_does_not_exist_is_read_well)
{
  Kr__Pb__Result result = KR__PB__RESULT__INIT;

  result.has_stale = true;
  result.stale = true;

  ck_assert_int_eq(read_results(&result, 1, 0), 0);
  ck_assert_ptr_null(got.got.block);
  ck_assert_ptr_null(got.got.rows[0].failure);
  ck_assert(got.got.rows[0].stale);
  release();
}
END_TEST

/* ---- What a row may weigh -------------------------------------------------------------------- */

START_TEST(test_hbase_cells__row_over_the_limit_fails_alone)
{
  const Kr__Pb__Result results[] = {made_result(1), made_result(2), made_result(1)};
  const struct kr_failure *failure;

  made_key_value(&block, "a", "f", "q", 1, "1234567"); /* 10 bytes in its cells */
  made_key_value(&block, "b", "f", "q", 1, "1234");
  made_key_value(&block, "b", "f", "r", 1, "1");
  made_key_value(&block, "c", "f", "q", 1, "c");

  ck_assert_int_eq(read_results(results, 3, 10), 0);
  expect_cell(&got.got.rows[0].cells[0], "a/f:q@1=1234567");
  expect_cell(&got.got.rows[2].cells[0], "c/f:q@1=c");
  failure = got.got.rows[1].failure;
  ck_assert_int_eq(failure->code, KEYROUTE_E_TOO_LARGE);
  ck_assert_str_eq(failure->message,
                   "server " MADE_SERVER ": a row of 11 bytes, over the limit of 10 for one row");
  ck_assert_str_eq(failure->server, MADE_SERVER);
  ck_assert(failure->sent);
  ck_assert_uint_eq(got.got.rows[1].cell_count, 0);
  ck_assert_ptr_null(got.got.rows[0].failure);
  release();
}
END_TEST

START_TEST(test_hbase_cells__rows_that_are_all_too_large_leave_no_block)
{
  const Kr__Pb__Result results[] = {made_result(1), made_result(1)};

  made_key_value(&block, "a", "f", "q", 1, "12345678");
  made_key_value(&block, "b", "f", "q", 1, "12345678");

  ck_assert_int_eq(read_results(results, 2, 10), 0);
  ck_assert_ptr_null(got.got.block);
  ck_assert_ptr_nonnull(got.got.rows[0].failure);
  ck_assert_ptr_nonnull(got.got.rows[1].failure);
  release();
}
END_TEST

/* ---- What is refused ------------------------------------------------------------------------- */

static void expect_refused(const Kr__Pb__Result *results, size_t count, const char *why)
{
  ck_assert_int_eq(read_results(results, count, NO_LIMIT), KEYROUTE_E_PROTOCOL);
  ck_assert_msg(strstr(trouble, why) != NULL, "\"%s\" does not say \"%s\"", trouble, why);
}

START_TEST(test_hbase_cells__counts_must_use_up_the_block)
{
  static const struct {
    int32_t first, second;
    const char *why;
  } counts[] = {
      {2, 1, "another row"},       {1, 2, "unreadable"},
      {1, 0, "more cells sent"},   {0, 1, "another row"},
      {-1, 1, "more cells ann"},   {INT32_MIN, 1, "more cells ann"},
      {INT32_MAX, 1, "more cell"}, {1, INT32_MAX, "more cells ann"},
  };

  made_key_value(&block, "a", "f", "q", 1, "some value that leaves room for a second cell");
  made_key_value(&block, "b", "f", "q", 1, "");

  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    const Kr__Pb__Result results[] = {made_result(counts[i].first), made_result(counts[i].second)};

    expect_refused(results, 2, counts[i].why);
  }
}
END_TEST

START_TEST(test_hbase_cells__cells_of_another_row_are_refused)
{
  const Kr__Pb__Result result = made_result(2);

  made_key_value(&block, "a", "f", "q", 1, "");
  made_key_value(&block, "aa", "f", "q", 1, "");

  expect_refused(&result, 1, "another row");
}
END_TEST

START_TEST(test_hbase_cells__partial_row_is_refused)
{
  Kr__Pb__Result result = made_result(1);

  result.has_partial = true;
  result.partial = true;
  made_key_value(&block, "a", "f", "q", 1, "");

  expect_refused(&result, 1, "partial");
}
END_TEST

START_TEST(test_hbase_cells__cells_of_a_row_in_both_places_are_refused)
{
  Kr__Pb__Cell cell = made_cell("a", "f", "q", 1, "");
  Kr__Pb__Cell *list[] = {&cell};
  Kr__Pb__Result result = made_result(1);

  result.n_cell = 1;
  result.cell = list;
  made_key_value(&block, "a", "f", "q", 1, "");

  expect_refused(&result, 1, "both");
}
END_TEST

START_TEST(test_hbase_cells__cut_block_is_refused)
{
  const Kr__Pb__Result result = made_result(1);

  made_key_value(&block, "a", "f", "q", 1, "value");
  while (block.len > 0) {
    block.len--;
    ck_assert_int_eq(read_results(&result, 1, NO_LIMIT), KEYROUTE_E_PROTOCOL);
  }
}
END_TEST

START_TEST(test_hbase_cells__claimed_counts_allocate_nothing)
{
  const Kr__Pb__Result result = made_result(INT32_MAX);
  struct kr_hbase_result results = {.message = &result, .row = keyroute_string("a")};

  made_key_value(&block, "a", "f", "q", 1, "value");
  ck_assert_int_eq(kr_hbase_got_init(&got, mem, 1, &no_reply), 0);
  mem_fail(1);

  ck_assert_int_eq(kr_hbase_got_results(&got, &results, 1, kr_buf_view(&block), NO_LIMIT, &trouble),
                   KEYROUTE_E_PROTOCOL);
  ck_assert(!mem_has_failed());
  kr_hbase_got_clear(&got);
}
END_TEST

/* ---- Exceptions ------------------------------------------------------------------------------ */

static const struct kr_failure *failure_of(const char *name, struct keyroute_bytes text)
{
  Kr__Pb__NameBytesPair exception = KR__PB__NAME_BYTES_PAIR__INIT;

  exception.name = (char *)(uintptr_t)name;
  exception.has_value = true;
  exception.value = kr_proto_binary(text);
  ck_assert_int_eq(kr_hbase_got_init(&got, mem, 1, &no_reply), 0);
  return kr_hbase_got_exception(&got, &exception);
}

START_TEST(test_hbase_cells__exception_is_a_failure_of_that_server)
{
  static const char text[] = "org.apache.hadoop.hbase.NotServingRegionException: t,,1 is not "
                             "online\n\tat org.apache.hadoop";
  char *unended = malloc(sizeof(text) - 1); /* no NUL behind it, as a sanitizer sees */

  memcpy(unended, text, sizeof(text) - 1);
  const struct kr_failure *failure = failure_of("org.apache.hadoop.hbase.NotServingRegionException",
                                                kr_bytes(unended, sizeof(text) - 1));

  free(unended);
  ck_assert_int_eq(failure->code, KEYROUTE_E_REMOTE);
  ck_assert_int_eq(failure->kind, KEYROUTE_KIND_REFRESH);
  ck_assert_int_eq(failure->fault, KEYROUTE_FAULT_NOT_SERVING);
  ck_assert(failure->sent && failure->refused);
  ck_assert_str_eq(failure->server, MADE_SERVER);
  ck_assert_str_eq(failure->message,
                   "server " MADE_SERVER ": NotServingRegionException: t,,1 is not online");
  kr_hbase_got_clear(&got);
}
END_TEST

START_TEST(test_hbase_cells__place_that_a_region_moved_to_is_whole)
{
  char host[KR_HOST_MAX + 1];
  char text[4000];

  memset(host, 'h', KR_HOST_MAX);
  host[KR_HOST_MAX] = '\0';
  snprintf(text, sizeof(text),
           "org.apache.hadoop.hbase.exceptions.RegionMovedException: Region moved to: hostname=%s "
           "port=65535 startCode=9223372036854775807. As of locationSeqNum=9223372036854775807."
           "\n\tat org.apache.hadoop.hbase.regionserver.HRegionServer.getRegion %02000d",
           host, 0);
  const struct kr_failure *failure =
      failure_of("org.apache.hadoop.hbase.exceptions.RegionMovedException", keyroute_string(text));

  ck_assert_int_eq(failure->kind, KEYROUTE_KIND_HINT);
  ck_assert_str_eq(failure->moved.host, host);
  ck_assert_uint_eq(failure->moved.port, 65535);
  ck_assert_int_eq(failure->moved.start_code, INT64_MAX);
  ck_assert_int_eq(failure->moved.seqnum, INT64_MAX);
  kr_hbase_got_clear(&got);
}
END_TEST

START_TEST(test_hbase_cells__wait_of_a_throttled_row_is_kept)
{
  const struct kr_failure *failure =
      failure_of("org.apache.hadoop.hbase.quotas.RpcThrottlingException",
                 keyroute_string("number of read requests exceeded - wait 1sec, 20ms"));

  ck_assert_int_eq(failure->code, KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(failure->wait_ms, 1020);
  kr_hbase_got_clear(&got);
}
END_TEST

START_TEST(test_hbase_cells__exception_without_a_name_or_text_is_one_all_the_same)
{
  const struct kr_failure *failure = failure_of(NULL, kr_bytes(NULL, 0));

  ck_assert_int_eq(failure->code, KEYROUTE_E_REMOTE);
  ck_assert_str_eq(failure->message, "server " MADE_SERVER ": exception");
  ck_assert(!failure->refused);
  kr_hbase_got_clear(&got);
}
END_TEST

START_TEST(test_hbase_cells__each_failed_allocation_is_told)
{
  const Kr__Pb__Result results[] = {made_result(1), made_result(1)};
  int error = KEYROUTE_E_NO_MEMORY;

  made_key_value(&block, "a", "f", "q", 1, "12345678");
  made_key_value(&block, "b", "f", "q", 1, "");

  for (long n = 1; error != 0; n++) {
    mem_fail(n);
    error = read_results(results, 2, 10);
    ck_assert(error == (mem_has_failed() ? KEYROUTE_E_NO_MEMORY : 0));
  }
  mem_fail(0);
  ck_assert_int_eq(got.got.rows[0].failure->code, KEYROUTE_E_TOO_LARGE);
  release();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase_cells");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_hbase_cells__block_is_shared_out_in_the_order_of_results);
  tcase_add_test(tcase, test_hbase_cells__inline_cells_are_read_with_their_tags);
  tcase_add_test(tcase, test_hbase_cells__cells_outlive_the_answer);
  tcase_add_test(tcase, test_hbase_cells__row_and_family_are_kept_once);
  tcase_add_test(tcase, test_hbase_cells__row_that_does_not_exist_is_read_well);
  tcase_add_test(tcase, test_hbase_cells__row_over_the_limit_fails_alone);
  tcase_add_test(tcase, test_hbase_cells__rows_that_are_all_too_large_leave_no_block);
  tcase_add_test(tcase, test_hbase_cells__counts_must_use_up_the_block);
  tcase_add_test(tcase, test_hbase_cells__cells_of_another_row_are_refused);
  tcase_add_test(tcase, test_hbase_cells__partial_row_is_refused);
  tcase_add_test(tcase, test_hbase_cells__cells_of_a_row_in_both_places_are_refused);
  tcase_add_test(tcase, test_hbase_cells__cut_block_is_refused);
  tcase_add_test(tcase, test_hbase_cells__claimed_counts_allocate_nothing);
  tcase_add_test(tcase, test_hbase_cells__exception_is_a_failure_of_that_server);
  tcase_add_test(tcase, test_hbase_cells__place_that_a_region_moved_to_is_whole);
  tcase_add_test(tcase, test_hbase_cells__wait_of_a_throttled_row_is_kept);
  tcase_add_test(tcase, test_hbase_cells__exception_without_a_name_or_text_is_one_all_the_same);
  tcase_add_test(tcase, test_hbase_cells__each_failed_allocation_is_told);

  return run_suite(suite);
}
