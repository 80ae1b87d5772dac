/*
 * The last hop against a real HBase: what a read of one row, and a request of one's own, brings,
 * and what it costs where the place that is known turns out to be wrong. Rows are those that the
 * Java client wrote, and reads with versions, families and times are compared with its own.
 */
#include "test/integration/real.h"
#include "test/integration/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 200, VERSIONS = 4, NEWEST_S = 1700000000 };

static struct keyroute_connection *conn;
static struct rows rows;

/* ---- What things cost ---- */

static struct keyroute_stats stats_now(void)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  return stats;
}

/* What was counted since. */
struct cost {
  uint64_t requests, failed, scans, hints, evictions;
};

static struct cost cost_since(const struct keyroute_stats *before)
{
  struct keyroute_stats now = stats_now();

  return (struct cost){now.requests - before->requests,
                       now.requests_failed - before->requests_failed, now.scans - before->scans,
                       now.hints_taken - before->hints_taken, now.evictions - before->evictions};
}

static void print_cost(const char *what, struct cost cost)
{
  printf("%s: %" PRIu64 " requests, %" PRIu64 " failed, %" PRIu64 " catalog scans, %" PRIu64
         " places named by the server\n",
         what, cost.requests, cost.failed, cost.scans, cost.hints);
}

/* ---- Reading ---- */

static struct keyroute_result *get(const char *table, struct keyroute_bytes row,
                                   const struct keyroute_read *read,
                                   const struct keyroute_call *call)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result;

  ck_assert_msg(keyroute_get(&result, conn, table, row, read, call, &detail) == 0, "%s",
                detail.message);
  return result;
}

static void assert_same(const struct row *expected, const struct keyroute_result *result)
{
  char text[ROWS_DIFFERENCE_MAX];

  ck_assert_msg(rows_same(text, expected, result, 0), "%s", text);
}

/* A read is what the Java client's get with the given words says. */
static void assert_as_java(const char *table, struct keyroute_bytes key, const char *words,
                           const struct keyroute_read *read, const struct keyroute_call *call)
{
  struct keyroute_result *result = get(table, key, read, call);
  char key_text[4 * 1100 + 3], *reply;
  struct rows theirs;

  ck_assert_int_eq(cluster_command(real_cluster, &reply, "get %s %s %s", table,
                                   real_key_text(key_text, key.data, key.len), words),
                   0);
  rows_parse(&theirs, reply);
  assert_same(theirs.count > 0 ? &theirs.each[0] : &(struct row){.key = key}, result);
  ck_assert_int_eq(keyroute_result_stale(result, 0),
                   strstr(cluster_answer(real_cluster), "stale") != NULL);
  rows_clear(&theirs);
  keyroute_result_free(result);
}

START_TEST(test_last_hop__rows_are_what_the_java_client_wrote)
{
  for (size_t i = 0; i < rows.count; i++) {
    struct keyroute_read read = KEYROUTE_READ_INIT;

    read.max_versions = VERSIONS;
    struct keyroute_result *result = get("ns:r", rows.each[i].key, &read, NULL);

    assert_same(&rows.each[i], result);
    ck_assert_int_eq(keyroute_result_replica(result, 0), 0);
    ck_assert(!keyroute_result_stale(result, 0));
    keyroute_result_free(result);
  }
}
END_TEST

START_TEST(test_last_hop__versions_families_and_times_are_as_of_the_java_client)
{
  static const struct keyroute_column family = {{"g", 1}, {NULL, 0}};
  static const int64_t newest_ms = NEWEST_S * INT64_C(1000);
  const struct {
    const char *words;
    struct keyroute_read read;
  } reads[] = {
      {"", {sizeof(reads[0].read), NULL, 0, 0, 0, 0, 0}},
      {"versions=2", {sizeof(reads[0].read), NULL, 0, 2, 0, 0, 0}},
      {"families=g versions=9", {sizeof(reads[0].read), &family, 1, 9, 0, 0, 0}},
      {"from=1699999998000 to=1700000000000 versions=9",
       {sizeof(reads[0].read), NULL, 0, 9, newest_ms - 2000, newest_ms, 0}},
      {"from=1700000000000", {sizeof(reads[0].read), NULL, 0, 0, newest_ms, 0, 0}},
      {"to=1699999997000", {sizeof(reads[0].read), NULL, 0, 0, 0, newest_ms - 3000, 0}},
  };

  for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
    for (size_t j = 0; j < 10; j++) {
      assert_as_java("ns:r", rows.each[j].key, reads[i].words, &reads[i].read, NULL);
    }
    assert_as_java("ns:r", keyroute_string("no such row"), reads[i].words, &reads[i].read, NULL);
  }
}
END_TEST

START_TEST(test_last_hop__one_column_is_read_alone)
{
  const struct keyroute_cell *cell = &rows.each[0].cells[0];
  struct keyroute_column column = {cell->family, cell->qualifier};
  struct keyroute_read read = KEYROUTE_READ_INIT;

  read.columns = &column;
  read.column_count = 1;
  struct keyroute_result *result = get("ns:r", rows.each[0].key, &read, NULL);

  assert_same(&(struct row){rows.each[0].key, cell, 1}, result);
  ck_assert_ptr_nonnull(keyroute_result_find(result, 0, cell->family, cell->qualifier));
  keyroute_result_free(result);
}
END_TEST

START_TEST(test_last_hop__replica_is_read_and_says_that_it_may_be_stale)
{
  struct keyroute_read read = KEYROUTE_READ_INIT;
  struct keyroute_call call = KEYROUTE_CALL_INIT;

  read.max_versions = 2;
  for (int replica = 1; replica < 3; replica++) {
    char words[64];

    call.replica = replica;
    snprintf(words, sizeof(words), "replica=%d versions=2", replica);
    for (size_t i = 0; i < 10; i++) {
      struct keyroute_result *result = get("ns:r", rows.each[i].key, &read, &call);

      ck_assert_int_eq(keyroute_result_replica(result, 0), replica);
      ck_assert(keyroute_result_stale(result, 0));
      keyroute_result_free(result);
      assert_as_java("ns:r", rows.each[i].key, words, &read, &call);
    }
  }
}
END_TEST

/* ---- Places that are wrong ---- */

static void read_value(const char *table, const char *row)
{
  struct keyroute_result *result = get(table, keyroute_string(row), NULL, NULL);
  size_t count;
  const struct keyroute_cell *cells = keyroute_result_cells(result, 0, &count);

  ck_assert_uint_eq(count, 1);
  ck_assert_uint_eq(cells[0].value.len, 1);
  ck_assert_int_eq(*(const char *)cells[0].value.data, 'v');
  keyroute_result_free(result);
}

START_TEST(test_last_hop__moved_region_costs_one_failed_request)
{
  struct keyroute_stats before;

  real_command("create moved m");
  real_command("put moved b v");
  read_value("moved", "b");
  real_command("move moved b");
  before = stats_now();
  read_value("moved", "b");

  struct cost cost = cost_since(&before);

  print_cost("moved", cost);
  ck_assert_uint_eq(cost.requests, 2);
  ck_assert_uint_eq(cost.failed, 1);
  ck_assert_uint_eq(cost.scans + cost.hints, 1);

  before = stats_now();
  read_value("moved", "b");
  cost = cost_since(&before);
  ck_assert_uint_eq(cost.requests, 1);
  ck_assert_uint_eq(cost.scans, 0);
}
END_TEST

START_TEST(test_last_hop__split_region_costs_one_failed_request_and_one_scan)
{
  struct keyroute_stats before;

  real_command("create halved");
  real_command("put halved b v");
  real_command("put halved x v");
  read_value("halved", "b");
  real_command("split halved m");
  before = stats_now();
  read_value("halved", "b");

  struct cost cost = cost_since(&before);

  print_cost("split", cost);
  ck_assert_uint_eq(cost.requests, 2);
  ck_assert_uint_eq(cost.failed, 1);
  ck_assert_uint_eq(cost.scans, 1);
  read_value("halved", "x");
  ck_assert_uint_eq(cost_since(&before).failed, 1);
}
END_TEST

START_TEST(test_last_hop__family_that_does_not_exist_is_the_servers_last_word)
{
  static const struct keyroute_column column = {{"nosuch", 6}, {NULL, 0}};
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_read read = KEYROUTE_READ_INIT;
  struct keyroute_result *result;
  struct keyroute_stats before = stats_now();

  read.columns = &column;
  read.column_count = 1;
  int error = keyroute_get(&result, conn, "ns:r", rows.each[0].key, &read, NULL, &detail);
  struct cost cost = cost_since(&before);

  ck_assert_int_eq(error, KEYROUTE_E_REMOTE);
  ck_assert_msg(strstr(detail.message, "NoSuchColumnFamilyException") != NULL, "%s",
                detail.message);
  ck_assert_uint_eq(cost.requests, 1);
  ck_assert_uint_eq(cost.failed, 1);
  ck_assert_uint_eq(cost.evictions, 0);
  keyroute_detail_clear(&detail);
}
END_TEST

/* The servers allow 12 requests a minute, so one that is refused has to wait for 5 s at most. */
START_TEST(test_last_hop__throttled_request_waits_as_long_as_the_server_says)
{
  struct keyroute_stats before;
  struct cost cost;

  real_command("create slow");
  real_command("put slow a v");
  read_value("slow", "a");
  real_command("throttle slow 12");
  before = stats_now();
  time_t end = time(NULL) + 60;

  do {
    read_value("slow", "a");
    cost = cost_since(&before);
  } while (cost.failed == 0 && time(NULL) < end);
  real_command("throttle slow");
  print_cost("throttled", cost);
  ck_assert_uint_ge(cost.failed, 1);
  ck_assert_uint_le(cost.failed, 5); /* a few, by a server whose clock is coarse */
  ck_assert_uint_eq(cost.scans, 0);
  ck_assert_uint_eq(cost.evictions, 0);
}
END_TEST

/* ---- Requests of one's own ---- */

/* Of row "n": GetRequest{2 get{1 row}}. */
static const char get_n[] = "\x12\x03"
                            "\x0a\x01n";

/* Of the same row, add 1 to f:n: MutateRequest{2 mutation{1 row, 2 mutate_type INCREMENT,
 * 3 column_value{1 family, 2 qualifier_value{1 qualifier, 2 value}}}}. */
static const char increment_n[] = "\x12\x19"
                                  "\x0a\x01n"
                                  "\x10\x01"
                                  "\x1a\x12"
                                  "\x0a\x01"
                                  "f"
                                  "\x12\x0d"
                                  "\x0a\x01n"
                                  "\x12\x08\0\0\0\0\0\0\0\x01";

static struct keyroute_reply *send(const char *name, const char *param, size_t len, bool idempotent)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_reply *reply;

  method.name = name;
  method.param = (struct keyroute_bytes){param, len};
  method.idempotent = idempotent;
  ck_assert_msg(
      keyroute_call(&reply, conn, "counted", keyroute_string("n"), &method, NULL, &detail) == 0,
      "%s", detail.message);
  return reply;
}

static void increment(void)
{
  keyroute_reply_free(send("Mutate", increment_n, sizeof(increment_n) - 1, false));
}

static void assert_number(char number)
{
  char value[8] = {0};
  struct keyroute_result *result = get("counted", keyroute_string("n"), NULL, NULL);
  const struct keyroute_cell *cell =
      keyroute_result_find(result, 0, keyroute_string("f"), keyroute_string("n"));

  value[7] = number;
  ck_assert_ptr_nonnull(cell);
  ck_assert_uint_eq(cell->value.len, sizeof(value));
  ck_assert_mem_eq(cell->value.data, value, sizeof(value));
  keyroute_result_free(result);
}

START_TEST(test_last_hop__requests_of_ones_own_are_done_once_each)
{
  real_command("create counted");
  for (int i = 0; i < 3; i++) {
    increment();
  }
  assert_number(3);

  struct keyroute_reply *reply = send("Get", get_n, sizeof(get_n) - 1, true);
  struct keyroute_bytes message = keyroute_reply_message(reply);
  static const char value[] = "\0\0\0\0\0\0\0\x03";

  /* The servers put the cells of a single row into the message, unless told a version. */
  ck_assert_uint_eq(keyroute_reply_cells(reply).len, 0);
  ck_assert_ptr_nonnull(memmem(message.data, message.len, value, sizeof(value) - 1));
  keyroute_reply_free(reply);
}
END_TEST

START_TEST(test_last_hop__increments_are_done_once_each_while_the_region_moves)
{
  struct keyroute_stats before = stats_now();

  for (int i = 0; i < 3; i++) {
    real_command("move counted n");
    increment();
  }
  ck_assert_uint_eq(cost_since(&before).failed, 3);
  real_command("split counted n");
  increment();
  assert_number(7);
}
END_TEST

/* ---- The cluster ---- */

static void set_up(void)
{
  char path[] = "/tmp/keyroute-rows-XXXXXX";
  int fd = mkstemp(path);

  ck_assert_int_ge(fd, 0);
  close(fd);
  real_command("create ns:r replication=3 families=f,g versions=%d c , p", VERSIONS);
  real_command("fill ns:r %d 7 %s versions=%d", ROWS, path, VERSIONS);
  rows_read(&rows, path);
  unlink(path);
  conn = real_open(NULL);
}

static void tear_down(void)
{
  keyroute_close(conn);
  rows_clear(&rows);
}

int main(void)
{
  Suite *suite = suite_create("hbase last hop");
  TCase *cases = tcase_create("last hop");

  tcase_set_timeout(cases, 0);
  tcase_add_unchecked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, test_last_hop__rows_are_what_the_java_client_wrote);
  tcase_add_test(cases, test_last_hop__versions_families_and_times_are_as_of_the_java_client);
  tcase_add_test(cases, test_last_hop__one_column_is_read_alone);
  tcase_add_test(cases, test_last_hop__replica_is_read_and_says_that_it_may_be_stale);
  tcase_add_test(cases, test_last_hop__moved_region_costs_one_failed_request);
  tcase_add_test(cases, test_last_hop__split_region_costs_one_failed_request_and_one_scan);
  tcase_add_test(cases, test_last_hop__family_that_does_not_exist_is_the_servers_last_word);
  tcase_add_test(cases, test_last_hop__throttled_request_waits_as_long_as_the_server_says);
  tcase_add_test(cases, test_last_hop__requests_of_ones_own_are_done_once_each);
  tcase_add_test(cases, test_last_hop__increments_are_done_once_each_while_the_region_moves);
  suite_add_tcase(suite, cases);
  return real_run(suite, false, 600);
}
