/* A whole scan: the versions that are asked for, and which of them are kept. */
#include "lib/hbase_scan.h"

#include "test/failing_mem.h"
#include "test/made_cells.h"
#include "test/run_suite.h"

static struct kr_mem *mem;
static struct kr_buf body, block;
static struct kr_hbase_rows rows;
static struct kr_failure failure;

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&body, mem);
  kr_buf_init(&block, mem);
}

static void teardown(void)
{
  kr_buf_clear(&body);
  kr_buf_clear(&block);
  failing_mem_done(mem);
}

/* The answer whose rows have so many cells each. */
static int read_rows(uint32_t *counts, size_t count)
{
  Kr__Pb__ScanResponse response = KR__PB__SCAN_RESPONSE__INIT;

  response.n_cells_per_result = count;
  response.cells_per_result = counts;
  uint8_t *to = kr_buf_extend(&body, kr__pb__scan_response__get_packed_size(&response));

  kr__pb__scan_response__pack(&response, to);
  struct kr_rpc_reply reply = {.body = kr_buf_view(&body), .cells = kr_buf_view(&block)};

  return kr_hbase_scan_read(&rows, mem, &reply, 10, &failure);
}

START_TEST(test_hbase_scan__all_versions_that_a_catalog_keeps_are_asked_for)
{
  struct kr_scan scan = {.region = keyroute_string("hbase:meta,,1"), .limit = 3, .family = "info"};

  kr_hbase_scan_write(&body, &scan);
  Kr__Pb__ScanRequest *request = kr__pb__scan_request__unpack(NULL, body.len, body.data);

  ck_assert_ptr_nonnull(request);
  ck_assert_uint_eq(request->scan->max_versions, 3);
  kr__pb__scan_request__free_unpacked(request, NULL);
}
END_TEST

START_TEST(test_hbase_scan__newest_version_of_each_column_is_kept)
{
  made_key_value(&block, "a", "info", "server", 9, "new:1");
  made_key_value(&block, "a", "info", "server", 8, "old:1");
  made_key_value(&block, "a", "info", "server", 8, "older:1");
  made_key_value(&block, "a", "info", "state", 7, "OPEN");
  made_key_value(&block, "b", "info", "server", 3, "b:1");
  made_key_value(&block, "b", "table", "server", 2, "of another family");

  ck_assert_int_eq(read_rows((uint32_t[]){4, 2}, 2), 0);

  ck_assert_uint_eq(rows.rows.count, 2);
  ck_assert_uint_eq(rows.rows.rows[0].cell_count, 2);
  ck_assert(is_text(rows.rows.rows[0].cells[0].value, "new:1"));
  ck_assert(is_text(kr_row_find(&rows.rows.rows[0], "info", "state")->value, "OPEN"));
  ck_assert_uint_eq(rows.rows.rows[1].cell_count, 2);
  ck_assert(is_text(kr_row_find(&rows.rows.rows[1], "info", "server")->value, "b:1"));
  kr_hbase_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase_scan__old_version_of_another_row_is_not_believed)
{
  made_key_value(&block, "a", "info", "server", 9, "new:1");
  made_key_value(&block, "b", "info", "server", 8, "old:1");

  ck_assert_int_eq(read_rows((uint32_t[]){2}, 1), KEYROUTE_E_PROTOCOL);

  ck_assert_ptr_nonnull(strstr(failure.message, "cells of two rows in one"));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase_scan");
  TCase *all = tcase_create("all");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, test_hbase_scan__all_versions_that_a_catalog_keeps_are_asked_for);
  tcase_add_test(all, test_hbase_scan__newest_version_of_each_column_is_kept);
  tcase_add_test(all, test_hbase_scan__old_version_of_another_row_is_not_believed);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
