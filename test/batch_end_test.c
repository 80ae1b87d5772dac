/*
 * How reading many rows ends before all have come: cancelled, closed, refused, late, or out of
 * memory; and that nobody waits for the slowest until then.
 */
#include "test/batch_harness.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What callbacks were told, and how often. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count, error;
  struct keyroute_result *result;
} told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, NULL};

static void tell(void *payload, int error, struct keyroute_result *got,
                 const struct keyroute_detail *how)
{
  (void)payload;
  (void)how;
  pthread_mutex_lock(&told.lock);
  told.count++;
  told.error = error;
  keyroute_result_free(told.result);
  told.result = got;
  pthread_cond_broadcast(&told.changed);
  pthread_mutex_unlock(&told.lock);
}

static void await_told(int count)
{
  pthread_mutex_lock(&told.lock);
  while (told.count < count) {
    pthread_cond_wait(&told.changed, &told.lock);
  }
  result = told.result;
  told.result = NULL;
  pthread_mutex_unlock(&told.lock);
}

static uint64_t start(void)
{
  uint64_t number = 0;

  ck_assert_int_eq(
      keyroute_get_many_async(&number, world.cluster.conn, keys, key_count, NULL, NULL, tell, NULL),
      0);
  return number;
}

START_TEST(test_batch__keys_of_an_asynchronous_call_may_go)
{
  char text[] = "a0000", table[] = "t";
  struct keyroute_key key = {table, {text, 5}};

  add_both(1);
  ck_assert_int_eq(
      keyroute_get_many_async(NULL, world.cluster.conn, &key, 1, NULL, NULL, tell, NULL), 0);
  memset(text, 'x', sizeof(text) - 1);
  memset(table, 'x', sizeof(table) - 1);
  memset(&key, 0, sizeof(key));
  await_told(1);

  ck_assert_int_eq(told.error, 0);
  assert_read(0);
}
END_TEST

START_TEST(test_batch__call_is_cancelled_while_its_answers_are_awaited)
{
  add_both(40);
  warm();
  fake_server_set_silent(world.servers[0], true);
  uint64_t number = start();

  ck_assert(fake_server_wait_multis(world.servers[1], 1, PATIENCE_MS));
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
  ck_assert_ptr_null(result);
}
END_TEST

/* So many rows are read while the call is still under way; then it is cancelled. */
static void assert_not_held_up(unsigned rows)
{
  uint64_t number = start();

  for (int i = 0; rows_read(0) + rows_read(1) < rows && i < PATIENCE_MS; i++) {
    pause_ms(1);
  }
  ck_assert_uint_eq(rows_read(0) + rows_read(1), rows);
  pthread_mutex_lock(&told.lock);
  ck_assert_int_eq(told.count, 0);
  pthread_mutex_unlock(&told.lock);
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);
}

static void setup_many_tries(void)
{
  setup();
  fake_cluster_set(&world.cluster, "hbase.client.retries.number", "1000");
  fake_cluster_set(&world.cluster, "keyroute.deadline.ms", "300000");
  hop_world_open(&world);
}

START_TEST(test_batch__silent_server_does_not_hold_up_the_others)
{
  add_both(40);
  warm();
  fake_server_set_silent(world.servers[0], true);

  assert_not_held_up(20);
}
END_TEST

START_TEST(test_batch__offline_region_does_not_hold_up_the_others)
{
  place_gap(true);
  add_letters(100);

  assert_not_held_up(400);
}
END_TEST

START_TEST(test_batch__missing_table_on_a_silent_catalog_does_not_hold_up_cached_rows)
{
  add_both(40);
  add("gone", "a");
  warm();
  fake_server_set_silent(world.cluster.server, true);

  assert_not_held_up(40);
}
END_TEST

START_TEST(test_batch__call_is_cancelled_at_any_moment)
{
  place_wide(30);
  add_generated("w", "x", 3000);
  for (int i = 0; i < 60; i++) {
    if (i % 3 == 0) {
      ck_assert_int_eq(keyroute_clear_all(world.cluster.conn), 0);
    }
    if (i % 5 == 0) {
      fault(i % HOP_SERVERS, &(struct fake_fault){.what = FAKE_CLOSE});
    }
    uint64_t number = start();

    if (i % 4 != 0) {
      nanosleep(&(struct timespec){0, (long)(rand() % 8) * 300000}, NULL);
    }
    keyroute_cancel(world.cluster.conn, number);
    await_told(i + 1);
    ck_assert_msg(told.error == 0 || told.error == KEYROUTE_E_CANCELLED, "%d", told.error);
    ck_assert((result != NULL) == (told.error == 0));
    keyroute_result_free(result);
    result = NULL;
  }
}
END_TEST

START_TEST(test_batch__closing_ends_what_is_under_way)
{
  add_both(40);
  warm();
  fake_server_set_silent(world.servers[0], true);
  start();
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  ck_assert_int_eq(told.count, 1);
  ck_assert_int_eq(told.error, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_batch__closing_ends_what_looks_for_its_rows)
{
  add_both(40);
  fake_server_set_silent(world.cluster.server, true);
  start();
  ck_assert(fake_server_wait_connects(world.cluster.server, 1, PATIENCE_MS));
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  ck_assert_int_eq(told.error, KEYROUTE_E_CLOSED);
}
END_TEST

static void setup_short_of_memory(void)
{
  hop_world_start(&world, &failing_allocator);
  fake_cluster_set(&world.cluster, "keyroute.scans.max", "1");
  hop_world_open(&world);
}

/* The lookups of four tables; one flies, the others stand in line. */
static uint64_t start_four_tables(void)
{
  static const char *const tables[] = {"t", "u", "v", "w"};

  key_count = 0;
  for (int i = 0; i < 4; i++) {
    add(tables[i], "a");
  }
  uint64_t number = start();

  ck_assert(fake_server_wait_connects(world.cluster.server, 1, PATIENCE_MS));
  return number;
}

START_TEST(test_batch__lookup_that_fails_as_another_is_given_up_goes_with_it)
{
  fake_server_set_silent(world.cluster.server, true);
  for (int i = 0; i < 4; i++) {
    start_four_tables();
  }

  mem_fail_from(1);
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;
  mem_fail(0);

  ck_assert_int_eq(told.count, 4);
  ck_assert_int_eq(told.error, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_batch__call_that_runs_out_of_memory_gives_up_all_its_lookups)
{
  fake_server_set_silent(world.cluster.server, true);
  start_four_tables();

  mem_fail_from(1);
  fake_server_drop_connections(world.cluster.server);
  await_told(1);
  mem_fail(0);

  ck_assert(told.error == KEYROUTE_E_NO_MEMORY || told.error == 0);
}
END_TEST

static void setup_one_pending(void)
{
  setup();
  fake_cluster_set(&world.cluster, "keyroute.max.pending", "1");
  hop_world_open(&world);
}

START_TEST(test_batch__too_many_at_once_are_refused)
{
  add_both(4);
  fake_server_set_silent(world.servers[0], true);
  uint64_t number = start();

  ck_assert_int_eq(
      keyroute_get_many_async(NULL, world.cluster.conn, keys, key_count, NULL, NULL, tell, NULL),
      KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, 0, 0), KEYROUTE_E_OVERLOADED);
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);
}
END_TEST

START_TEST(test_batch__deadline_ends_it_with_what_was_met_last)
{
  add_both(40);
  warm();
  exception(0, HBASE "RegionTooBusyException", -1);
  ck_assert_int_eq(get_with(NULL, 2000, 0, 0), 0);

  assert_failed(0, KEYROUTE_E_OVERLOADED);
  ck_assert(detail.deadline);
}
END_TEST

START_TEST(test_batch__deadline_while_the_catalog_is_silent_is_a_timeout)
{
  add_both(40);
  fake_server_set_silent(world.cluster.server, true);
  ck_assert_int_eq(get_with(NULL, 300, 0, 0), 0);

  ck_assert_uint_eq(keyroute_result_failed(result), 40);
  assert_failed(0, KEYROUTE_E_TIMEOUT);
  ck_assert(detail.deadline);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("batch_end");
  TCase *tests = add_case(made, "plain", setup_open);

  tcase_add_test(tests, test_batch__keys_of_an_asynchronous_call_may_go);
  tcase_add_test(tests, test_batch__call_is_cancelled_while_its_answers_are_awaited);
  tcase_add_test(tests, test_batch__call_is_cancelled_at_any_moment);
  tcase_add_test(tests, test_batch__closing_ends_what_is_under_way);
  tcase_add_test(tests, test_batch__closing_ends_what_looks_for_its_rows);
  tcase_add_test(tests, test_batch__deadline_while_the_catalog_is_silent_is_a_timeout);
  tests = add_case(made, "many tries", setup_many_tries);
  tcase_add_test(tests, test_batch__silent_server_does_not_hold_up_the_others);
  tcase_add_test(tests, test_batch__offline_region_does_not_hold_up_the_others);
  tcase_add_test(tests, test_batch__missing_table_on_a_silent_catalog_does_not_hold_up_cached_rows);
  tcase_add_test(tests, test_batch__deadline_ends_it_with_what_was_met_last);
  tests = add_case(made, "short of memory", setup_short_of_memory);
  tcase_add_test(tests, test_batch__lookup_that_fails_as_another_is_given_up_goes_with_it);
  tcase_add_test(tests, test_batch__call_that_runs_out_of_memory_gives_up_all_its_lookups);
  tests = add_case(made, "one pending", setup_one_pending);
  tcase_add_test(tests, test_batch__too_many_at_once_are_refused);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
