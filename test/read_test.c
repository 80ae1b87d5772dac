/*
 * What an application wants to read: what is refused with which reason, what stands for what was
 * left out, and copies that outlive what they were made of.
 */
#include "lib/read.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_LEN = 1000 };

static const struct keyroute_bytes none = {NULL, 0};

static struct keyroute_column column(const char *family, const char *qualifier)
{
  return (struct keyroute_column){keyroute_string(family),
                                  qualifier != NULL ? keyroute_string(qualifier) : none};
}

static int check(struct kr_read *out, const struct keyroute_read *given)
{
  return kr_read_check(out, given, FRAME_LEN, NULL);
}

static struct keyroute_read read_of(const struct keyroute_column *columns, size_t count)
{
  struct keyroute_read read = KEYROUTE_READ_INIT;

  read.columns = columns;
  read.column_count = count;
  return read;
}

/* ---- What is asked for ---------------------------------------------------------------------- */

static void expect_everything(const struct kr_read *read)
{
  ck_assert_uint_eq(read->column_count, 0);
  ck_assert_uint_eq(read->max_versions, 1);
  ck_assert_int_eq(read->from_ms, 0);
  ck_assert_int_eq(read->to_ms, 0);
  ck_assert_uint_eq(read->max_result_len, FRAME_LEN);
}

START_TEST(test_read__null_is_the_newest_of_every_column)
{
  struct keyroute_read zeros = KEYROUTE_READ_INIT;
  struct kr_read read, same;

  ck_assert_int_eq(check(&read, NULL), 0);
  ck_assert_int_eq(check(&same, &zeros), 0);

  expect_everything(&read);
  expect_everything(&same);
}
END_TEST

START_TEST(test_read__what_was_said_is_taken_as_it_is)
{
  struct keyroute_column columns[] = {column("f", "q"), column("g", NULL)};
  struct keyroute_read given = {sizeof(given), columns, 2, 7, 10, 11, 12};
  struct kr_read read;

  ck_assert_int_eq(check(&read, &given), 0);

  ck_assert_ptr_eq(read.columns, columns);
  ck_assert_uint_eq(read.column_count, 2);
  ck_assert_uint_eq(read.max_versions, 7);
  ck_assert_int_eq(read.from_ms, 10);
  ck_assert_int_eq(read.to_ms, 11);
  ck_assert_uint_eq(read.max_result_len, 12);
}
END_TEST

START_TEST(test_read__fields_behind_its_size_are_not_read)
{
  struct keyroute_column columns[] = {column("f", NULL)};
  struct keyroute_read given = {
      offsetof(struct keyroute_read, max_versions), columns, 1, -1, -1, -1, 1};
  struct kr_read read;

  ck_assert_int_eq(check(&read, &given), 0);

  ck_assert_uint_eq(read.column_count, 1);
  ck_assert_uint_eq(read.max_versions, 1);
  ck_assert_int_eq(read.from_ms, 0);
  ck_assert_uint_eq(read.max_result_len, FRAME_LEN);
}
END_TEST

START_TEST(test_read__a_larger_one_of_the_future_is_read_as_far_as_it_is_known)
{
  struct {
    struct keyroute_read read;
    char more[64];
  } given = {KEYROUTE_READ_INIT, "unknown"};
  struct kr_read read;

  given.read.size = sizeof(given);
  given.read.max_versions = 3;

  ck_assert_int_eq(check(&read, &given.read), 0);
  ck_assert_uint_eq(read.max_versions, 3);
}
END_TEST

START_TEST(test_read__an_end_of_zero_is_no_end)
{
  struct keyroute_read given = KEYROUTE_READ_INIT;
  struct kr_read read;

  given.from_ms = INT64_MAX;

  ck_assert_int_eq(check(&read, &given), 0);
  ck_assert_int_eq(read.from_ms, INT64_MAX);
  ck_assert_int_eq(read.to_ms, 0);
}
END_TEST

START_TEST(test_read__the_empty_qualifier_is_not_the_whole_family)
{
  struct keyroute_column columns[] = {column("f", ""), column("f", NULL)};
  struct keyroute_read given = read_of(columns, 2);
  struct kr_read read;

  ck_assert_int_eq(check(&read, &given), 0);
  ck_assert_ptr_nonnull(read.columns[0].qualifier.data);
  ck_assert_ptr_null(read.columns[1].qualifier.data);
}
END_TEST

/* ---- What is refused ------------------------------------------------------------------------ */

static char family_of_127[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
    "456789012345678901234567890123456";
static char family_of_128[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
    "4567890123456789012345678901234567";

/* The second of two columns is the odd one. */
static const struct {
  struct keyroute_column column;
  const char *reason; /* NULL = it is fine */
} columns_given[] = {
    {{{"", 0}, {NULL, 0}}, "column 1: the family has 0 bytes"},
    {{{NULL, 0}, {"q", 1}}, "column 1: the family has 0 bytes"},
    {{{NULL, 3}, {"q", 1}}, "column 1: the family"},
    {{{family_of_128, 128}, {"q", 1}}, "column 1: the family has 128 bytes, not 1 to 127"},
    {{{family_of_127, 127}, {"q", 1}}, NULL},
    {{{"f", 1}, {NULL, 4}}, "column 1: the qualifier has a length but no data"},
    {{{"\0", 1}, {"\0\xff", 2}}, NULL},
};

START_TEST(test_read__column_is_told_by_its_number_and_what_is_wrong_with_it)
{
  struct keyroute_column columns[] = {column("f", "q"), columns_given[_i].column};
  struct keyroute_read given = read_of(columns, 2);
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  const char *reason = columns_given[_i].reason;
  struct kr_read read;

  int error = kr_read_check(&read, &given, FRAME_LEN, &detail);

  ck_assert_int_eq(error, reason != NULL ? KEYROUTE_E_INVALID_ARGUMENT : 0);
  ck_assert_ptr_nonnull(strstr(detail.message, reason != NULL ? reason : ""));
  ck_assert_int_eq(detail.error, error);
}
END_TEST

static const struct {
  struct keyroute_read read;
  const char *reason;
} refused[] = {
    {{0, NULL, 0, 0, 0, 0, 0}, "size is not set"},
    {{sizeof(struct keyroute_read), NULL, 2, 0, 0, 0, 0}, "2 columns, but no array"},
    {{sizeof(struct keyroute_read), (void *)family_of_127, SIZE_MAX / 2, 0, 0, 0, 0}, "too many"},
    {{sizeof(struct keyroute_read), NULL, 0, -1, 0, 0, 0}, "-1 versions"},
    {{sizeof(struct keyroute_read), NULL, 0, 0, -5, 0, 0}, "from -5 to 0"},
    {{sizeof(struct keyroute_read), NULL, 0, 0, 0, -5, 0}, "from 0 to -5"},
    {{sizeof(struct keyroute_read), NULL, 0, 0, 9, 9, 0}, "from 9 to 9"},
    {{sizeof(struct keyroute_read), NULL, 0, 0, 9, 8, 0}, "from 9 to 8"},
};

START_TEST(test_read__what_makes_no_sense_is_refused_with_the_reason)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct kr_read read = {.max_versions = 77};

  int error = kr_read_check(&read, &refused[_i].read, FRAME_LEN, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, refused[_i].reason));
  ck_assert_uint_eq(read.max_versions, 77);
}
END_TEST

START_TEST(test_read__row_is_as_long_as_hbase_allows)
{
  static const char longest[INT16_MAX + 1];
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  ck_assert_int_eq(kr_read_check_row(kr_bytes(longest, 1), NULL), 0);
  ck_assert_int_eq(kr_read_check_row(kr_bytes(longest, INT16_MAX), NULL), 0);
  ck_assert_int_eq(kr_read_check_row(kr_bytes(longest, INT16_MAX + 1), NULL), invalid);
  ck_assert_int_eq(kr_read_check_row(kr_bytes(longest, 0), NULL), invalid);
  ck_assert_int_eq(kr_read_check_row(none, NULL), invalid);
  ck_assert_int_eq(kr_read_check_row(kr_bytes(NULL, 1), NULL), invalid);
}
END_TEST

/* ---- Copies --------------------------------------------------------------------------------- */

/* In memory of just the size that was said, so that a sanitizer sees what is written behind it. */
static void *copy_read(struct kr_read *out, const struct kr_read *read)
{
  size_t size = kr_read_size(read);
  void *room = malloc(size > 0 ? size : 1);

  ck_assert_ptr_nonnull(room);
  kr_read_copy(out, room, read);
  return room;
}

START_TEST(test_read__copy_outlives_what_it_was_made_of)
{
  char family[] = "fam", qualifier[] = "qual";
  struct keyroute_column columns[] = {
      {kr_bytes(family, 3), kr_bytes(qualifier, 4)}, column("g", ""), column("h", NULL)};
  struct keyroute_read given = read_of(columns, 3);
  struct kr_read read, copy;

  given.max_versions = 4;
  ck_assert_int_eq(check(&read, &given), 0);
  void *room = copy_read(&copy, &read);

  memset(family, 'x', 3);
  memset(qualifier, 'x', 4);
  memset(columns, 0, sizeof(columns));
  ck_assert_uint_eq(copy.column_count, 3);
  ck_assert_uint_eq(copy.max_versions, 4);
  ck_assert(kr_bytes_equal(copy.columns[0].family, keyroute_string("fam")));
  ck_assert(kr_bytes_equal(copy.columns[0].qualifier, keyroute_string("qual")));
  ck_assert(kr_bytes_equal(copy.columns[1].family, keyroute_string("g")));
  ck_assert_ptr_nonnull(copy.columns[1].qualifier.data);
  ck_assert_uint_eq(copy.columns[1].qualifier.len, 0);
  ck_assert_ptr_null(copy.columns[2].qualifier.data);
  free(room);
}
END_TEST

START_TEST(test_read__copy_of_everything_takes_no_room)
{
  struct kr_read read, copy;

  ck_assert_int_eq(check(&read, NULL), 0);
  void *room = copy_read(&copy, &read);

  ck_assert_uint_eq(kr_read_size(&read), 0);
  expect_everything(&copy);
  free(room);
}
END_TEST

/* Two regions with three rows. */
static struct kr_gets some_gets(const struct kr_read *read, char *name, struct keyroute_bytes *rows,
                                struct kr_get_region *regions)
{
  regions[0] = (struct kr_get_region){kr_bytes(name, strlen(name)), 0, 1};
  regions[1] = (struct kr_get_region){keyroute_string("t,m,2."), 1, 2};
  rows[0] = keyroute_string("apple");
  rows[1] = kr_bytes("m\0\xff", 3);
  rows[2] = keyroute_string("pear");
  return (struct kr_gets){read, true, regions, 2, rows, 3};
}

START_TEST(test_read__copy_of_gets_outlives_all_but_what_is_to_be_read)
{
  struct kr_mem *mem = failing_mem_new();
  char name[] = "t,,1.";
  struct keyroute_bytes rows[3];
  struct kr_get_region regions[2];
  struct kr_read read = {.max_versions = 1};
  struct kr_gets gets = some_gets(&read, name, rows, regions);

  struct kr_gets *copy = kr_gets_copy(mem, &gets);
  memset(name, 'x', sizeof(name));
  memset(rows, 0, sizeof(rows));
  memset(regions, 0, sizeof(regions));

  ck_assert_ptr_eq(copy->read, &read);
  ck_assert(copy->timeline);
  ck_assert_uint_eq(copy->region_count, 2);
  ck_assert_uint_eq(copy->row_count, 3);
  ck_assert(kr_bytes_equal(copy->regions[0].name, keyroute_string("t,,1.")));
  ck_assert_uint_eq(copy->regions[1].first, 1);
  ck_assert_uint_eq(copy->regions[1].count, 2);
  ck_assert(kr_bytes_equal(copy->rows[1], kr_bytes("m\0\xff", 3)));
  ck_assert(kr_bytes_equal(copy->rows[2], keyroute_string("pear")));
  kr_free(mem, copy);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_read__copy_of_gets_may_find_no_memory)
{
  struct kr_mem *mem = failing_mem_new();
  char name[] = "t,,1.";
  struct keyroute_bytes rows[3];
  struct kr_get_region regions[2];
  struct kr_read read = {.max_versions = 1};
  struct kr_gets gets = some_gets(&read, name, rows, regions);

  mem_fail(1);
  ck_assert_ptr_null(kr_gets_copy(mem, &gets));
  mem_fail(0);

  failing_mem_done(mem);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("read");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_read__null_is_the_newest_of_every_column);
  tcase_add_test(tests, test_read__what_was_said_is_taken_as_it_is);
  tcase_add_test(tests, test_read__fields_behind_its_size_are_not_read);
  tcase_add_test(tests, test_read__a_larger_one_of_the_future_is_read_as_far_as_it_is_known);
  tcase_add_test(tests, test_read__an_end_of_zero_is_no_end);
  tcase_add_test(tests, test_read__the_empty_qualifier_is_not_the_whole_family);
  tcase_add_loop_test(tests, test_read__column_is_told_by_its_number_and_what_is_wrong_with_it, 0,
                      (int)(sizeof(columns_given) / sizeof(columns_given[0])));
  tcase_add_loop_test(tests, test_read__what_makes_no_sense_is_refused_with_the_reason, 0,
                      (int)(sizeof(refused) / sizeof(refused[0])));
  tcase_add_test(tests, test_read__row_is_as_long_as_hbase_allows);
  tcase_add_test(tests, test_read__copy_outlives_what_it_was_made_of);
  tcase_add_test(tests, test_read__copy_of_everything_takes_no_room);
  tcase_add_test(tests, test_read__copy_of_gets_outlives_all_but_what_is_to_be_read);
  tcase_add_test(tests, test_read__copy_of_gets_may_find_no_memory);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
