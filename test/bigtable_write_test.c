/* Requests that write, byte by byte as Bigtable's protocol has them. */
#include "lib/bigtable_write.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_buf out;

static void set_up(void)
{
  mem = failing_mem_new();
  kr_buf_init(&out, mem);
}

static void tear_down(void)
{
  kr_buf_clear(&out);
  failing_mem_done(mem);
}

static void is_written(const char *bytes, size_t len)
{
  ck_assert(!out.failed);
  ck_assert_uint_eq(out.len, len);
  ck_assert_mem_eq(out.data, bytes, len);
}

#define IS_WRITTEN(text) is_written(text, sizeof(text) - 1)

#define NOW "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" /* timestamp_micros -1 */
#define DELETE_COLUMN "\x08\x12\x06\x0a\x01r\x12\x01q"
#define SET_CELL "\x16\x0a\x14\x0a\x01r\x12\x01q" NOW "\x22\x01v"

static struct kr_cell cell;

static struct kr_bigtable_change put(void)
{
  cell = (struct kr_cell){.family = keyroute_string("r"),
                          .qualifier = keyroute_string("q"),
                          .value = keyroute_string("v")};
  return (struct kr_bigtable_change){keyroute_string("k"), &cell, 1};
}

static struct kr_bigtable_change removal(void)
{
  return (struct kr_bigtable_change){keyroute_string("k"), NULL, 0};
}

START_TEST(test_bigtable_write__cell_takes_the_place_of_all_versions)
{
  struct kr_bigtable_change change = put();

  kr_bigtable_write_mutate(&out, &change);

  IS_WRITTEN("\x12\x01k"
             "\x1a" DELETE_COLUMN "\x1a" SET_CELL);
}
END_TEST

START_TEST(test_bigtable_write__row_without_cells_goes)
{
  struct kr_bigtable_change change = removal();

  kr_bigtable_write_mutate(&out, &change);

  IS_WRITTEN("\x12\x01k"
             "\x1a\x02\x22\x00");
}
END_TEST

/* Of column r:q, the newest. */
#define COLUMN "\x0a\x0b\x3a\x09\x0a\x01r\x12\x01q\x22\x01q"
#define NEWEST "\x0a\x02\x60\x01"

START_TEST(test_bigtable_write__check_of_a_value_changes_where_it_is_found)
{
  struct kr_bigtable_change change = removal();
  struct keyroute_bytes old = keyroute_string("w");

  kr_bigtable_write_check(&out, &change, "r", "q", &old);

  IS_WRITTEN("\x12\x01k"
             "\x32\x1d\x0a\x1b" COLUMN NEWEST "\x0a\x08\x7a\x06\x0a\x01w\x1a\x01w"
             "\x22\x02\x22\x00");
}
END_TEST

START_TEST(test_bigtable_write__check_of_nothing_changes_where_nothing_is_found)
{
  struct kr_bigtable_change change = put();

  kr_bigtable_write_check(&out, &change, "r", "q", NULL);

  IS_WRITTEN("\x12\x01k"
             "\x32\x13\x0a\x11" COLUMN NEWEST "\x2a" DELETE_COLUMN "\x2a" SET_CELL);
}
END_TEST

START_TEST(test_bigtable_write__answer_tells_whether_the_change_was_made)
{
  bool made = true;

  ck_assert(kr_bigtable_read_check(&made, keyroute_string("\x08\x01"), false) && made);
  ck_assert(kr_bigtable_read_check(&made, keyroute_string(""), false) && !made);
  ck_assert(kr_bigtable_read_check(&made, keyroute_string("\x08\x01"), true) && !made);
  ck_assert(kr_bigtable_read_check(&made, keyroute_string("\x12\x01x\x08\x01"), false) && made);
}
END_TEST

START_TEST(test_bigtable_write__answer_that_is_none_is_refused)
{
  bool made = true;

  ck_assert(!kr_bigtable_read_check(&made, keyroute_string("\x08"), false));
  ck_assert(!kr_bigtable_read_check(&made, keyroute_string("\x12\x05x"), false));
  ck_assert(!kr_bigtable_read_check(&made, keyroute_string("\x0d\x01\x01\x01\x01"), false));
}
END_TEST

START_TEST(test_bigtable_write__table_has_its_families)
{
  static const char *const families[] = {"r", "f"};

  kr_bigtable_write_create(&out, "r7", families, 2);

  IS_WRITTEN("\x12\x02r7"
             "\x1a\x0e\x1a\x05\x0a\x01r\x12\x00\x1a\x05\x0a\x01"
             "f\x12\x00");
}
END_TEST

START_TEST(test_bigtable_write__short_memory_anywhere_is_told)
{
  struct kr_bigtable_change change = put();
  struct keyroute_bytes old = keyroute_string("w");
  bool failed = true;

  for (long at = 1; failed; at++) {
    mem_fail(at);
    kr_bigtable_write_check(&out, &change, "r", "q", &old);
    failed = mem_has_failed();
    mem_fail(0);

    ck_assert_int_eq(out.failed, failed);
    kr_buf_clear(&out);
    kr_buf_init(&out, mem);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("bigtable_write");
  TCase *tests = tcase_create("bigtable_write");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_bigtable_write__cell_takes_the_place_of_all_versions);
  tcase_add_test(tests, test_bigtable_write__row_without_cells_goes);
  tcase_add_test(tests, test_bigtable_write__check_of_a_value_changes_where_it_is_found);
  tcase_add_test(tests, test_bigtable_write__check_of_nothing_changes_where_nothing_is_found);
  tcase_add_test(tests, test_bigtable_write__answer_tells_whether_the_change_was_made);
  tcase_add_test(tests, test_bigtable_write__answer_that_is_none_is_refused);
  tcase_add_test(tests, test_bigtable_write__table_has_its_families);
  tcase_add_test(tests, test_bigtable_write__short_memory_anywhere_is_told);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
