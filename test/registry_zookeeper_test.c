/* What the ZooKeeper registry reads from a real server: which znodes, below which parent. */
#include "lib/registry_zookeeper.h"

#include "test/registry_zookeeper_harness.h"

#include <stdio.h>
#include <string.h>

START_TEST(test_registry_zookeeper__reads_the_primary_and_its_replicas)
{
  zookeeper_create(server, "/hbase/meta-region-server-12", "twelve");
  zookeeper_create(server, "/hbase/meta-region-server-2", "two");
  zookeeper_create(server, "/hbase/meta-region-server-3", "");
  zookeeper_create(server, "/hbase/meta-region-server-x", "no");
  zookeeper_create(server, "/hbase/meta-region-server-", "no");
  zookeeper_create(server, "/hbase/meta-region-server-0", "no");
  zookeeper_create(server, "/hbase/meta-region-server-007", "no");
  zookeeper_create(server, "/hbase/meta-region-server--4", "no");
  zookeeper_create(server, "/hbase/meta-region-server-5x", "no");
  zookeeper_create(server, "/hbase/meta-region-server-99999999999999999999", "no");
  zookeeper_create(server, "/hbase/meta-region-serverless", "no");
  open_default();

  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "here");
  ck_assert_uint_eq(answer.count, 3);
  ck_assert_int_eq(answer.replicas[1], 2);
  ck_assert_str_eq(answer.data[1], "two");
  ck_assert_int_eq(answer.replicas[2], 12);
  ck_assert_str_eq(answer.data[2], "twelve");
  ck_assert_str_eq(answer.place, "znode /hbase/meta-region-server");
  ck_assert(answer.on_loop);
  ck_assert(!answer.inside_call);
}
END_TEST

START_TEST(test_registry_zookeeper__a_replica_that_cannot_be_read_is_left_out)
{
  zookeeper_create(server, "/hbase/meta-region-server-1", "one");
  zookeeper_create(server, "/hbase/meta-region-server-2", "two");
  zookeeper_lock(server, "/hbase/meta-region-server-1");
  open_default();

  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "here");
  ck_assert_uint_eq(answer.count, 2);
  ck_assert_int_eq(answer.replicas[1], 2);
}
END_TEST

START_TEST(test_registry_zookeeper__s065_a_leftover_root_region_server_is_not_looked_at)
{
  zookeeper_create(server, "/hbase/root-region-server", "old");
  open_default();
  struct answer both = read_once(PATIENCE_MS);
  zookeeper_delete(server, "/hbase/meta-region-server");

  struct answer old_alone = read_once(PATIENCE_MS);

  expect_value(&both, "here");
  ck_assert_uint_eq(both.count, 1);
  ck_assert_str_eq(both.place, "znode /hbase/meta-region-server");
  expect_failure(&old_alone, KEYROUTE_E_BOOTSTRAP, "no such znode /hbase/meta-region-server");
}
END_TEST

START_TEST(test_registry_zookeeper__the_older_root_is_read_only_while_the_newer_is_not_there)
{
  zookeeper_create(server, "/hbase/root-region-server", "old");
  settings.root_znode = root_znode;
  open_default();
  struct answer both = read_once(PATIENCE_MS);
  zookeeper_delete(server, "/hbase/meta-region-server");
  struct answer old_alone = read_once(PATIENCE_MS);
  int before = changes;

  zookeeper_create(server, "/hbase/meta-region-server", "new");
  bool reported = await_changes(before + 1);
  struct answer again = read_once(PATIENCE_MS);

  expect_value(&both, "here");
  ck_assert_uint_eq(both.tiers, 2);
  expect_value(&old_alone, "old");
  ck_assert_uint_eq(old_alone.tiers, 3);
  ck_assert_str_eq(old_alone.place, "znode /hbase/root-region-server");
  ck_assert(reported);
  expect_value(&again, "new");
  ck_assert_uint_eq(again.tiers, 2);
}
END_TEST

START_TEST(test_registry_zookeeper__the_older_root_may_be_the_only_one_asked_for)
{
  zookeeper_create(server, "/hbase/root-region-server", "old");
  settings.root_znode = root_znode;
  no_meta = true;
  open_default();
  struct answer found = read_once(PATIENCE_MS);
  zookeeper_delete(server, "/hbase/root-region-server");
  bool reported = await_changes(1);
  struct answer missing = read_once(PATIENCE_MS);

  expect_value(&found, "old");
  ck_assert_uint_eq(found.tiers, 3);
  ck_assert(reported);
  expect_failure(&missing, KEYROUTE_E_BOOTSTRAP, "no such znode /hbase/root-region-server");
}
END_TEST

START_TEST(test_registry_zookeeper__range_directory_that_is_made_moved_and_gone_is_reported)
{
  char ensemble[64];

  settings.range_znode = range_znode;
  no_meta = true;
  zookeeper_create(server, "/prod", "");
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "/prod", "/keyroute");
  struct answer missing = read_once(PATIENCE_MS);
  zookeeper_create(server, "/prod/keyroute", "");
  zookeeper_create(server, "/prod/keyroute/meta1", "here");
  bool made = await_changes(1);
  struct answer found = read_once(PATIENCE_MS);
  int before = changes;
  zookeeper_set(server, "/prod/keyroute/meta1", "there");
  bool moved = await_changes(before + 1);
  struct answer again = read_once(PATIENCE_MS);
  before = changes;
  zookeeper_delete(server, "/prod/keyroute/meta1");
  bool gone = await_changes(before + 1);

  expect_failure(&missing, KEYROUTE_E_BOOTSTRAP, "no such parent /prod/keyroute");
  ck_assert(made && moved && gone);
  expect_value(&found, "here");
  ck_assert_str_eq(found.place, "znode /prod/keyroute/meta1");
  expect_value(&again, "there");
}
END_TEST

START_TEST(test_registry_zookeeper__each_read_asks_the_server)
{
  open_default();
  struct answer first = read_once(PATIENCE_MS);
  zookeeper_set(server, "/hbase/meta-region-server", "there");

  struct answer second = read_once(PATIENCE_MS);

  expect_value(&first, "here");
  expect_value(&second, "there");
  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_SESSIONS), 1);
}
END_TEST

START_TEST(test_registry_zookeeper__a_change_is_reported)
{
  open_default();
  struct answer answer = read_once(PATIENCE_MS);
  int before = changes;

  zookeeper_set(server, "/hbase/meta-region-server", "there");

  expect_value(&answer, "here");
  ck_assert_int_eq(before, 0);
  ck_assert(await_changes(1));
}
END_TEST

START_TEST(test_registry_zookeeper__s063_a_missing_znode_is_named_and_its_creation_reported)
{
  zookeeper_create(server, "/hbase", "");
  open_default();
  struct answer missing = read_once(PATIENCE_MS);

  zookeeper_create(server, "/hbase/meta-region-server", "here");
  bool reported = await_changes(1);
  struct answer found = read_once(PATIENCE_MS);

  expect_failure(&missing, KEYROUTE_E_BOOTSTRAP, "no such znode /hbase/meta-region-server");
  ck_assert(reported);
  expect_value(&found, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__s073_parent_and_znode_created_later_are_reported)
{
  open_default();
  struct answer missing = read_once(PATIENCE_MS);

  zookeeper_create(server, "/hbase", "");
  zookeeper_create(server, "/hbase/meta-region-server", "here");
  bool reported = await_changes(1);
  struct answer found = read_once(PATIENCE_MS);

  expect_failure(&missing, KEYROUTE_E_BOOTSTRAP, "no such parent /hbase");
  ck_assert(reported);
  expect_value(&found, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__s063_an_empty_znode_is_bootstrap)
{
  zookeeper_set(server, "/hbase/meta-region-server", "");
  open_default();
  struct answer empty = read_once(PATIENCE_MS);

  zookeeper_set(server, "/hbase/meta-region-server", "now");
  bool reported = await_changes(1);

  expect_failure(&empty, KEYROUTE_E_BOOTSTRAP, "znode /hbase/meta-region-server is empty");
  ck_assert(reported);
}
END_TEST

START_TEST(test_registry_zookeeper__a_large_znode_is_read_whole)
{
  static char large[900001];
  memset(large, 'x', sizeof(large) - 1);
  zookeeper_set(server, "/hbase/meta-region-server", large);
  open_default();

  struct answer answer = read_once(PATIENCE_MS);

  ck_assert_int_eq(answer.failure.code, 0);
  ck_assert_uint_eq(answer.len[0], sizeof(large) - 1);
}
END_TEST

START_TEST(test_registry_zookeeper__a_znode_we_may_not_read_is_auth)
{
  zookeeper_lock(server, "/hbase/meta-region-server");
  open_default();

  struct answer answer = read_once(PATIENCE_MS);

  expect_failure(&answer, KEYROUTE_E_AUTH, "/hbase/meta-region-server");
}
END_TEST

START_TEST(test_registry_zookeeper__s069_a_chroot_stands_in_front_of_the_parent)
{
  char ensemble[64];
  zookeeper_create(server, "/prod", "");
  zookeeper_create(server, "/prod/hbase", "");
  zookeeper_create(server, "/prod/hbase/meta-region-server", "prod");
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "/prod", "/hbase");
  struct answer answer = read_once(PATIENCE_MS);

  zookeeper_set(server, "/prod/hbase/meta-region-server", "moved");
  bool reported = await_changes(1);

  expect_value(&answer, "prod");
  ck_assert_str_eq(answer.place, "znode /prod/hbase/meta-region-server");
  ck_assert(reported);
}
END_TEST

START_TEST(test_registry_zookeeper__s069_an_absent_chroot_is_named)
{
  char ensemble[64];
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "/prod", "/hbase");

  struct answer answer = read_once(PATIENCE_MS);

  expect_failure(&answer, KEYROUTE_E_BOOTSTRAP,
                 "no such parent /prod/hbase; /prod does not exist either");
}
END_TEST

START_TEST(test_registry_zookeeper__s070_a_wrong_parent_gets_a_hint)
{
  char ensemble[64];
  zookeeper_create(server, "/a", "");
  zookeeper_create(server, "/hbase-unsecure", "");
  zookeeper_create(server, "/hbase-unsecure/meta-region-server", "x");
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "", "/hbase2");

  struct answer answer = read_once(PATIENCE_MS);

  expect_failure(&answer, KEYROUTE_E_BOOTSTRAP,
                 "no such parent /hbase2; a meta-region-server stands below /hbase-unsecure");
}
END_TEST

START_TEST(test_registry_zookeeper__the_parent_may_be_the_root_of_the_tree)
{
  char ensemble[64];
  zookeeper_create(server, "/meta-region-server", "top");
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "", "/");

  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "top");
  ck_assert_str_eq(answer.place, "znode /meta-region-server");
}
END_TEST

START_TEST(test_registry_zookeeper__many_reads_at_once_are_each_answered_once)
{
  struct read_handle *handles[50];
  open_default();
  for (int i = 0; i < 50; i++) {
    handles[i] = harness_start(loop, registry, PATIENCE_MS);
  }

  for (int i = 0; i < 50; i++) {
    struct answer answer = harness_await(handles[i], PATIENCE_MS);
    expect_value(&answer, "here");
    ck_assert_int_eq(answer.calls, 1);
    harness_forget(handles[i]);
  }
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static void add_with_server(Suite *suite)
{
  TCase *tcase = add_case(suite, "server", setup_server);

  tcase_add_test(tcase,
                 test_registry_zookeeper__s063_a_missing_znode_is_named_and_its_creation_reported);
  tcase_add_test(tcase, test_registry_zookeeper__s073_parent_and_znode_created_later_are_reported);
  tcase_add_test(tcase, test_registry_zookeeper__s069_a_chroot_stands_in_front_of_the_parent);
  tcase_add_test(tcase,
                 test_registry_zookeeper__range_directory_that_is_made_moved_and_gone_is_reported);
  tcase_add_test(tcase, test_registry_zookeeper__s069_an_absent_chroot_is_named);
  tcase_add_test(tcase, test_registry_zookeeper__s070_a_wrong_parent_gets_a_hint);
  tcase_add_test(tcase, test_registry_zookeeper__the_parent_may_be_the_root_of_the_tree);
}

static void add_with_znode(Suite *suite)
{
  TCase *tcase = add_case(suite, "znode", setup_znode);

  tcase_add_test(tcase, test_registry_zookeeper__reads_the_primary_and_its_replicas);
  tcase_add_test(tcase, test_registry_zookeeper__a_replica_that_cannot_be_read_is_left_out);
  tcase_add_test(tcase,
                 test_registry_zookeeper__s065_a_leftover_root_region_server_is_not_looked_at);
  tcase_add_test(tcase,
                 test_registry_zookeeper__the_older_root_is_read_only_while_the_newer_is_not_there);
  tcase_add_test(tcase, test_registry_zookeeper__the_older_root_may_be_the_only_one_asked_for);
  tcase_add_test(tcase, test_registry_zookeeper__each_read_asks_the_server);
  tcase_add_test(tcase, test_registry_zookeeper__a_change_is_reported);
  tcase_add_test(tcase, test_registry_zookeeper__s063_an_empty_znode_is_bootstrap);
  tcase_add_test(tcase, test_registry_zookeeper__a_large_znode_is_read_whole);
  tcase_add_test(tcase, test_registry_zookeeper__a_znode_we_may_not_read_is_auth);
  tcase_add_test(tcase, test_registry_zookeeper__many_reads_at_once_are_each_answered_once);
}

int main(void)
{
  Suite *suite = suite_create("registry_zookeeper");

  if (zookeeper_jars() != NULL) {
    add_with_server(suite);
    add_with_znode(suite);
  }
  return run_zookeeper_suite(suite);
}
