/*
 * Reading many rows, against scripted servers: that each comes once and where it belongs, what is
 * sent to whom, and what is done about each thing that may go wrong with some of them.
 */
#include "test/failing_mem.h"
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS_MAX = 100000, ROW_SIZE = 24 };

static struct hop_world world;
static struct keyroute_result *result;
static struct keyroute_detail detail;
static struct keyroute_key keys[ROWS_MAX];
static char names[ROWS_MAX][ROW_SIZE];
static size_t key_count;

static void setup(void)
{
  hop_world_start(&world, NULL);
  result = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  key_count = 0;
}

static void setup_open(void)
{
  setup();
  hop_world_open(&world);
}

static void teardown(void)
{
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  hop_world_stop(&world);
}

/* ---- Asking --------------------------------------------------------------------------------- */

/* One key more. table is kept as a pointer. */
static void add(const char *table, const char *key)
{
  snprintf(names[key_count], ROW_SIZE, "%s", key);
  keys[key_count] = (struct keyroute_key){table, row(names[key_count])};
  key_count++;
}

/* Rows PREFIX000000 and so on, each with its own name as value, as many keys. */
static void add_generated(const char *table, const char *prefix, size_t count)
{
  char name[ROW_SIZE];

  fake_rows_generate(world.rows, table, prefix, count, 0);
  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof(name), "%s%06zu", prefix, i);
    add(table, name);
  }
}

/* Half of them below m, where servers[0] is asked, half above. */
static void add_both(size_t count)
{
  char name[ROW_SIZE];

  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof(name), "%c%04zu", i % 2 == 0 ? 'a' : 'z', i);
    hop_world_put(&world, name, name);
    add("t", name);
  }
}

static int get_with(const struct keyroute_read *read, int64_t deadline_ms, unsigned flags,
                    int replica)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, flags, replica};

  keyroute_result_free(result);
  result = NULL;
  return keyroute_get_many(&result, world.cluster.conn, keys, key_count, read, &call, &detail);
}

static void get_all(void)
{
  int error = get_with(NULL, PATIENCE_MS, 0, 0);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  ck_assert_uint_eq(keyroute_result_count(result), key_count);
}

/* The row of an index came, with its name as value. */
static void assert_read(size_t index)
{
  const struct keyroute_cell *cell =
      keyroute_result_find(result, index, keyroute_string("f"), keyroute_string("q"));

  ck_assert_msg(keyroute_result_error(result, index) == 0, "row %s: %s", names[index],
                keyroute_result_message(result, index));
  ck_assert_msg(cell != NULL, "row %s has no cell", names[index]);
  ck_assert_uint_eq(cell->value.len, strlen(names[index]));
  ck_assert_mem_eq(cell->value.data, names[index], strlen(names[index]));
  ck_assert_ptr_nonnull(keyroute_result_location(result, index));
}

static void assert_all_read(void)
{
  ck_assert_msg(keyroute_result_failed(result) == 0, "%s", detail.message);
  for (size_t i = 0; i < key_count; i++) {
    assert_read(i);
  }
}

static void get_and_read_all(void)
{
  get_all();
  assert_all_read();
}

static void assert_failed(size_t index, int error)
{
  ck_assert_msg(keyroute_result_error(result, index) == error, "row %s: %s, %s", names[index],
                keyroute_errname(keyroute_result_error(result, index)),
                keyroute_result_message(result, index));
  ck_assert_str_ne(keyroute_result_message(result, index), "");
  ck_assert_ptr_null(keyroute_result_location(result, index));
  ck_assert_ptr_null(keyroute_result_cells(result, index, NULL));
}

/* Both regions of t are cached. */
static void warm(void)
{
  hop_world_warm(&world, "a");
  hop_world_warm(&world, "z");
}

/* ---- Misbehaving ---------------------------------------------------------------------------- */

static void fault(int i, const struct fake_fault *given)
{
  struct fake_fault with_method = *given;

  with_method.method = given->method != NULL ? given->method : "Multi";
  fake_server_fault(world.servers[i], &with_method);
}

static void exception(int i, const char *class_name, int times)
{
  fault(i, &(struct fake_fault){.what = FAKE_EXCEPTION, .class_name = class_name, .times = times});
}

#define HBASE "org.apache.hadoop.hbase."

static unsigned rows_read(int i)
{
  return fake_server_counts(world.servers[i]).rows_read;
}

static unsigned requests(int i)
{
  struct fake_counts counts = fake_server_counts(world.servers[i]);

  return counts.gets + counts.multis;
}

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

/* ---- How it is cut into requests ------------------------------------------------------------- */

/* The table "w": so many regions of 100 rows each, in turn on the servers. */
static void place_wide(size_t regions)
{
  char start[ROW_SIZE], end[ROW_SIZE];

  for (size_t i = 0; i < regions; i++) {
    snprintf(start, sizeof(start), "x%06zu", i * 100);
    snprintf(end, sizeof(end), "x%06zu", (i + 1) * 100);
    struct fake_region region = {
        .table = "w",
        .start = row(i == 0 ? "" : start),
        .end = row(i + 1 == regions ? "" : end),
        .id = (int64_t)(100 + i),
    };

    fake_server_place_region(world.cluster.server, world.servers[i % HOP_SERVERS], &region);
  }
}

START_TEST(test_batch__each_row_of_many_regions_is_read_once)
{
  place_wide(30);
  add_generated("w", "x", 3000);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(0) + rows_read(1) + rows_read(2), 3000);
  ck_assert_uint_lt(fake_cluster_stats(&world.cluster).scans, 30);
}
END_TEST

START_TEST(test_batch__few_requests_are_under_way_at_each_server)
{
  place_wide(30);
  add_generated("w", "x", 3000);
  for (int i = 0; i < HOP_SERVERS; i++) {
    fault(i, &(struct fake_fault){.what = FAKE_ANSWER, .delay_ms = 5, .times = -1});
  }
  get_and_read_all();

  for (int i = 0; i < HOP_SERVERS; i++) {
    ck_assert_uint_le(fake_server_counts(world.servers[i]).most_multis, 2);
  }
}
END_TEST

START_TEST(test_batch__large_rows_make_short_requests)
{
  fake_rows_generate(world.rows, "t", "a", 600, 20000);
  for (int i = 0; i < 600; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "a%06d", i);
    add("t", name);
  }
  warm();
  get_all();

  ck_assert_msg(keyroute_result_failed(result) == 0, "%s", detail.message);
  ck_assert_uint_ge(requests(0), 7);
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 0);
}
END_TEST

static void setup_small_frames(void)
{
  setup();
  fake_cluster_set(&world.cluster, "keyroute.frame.max.bytes", "65536");
  hop_world_open(&world);
}

START_TEST(test_batch__answer_that_is_too_large_is_asked_for_in_pieces)
{
  fake_rows_generate(world.rows, "t", "a", 64, 5000);
  for (int i = 0; i < 64; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "a%06d", i);
    add("t", name);
  }
  warm();
  get_all();

  ck_assert_msg(keyroute_result_failed(result) == 0, "%s", detail.message);
  ck_assert_uint_gt(hop_world_since(&world).requests_failed, 0);
  ck_assert_uint_eq(hop_world_since(&world).retries, 0);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

static void setup_short_patience(void)
{
  setup();
  fake_cluster_set(&world.cluster, "hbase.rpc.timeout", "1000");
  hop_world_open(&world);
}

START_TEST(test_batch__answer_that_is_too_late_is_asked_for_in_halves)
{
  add_both(80);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_NEVER});
  get_and_read_all();

  ck_assert_uint_ge(requests(0), 3);
  ck_assert_uint_le(fake_server_last_multi(world.servers[0]).rows, 20);
}
END_TEST

/* Two requests are under way when the first answer tells how long rows are. */
START_TEST(test_batch__answer_that_is_too_large_tells_how_many_rows_fit)
{
  fake_rows_generate(world.rows, "t", "a", 1000, 5000);
  for (int i = 0; i < 1000; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "a%06d", i);
    add("t", name);
  }
  warm();
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 0);
  ck_assert_uint_le(hop_world_since(&world).requests_failed, 2);
}
END_TEST

START_TEST(test_batch__row_that_is_too_large_alone_fails_alone)
{
  fake_rows_generate(world.rows, "t", "a", 3, 100000);
  add("t", "a000001");
  add_both(20);
  warm();
  get_all();

  assert_failed(0, KEYROUTE_E_TOO_LARGE);
  ck_assert_uint_eq(keyroute_result_failed(result), 1);
  for (size_t i = 1; i < key_count; i++) {
    assert_read(i);
  }
}
END_TEST

START_TEST(test_batch__row_above_the_callers_bound_fails_alone)
{
  struct keyroute_read read = KEYROUTE_READ_INIT;

  fake_rows_generate(world.rows, "t", "a", 3, 5000);
  add("t", "a000001");
  add_both(20);
  read.max_result_bytes = 1000;
  ck_assert_int_eq(get_with(&read, PATIENCE_MS, 0, 0), 0);

  assert_failed(0, KEYROUTE_E_TOO_LARGE);
  ck_assert_uint_eq(keyroute_result_failed(result), 1);
}
END_TEST

/* ---- What goes wrong with some --------------------------------------------------------------- */

START_TEST(test_batch__only_the_row_that_failed_is_asked_for_again)
{
  add_both(40);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "RegionTooBusyException",
                                .row = row("a0006")});
  get_and_read_all();

  ck_assert_uint_eq(rows_read(0), 20);
  ck_assert_uint_eq(requests(0), 2);
  ck_assert_uint_eq(requests(1), 1);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 1);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

START_TEST(test_batch__only_the_region_that_failed_is_asked_for_again)
{
  place_wide(3);
  struct fake_region more = {.table = "v", .id = 50};

  fake_server_place_region(world.cluster.server, world.servers[0], &more);
  add_generated("w", "x", 100);
  add_generated("v", "x", 100);
  get_and_read_all();
  hop_world_mark(&world);
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "NotServingRegionException",
                                .region = &more});
  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).rows_read, 200);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 100);
  ck_assert_uint_eq(hop_world_since(&world).scans, 1);
}
END_TEST

START_TEST(test_batch__moved_region_heals_by_the_place_named_and_no_scan)
{
  add_both(40);
  warm();
  world.low.seqnum = 9;
  fake_server_hand_over_region(world.cluster.server, world.servers[0], world.servers[2],
                               &world.low);
  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
  ck_assert_uint_eq(hop_world_since(&world).hints_taken, 1);
  ck_assert_uint_eq(rows_read(2), 20);
  ck_assert_uint_eq(rows_read(1), 20);
}
END_TEST

START_TEST(test_batch__region_that_was_split_is_found_in_its_daughters)
{
  struct fake_region left = {.table = "t", .end = row("a0010"), .id = 11, .seqnum = 9};
  struct fake_region right = {
      .table = "t", .start = row("a0010"), .end = row("m"), .id = 11, .seqnum = 9};

  add_both(40);
  warm();
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  fake_server_delete_region(world.cluster.server, &world.low);
  fake_server_place_region(world.cluster.server, world.servers[2], &left);
  fake_server_place_region(world.cluster.server, world.servers[0], &right);
  get_and_read_all();

  ck_assert_uint_eq(rows_read(0), 15);
  ck_assert_uint_eq(rows_read(2), 5);
}
END_TEST

static const enum fake_what breaks[] = {FAKE_CLOSE,         FAKE_RESET,        FAKE_HALF,
                                        FAKE_GARBAGE,       FAKE_BAD_MESSAGE,  FAKE_BAD_COUNTS,
                                        FAKE_FEWER_REGIONS, FAKE_INDEX_TWICE,  FAKE_WRONG_INDEX,
                                        FAKE_LOST_RESULT,   FAKE_MORE_REGIONS, FAKE_SPARE_BYTES};

START_TEST(test_batch__answer_that_breaks_is_asked_for_again)
{
  add_both(40);
  warm();
  fault(0, &(struct fake_fault){.what = breaks[_i]});

  get_and_read_all();

  ck_assert_uint_eq(requests(1), 1);
}
END_TEST

START_TEST(test_batch__results_in_any_order_go_to_their_rows)
{
  add_both(40);
  fault(0, &(struct fake_fault){.what = FAKE_ANY_ORDER});
  fault(1, &(struct fake_fault){.what = FAKE_ANY_ORDER});

  get_and_read_all();
}
END_TEST

START_TEST(test_batch__server_that_died_is_left_for_the_next)
{
  add_both(40);
  warm();
  fake_server_stop(world.servers[0]);
  fake_server_place_region(world.cluster.server, world.servers[2], &world.low);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(2), 20);
}
END_TEST

START_TEST(test_batch__server_silent_to_the_end_is_a_timeout)
{
  add_both(40);
  warm();
  fake_server_set_silent(world.servers[0], true);
  ck_assert_int_eq(get_with(NULL, 1500, 0, 0), 0);

  for (size_t i = 0; i < key_count; i += 2) {
    assert_failed(i, KEYROUTE_E_TIMEOUT);
  }
  ck_assert(detail.deadline);
  ck_assert_ptr_nonnull(strstr(detail.message, "of 40 rows failed"));
}
END_TEST

START_TEST(test_batch__busy_server_is_asked_again_without_a_read_of_the_catalog)
{
  add_both(40);
  warm();
  exception(0, HBASE "CallQueueTooBigException", 2);

  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
  ck_assert_uint_eq(requests(0), 3);
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 2);
  ck_assert_uint_eq(hop_world_since(&world).rows_retried, 40);
}
END_TEST

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The server, or in the second round a region of its, asks to wait 60 ms, 32 times. What was under
 * way is told so too, and comes back beside the rest: that makes four requests a wait. */
START_TEST(test_batch__who_asks_to_wait_is_not_stormed_by_the_rows_that_are_left)
{
  add_generated("t", "a", 10000);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "quotas.RpcThrottlingException",
                                .text = "limit exceeded - wait 60ms",
                                .times = 32,
                                .region = _i == 1 ? &world.low : NULL});
  int64_t began_ms = now_ms();

  get_and_read_all();

  ck_assert_int_ge(now_ms() - began_ms, 7 * 60);
}
END_TEST

START_TEST(test_batch__rows_held_back_tell_what_the_server_said)
{
  add_generated("t", "a", 20000);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "CallQueueTooBigException",
                                .text = "no room",
                                .times = -1});
  ck_assert_int_eq(get_with(NULL, 700, 0, 0), 0);

  ck_assert_uint_eq(keyroute_result_failed(result), key_count);
  for (size_t i = 0; i < key_count; i++) {
    assert_failed(i, KEYROUTE_E_OVERLOADED);
  }
}
END_TEST

START_TEST(test_batch__what_is_final_for_a_row_is_not_tried_again)
{
  add_both(40);
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "DoNotRetryIOException",
                                .text = "bad row",
                                .do_not_retry = true,
                                .times = -1,
                                .row = row("a0006")});
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 1);
  assert_failed(6, KEYROUTE_E_REMOTE);
  ck_assert_ptr_nonnull(strstr(keyroute_result_message(result, 6), "bad row"));
  ck_assert_uint_eq(requests(0), 1);
  ck_assert_ptr_nonnull(strstr(
      detail.message, "1 of 40 rows failed; the first, key 6, table t, row a0006: REMOTE: "));
  ck_assert_int_eq(detail.error, 0);
}
END_TEST

START_TEST(test_batch__number_of_tries_is_kept_for_each)
{
  keyroute_close(world.cluster.conn);
  fake_cluster_set(&world.cluster, "hbase.client.retries.number", "2");
  hop_world_open(&world);
  add_both(40);
  warm();
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "RegionTooBusyException",
                                .times = -1,
                                .row = row("a0006")});
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .method = "Get",
                                .class_name = HBASE "RegionTooBusyException",
                                .times = -1});
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 1);
  assert_failed(6, KEYROUTE_E_OVERLOADED);
  ck_assert_uint_eq(requests(0), 3);
  ck_assert(!detail.deadline);
}
END_TEST

/* ---- What cannot be located ------------------------------------------------------------------ */

START_TEST(test_batch__table_that_is_not_there_leaves_the_others_alone)
{
  add_both(10);
  add("gone", "a");
  add("gone", "b");
  add("gone", "z");
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 3);
  for (size_t i = 0; i < key_count; i++) {
    if (i < 10) {
      assert_read(i);
    } else {
      assert_failed(i, KEYROUTE_E_TABLE_NOT_FOUND);
    }
  }
}
END_TEST

/* Table "h" with a region for each letter from b to f, but for d: it is missing or offline. */
static void place_gap(bool offline)
{
  for (char letter = 'b'; letter <= 'f'; letter++) {
    char start[2] = {letter, '\0'}, end[2] = {(char)(letter + 1), '\0'};
    struct fake_region region = {
        .table = "h",
        .start = row(start),
        .end = row(end),
        .id = letter,
        .host = "127.0.0.1",
        .port = fake_server_port(world.servers[0]),
        .start_code = 77,
    };

    region.offline = offline && letter == 'd';
    if (region.offline) {
      fake_server_put_region(world.cluster.server, &region);
    } else if (letter != 'd') {
      fake_server_place_region(world.cluster.server, world.servers[letter % 2], &region);
    }
  }
}

static void add_letters(size_t each)
{
  char name[ROW_SIZE];

  for (char letter = 'b'; letter <= 'f'; letter++) {
    for (size_t i = 0; i < each; i++) {
      snprintf(name, sizeof(name), "%c%06zu", letter, i);
      fake_rows_put(world.rows, "h", row(name), "f", "q", 1, row(name));
      add("h", name);
    }
  }
}

static void assert_all_but_d(size_t each, int error)
{
  ck_assert_uint_eq(keyroute_result_failed(result), each);
  for (size_t i = 0; i < key_count; i++) {
    if (names[i][0] == 'd') {
      assert_failed(i, error);
    } else {
      assert_read(i);
    }
  }
}

static void setup_short_queue(void)
{
  setup();
  fake_cluster_set(&world.cluster, "keyroute.server.queue.max.bytes", "65536");
  hop_world_open(&world);
}

enum { LONG_KEY_SIZE = 1024 };

static void long_key(char key[LONG_KEY_SIZE], size_t number)
{
  memset(key, 'y', LONG_KEY_SIZE);
  key[snprintf(key, LONG_KEY_SIZE, "x%06zu", number)] = 'y';
  key[LONG_KEY_SIZE - 1] = '\0';
}

/* Each row's region has a name of a kilobyte. Nothing is connected yet, so that all waits. */
START_TEST(test_batch__requests_that_name_regions_of_long_keys_wait_side_by_side)
{
  char start[LONG_KEY_SIZE], end[LONG_KEY_SIZE], name[ROW_SIZE];
  struct keyroute_groups *groups = NULL;

  for (size_t i = 0; i < 600; i++) {
    long_key(start, i);
    long_key(end, i + 1);
    fake_server_place_region(world.cluster.server, world.servers[0],
                             &(struct fake_region){.table = "w",
                                                   .start = row(i == 0 ? "" : start),
                                                   .end = row(i == 599 ? "" : end),
                                                   .id = (int64_t)(100 + i)});
    snprintf(name, sizeof(name), "x%06zuz", i);
    fake_rows_put(world.rows, "w", row(name), "f", "q", 1, row(name));
    add("w", name);
  }
  ck_assert_int_eq(keyroute_group(&groups, world.cluster.conn, keys, key_count, NULL, &detail), 0);
  ck_assert_uint_eq(keyroute_groups_region_count(groups), 600);
  keyroute_groups_free(groups);
  hop_world_mark(&world);

  get_and_read_all();

  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 0);
}
END_TEST

static void setup_few_tries(void)
{
  setup();
  fake_cluster_set(&world.cluster, "hbase.client.retries.number", "2");
  hop_world_open(&world);
}

START_TEST(test_batch__hole_fails_its_rows_and_costs_few_scans)
{
  place_gap(false);
  add_letters(1000);
  get_all();

  assert_all_but_d(1000, KEYROUTE_E_HOLE);
  ck_assert_uint_le(fake_cluster_stats(&world.cluster).scans, 20);
}
END_TEST

START_TEST(test_batch__offline_region_fails_its_rows_and_costs_few_scans)
{
  place_gap(true);
  add_letters(1000);
  get_all();

  assert_all_but_d(1000, KEYROUTE_E_OFFLINE);
  ck_assert_uint_le(fake_cluster_stats(&world.cluster).scans, 20);
}
END_TEST

START_TEST(test_batch__region_that_comes_back_is_read)
{
  struct fake_region region = {.table = "h", .start = row("d"), .end = row("e"), .id = 'd'};

  place_gap(true);
  add_letters(10);
  get_all();
  assert_all_but_d(10, KEYROUTE_E_OFFLINE);
  fake_server_place_region(world.cluster.server, world.servers[2], &region);

  get_and_read_all();

  ck_assert_uint_eq(rows_read(2), 10);
}
END_TEST

START_TEST(test_batch__disabled_table_is_told_and_costs_few_scans)
{
  struct fake_region region = {.table = "off", .id = 7};

  fake_server_put_region(world.cluster.server, &region);
  fake_server_put_table_state(world.cluster.server, "off", 1);
  add_both(4);
  for (int i = 0; i < 500; i++) {
    char name[ROW_SIZE];

    snprintf(name, sizeof(name), "r%d", i);
    add("off", name);
  }
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 500);
  assert_failed(4, KEYROUTE_E_OFFLINE);
  ck_assert_ptr_nonnull(strstr(keyroute_result_message(result, 4), "disabled"));
  ck_assert_uint_le(fake_cluster_stats(&world.cluster).scans, 12);
}
END_TEST

START_TEST(test_batch__catalog_that_cannot_be_read_leaves_cached_rows_alone)
{
  add_both(40);
  hop_world_warm(&world, "a");
  fake_server_stop(world.cluster.server);
  get_all();

  ck_assert_uint_eq(keyroute_result_failed(result), 20);
  assert_read(0);
  assert_failed(1, KEYROUTE_E_UNREACHABLE);
}
END_TEST

START_TEST(test_batch__cache_only_reads_where_the_cache_says)
{
  add_both(40);
  hop_world_warm(&world, "a");
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0), 0);

  ck_assert_uint_eq(keyroute_result_failed(result), 20);
  assert_read(0);
  assert_failed(1, KEYROUTE_E_NOT_CACHED);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

START_TEST(test_batch__refresh_reads_the_catalog_once_a_region_at_most)
{
  place_wide(30);
  add_generated("w", "x", 3000);
  get_and_read_all();
  hop_world_mark(&world);
  ck_assert_int_eq(get_with(NULL, PATIENCE_MS, KEYROUTE_REFRESH, 0), 0);

  assert_all_read();
  ck_assert_uint_ge(hop_world_since(&world).scans, 3);
  ck_assert_uint_le(hop_world_since(&world).scans, 30);
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

/* ---- Without waiting ------------------------------------------------------------------------- */

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

/* ---- Time and memory ------------------------------------------------------------------------- */

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

static void add_what_is_read(TCase *tests)
{
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
  tcase_add_test(tests, test_batch__each_row_of_many_regions_is_read_once);
  tcase_add_test(tests, test_batch__few_requests_are_under_way_at_each_server);
  tcase_add_test(tests, test_batch__large_rows_make_short_requests);
  tcase_add_test(tests, test_batch__row_above_the_callers_bound_fails_alone);
}

static void add_what_goes_wrong(TCase *tests)
{
  tcase_add_test(tests, test_batch__only_the_row_that_failed_is_asked_for_again);
  tcase_add_test(tests, test_batch__only_the_region_that_failed_is_asked_for_again);
  tcase_add_test(tests, test_batch__moved_region_heals_by_the_place_named_and_no_scan);
  tcase_add_test(tests, test_batch__region_that_was_split_is_found_in_its_daughters);
  tcase_add_loop_test(tests, test_batch__answer_that_breaks_is_asked_for_again, 0,
                      (int)(sizeof(breaks) / sizeof(breaks[0])));
  tcase_add_test(tests, test_batch__results_in_any_order_go_to_their_rows);
  tcase_add_test(tests, test_batch__server_that_died_is_left_for_the_next);
  tcase_add_test(tests, test_batch__server_silent_to_the_end_is_a_timeout);
  tcase_add_test(tests, test_batch__busy_server_is_asked_again_without_a_read_of_the_catalog);
  tcase_add_loop_test(tests, test_batch__who_asks_to_wait_is_not_stormed_by_the_rows_that_are_left,
                      0, 2);
  tcase_add_test(tests, test_batch__rows_held_back_tell_what_the_server_said);
  tcase_add_test(tests, test_batch__what_is_final_for_a_row_is_not_tried_again);
  tcase_add_test(tests, test_batch__number_of_tries_is_kept_for_each);
  tcase_add_test(tests, test_batch__table_that_is_not_there_leaves_the_others_alone);
  tcase_add_test(tests, test_batch__cache_only_reads_where_the_cache_says);
  tcase_add_test(tests, test_batch__refresh_reads_the_catalog_once_a_region_at_most);
}

static void add_how_it_is_asked(TCase *tests)
{
  tcase_add_test(tests, test_batch__what_makes_no_sense_is_refused_with_the_key);
  tcase_add_test(tests, test_batch__trace_tells_each_request);
  tcase_add_test(tests, test_batch__detail_counts_what_was_sent);
  tcase_add_test(tests, test_batch__keys_of_an_asynchronous_call_may_go);
  tcase_add_test(tests, test_batch__call_is_cancelled_while_its_answers_are_awaited);
  tcase_add_test(tests, test_batch__call_is_cancelled_at_any_moment);
  tcase_add_test(tests, test_batch__closing_ends_what_is_under_way);
  tcase_add_test(tests, test_batch__closing_ends_what_looks_for_its_rows);
  tcase_add_test(tests, test_batch__deadline_while_the_catalog_is_silent_is_a_timeout);
  tcase_add_test(tests, test_batch__every_allocation_may_fail);
  tcase_add_test(tests, test_batch__hundred_thousand_rows_of_150_regions_are_read);
}

static TCase *add_case(Suite *suite, const char *name, SFun set_up)
{
  TCase *tests = tcase_create(name);

  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, teardown);
  suite_add_tcase(suite, tests);
  return tests;
}

static Suite *suite(void)
{
  Suite *made = suite_create("batch");
  TCase *tests = add_case(made, "plain", setup_open);

  add_what_is_read(tests);
  add_what_goes_wrong(tests);
  add_how_it_is_asked(tests);
  tests = add_case(made, "small frames", setup_small_frames);
  tcase_add_test(tests, test_batch__answer_that_is_too_large_is_asked_for_in_pieces);
  tcase_add_test(tests, test_batch__answer_that_is_too_large_tells_how_many_rows_fit);
  tcase_add_test(tests, test_batch__row_that_is_too_large_alone_fails_alone);
  tests = add_case(made, "short patience", setup_short_patience);
  tcase_add_test(tests, test_batch__answer_that_is_too_late_is_asked_for_in_halves);
  tests = add_case(made, "short queue", setup_short_queue);
  tcase_add_test(tests, test_batch__requests_that_name_regions_of_long_keys_wait_side_by_side);
  tests = add_case(made, "few tries", setup_few_tries);
  tcase_add_test(tests, test_batch__hole_fails_its_rows_and_costs_few_scans);
  tcase_add_test(tests, test_batch__offline_region_fails_its_rows_and_costs_few_scans);
  tcase_add_test(tests, test_batch__disabled_table_is_told_and_costs_few_scans);
  tcase_add_test(tests, test_batch__region_that_comes_back_is_read);
  tcase_add_test(tests, test_batch__catalog_that_cannot_be_read_leaves_cached_rows_alone);
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
