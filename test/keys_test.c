/*
 * Rows put into the order in which regions hold them.
 */
#include "lib/keys.h"

#include "lib/bytes.h"
#include "lib/connection.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_MAX = 3000 };

static struct kr_mem *mem;
static struct kr_stats *stats;
static struct kr_cache *cache;
static struct kr_keys keys;
static struct keyroute_detail detail;
static struct keyroute_key given[KEYS_MAX];
static char rows[KEYS_MAX][8];
static size_t count;

static void setup(void)
{
  mem = failing_mem_new();
  stats = kr_stats_new(mem);
  cache = kr_cache_new(mem, stats);
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  count = 0;
}

static void teardown(void)
{
  kr_keys_clear(&keys);
  kr_cache_free(cache);
  kr_stats_free(stats);
  failing_mem_done(mem);
}

static void add(const char *table, const char *row)
{
  snprintf(rows[count], sizeof(rows[count]), "%s", row);
  given[count] = (struct keyroute_key){table, keyroute_string(rows[count])};
  count++;
}

static int sort(bool reads, bool copy)
{
  struct keyroute_connection conn = {
      .mem = mem, .cache = cache, .check_table = kr_table_name_check};

  return kr_keys_new(&keys, &conn, given, count, reads, copy, &detail);
}

/* The indexes in order, "2 0 1". */
static const char *order(void)
{
  static char text[200];
  size_t len = 0;

  text[0] = '\0';
  for (uint32_t i = 0; i < keys.count; i++) {
    len +=
        (size_t)snprintf(text + len, sizeof(text) - len, "%s%u", i > 0 ? " " : "", keys.order[i]);
  }
  return text;
}

START_TEST(test_keys__are_sorted_by_row_as_unsigned_bytes)
{
  add("t", "b");
  add("t", "\xff");
  add("t", "a");
  add("t", "aa");
  add("t", "\x01");
  ck_assert_int_eq(sort(true, false), 0);

  ck_assert_str_eq(order(), "4 2 3 0 1");
  ck_assert_uint_eq(keys.table_count, 1);
  ck_assert_uint_eq(keys.tables[0].to, 5);
}
END_TEST

START_TEST(test_keys__tables_stand_as_they_first_occur)
{
  add("u", "b");
  add("t", "b");
  add("u", "a");
  add("ns:t", "z");
  add("t", "a");
  ck_assert_int_eq(sort(true, false), 0);

  ck_assert_str_eq(order(), "2 0 4 1 3");
  ck_assert_uint_eq(keys.table_count, 3);
  ck_assert_uint_eq(keys.tables[1].from, 2);
  ck_assert_uint_eq(keys.tables[1].to, 4);
  ck_assert_uint_eq(kr_table_name(keys.tables[2].table).len, 4);
}
END_TEST

START_TEST(test_keys__one_table_by_several_names_and_pointers_is_one)
{
  char mine[] = "t";

  add("default:t", "c");
  add(mine, "a");
  add("t", "b");
  ck_assert_int_eq(sort(true, false), 0);

  ck_assert_str_eq(order(), "1 2 0");
  ck_assert_uint_eq(keys.table_count, 1);
}
END_TEST

START_TEST(test_keys__equal_rows_stay_in_the_order_of_their_indexes)
{
  for (int i = 0; i < 9; i++) {
    add("t", i % 2 == 0 ? "b" : "a");
  }
  ck_assert_int_eq(sort(true, false), 0);

  ck_assert_str_eq(order(), "1 3 5 7 0 2 4 6 8");
}
END_TEST

START_TEST(test_keys__any_rows_come_out_in_order)
{
  unsigned seed = (unsigned)_i;
  static const char *const tables[] = {"t", "u", "ns:v"};
  char row[8];

  for (size_t i = 0; i < KEYS_MAX; i++) {
    seed = seed * 1103515245u + 12345u;
    snprintf(row, sizeof(row), "%u", (seed >> 16) % 1000);
    add(tables[(seed >> 8) % 3], row);
  }
  ck_assert_int_eq(sort(true, _i % 2 == 0), 0);

  for (uint32_t i = 0; i < keys.table_count; i++) {
    for (uint32_t at = keys.tables[i].from; at < keys.tables[i].to; at++) {
      ck_assert_uint_eq(kr_table_name(keys.tables[i].table).len,
                        strlen(given[keys.order[at]].table));
      if (at > keys.tables[i].from) {
        int compared = kr_bytes_compare(kr_keys_row(&keys, at - 1), kr_keys_row(&keys, at));

        ck_assert_int_le(compared, 0);
        ck_assert(compared < 0 || keys.order[at - 1] < keys.order[at]);
      }
    }
  }
}
END_TEST

START_TEST(test_keys__copies_outlive_what_was_given)
{
  add("t", "b");
  add("t", "a");
  add("t", "");
  ck_assert_int_eq(sort(false, true), 0);
  memset(rows, 'x', sizeof(rows));
  memset(given, 0, sizeof(given));

  ck_assert_str_eq(order(), "2 1 0");
  ck_assert_uint_eq(kr_keys_row(&keys, 0).len, 0);
  ck_assert_mem_eq(kr_keys_row(&keys, 1).data, "a", 1);
  ck_assert_mem_eq(kr_keys_row(&keys, 2).data, "b", 1);
}
END_TEST

START_TEST(test_keys__what_cannot_be_is_refused_and_named)
{
  add("t", "a");
  add("t", "");
  ck_assert_int_eq(sort(true, false), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "key 1, table t, row"));
  ck_assert_int_eq(sort(false, false), 0);
  kr_keys_clear(&keys);

  given[1].table = NULL;
  ck_assert_int_eq(sort(false, false), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "key 1"));
  given[1].table = "a b";
  ck_assert_int_eq(sort(false, false), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "key 1, table a b"));
  given[1] = (struct keyroute_key){"t", {NULL, 3}};
  ck_assert_int_eq(sort(false, false), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_keys__every_allocation_may_fail)
{
  bool failed = true;

  add("t", "b");
  add("u", "a");
  for (long n = 1; failed; n++) {
    mem_fail(n);
    int error = sort(true, true);

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
    kr_keys_clear(&keys);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("keys");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_keys__are_sorted_by_row_as_unsigned_bytes);
  tcase_add_test(tests, test_keys__tables_stand_as_they_first_occur);
  tcase_add_test(tests, test_keys__one_table_by_several_names_and_pointers_is_one);
  tcase_add_test(tests, test_keys__equal_rows_stay_in_the_order_of_their_indexes);
  tcase_add_loop_test(tests, test_keys__any_rows_come_out_in_order, 0, 10);
  tcase_add_test(tests, test_keys__copies_outlive_what_was_given);
  tcase_add_test(tests, test_keys__what_cannot_be_is_refused_and_named);
  tcase_add_test(tests, test_keys__every_allocation_may_fail);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
