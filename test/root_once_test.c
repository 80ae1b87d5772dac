/*
 * Threads that want -ROOT- at once, all knowing nothing. A real ZooKeeper tells where it is, the
 * servers of HBase 0.94 are scripted. However many ask, the znode is read once, by what ZooKeeper
 * was sent, and -ROOT- is asked once.
 */
#include "keyroute/keyroute.h"

#include "test/fake_server094.h"
#include "test/proxy.h"
#include "test/run_suite.h"
#include "test/zookeeper.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CALLERS_MAX = 64 };

/* Server 0 has -ROOT-, 1 the only region of .META., 2 the users' regions. */
enum { ROOT, META, USERS, SERVERS };

static struct zookeeper *zookeeper;
static struct proxy *proxy;
static struct fake094 *servers;
static struct keyroute_connection *conn;

static void set_up(void)
{
  servers = fake094_start(SERVERS);
  fake094_host_root(servers, ROOT);
  fake094_put_between(servers, ".META.", "", "", 5, META);
  fake094_put_between(servers, "t", "", "m", 5, USERS);
  fake094_put_between(servers, "t", "m", "", 5, USERS);
  zookeeper = zookeeper_start();
  zookeeper_create(zookeeper, "/hbase", "");
  zookeeper_create(zookeeper, "/hbase/root-region-server", fake094_root(servers));
  proxy = proxy_start(zookeeper_port(zookeeper));
}

static void tear_down(void)
{
  ck_assert_int_eq(keyroute_close(conn), 0);
  proxy_stop(proxy);
  zookeeper_stop(zookeeper);
  fake094_free(servers);
}

static void open_as(const char *layout)
{
  struct keyroute_options *options;
  char ensemble[64];

  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", proxy_port(proxy));
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, ensemble), 0);
  ck_assert_int_eq(keyroute_options_set_layout(options, layout), 0);
  ck_assert_int_eq(keyroute_open(&conn, options, NULL), 0);
  keyroute_options_free(options);
}

/* ---- The callers ----------------------------------------------------------------------------- */

struct caller {
  pthread_t thread;
  pthread_barrier_t *together;
  const char *row;
};

static void *run_caller(void *arg)
{
  struct caller *caller = arg;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_location *location;

  pthread_barrier_wait(caller->together);
  int error = keyroute_locate(&location, conn, "t", keyroute_string(caller->row), NULL, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_int_eq(keyroute_location_port(location, 0), fake094_port(servers, USERS));
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
  return NULL;
}

static void ask_at_once(int count)
{
  struct caller callers[CALLERS_MAX];
  pthread_barrier_t together;

  pthread_barrier_init(&together, NULL, (unsigned)count);
  for (int i = 0; i < count; i++) {
    callers[i] = (struct caller){.together = &together, .row = i % 2 == 0 ? "a" : "x"};
    ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
  }
  for (int i = 0; i < count; i++) {
    pthread_join(callers[i].thread, NULL);
  }
  pthread_barrier_destroy(&together);
}

static const struct {
  int callers;
  const char *layout;
} ways[] = {{2, "root"}, {2, "auto"}, {CALLERS_MAX, "root"}, {CALLERS_MAX, "auto"}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

START_TEST(test_root_once__many_who_want_the_root_at_once_read_one_znode_and_one_row)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  proxy_watch(proxy, "/hbase/root-region-server");
  open_as(ways[_i].layout);

  ask_at_once(ways[_i].callers);

  ck_assert_int_eq(proxy_seen(proxy), 1);
  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  ck_assert_uint_eq(stats.registry_reads, 1);
  ck_assert_uint_eq(fake094_counts(servers, ROOT).root_reads, 1);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("root_once");
  TCase *cases = tcase_create("root_once");

  if (zookeeper_jars() == NULL) {
    return 77; /* the reason is on stderr */
  }
  tcase_set_timeout(cases, 120);
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_loop_test(
      cases, test_root_once__many_who_want_the_root_at_once_read_one_znode_and_one_row, 0, WAYS);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
