/* The ZooKeeper registry's sessions, as servers come and go. */
#include "lib/registry_zookeeper.h"

#include "lib/clock.h"
#include "test/registry_zookeeper_harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int count_entries(const char *path)
{
  DIR *dir = opendir(path);
  int count = 0;

  while (readdir(dir) != NULL) {
    count++;
  }
  closedir(dir);
  return count;
}

static int thread_count(void)
{
  return count_entries("/proc/self/task");
}

static int fd_count(void)
{
  return count_entries("/proc/self/fd");
}

/* Wait until there are no more than before. A session may be on its way to another connection, now
 * or when they were counted first. */
static void await_count(int (*count)(void), int before)
{
  for (int waited_ms = 0; count() > before && waited_ms < PATIENCE_MS; waited_ms += 10) {
    sleep_ms(10);
  }
  ck_assert_int_le(count(), before);
}

START_TEST(test_registry_zookeeper__s076_restarts_leave_threads_and_sockets_constant)
{
  open_default();
  struct answer answer = read_once(PATIENCE_MS);
  expect_value(&answer, "here");
  int threads = thread_count();
  int fds = fd_count();

  int restarts = getenv("KEYROUTE_LONG_TESTS") != NULL ? 50 : 8;
  for (int i = 0; i < restarts; i++) {
    zookeeper_restart(server);
    answer = read_until_good(2000);
    expect_value(&answer, "here");
  }
  sleep_ms(500);

  await_count(thread_count, threads);
  await_count(fd_count, fds);
}
END_TEST

START_TEST(test_registry_zookeeper__a_killed_server_is_unreachable_then_found_again)
{
  open_default();
  struct answer before = read_once(PATIENCE_MS);
  zookeeper_kill(server);
  struct answer down = read_once(3000);

  zookeeper_restart(server);
  struct answer after = read_until_good(2000);

  expect_value(&before, "here");
  expect_failure(&down, KEYROUTE_E_UNREACHABLE, "Connection refused");
  ck_assert_int_lt(down.took_us, 2000000);
  expect_value(&after, "here");
  ck_assert(await_changes(1));
}
END_TEST

START_TEST(test_registry_zookeeper__a_change_made_during_an_outage_is_reported_without_a_read)
{
  open_through_proxy();
  struct answer before = read_once(PATIENCE_MS);
  proxy_set(proxy, PROXY_CLOSE);
  sleep_ms(1500);
  zookeeper_set(server, "/hbase/meta-region-server", "there");
  int during = changes;

  proxy_set(proxy, PROXY_PASS);
  bool reported = await_changes(1);
  sleep_ms(500);
  int seen = changes;
  zookeeper_set(server, "/hbase/meta-region-server", "elsewhere");

  expect_value(&before, "here");
  ck_assert_int_eq(during, 0);
  ck_assert(reported);
  ck_assert(await_changes(seen + 1));
}
END_TEST

START_TEST(test_registry_zookeeper__an_idle_session_ends_and_the_next_read_makes_another)
{
  settings.session_idle_ms = 300;
  open_default();
  int threads = thread_count();
  struct answer first = read_once(PATIENCE_MS);
  int busy = thread_count();

  sleep_ms(1000);
  int idle = thread_count();
  struct answer second = read_once(PATIENCE_MS);

  expect_value(&first, "here");
  ck_assert_int_gt(busy, threads);
  ck_assert_int_eq(idle, threads);
  expect_value(&second, "here");
  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_SESSIONS), 2);
  ck_assert_int_eq(changes, 0);
}
END_TEST

START_TEST(test_registry_zookeeper__s075_an_expired_session_is_replaced_and_watched_again)
{
  open_through_proxy();
  struct answer before = read_once(PATIENCE_MS);
  int threads = thread_count();
  struct read_handle *waiting[8];

  proxy_set(proxy, PROXY_FORGET);
  for (int i = 0; i < 8; i++) {
    waiting[i] = harness_start(loop, registry, PATIENCE_MS);
  }
  for (int i = 0; i < 8; i++) {
    struct answer answer = harness_await(waiting[i], PATIENCE_MS);
    expect_value(&answer, "here");
    ck_assert_int_lt(answer.took_us, 2000000);
    harness_forget(waiting[i]);
  }
  bool reported = await_changes(1);
  int seen = changes;
  zookeeper_set(server, "/hbase/meta-region-server", "there");

  expect_value(&before, "here");
  ck_assert(reported);
  ck_assert(await_changes(seen + 1));
  ck_assert_uint_ge(kr_stats_read(stats, KR_COUNT_SESSIONS), 2);
  ck_assert_int_eq(thread_count(), threads);
}
END_TEST

START_TEST(test_registry_zookeeper__s078_a_server_that_closes_each_session_is_told_and_not_hammered)
{
  open_through_proxy();
  proxy_set(proxy, PROXY_FLAP);
  struct answer first = read_once(3000);

  int64_t until_us = kr_clock_us() + 5000000;
  while (kr_clock_us() < until_us) {
    read_once(3000);
  }
  int accepted = proxy_accepted(proxy);
  proxy_set(proxy, PROXY_PASS);
  struct answer last = read_until_good(3000);

  expect_failure(&first, KEYROUTE_E_BOOTSTRAP, "closes the connection before it answers");
  ck_assert_int_lt(accepted, 60);
  expect_value(&last, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__a_session_that_dies_in_a_silent_outage_is_replaced)
{
  settings.session_timeout_ms = 1000;
  open_through_proxy();
  struct answer before = read_once(PATIENCE_MS);
  int threads = thread_count();
  proxy_set(proxy, PROXY_STALL);
  sleep_ms(4000);

  proxy_set(proxy, PROXY_PASS);
  bool reported = await_changes(1);
  struct answer after = read_until_good(2000);
  int seen = changes;
  zookeeper_set(server, "/hbase/meta-region-server", "there");

  expect_value(&before, "here");
  ck_assert(reported);
  expect_value(&after, "here");
  ck_assert(await_changes(seen + 1));
  ck_assert_int_eq(thread_count(), threads);
}
END_TEST

START_TEST(test_registry_zookeeper__s071_a_server_that_hangs_is_left_after_one_read)
{
  settings.session_timeout_ms = 10000;
  open_through_proxy();
  struct answer before = read_once(PATIENCE_MS);
  sleep_ms(1000);
  proxy_set(proxy, PROXY_STALL);
  struct answer hung = read_once(1000);
  proxy_set(proxy, PROXY_PASS);

  struct answer after = read_until_good(1000);

  expect_value(&before, "here");
  expect_failure(&hung, KEYROUTE_E_TIMEOUT, "did not answer within 1000 ms");
  expect_value(&after, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__a_dead_address_does_not_hold_up_the_others)
{
  char ensemble[128];
  settings.session_timeout_ms = 60000;
  proxy = proxy_start(1);
  proxy_set(proxy, PROXY_STALL);
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:1", proxy_port(proxy),
           zookeeper_port(server));
  open_registry(ensemble, "", "/hbase");

  struct answer answer = read_once(3000);

  expect_value(&answer, "here");
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static void add_with_znode(Suite *suite)
{
  TCase *tcase = add_case(suite, "znode", setup_znode);

  tcase_add_test(tcase, test_registry_zookeeper__a_killed_server_is_unreachable_then_found_again);
  tcase_add_test(
      tcase, test_registry_zookeeper__a_change_made_during_an_outage_is_reported_without_a_read);
  tcase_add_test(tcase,
                 test_registry_zookeeper__an_idle_session_ends_and_the_next_read_makes_another);
  tcase_add_test(tcase,
                 test_registry_zookeeper__s075_an_expired_session_is_replaced_and_watched_again);
  tcase_add_test(
      tcase,
      test_registry_zookeeper__s078_a_server_that_closes_each_session_is_told_and_not_hammered);
  tcase_add_test(tcase,
                 test_registry_zookeeper__a_session_that_dies_in_a_silent_outage_is_replaced);
  tcase_add_test(tcase, test_registry_zookeeper__s071_a_server_that_hangs_is_left_after_one_read);
  tcase_add_test(tcase, test_registry_zookeeper__a_dead_address_does_not_hold_up_the_others);
  tcase_add_test(tcase, test_registry_zookeeper__s076_restarts_leave_threads_and_sockets_constant);
}

int main(void)
{
  Suite *suite = suite_create("registry_zookeeper_session");

  if (zookeeper_jars() != NULL) {
    add_with_znode(suite);
  }
  return run_zookeeper_suite(suite);
}
