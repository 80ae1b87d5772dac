/* One row of HBase 0.94: requests as its own classes write them, an answer that a server gave. */
#include "lib/hbase094_get.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/made094.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_buf out, want;
static struct kr_read read_of;
static const struct kr_gets gets = {.read = &read_of};

static void set_up(void)
{
  mem = failing_mem_new();
  kr_buf_init(&out, mem);
  kr_buf_init(&want, mem);
  read_of = (struct kr_read){.max_versions = 1};
}

static void tear_down(void)
{
  kr_buf_clear(&out);
  kr_buf_clear(&want);
  failing_mem_done(mem);
}

/* Of region r. */
static void expect_written(const char *hex)
{
  made094_hex(&want, "00000002 0b 01 72 2020 02 03 726f77 ffffffffffffffff");
  made094_hex(&want, hex);
  kr_hbase094_get_write(&out, &gets, keyroute_string("r"), keyroute_string("row"));

  ck_assert(kr_bytes_equal(kr_buf_view(&out), kr_buf_view(&want)));
}

START_TEST(test_hbase094_get__whole_row_is_asked_for_as_javas_client_does)
{
  expect_written("00000001 00 01 0000000000000000 7fffffffffffffff 01 00000000 00000000");
}
END_TEST

START_TEST(test_hbase094_get__columns_versions_and_times_are_said_as_javas_client_does)
{
  const struct keyroute_column columns[] = {
      {keyroute_string("f"), {NULL, 0}},
      {keyroute_string("g"), keyroute_string("")},
      {keyroute_string("g"), keyroute_string("q")},
  };

  read_of = (struct kr_read){
      .columns = columns, .column_count = 3, .max_versions = 3, .from_ms = 5, .to_ms = 9};

  expect_written("00000003 00 01 0000000000000005 0000000000000009 00"
                 "00000002 01 66 00 01 67 01 00000002 00 01 71 00000000");
}
END_TEST

START_TEST(test_hbase094_get__whole_family_takes_its_columns_in)
{
  const struct keyroute_column columns[] = {
      {keyroute_string("f"), keyroute_string("q")},
      {keyroute_string("f"), {NULL, 0}},
  };

  read_of = (struct kr_read){.columns = columns, .column_count = 2, .max_versions = 1};

  expect_written("00000001 00 01 0000000000000000 7fffffffffffffff 01"
                 "00000001 01 66 00 00000000");
}
END_TEST

START_TEST(test_hbase094_get__times_without_an_end_have_the_last_one)
{
  read_of.from_ms = 5;

  expect_written("00000001 00 01 0000000000000005 7fffffffffffffff 00 00000000 00000000");
}
END_TEST

START_TEST(test_hbase094_get__cells_are_found_and_counted)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  struct keyroute_bytes cells;
  size_t count;

  made094_hex(&out, "2525 00000042 0000001f 00000012 00000005 0004 726f7731 01 66 71"
                    "0000000000000005 04 76616c7565 0000001b 00000011 00000002 0004 726f7731 01 67"
                    "0000000000000006 04 7632");
  reply.body = kr_buf_view(&out);
  ck_assert_int_eq(kr_hbase094_get_read(&cells, &count, &reply, &failure), 0);
  ck_assert_uint_eq(count, 2);
  ck_assert_uint_eq(cells.len, 0x42);
  for (reply.body.len = 0; reply.body.len < out.len; reply.body.len++) {
    ck_assert_int_eq(kr_hbase094_get_read(&cells, &count, &reply, &failure), KEYROUTE_E_PROTOCOL);
    ck_assert_int_eq(strncmp(failure.message, "answer to get: ", 15), 0);
  }
}
END_TEST

START_TEST(test_hbase094_get__row_that_is_not_there_has_no_cells)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  struct keyroute_bytes cells;
  size_t count;

  made094_hex(&out, _i == 0 ? "2525 00000000" : "0e1125");
  reply.body = kr_buf_view(&out);
  ck_assert_int_eq(kr_hbase094_get_read(&cells, &count, &reply, &failure), 0);
  ck_assert_uint_eq(count, 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("hbase094_get");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_hbase094_get__whole_row_is_asked_for_as_javas_client_does);
  tcase_add_test(tests,
                 test_hbase094_get__columns_versions_and_times_are_said_as_javas_client_does);
  tcase_add_test(tests, test_hbase094_get__whole_family_takes_its_columns_in);
  tcase_add_test(tests, test_hbase094_get__times_without_an_end_have_the_last_one);
  tcase_add_test(tests, test_hbase094_get__cells_are_found_and_counted);
  tcase_add_loop_test(tests, test_hbase094_get__row_that_is_not_there_has_no_cells, 0, 2);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
