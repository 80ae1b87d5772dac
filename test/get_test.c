/*
 * Reading one row, against scripted servers: what is asked for and brought, and what is done about
 * each thing that a server may say instead.
 */
#include "test/failing_mem.h"
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hop_world world;
static struct keyroute_result *result;
static struct keyroute_detail detail;

static void setup(void)
{
  hop_world_start(&world, NULL);
  hop_world_put(&world, "apple", "red");
  hop_world_put(&world, "pear", "green");
  result = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
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

/* Read a row of table t. */
static int get_with(const char *key, const struct keyroute_read *read, int64_t deadline_ms,
                    unsigned flags, int replica)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, flags, replica};

  keyroute_result_free(result);
  result = NULL;
  return keyroute_get(&result, world.cluster.conn, "t", row(key), read, &call, &detail);
}

static int get(const char *key)
{
  return get_with(key, NULL, PATIENCE_MS, 0, 0);
}

static void assert_value(const char *value)
{
  const struct keyroute_cell *cell =
      keyroute_result_find(result, 0, keyroute_string("f"), keyroute_string("q"));

  ck_assert_ptr_nonnull(cell);
  ck_assert_mem_eq(cell->value.data, value, strlen(value));
  ck_assert_uint_eq(cell->value.len, strlen(value));
}

static void assert_got(const char *key, const char *value)
{
  int error = get(key);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  assert_value(value);
}

/* A fault of server i. */
static void fault(int i, const struct fake_fault *given)
{
  struct fake_fault with_method = *given;

  with_method.method = "Get";
  fake_server_fault(world.servers[i], &with_method);
}

static void exception(int i, const char *class_name, const char *text, int times)
{
  fault(i, &(struct fake_fault){
               .what = FAKE_EXCEPTION, .class_name = class_name, .text = text, .times = times});
}

#define HBASE "org.apache.hadoop.hbase."

/* ---- What is read --------------------------------------------------------------------------- */

START_TEST(test_get__row_comes_with_its_cells_from_the_server_that_has_it)
{
  ck_assert_int_eq(get("pear"), 0);

  size_t count;
  const struct keyroute_cell *cells = keyroute_result_cells(result, 0, &count);
  const struct keyroute_location *at = keyroute_result_location(result, 0);

  ck_assert_uint_eq(count, 1);
  ck_assert_mem_eq(cells[0].row.data, "pear", 4);
  ck_assert_int_eq(cells[0].timestamp, 1);
  ck_assert_int_eq(cells[0].type, 4);
  assert_value("green");
  ck_assert_int_eq(keyroute_location_port(at, 0), fake_server_port(world.servers[1]));
  ck_assert_uint_eq(keyroute_result_count(result), 1);
  ck_assert_uint_eq(keyroute_result_failed(result), 0);
  ck_assert(!keyroute_result_stale(result, 0));
}
END_TEST

START_TEST(test_get__cells_inside_the_message_read_the_same)
{
  fake_server_set_encoding(world.servers[0], FAKE_INLINE);

  assert_got("apple", "red");
}
END_TEST

START_TEST(test_get__row_that_is_not_there_has_no_cells)
{
  size_t count = 7;

  ck_assert_int_eq(get("nobody"), 0);

  ck_assert_ptr_null(keyroute_result_cells(result, 0, &count));
  ck_assert_uint_eq(count, 0);
  ck_assert_int_eq(keyroute_result_error(result, 0), 0);
}
END_TEST

START_TEST(test_get__result_outlives_its_connection)
{
  assert_got("apple", "red");
  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  assert_value("red");
}
END_TEST

START_TEST(test_get__columns_versions_and_time_reach_the_server)
{
  struct keyroute_column columns[] = {
      {keyroute_string("f"), keyroute_string("q")},
      {keyroute_string("g"), {NULL, 0}},
  };
  struct keyroute_read read = {sizeof(read), columns, 2, 3, 10, 20, 0};

  fake_rows_add_family(world.rows, "t", "g");
  for (int at = 9; at <= 20; at++) {
    char text[32];

    snprintf(text, sizeof(text), "v%d", at);
    fake_rows_put(world.rows, "t", row("fig"), "f", "q", at, keyroute_string(text));
    fake_rows_put(world.rows, "t", row("fig"), "f", "other", at, keyroute_string("no"));
  }
  fake_rows_put(world.rows, "t", row("fig"), "g", "", 15, keyroute_string("g"));

  ck_assert_int_eq(get_with("fig", &read, PATIENCE_MS, 0, 0), 0);

  size_t count;
  const struct keyroute_cell *cells = keyroute_result_cells(result, 0, &count);

  ck_assert_uint_eq(count, 4);
  ck_assert_int_eq(cells[0].timestamp, 19);
  ck_assert_int_eq(cells[2].timestamp, 17);
  ck_assert_mem_eq(cells[3].family.data, "g", 1);
  assert_value("v19");
}
END_TEST

START_TEST(test_get__family_that_is_not_there_is_told_and_not_tried_again)
{
  struct keyroute_column column = {keyroute_string("nofamily"), {NULL, 0}};
  struct keyroute_read read = {sizeof(read), &column, 1, 0, 0, 0, 0};

  fake_rows_add_family(world.rows, "t", "f");

  ck_assert_int_eq(get_with("apple", &read, PATIENCE_MS, 0, 0), KEYROUTE_E_REMOTE);
  ck_assert_ptr_nonnull(strstr(detail.message, "NoSuchColumnFamilyException"));
  ck_assert_uint_eq(fake_server_counts(world.servers[0]).gets, 1);
  ck_assert_ptr_null(result);
}
END_TEST

START_TEST(test_get__row_larger_than_allowed_is_too_large)
{
  struct keyroute_read read = KEYROUTE_READ_INIT;
  static char big[20000];

  memset(big, 'x', sizeof(big) - 1);
  hop_world_put(&world, "big", big);
  read.max_result_bytes = 10000;

  ck_assert_int_eq(get_with("big", &read, PATIENCE_MS, 0, 0), KEYROUTE_E_TOO_LARGE);
  ck_assert_uint_eq(fake_server_counts(world.servers[0]).gets, 1);
  read.max_result_bytes = 30000;
  ck_assert_int_eq(get_with("big", &read, PATIENCE_MS, 0, 0), 0);
}
END_TEST

/* ---- Regions that are elsewhere ------------------------------------------------------------- */

/* The first get after something happened: so many requests and scans. */
static void assert_cost(unsigned requests, unsigned failed, unsigned scans)
{
  struct keyroute_stats since = hop_world_since(&world);

  ck_assert_uint_eq(since.requests, requests);
  ck_assert_uint_eq(since.requests_failed, failed);
  ck_assert_uint_eq(since.scans, scans);
  ck_assert_uint_eq(since.rows_retried, failed);
}

START_TEST(test_get__server_that_names_the_new_place_costs_no_read_of_the_catalog)
{
  hop_world_warm(&world, "apple");
  fake_server_hand_over_region(world.cluster.server, world.servers[0], world.servers[2],
                               &world.low);

  assert_got("apple", "red");
  assert_cost(2, 1, 0);
  ck_assert_uint_eq(hop_world_since(&world).hints_taken, 1);
  assert_got("apple", "red");
  assert_cost(3, 1, 0);
}
END_TEST

START_TEST(test_get__server_without_the_region_costs_one_read_of_the_catalog)
{
  hop_world_warm(&world, "apple");
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  fake_server_place_region(world.cluster.server, world.servers[2], &world.low);

  assert_got("apple", "red");
  assert_cost(2, 1, 1);
  ck_assert_int_eq(keyroute_location_port(keyroute_result_location(result, 0), 0),
                   fake_server_port(world.servers[2]));
}
END_TEST

START_TEST(test_get__row_of_a_region_that_was_split_is_found_in_its_daughter)
{
  struct fake_region parent = world.low;
  struct fake_region daughter = world.low;

  hop_world_warm(&world, "apple");
  parent.split = parent.offline = true;
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  fake_server_put_region(world.cluster.server, &parent);
  daughter.id = 8;
  daughter.end = keyroute_string("e");
  fake_server_place_region(world.cluster.server, world.servers[2], &daughter);

  assert_got("apple", "red");
  assert_cost(2, 1, 1);
}
END_TEST

START_TEST(test_get__region_that_nobody_serves_yet_is_waited_for)
{
  hop_world_warm(&world, "apple");
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  exception(0, HBASE "NotServingRegionException", NULL, 4);
  fake_server_host_region(world.servers[0], &world.low, 0);

  assert_got("apple", "red");
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 4);
}
END_TEST

START_TEST(test_get__region_that_the_catalog_has_as_closed_is_told_so)
{
  struct keyroute_bytes name = fake_region_name(&world.low);

  fake_server_put_cell(world.cluster.server, name, "info", "state", keyroute_string("CLOSED"));
  fake_server_unhost_region(world.servers[0], &world.low, 0);
  free((void *)(uintptr_t)name.data);

  ck_assert_int_eq(get_with("apple", NULL, 200, 0, 0), KEYROUTE_E_REMOTE);
  ck_assert_ptr_nonnull(strstr(detail.message, "NotServingRegionException"));
  ck_assert_ptr_nonnull(strstr(detail.message, "the catalog has it as CLOSED"));
}
END_TEST

/* ---- Servers that ask to wait --------------------------------------------------------------- */

static const char *const busy[] = {
    HBASE "CallQueueTooBigException",          HBASE "RegionTooBusyException",
    HBASE "quotas.RpcThrottlingException",     HBASE "CallDroppedException",
    HBASE "exceptions.RegionOpeningException",
};

START_TEST(test_get__busy_server_is_asked_again_without_a_read_of_the_catalog)
{
  hop_world_warm(&world, "apple");
  exception(0, busy[_i], "later", 3);

  assert_got("apple", "red");
  assert_cost(4, 3, 0);
}
END_TEST

START_TEST(test_get__wait_that_the_server_asks_for_is_kept)
{
  hop_world_warm(&world, "apple");
  exception(0, HBASE "quotas.RpcThrottlingException", "size limit exceeded - wait 0.40sec", 1);

  assert_got("apple", "red");
  ck_assert_int_ge(detail.elapsed_us, 400000);
  assert_cost(2, 1, 0);
}
END_TEST

START_TEST(test_get__overloaded_flag_beats_the_class)
{
  hop_world_warm(&world, "apple");
  fault(0, &(struct fake_fault){.what = FAKE_EXCEPTION,
                                .class_name = HBASE "NotServingRegionException",
                                .overloaded = true});

  assert_got("apple", "red");
  assert_cost(2, 1, 0);
}
END_TEST

START_TEST(test_get__wait_beyond_the_deadline_ends_with_what_the_server_said)
{
  hop_world_warm(&world, "apple");
  exception(0, HBASE "quotas.RpcThrottlingException", "limit exceeded - wait 1hrs, 0sec", -1);

  ck_assert_int_eq(get_with("apple", NULL, 300, 0, 0), KEYROUTE_E_OVERLOADED);
  ck_assert(detail.deadline);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

/* ---- Servers that fail ---------------------------------------------------------------------- */

static const struct fake_fault breaks[] = {
    {.what = FAKE_CLOSE},   {.what = FAKE_RESET},    {.what = FAKE_HALF},
    {.what = FAKE_GARBAGE}, {.what = FAKE_WRONG_ID},
};

START_TEST(test_get__connection_that_breaks_is_made_again)
{
  hop_world_warm(&world, "apple");
  fault(0, &breaks[_i]);

  assert_got("apple", "red");
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 1);
  ck_assert_uint_le(hop_world_since(&world).scans, 1);
}
END_TEST

static const struct fake_fault nonsense[] = {
    {.what = FAKE_BAD_MESSAGE}, {.what = FAKE_BAD_COUNTS}, {.what = FAKE_SPARE_BYTES}};

START_TEST(test_get__answer_that_cannot_be_believed_is_asked_for_again)
{
  hop_world_warm(&world, "apple");
  fault(0, &nonsense[_i]);

  assert_got("apple", "red");
  ck_assert_uint_eq(hop_world_since(&world).requests_failed, 1);
}
END_TEST

START_TEST(test_get__server_that_died_is_left_for_the_next)
{
  assert_got("apple", "red");
  fake_server_stop(world.servers[0]);
  fake_server_place_region(world.cluster.server, world.servers[2], &world.low);

  assert_got("apple", "red");
  ck_assert_int_eq(keyroute_location_port(keyroute_result_location(result, 0), 0),
                   fake_server_port(world.servers[2]));
}
END_TEST

START_TEST(test_get__server_that_stays_away_is_unreachable)
{
  hop_world_warm(&world, "apple");
  fake_server_stop(world.servers[0]);

  int error = get_with("apple", NULL, 500, 0, 0);

  ck_assert_msg(error == KEYROUTE_E_UNREACHABLE || error == KEYROUTE_E_DEAD_SERVER, "%s: %s",
                keyroute_errname(error), detail.message);
}
END_TEST

START_TEST(test_get__silent_server_cannot_eat_the_whole_time)
{
  hop_world_warm(&world, "apple");
  fault(0, &(struct fake_fault){.what = FAKE_NEVER});

  ck_assert_int_eq(get_with("apple", NULL, 3000, 0, 0), 0);
  assert_value("red");
}
END_TEST

START_TEST(test_get__server_silent_to_the_end_is_a_timeout)
{
  hop_world_warm(&world, "apple");
  fault(0, &(struct fake_fault){.what = FAKE_NEVER, .times = -1});

  ck_assert_int_eq(get_with("apple", NULL, 300, 0, 0), KEYROUTE_E_TIMEOUT);
  ck_assert(detail.deadline);
  ck_assert_ptr_nonnull(strstr(detail.message, "Get"));
}
END_TEST

START_TEST(test_get__number_of_tries_is_kept)
{
  keyroute_close(world.cluster.conn);
  fake_cluster_set(&world.cluster, "hbase.client.retries.number", "2");
  hop_world_open(&world);
  exception(0, HBASE "RegionTooBusyException", NULL, -1);

  ck_assert_int_eq(get("apple"), KEYROUTE_E_OVERLOADED);
  ck_assert(!detail.deadline);
  ck_assert_uint_eq(fake_server_counts(world.servers[0]).gets, 3);
}
END_TEST

START_TEST(test_get__what_no_server_may_say_of_us_is_final)
{
  exception(0, HBASE "security.AccessDeniedException", "no", -1);

  ck_assert_int_eq(get("apple"), KEYROUTE_E_AUTH);
  ck_assert_uint_eq(fake_server_counts(world.servers[0]).gets, 1);
}
END_TEST

START_TEST(test_get__table_that_is_not_there_is_not_found)
{
  ck_assert_int_eq(
      keyroute_get(&result, world.cluster.conn, "absent", row("x"), NULL, NULL, &detail),
      KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_ptr_null(result);
}
END_TEST

/* ---- How a call is made --------------------------------------------------------------------- */

START_TEST(test_get__cache_only_reads_where_the_cache_says)
{
  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0),
                   KEYROUTE_E_NOT_CACHED);
  hop_world_warm(&world, "apple");
  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0), 0);
  fake_server_unhost_region(world.servers[0], &world.low, 0);

  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, KEYROUTE_CACHE_ONLY, 0), KEYROUTE_E_REMOTE);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

START_TEST(test_get__refresh_reads_the_catalog_once)
{
  hop_world_warm(&world, "apple");

  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, KEYROUTE_REFRESH, 0), 0);
  assert_cost(1, 0, 1);
}
END_TEST

START_TEST(test_get__trace_tells_each_step)
{
  char steps[400] = "";

  hop_world_warm(&world, "apple");
  exception(0, HBASE "RegionTooBusyException", NULL, 1);
  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, KEYROUTE_TRACE, 0), 0);

  for (size_t i = 0; i < keyroute_trace_count(detail.trace); i++) {
    struct keyroute_step step = {.size = sizeof(step)};

    ck_assert_int_eq(keyroute_trace_step(detail.trace, i, &step), 0);
    if (strcmp(step.name, "wait") != 0) { /* it may draw none */
      strcat(steps, step.name);
      strcat(steps, " ");
    }
  }
  ck_assert_str_eq(steps, "cache get cache get ");
}
END_TEST

START_TEST(test_get__detail_counts_what_was_sent)
{
  ck_assert_int_eq(get("apple"), 0);

  ck_assert_int_eq(detail.source, KEYROUTE_SOURCE_CATALOG);
  ck_assert_uint_eq(detail.attempts, 1);
  ck_assert_uint_eq(detail.rpcs, 2);
  ck_assert_str_eq(detail.message, "");
  ck_assert(!detail.maybe_applied);
}
END_TEST

START_TEST(test_get__what_makes_no_sense_is_refused_with_the_reason)
{
  static const char long_row[40000];
  struct keyroute_connection *conn = world.cluster.conn;
  struct keyroute_call before = {sizeof(before), 0, KEYROUTE_BEFORE, 0};
  struct keyroute_column nothing = {{"", 0}, {NULL, 0}};
  struct keyroute_read no_size = {0}, no_family = {sizeof(no_family), &nothing, 1, 0, 0, 0, 0};
  struct keyroute_read times = {sizeof(times), NULL, 0, 0, 9, 9, 0};
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  ck_assert_int_eq(get(""), invalid);
  ck_assert_ptr_nonnull(strstr(detail.message, "0 bytes"));
  ck_assert_int_eq(keyroute_get(&result, conn, "t",
                                (struct keyroute_bytes){long_row, sizeof(long_row)}, NULL, NULL,
                                &detail),
                   invalid);
  ck_assert_int_eq(keyroute_get(&result, conn, "no table", row("a"), NULL, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_get(&result, conn, NULL, row("a"), NULL, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_get(NULL, conn, "t", row("a"), NULL, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_get(&result, NULL, "t", row("a"), NULL, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_get(&result, conn, "t", row("a"), NULL, &before, &detail), invalid);
  ck_assert_int_eq(get_with("a", &no_size, 0, 0, 0), invalid);
  ck_assert_int_eq(get_with("a", &no_family, 0, 0, 0), invalid);
  ck_assert_ptr_nonnull(strstr(detail.message, "column 0"));
  ck_assert_int_eq(get_with("a", &times, 0, 0, 0), invalid);
  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).rpcs, 0);
}
END_TEST

/* ---- Replicas ------------------------------------------------------------------------------- */

static void place_replicas(void)
{
  fake_server_place_replicas(world.cluster.server, world.servers, 2, &world.low);
}

START_TEST(test_get__replica_is_read_where_it_is_and_may_be_stale)
{
  place_replicas();

  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, 0, 1), 0);
  assert_value("red");
  ck_assert(keyroute_result_stale(result, 0));
  ck_assert_int_eq(keyroute_result_replica(result, 0), 1);
  ck_assert_uint_eq(fake_server_last_get(world.servers[1]).consistency, 1);
}
END_TEST

START_TEST(test_get__any_replica_is_the_primary_where_it_has_a_server)
{
  place_replicas();

  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, 0, KEYROUTE_REPLICA_ANY), 0);
  ck_assert_int_eq(keyroute_result_replica(result, 0), 0);
  ck_assert(!keyroute_result_stale(result, 0));
}
END_TEST

/* What the catalog says of a dead primary is all there is to know of it for a while. */
START_TEST(test_get__any_replica_is_another_while_the_primary_is_dead)
{
  place_replicas();
  fake_server_stop(world.servers[0]);

  ck_assert_int_eq(get_with("apple", NULL, PATIENCE_MS, 0, KEYROUTE_REPLICA_ANY), 0);
  assert_value("red");
  ck_assert_int_eq(keyroute_result_replica(result, 0), 1);
  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).requests, 2);
}
END_TEST

START_TEST(test_get__replica_that_is_not_there_has_no_server)
{
  ck_assert_int_eq(get_with("apple", NULL, 200, 0, 3), KEYROUTE_E_NO_SERVER);
}
END_TEST

/* ---- Without waiting ------------------------------------------------------------------------ */

struct told {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int count, error;
  struct keyroute_result *result;
};

static struct told told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void tell(void *payload, int error, struct keyroute_result *got,
                 const struct keyroute_detail *about)
{
  (void)payload;
  ck_assert_int_eq(about->error, error);
  pthread_mutex_lock(&told.lock);
  told.count++;
  told.error = error;
  keyroute_result_free(told.result);
  told.result = got;
  pthread_cond_signal(&told.changed);
  pthread_mutex_unlock(&told.lock);
}

static void await_told(int count)
{
  pthread_mutex_lock(&told.lock);
  while (told.count < count) {
    pthread_cond_wait(&told.changed, &told.lock);
  }
  pthread_mutex_unlock(&told.lock);
}

static uint64_t start(const char *key)
{
  uint64_t number = 0;

  ck_assert_int_eq(
      keyroute_get_async(&number, world.cluster.conn, "t", row(key), NULL, NULL, tell, NULL), 0);
  return number;
}

static void take_told(void)
{
  result = told.result;
  told.result = NULL;
}

START_TEST(test_get__callback_owns_the_result)
{
  start("apple");
  await_told(1);
  take_told();

  ck_assert_int_eq(told.error, 0);
  assert_value("red");
}
END_TEST

START_TEST(test_get__call_is_cancelled_while_its_answer_is_awaited)
{
  fault(0, &(struct fake_fault){.what = FAKE_NEVER, .times = -1});
  uint64_t number = start("apple");

  ck_assert(fake_server_wait_gets(world.servers[0], 1, PATIENCE_MS));
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
  ck_assert_ptr_null(told.result);
}
END_TEST

START_TEST(test_get__call_is_cancelled_while_it_waits_to_try_again)
{
  exception(0, HBASE "quotas.RpcThrottlingException", "limit exceeded - wait 20sec, 0ms", -1);
  uint64_t number = start("apple");

  ck_assert(fake_server_wait_gets(world.servers[0], 1, PATIENCE_MS));
  pause_ms(50);
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_get__call_is_cancelled_while_its_region_is_looked_up)
{
  fake_server_fault(world.cluster.server, &(struct fake_fault){.what = FAKE_NEVER, .times = -1});
  uint64_t number = start("apple");

  ck_assert(fake_server_wait_scans(world.cluster.server, 1, PATIENCE_MS));
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);

  ck_assert_int_eq(told.error, KEYROUTE_E_CANCELLED);
}
END_TEST

START_TEST(test_get__closing_ends_what_is_under_way)
{
  fault(0, &(struct fake_fault){.what = FAKE_NEVER, .times = -1});
  exception(1, HBASE "quotas.RpcThrottlingException", "limit exceeded - wait 20sec, 0ms", -1);
  start("apple");
  start("pear");
  ck_assert(fake_server_wait_gets(world.servers[0], 1, PATIENCE_MS));
  ck_assert(fake_server_wait_gets(world.servers[1], 1, PATIENCE_MS));

  ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  world.cluster.conn = NULL;

  ck_assert_int_eq(told.count, 2);
  ck_assert_int_eq(told.error, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_get__too_many_at_once_are_refused)
{
  keyroute_close(world.cluster.conn);
  fake_cluster_set(&world.cluster, "keyroute.max.pending", "1");
  hop_world_open(&world);
  fault(0, &(struct fake_fault){.what = FAKE_NEVER, .times = -1});
  uint64_t number = start("apple");

  ck_assert_int_eq(
      keyroute_get_async(NULL, world.cluster.conn, "t", row("pear"), NULL, NULL, tell, NULL),
      KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(get("pear"), KEYROUTE_E_OVERLOADED);
  ck_assert_ptr_nonnull(strstr(detail.message, "keyroute.max.pending"));
  keyroute_cancel(world.cluster.conn, number);
  await_told(1);
}
END_TEST

START_TEST(test_get__callback_waits_for_the_applications_thread)
{
  keyroute_close(world.cluster.conn);
  keyroute_options_set_drain(world.cluster.options, true);
  hop_world_open(&world);
  start("apple");
  for (int i = 0; told.count == 0 && i < PATIENCE_MS; i++) {
    keyroute_drain(world.cluster.conn);
    pause_ms(1);
  }
  take_told();

  ck_assert_int_eq(told.count, 1);
  assert_value("red");
}
END_TEST

/* ---- Memory --------------------------------------------------------------------------------- */

START_TEST(test_get__every_allocation_may_fail)
{
  bool failed = true;

  hop_world_stop(&world);
  hop_world_start(&world, &failing_allocator);
  hop_world_put(&world, "apple", "red");
  for (long n = 1; failed; n++) {
    hop_world_open(&world);
    mem_fail(n);
    int error = get("apple");

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_msg(error == 0 || error == KEYROUTE_E_NO_MEMORY, "%s: %s", keyroute_errname(error),
                  detail.message);
    if (error == 0) {
      assert_value("red");
    }
    keyroute_result_free(result);
    result = NULL;
    ck_assert_int_eq(keyroute_close(world.cluster.conn), 0);
  }
  world.cluster.conn = NULL;
  keyroute_options_free(world.cluster.options);
  world.cluster.options = NULL;

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static Suite *suite(void)
{
  Suite *made = suite_create("get");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, setup_open, teardown);
  tcase_add_test(tests, test_get__row_comes_with_its_cells_from_the_server_that_has_it);
  tcase_add_test(tests, test_get__cells_inside_the_message_read_the_same);
  tcase_add_test(tests, test_get__row_that_is_not_there_has_no_cells);
  tcase_add_test(tests, test_get__result_outlives_its_connection);
  tcase_add_test(tests, test_get__columns_versions_and_time_reach_the_server);
  tcase_add_test(tests, test_get__family_that_is_not_there_is_told_and_not_tried_again);
  tcase_add_test(tests, test_get__row_larger_than_allowed_is_too_large);
  tcase_add_test(tests, test_get__server_that_names_the_new_place_costs_no_read_of_the_catalog);
  tcase_add_test(tests, test_get__server_without_the_region_costs_one_read_of_the_catalog);
  tcase_add_test(tests, test_get__row_of_a_region_that_was_split_is_found_in_its_daughter);
  tcase_add_test(tests, test_get__region_that_nobody_serves_yet_is_waited_for);
  tcase_add_test(tests, test_get__region_that_the_catalog_has_as_closed_is_told_so);
  tcase_add_loop_test(tests, test_get__busy_server_is_asked_again_without_a_read_of_the_catalog, 0,
                      (int)(sizeof(busy) / sizeof(busy[0])));
  tcase_add_test(tests, test_get__wait_that_the_server_asks_for_is_kept);
  tcase_add_test(tests, test_get__overloaded_flag_beats_the_class);
  tcase_add_test(tests, test_get__wait_beyond_the_deadline_ends_with_what_the_server_said);
  tcase_add_loop_test(tests, test_get__connection_that_breaks_is_made_again, 0,
                      (int)(sizeof(breaks) / sizeof(breaks[0])));
  tcase_add_loop_test(tests, test_get__answer_that_cannot_be_believed_is_asked_for_again, 0,
                      (int)(sizeof(nonsense) / sizeof(nonsense[0])));
  tcase_add_test(tests, test_get__server_that_died_is_left_for_the_next);
  tcase_add_test(tests, test_get__server_that_stays_away_is_unreachable);
  tcase_add_test(tests, test_get__silent_server_cannot_eat_the_whole_time);
  tcase_add_test(tests, test_get__server_silent_to_the_end_is_a_timeout);
  tcase_add_test(tests, test_get__number_of_tries_is_kept);
  tcase_add_test(tests, test_get__what_no_server_may_say_of_us_is_final);
  tcase_add_test(tests, test_get__table_that_is_not_there_is_not_found);
  tcase_add_test(tests, test_get__cache_only_reads_where_the_cache_says);
  tcase_add_test(tests, test_get__refresh_reads_the_catalog_once);
  tcase_add_test(tests, test_get__trace_tells_each_step);
  tcase_add_test(tests, test_get__detail_counts_what_was_sent);
  tcase_add_test(tests, test_get__what_makes_no_sense_is_refused_with_the_reason);
  tcase_add_test(tests, test_get__replica_is_read_where_it_is_and_may_be_stale);
  tcase_add_test(tests, test_get__any_replica_is_the_primary_where_it_has_a_server);
  tcase_add_test(tests, test_get__any_replica_is_another_while_the_primary_is_dead);
  tcase_add_test(tests, test_get__replica_that_is_not_there_has_no_server);
  tcase_add_test(tests, test_get__callback_owns_the_result);
  tcase_add_test(tests, test_get__call_is_cancelled_while_its_answer_is_awaited);
  tcase_add_test(tests, test_get__call_is_cancelled_while_it_waits_to_try_again);
  tcase_add_test(tests, test_get__call_is_cancelled_while_its_region_is_looked_up);
  tcase_add_test(tests, test_get__closing_ends_what_is_under_way);
  tcase_add_test(tests, test_get__too_many_at_once_are_refused);
  tcase_add_test(tests, test_get__callback_waits_for_the_applications_thread);
  tcase_add_test(tests, test_get__every_allocation_may_fail);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
