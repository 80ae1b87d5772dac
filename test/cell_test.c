/* Cells: one KeyValue read from bytes, whole, cut short, and with lengths that lie. */
#include "lib/cell.h"

#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Row "r", family "f", qualifier "q", time 1, PUT, value "val". */
static const uint8_t good[] = {0, 0,   0,   26, 0, 0, 0, 15, 0, 0, 0, 3, 0,   1,   'r',
                               1, 'f', 'q', 0,  0, 0, 0, 0,  0, 0, 1, 4, 'v', 'a', 'l'};

#define LEN_AT 3
#define KEY_LEN_AT 7
#define VALUE_LEN_AT 11
#define ROW_LEN_AT 13
#define FAMILY_LEN_AT 15

static struct keyroute_bytes bytes(const void *data, size_t len)
{
  return (struct keyroute_bytes){data, len};
}

static bool is_text(struct keyroute_bytes have, const char *want)
{
  return have.len == strlen(want) && memcmp(have.data, want, have.len) == 0;
}

/* Read a copy in memory of exactly its size, so that the sanitizer sees a read behind it. */
static bool reads(const uint8_t *data, size_t len)
{
  uint8_t *copy = malloc(len > 0 ? len : 1);

  memcpy(copy, data, len);
  struct kr_reader reader = kr_reader(bytes(copy, len));

  kr_cell_read(&reader);
  free(copy);
  return !reader.bad;
}

static bool reads_with(size_t at, uint8_t value)
{
  uint8_t copy[sizeof(good)];

  memcpy(copy, good, sizeof(good));
  copy[at] = value;
  return reads(copy, sizeof(copy));
}

START_TEST(test_cell__parts_are_read)
{
  struct kr_reader reader = kr_reader(bytes(good, sizeof(good)));

  struct kr_cell cell = kr_cell_read(&reader);

  ck_assert(!reader.bad);
  ck_assert_uint_eq(kr_reader_left(&reader), 0);
  ck_assert(is_text(cell.row, "r"));
  ck_assert(is_text(cell.family, "f"));
  ck_assert(is_text(cell.qualifier, "q"));
  ck_assert(is_text(cell.value, "val"));
  ck_assert_int_eq(cell.timestamp, 1);
  ck_assert_uint_eq(cell.type, 4);
}
END_TEST

START_TEST(test_cell__next_cell_follows_at_once)
{
  uint8_t two[2 * sizeof(good)];

  memcpy(two, good, sizeof(good));
  memcpy(two + sizeof(good), good, sizeof(good));
  struct kr_reader reader = kr_reader(bytes(two, sizeof(two)));

  kr_cell_read(&reader);
  struct kr_cell second = kr_cell_read(&reader);

  ck_assert(!reader.bad);
  ck_assert(is_text(second.value, "val"));
}
END_TEST

START_TEST(test_cell__everything_but_the_row_may_be_empty)
{
  static const uint8_t least[] = {0, 0, 0, 20, 0, 0, 0, 12, 0, 0, 0, 0,
                                  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 4};
  struct kr_reader reader = kr_reader(bytes(least, sizeof(least)));

  struct kr_cell cell = kr_cell_read(&reader);

  ck_assert(!reader.bad);
  ck_assert_uint_eq(cell.row.len + cell.family.len + cell.qualifier.len + cell.value.len, 0);
}
END_TEST

START_TEST(test_cell__cut_short_anywhere_is_bad)
{
  for (size_t len = 0; len < sizeof(good); len++) {
    ck_assert_msg(!reads(good, len), "read %zu bytes of %zu", len, sizeof(good));
  }
}
END_TEST

START_TEST(test_cell__lengths_that_disagree_are_bad)
{
  ck_assert(!reads_with(LEN_AT, 25));
  ck_assert(!reads_with(LEN_AT, 27));
  ck_assert(!reads_with(KEY_LEN_AT, 14));
  ck_assert(!reads_with(KEY_LEN_AT, 11));
  ck_assert(!reads_with(VALUE_LEN_AT, 2));
  ck_assert(!reads_with(ROW_LEN_AT, 5));
  ck_assert(!reads_with(FAMILY_LEN_AT, 3));
}
END_TEST

START_TEST(test_cell__negative_lengths_are_bad)
{
  for (size_t at = 0; at < 12; at += 4) {
    ck_assert(!reads_with(at, 0xff));
  }
}
END_TEST

START_TEST(test_cell__random_bytes_never_read_past_the_end)
{
  unsigned seed = 7;

  for (int round = 0; round < 20000; round++) {
    uint8_t copy[sizeof(good)];

    memcpy(copy, good, sizeof(good));
    for (int i = 0; i < 3; i++) {
      copy[(unsigned)rand_r(&seed) % sizeof(copy)] = (uint8_t)rand_r(&seed);
    }
    reads(copy, sizeof(copy));
  }
}
END_TEST

START_TEST(test_cell__row_finds_by_both_names)
{
  const struct kr_cell cells[] = {
      {.family = bytes("info", 4), .qualifier = bytes("server", 6), .value = bytes("a", 1)},
      {.family = bytes("info", 4), .qualifier = bytes("server_0001", 11), .value = bytes("b", 1)},
      {.family = bytes("table", 5), .qualifier = bytes("state", 5), .value = bytes("c", 1)},
  };
  const struct kr_row row = {bytes("t,,1", 4), cells, 3};

  const struct kr_cell *found = kr_row_find(&row, "info", "server_0001");

  ck_assert_ptr_eq(found, &cells[1]);
  ck_assert_ptr_eq(kr_row_find(&row, "table", "state"), &cells[2]);
  ck_assert_ptr_null(kr_row_find(&row, "info", "state"));
  ck_assert_ptr_null(kr_row_find(&row, "info", "serve"));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cell");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_cell__parts_are_read);
  tcase_add_test(tcase, test_cell__next_cell_follows_at_once);
  tcase_add_test(tcase, test_cell__everything_but_the_row_may_be_empty);
  tcase_add_test(tcase, test_cell__cut_short_anywhere_is_bad);
  tcase_add_test(tcase, test_cell__lengths_that_disagree_are_bad);
  tcase_add_test(tcase, test_cell__negative_lengths_are_bad);
  tcase_add_test(tcase, test_cell__random_bytes_never_read_past_the_end);
  tcase_add_test(tcase, test_cell__row_finds_by_both_names);

  return run_suite(suite);
}
