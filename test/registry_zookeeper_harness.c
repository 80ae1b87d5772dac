/* A ZooKeeper registry, and what is in front of it. */
#include "test/registry_zookeeper_harness.h"

#include "lib/clock.h"
#include "lib/registry_zookeeper.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct zookeeper *server;
struct proxy *proxy;
struct kr_mem *mem;
struct kr_loop *loop;
struct kr_settings settings;
struct kr_registry *registry;
struct kr_stats *stats;
static char hosts[512];
static char chroot_path[64];
static char parent_path[64];
static char meta_znode[] = "meta-region-server";
char root_znode[] = "root-region-server";
char range_znode[] = "meta1";
bool no_meta;
_Atomic int changes;

void note_change(void *arg)
{
  (void)arg;
  changes++;
}

void sleep_ms(int ms)
{
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

  nanosleep(&time, NULL);
}

bool await_changes(int at_least)
{
  for (int i = 0; i < PATIENCE_MS / 10 && changes < at_least; i++) {
    sleep_ms(10);
  }
  return changes >= at_least;
}

void open_registry(const char *ensemble, const char *chroot, const char *parent)
{
  snprintf(hosts, sizeof(hosts), "%s", ensemble);
  snprintf(chroot_path, sizeof(chroot_path), "%s", chroot);
  snprintf(parent_path, sizeof(parent_path), "%s", parent);
  settings.mem = mem;
  settings.zookeeper = hosts;
  settings.chroot = chroot_path;
  settings.parent = parent_path;
  settings.meta_znode = no_meta ? NULL : meta_znode;
  if (settings.session_timeout_ms == 0) {
    settings.session_timeout_ms = 4000;
  }
  ck_assert_int_eq(
      kr_registry_zookeeper_new(&registry, mem, loop, &settings, stats, note_change, NULL), 0);
}

void open_default(void)
{
  char ensemble[64];

  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "", "/hbase");
}

void open_through_proxy(void)
{
  char ensemble[64];

  proxy = proxy_start(server != NULL ? zookeeper_port(server) : 1);
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", proxy_port(proxy));
  open_registry(ensemble, "", "/hbase");
}

void setup(void)
{
  memset(&settings, 0, sizeof(settings));
  mem = kr_mem_new(NULL);
  stats = kr_stats_new(mem);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
}

void setup_server(void)
{
  setup();
  server = zookeeper_start();
}

void setup_znode(void)
{
  setup_server();
  zookeeper_create(server, "/hbase", "");
  zookeeper_create(server, "/hbase/meta-region-server", "here");
}

void teardown(void)
{
  if (registry != NULL) {
    harness_close(loop, registry, 3000);
  }
  kr_loop_free(loop);
  if (registry != NULL) {
    registry->ops->free(registry);
  }
  kr_stats_free(stats);
  kr_mem_release(mem);
  if (proxy != NULL) {
    proxy_stop(proxy);
  }
  if (server != NULL) {
    zookeeper_stop(server);
  }
}

struct answer read_once(int64_t timeout_ms)
{
  return harness_read(loop, registry, timeout_ms);
}

void expect_value(const struct answer *answer, const char *value)
{
  ck_assert_msg(answer->failure.code == 0, "%s: %s", keyroute_errname(answer->failure.code),
                answer->failure.message);
  ck_assert_uint_ge(answer->count, 1);
  ck_assert_int_eq(answer->replicas[0], 0);
  ck_assert_str_eq(answer->data[0], value);
}

void expect_failure(const struct answer *answer, int code, const char *text)
{
  ck_assert(answer->done);
  ck_assert_msg(answer->failure.code == code, "%s instead of %s: %s",
                keyroute_errname(answer->failure.code), keyroute_errname(code),
                answer->failure.message);
  ck_assert_msg(strstr(answer->failure.message, text) != NULL, "%s", answer->failure.message);
}

struct answer read_until_good(int64_t each_ms)
{
  int64_t until_us = kr_clock_us() + PATIENCE_MS * 1000;
  struct answer answer = read_once(each_ms);

  while (answer.failure.code != 0 && kr_clock_us() < until_us) {
    sleep_ms(50);
    answer = read_once(each_ms);
  }
  return answer;
}

TCase *add_case(Suite *suite, const char *name, SFun before)
{
  TCase *tcase = tcase_create(name);

  tcase_add_checked_fixture(tcase, before, teardown);
  tcase_set_timeout(tcase, 180);
  suite_add_tcase(suite, tcase);
  return tcase;
}

int run_zookeeper_suite(Suite *suite)
{
  int status = run_suite(suite);

  return status == EXIT_SUCCESS && zookeeper_jars() == NULL ? 77 : status;
}
