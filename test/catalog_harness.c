/*
 * One catalog under test.
 */
#include "test/catalog_harness.h"

#include "test/failing_mem.h"

#include <check.h>

struct kr_mem *catalog_mem;
struct kr_servers *catalog_servers;

static const struct kr_catalog *catalog;

void catalog_set_up(const struct kr_catalog *tested)
{
  catalog = tested;
  catalog_mem = failing_mem_new();
  catalog_servers = kr_servers_new(catalog_mem);
}

void catalog_tear_down(void)
{
  kr_servers_free(catalog_servers);
  failing_mem_done(catalog_mem);
}

struct kr_buf catalog_key(const char *table, struct keyroute_bytes row, enum kr_position position)
{
  struct kr_buf key;

  kr_buf_init(&key, catalog_mem);
  catalog->search_key(&key, keyroute_string(table), row, position);
  ck_assert(!key.failed);
  return key;
}

void expect_catalog_key(const char *table, struct keyroute_bytes row, enum kr_position position,
                        struct keyroute_bytes want)
{
  struct kr_buf key = catalog_key(table, row, position);

  ck_assert(kr_bytes_equal(kr_buf_view(&key), want));
  kr_buf_clear(&key);
}

void expect_catalog_bounds(const char *table, struct keyroute_bytes low, struct keyroute_bytes high)
{
  struct kr_buf key;

  kr_buf_init(&key, catalog_mem);
  catalog->low_key(&key, keyroute_string(table));
  ck_assert(kr_bytes_equal(kr_buf_view(&key), low));
  key.len = 0;
  catalog->high_key(&key, keyroute_string(table));
  ck_assert(kr_bytes_equal(kr_buf_view(&key), high));
  kr_buf_clear(&key);
}

void expect_catalog_root_needs_memory(const struct kr_root *root)
{
  struct keyroute_location *location = NULL;
  long n = 0;

  while (location == NULL) {
    struct kr_failure failure = {.code = 0};

    mem_fail(++n);
    location = catalog->parse_root(&failure, catalog_mem, catalog_servers, root);
    mem_fail(0);
    ck_assert(location != NULL || failure.code == KEYROUTE_E_NO_MEMORY);
    ck_assert_int_lt(n, 100);
  }
  ck_assert_int_gt(n, 2);
  keyroute_location_release(location);
}
