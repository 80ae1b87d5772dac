/*
 * The older generations of HBase, one a run: $KEYROUTE_HBASE_VERSION. What is asked of each is the
 * same: answers equal to those of its own Java client, while regions are split and moved, while the
 * catalog moves, and after the death of the server that holds it. 0.94 has a catalog of two tables,
 * -ROOT- and .META., which move and die apart.
 */
#include "test/integration/askers.h"
#include "test/integration/comparison.h"
#include "test/proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, DEADLINE_MS = 30000, SLACK_MS = 100, RANDOM_REGIONS = 50, KEY_LEN = 12 };

static bool has_root(void)
{
  return strncmp(cluster_version(real_cluster), "0.94.", 5) == 0;
}

static int compare_keys(const void *a, const void *b)
{
  return memcmp(a, b, KEY_LEN);
}

static void create_random(const char *table)
{
  static unsigned char keys[RANDOM_REGIONS - 1][KEY_LEN];
  struct comparison_key splits[RANDOM_REGIONS - 1];

  for (int i = 0; i < RANDOM_REGIONS - 1; i++) {
    for (int j = 0; j < KEY_LEN; j++) {
      keys[i][j] = (unsigned char)rand_r(&comparison_seed);
    }
  }
  qsort(keys, RANDOM_REGIONS - 1, KEY_LEN, compare_keys);
  for (int i = 0; i < RANDOM_REGIONS - 1; i++) {
    splits[i] = (struct comparison_key){(const char *)keys[i], KEY_LEN};
  }
  comparison_create(table, "", splits, RANDOM_REGIONS - 1);
}

static void create_tables(void)
{
  static const struct comparison_key plain[] = {KEY("g"), KEY("p")};

  comparison_create_awkward("commas");
  create_random("random");
  if (!has_root()) {
    comparison_create("ns:t", "", plain, 2);
  }
  comparison_add("nosuchtable", "a", 1);
  comparison_add("ta", "m", 1);
  comparison_add("zz", "", 0);
  comparison_add("A", "", 0);
}

START_TEST(test_generations__answers_equal_the_java_clients)
{
  struct keyroute_connection *conn = real_open(NULL);

  create_tables();
  comparison_check(conn);
  ck_assert_uint_ge(comparison_count(), 500);
  printf("%zu rows compared with the Java client of HBase %s\n", comparison_count(),
         cluster_version(real_cluster));

  real_command("split t b");
  real_command("split low \\x00\\x00\\x05");
  real_command("split commas a,bb,");
  real_command("split longkeys zz");
  comparison_add_neighbours("t", "b", 1);
  comparison_add_neighbours("low", "\0\0\5", 3);
  comparison_add_neighbours("commas", "a,bb,", 5);
  comparison_check(conn);

  for (int i = 0; i < 8; i++) {
    char key[4 * 1100 + 3];
    const struct real_row *row = comparison_row();

    real_command("move %s %s", row->table, real_key_text(key, row->key, row->len));
  }
  comparison_check(conn);

  real_command("drop t1");
  real_command("create t1 k");
  comparison_check(conn);
  keyroute_close(conn);
}
END_TEST

/* A way to the server of the catalog on which scans down get lost. */
static struct proxy *open_detour(struct keyroute_connection **conn)
{
  char root[100];
  const char *const settings[] = {"keyroute.registry=static", root, NULL};

  real_command("meta-server");
  const char *port = strchr(cluster_answer(real_cluster), ',');

  ck_assert_ptr_nonnull(port);
  struct proxy *proxy = proxy_start(atoi(port + 1));

  proxy_set(proxy, PROXY_UPWARD);
  snprintf(root, sizeof(root), "keyroute.registry.static.root=127.0.0.1:%d", proxy_port(proxy));
  *conn = real_open(settings);
  return proxy;
}

/* The last region of a table is looked for from behind it. */
static void expect_last_region(struct keyroute_connection *conn, const char *table)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_location *location;

  call.flags = KEYROUTE_BEFORE | KEYROUTE_REFRESH;
  ck_assert_msg(keyroute_locate(&location, conn, table, keyroute_string(""), &call, &detail) == 0,
                "%s: %s", table, detail.message);
  ck_assert_uint_eq(keyroute_location_end_key(location).len, 0);
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
}

START_TEST(test_generations__last_regions_are_found_from_behind)
{
  static const char *const tables[] = {"t", "t1", "commas", "low", "high", "longkeys", "random"};
  struct keyroute_connection *conn = real_open(NULL);

  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
    expect_last_region(conn, tables[i]);
  }
  keyroute_close(conn);
}
END_TEST

/* Of 0.96 this is true anyway, of 0.98 with the detour, and later servers say that they can. */
START_TEST(test_generations__answers_without_scans_down_equal_the_java_clients)
{
  struct keyroute_connection *conn;
  struct keyroute_stats stats = {.size = sizeof(stats)};

  if (strncmp(cluster_version(real_cluster), "0.96.", 5) != 0 &&
      strncmp(cluster_version(real_cluster), "0.98.", 5) != 0) {
    return;
  }
  struct proxy *proxy = open_detour(&conn);

  comparison_check(conn);
  expect_last_region(conn, "commas");
  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  printf("%zu rows without scans down: %" PRIu64 " requests for %" PRIu64 " scans\n",
         comparison_count(), stats.rpcs, stats.scans);
  ck_assert_uint_ge(stats.scans, comparison_count());
  ck_assert_uint_eq(stats.rpcs, stats.scans + 1);
  keyroute_close(conn);
  proxy_stop(proxy);
}
END_TEST

START_TEST(test_generations__rows_equal_the_java_clients)
{
  struct keyroute_connection *conn = real_open(NULL);
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result;
  char *reply, ours[256];
  size_t count;

  real_command("put t c one");
  real_command("put t c two");
  ck_assert_int_eq(cluster_command(real_cluster, &reply, "get t c"), 0);
  ck_assert_msg(keyroute_get(&result, conn, "t", keyroute_string("c"), NULL, NULL, &detail) == 0,
                "%s", detail.message);
  const struct keyroute_cell *cell = keyroute_result_cells(result, 0, &count);

  ck_assert_uint_eq(count, 1);
  snprintf(ours, sizeof(ours), "%.*s\t%.*s:%.*s\t%" PRId64 "\t%.*s\n", (int)cell->row.len,
           (const char *)cell->row.data, (int)cell->family.len, (const char *)cell->family.data,
           (int)cell->qualifier.len, (const char *)cell->qualifier.data, cell->timestamp,
           (int)cell->value.len, (const char *)cell->value.data);
  ck_assert_str_eq(ours, reply);
  keyroute_result_free(result);
  free(reply);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_generations__catalog_that_moves_is_followed)
{
  struct keyroute_connection *conn = real_open(NULL);

  comparison_check(conn);
  real_command("move-meta");
  comparison_check(conn);
  if (has_root()) {
    real_command("move-root");
    comparison_check(conn);
    real_command("move-meta");
    real_command("move-root");
    comparison_check(conn);
  }
  keyroute_close(conn);
}
END_TEST

/* A connection that knows nothing yet has to go all the way from ZooKeeper, now. */
static void ask_anew(void)
{
  struct keyroute_connection *conn = real_open(NULL);
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_location *location;

  call.deadline_ms = DEADLINE_MS;
  ck_assert_msg(keyroute_locate(&location, conn, "t", keyroute_string("c"), &call, &detail) == 0,
                "%s", detail.message);
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
}

/* A server that holds a part of the catalog dies, while threads ask; another takes its place. */
static void survive(struct keyroute_connection *conn, const char *command)
{
  static const char *const tables[] = {"t", "t1", NULL};
  struct askers *askers = askers_start(&(struct askers_options){
      .conn = conn, .tables = tables, .threads = THREADS, .deadline_ms = DEADLINE_MS});

  real_command("%s", command);
  ask_anew();
  comparison_check(conn);
  askers_stop(askers);
  struct askers_counts counts = askers_counts(askers);

  printf("%s: %" PRIu64 " lookups, %" PRIu64 " past the cache, %" PRIu64
         " failed, slowest %.1f ms\n",
         command, counts.asked, counts.read, counts.failed, (double)counts.worst_us / 1e3);
  ck_assert_uint_gt(counts.read, 100);
  ck_assert_uint_le(counts.failed * 100, counts.asked);
  ck_assert_uint_le(counts.read_failed * 100, counts.read);
  ck_assert_int_le(counts.worst_us, (DEADLINE_MS + SLACK_MS) * INT64_C(1000));
  ck_assert_uint_eq(counts.misplaced, 0);
  askers_free(askers);
  real_command("start-server");
}

START_TEST(test_generations__lookups_survive_the_death_of_the_catalogs_server)
{
  struct keyroute_connection *conn = real_open(NULL);

  survive(conn, "kill-meta");
  if (has_root()) {
    survive(conn, "kill-root");
  }
  survive(conn, "kill-meta");
  keyroute_close(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase generations");
  TCase *cases = tcase_create("generations");

  comparison_set_seed(9498);
  tcase_set_timeout(cases, 0);
  tcase_add_test(cases, test_generations__answers_equal_the_java_clients);
  tcase_add_test(cases, test_generations__last_regions_are_found_from_behind);
  tcase_add_test(cases, test_generations__answers_without_scans_down_equal_the_java_clients);
  tcase_add_test(cases, test_generations__rows_equal_the_java_clients);
  tcase_add_test(cases, test_generations__catalog_that_moves_is_followed);
  tcase_add_test(cases, test_generations__lookups_survive_the_death_of_the_catalogs_server);
  suite_add_tcase(suite, cases);
  return real_run(suite, false, 420);
}
