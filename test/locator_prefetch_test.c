/*
 * How many rows a scan asks for: neighbours are prefetched where they will be asked for.
 */
#include "test/locator_harness.h"

#include "test/run_suite.h"

START_TEST(test_locator__lone_miss_reads_three_rows)
{
  struct world *world = world_new();
  struct ask first, second;

  put_region(world, "t", "", "", 7);
  put_region(world, "u", "", "", 8);
  world_start(world);

  ask(&first, world, "t", "a");
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 3);
  fake_clock_pass_ms(1000);
  kr_cache_clear_table(world->cache, first.lookup.table);
  ask(&second, world, "t", "a");
  fake_clock_pass_ms(1);

  ck_assert_uint_eq(world->last_limit, 3);
  ask_clear(&first);
  ask_clear(&second);
  world_free(world);
}
END_TEST

START_TEST(test_locator__misses_close_together_prefetch)
{
  struct world *world = world_new();
  struct ask asks[2];

  for (int i = 0; i < 26; i++) {
    char start[2] = {(char)('a' + i), 0}, end[2] = {(char)('b' + i), 0};

    put_region(world, "t", i == 0 ? "" : start, i == 25 ? "" : end, i + 1);
  }
  world_start(world);

  ask(&asks[0], world, "t", "c");
  fake_clock_pass_ms(50);
  ck_assert_uint_eq(world->last_limit, 3);
  ask(&asks[1], world, "t", "x");
  fake_clock_pass_ms(50);

  ck_assert_uint_eq(world->last_limit, 10);
  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 1 + 3 + 10);
  for (int i = 0; i < 2; i++) {
    ask_clear(&asks[i]);
  }
  world_free(world);
}
END_TEST

/* Regions "", b, c ... z, all known. */
static void know_alphabet(struct world *world, struct ask *asks)
{
  for (int i = 0; i < 26; i++) {
    char start[2] = {(char)('a' + i), 0}, end[2] = {(char)('b' + i), 0};

    put_region(world, "t", i == 0 ? "" : start, i == 25 ? "" : end, i + 1);
  }
  world_start(world);
  for (int i = 25; i >= 0; i--) {
    char row[2] = {(char)('a' + i), 0};

    ask(&asks[i], world, "t", row);
    fake_clock_pass_ms(1);
  }
  ck_assert_uint_eq(kr_cache_size(world->cache).regions, 1 + 26);
}

static void ask_fresh(struct ask *ask, struct world *world, const char *table, const char *row)
{
  ask_init(ask, world, table, row);
  ask->lookup.refresh = true;
  ask_start(ask);
}

START_TEST(test_locator__where_the_neighbours_are_known_nothing_is_prefetched)
{
  struct world *world = world_new();
  struct ask asks[26], again[4];

  know_alphabet(world, asks);
  ask_fresh(&again[0], world, "t", "x");
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 3);
  ask_fresh(&again[1], world, "t", "b"); /* there is but one below it */
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 3);

  kr_location_retire(kr_table_entry(asks[0].lookup.table, keyroute_string("p")),
                     KR_EVICTED_CLEARED);
  ask_fresh(&again[2], world, "t", "x"); /* p is the eighth below it */
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 10);
  kr_cache_clear_table(world->cache, asks[0].lookup.table);
  ask(&again[3], world, "t", "x");
  fake_clock_pass_ms(1);
  ck_assert_uint_eq(world->last_limit, 10);

  for (int i = 0; i < 26; i++) {
    ask_clear(&asks[i]);
  }
  for (int i = 0; i < 4; i++) {
    ask_clear(&again[i]);
  }
  world_free(world);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("locator_prefetch");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_locator__lone_miss_reads_three_rows);
  tcase_add_test(tests, test_locator__misses_close_together_prefetch);
  tcase_add_test(tests, test_locator__where_the_neighbours_are_known_nothing_is_prefetched);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
