/*
 * Results: how rows are filled in, what is read of them, and that nothing of them is left. Cells
 * are where a transport would have put them, in blocks.
 */
#include "lib/result.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <string.h>

struct world {
  struct kr_mem *mem;
  struct kr_servers *servers;
  struct keyroute_location *location;
};

static struct world world;

static void setup(void)
{
  world.mem = failing_mem_new();
  world.servers = kr_servers_new(world.mem);
  world.location = make_location(
      world.mem, world.servers,
      &(struct made){.table = "t", .start = "", .end = "", .id = 1, .host = "h", .port = 1});
}

static void teardown(void)
{
  keyroute_location_release(world.location);
  kr_servers_free(world.servers);
  failing_mem_done(world.mem);
}

static struct keyroute_result *make_result(size_t count)
{
  struct keyroute_result *result = kr_result_new(world.mem, count);

  ck_assert_ptr_nonnull(result);
  return result;
}

/* A block of one cell, f:q of a row. */
struct made_block {
  struct kr_cell_block block;
  struct keyroute_cell cells[3];
};

static struct made_block *make_block(void)
{
  static const char *const qualifiers[] = {"", "q", "q"};
  static const char *const values[] = {"empty", "new", "old"};
  struct made_block *made = kr_calloc(world.mem, sizeof(*made));

  ck_assert_ptr_nonnull(made);
  for (int i = 0; i < 3; i++) {
    made->cells[i].family = keyroute_string("f");
    made->cells[i].qualifier = keyroute_string(qualifiers[i]);
    made->cells[i].value = keyroute_string(values[i]);
  }
  return made;
}

/* ---- Rows that were read -------------------------------------------------------------------- */

START_TEST(test_result__row_is_as_the_transport_brought_it)
{
  struct keyroute_result *result = make_result(2);
  struct made_block *made = make_block();
  struct kr_got_row row = {made->cells, 3, true, NULL};
  size_t count = 0;

  kr_result_keep(result, &made->block);
  kr_result_set(result, 1, &row, world.location, 2);

  ck_assert_uint_eq(keyroute_result_count(result), 2);
  ck_assert_uint_eq(keyroute_result_failed(result), 0);
  ck_assert_int_eq(keyroute_result_error(result, 1), 0);
  ck_assert_str_eq(keyroute_result_message(result, 1), "");
  ck_assert_ptr_eq(keyroute_result_cells(result, 1, &count), made->cells);
  ck_assert_uint_eq(count, 3);
  ck_assert_ptr_eq(keyroute_result_location(result, 1), world.location);
  ck_assert_int_eq(keyroute_result_replica(result, 1), 2);
  ck_assert(keyroute_result_stale(result, 1));
  ck_assert(!keyroute_result_stale(result, 0));
  keyroute_result_free(result);
}
END_TEST

START_TEST(test_result__row_without_cells_was_read_and_is_not_there)
{
  struct keyroute_result *result = make_result(1);
  struct made_block *made = make_block();
  struct kr_got_row row = {made->cells, 0, false, NULL};
  size_t count = 7;

  kr_result_keep(result, &made->block);
  kr_result_set(result, 0, &row, world.location, 0);

  ck_assert_ptr_null(keyroute_result_cells(result, 0, &count));
  ck_assert_uint_eq(count, 0);
  ck_assert_int_eq(keyroute_result_error(result, 0), 0);
  ck_assert_ptr_nonnull(keyroute_result_location(result, 0));
  keyroute_result_free(result);
}
END_TEST

START_TEST(test_result__newest_cell_of_a_column_is_found)
{
  struct keyroute_result *result = make_result(1);
  struct made_block *made = make_block();
  struct kr_got_row row = {made->cells, 3, false, NULL};
  struct keyroute_bytes f = keyroute_string("f"), q = keyroute_string("q");

  kr_result_keep(result, &made->block);
  kr_result_set(result, 0, &row, world.location, 0);

  ck_assert_ptr_eq(keyroute_result_find(result, 0, f, q), &made->cells[1]);
  ck_assert_ptr_eq(keyroute_result_find(result, 0, f, kr_bytes(NULL, 0)), &made->cells[0]);
  ck_assert_ptr_null(keyroute_result_find(result, 0, f, keyroute_string("qq")));
  ck_assert_ptr_null(keyroute_result_find(result, 0, keyroute_string("g"), q));
  ck_assert_ptr_null(keyroute_result_find(result, 1, f, q));
  keyroute_result_free(result);
}
END_TEST

START_TEST(test_result__keeps_its_locations_and_blocks_until_it_is_freed)
{
  struct keyroute_result *result = make_result(3);
  struct kr_got_row row = {NULL, 0, false, NULL};
  long live = mem_live();

  kr_result_keep(result, NULL);
  kr_result_keep(result, &make_block()->block);
  kr_result_keep(result, &make_block()->block);
  for (size_t i = 0; i < 3; i++) {
    kr_result_set(result, i, &row, world.location, 0);
  }
  keyroute_location_release(world.location);
  world.location = NULL;

  ck_assert_int_eq(keyroute_location_port(keyroute_result_location(result, 2), 0), 1);
  ck_assert_int_eq(mem_live(), live + 2);
  keyroute_result_free(result);
}
END_TEST

/* The allocator counts its users, so that what outlives a connection can still be freed. */
START_TEST(test_result__outlives_whoever_made_it)
{
  struct kr_mem *mem = failing_mem_new();
  struct keyroute_result *result = kr_result_new(mem, 1);

  kr_result_fail(result, 0, KEYROUTE_E_TIMEOUT, kr_result_text(result, "too late"));
  kr_mem_release(mem);

  ck_assert_str_eq(keyroute_result_message(result, 0), "too late");
  keyroute_result_free(result);
}
END_TEST

/* ---- Rows that failed ----------------------------------------------------------------------- */

START_TEST(test_result__rows_that_failed_for_one_reason_share_its_text)
{
  struct keyroute_result *result = make_result(3);
  char text[] = "server h:1: no";
  const char *kept = kr_result_text(result, text);

  memset(text, 'x', sizeof(text) - 1);
  kr_result_fail(result, 0, KEYROUTE_E_REMOTE, kept);
  kr_result_fail(result, 2, KEYROUTE_E_REMOTE, kept);

  ck_assert_uint_eq(keyroute_result_failed(result), 2);
  ck_assert_str_eq(keyroute_result_message(result, 0), "server h:1: no");
  ck_assert_ptr_eq(keyroute_result_message(result, 0), keyroute_result_message(result, 2));
  ck_assert_int_eq(keyroute_result_error(result, 2), KEYROUTE_E_REMOTE);
  ck_assert_int_eq(keyroute_result_error(result, 1), 0);
  ck_assert_ptr_null(keyroute_result_location(result, 0));
  ck_assert_ptr_null(keyroute_result_cells(result, 0, NULL));
  keyroute_result_free(result);
}
END_TEST

#define COUNT_ERROR(name, number, text, kind, retried) +1
enum { ERRORS = 0 KEYROUTE_ERRORS(COUNT_ERROR) };

START_TEST(test_result__row_keeps_every_code)
{
  struct keyroute_result *result = make_result(ERRORS + 1);

  for (int i = 1; i <= ERRORS; i++) {
    kr_result_fail(result, (size_t)i, -i, NULL);
  }

  for (int i = 1; i <= ERRORS; i++) {
    ck_assert_int_eq(keyroute_result_error(result, (size_t)i), -i);
    ck_assert_str_eq(keyroute_result_message(result, (size_t)i), keyroute_strerror(-i));
  }
  keyroute_result_free(result);
}
END_TEST

START_TEST(test_result__text_that_finds_no_memory_is_the_codes_own)
{
  struct keyroute_result *result = make_result(1);

  mem_fail(1);
  kr_result_fail(result, 0, KEYROUTE_E_HOLE, kr_result_text(result, "no region"));
  mem_fail(0);

  ck_assert_str_eq(keyroute_result_message(result, 0), keyroute_strerror(KEYROUTE_E_HOLE));
  keyroute_result_free(result);
}
END_TEST

/* ---- What is not there ---------------------------------------------------------------------- */

static void expect_nothing(const struct keyroute_result *result, size_t index)
{
  size_t count = 7;

  ck_assert_int_eq(keyroute_result_error(result, index), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(keyroute_result_message(result, index), "");
  ck_assert_ptr_null(keyroute_result_cells(result, index, &count));
  ck_assert_uint_eq(count, 0);
  ck_assert_ptr_null(keyroute_result_cells(result, index, NULL));
  ck_assert_ptr_null(
      keyroute_result_find(result, index, keyroute_string("f"), keyroute_string("q")));
  ck_assert_ptr_null(keyroute_result_location(result, index));
  ck_assert_int_eq(keyroute_result_replica(result, index), 0);
  ck_assert(!keyroute_result_stale(result, index));
}

START_TEST(test_result__index_that_is_none_has_nothing)
{
  struct keyroute_result *result = make_result(2), *empty = make_result(0);

  expect_nothing(result, 2);
  expect_nothing(result, SIZE_MAX);
  expect_nothing(empty, 0);
  ck_assert_uint_eq(keyroute_result_count(empty), 0);
  keyroute_result_free(result);
  keyroute_result_free(empty);
}
END_TEST

START_TEST(test_result__null_has_nothing)
{
  expect_nothing(NULL, 0);
  ck_assert_uint_eq(keyroute_result_count(NULL), 0);
  ck_assert_uint_eq(keyroute_result_failed(NULL), 0);
  keyroute_result_free(NULL);
}
END_TEST

START_TEST(test_result__without_memory_there_is_none)
{
  mem_fail(1);
  ck_assert_ptr_null(kr_result_new(world.mem, 1));
  mem_fail(0);

  ck_assert_ptr_null(kr_result_new(world.mem, SIZE_MAX));
  ck_assert_ptr_null(kr_result_new(world.mem, SIZE_MAX / 8));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("result");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_result__row_is_as_the_transport_brought_it);
  tcase_add_test(tests, test_result__row_without_cells_was_read_and_is_not_there);
  tcase_add_test(tests, test_result__newest_cell_of_a_column_is_found);
  tcase_add_test(tests, test_result__keeps_its_locations_and_blocks_until_it_is_freed);
  tcase_add_test(tests, test_result__outlives_whoever_made_it);
  tcase_add_test(tests, test_result__rows_that_failed_for_one_reason_share_its_text);
  tcase_add_test(tests, test_result__row_keeps_every_code);
  tcase_add_test(tests, test_result__text_that_finds_no_memory_is_the_codes_own);
  tcase_add_test(tests, test_result__index_that_is_none_has_nothing);
  tcase_add_test(tests, test_result__null_has_nothing);
  tcase_add_test(tests, test_result__without_memory_there_is_none);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
