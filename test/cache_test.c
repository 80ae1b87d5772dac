/*
 * How much a cache holds: its figure of bytes is what its allocator has given out.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* An allocator that knows what it holds, as glibc has it. */
static atomic_size_t bytes_held;

/* What glibc takes for an allocation: what may be used of it, and the header before it. */
static size_t taken(void *made)
{
  return made != NULL ? malloc_usable_size(made) + 8 : 0;
}

static void *count_allocate(void *user, size_t size)
{
  void *made = malloc(size);

  (void)user;
  atomic_fetch_add(&bytes_held, taken(made));
  return made;
}

static void *count_reallocate(void *user, void *old, size_t size)
{
  (void)user;
  atomic_fetch_sub(&bytes_held, taken(old));
  void *made = realloc(old, size);

  atomic_fetch_add(&bytes_held, taken(made));
  return made;
}

static void count_release(void *user, void *old)
{
  (void)user;
  atomic_fetch_sub(&bytes_held, taken(old));
  free(old);
}

static const struct {
  int tables, regions, key_len; /* regions of each table */
} figures[] = {
    {1, 1, 16},    {1, 100, 16},    {1, 10000, 16}, {1, 1, 200},
    {1, 100, 200}, {1, 10000, 200}, {3000, 1, 16},  {300, 10, 200},
};

/* A region whose start key is so long; its end is unbounded if it is the last. */
static struct keyroute_location *made_wide(struct fixture *fixture, const char *table, int number,
                                           bool last, int key_len)
{
  char start[300], end[300]; /* key_len is 200 at most */

  snprintf(start, sizeof(start), "%0*d", key_len, number);
  snprintf(end, sizeof(end), "%0*d", key_len, number + 1);
  struct made parts = {table,
                       start,
                       last ? "" : end,
                       1700000000000 + number,
                       "server.example",
                       16020,
                       1700000000000 + number % 5,
                       2};

  return make_location(fixture->mem, fixture->servers, &parts);
}

static void fill_tables(struct fixture *fixture, int tables, int regions, int key_len)
{
  for (int i = 0; i < tables; i++) {
    char name[32];

    snprintf(name, sizeof(name), "table%d", i);
    struct keyroute_table *table = kr_cache_table(fixture->cache, keyroute_string(name));

    for (int j = 0; j < regions; j++) {
      struct keyroute_location *location = made_wide(fixture, name, j, j + 1 == regions, key_len);
      struct keyroute_location *kept;

      kr_cache_store(fixture->cache, table, location, kr_cache_tick(fixture->cache), &kept);
      keyroute_location_release(kept);
      keyroute_location_release(location);
    }
    kr_table_release(table);
  }
}

START_TEST(test_cache__figure_of_bytes_is_what_the_allocator_holds)
{
  static const struct keyroute_allocator counting = {NULL, count_allocate, count_reallocate,
                                                     count_release};
  struct fixture fixture = {.mem = kr_mem_new(&counting)};
  struct kr_cache_filter all = {0};

  fixture.stats = kr_stats_new(fixture.mem);
  fixture.cache = kr_cache_new(fixture.mem, fixture.stats);
  fixture.servers = kr_servers_new(fixture.mem);
  size_t empty = atomic_load(&bytes_held);

  fill_tables(&fixture, figures[_i].tables, figures[_i].regions, figures[_i].key_len);
  kr_rcu_barrier();
  size_t really = atomic_load(&bytes_held) - empty;
  size_t figure = kr_cache_size(fixture.cache).bytes + kr_servers_size(fixture.servers);
  printf("%d x %d regions, keys of %d: %zu held, %zu told\n", figures[_i].tables,
         figures[_i].regions, figures[_i].key_len, really, figure);
  ck_assert_uint_gt(figure, really - really / 10);
  ck_assert_uint_lt(figure, really + really / 10);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);
  kr_rcu_barrier();
  kr_servers_purge(fixture.servers, 0);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, 0);
  ck_assert_uint_eq(kr_servers_size(fixture.servers), 0);
  ck_assert_uint_eq(atomic_load(&bytes_held), empty);
  kr_cache_free(fixture.cache);
  kr_servers_free(fixture.servers);
  kr_stats_free(fixture.stats);
  kr_mem_release(fixture.mem);
  ck_assert_uint_eq(atomic_load(&bytes_held), 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests, test_cache__figure_of_bytes_is_what_the_allocator_holds, 0,
                      (int)(sizeof(figures) / sizeof(figures[0])));
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
