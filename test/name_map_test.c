/*
 * A map from names to pointers: finding, changing, visiting, and doing without memory.
 */
#include "lib/name_map.h"

#include "lib/rcu.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 }; /* several a shard */

struct fixture {
  struct kr_mem *mem;
  struct kr_name_map *map;
  char names[COUNT][32]; /* the values too */
  int visited;
};

static struct fixture *fixture_new(void)
{
  struct fixture *fixture = calloc(1, sizeof(*fixture));

  fixture->mem = failing_mem_new();
  fixture->map = calloc(1, sizeof(*fixture->map));
  kr_name_map_init(fixture->map, fixture->mem);
  for (int i = 0; i < COUNT; i++) {
    snprintf(fixture->names[i], sizeof(fixture->names[i]), "table%d", i);
  }
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  kr_name_map_clear(fixture->map);
  kr_rcu_barrier();
  free(fixture->map);
  failing_mem_done(fixture->mem);
  free(fixture);
}

static int put(struct fixture *fixture, int number)
{
  struct keyroute_bytes name = keyroute_string(fixture->names[number]);

  return kr_name_map_put(fixture->map, name, kr_name_map_hash(name), fixture->names[number]);
}

static int take(struct fixture *fixture, int number)
{
  struct keyroute_bytes name = keyroute_string(fixture->names[number]);

  return kr_name_map_take(fixture->map, fixture->names[number], kr_name_map_hash(name));
}

static bool is_there(struct fixture *fixture, int number)
{
  struct keyroute_bytes name = keyroute_string(fixture->names[number]);

  return kr_name_map_find(fixture->map, name, kr_name_map_hash(name)) == fixture->names[number];
}

START_TEST(test_name_map__what_was_put_is_found_until_it_is_taken)
{
  struct fixture *fixture = fixture_new();

  for (int i = 0; i < COUNT; i++) {
    ck_assert_int_eq(put(fixture, i), 0);
  }
  for (int i = 0; i < COUNT; i += 2) {
    ck_assert_int_eq(take(fixture, i), 0);
  }

  for (int i = 0; i < COUNT; i++) {
    ck_assert_int_eq(is_there(fixture, i), i % 2 == 1);
  }
  fixture_free(fixture);
}
END_TEST

START_TEST(test_name_map__size_is_nothing_when_all_is_taken)
{
  struct fixture *fixture = fixture_new();

  for (int i = 0; i < COUNT; i++) {
    put(fixture, i);
  }
  ck_assert_uint_gt(fixture->map->size, COUNT * sizeof(void *));
  for (int i = 0; i < COUNT; i++) {
    take(fixture, i);
  }

  ck_assert_uint_eq(fixture->map->size, 0);
  fixture_free(fixture);
}
END_TEST

static void take_visited(void *value, void *arg)
{
  struct fixture *fixture = arg;

  take(fixture, atoi((char *)value + strlen("table")));
  fixture->visited++;
}

START_TEST(test_name_map__visit_meets_each_once_though_it_takes_them)
{
  struct fixture *fixture = fixture_new();

  for (int i = 0; i < COUNT; i++) {
    put(fixture, i);
  }
  kr_rcu_read_begin();
  kr_name_map_visit(fixture->map, take_visited, fixture);
  kr_rcu_read_end();

  ck_assert_int_eq(fixture->visited, COUNT);
  ck_assert_uint_eq(fixture->map->size, 0);
  fixture_free(fixture);
}
END_TEST

/* A change with its n-th allocation failing; false = it was never asked for. */
static bool change_with_failure(struct fixture *fixture, int (*change)(struct fixture *, int),
                                long n)
{
  mem_fail(n);
  int error = change(fixture, COUNT - 1);
  bool failed = mem_has_failed();

  mem_fail(0);
  ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
  for (int i = 0; failed && i < COUNT; i++) {
    ck_assert_int_eq(is_there(fixture, i), i != COUNT - 1 || change == take);
  }
  return failed;
}

START_TEST(test_name_map__change_without_memory_changes_nothing)
{
  struct fixture *fixture = fixture_new();
  long n = 1;

  for (int i = 0; i < (_i == 0 ? COUNT - 1 : COUNT); i++) {
    put(fixture, i);
  }
  while (change_with_failure(fixture, _i == 0 ? put : take, n)) {
    n++;
  }

  ck_assert_int_gt(n, 2);
  ck_assert_int_eq(is_there(fixture, COUNT - 1), _i == 0);
  fixture_free(fixture);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("name_map");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_name_map__what_was_put_is_found_until_it_is_taken);
  tcase_add_test(tests, test_name_map__size_is_nothing_when_all_is_taken);
  tcase_add_test(tests, test_name_map__visit_meets_each_once_though_it_takes_them);
  tcase_add_loop_test(tests, test_name_map__change_without_memory_changes_nothing, 0, 2);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
