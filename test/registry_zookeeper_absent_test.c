/*
 * The ZooKeeper registry where servers, or their addresses, are not there.
 *
 * getaddrinfo is defined here, over the C library's, for names under .test and .invalid: that is
 * how a slow name server and a host that moves are made. It also counts what is asked of it. In the
 * same way zookeeper_init2 can be made to fail.
 */
#include "lib/registry_zookeeper.h"

#include "lib/clock.h"
#include "test/registry_zookeeper_harness.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

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

/* ---- The suite ------------------------------------------------------------------------------ */

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

static void add_with_znode(Suite *suite)
{
  TCase *tcase = add_case(suite, "znode", setup_znode);

  tcase_add_test(tcase,
                 test_registry_zookeeper__s072_a_client_that_does_not_start_fails_the_waiter);
  tcase_add_test(tcase,
                 test_registry_zookeeper__a_name_that_does_not_resolve_does_not_spoil_the_rest);
  tcase_add_test(tcase,
                 test_registry_zookeeper__s068_a_host_that_moves_is_found_at_its_new_address);
}

int main(void)
{
  Suite *suite = suite_create("registry_zookeeper_absent");

  add_without_server(suite);
  if (zookeeper_jars() != NULL) {
    add_with_znode(suite);
  }
  return run_zookeeper_suite(suite);
}
