/*
 * Reading many rows, against scripted servers: that each comes once and where it belongs, and what
 * the caller is told.
 */
#include "test/batch_harness.h"

#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

/* ---- What is read --------------------------------------------------------------------------- */

START_TEST(test_batch__rows_come_in_the_order_of_their_keys)
{
  add_both(40);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(0), 20);
  ck_assert_uint_eq(rows_read(1), 20);
  ck_assert_int_eq(keyroute_location_port(keyroute_result_location(result, 0), 0),
                   fake_server_port(world.servers[0]));
  ck_assert_int_eq(keyroute_location_port(keyroute_result_location(result, 1), 0),
                   fake_server_port(world.servers[1]));
  ck_assert_str_eq(detail.message, "");
}
END_TEST

START_TEST(test_batch__cached_rows_take_one_request_a_server_and_no_scan)
{
  add_both(200);
  warm();

  get_and_read_all();

  ck_assert_uint_eq(requests(0), 1);
  ck_assert_uint_eq(requests(1), 1);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
  ck_assert_uint_eq(hop_world_since(&world).requests, 2);
  ck_assert_uint_eq(hop_world_since(&world).rows_read, 200);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 0);
}
END_TEST

START_TEST(test_batch__no_rows_at_all_are_no_error)
{
  get_all();

  ck_assert_uint_eq(keyroute_result_count(result), 0);
  ck_assert_int_eq(keyroute_result_error(result, 0), KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(test_batch__one_row_alone_goes_as_a_get)
{
  add_both(1);

  get_and_read_all();

  ck_assert_uint_eq(fake_server_counts(world.servers[0]).gets, 1);
  ck_assert_uint_eq(fake_server_counts(world.servers[0]).multis, 0);
}
END_TEST

START_TEST(test_batch__row_that_occurs_twice_comes_twice)
{
  add_both(2);
  add("t", "a0000");
  add("t", "a0000");

  get_and_read_all();

  ck_assert_uint_eq(rows_read(0), 3);
}
END_TEST

START_TEST(test_batch__row_that_is_not_there_has_no_cells)
{
  size_t count = 7;

  add_both(2);
  add("t", "nobody");
  get_all();

  assert_read(0);
  assert_read(1);
  ck_assert_int_eq(keyroute_result_error(result, 2), 0);
  ck_assert_ptr_null(keyroute_result_cells(result, 2, &count));
  ck_assert_uint_eq(count, 0);
  ck_assert_ptr_nonnull(keyroute_result_location(result, 2));
}
END_TEST

START_TEST(test_batch__tables_may_be_mixed)
{
  struct fake_region other = {.table = "ns:u", .id = 3};

  fake_server_place_region(world.cluster.server, world.servers[0], &other);
  fake_rows_put(world.rows, "ns:u", row("b"), "f", "q", 1, row("b"));
  add_both(4);
  add("ns:u", "b");
  add("default:t", "a0002");

  get_and_read_all();

  ck_assert_mem_eq(keyroute_location_table(keyroute_result_location(result, 4)).data, "ns:u", 4);
  ck_assert_uint_eq(rows_read(0), 4);
}
END_TEST

START_TEST(test_batch__columns_and_versions_hold_for_every_row)
{
  struct keyroute_column columns[] = {{row("g"), row("x")}};
  struct keyroute_read read = {sizeof(read), columns, 1, 2, 0, 0, 0};

  add_both(6);
  for (int version = 1; version <= 3; version++) {
    fake_rows_put(world.rows, "t", row(names[3]), "g", "x", version, row("new"));
  }
  ck_assert_int_eq(get_with(&read, PATIENCE_MS, 0, 0), 0);

  size_t count;

  keyroute_result_cells(result, 3, &count);
  ck_assert_uint_eq(count, 2);
  keyroute_result_cells(result, 2, &count);
  ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(test_batch__result_outlives_its_connection)
{
  add_both(10);
  get_all();
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  assert_all_read();
}
END_TEST

START_TEST(test_batch__replica_is_read_where_it_is_and_may_be_stale)
{
  struct fake_region region = {.table = "r", .id = 9, .seqnum = 1};

  fake_server_place_replicas(world.cluster.server, (struct fake_server *const *)world.servers, 2,
                             &region);
  add_generated("r", "x", 10);
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, 0, 1), 0);

  assert_all_read();
  ck_assert(keyroute_result_stale(result, 4));
  ck_assert_int_eq(keyroute_result_replica(result, 4), 1);
  ck_assert_uint_eq(rows_read(1), 10);
  ck_assert_uint_eq(rows_read(0), 0);
}
END_TEST

/* ---- What is told --------------------------------------------------------------------------- */

START_TEST(test_batch__what_makes_no_sense_is_refused_with_the_key)
{
  struct keyroute_result *none = NULL;
  struct keyroute_key wrong[] = {{"t", row("a")}, {"t", row("")}};
  struct keyroute_key no_table[] = {{"t", row("a")}, {"t,", row("a")}};
  struct keyroute_call call = {sizeof(call), 0, KEYROUTE_BEFORE, 0};

  ck_assert_int_eq(keyroute_get_many(&none, world.cluster.conn, wrong, 2, NULL, NULL, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "key 1"));
  ck_assert_int_eq(keyroute_get_many(&none, world.cluster.conn, no_table, 2, NULL, NULL, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "key 1"));
  ck_assert_ptr_nonnull(strstr(detail.message, "t,"));
  ck_assert_int_eq(keyroute_get_many(&none, world.cluster.conn, NULL, 2, NULL, NULL, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_get_many(&none, world.cluster.conn, wrong, 1, NULL, &call, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_get_many(NULL, world.cluster.conn, wrong, 1, NULL, NULL, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_null(none);
}
END_TEST

START_TEST(test_batch__trace_tells_each_request)
{
  struct keyroute_step step = {.size = sizeof(step)};
  size_t multis = 0;

  add_both(40);
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, KEYROUTE_TRACE, 0), 0);
  for (size_t i = 0; i < keyroute_trace_count(detail.trace); i++) {
    ck_assert_int_eq(keyroute_trace_step(detail.trace, i, &step), 0);
    multis += strcmp(step.name, "multi") == 0;
  }

  ck_assert_uint_eq(multis, 2);
}
END_TEST

START_TEST(test_batch__detail_counts_what_was_sent)
{
  add_both(40);
  get_all();

  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_CATALOG);
  ck_assert_uint_ge(detail.attempts, 1);
  ck_assert_uint_ge(detail.rpcs, 3);
  get_all();
  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_CACHE);
  ck_assert_uint_eq(detail.attempts, 0);
  ck_assert_uint_eq(detail.rpcs, 2);
}
END_TEST

/* ---- Many, and without memory --------------------------------------------------------------- */

START_TEST(test_batch__every_allocation_may_fail)
{
  bool failed = true;

  hop_world_stop(&world);
  hop_world_start(&world, &failing_allocator);
  add_both(12);
  for (long n = 1; failed; n++) {
    hop_world_open(&world);
    fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                  .class_name = HBASE "RegionTooBusyException",
                                  .row = row("a0006")});
    mem_fail(n);
    int error = get_with(NULL, PATIENCE_MS, KEYROUTE_TRACE, 0);

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_msg(error == 0 || error == KEYROUTE_E_NO_MEMORY, "%s: %s", keyroute_errname(error),
                  detail.message);
    for (size_t i = 0; error == 0 && i < key_count; i++) {
      if (keyroute_result_error(result, i) != KEYROUTE_E_NO_MEMORY) {
        assert_read(i);
      }
    }
    keyroute_result_free(result);
    result = NULL;
    keyroute_detail_clear(&detail);
    fake_server_clear_faults(world.servers[0]);
    ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  }
  world.cluster.conn = NULL;
  keyroute_options_free(world.cluster.options);
  world.cluster.options = NULL;

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_batch__hundred_thousand_rows_of_150_regions_are_read)
{
  char start_key[ROW_SIZE], end_key[ROW_SIZE];

  for (int i = 0; i < 150; i++) {
    snprintf(start_key, sizeof(start_key), "x%06d", i * 667);
    snprintf(end_key, sizeof(end_key), "x%06d", (i + 1) * 667);
    struct fake_region region = {.table = "w",
                                 .start = row(i == 0 ? "" : start_key),
                                 .end = row(i == 149 ? "" : end_key),
                                 .id = 100 + i};

    fake_server_place_region(world.cluster.server, world.servers[i % HOP_SERVERS], &region);
  }
  add_generated("w", "x", ROWS_MAX);

  get_and_read_all();

  struct keyroute_stats stats = fake_cluster_stats(&world.cluster);

  ck_assert_uint_eq(stats.rows_read, ROWS_MAX);
  ck_assert_uint_lt(stats.requests, 1000);
  ck_assert_uint_lt(stats.scans, 150);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static Suite *suite(void)
{
  Suite *made = suite_create("batch");
  TCase *tests = add_case(made, "plain", setup_open);

  tcase_add_test(tests, test_batch__rows_come_in_the_order_of_their_keys);
  tcase_add_test(tests, test_batch__cached_rows_take_one_request_a_server_and_no_scan);
  tcase_add_test(tests, test_batch__no_rows_at_all_are_no_error);
  tcase_add_test(tests, test_batch__one_row_alone_goes_as_a_get);
  tcase_add_test(tests, test_batch__row_that_occurs_twice_comes_twice);
  tcase_add_test(tests, test_batch__row_that_is_not_there_has_no_cells);
  tcase_add_test(tests, test_batch__tables_may_be_mixed);
  tcase_add_test(tests, test_batch__columns_and_versions_hold_for_every_row);
  tcase_add_test(tests, test_batch__result_outlives_its_connection);
  tcase_add_test(tests, test_batch__replica_is_read_where_it_is_and_may_be_stale);
  tcase_add_test(tests, test_batch__what_makes_no_sense_is_refused_with_the_key);
  tcase_add_test(tests, test_batch__trace_tells_each_request);
  tcase_add_test(tests, test_batch__detail_counts_what_was_sent);
  tcase_add_test(tests, test_batch__every_allocation_may_fail);
  tcase_add_test(tests, test_batch__hundred_thousand_rows_of_150_regions_are_read);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
