/* Scans of HBase 0.94's catalogs: requests as a real server took them, its answers, spoilt ones. */
#include "lib/hbase094_scan.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/made094.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

static struct kr_mem *mem;
static struct kr_buf out, want;
static struct kr_failure failure;

static void set_up(void)
{
  mem = failing_mem_new();
  kr_buf_init(&out, mem);
  kr_buf_init(&want, mem);
}

static void tear_down(void)
{
  kr_buf_clear(&out);
  kr_buf_clear(&want);
  failing_mem_done(mem);
}

static void expect_written(void)
{
  ck_assert(!out.failed);
  ck_assert(kr_bytes_equal(kr_buf_view(&out), kr_buf_view(&want)));
}

/* ---- Requests ---- */

START_TEST(test_hbase094_scan__closest_row_is_asked_for_as_javas_client_does)
{
  struct kr_scan scan = {.region = BYTES("-ROOT-,,0"),
                         .start_row = BYTES(".META.,t,c,99999999999999,99999999999999"),
                         .include_start = true,
                         .reversed = true,
                         .limit = 3,
                         .family = "info"};

  made094_hex(&want, "00000003 0b 09 2d524f4f542d2c2c30"
                     "0b 28 2e4d4554412e2c742c632c39393939393939393939393939392c3939393939393939"
                     "393939393939 0b 04 696e666f");
  kr_hbase094_closest_write(&out, &scan);

  expect_written();
}
END_TEST

static const struct {
  struct keyroute_bytes key, below;
} keys[] = {
#define CONSTANT(literal)                                                                          \
  {                                                                                                \
    literal, sizeof(literal) - 1                                                                   \
  }
    {CONSTANT("t,a,5.0123."), CONSTANT("t,a,5.0123-\xff")},
    {CONSTANT("t,a,10"), CONSTANT("t,a,1/\xff")},
    {CONSTANT("t,a\0"), CONSTANT("t,a")},
};

START_TEST(test_hbase094_scan__key_that_is_to_be_left_out_is_asked_below)
{
  struct kr_scan scan = {.region = BYTES("r"), .start_row = keys[_i].key, .family = "info"};

  kr_buf_bytes(&want, BYTES("\0\0\0\3\x0b\1r\x0b"));
  kr_buf_u8(&want, (uint8_t)keys[_i].below.len);
  kr_buf_bytes(&want, keys[_i].below);
  kr_buf_bytes(&want, BYTES("\x0b\4info"));
  kr_hbase094_closest_write(&out, &scan);

  expect_written();
}
END_TEST

START_TEST(test_hbase094_scan__scanner_is_opened_as_javas_client_does)
{
  struct kr_scan scan = {.region = BYTES(".META.,,1"),
                         .start_row = BYTES("t,,"),
                         .stop_row = BYTES("t ,,"),
                         .include_start = true,
                         .limit = 2,
                         .family = "info"};

  made094_hex(&want, "00000002 0b 09 2e4d4554412e2c2c31 2727 02 03 742c2c 04 74202c2c"
                     "00000001 ffffffff 00000002 01 00"
                     "0000000000000000 7fffffffffffffff 01 00000001 04 696e666f"
                     "00000000 00000000");
  kr_hbase094_open_write(&out, &scan);

  expect_written();
}
END_TEST

START_TEST(test_hbase094_scan__bounds_of_a_scanner_are_moved_behind_their_keys)
{
  struct kr_scan scan = {.region = BYTES("r"),
                         .start_row = BYTES("a"),
                         .stop_row = BYTES("b"),
                         .include_stop = true,
                         .limit = 2,
                         .family = "info"};

  kr_hbase094_open_write(&out, &scan);

  ck_assert_ptr_nonnull(memmem(out.data, out.len, "\x02\2a\0\2b\0", 7));
}
END_TEST

START_TEST(test_hbase094_scan__scanner_without_a_stop_row_goes_to_the_end)
{
  struct kr_scan scan = {.region = BYTES("r"),
                         .start_row = BYTES("a"),
                         .include_start = true,
                         .include_stop = true,
                         .limit = 2,
                         .family = "info"};

  kr_hbase094_open_write(&out, &scan);

  ck_assert_ptr_nonnull(memmem(out.data, out.len, "\x02\1a\0\0\0\0\1", 8));
}
END_TEST

START_TEST(test_hbase094_scan__scanner_is_read_and_closed_as_javas_client_does)
{
  made094_hex(&want, "00000002 06 7f0ad0435fe7d508 05 00000002");
  kr_hbase094_next_write(&out, 0x7f0ad0435fe7d508, 2);
  expect_written();
  out.len = want.len = 0;
  made094_hex(&want, "00000001 06 7f0ad0435fe7d508");
  kr_hbase094_close_write(&out, 0x7f0ad0435fe7d508);
  expect_written();
}
END_TEST

START_TEST(test_hbase094_scan__writing_without_memory_says_so)
{
  struct kr_scan scan = {.region = BYTES("r"), .start_row = BYTES("a"), .family = "info"};

  for (long n = 1; n <= 2; n++) {
    mem_fail(n);
    kr_hbase094_closest_write(&out, &scan);
    ck_assert(out.failed);
    kr_buf_clear(&out);
  }
}
END_TEST

/* ---- The closest row ---- */

/* What 0.94.27 answered for the key above. */
static const char from_root[] =
    "2525 000000ef 0000004d 00000023 00000022 0009 2e4d4554412e2c2c31 04 696e666f"
    "726567696f6e696e666f 000001a22d41659c 04 01000000000000000000 01092e4d4554412e2c2c31 0000"
    "062e4d4554412e 2b9ca4dd 00000036 0000001f 0000000f 0009 2e4d4554412e2c2c31 04 696e666f"
    "736572766572 000001a22d4181bb 04 6c6f63616c686f73743a3435343539 00000038 00000028 00000008"
    "0009 2e4d4554412e2c2c31 04 696e666f 7365727665727374617274636f6465 000001a22d4181bb 04"
    "000001a22d416059 00000024 0000001a 00000002 0009 2e4d4554412e2c2c31 04 696e666f 76"
    "000001a22d41659c 04 0000";

static int read_closest(struct kr_hbase094_rows *rows, const char *table, uint32_t limit)
{
  struct kr_rpc_reply reply = {.body = kr_buf_view(&out)};

  return kr_hbase094_closest_read(rows, mem, &reply, keyroute_string(table), limit, &failure);
}

START_TEST(test_hbase094_scan__closest_row_is_read_whole)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, from_root);
  ck_assert_int_eq(read_closest(&rows, ".META.,", 3), 0);

  ck_assert_uint_eq(rows.rows.count, 1);
  ck_assert(rows.rows.more);
  const struct kr_row *row = &rows.rows.rows[0];

  ck_assert(kr_bytes_equal(row->key, BYTES(".META.,,1")));
  ck_assert_uint_eq(row->cell_count, 4);
  ck_assert(kr_bytes_equal(kr_row_find(row, "info", "server")->value, BYTES("localhost:45459")));
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__one_row_is_all_where_one_was_asked_for)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, from_root);
  ck_assert_int_eq(read_closest(&rows, ".META.,", 1), 0);

  ck_assert(!rows.rows.more);
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__row_of_another_table_is_none)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, from_root);
  ck_assert_int_eq(read_closest(&rows, "zz,", 3), 0);

  ck_assert_uint_eq(rows.rows.count, 0);
  ck_assert(!rows.rows.more);
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__no_row_is_a_good_answer)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, _i == 0 ? "0e1125" : "2525 00000000");
  ck_assert_int_eq(read_closest(&rows, "t,", 3), 0);

  ck_assert_uint_eq(rows.rows.count, 0);
  ck_assert(!rows.rows.more);
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__each_cut_of_a_row_is_refused)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, from_root);
  size_t whole = out.len;

  for (size_t len = 0; len < whole; len++) {
    out.len = len;
    ck_assert_int_eq(read_closest(&rows, "", 3), KEYROUTE_E_PROTOCOL);
    ck_assert_int_eq(strncmp(failure.message, "answer to getClosestRowBefore: ", 31), 0);
  }
}
END_TEST

/* Append a cell of a row in family info. */
static void add_cell(struct kr_buf *to, const char *row)
{
  made094_cell(to, keyroute_string(row), "info", keyroute_string("q"), 1, keyroute_string("v"));
}

START_TEST(test_hbase094_scan__cells_of_two_rows_and_rows_without_a_key_are_refused)
{
  struct kr_hbase094_rows rows;

  add_cell(&want, _i == 0 ? "t,a,1" : "");
  add_cell(&want, _i == 0 ? "t,b,1" : "");
  made094_hex(&out, "2525");
  kr_buf_u32(&out, (uint32_t)want.len);
  kr_buf_bytes(&out, kr_buf_view(&want));

  ck_assert_int_eq(read_closest(&rows, "", 3), KEYROUTE_E_PROTOCOL);
}
END_TEST

START_TEST(test_hbase094_scan__closest_row_without_memory_says_so)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, from_root);
  mem_fail(1);

  ck_assert_int_eq(read_closest(&rows, "", 3), KEYROUTE_E_NO_MEMORY);
  ck_assert_int_eq(failure.code, KEYROUTE_E_NO_MEMORY);
}
END_TEST

/* ---- The rows of a scanner ---- */

/* Append rows of so many cells each: t,0, and so on. */
static void write_rows(const int *cells, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    char key[] = {'t', ',', (char)('0' + i), ',', '\0'};

    kr_buf_u32(&want, (uint32_t)cells[i]);
    for (int at = 0; at < cells[i]; at++) {
      add_cell(&want, key);
    }
  }
  made094_hex(&out, "2601");
  kr_buf_u32(&out, count);
  kr_buf_u32(&out, (uint32_t)want.len);
  kr_buf_bytes(&out, kr_buf_view(&want));
}

static int read_next(struct kr_hbase094_rows *rows, uint32_t limit)
{
  struct kr_rpc_reply reply = {.body = kr_buf_view(&out)};

  return kr_hbase094_next_read(rows, mem, &reply, limit, &failure);
}

START_TEST(test_hbase094_scan__rows_of_a_scanner_come_in_their_order)
{
  struct kr_hbase094_rows rows;

  write_rows((const int[]){1, 3, 2}, 3);
  ck_assert_int_eq(read_next(&rows, 5), 0);

  ck_assert_uint_eq(rows.rows.count, 3);
  ck_assert(!rows.rows.more);
  ck_assert(kr_bytes_equal(rows.rows.rows[1].key, BYTES("t,1,")));
  ck_assert_uint_eq(rows.rows.rows[1].cell_count, 3);
  ck_assert(kr_bytes_equal(rows.rows.rows[2].cells[1].row, BYTES("t,2,")));
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__rows_beyond_the_limit_are_cut_off)
{
  struct kr_hbase094_rows rows;

  write_rows((const int[]){1, 1, 1}, 3);
  ck_assert_int_eq(read_next(&rows, 2), 0);

  ck_assert_uint_eq(rows.rows.count, 2);
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__scanner_at_its_end_answers_no_row)
{
  struct kr_hbase094_rows rows;

  made094_hex(&out, _i == 0 ? "2601 00000000" : "0e1126");
  ck_assert_int_eq(read_next(&rows, 2), 0);

  ck_assert_uint_eq(rows.rows.count, 0);
  kr_hbase094_rows_clear(&rows, mem);
}
END_TEST

START_TEST(test_hbase094_scan__row_without_cells_is_refused)
{
  struct kr_hbase094_rows rows;

  write_rows((const int[]){1, 0, 1}, 3);
  ck_assert_int_eq(read_next(&rows, 5), KEYROUTE_E_PROTOCOL);
  ck_assert_str_eq(failure.message, "answer to next: a row without cells");
}
END_TEST

START_TEST(test_hbase094_scan__each_spoilt_byte_of_rows_is_safe_to_read)
{
  write_rows((const int[]){1, 2}, 2);
  for (size_t at = 0; at < out.len; at++) {
    for (int bit = 0; bit < 8; bit++) {
      struct kr_hbase094_rows rows;

      out.data[at] = (uint8_t)(out.data[at] ^ (1 << bit));
      if (read_next(&rows, 5) == 0) {
        ck_assert_uint_le(rows.rows.count, 2);
        kr_hbase094_rows_clear(&rows, mem);
      }
      out.data[at] = (uint8_t)(out.data[at] ^ (1 << bit));
    }
  }
}
END_TEST

START_TEST(test_hbase094_scan__scanner_is_a_number)
{
  struct kr_rpc_reply reply;
  int64_t scanner;

  made094_hex(&out, "06 7f0ad0435fe7d508");
  reply.body = kr_buf_view(&out);
  ck_assert_int_eq(kr_hbase094_open_read(&scanner, &reply, &failure), 0);
  ck_assert_int_eq(scanner, 0x7f0ad0435fe7d508);
  reply.body.len--;
  ck_assert_int_eq(kr_hbase094_open_read(&scanner, &reply, &failure), KEYROUTE_E_PROTOCOL);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("hbase094_scan");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_hbase094_scan__closest_row_is_asked_for_as_javas_client_does);
  tcase_add_loop_test(tests, test_hbase094_scan__key_that_is_to_be_left_out_is_asked_below, 0, 3);
  tcase_add_test(tests, test_hbase094_scan__scanner_is_opened_as_javas_client_does);
  tcase_add_test(tests, test_hbase094_scan__bounds_of_a_scanner_are_moved_behind_their_keys);
  tcase_add_test(tests, test_hbase094_scan__scanner_without_a_stop_row_goes_to_the_end);
  tcase_add_test(tests, test_hbase094_scan__scanner_is_read_and_closed_as_javas_client_does);
  tcase_add_test(tests, test_hbase094_scan__writing_without_memory_says_so);
  tcase_add_test(tests, test_hbase094_scan__closest_row_is_read_whole);
  tcase_add_test(tests, test_hbase094_scan__one_row_is_all_where_one_was_asked_for);
  tcase_add_test(tests, test_hbase094_scan__row_of_another_table_is_none);
  tcase_add_loop_test(tests, test_hbase094_scan__no_row_is_a_good_answer, 0, 2);
  tcase_add_test(tests, test_hbase094_scan__each_cut_of_a_row_is_refused);
  tcase_add_loop_test(
      tests, test_hbase094_scan__cells_of_two_rows_and_rows_without_a_key_are_refused, 0, 2);
  tcase_add_test(tests, test_hbase094_scan__closest_row_without_memory_says_so);
  tcase_add_test(tests, test_hbase094_scan__rows_of_a_scanner_come_in_their_order);
  tcase_add_test(tests, test_hbase094_scan__rows_beyond_the_limit_are_cut_off);
  tcase_add_loop_test(tests, test_hbase094_scan__scanner_at_its_end_answers_no_row, 0, 2);
  tcase_add_test(tests, test_hbase094_scan__row_without_cells_is_refused);
  tcase_add_test(tests, test_hbase094_scan__each_spoilt_byte_of_rows_is_safe_to_read);
  tcase_add_test(tests, test_hbase094_scan__scanner_is_a_number);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
