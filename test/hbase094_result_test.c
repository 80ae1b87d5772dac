/* Values that HBase 0.94 answers with, as its own classes write them, and spoilt ones. */
#include "lib/hbase094_result.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/made094.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Row r, f:q at 1 is v. */
#define CELL "00000018 0000000f 00000001 0001 72 01 66 71 0000000000000001 04 76"

static struct kr_mem *mem;
static struct kr_buf body;

static void set_up(void)
{
  mem = failing_mem_new();
  kr_buf_init(&body, mem);
}

static void tear_down(void)
{
  kr_buf_clear(&body);
  failing_mem_done(mem);
}

static void set_body(const char *hex)
{
  body.len = 0;
  made094_hex(&body, hex);
}

/* ---- One row ---- */

static const char *read_result(struct keyroute_bytes *cells, const char *hex)
{
  set_body(hex);
  return kr_hbase094_read_result(cells, kr_buf_view(&body));
}

START_TEST(test_hbase094_result__row_is_its_cells)
{
  struct keyroute_bytes cells;
  size_t count;

  ck_assert_ptr_null(read_result(&cells, "2525 0000001c " CELL));

  ck_assert_uint_eq(cells.len, 28);
  ck_assert_ptr_null(kr_hbase094_count_cells(&count, cells));
  ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(test_hbase094_result__no_row_is_null_or_has_no_cells)
{
  struct keyroute_bytes cells;
  size_t count;

  ck_assert_ptr_null(read_result(&cells, "0e1125"));
  ck_assert_uint_eq(cells.len, 0);
  ck_assert_ptr_null(read_result(&cells, "2525 00000000"));
  ck_assert_uint_eq(cells.len, 0);
  ck_assert_ptr_null(kr_hbase094_count_cells(&count, cells));
  ck_assert_uint_eq(count, 0);
}
END_TEST

static const char *const no_rows[] = {"",
                                      "25",
                                      "0e11",
                                      "0e1126",
                                      "0e112500",
                                      "2526 00000000",
                                      "2625 00000000",
                                      "2525 0000",
                                      "2525 00000001",
                                      "2525 00000000 00",
                                      "2525 ffffffff"};

START_TEST(test_hbase094_result__what_is_no_row_is_refused)
{
  struct keyroute_bytes cells;

  ck_assert_ptr_nonnull(read_result(&cells, no_rows[_i]));
}
END_TEST

START_TEST(test_hbase094_result__cells_that_do_not_add_up_are_refused)
{
  struct keyroute_bytes cells;
  size_t count;

  ck_assert_ptr_null(read_result(&cells, "2525 0000001b 00000018 0000000f 00000001 0001 72 01 66 "
                                         "71 0000000000000001 04"));
  ck_assert_ptr_nonnull(kr_hbase094_count_cells(&count, cells));
  ck_assert_ptr_null(read_result(&cells, "2525 0000001d " CELL " 00"));
  ck_assert_ptr_nonnull(kr_hbase094_count_cells(&count, cells));
}
END_TEST

/* ---- Many ---- */

static const char *read_results(size_t *count, struct kr_reader *reader, const char *hex)
{
  set_body(hex);
  return kr_hbase094_read_results(count, reader, kr_buf_view(&body));
}

START_TEST(test_hbase094_result__rows_come_one_by_one)
{
  struct kr_reader reader;
  size_t count;

  ck_assert_ptr_null(read_results(&count, &reader,
                                  "2601 00000003 00000060 00000001 " CELL " 00000000 00000002 " CELL
                                  " " CELL));

  ck_assert_uint_eq(count, 3);
  ck_assert_uint_eq(kr_hbase094_next_result(&reader).len, 28);
  ck_assert_uint_eq(kr_hbase094_next_result(&reader).len, 0);
  ck_assert_uint_eq(kr_hbase094_next_result(&reader).len, 56);
  ck_assert(!reader.bad);
  ck_assert_uint_eq(kr_reader_left(&reader), 0);
}
END_TEST

START_TEST(test_hbase094_result__no_rows_are_none_or_null)
{
  struct kr_reader reader;
  size_t count;

  ck_assert_ptr_null(read_results(&count, &reader, "2601 00000000"));
  ck_assert_uint_eq(count, 0);
  ck_assert_ptr_null(read_results(&count, &reader, "0e1126"));
  ck_assert_uint_eq(count, 0);
}
END_TEST

static const char *const no_results[] = {"",
                                         "26",
                                         "2602 00000000",
                                         "2501 00000000",
                                         "0e1125",
                                         "2601 00000000 00",
                                         "2601 00000001",
                                         "2601 00000001 00000000",
                                         "2601 00000001 00000005 00000000",
                                         "2601 00000002 00000004 00000000",
                                         "2601 ffffffff 00000004 00000000"};

START_TEST(test_hbase094_result__what_are_no_rows_is_refused)
{
  struct kr_reader reader;
  size_t count;

  ck_assert_ptr_nonnull(read_results(&count, &reader, no_results[_i]));
}
END_TEST

START_TEST(test_hbase094_result__row_of_more_cells_than_sent_is_bad)
{
  struct kr_reader reader;
  size_t count;

  ck_assert_ptr_null(read_results(&count, &reader, "2601 00000001 00000020 7fffffff " CELL));
  ck_assert_uint_eq(count, 1);
  kr_hbase094_next_result(&reader);
  ck_assert(reader.bad);
}
END_TEST

/* ---- Numbers ---- */

START_TEST(test_hbase094_result__number_is_read)
{
  static const char *const others[] = {"", "06", "06 00000000000000", "05 0000000000000007",
                                       "06 0000000000000007 00"};
  int64_t number;

  set_body("06 7f0ad0435fe7d508");
  ck_assert_ptr_null(kr_hbase094_read_long(&number, kr_buf_view(&body)));
  ck_assert_int_eq(number, 0x7f0ad0435fe7d508);
  for (size_t i = 0; i < 5; i++) {
    set_body(others[i]);
    ck_assert_ptr_nonnull(kr_hbase094_read_long(&number, kr_buf_view(&body)));
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("hbase094_result");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_hbase094_result__row_is_its_cells);
  tcase_add_test(tests, test_hbase094_result__no_row_is_null_or_has_no_cells);
  tcase_add_loop_test(tests, test_hbase094_result__what_is_no_row_is_refused, 0, 11);
  tcase_add_test(tests, test_hbase094_result__cells_that_do_not_add_up_are_refused);
  tcase_add_test(tests, test_hbase094_result__rows_come_one_by_one);
  tcase_add_test(tests, test_hbase094_result__no_rows_are_none_or_null);
  tcase_add_loop_test(tests, test_hbase094_result__what_are_no_rows_is_refused, 0, 11);
  tcase_add_test(tests, test_hbase094_result__row_of_more_cells_than_sent_is_bad);
  tcase_add_test(tests, test_hbase094_result__number_is_read);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
