/*
 * Rows of HBase's catalogs, with a regioninfo of nobody's: what catalog_meta_test.c and
 * catalog_root_test.c do not ask twice.
 */
#include "lib/catalog_row.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_servers *servers;
static struct kr_region_info said;

static void set_up(void)
{
  mem = failing_mem_new();
  servers = kr_servers_new(mem);
  said = (struct kr_region_info){.table = keyroute_string("t"),
                                 .start_key = keyroute_string("a"),
                                 .end_key = keyroute_string("c"),
                                 .id = 5};
}

static void tear_down(void)
{
  kr_servers_free(servers);
  failing_mem_done(mem);
}

/* "good" says what the test set; anything else is corrupt. */
static int parse_info(struct kr_region_info **out, struct kr_mem *from, struct keyroute_bytes value)
{
  if (!kr_bytes_equal(value, keyroute_string("good"))) {
    return KEYROUTE_E_CORRUPT;
  }
  *out = kr_alloc(from, sizeof(**out));
  if (*out == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  **out = said;
  return 0;
}

static struct kr_catalog_row read_row(const char *info)
{
  struct kr_cell cell = {.family = keyroute_string("info"),
                         .qualifier = keyroute_string("regioninfo"),
                         .value = keyroute_string(info)};
  struct kr_row row = {keyroute_string("t,a,5"), &cell, 1};
  struct kr_catalog_row out;

  ck_assert_int_eq(kr_catalog_row_read(&out, mem, servers, keyroute_string("t"), &row, parse_info),
                   0);
  return out;
}

START_TEST(test_catalog_row__info_is_read_as_its_generation_does)
{
  struct kr_catalog_row row = read_row("good");

  ck_assert_ptr_nonnull(row.location);
  ck_assert(kr_bytes_equal(keyroute_location_end_key(row.location), keyroute_string("c")));
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_row__info_that_cannot_be_read_is_corrupt)
{
  struct kr_catalog_row row = read_row("bad");

  ck_assert_ptr_null(row.location);
  ck_assert_int_eq(row.failure.code, KEYROUTE_E_CORRUPT);
  ck_assert_str_eq(row.failure.message, "catalog row t,a,5: its regioninfo cannot be read");
}
END_TEST

START_TEST(test_catalog_row__info_of_another_region_is_corrupt)
{
  said.id = 6;
  struct kr_catalog_row row = read_row("good");

  ck_assert_ptr_null(row.location);
  ck_assert_int_eq(row.failure.code, KEYROUTE_E_CORRUPT);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("catalog_row");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_catalog_row__info_is_read_as_its_generation_does);
  tcase_add_test(tests, test_catalog_row__info_that_cannot_be_read_is_corrupt);
  tcase_add_test(tests, test_catalog_row__info_of_another_region_is_corrupt);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
