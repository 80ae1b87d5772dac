/*
 * Nodes that die and come back, and connections that come and go.
 */
#include "test/integration/range_change.h"
#include "test/integration/range_index.h"
#include "test/integration/range_readers.h"
#include "test/integration/real_nodes.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANGES = 30, ROWS_EACH = 4, READERS = 4, SEED = 3 };

/* What is generous: an outage has to be noticed and a recovery to be quick, on a loaded machine. */
enum { SHORT_MS = 3000, RECOVERY_MS = 1000, ROUNDS = 3, PATIENCE_MS = 10000 };

/* Allocators keep a little; a connection that is forgotten is at least a hundred times that. */
enum { CYCLES = 200, WARM_CYCLES = 20, CYCLE_BYTES_MAX = 200 };

static struct range_map map;
static struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

static void make(void)
{
  range_map_make(&map, "/tests/faults", RANGES, ROWS_EACH, SEED);
  range_index_make(&map);
}

static void clear(void)
{
  range_map_clear(&map);
  keyroute_detail_clear(&detail);
}

/* Read a row and release what came; its value is right if it could be read. */
static int get(struct keyroute_connection *conn, const struct range_key *key, int64_t deadline_ms)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_result *result;
  char wrong[RANGE_WRONG_MAX];

  call.deadline_ms = deadline_ms;
  int error = keyroute_get(&result, conn, "map", range_bytes(key), NULL, &call, &detail);

  if (error == 0) {
    ck_assert_msg(range_map_right(&map, range_bytes(key), result, 0, wrong), "%s", wrong);
    keyroute_result_free(result);
  }
  return error;
}

/* A row of a range that is on a node. */
static const struct range_key *row_on(int node)
{
  return &map.rows[(size_t)(RANGES / 2 / RANGE_NODES * RANGE_NODES + node) * ROWS_EACH + 1];
}

START_TEST(test_range_faults__dead_node_is_unreachable_until_it_is_back)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);
  int64_t best_ms = INT64_MAX, worst_ms = 0;

  for (int round = 0; round < ROUNDS; round++) {
    ck_assert_msg(get(conn, row_on(2), 30000) == 0, "%s", detail.message);
    ck_assert_msg(get(conn, row_on(1), 30000) == 0, "%s", detail.message);

    range_command("kill 2");
    int error = get(conn, row_on(2), SHORT_MS);

    ck_assert_msg(error == KEYROUTE_E_UNREACHABLE || error == KEYROUTE_E_DEAD_SERVER, "%s: %s",
                  keyroute_errname(error), detail.message);
    ck_assert_msg(strstr(detail.message, nodes_address(range_nodes, 2)) != NULL, "%s",
                  detail.message);
    ck_assert_msg(get(conn, row_on(1), 30000) == 0, "the other node: %s", detail.message);

    range_command("restart 2");
    int64_t began_ms = range_now_ms();
    ck_assert_msg(get(conn, row_on(2), 30000) == 0, "%s", detail.message);
    int64_t took_ms = range_now_ms() - began_ms;

    best_ms = took_ms < best_ms ? took_ms : best_ms;
    worst_ms = took_ms > worst_ms ? took_ms : worst_ms;
  }
  printf("read %" PRId64 " to %" PRId64 " ms after a node was back\n", best_ms, worst_ms);
  ck_assert_int_lt(best_ms, RECOVERY_MS);
  ck_assert_int_lt(worst_ms, PATIENCE_MS);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_range_faults__frozen_node_does_not_answer_and_harms_no_other)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  for (int node = 0; node < RANGE_NODES; node++) {
    ck_assert_msg(get(conn, row_on(node), 30000) == 0, "%s", detail.message);
  }
  range_command("freeze 2");
  int error = get(conn, row_on(2), SHORT_MS);
  ck_assert_msg(error == KEYROUTE_E_TIMEOUT || error == KEYROUTE_E_UNREACHABLE, "%s: %s",
                keyroute_errname(error), detail.message);
  ck_assert_msg(get(conn, row_on(0), 30000) == 0, "the other node: %s", detail.message);
  range_command("thaw 2");
  ck_assert_msg(get(conn, row_on(2), 30000) == 0, "%s", detail.message);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_range_faults__zookeeper_is_needed_by_newcomers_only)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  ck_assert_msg(get(conn, row_on(0), 30000) == 0, "%s", detail.message);
  zookeeper_kill(range_zookeeper);
  range_move(&map, range_map_find(&map, range_bytes(row_on(0))));
  ck_assert_msg(get(conn, row_on(0), 30000) == 0, "%s", detail.message);
  ck_assert_msg(get(conn, &map.rows[0], 30000) == 0, "%s", detail.message);

  struct keyroute_connection *newcomer = range_open(map.znode, NULL);
  int error = get(newcomer, row_on(0), SHORT_MS);

  ck_assert_msg(error == KEYROUTE_E_UNREACHABLE, "%s: %s", keyroute_errname(error), detail.message);
  zookeeper_restart(range_zookeeper);
  ck_assert_msg(get(newcomer, row_on(0), 30000) == 0, "%s", detail.message);
  keyroute_close(newcomer);
  keyroute_close(conn);
}
END_TEST

/* How many threads this process has. */
static int count_threads(void)
{
  char line[128];
  int threads = 0;
  FILE *file = fopen("/proc/self/status", "r");

  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "Threads: %d", &threads) == 1) {
      break;
    }
  }
  fclose(file);
  return threads;
}

static void open_read_close(void)
{
  struct keyroute_connection *conn = range_open(map.znode, NULL);

  for (int node = 0; node < RANGE_NODES; node++) {
    ck_assert_msg(get(conn, row_on(node), 30000) == 0, "%s", detail.message);
  }
  ck_assert_int_eq(keyroute_close(conn), 0);
}

/* Threads of the libraries below may end a moment after the connection. */
static int await_threads(int most)
{
  int64_t end = range_now_ms() + PATIENCE_MS;

  while (count_threads() > most && range_now_ms() < end) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return count_threads();
}

START_TEST(test_range_faults__connections_leave_neither_threads_nor_memory)
{
  for (int i = 0; i < WARM_CYCLES; i++) {
    open_read_close();
  }
  int threads = await_threads(1);
  size_t before = mallinfo2().uordblks;

  for (int i = 0; i < CYCLES; i++) {
    open_read_close();
  }
  int threads_after = await_threads(threads);
  size_t after = mallinfo2().uordblks;
  size_t grown = after > before ? after - before : 0;

  printf("%d connections: %d threads before, %d after; %zu bytes more\n", CYCLES, threads,
         threads_after, grown);
  ck_assert_int_le(threads_after, threads);
  ck_assert_uint_lt(grown, CYCLES * CYCLE_BYTES_MAX);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("range_faults");
  TCase *tests = tcase_create("faults");

  tcase_set_timeout(tests, 0);
  tcase_add_unchecked_fixture(tests, make, clear);
  tcase_add_test(tests, test_range_faults__dead_node_is_unreachable_until_it_is_back);
  tcase_add_test(tests, test_range_faults__frozen_node_does_not_answer_and_harms_no_other);
  tcase_add_test(tests, test_range_faults__zookeeper_is_needed_by_newcomers_only);
  tcase_add_test(tests, test_range_faults__connections_leave_neither_threads_nor_memory);
  suite_add_tcase(suite, tests);
  return range_run(suite, 300);
}
