/*
 * The last hop in a range directory, over gRPC, against scripted nodes: rows are read from where
 * the directory says that they are, and what a node says instead mends that.
 *
 * Node 0 has meta1, node 1 meta2, node 2 the range r11 of the map, up to m, node 3 the range r12,
 * from m on. Nodes 4 and 5 are spare.
 */
#include "lib/bytes.h"
#include "test/blocking.h"
#include "test/fake_bigtable.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 6, PATIENCE_MS = 30000, NOT_FOUND = 5, RESOURCE_EXHAUSTED = 8, UNAVAILABLE = 14 };

#define MUTATE_ROW "/google.bigtable.v2.Bigtable/MutateRow"

static struct fake_bigtable *nodes;
static struct keyroute_options *options;
static struct keyroute_connection *conn;
static struct keyroute_result *result;
static struct keyroute_detail detail;
static struct keyroute_stats before;

/* ---- The directory --------------------------------------------------------------------------- */

/* A range as a test writes it down; up to two nodes have it, -1 = none. */
struct range {
  uint64_t id, generation;
  const char *start, *end;
  int node, other_node;
};

/* Its descriptor; kept as long as the test. */
static const struct kr_descriptor *descriptor_of(const struct range *range)
{
  static struct kr_descriptor descriptors[20];
  static struct kr_descriptor_replica replicas[20][2];
  static size_t count;
  struct kr_descriptor *descriptor = &descriptors[count];
  struct kr_descriptor_replica *replica = replicas[count++];

  replica[0] = (struct kr_descriptor_replica){(uint64_t)range->node, keyroute_string("127.0.0.1"),
                                              (uint16_t)fake_bigtable_port(nodes, range->node)};
  if (range->other_node >= 0) {
    replica[1] =
        (struct kr_descriptor_replica){(uint64_t)range->other_node, keyroute_string("127.0.0.1"),
                                       (uint16_t)fake_bigtable_port(nodes, range->other_node)};
  }
  *descriptor = (struct kr_descriptor){
      .id = range->id,
      .generation = range->generation,
      .start_key = keyroute_string(range->start),
      .end_key = keyroute_string(range->end),
      .replicas = replica,
      .replica_count = range->other_node >= 0 ? 2 : 1,
  };
  return descriptor;
}

/* Write a range of the map into meta2. */
static void publish(const struct range *range)
{
  fake_bigtable_publish(nodes, 1, 2, 2, descriptor_of(range));
}

static const struct range low = {11, 5, "", "m", 2, -1}, high = {12, 6, "m", "", 3, -1};

static void put(int node, uint64_t range, const char *key, const char *value)
{
  fake_bigtable_put(nodes, node, range, keyroute_string(key), "f", "q", keyroute_string(value));
}

static void set(const char *name, const char *value)
{
  ck_assert_int_eq(keyroute_options_set(options, name, value, NULL), 0);
}

static void open_connection(void)
{
  int error = keyroute_open(&conn, options, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
}

static void setup_closed(void)
{
  char root[40];

  nodes = fake_bigtable_start(NODES);
  fake_bigtable_make(nodes, 0, 1);
  fake_bigtable_make(nodes, 1, 2);
  fake_bigtable_make(nodes, 2, 11);
  fake_bigtable_make(nodes, 3, 12);
  fake_bigtable_publish(nodes, 0, 1, 1, descriptor_of(&(struct range){2, 1, "", "", 1, -1}));
  publish(&low);
  publish(&high);
  put(2, 11, "apple", "red");
  put(3, 12, "pear", "green");
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  snprintf(root, sizeof(root), "127.0.0.1:%d", fake_bigtable_port(nodes, 0));
  set("keyroute.layout", "range");
  set("keyroute.registry", "static");
  set("keyroute.registry.static.root", root);
  set("hbase.client.pause", "20");
  conn = NULL;
  result = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}

static void setup(void)
{
  setup_closed();
  open_connection();
}

static void teardown(void)
{
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  keyroute_options_free(options);
  fake_bigtable_stop(nodes);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static int get_with(const char *key, const struct keyroute_read *read, int64_t deadline_ms,
                    int replica)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, 0, replica};

  keyroute_result_free(result);
  result = NULL;
  return keyroute_get(&result, conn, "map", row(key), read, &call, &detail);
}

static int get(const char *key)
{
  return get_with(key, NULL, PATIENCE_MS, 0);
}

static void assert_value_of(size_t index, const char *value)
{
  const struct keyroute_cell *cell =
      keyroute_result_find(result, index, keyroute_string("f"), keyroute_string("q"));

  ck_assert_msg(cell != NULL, "%s", keyroute_result_message(result, index));
  ck_assert(kr_bytes_equal(cell->value, keyroute_string(value)));
}

static void assert_got(const char *key, const char *value)
{
  int error = get(key);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  assert_value_of(0, value);
}

static struct keyroute_stats stats(void)
{
  struct keyroute_stats now = {.size = sizeof(now)};

  keyroute_stats(conn, &now);
  return now;
}

static void mark(void)
{
  before = stats();
}

/* How much was counted since the mark. */
static void expect_counts(uint64_t scans, uint64_t requests, uint64_t requests_failed)
{
  struct keyroute_stats now = stats();

  ck_assert_uint_eq(now.scans - before.scans, scans);
  ck_assert_uint_eq(now.requests - before.requests, requests);
  ck_assert_uint_eq(now.requests_failed - before.requests_failed, requests_failed);
}

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Reading --------------------------------------------------------------------------------- */

START_TEST(test_range_hop__row_is_read_where_the_directory_says)
{
  mark();
  assert_got("apple", "red");

  const struct keyroute_location *at = keyroute_result_location(result, 0);
  size_t count;
  const struct keyroute_cell *cells = keyroute_result_cells(result, 0, &count);

  ck_assert_int_eq(keyroute_location_port(at, 0), fake_bigtable_port(nodes, 2));
  ck_assert_uint_eq(count, 1);
  ck_assert_int_eq(cells[0].timestamp, 1);
  ck_assert_int_eq(cells[0].type, 4);
  ck_assert(!keyroute_result_stale(result, 0));
  expect_counts(2, 1, 0);
  ck_assert_uint_eq(fake_bigtable_reads(nodes, 0), 1);
  ck_assert_uint_eq(fake_bigtable_reads(nodes, 1), 1);
  ck_assert_uint_eq(fake_bigtable_reads(nodes, 2), 1);
}
END_TEST

START_TEST(test_range_hop__what_is_known_is_not_read_again)
{
  assert_got("apple", "red");
  mark();
  assert_got("apple", "red");

  expect_counts(0, 1, 0);
}
END_TEST

START_TEST(test_range_hop__row_that_does_not_exist_is_read_well)
{
  size_t count = 7;

  ck_assert_int_eq(get("banana"), 0);
  ck_assert_ptr_null(keyroute_result_cells(result, 0, &count));
  ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(test_range_hop__columns_asked_for_are_those_that_come)
{
  const struct keyroute_column columns[] = {{keyroute_string("f"), keyroute_string("")},
                                            {keyroute_string("g"), {NULL, 0}}};
  struct keyroute_read read = {.size = sizeof(read), .columns = columns, .column_count = 2};
  size_t count;

  fake_bigtable_put(nodes, 2, 11, row("apple"), "f", "", row("plain"));
  fake_bigtable_put(nodes, 2, 11, row("apple"), "g", "x", row("y"));
  ck_assert_int_eq(get_with("apple", &read, PATIENCE_MS, 0), 0);
  const struct keyroute_cell *cells = keyroute_result_cells(result, 0, &count);

  ck_assert_uint_eq(count, 2);
  ck_assert(kr_bytes_equal(cells[0].value, row("plain")));
  ck_assert(kr_bytes_equal(cells[1].value, row("y")));
}
END_TEST

/* ---- Many rows ------------------------------------------------------------------------------- */

enum { MANY = 60 };

static struct keyroute_key keys[MANY];
static char key_texts[MANY][16];

/* Rows of both ranges in turn, each with a value of so many bytes. */
static void put_many(size_t value_len)
{
  char *value = malloc(value_len + 1);

  memset(value, 'v', value_len);
  value[value_len] = '\0';
  for (int i = 0; i < MANY; i++) {
    snprintf(key_texts[i], sizeof(key_texts[i]), "%s%02d", i % 2 == 0 ? "a" : "x", i);
    keys[i] = (struct keyroute_key){"map", keyroute_string(key_texts[i])};
    put(i % 2 == 0 ? 2 : 3, i % 2 == 0 ? 11 : 12, key_texts[i], value);
  }
  free(value);
}

static void get_many(size_t failed)
{
  struct keyroute_call call = {sizeof(call), PATIENCE_MS, 0, 0};

  keyroute_result_free(result);
  result = NULL;
  ck_assert_int_eq(keyroute_get_many(&result, conn, keys, MANY, NULL, &call, &detail), 0);
  ck_assert_msg(keyroute_result_failed(result) == failed, "%s", detail.message);
}

START_TEST(test_range_hop__many_rows_are_one_read_of_each_range)
{
  put_many(10);
  assert_got("apple", "red");
  assert_got("pear", "green");
  mark();
  unsigned low_reads = fake_bigtable_reads(nodes, 2), high_reads = fake_bigtable_reads(nodes, 3);

  get_many(0);
  for (size_t i = 0; i < MANY; i++) {
    assert_value_of(i, "vvvvvvvvvv");
  }
  expect_counts(0, 2, 0);
  ck_assert_uint_eq(fake_bigtable_reads(nodes, 2) - low_reads, 1);
  ck_assert_uint_eq(fake_bigtable_reads(nodes, 3) - high_reads, 1);
}
END_TEST

START_TEST(test_range_hop__ranges_of_one_node_are_one_request_that_fails_by_range)
{
  fake_bigtable_make(nodes, 2, 12);
  publish(&(struct range){12, 7, "m", "", 2, -1});
  put_many(10);
  for (int i = 1; i < MANY; i += 2) {
    put(2, 12, key_texts[i], "moved here");
  }
  get_many(0);
  mark();
  fake_bigtable_drop(nodes, 2, 12);
  publish(&(struct range){12, 8, "m", "", 3, -1});
  get_many(0);

  assert_value_of(0, "vvvvvvvvvv");
  assert_value_of(1, "vvvvvvvvvv");
  expect_counts(1, 2, 0);
}
END_TEST

START_TEST(test_range_hop__answers_too_large_are_asked_for_in_pieces)
{
  keyroute_close(conn);
  set("keyroute.frame.max.bytes", "65536");
  open_connection();
  put_many(4000);

  get_many(0);

  ck_assert_uint_eq(keyroute_result_failed(result), 0);
  ck_assert_uint_gt(stats().requests, 4);
}
END_TEST

START_TEST(test_range_hop__row_too_large_fails_alone)
{
  struct keyroute_read read = {.size = sizeof(read), .max_result_bytes = 9};

  ck_assert_int_eq(get_with("apple", &read, PATIENCE_MS, 0), KEYROUTE_E_TOO_LARGE);
  read.max_result_bytes = 10;
  ck_assert_int_eq(get_with("apple", &read, PATIENCE_MS, 0), 0);
}
END_TEST

/* ---- Ranges that go -------------------------------------------------------------------------- */

/* Take a range to another node. */
static void move_low(int node)
{
  fake_bigtable_make(nodes, node, 11);
  put(node, 11, "apple", "moved");
  fake_bigtable_drop(nodes, 2, 11);
}

START_TEST(test_range_hop__range_that_is_not_there_is_looked_up_again)
{
  assert_got("apple", "red");
  move_low(4);
  publish(&(struct range){11, 6, "", "m", 4, -1});
  mark();
  assert_got("apple", "moved");

  expect_counts(1, 2, 1);
  ck_assert_uint_eq(stats().hints_taken, 0);
}
END_TEST

START_TEST(test_range_hop__range_that_was_split_is_looked_up_again)
{
  assert_got("apple", "red");
  fake_bigtable_make(nodes, 4, 13);
  fake_bigtable_make(nodes, 5, 14);
  put(4, 13, "apple", "left");
  put(5, 14, "kiwi", "right");
  publish(&(struct range){14, 7, "c", "m", 5, -1});
  publish(&(struct range){13, 7, "", "c", 4, -1});
  fake_bigtable_drop(nodes, 2, 11);
  mark();
  assert_got("kiwi", "right");
  expect_counts(1, 2, 1);
  assert_got("apple", "left");
}
END_TEST

START_TEST(test_range_hop__place_that_a_node_names_is_taken_without_a_read)
{
  struct range moved = {11, 6, "", "m", 4, -1};

  assert_got("apple", "red");
  move_low(4);
  fake_bigtable_hint(nodes, 2, descriptor_of(&moved));
  mark();
  assert_got("apple", "moved");

  expect_counts(0, 2, 1);
  ck_assert_uint_eq(stats().hints_taken, 1);
  mark();
  assert_got("apple", "moved");
  expect_counts(0, 1, 0);
}
END_TEST

/* The low range moves to node 4 and on to 2, and 4 says that it went to that place. */
static void assert_not_back(const struct range *back)
{
  publish(&(struct range){11, 6, "", "m", 4, -1});
  fake_bigtable_make(nodes, 4, 11);
  put(4, 11, "apple", "here");
  assert_got("apple", "here");
  fake_bigtable_drop(nodes, 4, 11);
  fake_bigtable_hint(nodes, 4, descriptor_of(back));
  publish(&(struct range){11, 7, "", "m", 2, -1});
  assert_got("apple", "red");
}

START_TEST(test_range_hop__place_that_is_older_is_not_gone_back_to)
{
  assert_not_back(&(struct range){11, 4, "", "m", 5, -1});
}
END_TEST

/* A node that slept through moves names one that has not yet given its copy away. */
START_TEST(test_range_hop__old_rows_are_not_read_from_a_place_that_is_no_news)
{
  fake_bigtable_make(nodes, 5, 11);
  put(5, 11, "apple", "old");
  assert_not_back(&(struct range){11, 4 + (uint64_t)_i, "", "m", 5, -1});
}
END_TEST

START_TEST(test_range_hop__meta2_that_moved_costs_one_read_of_meta1)
{
  assert_got("apple", "red");
  fake_bigtable_make(nodes, 4, 2);
  fake_bigtable_publish(nodes, 4, 2, 2, descriptor_of(&(struct range){11, 6, "", "m", 5, -1}));
  fake_bigtable_publish(nodes, 4, 2, 2, descriptor_of(&high));
  fake_bigtable_publish(nodes, 0, 1, 1, descriptor_of(&(struct range){2, 2, "", "", 4, -1}));
  fake_bigtable_drop(nodes, 1, 2);
  move_low(5);
  mark();
  assert_got("apple", "moved");

  expect_counts(3, 2, 1); /* meta2 where it was, meta1, meta2 where it is */
}
END_TEST

/* ---- Nodes in trouble ------------------------------------------------------------------------ */

START_TEST(test_range_hop__wait_that_a_node_asks_for_is_kept)
{
  const struct fake_bigtable_fault busy[] = {
      {.times = 1, .code = RESOURCE_EXHAUSTED, .text = "busy", .wait_ms = 300},
      {.times = 1, .code = RESOURCE_EXHAUSTED, .text = "busy", .pushback_ms = 300},
      {.times = 1, .code = UNAVAILABLE, .text = "on my way down", .wait_ms = 300},
  };

  assert_got("apple", "red");
  fake_bigtable_fault(nodes, 2, 11, &busy[_i]);
  int64_t begun_ms = now_ms();

  assert_got("apple", "red");
  ck_assert_int_ge(now_ms() - begun_ms, 300);
}
END_TEST

START_TEST(test_range_hop__status_that_no_try_can_mend_is_told_at_once)
{
  assert_got("apple", "red");
  fake_bigtable_fault(
      nodes, 2, 11,
      &(struct fake_bigtable_fault){.times = 100, .code = 3, .text = "no such family"});
  mark();

  ck_assert_int_eq(get("apple"), KEYROUTE_E_REMOTE);
  ck_assert_ptr_nonnull(strstr(detail.message, "INVALID_ARGUMENT: no such family"));
  expect_counts(0, 1, 1);
}
END_TEST

START_TEST(test_range_hop__broken_answer_is_asked_for_again)
{
  assert_got("apple", "red");
  fake_bigtable_fault(nodes, 2, 11, &(struct fake_bigtable_fault){.times = 1, .breaks = true});
  assert_got("apple", "red");
  fake_bigtable_fault(
      nodes, 2, 11,
      &(struct fake_bigtable_fault){.times = 1, .rows_before = true, .code = 13, .text = "oops"});
  assert_got("apple", "red");
}
END_TEST

START_TEST(test_range_hop__node_that_died_is_told_and_found_again)
{
  assert_got("apple", "red");
  fake_grpc_server_stop(fake_bigtable_server(nodes, 2));

  int error = get_with("apple", NULL, 500, 0);

  ck_assert_msg(error == KEYROUTE_E_UNREACHABLE || error == KEYROUTE_E_TIMEOUT ||
                    error == KEYROUTE_E_DEAD_SERVER,
                "%s: %s", keyroute_errname(error), detail.message);
  fake_grpc_server_restart(fake_bigtable_server(nodes, 2));
  assert_got("apple", "red");
}
END_TEST

START_TEST(test_range_hop__silent_node_does_not_outlast_the_deadline)
{
  assert_got("apple", "red");
  fake_bigtable_fault(nodes, 2, 11, &(struct fake_bigtable_fault){.times = 1000});

  ck_assert_int_eq(get_with("apple", NULL, 400, 0), KEYROUTE_E_TIMEOUT);
  ck_assert(detail.deadline);
}
END_TEST

START_TEST(test_range_hop__replica_that_is_asked_for_is_the_one_that_answers)
{
  publish(&(struct range){11, 6, "", "m", 2, 4});
  fake_bigtable_make(nodes, 4, 11);
  put(4, 11, "apple", "old");

  assert_got("apple", "red");
  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, 1), 0);
  assert_value_of(0, "old");
  ck_assert(keyroute_result_stale(result, 0));
  ck_assert_int_eq(keyroute_result_replica(result, 0), 1);
}
END_TEST

START_TEST(test_range_hop__any_replica_answers_where_the_first_is_dead)
{
  publish(&(struct range){11, 6, "", "m", 2, 4});
  fake_bigtable_make(nodes, 4, 11);
  put(4, 11, "apple", "old");
  fake_grpc_server_stop(fake_bigtable_server(nodes, 2));

  int error = get_with("apple", NULL, PATIENCE_MS, KEYROUTE_REPLICA_ANY);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  assert_value_of(0, "old");
}
END_TEST

/* ---- Other methods --------------------------------------------------------------------------- */

struct seen {
  pthread_mutex_t lock; /* of all */
  char message[200];
  size_t len;
  int refusals; /* still to come */
};

static void mutate(void *arg, struct fake_grpc_call *call)
{
  struct seen *seen = arg;
  struct keyroute_bytes message = fake_grpc_request(call);

  pthread_mutex_lock(&seen->lock);
  seen->len = message.len < sizeof(seen->message) ? message.len : sizeof(seen->message);
  memcpy(seen->message, message.data, seen->len);
  if (seen->refusals > 0) {
    seen->refusals--;
    fake_grpc_status(call, UNAVAILABLE, "going down");
  } else {
    fake_grpc_message(call, keyroute_string("written"));
  }
  pthread_mutex_unlock(&seen->lock);
}

static int write_row(struct keyroute_reply **reply)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_call call = {sizeof(call), PATIENCE_MS, 0, 0};

  method.name = "MutateRow";
  method.param = keyroute_string("\x12\x05"
                                 "apple");
  return keyroute_call(reply, conn, "map", row("apple"), &method, &call, &detail);
}

START_TEST(test_range_hop__method_goes_to_the_ranges_table)
{
  struct keyroute_reply *reply = NULL;
  struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

  fake_grpc_server_handle(fake_bigtable_server(nodes, 2), MUTATE_ROW, mutate, &seen);
  ck_assert_int_eq(write_row(&reply), 0);

  ck_assert(kr_bytes_equal(keyroute_reply_message(reply), keyroute_string("written")));
  pthread_mutex_lock(&seen.lock);
  ck_assert(kr_bytes_equal(kr_bytes(seen.message, seen.len),
                           keyroute_string("\x0a\x2fprojects/keyroute/instances/keyroute/tables/"
                                           "r11\x12\x05"
                                           "apple")));
  pthread_mutex_unlock(&seen.lock);
  keyroute_reply_free(reply);
}
END_TEST

/* It has no place in a message of gRPC's; to leave it behind would be to lose it. */
START_TEST(test_range_hop__block_of_cells_is_refused)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_reply *reply = NULL;

  method.name = "MutateRow";
  method.cells = keyroute_string("cells");
  mark();
  int error = keyroute_call(&reply, conn, "map", row("apple"), &method, NULL, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, "range directory"));
  expect_counts(0, 0, 0);
}
END_TEST

START_TEST(test_range_hop__what_may_have_been_written_is_not_written_again)
{
  struct keyroute_reply *reply = NULL;
  struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .refusals = 1};

  fake_grpc_server_handle(fake_bigtable_server(nodes, 2), MUTATE_ROW, mutate, &seen);

  ck_assert_int_eq(write_row(&reply), KEYROUTE_E_UNREACHABLE);
  ck_assert(detail.maybe_applied);
  ck_assert_ptr_null(reply);
}
END_TEST

/* ---- Opening and closing --------------------------------------------------------------------- */

struct ended {
  int calls;
  int error;
};

static void got(void *payload, int error, struct keyroute_result *brought,
                const struct keyroute_detail *told)
{
  struct ended *ended = payload;

  (void)told;
  ended->calls++;
  ended->error = error;
  keyroute_result_free(brought);
}

START_TEST(test_range_hop__close_ends_what_a_silent_node_keeps)
{
  struct ended ended[3] = {{0, 0}};

  assert_got("apple", "red");
  unsigned reads = fake_bigtable_reads(nodes, 2);

  fake_bigtable_fault(nodes, 2, 11, &(struct fake_bigtable_fault){.times = 1000});
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(
        keyroute_get_async(NULL, conn, "map", row("apple"), NULL, NULL, got, &ended[i]), 0);
  }
  ck_assert(fake_grpc_server_wait_seen(fake_bigtable_server(nodes, 2), reads + 3, PATIENCE_MS));
  keyroute_close(conn);
  conn = NULL;
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(ended[i].calls, 1);
    ck_assert_int_eq(ended[i].error, KEYROUTE_E_CLOSED);
  }
}
END_TEST

START_TEST(test_range_hop__connections_come_and_go)
{
  for (int i = 0; i < 20; i++) {
    open_connection();
    assert_got(i % 2 == 0 ? "apple" : "pear", i % 2 == 0 ? "red" : "green");
    keyroute_result_free(result);
    result = NULL;
    keyroute_close(conn);
    conn = NULL;
  }
}
END_TEST

START_TEST(test_range_hop__table_that_there_is_none_of_is_refused)
{
  struct keyroute_call call = {sizeof(call), PATIENCE_MS, 0, 0};

  ck_assert_int_eq(keyroute_get(&result, conn, "orders", row("a"), NULL, &call, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("range_hop");
  TCase *opened = tcase_create("open"), *closed = tcase_create("closed");

  suite_add_tcase(suite, opened);
  suite_add_tcase(suite, closed);
  tcase_add_checked_fixture(opened, setup, teardown);
  tcase_add_checked_fixture(closed, setup_closed, teardown);
  tcase_set_timeout(opened, 300);
  tcase_set_timeout(closed, 300);
  tcase_add_test(opened, test_range_hop__row_is_read_where_the_directory_says);
  tcase_add_test(opened, test_range_hop__what_is_known_is_not_read_again);
  tcase_add_test(opened, test_range_hop__row_that_does_not_exist_is_read_well);
  tcase_add_test(opened, test_range_hop__columns_asked_for_are_those_that_come);
  tcase_add_test(opened, test_range_hop__many_rows_are_one_read_of_each_range);
  tcase_add_test(opened, test_range_hop__ranges_of_one_node_are_one_request_that_fails_by_range);
  tcase_add_test(opened, test_range_hop__answers_too_large_are_asked_for_in_pieces);
  tcase_add_test(opened, test_range_hop__row_too_large_fails_alone);
  tcase_add_test(opened, test_range_hop__range_that_is_not_there_is_looked_up_again);
  tcase_add_test(opened, test_range_hop__range_that_was_split_is_looked_up_again);
  tcase_add_test(opened, test_range_hop__place_that_a_node_names_is_taken_without_a_read);
  tcase_add_test(opened, test_range_hop__place_that_is_older_is_not_gone_back_to);
  tcase_add_loop_test(opened, test_range_hop__old_rows_are_not_read_from_a_place_that_is_no_news, 0,
                      3);
  tcase_add_test(opened, test_range_hop__meta2_that_moved_costs_one_read_of_meta1);
  tcase_add_loop_test(opened, test_range_hop__wait_that_a_node_asks_for_is_kept, 0, 3);
  tcase_add_test(opened, test_range_hop__status_that_no_try_can_mend_is_told_at_once);
  tcase_add_test(opened, test_range_hop__broken_answer_is_asked_for_again);
  tcase_add_test(opened, test_range_hop__node_that_died_is_told_and_found_again);
  tcase_add_test(opened, test_range_hop__silent_node_does_not_outlast_the_deadline);
  tcase_add_test(opened, test_range_hop__replica_that_is_asked_for_is_the_one_that_answers);
  tcase_add_test(opened, test_range_hop__any_replica_answers_where_the_first_is_dead);
  tcase_add_test(opened, test_range_hop__method_goes_to_the_ranges_table);
  tcase_add_test(opened, test_range_hop__block_of_cells_is_refused);
  tcase_add_test(opened, test_range_hop__what_may_have_been_written_is_not_written_again);
  tcase_add_test(opened, test_range_hop__close_ends_what_a_silent_node_keeps);
  tcase_add_test(closed, test_range_hop__connections_come_and_go);
  tcase_add_test(opened, test_range_hop__table_that_there_is_none_of_is_refused);

  return run_suite(suite);
}
