/*
 * Grouping rows by server and region, against scripted servers and an oracle made of single
 * lookups.
 */
#include "test/failing_mem.h"
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1000, REGIONS = 40 };

static struct hop_world world;
static struct keyroute_groups *groups;
static struct keyroute_detail detail;
static struct keyroute_key keys[ROWS];
static char names[ROWS][24];
static size_t key_count;

static void setup(void)
{
  hop_world_start(&world, NULL);
  hop_world_open(&world);
  groups = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  key_count = 0;
}

static void teardown(void)
{
  keyroute_groups_free(groups);
  keyroute_detail_clear(&detail);
  hop_world_stop(&world);
}

static void add(const char *table, const char *key)
{
  snprintf(names[key_count], sizeof(names[0]), "%s", key);
  keys[key_count] = (struct keyroute_key){table, row(names[key_count])};
  key_count++;
}

static int group_with(int64_t deadline_ms, unsigned flags, int replica)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, flags, replica};

  keyroute_groups_free(groups);
  groups = NULL;
  return keyroute_group(&groups, world.cluster.conn, keys, key_count, &call, &detail);
}

static void group(void)
{
  int error = group_with(PATIENCE_MS, 0, 0);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
}

static struct keyroute_server_group server_at(size_t index)
{
  struct keyroute_server_group server = {.size = sizeof(server)};

  ck_assert_int_eq(keyroute_groups_server(groups, index, &server), 0);
  return server;
}

static struct keyroute_region_group region_at(size_t index)
{
  struct keyroute_region_group region = {.size = sizeof(region)};

  ck_assert_int_eq(keyroute_groups_region(groups, index, &region), 0);
  return region;
}

/* Tables "w" and "ns:v": regions of 50 rows each, in turn on the servers. */
static void place_wide(void)
{
  static const char *const tables[] = {"w", "ns:v"};
  char start[24], end[24];

  for (int i = 0; i < REGIONS; i++) {
    int at = i / 2;

    snprintf(start, sizeof(start), "x%06d", at * 50);
    snprintf(end, sizeof(end), "x%06d", (at + 1) * 50);
    struct fake_region region = {
        .table = tables[i % 2],
        .start = row(at == 0 ? "" : start),
        .end = row(at + 1 == REGIONS / 2 ? "" : end),
        .id = 100 + i,
    };

    fake_server_place_region(world.cluster.server, world.servers[i % HOP_SERVERS], &region);
  }
}

START_TEST(test_group__rows_stand_by_server_and_region_sorted_by_row)
{
  add("t", "z");
  add("t", "b");
  add("t", "a");
  add("t", "n");
  group();

  ck_assert_uint_eq(keyroute_groups_server_count(groups), 2);
  ck_assert_uint_eq(keyroute_groups_region_count(groups), 2);
  ck_assert_uint_eq(keyroute_groups_failed(groups), 0);
  for (size_t i = 0; i < 2; i++) {
    struct keyroute_server_group server = server_at(i);
    struct keyroute_region_group region = region_at(server.first_region);
    bool low = keyroute_location_start_key(region.location).len == 0;

    ck_assert_str_eq(server.host, "127.0.0.1");
    ck_assert_int_eq(server.port, fake_server_port(world.servers[low ? 0 : 1]));
    ck_assert_int_eq(server.start_code, 77);
    ck_assert_uint_eq(server.region_count, 1);
    ck_assert_uint_eq(server.row_count, 2);
    ck_assert_uint_eq(region.row_count, 2);
    ck_assert_uint_eq(region.rows[0], low ? 2 : 3);
    ck_assert_uint_eq(region.rows[1], low ? 1 : 0);
    ck_assert_int_eq(region.replica, 0);
  }
}
END_TEST

/* Each row is where a lookup of its own says. */
static void compare_with_lookups(void)
{
  bool seen[ROWS] = {false};
  size_t rows = 0;

  for (size_t s = 0; s < keyroute_groups_server_count(groups); s++) {
    struct keyroute_server_group server = server_at(s);
    size_t of_server = 0;

    for (size_t r = server.first_region; r < server.first_region + server.region_count; r++) {
      struct keyroute_region_group region = region_at(r);

      of_server += region.row_count;
      for (size_t i = 0; i < region.row_count; i++) {
        const struct keyroute_key *key = &keys[region.rows[i]];
        struct keyroute_location *found;

        ck_assert(!seen[region.rows[i]]);
        seen[region.rows[i]] = true;
        ck_assert_int_eq(
            keyroute_locate(&found, world.cluster.conn, key->table, key->row, NULL, &detail), 0);
        ck_assert_int_eq(keyroute_location_region_id(found),
                         keyroute_location_region_id(region.location));
        ck_assert_int_eq(keyroute_location_port(found, 0), server.port);
        keyroute_location_release(found);
      }
    }
    ck_assert_uint_eq(of_server, server.row_count);
    rows += of_server;
  }
  ck_assert_uint_eq(rows, key_count);
}

START_TEST(test_group__each_row_is_where_a_lookup_of_its_own_finds_it)
{
  char name[24];

  place_wide();
  for (size_t i = 0; i < ROWS; i++) {
    snprintf(name, sizeof(name), "x%06zu", (i * 7919) % 1100);
    add(i % 3 == 0 ? "w" : i % 3 == 1 ? "ns:v" : "default:w", name);
  }
  if (_i == 1) {
    hop_world_warm(&world, "a");
    ck_assert_int_eq(locate(world.cluster.conn, "w", "x000500", 0, NULL), 0);
  }
  group();

  ck_assert_uint_eq(keyroute_groups_server_count(groups), HOP_SERVERS);
  ck_assert_uint_eq(keyroute_groups_region_count(groups), REGIONS);
  compare_with_lookups();
}
END_TEST

START_TEST(test_group__order_is_that_of_names_tables_and_start_keys)
{
  char name[24];

  place_wide();
  for (size_t i = 0; i < ROWS; i++) {
    snprintf(name, sizeof(name), "x%06zu", i);
    add(i % 2 == 0 ? "w" : "ns:v", name);
  }
  group();

  for (size_t s = 0; s < keyroute_groups_server_count(groups); s++) {
    struct keyroute_server_group server = server_at(s);

    if (s > 0) {
      ck_assert_int_lt(server_at(s - 1).port, server.port);
    }
    for (size_t r = server.first_region + 1; r < server.first_region + server.region_count; r++) {
      struct keyroute_location *before = region_at(r - 1).location, *here = region_at(r).location;
      struct keyroute_bytes a = keyroute_location_table(before), b = keyroute_location_table(here);

      ck_assert(a.len > b.len ||
                keyroute_location_region_id(before) < keyroute_location_region_id(here));
    }
  }
}
END_TEST

START_TEST(test_group__empty_row_is_in_the_first_region)
{
  keys[key_count++] = (struct keyroute_key){"t", {NULL, 0}};
  group();

  ck_assert_uint_eq(keyroute_location_start_key(region_at(0).location).len, 0);
}
END_TEST

START_TEST(test_group__catalog_itself_is_grouped_too)
{
  add("hbase:meta", "t,a,1");
  add("t", "a");
  group();

  ck_assert_uint_eq(keyroute_groups_region_count(groups), 2);
  ck_assert_uint_eq(keyroute_groups_failed(groups), 0);
}
END_TEST

START_TEST(test_group__rows_that_cannot_be_located_are_told_of)
{
  add("t", "a");
  add("gone", "a");
  add("t", "z");
  group();

  ck_assert_uint_eq(keyroute_groups_failed(groups), 1);
  ck_assert_int_eq(keyroute_groups_error(groups, 0), 0);
  ck_assert_int_eq(keyroute_groups_error(groups, 1), KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_ptr_nonnull(strstr(keyroute_groups_message(groups, 1), "gone"));
  ck_assert_str_eq(keyroute_groups_message(groups, 2), "");
  ck_assert_int_eq(keyroute_groups_error(groups, 3), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "1 of 3 rows failed"));
  ck_assert_uint_eq(keyroute_groups_region_count(groups), 2);
}
END_TEST

START_TEST(test_group__no_rows_make_no_groups)
{
  group();

  ck_assert_uint_eq(keyroute_groups_server_count(groups), 0);
  ck_assert_uint_eq(keyroute_groups_region_count(groups), 0);
  ck_assert_int_eq(keyroute_groups_error(groups, 0), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_group__sends_nothing_to_the_servers_of_rows)
{
  add("t", "a");
  add("t", "z");
  group();

  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).requests, 0);
  ck_assert_uint_eq(fake_server_counts(world.servers[0]).connects, 0);
}
END_TEST

START_TEST(test_group__replica_is_grouped_by_its_own_server)
{
  struct fake_region region = {.table = "r", .id = 9, .seqnum = 1};

  fake_server_place_replicas(world.cluster.server, (struct fake_server *const *)world.servers, 2,
                             &region);
  add("r", "a");
  ck_assert_int_eq(group_with(PATIENCE_MS, 0, 1), 0);

  ck_assert_int_eq(server_at(0).port, fake_server_port(world.servers[1]));
  ck_assert_int_eq(region_at(0).replica, 1);
}
END_TEST

START_TEST(test_group__grouping_outlives_its_connection)
{
  add("t", "a");
  group();
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  ck_assert_str_eq(server_at(0).host, "127.0.0.1");
  ck_assert_uint_eq(region_at(0).row_count, 1);
}
END_TEST

START_TEST(test_group__what_is_not_there_is_refused)
{
  struct keyroute_server_group server = {.size = sizeof(server)};
  struct keyroute_region_group region = {.size = 0};

  add("t", "a");
  group();

  ck_assert_int_eq(keyroute_groups_server(groups, 1, &server), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_groups_region(groups, 0, &region), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_groups_server(NULL, 0, &server), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_uint_eq(keyroute_groups_server_count(NULL), 0);
}
END_TEST

/* ---- Without waiting ---- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count, error;
} told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void tell(void *payload, int error, struct keyroute_groups *made,
                 const struct keyroute_detail *how)
{
  (void)payload;
  (void)how;
  pthread_mutex_lock(&told.lock);
  told.count++;
  told.error = error;
  groups = made;
  pthread_cond_broadcast(&told.changed);
  pthread_mutex_unlock(&told.lock);
}

static void await_told(void)
{
  pthread_mutex_lock(&told.lock);
  while (told.count == 0) {
    pthread_cond_wait(&told.changed, &told.lock);
  }
  pthread_mutex_unlock(&told.lock);
}

START_TEST(test_group__callback_owns_the_grouping)
{
  add("t", "a");
  ck_assert_int_eq(
      keyroute_group_async(NULL, world.cluster.conn, keys, key_count, NULL, tell, NULL), 0);
  memset(names, 'x', sizeof(names));
  await_told();

  ck_assert_int_eq(told.error, 0);
  ck_assert_uint_eq(region_at(0).row_count, 1);
}
END_TEST

START_TEST(test_group__call_is_cancelled_while_its_rows_are_looked_up)
{
  uint64_t number;

  add("t", "a");
  fake_server_set_silent(world.cluster.server, true);
  ck_assert_int_eq(
      keyroute_group_async(&number, world.cluster.conn, keys, key_count, NULL, tell, NULL), 0);
  keyroute_cancel(world.cluster.conn, number);
  await_told();

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
  ck_assert_ptr_null(groups);
}
END_TEST

START_TEST(test_group__every_allocation_may_fail)
{
  bool failed = true;

  hop_world_stop(&world);
  hop_world_start(&world, &failing_allocator);
  add("t", "a");
  add("gone", "a");
  add("t", "z");
  for (long n = 1; failed; n++) {
    hop_world_open(&world);
    mem_fail(n);
    int error = group_with(PATIENCE_MS, 0, 0);

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_msg(error == 0 || error == KEYROUTE_E_NO_MEMORY, "%s: %s", keyroute_errname(error),
                  detail.message);
    keyroute_groups_free(groups);
    groups = NULL;
    ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  }
  world.cluster.conn = NULL;
  keyroute_options_free(world.cluster.options);
  world.cluster.options = NULL;

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("group");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_group__rows_stand_by_server_and_region_sorted_by_row);
  tcase_add_loop_test(tests, test_group__each_row_is_where_a_lookup_of_its_own_finds_it, 0, 2);
  tcase_add_test(tests, test_group__order_is_that_of_names_tables_and_start_keys);
  tcase_add_test(tests, test_group__empty_row_is_in_the_first_region);
  tcase_add_test(tests, test_group__catalog_itself_is_grouped_too);
  tcase_add_test(tests, test_group__rows_that_cannot_be_located_are_told_of);
  tcase_add_test(tests, test_group__no_rows_make_no_groups);
  tcase_add_test(tests, test_group__sends_nothing_to_the_servers_of_rows);
  tcase_add_test(tests, test_group__replica_is_grouped_by_its_own_server);
  tcase_add_test(tests, test_group__grouping_outlives_its_connection);
  tcase_add_test(tests, test_group__what_is_not_there_is_refused);
  tcase_add_test(tests, test_group__callback_owns_the_grouping);
  tcase_add_test(tests, test_group__call_is_cancelled_while_its_rows_are_looked_up);
  tcase_add_test(tests, test_group__every_allocation_may_fail);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
