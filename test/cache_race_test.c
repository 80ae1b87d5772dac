/*
 * The cache under readers: what they hold stays good while the loop stores and others clear.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_bool readers_stop;

/* Look rows up by name and by handle, and use what is found after the section. */
static void *read_on(void *arg)
{
  struct fixture *fixture = arg;
  size_t turn = 0;

  while (!atomic_load(&readers_stop)) {
    char row[2] = {(char)('a' + turn++ % 26), 0};
    struct keyroute_location *held = NULL;

    kr_rcu_read_begin();
    struct keyroute_table *table = kr_cache_find_table(fixture->cache, keyroute_string("u"));
    struct keyroute_location *location = kr_table_find(
        turn % 2 == 0 && table != NULL ? table : fixture->table, keyroute_string(row), KR_AT);

    if (location != NULL) {
      held = keyroute_location_ref(location);
    }
    kr_rcu_read_end();
    if (held != NULL) {
      ck_assert(kr_location_covers(held, keyroute_string(row), KR_AT));
      ck_assert_str_eq(keyroute_location_host(held, 0), "h");
      keyroute_location_release(held);
    }
  }
  return NULL;
}

/* Drop the server of whatever is found, as a report from any thread does. */
static void drop_server_of(struct fixture *fixture)
{
  kr_rcu_read_begin();
  struct keyroute_location *location = kr_table_find(fixture->table, keyroute_string("z"), KR_AT);

  if (location != NULL) {
    kr_cache_new_epoch(fixture->cache);
    kr_server_drop(kr_location_server(location, 0));
  }
  kr_rcu_read_end();
}

/* Clears from a thread that is neither loop nor reader, as keyroute_clear_all does. */
static void *retire_on(void *arg)
{
  struct fixture *fixture = arg;
  struct kr_cache_filter all = {0};
  struct kr_cache_filter server = {.host = "h", .port = 1};

  for (int i = 0; !atomic_load(&readers_stop); i++) {
    if (i % 3 == 0) {
      drop_server_of(fixture);
    } else {
      kr_cache_retire(fixture->cache, i % 3 == 1 ? &all : &server);
    }
  }
  return NULL;
}

static void store_elsewhere(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  struct keyroute_table *own = fixture->table;

  fixture->table = kr_cache_table(fixture->cache, keyroute_string("u"));
  store(fixture, start, end, id);
  kr_table_release(fixture->table);
  fixture->table = own;
}

START_TEST(test_s040_readers_hold_locations_while_the_cache_is_cleared)
{
  struct fixture fixture = bounded(10, 0);
  struct fixture shared = fixture; /* the readers': the writer's table pointer changes */
  pthread_t readers[8], clearer;
  time_t end = time(NULL) + 2;

  for (int i = 0; i < 8; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, &shared), 0);
  }
  ck_assert_int_eq(pthread_create(&clearer, NULL, retire_on, &shared), 0);
  for (int64_t id = 1; time(NULL) < end; id++) {
    char start[2] = {(char)('a' + id % 26), 0};

    store(&fixture, start, id % 7 == 0 ? "" : "zz", id);
    store_elsewhere(&fixture, start, "", id);
    if (id % 16 == 0) {
      sweep(&fixture);
    }
  }
  atomic_store(&readers_stop, true);
  for (int i = 0; i < 8; i++) {
    pthread_join(readers[i], NULL);
  }
  pthread_join(clearer, NULL);

  fixture_free(&fixture);
}
END_TEST

/* Take and give back handles of the tables that the writer fills and empties. */
static void *handle_on(void *arg)
{
  struct fixture *fixture = arg;

  for (int i = 0; !atomic_load(&readers_stop); i++) {
    char name[2] = {(char)('a' + i % 4), 0};
    struct keyroute_table *table = kr_cache_table(fixture->cache, keyroute_string(name));

    ck_assert_ptr_nonnull(table);
    kr_table_release(table);
  }
  return NULL;
}

START_TEST(test_cache__handles_come_and_go_while_tables_are_emptied)
{
  struct fixture fixture = bounded(3, 0);
  struct keyroute_table *own = fixture.table;
  struct kr_cache_filter all = {0};
  pthread_t threads[2];
  time_t end = time(NULL) + 2;

  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, handle_on, &fixture), 0);
  }
  for (int i = 0; time(NULL) < end; i++) {
    char name[2] = {(char)('a' + i % 4), 0};

    fixture.table = kr_cache_table(fixture.cache, keyroute_string(name));
    store(&fixture, "a", "b", i + 1);
    kr_table_release(fixture.table);
    if (i % 5 == 0) {
      kr_cache_retire(fixture.cache, &all);
      sweep(&fixture);
    }
  }
  atomic_store(&readers_stop, true);
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);
  fixture.table = own;

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  fixture_free(&fixture);
}
END_TEST

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_race");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s040_readers_hold_locations_while_the_cache_is_cleared);
  tcase_add_test(tests, test_cache__handles_come_and_go_while_tables_are_emptied);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
