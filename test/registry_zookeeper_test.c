/*
 * The ZooKeeper registry against a real server, and against what stands in for one that is broken.
 *
 * getaddrinfo is defined here, over the C library's, for names under .test and .invalid: that is
 * how a slow name server and a host that moves are made. It also counts what is asked of it. In the
 * same way zookeeper_init2 can be made to fail.
 */
#include "lib/registry_zookeeper.h"

#include "lib/clock.h"
#include "test/failing_mem.h"
#include "test/proxy.h"
#include "test/registry_harness.h"
#include "test/zookeeper.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#define PATIENCE_MS 10000

static struct zookeeper *server;
static struct proxy *proxy;
static struct kr_mem *mem;
static struct kr_loop *loop;
static struct kr_settings settings;
static struct kr_registry *registry;
static struct kr_stats *stats;
static char hosts[512];
static char chroot_path[64];
static char parent_path[64];
static char meta_znode[] = "meta-region-server";
static char root_znode[] = "root-region-server";
static char range_znode[] = "meta1";
static bool no_meta;

/* ---- A name server that can be told what to say --------------------------------------------- */

static _Atomic int names_asked;
static _Atomic int names_moved; /* moving.test is at its new address now */

typedef int lookup_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int real_lookup(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out)
{
  lookup_fn *fn = (lookup_fn *)(uintptr_t)dlsym(RTLD_NEXT, "getaddrinfo");

  return fn(name, service, hints, out);
}

static bool ends_with(const char *text, const char *end)
{
  return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
  bool made_up = ends_with(name, ".test") || ends_with(name, ".invalid");

  if (!made_up || (hints->ai_flags & AI_NUMERICHOST) != 0) {
    return real_lookup(name, service, hints, out);
  }
  names_asked++;
  if (strcmp(name, "slow.invalid") == 0) {
    sleep(4);
    return EAI_AGAIN;
  }
  if (strcmp(name, "moving.test") == 0) {
    return real_lookup(names_moved ? "127.0.0.1" : "127.0.0.77", service, hints, out);
  }
  return strcmp(name, "good.test") == 0 ? real_lookup("127.0.0.1", service, hints, out)
                                        : EAI_NONAME;
}

/* ---- A client that does not start ------------------------------------------------------------ */

static _Atomic bool init_fails;
static _Atomic int init_errno;
static _Atomic int inits;

typedef zhandle_t *init_fn(const char *, watcher_fn, int, const clientid_t *, void *, int,
                           log_callback_fn);

zhandle_t *zookeeper_init2(const char *host, watcher_fn fn, int recv_timeout,
                           const clientid_t *clientid, void *context, int flags,
                           log_callback_fn log_callback)
{
  init_fn *real = (init_fn *)(uintptr_t)dlsym(RTLD_NEXT, "zookeeper_init2");

  inits++;
  if (init_fails) {
    errno = init_errno;
    return NULL;
  }
  return real(host, fn, recv_timeout, clientid, context, flags, log_callback);
}

/* ---- What the registry is made of ----------------------------------------------------------- */

static _Atomic int changes;

static void note_change(void *arg)
{
  (void)arg;
  changes++;
}

static void sleep_ms(int ms)
{
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

  nanosleep(&time, NULL);
}

static bool await_changes(int at_least)
{
  for (int i = 0; i < PATIENCE_MS / 10 && changes < at_least; i++) {
    sleep_ms(10);
  }
  return changes >= at_least;
}

static void open_registry(const char *ensemble, const char *chroot, const char *parent)
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

static void open_default(void)
{
  char ensemble[64];

  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(server));
  open_registry(ensemble, "", "/hbase");
}

static void open_through_proxy(void)
{
  char ensemble[64];

  proxy = proxy_start(server != NULL ? zookeeper_port(server) : 1);
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", proxy_port(proxy));
  open_registry(ensemble, "", "/hbase");
}

static void setup(void)
{
  memset(&settings, 0, sizeof(settings));
  mem = kr_mem_new(NULL);
  stats = kr_stats_new(mem);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
}

static void setup_server(void)
{
  setup();
  server = zookeeper_start();
}

static void setup_znode(void)
{
  setup_server();
  zookeeper_create(server, "/hbase", "");
  zookeeper_create(server, "/hbase/meta-region-server", "here");
}

static void teardown(void)
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

static struct answer read_once(int64_t timeout_ms)
{
  return harness_read(loop, registry, timeout_ms);
}

static void expect_value(const struct answer *answer, const char *value)
{
  ck_assert_msg(answer->failure.code == 0, "%s: %s", keyroute_errname(answer->failure.code),
                answer->failure.message);
  ck_assert_uint_ge(answer->count, 1);
  ck_assert_int_eq(answer->replicas[0], 0);
  ck_assert_str_eq(answer->data[0], value);
}

static void expect_failure(const struct answer *answer, int code, const char *text)
{
  ck_assert(answer->done);
  ck_assert_msg(answer->failure.code == code, "%s instead of %s: %s",
                keyroute_errname(answer->failure.code), keyroute_errname(code),
                answer->failure.message);
  ck_assert_msg(strstr(answer->failure.message, text) != NULL, "%s", answer->failure.message);
}

/* Reads until one succeeds. */
static struct answer read_until_good(int64_t each_ms)
{
  int64_t until_us = kr_clock_us() + PATIENCE_MS * 1000;
  struct answer answer = read_once(each_ms);

  while (answer.failure.code != 0 && kr_clock_us() < until_us) {
    sleep_ms(50);
    answer = read_once(each_ms);
  }
  return answer;
}

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

/* ---- What is read --------------------------------------------------------------------------- */

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

/* ---- Sessions that come and go -------------------------------------------------------------- */

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

/* ---- Servers that are not there ------------------------------------------------------------- */

START_TEST(test_registry_zookeeper__a_refused_port_is_unreachable_at_once)
{
  open_registry("127.0.0.1:1", "", "/hbase");

  struct answer answer = read_once(PATIENCE_MS);

  expect_failure(&answer, KEYROUTE_E_UNREACHABLE,
                 "ZooKeeper at 127.0.0.1:1 (127.0.0.1): Connection refused");
  ck_assert_str_eq(answer.failure.server, "127.0.0.1:1");
  ck_assert_int_lt(answer.took_us, 1500000);
}
END_TEST

START_TEST(test_registry_zookeeper__s071_silence_is_a_timeout_at_the_deadline)
{
  open_through_proxy();
  proxy_set(proxy, PROXY_STALL);

  struct answer answer = read_once(500);

  expect_failure(&answer, KEYROUTE_E_TIMEOUT, "did not answer within 500 ms");
  ck_assert_int_ge(answer.took_us, 499000);
  ck_assert_int_lt(answer.took_us, 2000000);
}
END_TEST

START_TEST(test_registry_zookeeper__s072_a_client_that_does_not_start_fails_the_waiter)
{
  static const int errors[] = {ENOMEM, EINVAL, EMFILE, 0};
  static const int codes[] = {KEYROUTE_E_NO_MEMORY, KEYROUTE_E_BOOTSTRAP, KEYROUTE_E_BOOTSTRAP,
                              KEYROUTE_E_BOOTSTRAP};
  struct answer failed[4];
  init_fails = true;
  inits = 0;
  open_default();

  for (int i = 0; i < 4; i++) {
    init_errno = errors[i];
    failed[i] = read_once(PATIENCE_MS);
  }
  int tried = inits;
  init_fails = false;
  struct answer next = read_once(PATIENCE_MS);

  for (int i = 0; i < 4; i++) {
    expect_failure(&failed[i], codes[i], "ZooKeeper's client does not start for 127.0.0.1:");
    ck_assert_int_eq(failed[i].calls, 1);
    ck_assert_int_lt(failed[i].took_us, 5000000);
  }
  ck_assert_int_eq(tried, 4);
  expect_value(&next, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__s078_a_server_that_closes_at_once_is_not_asked_in_a_loop)
{
  open_through_proxy();
  proxy_set(proxy, PROXY_CLOSE);
  struct answer first = read_once(3000);

  int64_t until_us = kr_clock_us() + 8000000;
  while (kr_clock_us() < until_us) {
    struct answer answer = read_once(3000);
    ck_assert_int_eq(answer.failure.code, KEYROUTE_E_BOOTSTRAP);
  }

  expect_failure(&first, KEYROUTE_E_BOOTSTRAP, "closes the connection");
  ck_assert_int_lt(proxy_accepted(proxy), 20);
}
END_TEST

START_TEST(test_registry_zookeeper__s067_names_that_do_not_resolve_are_told_and_cost_nothing)
{
  struct rusage before, after;
  open_registry("nosuch.invalid:2181,neither.invalid:2181", "", "/hbase");
  struct answer first = read_once(PATIENCE_MS);
  getrusage(RUSAGE_SELF, &before);

  int64_t until_us = kr_clock_us() + 3000000;
  while (kr_clock_us() < until_us) {
    struct answer answer = read_once(PATIENCE_MS);
    ck_assert_int_eq(answer.failure.code, KEYROUTE_E_RESOLVE);
  }
  getrusage(RUSAGE_SELF, &after);

  expect_failure(&first, KEYROUTE_E_RESOLVE, "nosuch.invalid");
  expect_failure(&first, KEYROUTE_E_RESOLVE, "neither.invalid");
  ck_assert_int_lt((after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                       after.ru_utime.tv_usec - before.ru_utime.tv_usec,
                   500000);
  ck_assert_int_lt(names_asked, 40);
}
END_TEST

START_TEST(test_registry_zookeeper__a_name_that_does_not_resolve_does_not_spoil_the_rest)
{
  char ensemble[128];
  snprintf(ensemble, sizeof(ensemble), "nosuch.invalid:2181,good.test:%d,neither.invalid:2181",
           zookeeper_port(server));
  open_registry(ensemble, "", "/hbase");

  struct answer answer = read_once(3000);

  expect_value(&answer, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__s068_a_host_that_moves_is_found_at_its_new_address)
{
  char ensemble[64];
  snprintf(ensemble, sizeof(ensemble), "moving.test:%d", zookeeper_port(server));
  open_registry(ensemble, "", "/hbase");
  struct answer before = read_once(2000);

  names_moved = 1;
  struct answer after = read_until_good(3000);

  expect_failure(&before, KEYROUTE_E_UNREACHABLE, "127.0.0.77");
  expect_value(&after, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__a_slow_name_server_delays_neither_reads_nor_close)
{
  open_registry("slow.invalid:2181", "", "/hbase");
  struct answer answer = read_once(300);

  int64_t close_ms = harness_close(loop, registry, 200);
  kr_loop_free(loop);
  registry->ops->free(registry);
  kr_stats_free(stats);
  kr_mem_release(mem);
  sleep(5);

  expect_failure(&answer, KEYROUTE_E_TIMEOUT, "were not resolved within 300 ms");
  ck_assert_int_lt(answer.took_us, 3000000); /* the name server takes longer */
  ck_assert_int_lt(close_ms, 3000);
}
END_TEST

/* ---- Ends ----------------------------------------------------------------------------------- */

START_TEST(test_registry_zookeeper__a_registry_never_read_makes_no_session)
{
  open_registry("slow.invalid:2181", "", "/hbase");

  int64_t close_ms = harness_close(loop, registry, 3000);
  registry->ops->free(registry);
  registry = NULL;

  ck_assert_int_lt(close_ms, 500);
  ck_assert_int_eq(names_asked, 0);
  ck_assert_uint_eq(kr_stats_read(stats, KR_COUNT_SESSIONS), 0);
}
END_TEST

START_TEST(test_registry_zookeeper__a_read_can_be_cancelled_at_every_stage)
{
  open_default();

  for (int wait_us = 0; wait_us < 40000; wait_us += 500) {
    struct read_handle *handle = harness_start(loop, registry, PATIENCE_MS);
    usleep((useconds_t)wait_us);
    harness_cancel(handle);
    struct answer after = harness_await(handle, 0);
    ck_assert_int_le(after.calls, 1);
    harness_forget(handle);
  }
  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__shutdown_at_any_moment_forgets_reads_and_is_quick)
{
  for (int wait_ms = 0; wait_ms < 60; wait_ms += 3) {
    open_default();
    struct read_handle *one = harness_start(loop, registry, PATIENCE_MS);
    struct read_handle *two = harness_start(loop, registry, PATIENCE_MS);
    sleep_ms(wait_ms);
    int64_t close_ms = harness_close(loop, registry, 3000);
    int calls = harness_await(one, 0).calls + harness_await(two, 0).calls;
    kr_loop_free(loop);
    registry->ops->free(registry);
    ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
    registry = NULL;

    ck_assert_int_lt(close_ms, 1000);
    ck_assert_int_eq(harness_await(one, 0).calls + harness_await(two, 0).calls, calls);
    harness_forget(one);
    harness_forget(two);
  }
}
END_TEST

START_TEST(test_registry_zookeeper__close_is_quick_when_the_server_is_silent)
{
  open_through_proxy();
  struct answer good = read_once(PATIENCE_MS);
  proxy_set(proxy, PROXY_STALL);
  struct read_handle *handle = harness_start(loop, registry, PATIENCE_MS);
  sleep_ms(300);

  int64_t close_ms = harness_close(loop, registry, 2500);
  kr_loop_free(loop);
  registry->ops->free(registry);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  registry = NULL;
  struct answer silent = harness_await(handle, 0);
  harness_forget(handle);

  expect_value(&good, "here");
  ck_assert_int_lt(close_ms, 3000);
  ck_assert_int_eq(silent.calls, 0);
}
END_TEST

static int count_open_signals(void)
{
  DIR *dir = opendir("/proc/self/task");
  struct dirent *entry;
  int open = 0;

  while ((entry = readdir(dir)) != NULL) {
    char path[300], line[256];
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
    FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
      unsigned long long mask;
      /* SIGTERM is bit 14. */
      if (sscanf(line, "SigBlk: %llx", &mask) == 1 && (mask & 0x4000) == 0) {
        open++;
      }
    }
    if (file != NULL) {
      fclose(file);
    }
  }
  closedir(dir);
  return open;
}

START_TEST(test_registry_zookeeper__no_thread_but_the_tests_takes_signals)
{
  int before = count_open_signals();
  open_default();

  struct answer answer = read_once(PATIENCE_MS);
  int after = count_open_signals();

  expect_value(&answer, "here");
  ck_assert_int_eq(after, before);
}
END_TEST

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[16384];

static void note_line(void *user, enum keyroute_log_level level, const char *line)
{
  (void)user;
  (void)level;
  pthread_mutex_lock(&log_lock);
  size_t len = strlen(log_text);
  snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
  pthread_mutex_unlock(&log_lock);
}

START_TEST(test_registry_zookeeper__the_clients_log_goes_to_the_connections)
{
  settings.log = (struct kr_log){KEYROUTE_LOG_DEBUG, note_line, NULL};
  open_default();

  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "here");
  pthread_mutex_lock(&log_lock);
  ck_assert_ptr_nonnull(strstr(log_text, "ZooKeeper's client: session establishment complete"));
  pthread_mutex_unlock(&log_lock);
}
END_TEST

/* ---- Memory --------------------------------------------------------------------------------- */

/* One life of a registry with so many allocations granted. Returns the read's code. */
static int live_with(struct kr_mem *counted, long granted)
{
  struct answer answer = {0};

  mem_fail_from(granted + 1);
  answer.failure.code =
      kr_registry_zookeeper_new(&registry, counted, loop, &settings, stats, note_change, NULL);
  if (answer.failure.code == 0) {
    answer = read_once(PATIENCE_MS);
    harness_close(loop, registry, 3000);
    kr_loop_free(loop);
    registry->ops->free(registry);
    ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
    if (!answer.done) {
      answer.failure.code = KEYROUTE_E_NO_MEMORY; /* read_root said NULL */
    }
  }
  registry = NULL;
  return answer.failure.code;
}

START_TEST(test_registry_zookeeper__each_failed_allocation_is_no_memory_and_leaks_nothing)
{
  zookeeper_create(server, "/hbase/meta-region-server-1", "one");
  open_default();
  harness_close(loop, registry, 3000);
  registry->ops->free(registry);
  struct kr_mem *counted = failing_mem_new();
  long before = mem_live();
  int code = KEYROUTE_E_NO_MEMORY;
  long granted = 0;

  for (; code == KEYROUTE_E_NO_MEMORY; granted++) {
    code = live_with(counted, granted);
    ck_assert_int_eq(mem_live(), before);
  }

  ck_assert_int_eq(code, 0);
  ck_assert_int_gt(granted, 5);
  failing_mem_done(counted);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static TCase *add_case(Suite *suite, const char *name, SFun before)
{
  TCase *tcase = tcase_create(name);

  tcase_add_checked_fixture(tcase, before, teardown);
  tcase_set_timeout(tcase, 180);
  suite_add_tcase(suite, tcase);
  return tcase;
}

static void add_without_server(Suite *suite)
{
  TCase *tcase = add_case(suite, "without", setup);

  tcase_add_test(tcase, test_registry_zookeeper__a_refused_port_is_unreachable_at_once);
  tcase_add_test(tcase, test_registry_zookeeper__s071_silence_is_a_timeout_at_the_deadline);
  tcase_add_test(tcase,
                 test_registry_zookeeper__s078_a_server_that_closes_at_once_is_not_asked_in_a_loop);
  tcase_add_test(tcase,
                 test_registry_zookeeper__s067_names_that_do_not_resolve_are_told_and_cost_nothing);
  tcase_add_test(tcase, test_registry_zookeeper__a_registry_never_read_makes_no_session);

  /* It takes itself apart. */
  TCase *alone = tcase_create("slow");
  tcase_add_checked_fixture(alone, setup, NULL);
  tcase_set_timeout(alone, 300);
  suite_add_tcase(suite, alone);
  tcase_add_test(alone, test_registry_zookeeper__a_slow_name_server_delays_neither_reads_nor_close);
}

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
  tcase_add_test(tcase,
                 test_registry_zookeeper__s072_a_client_that_does_not_start_fails_the_waiter);
  tcase_add_test(tcase, test_registry_zookeeper__a_dead_address_does_not_hold_up_the_others);
  tcase_add_test(tcase,
                 test_registry_zookeeper__a_name_that_does_not_resolve_does_not_spoil_the_rest);
  tcase_add_test(tcase,
                 test_registry_zookeeper__s068_a_host_that_moves_is_found_at_its_new_address);
  tcase_add_test(tcase, test_registry_zookeeper__a_read_can_be_cancelled_at_every_stage);
  tcase_add_test(tcase, test_registry_zookeeper__shutdown_at_any_moment_forgets_reads_and_is_quick);
  tcase_add_test(tcase, test_registry_zookeeper__close_is_quick_when_the_server_is_silent);
  tcase_add_test(tcase, test_registry_zookeeper__no_thread_but_the_tests_takes_signals);
  tcase_add_test(tcase, test_registry_zookeeper__the_clients_log_goes_to_the_connections);
  tcase_add_test(tcase,
                 test_registry_zookeeper__each_failed_allocation_is_no_memory_and_leaks_nothing);
  tcase_add_test(tcase, test_registry_zookeeper__s076_restarts_leave_threads_and_sockets_constant);
}

int main(void)
{
  Suite *suite = suite_create("registry_zookeeper");
  SRunner *runner = srunner_create(suite);

  add_without_server(suite);
  if (zookeeper_jars() != NULL) {
    add_with_server(suite);
    add_with_znode(suite);
  }
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  if (failed > 0) {
    return EXIT_FAILURE;
  }
  /* 77: automake's "skipped". prepare.sh has said why. */
  return zookeeper_jars() != NULL ? EXIT_SUCCESS : 77;
}
