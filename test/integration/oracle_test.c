/*
 * Answers against a real HBase, compared with the Java client's, row by row and field by field:
 * region, bounds, server, start code, sequence number.
 *
 * The tables are chosen for what breaks locators: names that are prefixes of one another, a
 * namespace, start keys with commas, NUL, 0x80 and 0xFF, keys of 1000 bytes, 150 regions at random
 * keys, three replicas. The rows asked for are the start keys themselves, their neighbours, and
 * random ones. Everything is asked again, of the same connection and of a fresh one, after splits,
 * merges, moves and a table that was dropped and made anew.
 */
#include "test/integration/comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_hex(const void *a, const void *b)
{
  return memcmp(a, b, 12);
}

/* 150 regions at random keys. */
static void create_random(const char *table)
{
  static unsigned char keys[149][12];
  struct comparison_key splits[149];

  for (int i = 0; i < 149; i++) {
    for (int j = 0; j < 12; j++) {
      keys[i][j] = (unsigned char)rand_r(&comparison_seed);
    }
  }
  qsort(keys, 149, sizeof(keys[0]), compare_hex);
  for (int i = 0; i < 149; i++) {
    splits[i] = (struct comparison_key){(const char *)keys[i], 12};
  }
  comparison_create(table, "", splits, 149);
}

static void create_tables(void)
{
  static const struct comparison_key plain[] = {KEY("g"), KEY("p")};
  static const struct comparison_key foo[] = {KEY("foo")};

  comparison_create_awkward("ns:commas");
  comparison_create("tt", "", NULL, 0);
  comparison_create("t-x", "", foo, 1);
  comparison_create("t.y", "", foo, 1);
  comparison_create("ns:t", "", plain, 2);
  comparison_create("prefix", "", foo, 1);
  comparison_create("replicated", "replication=3", plain, 2);
  create_random("random");
  /* A lookup key that goes on after the start key with a comma. */
  comparison_add("prefix", "foo,\2", 5);
  comparison_add("nosuchtable", "a", 1);
  comparison_add("ns:nosuch", "", 0);
  comparison_add("ta", "m", 1); /* between tables that are there */
}

/* Merge a table's first region with the one behind it. */
static void merge_first_two(struct keyroute_connection *conn, const char *table)
{
  struct keyroute_location *location;
  char key[4 * 1100 + 3];

  ck_assert_int_eq(keyroute_locate(&location, conn, table, keyroute_string(""), NULL, NULL), 0);
  struct keyroute_bytes end = keyroute_location_end_key(location);

  real_command("merge %s \"\" %s", table, real_key_text(key, end.data, end.len));
  keyroute_location_release(location);
}

START_TEST(test_hbase__answers_equal_the_java_clients)
{
  struct keyroute_connection *conn = real_open(NULL);

  create_tables();
  comparison_check(conn);
  ck_assert_uint_ge(comparison_count(), 1000);
  printf("%zu rows of 13 tables compared with the Java client of HBase\n", comparison_count());

  real_command("split t b");
  real_command("split low \\x00\\x00\\x05");
  real_command("split ns:commas a,bb,");
  real_command("split longkeys zz");
  comparison_add_neighbours("t", "b", 1);
  comparison_add_neighbours("low", "\0\0\5", 3);
  comparison_add_neighbours("ns:commas", "a,bb,", 5);
  comparison_check(conn);

  real_command("merge high \\x7F \\x80");
  merge_first_two(conn, "random");
  comparison_check(conn);

  for (int i = 0; i < 8; i++) {
    char key[4 * 1100 + 3];
    const struct real_row *row = comparison_row();

    real_command("move %s %s", row->table, real_key_text(key, row->key, row->len));
  }
  real_command("move-meta");
  comparison_check(conn);

  real_command("drop t1");
  real_command("drop tt");
  real_command("create t1 k");
  comparison_check(conn);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_hbase__replicas_equal_the_java_clients)
{
  struct keyroute_connection *conn = real_open(NULL);
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_location *location;
  char *reply;

  ck_assert_int_eq(cluster_command(real_cluster, &reply, "oracle-replicas replicated h"), 0);
  call.replica = 2;
  ck_assert_int_eq(
      keyroute_locate(&location, conn, "replicated", keyroute_string("h"), &call, NULL), 0);
  ck_assert_int_eq(keyroute_location_replica_count(location), 3);
  for (int replica = 0; replica < 3; replica++) {
    char name[256], expected[512];
    size_t len = keyroute_location_encoded_name(location, replica, name, sizeof(name));

    snprintf(expected, sizeof(expected), "%d\th\t%.*s\t", replica, (int)len, name);
    ck_assert_msg(strstr(reply, expected) != NULL, "%s is not in\n%s", expected, reply);
    snprintf(expected, sizeof(expected), "\t%s\t%d\t%lld\t",
             keyroute_location_host(location, replica), keyroute_location_port(location, replica),
             (long long)keyroute_location_start_code(location, replica));
    ck_assert_msg(strstr(reply, expected) != NULL, "%s is not in\n%s", expected, reply);
  }
  keyroute_location_release(location);
  free(reply);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_hbase__neighbours_and_the_catalog_itself_are_found)
{
  struct keyroute_connection *conn = real_open(NULL);
  struct keyroute_call before = KEYROUTE_CALL_INIT, after = KEYROUTE_CALL_INIT;
  struct keyroute_location *location;

  before.flags = KEYROUTE_BEFORE;
  after.flags = KEYROUTE_AFTER;
  ck_assert_int_eq(keyroute_locate(&location, conn, "ns:t", keyroute_string("p"), &before, NULL),
                   0);
  ck_assert_uint_eq(keyroute_location_end_key(location).len, 1);
  ck_assert_int_eq(*(const char *)keyroute_location_start_key(location).data, 'g');
  keyroute_location_release(location);
  ck_assert_int_eq(keyroute_locate(&location, conn, "ns:t", keyroute_string(""), &before, NULL), 0);
  ck_assert_int_eq(*(const char *)keyroute_location_start_key(location).data, 'p');
  keyroute_location_release(location);
  ck_assert_int_eq(keyroute_locate(&location, conn, "ns:t", keyroute_string("p"), &after, NULL), 0);
  ck_assert_int_eq(*(const char *)keyroute_location_start_key(location).data, 'p');
  keyroute_location_release(location);
  ck_assert_int_eq(keyroute_locate(&location, conn, "hbase:meta", keyroute_string("x"), NULL, NULL),
                   0);
  ck_assert_int_eq(keyroute_location_region_id(location), 1);
  keyroute_location_release(location);
  keyroute_close(conn);
}
END_TEST

START_TEST(test_hbase__row_longer_than_a_catalog_key_may_be_is_found)
{
  struct keyroute_connection *conn = real_open(NULL);
  struct keyroute_call before = KEYROUTE_CALL_INIT;
  struct keyroute_location *location;
  static char row[40000]; /* a server refuses row keys over 32767 bytes */

  before.flags = KEYROUTE_BEFORE;
  memset(row, 'h', sizeof(row));
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(keyroute_locate(&location, conn, "ns:t",
                                     (struct keyroute_bytes){row, sizeof(row)},
                                     i == 0 ? NULL : &before, NULL),
                     0);
    ck_assert_int_eq(*(const char *)keyroute_location_start_key(location).data, 'g');
    keyroute_location_release(location);
    ck_assert_int_eq(keyroute_clear_all(conn), 0);
  }
  keyroute_close(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase oracle");
  TCase *cases = tcase_create("oracle");

  comparison_set_seed(20261);
  tcase_set_timeout(cases, 0);
  tcase_add_test(cases, test_hbase__answers_equal_the_java_clients);
  tcase_add_test(cases, test_hbase__replicas_equal_the_java_clients);
  tcase_add_test(cases, test_hbase__neighbours_and_the_catalog_itself_are_found);
  tcase_add_test(cases, test_hbase__row_longer_than_a_catalog_key_may_be_is_found);
  suite_add_tcase(suite, cases);
  return real_run(suite, false, 600);
}
