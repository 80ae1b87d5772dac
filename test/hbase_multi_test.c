/* Many rows: the request taken apart again, answers in any order, and every way they may not add
 * up. */
#include "lib/hbase_multi.h"

#include "lib/exception.h"
#include "test/failing_mem.h"
#include "test/made_cells.h"
#include "test/run_suite.h"

#include <stdlib.h>

enum { ROWS = 5, REGIONS = 2 };

#define MOVED "org.apache.hadoop.hbase.exceptions.RegionMovedException"
#define BUSY "org.apache.hadoop.hbase.RegionTooBusyException"

static struct kr_mem *mem;
static struct kr_buf body, block;
static struct kr_read read_of;
static struct kr_get_region regions[REGIONS];
static struct keyroute_bytes rows[ROWS];
static struct kr_gets gets;
static struct kr_hbase_got got;
static struct kr_failure failure;

/* A good answer, to be spoilt: rows a and b of the first region, c, d and e of the second. */
static struct {
  Kr__Pb__MultiResponse message;
  Kr__Pb__RegionActionResult regions[REGIONS + 1];
  Kr__Pb__RegionActionResult *region_list[REGIONS + 1];
  Kr__Pb__ResultOrException rows[ROWS + 1];
  Kr__Pb__ResultOrException *row_list[ROWS + 1];
  Kr__Pb__Result results[ROWS + 1];
  Kr__Pb__NameBytesPair exception;
} answer;

static void make_answer(void)
{
  memset(&answer, 0, sizeof(answer));
  kr__pb__multi_response__init(&answer.message);
  kr__pb__name_bytes_pair__init(&answer.exception);
  answer.message.n_regionactionresult = REGIONS;
  answer.message.regionactionresult = answer.region_list;
  for (size_t i = 0; i <= ROWS; i++) {
    kr__pb__result_or_exception__init(&answer.rows[i]);
    answer.row_list[i] = &answer.rows[i];
    answer.results[i] = made_result(0);
    answer.rows[i].has_index = true;
    answer.rows[i].index = (uint32_t)i;
    answer.rows[i].result = &answer.results[i];
  }
  for (size_t i = 0; i <= REGIONS; i++) {
    kr__pb__region_action_result__init(&answer.regions[i]);
    answer.region_list[i] = &answer.regions[i];
  }
  answer.regions[0].n_resultorexception = 2;
  answer.regions[0].resultorexception = &answer.row_list[0];
  answer.regions[1].n_resultorexception = 3;
  answer.regions[1].resultorexception = &answer.row_list[2];
}

static void setup(void)
{
  static const char *const names[ROWS] = {"a", "b", "c", "d", "e"};

  mem = failing_mem_new();
  kr_buf_init(&body, mem);
  kr_buf_init(&block, mem);
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 1000};
  regions[0] = (struct kr_get_region){keyroute_string("t,,1.01."), 0, 2};
  regions[1] = (struct kr_get_region){keyroute_string("t,c,1.02."), 2, 3};
  for (size_t i = 0; i < ROWS; i++) {
    rows[i] = keyroute_string(names[i]);
  }
  gets = (struct kr_gets){.read = &read_of,
                          .regions = regions,
                          .region_count = REGIONS,
                          .rows = rows,
                          .row_count = ROWS};
  make_answer();
}

static void teardown(void)
{
  kr_buf_clear(&body);
  kr_buf_clear(&block);
  failing_mem_done(mem);
}

/* ---- The request ----------------------------------------------------------------------------- */

START_TEST(test_hbase_multi__request_holds_rows_region_by_region)
{
  const struct keyroute_column column = {keyroute_string("f"), keyroute_string("q")};

  read_of.columns = &column;
  read_of.column_count = 1;
  read_of.from_ms = 5;
  kr_hbase_multi_write(&body, &gets);
  Kr__Pb__MultiRequest *request = kr__pb__multi_request__unpack(NULL, body.len, body.data);
  size_t row = 0;

  ck_assert_ptr_nonnull(request);
  ck_assert_uint_eq(request->n_regionaction, REGIONS);
  for (size_t i = 0; i < REGIONS; i++) {
    const Kr__Pb__RegionAction *region = request->regionaction[i];

    ck_assert(kr_bytes_equal(kr_proto_bytes(region->region->value), regions[i].name));
    ck_assert_uint_eq(region->n_action, regions[i].count);
    for (size_t k = 0; k < region->n_action; k++, row++) {
      const Kr__Pb__Get *get = region->action[k]->get;

      ck_assert(region->action[k]->has_index && region->action[k]->index == row);
      ck_assert(kr_bytes_equal(kr_proto_bytes(get->row), rows[row]));
      ck_assert_uint_eq(get->n_column, 1);
      ck_assert(is_text(kr_proto_bytes(get->column[0]->qualifier[0]), "q"));
      ck_assert_uint_eq(get->time_range->from, 5);
    }
  }
  kr__pb__multi_request__free_unpacked(request, NULL);
}
END_TEST

/* ---- Good answers ---------------------------------------------------------------------------- */

static int read_answer(void)
{
  kr_buf_clear(&body);
  struct kr_rpc_reply reply = made_reply(&body, &answer.message.base, &block);

  return kr_hbase_multi_read(&got, mem, &reply, &gets, &failure);
}

static void release(void)
{
  kr_free(mem, got.got.block);
  kr_hbase_got_clear(&got);
}

static void put_exception(const char *name, const char *text)
{
  answer.exception.name = (char *)(uintptr_t)name;
  answer.exception.has_value = true;
  answer.exception.value = made_binary(text);
}

START_TEST(test_hbase_multi__rows_are_told_apart_by_index)
{
  answer.rows[0].index = 1;
  answer.rows[1].index = 0;
  answer.rows[2].index = 4;
  answer.rows[4].index = 2;
  answer.results[0] = answer.results[1] = answer.results[2] = made_result(1);
  answer.results[4] = made_result(2);
  answer.results[4].has_stale = answer.results[4].stale = true;
  made_key_value(&block, "b", "f", "q", 1, "of b");
  made_key_value(&block, "a", "f", "q", 1, "of a");
  made_key_value(&block, "e", "f", "q", 1, "of e");
  made_key_value(&block, "c", "f", "q", 2, "new");
  made_key_value(&block, "c", "f", "q", 1, "old");

  ck_assert_int_eq(read_answer(), 0);
  ck_assert_uint_eq(got.got.row_count, ROWS);
  ck_assert_uint_eq(got.got.len, body.len + block.len);
  expect_cell(&got.got.rows[0].cells[0], "a/f:q@1=of a");
  expect_cell(&got.got.rows[1].cells[0], "b/f:q@1=of b");
  ck_assert_uint_eq(got.got.rows[2].cell_count, 2);
  expect_cell(&got.got.rows[2].cells[1], "c/f:q@1=old");
  ck_assert(got.got.rows[2].stale && !got.got.rows[4].stale);
  ck_assert_uint_eq(got.got.rows[3].cell_count, 0);
  ck_assert_ptr_null(got.got.rows[3].failure);
  expect_cell(&got.got.rows[4].cells[0], "e/f:q@1=of e");
  release();
}
END_TEST

START_TEST(test_hbase_multi__cells_inside_the_message_are_read)
{
  Kr__Pb__Cell cell = made_cell("d", "f", "q", 3, "v");
  Kr__Pb__Cell *cells[] = {&cell};

  answer.results[3].n_cell = 1;
  answer.results[3].cell = cells;

  ck_assert_int_eq(read_answer(), 0);
  expect_cell(&got.got.rows[3].cells[0], "d/f:q@3=v");
  release();
}
END_TEST

START_TEST(test_hbase_multi__row_asked_for_twice_is_answered_twice)
{
  rows[1] = rows[0];
  answer.results[0] = answer.results[1] = made_result(1);
  made_key_value(&block, "a", "f", "q", 1, "x");
  made_key_value(&block, "a", "f", "q", 1, "x");

  ck_assert_int_eq(read_answer(), 0);
  expect_cell(&got.got.rows[0].cells[0], "a/f:q@1=x");
  expect_cell(&got.got.rows[1].cells[0], "a/f:q@1=x");
  release();
}
END_TEST

/* ---- What fails alone ------------------------------------------------------------------------ */

START_TEST(test_hbase_multi__region_with_an_exception_fails_alone)
{
  put_exception(MOVED, MOVED ": Region moved to: hostname=rs2.example port=16021 startCode=7. As "
                             "of locationSeqNum=12.\n\tat org.apache");
  answer.regions[0].n_resultorexception = 0;
  answer.regions[0].exception = &answer.exception;
  answer.results[2] = made_result(1);
  made_key_value(&block, "c", "f", "q", 1, "v");

  ck_assert_int_eq(read_answer(), 0);
  ck_assert_ptr_nonnull(got.got.rows[0].failure);
  ck_assert_ptr_eq(got.got.rows[0].failure, got.got.rows[1].failure);
  ck_assert_int_eq(got.got.rows[0].failure->kind, KEYROUTE_KIND_HINT);
  ck_assert_str_eq(got.got.rows[0].failure->server, MADE_SERVER);
  ck_assert_str_eq(got.got.rows[0].failure->moved.host, "rs2.example");
  ck_assert_int_eq(got.got.rows[0].failure->moved.seqnum, 12);
  expect_cell(&got.got.rows[2].cells[0], "c/f:q@1=v");
  release();
}
END_TEST

START_TEST(test_hbase_multi__row_with_an_exception_fails_alone)
{
  put_exception(BUSY, "over memstore limit");
  answer.rows[3].result = NULL;
  answer.rows[3].exception = &answer.exception;
  answer.results[4] = made_result(1);
  made_key_value(&block, "e", "f", "q", 1, "v");

  ck_assert_int_eq(read_answer(), 0);
  ck_assert_int_eq(got.got.rows[3].failure->code, KEYROUTE_E_OVERLOADED);
  ck_assert_str_eq(got.got.rows[3].failure->message,
                   "server " MADE_SERVER ": RegionTooBusyException: over memstore limit");
  ck_assert_ptr_null(got.got.rows[2].failure);
  expect_cell(&got.got.rows[4].cells[0], "e/f:q@1=v");
  release();
}
END_TEST

START_TEST(test_hbase_multi__row_over_the_limit_fails_alone)
{
  read_of.max_result_len = 6;
  answer.results[0] = answer.results[1] = made_result(1);
  made_key_value(&block, "a", "f", "q", 1, "value");
  made_key_value(&block, "b", "f", "q", 1, "v");

  ck_assert_int_eq(read_answer(), 0);
  ck_assert_int_eq(got.got.rows[0].failure->code, KEYROUTE_E_TOO_LARGE);
  expect_cell(&got.got.rows[1].cells[0], "b/f:q@1=v");
  release();
}
END_TEST

/* ---- What does not add up -------------------------------------------------------------------- */

static void one_region_less(void)
{
  answer.message.n_regionactionresult--;
}

static void one_region_more(void)
{
  answer.message.n_regionactionresult++;
}

static void no_region(void)
{
  answer.message.n_regionactionresult = 0;
}

static void one_row_less(void)
{
  answer.regions[0].n_resultorexception--;
}

static void one_row_more(void)
{
  answer.regions[1].n_resultorexception++;
}

static void no_row(void)
{
  answer.regions[1].n_resultorexception = 0;
}

static void no_index(void)
{
  answer.rows[0].has_index = false;
}

static void index_of_another_region(void)
{
  answer.rows[1].index = 2;
}

static void index_of_an_earlier_region(void)
{
  answer.rows[2].index = 1;
}

static void index_of_no_row(void)
{
  answer.rows[4].index = ROWS;
}

static void huge_index(void)
{
  answer.rows[4].index = UINT32_MAX;
}

static void index_twice(void)
{
  answer.rows[3].index = 2;
}

static void index_twice_by_exception(void)
{
  put_exception(BUSY, "busy");
  index_twice();
  answer.rows[2].result = NULL;
  answer.rows[2].exception = &answer.exception;
}

static void both(void)
{
  put_exception(BUSY, "busy");
  answer.rows[2].exception = &answer.exception;
}

static void neither(void)
{
  answer.rows[2].result = NULL;
}

static void exception_beside_results(void)
{
  put_exception(MOVED, "moved");
  answer.regions[1].exception = &answer.exception;
}

static void cells_of_another_row(void)
{
  answer.results[0] = answer.results[1] = made_result(1);
  made_key_value(&block, "b", "f", "q", 1, "v");
  made_key_value(&block, "a", "f", "q", 1, "v");
}

static void spare_cells(void)
{
  made_key_value(&block, "a", "f", "q", 1, "v");
}

static void missing_cells(void)
{
  answer.results[0] = answer.results[1] = made_result(1);
  made_key_value(&block, "a", "f", "q", 1, "long enough for another cell");
}

static void absurd_count(void)
{
  answer.results[3] = made_result(INT32_MAX);
}

static void partial(void)
{
  answer.results[3].has_partial = answer.results[3].partial = true;
}

static const struct {
  void (*spoil)(void);
  const char *why;
} spoilt[] = {
    {one_region_less, "not as many regions"},
    {one_region_more, "not as many regions"},
    {no_region, "not as many regions"},
    {one_row_less, "not as many results"},
    {one_row_more, "not as many results"},
    {no_row, "not as many results"},
    {no_index, "not asked for there"},
    {index_of_another_region, "not asked for there"},
    {index_of_an_earlier_region, "not asked for there"},
    {index_of_no_row, "not asked for there"},
    {huge_index, "not asked for there"},
    {index_twice, "two results"},
    {index_twice_by_exception, "two results"},
    {both, "an exception too"},
    {neither, "neither"},
    {exception_beside_results, "beside its exception"},
    {cells_of_another_row, "another row"},
    {spare_cells, "more cells sent"},
    {missing_cells, "unreadable cell"},
    {absurd_count, "more cells announced"},
    {partial, "partial"},
};

enum { SPOILT = (int)(sizeof(spoilt) / sizeof(spoilt[0])) };

START_TEST(test_hbase_multi__answer_that_does_not_add_up_fails_as_a_whole)
{
  spoilt[_i].spoil();

  ck_assert_int_eq(read_answer(), KEYROUTE_E_PROTOCOL);
  ck_assert_int_eq(failure.code, KEYROUTE_E_PROTOCOL);
  ck_assert_msg(strstr(failure.message, spoilt[_i].why) != NULL, "%s", failure.message);
  ck_assert_msg(strncmp(failure.message, "answer to Multi: ", 17) == 0, "%s", failure.message);
}
END_TEST

START_TEST(test_hbase_multi__unreadable_message_is_refused)
{
  struct kr_rpc_reply reply = {.body = kr_bytes("\x0a\x7f", 2), .server = MADE_SERVER};

  ck_assert_int_eq(kr_hbase_multi_read(&got, mem, &reply, &gets, &failure), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, "answer to Multi: an unreadable message");
}
END_TEST

/* An answer with all that may be in one. */
static void make_full_answer(void)
{
  put_exception(BUSY, "busy");
  answer.rows[3].result = NULL;
  answer.rows[3].exception = &answer.exception;
  answer.results[0] = answer.results[4] = made_result(1);
  answer.results[2] = made_result(2);
  made_key_value(&block, "a", "f", "q", 1, "v");
  made_key_value(&block, "c", "f", "q", 2, "new");
  made_key_value(&block, "c", "f", "q", 1, "old");
  made_key_value(&block, "e", "f", "q", 1, "much too long");
  read_of.max_result_len = 12;
}

START_TEST(test_hbase_multi__spoilt_answers_do_no_harm)
{
  unsigned seed = 5;

  make_full_answer();
  struct kr_rpc_reply reply = made_reply(&body, &answer.message.base, &block);
  size_t len = body.len + block.len;
  uint8_t *copy = malloc(len);

  for (int round = 0; round < 20000; round++) {
    memcpy(copy, body.data, body.len);
    memcpy(copy + body.len, block.data, block.len);
    for (int i = rand_r(&seed) % 3; i >= 0; i--) {
      copy[(size_t)rand_r(&seed) % len] = (uint8_t)rand_r(&seed);
    }
    reply.body.data = copy;
    reply.cells.data = copy + body.len;
    if (kr_hbase_multi_read(&got, mem, &reply, &gets, &failure) == 0) {
      release();
    } else {
      ck_assert_int_eq(failure.code, KEYROUTE_E_PROTOCOL);
    }
  }
  free(copy);
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

static void write_gets(struct kr_buf *out)
{
  kr_hbase_multi_write(out, &gets);
}

START_TEST(test_hbase_multi__each_failed_allocation_is_told)
{
  const struct keyroute_column column = {keyroute_string("f"), keyroute_string("q")};
  bool failed = true;

  read_of.columns = &column;
  read_of.column_count = 1;
  make_full_answer();
  struct kr_rpc_reply reply = made_reply(&body, &answer.message.base, &block);

  ck_assert_int_gt(mem_fail_each_write(mem, write_gets), 0);
  for (long n = 1; failed; n++) {
    mem_fail(n);
    int error = kr_hbase_multi_read(&got, mem, &reply, &gets, &failure);

    failed = mem_has_failed();
    ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
  }
  mem_fail(0);
  ck_assert_int_eq(got.got.rows[3].failure->code, KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(got.got.rows[4].failure->code, KEYROUTE_E_TOO_LARGE);
  expect_cell(&got.got.rows[2].cells[1], "c/f:q@1=old");
  release();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase_multi");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_hbase_multi__request_holds_rows_region_by_region);
  tcase_add_test(tcase, test_hbase_multi__rows_are_told_apart_by_index);
  tcase_add_test(tcase, test_hbase_multi__cells_inside_the_message_are_read);
  tcase_add_test(tcase, test_hbase_multi__row_asked_for_twice_is_answered_twice);
  tcase_add_test(tcase, test_hbase_multi__region_with_an_exception_fails_alone);
  tcase_add_test(tcase, test_hbase_multi__row_with_an_exception_fails_alone);
  tcase_add_test(tcase, test_hbase_multi__row_over_the_limit_fails_alone);
  tcase_add_loop_test(tcase, test_hbase_multi__answer_that_does_not_add_up_fails_as_a_whole, 0,
                      SPOILT);
  tcase_add_test(tcase, test_hbase_multi__unreadable_message_is_refused);
  tcase_add_test(tcase, test_hbase_multi__spoilt_answers_do_no_harm);
  tcase_add_test(tcase, test_hbase_multi__each_failed_allocation_is_told);

  return run_suite(suite);
}
